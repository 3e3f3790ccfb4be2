// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_WAITS_HPP
#define LIKE_COUNTER_WAITS_HPP

#include <colock/histograms.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
inline std::optional<percentile> percentile_of(const colock::histogram& durations, double share) {
    if (durations.count == 0) {
        return std::nullopt;
    }
    const auto& bounds = colock::histogram::bounds;
    const double rank = share * static_cast<double>(durations.count);
    std::size_t bucket = 0;
    std::uint64_t before = 0;
    while (bucket != bounds.size() &&
           (durations.buckets[bucket] == 0 ||
            static_cast<double>(before + durations.buckets[bucket]) < rank)) {
        before += durations.buckets[bucket];
        ++bucket;
    }
    if (bucket == 0) {
        return percentile{bounds.front(), {}, bounds.front()};
    }
    const std::chrono::nanoseconds from = bounds[bucket - 1];
    if (bucket == bounds.size()) {
        return percentile{from, from, std::nullopt};
    }
    const std::chrono::nanoseconds to = bounds[bucket];
    const double part =
        (rank - static_cast<double>(before)) / static_cast<double>(durations.buckets[bucket]);
    const auto above = std::llround(part * static_cast<double>((to - from).count()));
    return percentile{from + std::chrono::nanoseconds(above), from, to};
}

/// Returns the durations that came between two snapshots of the same histogram.
inline colock::histogram difference(const colock::histogram& later,
                                    const colock::histogram& earlier) {
    colock::histogram result;
    for (std::size_t i = 0; i != result.buckets.size(); ++i) {
        result.buckets[i] = later.buckets[i] - earlier.buckets[i];
    }
    result.count = later.count - earlier.count;
    result.sum = later.sum - earlier.sum;
    return result;
}

/// The number of waits, and their percentiles in ms with the bounds of their buckets: see `percentile`. A
/// percentile is null if there are no waits, and `to_ms` is null for the last bucket.
inline nlohmann::json to_json(const colock::histogram& waits) {
    nlohmann::json result{{"count", waits.count}, {"p50", nullptr}, {"p99", nullptr}};
    for (const auto& [name, share] : {std::pair("p50", 0.5), std::pair("p99", 0.99)}) {
        if (const auto found = percentile_of(waits, share)) {
            result[name] = {{"ms", in_ms(found->value)}, {"from_ms", in_ms(found->from)}};
            result[name]["to_ms"] = found->to ? nlohmann::json(in_ms(*found->to)) : nullptr;
        }
    }
    return result;
}

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
