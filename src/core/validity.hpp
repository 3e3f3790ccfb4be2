// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_VALIDITY_HPP
#define COLOCK_CORE_VALIDITY_HPP

#include "core/time.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace colock::core {

/// The bound on the drift between the clocks of a server and of the client during a ttl: `ttl * factor +
/// minimum`.
struct drift_bound {
    double factor = 0.01;
    duration minimum = milliseconds(2);

    friend bool operator==(const drift_bound& a, const drift_bound& b) = default;

    [[nodiscard]] duration of(duration ttl) const noexcept {
        return minimum +
               duration(static_cast<duration::rep>(static_cast<double>(ttl.count()) * factor));
    }
};

/// Returns the end of the validity that a round granted. No server drops the key before. The validity starts
/// when the round is sent, because no server can start to count the ttl earlier.
inline time_point valid_until(time_point sent, duration ttl, const drift_bound& drift) noexcept {
    // mutant: no_drift
    return sent + ttl - drift.of(ttl);
}

/// Returns the time from which no server has the key of a round that was executed at `executed` at the
/// latest.
inline time_point gone_at(time_point executed, duration ttl, const drift_bound& drift) noexcept {
    return executed + ttl + drift.of(ttl);
}

/// Returns when a server has been up for `quarantine`, if it reported `uptime` at `now` at the latest. A
/// server reports the difference of two times of its wall clock, both rounded down to seconds. The reported
/// uptime may therefore be up to one second too long.
inline time_point quarantine_end(time_point now, duration quarantine, std::chrono::seconds uptime,
                                 const drift_bound& drift) noexcept {
    // mutant: uptime_is_believed
    const duration at_least = std::max(uptime - std::chrono::seconds(1), std::chrono::seconds(0));
    return gone_at(now, quarantine - at_least, drift);
}

/// Returns when a key expires whose remaining ttl a server has reported. Returns `never` if that ttl is
/// unknown, or an hour or more.
inline time_point run_out(milliseconds remaining, time_point now) noexcept {
    if (remaining == unknown_remaining || remaining >= std::chrono::hours(1)) {
        return never;
    }
    constexpr milliseconds rounding{1};  // A server reports whole milliseconds, rounded down.
    return now + remaining + rounding;
}

/// Returns how long before the end of its validity a lease is reported lost, so that its holder can stop in
/// time. `margin` is the one of the user's options. At least half of a ttl stays usable.
inline duration loss_notice(duration ttl, std::optional<duration> margin = {}) noexcept {
    // mutant: loss_without_notice
    return margin ? std::min(*margin, ttl / 2) : std::min<duration>(ttl / 20, milliseconds(500));
}

}  // namespace colock::core

#endif
