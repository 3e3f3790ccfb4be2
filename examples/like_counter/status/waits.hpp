// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_WAITS_HPP
#define LIKE_COUNTER_WAITS_HPP

#include <colock/histograms.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <deque>
#include <optional>
#include <utility>

namespace like_counter {

inline double in_ms(std::chrono::nanoseconds time) {
    return std::chrono::duration<double, std::milli>(time).count();
}

/// A percentile of a histogram, and the bounds of its bucket. The true percentile is longer than `from` and at
/// most `to`.
struct percentile {
    /// Interpolated inside the bucket, as if its durations were spread evenly. The first and the last bucket
    /// have one useful bound only. There it is `to` and `from`.
    std::chrono::nanoseconds value;
    std::chrono::nanoseconds from;
    /// Nothing for the last bucket.
    std::optional<std::chrono::nanoseconds> to;
};

/// Returns the duration that this share of all (0 to 1) did not exceed. Returns nothing if there are none.
std::optional<percentile> percentile_of(const colock::histogram& durations, double share);

/// Returns the durations that came between two snapshots of the same histogram.
colock::histogram difference(const colock::histogram& later, const colock::histogram& earlier);

/// The number of waits, and their percentiles in ms with the bounds of their buckets: see `percentile`. A
/// percentile is null if there are no waits, and `to_ms` is null for the last bucket.
nlohmann::json to_json(const colock::histogram& waits);

/// The waits of the last second, for one reader of events. It remembers the snapshots of its latest events.
class recent_waits {
public:
    using clock = std::chrono::steady_clock;

    /// Returns the waits since the latest snapshot that is a second old. If no snapshot is as old as that,
    /// returns the waits since the first one. So the first event has none.
    colock::histogram add(clock::time_point now, const colock::histogram& all) {
        snapshots_.push_back({now, all});
        while (snapshots_.size() > 1 && snapshots_[1].at <= now - std::chrono::seconds(1)) {
            snapshots_.pop_front();
        }
        return difference(all, snapshots_.front().waits);
    }

private:
    struct snapshot {
        clock::time_point at;
        colock::histogram waits;
    };
    std::deque<snapshot> snapshots_;
};

}  // namespace like_counter

#endif
