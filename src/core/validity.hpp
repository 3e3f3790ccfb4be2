// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_VALIDITY_HPP
#define COLOCK_CORE_VALIDITY_HPP

#include "core/time.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace colock::core {

/// By how much the servers' clocks may run faster than ours during a ttl: `ttl * factor + minimum`.
struct drift_bound {
    double factor = 0.01;
    duration minimum = milliseconds(2);

    friend bool operator==(const drift_bound& a, const drift_bound& b) = default;

    [[nodiscard]] duration of(duration ttl) const noexcept {
        return minimum +
               duration(static_cast<duration::rep>(static_cast<double>(ttl.count()) * factor));
    }
};

/// The end of the validity of what a round granted: no server lets go before. Counted from before
/// the round was sent, since that is the earliest moment at which a server can have begun to count.
inline time_point valid_until(time_point sent, duration ttl, const drift_bound& drift) noexcept {
    return sent + ttl - drift.of(ttl);
}

/// From when on no server keeps what a round granted, if it was executed at `executed` at the
/// latest.
inline time_point gone_at(time_point executed, duration ttl, const drift_bound& drift) noexcept {
    return executed + ttl + drift.of(ttl);
}

/// When a server that says it has been up for `uptime` has been up for `quarantine`, if it said so `now`
/// at the latest. What it says is the difference of two times of its wall clock, both rounded down to
/// seconds: up to a second too much.
inline time_point quarantine_end(time_point now, duration quarantine, std::chrono::seconds uptime,
                                 const drift_bound& drift) noexcept {
    const duration at_least = std::max(uptime - std::chrono::seconds(1), std::chrono::seconds(0));
    return gone_at(now, quarantine - at_least, drift);
}

/// When a key with so much of its ttl left, as a server answered, has run out; never, if that is unknown or
/// very long.
inline time_point run_out(milliseconds remaining, time_point now) noexcept {
    if (remaining == unknown_remaining || remaining >= std::chrono::hours(1)) {
        return never;
    }
    constexpr milliseconds rounding{1};  // a server tells whole milliseconds, rounded down
    return now + remaining + rounding;
}

/// How long before the end of its validity a lease is reported lost, so that its holder can stop in time. `margin` is what its
/// user has asked for. At least half of a ttl stays usable.
inline duration loss_notice(duration ttl, std::optional<duration> margin = {}) noexcept {
    return margin ? std::min(*margin, ttl / 2) : std::min<duration>(ttl / 20, milliseconds(500));
}

}  // namespace colock::core

#endif
