// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_ATTEMPT_HPP
#define COLOCK_CORE_ATTEMPT_HPP

#include "core/time.hpp"

namespace colock::core {

/// What an acquire tells the lease that makes an attempt for it.
struct attempt {
    /// An earlier attempt was denied, or the key is known to be contended: see `command::contended`.
    bool contended = false;
    /// The end of the wait for votes, unless it has passed before the attempt.
    time_point deadline = never;
    /// The acquire waits if the attempt fails: see `command::announces`.
    bool announces = true;
};

}  // namespace colock::core

#endif
