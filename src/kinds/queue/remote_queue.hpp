// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_QUEUE_REMOTE_QUEUE_HPP
#define COLOCK_KINDS_QUEUE_REMOTE_QUEUE_HPP

#include "kinds/auxiliary_key.hpp"
#include "kinds/kind.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {

/// The remote queue of a key, with the steps join and leave. It is a list of the tickets of the clients that
/// wait. Each ticket is a key that exists while its client runs and waits. See `core::queue_ticket`.
extern const queue_kind& remote_queue;

/// Returns the name of the list.
inline std::string queue_key(std::string_view key) {
    return auxiliary_key(key, "queue");
}

/// Returns the prefix of the names of the tickets. The number of the ticket follows.
inline std::string ticket_prefix(std::string_view key) {
    return auxiliary_key(key, "ticket:");
}

/// Returns the name of the ticket with this number.
inline std::string ticket_key(std::string_view key, std::uint64_t number) {
    return ticket_prefix(key) + std::to_string(number);
}

/// The list in memory. The longest waiting client comes first. A ticket is an empty string.
struct waiting_clients {
    std::vector<std::uint64_t> tickets;
};

}  // namespace colock::kinds

#endif
