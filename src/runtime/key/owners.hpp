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

/// The waiting owners and the owners with a lost lease. A lease itself stores the owner for which it is held.
class owners {
public:
    /// Records an operation that waits in a local queue.
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
    /// Returns whether others of that owner wait. They may enter together with it.
    [[nodiscard]] bool has_waiters(const ownership& who) const noexcept {
        return who.reenters && waiting_.contains(who.owner);
    }

    /// Records that the owner has lost its lease, and not all of its holders have released it.
    void add_lost(const ownership& who, const lease_driver& lease, std::string key) {
        lost_.emplace(who.owner, lost_lease{&lease, std::move(key)});
    }
    /// Records that all of them have released it. No effect if it was not lost.
    void remove_lost(const ownership& who, const lease_driver& lease) noexcept {
        const auto [first, last] = lost_.equal_range(who.owner);
        const auto found = std::find_if(
            first, last, [&lease](const auto& one) { return one.second.lease == &lease; });
        if (found != last) {
            lost_.erase(found);
        }
    }
    /// Returns whether that owner has lost a lease of this key and not released it.
    [[nodiscard]] bool has_lost(const ownership& who, std::string_view key) const noexcept {
        if (lost_.empty()) {
            return false;
        }
        const auto [first, last] = lost_.equal_range(who.owner);
        return std::any_of(first, last, [key](const auto& one) { return one.second.key == key; });
    }

private:
    struct lost_lease {
        const lease_driver* lease;  // Used only for comparison.
        std::string key;
    };

    boost::unordered_flat_map<std::uint64_t, std::size_t> waiting_;  // Number of waiters, by owner.
    std::unordered_multimap<std::uint64_t, lost_lease> lost_;        // Keyed by owner.
};

}  // namespace colock::runtime

#endif
