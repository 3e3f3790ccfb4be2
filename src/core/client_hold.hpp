// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_CLIENT_HOLD_HPP
#define COLOCK_CORE_CLIENT_HOLD_HPP

#include "core/time.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::core {

/// How far a lease is handed off inside a client, before others get their turn.
struct handoff_bounds {
    std::size_t limit = 64;            ///< so many times; 0 = never
    duration time = milliseconds(50);  ///< for so long after the grant

    friend bool operator==(const handoff_bounds& a, const handoff_bounds& b) = default;
};

/// The minimum cool-down before a client that has held a lock for so long competes for it again: a sixteenth of that, but
/// never long.
[[nodiscard]] inline duration minimum_cool_down(duration held) noexcept {
    return std::min<duration>(held / 16, milliseconds(10));
}

/// The time for which one client keeps a lock: from the grant, over all hand-offs, to the release.
class client_hold {
public:
    client_hold() = default;

    /// The grant: by a round that was sent at `sent`.
    client_hold(time_point sent, time_point now) noexcept : since_(now), round_trip_(now - sent) {}

    /// Whether a waiter of the client may have the lease next, which was handed off so many times before.
    [[nodiscard]] bool may_hand_off(std::size_t handoffs, const handoff_bounds& bounds,
                                    time_point now) const noexcept {
        return handoffs < bounds.limit && now - since_ < bounds.time;
    }

    /// After the release: for how long the client leaves the lock to others, if more of its own wait. A client that is told
    /// that the lock is free needs a round trip to take it, and one that polls needs luck; so it is twice what a round trip
    /// took, or a sixteenth of the hold, but never long.
    [[nodiscard]] duration cool_down(time_point now) const noexcept;

private:
    time_point since_{};
    duration round_trip_{};
};

}  // namespace colock::core

#endif
