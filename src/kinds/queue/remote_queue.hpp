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

/// The remote queue of a key, with the steps join and leave: a list of the tickets of the clients that wait, and each
/// ticket a key that lives as long as its client waits, and lives. See `core::queue_ticket`.
extern const queue_kind& remote_queue;

/// The name of that list.
inline std::string queue_key(std::string_view key) {
    return auxiliary_key(key, "queue");
}

/// What the name of each ticket in the queue begins with; its number follows.
inline std::string ticket_prefix(std::string_view key) {
    return auxiliary_key(key, "ticket:");
}

/// The ticket with that number.
inline std::string ticket_key(std::string_view key, std::uint64_t number) {
    return ticket_prefix(key) + std::to_string(number);
}

/// That list in memory, the longest waiting first. A ticket is an empty string.
struct waiting_clients {
    std::vector<std::uint64_t> tickets;
};

}  // namespace colock::kinds

#endif
