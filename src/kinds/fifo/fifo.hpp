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

/// Like `exclusive` and `fenced`, but the order of the waiters is binding. An instance grants only to the
/// first living waiter. Such a lock is on one instance. Its leases are those of `exclusive` and `fenced`.
///
/// Each waiter has a member in a sorted set next to the key. Each client has a ticket, a key that exists
/// while the client runs and waits. See waiters.lua and `core::queue_place`.
extern const lock_kind& fifo;
extern const lock_kind& fenced_fifo;

/// Returns the name of the sorted set.
inline std::string waiters_key(std::string_view key) {
    return auxiliary_key(key, "waiters");
}

/// Returns the prefix of the names of the clients' tickets. The number of the client follows.
inline std::string waiters_ticket_prefix(std::string_view key) {
    return auxiliary_key(key, "waiters:");
}

/// The sorted set in memory. The longest waiting member comes first. A ticket is an empty string.
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
