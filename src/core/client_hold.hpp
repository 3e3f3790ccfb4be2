// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_CLIENT_HOLD_HPP
#define COLOCK_CORE_CLIENT_HOLD_HPP

#include "core/time.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::core {

/// How far a client may hand off a lease to its own waiters before other clients get their turn.
struct handoff_bounds {
    std::size_t limit = 64;            ///< The maximum number of hand-offs. 0 = never.
    duration time = milliseconds(50);  ///< The maximum time after the grant.

    friend bool operator==(const handoff_bounds& a, const handoff_bounds& b) = default;
};

/// Returns the minimum cool-down before a client competes again for a lock: 1/16 of the time that it held the
/// lock, at most 10 ms.
[[nodiscard]] inline duration minimum_cool_down(duration held) noexcept {
    return std::min<duration>(held / 16, milliseconds(10));
}

/// The time for which one client keeps a lock: from the grant, over all hand-offs, to the release.
class client_hold {
public:
    client_hold() = default;

    /// Begins at the grant of a round that was sent at `sent`.
    client_hold(time_point sent, time_point now) noexcept : since_(now), round_trip_(now - sent) {}

    /// Returns whether a waiter of the client may get the lease next, after `handoffs` hand-offs.
    [[nodiscard]] bool may_hand_off(std::size_t handoffs, const handoff_bounds& bounds,
                                    time_point now) const noexcept {
        // mutant: handed_off_too_often, handed_off_for_too_long
        return handoffs < bounds.limit && now - since_ < bounds.time;
    }

    /// Returns when the client got the lock.
    [[nodiscard]] time_point since() const noexcept { return since_; }

    /// Returns how long the client leaves the lock to others after its release, if it has more waiters. A
    /// client that is notified of the release needs a round trip to acquire the lock, and a client that polls
    /// may need longer. The cool-down is therefore the longer of two round trips and 1/16 of the hold, at
    /// most 10 ms.
    [[nodiscard]] duration cool_down(time_point now) const noexcept;

private:
    time_point since_{};
    duration round_trip_{};
};

}  // namespace colock::core

#endif
