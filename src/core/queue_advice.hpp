// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_QUEUE_ADVICE_HPP
#define COLOCK_CORE_QUEUE_ADVICE_HPP

#include <cstdint>

namespace colock::core {

/// What a remote queue advises the operation that is at the key.
enum class queue_advice : std::uint8_t {
    none,
    wait,        ///< an attempt makes no sense before its turn
    turn,        ///< the lock seems to be free: attempt now
    on_its_own,  ///< the queue cannot tell when it is its turn: it has to look for itself
    poll,  ///< as that, and others have taken the lock time and again since: to be told is too late
    broken,  ///< as `on_its_own`, and the ticket is given up
    over,    ///< it has held the lock for long, and is to leave
};

}  // namespace colock::core

#endif
