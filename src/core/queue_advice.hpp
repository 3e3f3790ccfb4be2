// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_QUEUE_ADVICE_HPP
#define COLOCK_CORE_QUEUE_ADVICE_HPP

#include <cstdint>

namespace colock::core {

/// The advice of a remote queue to the operation that waits for the key.
enum class queue_advice : std::uint8_t {
    none,
    wait,        ///< Do not attempt before the turn has come.
    turn,        ///< The lock seems to be free: attempt now.
    on_its_own,  ///< The queue cannot determine the turn: use the regular backoff.
    /// As `on_its_own`. Others have taken the lock several times, so a notification comes too late.
    poll,
    broken,  ///< As `on_its_own`, and the ticket is given up.
    over,    ///< The client has held the lock for long, and must leave the queue.
};

}  // namespace colock::core

#endif
