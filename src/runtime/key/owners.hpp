// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_OWNERS_HPP
#define COLOCK_RUNTIME_KEY_OWNERS_HPP

#include "runtime/ownership.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace colock::runtime {

class lease_driver;

/// What a client knows of the owners of its locks. The leases know themselves for whom they are held.
class owners {
public:
    /// An operation waits in a local queue.
    void add_waiter(const ownership& who) {
        if (who.reenters) {
            ++waiting_[who.owner];
        }
    }
    void remove_waiter(const ownership& who) noexcept {
        const auto found = who.reenters ? waiting_.find(who.owner) : waiting_.end();
        if (found != waiting_.end() && --found->second == 0) {
            waiting_.erase(found);
        }
    }
    /// Whether others of that owner wait, which may enter together with it.
    [[nodiscard]] bool has_waiters(const ownership& who) const noexcept {
        return who.reenters && waiting_.contains(who.owner);
    }

    /// The owner has lost its lease, and not all of its holders have let go.
    void add_lost(const ownership& who, const lease_driver& lease, std::string key) {
        lost_.emplace(who.owner, lost_lease{&lease, std::move(key)});
    }
    /// They have now. No effect if it was not lost.
    void remove_lost(const ownership& who, const lease_driver& lease) noexcept {
        const auto [first, last] = lost_.equal_range(who.owner);
        const auto found = std::find_if(
            first, last, [&lease](const auto& one) { return one.second.lease == &lease; });
        if (found != last) {
            lost_.erase(found);
        }
    }
    /// Whether that owner has lost a lease of this key, and not let go of it.
    [[nodiscard]] bool has_lost(const ownership& who, std::string_view key) const noexcept {
        if (lost_.empty()) {
            return false;
        }
        const auto [first, last] = lost_.equal_range(who.owner);
        return std::any_of(first, last, [key](const auto& one) { return one.second.key == key; });
    }

private:
    struct lost_lease {
        const lease_driver* lease;  // for its identity
        std::string key;
    };

    boost::unordered_flat_map<std::uint64_t, std::size_t> waiting_;  // how many, by owner
    std::unordered_multimap<std::uint64_t, lost_lease> lost_;        // by owner
};

}  // namespace colock::runtime

#endif
