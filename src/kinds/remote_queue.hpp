// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_REMOTE_QUEUE_HPP
#define COLOCK_KINDS_REMOTE_QUEUE_HPP

#include "kinds/kind.hpp"

#include <cstdint>
#include <vector>

namespace colock::kinds {

/// The remote queue of a key, with the steps join and leave: a list of the tickets of the clients that wait, and each
/// ticket a key that lives as long as its client waits, and lives. See `core::queue_ticket`.
extern const queue_kind& remote_queue;

/// That list in memory, the longest waiting first. A ticket is an empty string.
struct waiting_clients {
    std::vector<std::uint64_t> tickets;
};

}  // namespace colock::kinds

#endif
