// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_OUTCOME_HPP
#define COLOCK_CORE_OUTCOME_HPP

#include <cstdint>

namespace colock::core {

/// How an acquire, or one attempt of it, ended.
enum class acquire_outcome : std::uint8_t {
    granted,
    contended,    ///< Another holder has the lock, and the acquire must not wait any longer.
    no_quorum,    ///< Too few instances granted or denied.
    too_slow,     ///< A quorum granted, but the lease would already be reported lost.
    wrong_kind,   ///< A lock of another kind has the name.
    wrong_limit,  ///< A lock of this kind that admits another number of holders has the name.
    completed,    ///< The name has a record. If no quorum has it, it must be settled first.
    cancelled,
    closed,  ///< The client was closed.
    // The client, not the state machine, sets the values below.
    would_deadlock,  ///< The owner already holds the lock, and would wait for itself.
    lease_lost,      ///< The lease is lost that the owner wanted to enter again, or to adopt.
    adopted_twice,   ///< The client already has the lease that it was to adopt.
};

/// Why a lease ended without a release.
enum class loss : std::uint8_t {
    none,         ///< The lease is not lost.
    keys_gone,    ///< So many instances no longer hold the token that it has no quorum.
    unrenewable,  ///< No renewal succeeded before the validity ended.
    expired,      ///< The lease is not renewed, and its validity has ended.
    max_hold,     ///< The maximum hold time has passed.
    closed,       ///< The client was closed.
};

/// How a release ended.
enum class release_outcome : std::uint8_t {
    released,  ///< The lease was held until its release.
    expired,   ///< The validity had ended. The keys were gone, or not known to have another holder.
    lost,      ///< Keys had another holder, or were gone before the validity ended.
    no_quorum,  ///< Too few instances replied to decide.
};

}  // namespace colock::core

#endif
