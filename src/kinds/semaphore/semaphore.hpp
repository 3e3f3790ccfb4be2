// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_SEMAPHORE_SEMAPHORE_HPP
#define COLOCK_KINDS_SEMAPHORE_SEMAPHORE_HPP

#include "core/time.hpp"
#include "kinds/auxiliary_key.hpp"
#include "kinds/kind.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

// A semaphore has a fixed number of permits, its limit. Each permit is a slot, and an instance gives a slot to one token at a time. A
// lease has the slots on which a quorum agrees. Two leases that are valid at once have quorums that share an instance, so their slots
// differ. So there are never more than `limit` permits out.
//
// The slots are tried in an order that the token decides, or all that come at once would want the same one. What instances answer, and
// what machines compare, is the number of a slot in that order, from 1 on. See permits.lua for what the key holds.

namespace colock::kinds {

inline constexpr std::uint32_t most_permits = 1024;

/// The kind of a lease that has `count` of `limit` permits. Neither is 0, and no more than `most_permits`. It lives as long as the
/// program.
///
/// Thread-safe.
[[nodiscard]] const lock_kind& semaphore(std::uint32_t limit, std::uint32_t count);

/// The name under which a set of permits is made, before it takes the place of the key.
[[nodiscard]] inline std::string new_permits_key(std::string_view key) {
    return auxiliary_key(key, "permits");
}

/// The permits of a semaphore, in memory.
struct permits {
    struct holder {
        std::string token;
        core::time_point expires;
    };

    std::uint32_t limit = 0;
    bool is_set = false;  // as on a server, where a set lives longer than its permits
    std::map<std::uint32_t, holder> slots;

    /// As the scripts name it to locks of other kinds.
    [[nodiscard]] std::string lock_name() const {
        return "semaphore_of_" + std::to_string(limit) + "_permits";
    }
};

}  // namespace colock::kinds

#endif
