#ifndef COLOCK_CORE_TENURE_HPP
#define COLOCK_CORE_TENURE_HPP

#include "core/time.hpp"

#include <algorithm>
#include <cstddef>

namespace colock::core {

/// How far a lease is passed on inside a process, before others get their turn.
struct handoff_bounds {
    std::size_t limit = 64;            ///< so many times; 0 = never
    duration time = milliseconds(50);  ///< for so long after the grant

    friend bool operator==(const handoff_bounds& a, const handoff_bounds& b) = default;
};

/// How long who has let go of a lock leaves it to others at least, after having held it for so long: a
/// sixteenth of that, but never long.
[[nodiscard]] inline duration time_for_others(duration held) noexcept {
    return std::min<duration>(held / 16, milliseconds(10));
}

/// The time for which one process keeps a lock: from the grant, over all among whom the lease is
/// passed on, to the release.
class tenure {
public:
    tenure() = default;

    /// The grant: by a round that was sent at `sent`.
    tenure(time_point sent, time_point now) noexcept : since_(now), round_trip_(now - sent) {}

    /// Whether whoever waits in the process may have the lease next, which was handed over so many
    /// times before.
    [[nodiscard]] bool may_hand_over(std::size_t handovers, const handoff_bounds& bounds,
                                     time_point now) const noexcept {
        return handovers < bounds.limit && now - since_ < bounds.time;
    }

    /// After the release: for how long the process leaves the lock to others, if more of its own wait.
    /// Who is told that the lock is free needs a round trip to take it, and who polls needs luck; so
    /// it is twice what a round trip took, or a sixteenth of the tenure, but never long.
    [[nodiscard]] duration pause(time_point now) const noexcept;

private:
    time_point since_{};
    duration round_trip_{};
};

}  // namespace colock::core

#endif
