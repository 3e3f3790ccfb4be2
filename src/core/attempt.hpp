// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_ATTEMPT_HPP
#define COLOCK_CORE_ATTEMPT_HPP

#include "core/time.hpp"

namespace colock::core {

/// What an acquire tells the lease that makes an attempt for it.
struct attempt {
    /// One was denied before, or others are known to be there: see `command::contended`.
    bool contended = false;
    /// Wait no longer for votes, unless it has passed before the attempt.
    time_point deadline = never;
    /// For how long the acquire will wait if the attempt fails: see `command::patience`.
    duration patience = duration::max();
};

}  // namespace colock::core

#endif
