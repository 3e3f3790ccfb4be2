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

// A semaphore has a fixed number of permits, its limit. Each permit is a slot, and an instance gives a slot
// to one token at a time. A lease has the slots on which a quorum agrees. Two leases that are valid at the
// same time have quorums that share an instance, so their slots differ. Therefore never more than `limit`
// permits are in use.
//
// The token determines the order in which it tries the slots. Otherwise all tokens that come at once would
// want the same slot. Instances answer with the number of a slot in that order, counted from 1, and state
// machines compare these numbers. See permits.lua for the content of the key.

namespace colock::kinds {

inline constexpr std::uint32_t most_permits = 1024;

/// Returns the kind of a lease that has `count` of `limit` permits. `count` is at least 1 and at most
/// `limit`. `limit` is at most `most_permits`. The kind lives as long as the program.
///
/// Thread-safe.
[[nodiscard]] const lock_kind& semaphore(std::uint32_t limit, std::uint32_t count);

/// Returns the name under which a set of permits is made before it replaces the key.
[[nodiscard]] inline std::string new_permits_key(std::string_view key) {
    return auxiliary_key(key, "permits");
}

/// The permits of a semaphore in memory.
struct permits {
    struct holder {
        std::string token;
        core::time_point expires;
    };

    std::uint32_t limit = 0;
    bool is_set = false;  // As on a server, where a set lives longer than its permits.
    std::map<std::uint32_t, holder> slots;

    /// Returns the name under which the scripts report it to locks of other kinds.
    [[nodiscard]] std::string lock_name() const {
        return "semaphore_of_" + std::to_string(limit) + "_permits";
    }
};

}  // namespace colock::kinds

#endif
