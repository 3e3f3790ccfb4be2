// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_OUTCOME_HPP
#define COLOCK_CORE_OUTCOME_HPP

#include <cstdint>

namespace colock::core {

/// How an acquire ended, or one attempt of it.
enum class acquire_outcome : std::uint8_t {
    granted,
    contended,    ///< somebody else holds it, and we were not to wait (any longer)
    no_quorum,    ///< too few instances answered
    too_slow,     ///< a quorum granted, but by then the lease would have been announced lost
    wrong_kind,   ///< a lock of another kind has the name
    wrong_limit,  ///< likewise, one of this kind that admits another number of holders
    completed,  ///< the name has a record. If a quorum has it, there is nothing to do. Else it has to be settled first
    cancelled,
    closed,  ///< its client was
    // Not by the machine, but by the client:
    would_deadlock,  ///< its owner holds the lock already, and would wait for itself
    lease_lost,  ///< its owner has lost the lease that it was to enter again, or the lease that it was to adopt is lost
};

/// Why a lease ended by itself.
enum class loss : std::uint8_t {
    none,         ///< it has not
    keys_gone,    ///< so many instances no longer hold our token that there is no quorum of it left
    unrenewable,  ///< no renewal won before the validity was over
    expired,      ///< it was not to be renewed, and the validity is over
    max_hold,     ///< held for as long as is allowed
    closed,       ///< its client is closed
};

/// How a release ended.
enum class release_outcome : std::uint8_t {
    released,   ///< it was ours to the end
    expired,    ///< its time was over, and the keys were gone, or not known to be somebody else's
    lost,       ///< keys were gone or somebody else's before the time was over
    no_quorum,  ///< too few answered to tell
};

}  // namespace colock::core

#endif
