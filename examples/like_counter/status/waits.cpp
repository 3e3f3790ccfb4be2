// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "waits.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace like_counter {
namespace {

using std::chrono::nanoseconds;

nlohmann::json to_json(const std::optional<percentile>& of) {
    if (!of) {
        return {};
    }
    nlohmann::json to;
    if (of->to) {
        to = in_ms(*of->to);
    }
    return {{"ms", in_ms(of->value)}, {"from_ms", in_ms(of->from)}, {"to_ms", std::move(to)}};
}

}  // namespace

std::optional<percentile> percentile_of(const colock::histogram& durations, double share) {
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
        return percentile{bounds.front(), nanoseconds::zero(), bounds.front()};
    }
    const nanoseconds from = bounds[bucket - 1];
    if (bucket == bounds.size()) {
        return percentile{from, from, std::nullopt};
    }
    const nanoseconds to = bounds[bucket];
    const double part =
        (rank - static_cast<double>(before)) / static_cast<double>(durations.buckets[bucket]);
    const auto above = std::llround(part * static_cast<double>((to - from).count()));
    return percentile{from + nanoseconds(above), from, to};
}

colock::histogram difference(const colock::histogram& later, const colock::histogram& earlier) {
    colock::histogram result;
    for (std::size_t i = 0; i != result.buckets.size(); ++i) {
        result.buckets[i] = later.buckets[i] - earlier.buckets[i];
    }
    result.count = later.count - earlier.count;
    result.sum = later.sum - earlier.sum;
    return result;
}

nlohmann::json to_json(const colock::histogram& waits) {
    return {{"count", waits.count},
            {"p50", to_json(percentile_of(waits, 0.5))},
            {"p99", to_json(percentile_of(waits, 0.99))}};
}

}  // namespace like_counter
