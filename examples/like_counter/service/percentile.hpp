// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_PERCENTILE_HPP
#define LIKE_COUNTER_PERCENTILE_HPP

#include <colock/histograms.hpp>

#include <chrono>
#include <optional>

namespace like_counter {

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

}  // namespace like_counter

#endif
