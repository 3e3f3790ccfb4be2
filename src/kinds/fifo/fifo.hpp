// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_FIFO_FIFO_HPP
#define COLOCK_KINDS_FIFO_FIFO_HPP

#include "kinds/auxiliary_key.hpp"
#include "kinds/kind.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {

/// `exclusive`, and `fenced`, of which the order of the waiters binds: an instance grants only to the first living waiter. For a lock
/// on one instance. Its leases are those of `exclusive` and `fenced`.
///
/// Each waiter has a member in a sorted set beside the key, and each client has a ticket, which lives as long as the client waits, and
/// lives. See waiters.lua, and `core::queue_place`.
extern const lock_kind& fifo;
extern const lock_kind& fenced_fifo;

/// The name of that sorted set.
inline std::string waiters_key(std::string_view key) {
    return auxiliary_key(key, "waiters");
}

/// What the name of each client's ticket begins with; its number follows.
inline std::string waiters_ticket_prefix(std::string_view key) {
    return auxiliary_key(key, "waiters:");
}

/// That set in memory, the longest waiting first. A ticket is an empty string.
struct waiters {
    struct member {
        std::uint64_t client;
        std::uint64_t place;

        friend bool operator==(const member&, const member&) = default;
    };
    std::vector<member> members;
};

}  // namespace colock::kinds

#endif
