// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace like_counter::driver {
namespace {

// Below 64 every value has a bucket; above, every power of two has 32.
constexpr std::uint64_t exact = 64;
constexpr std::uint64_t per_octave = 32;

std::size_t bucket_of(std::uint64_t value) {
    if (value < exact) {
        return value;
    }
    const auto shift = static_cast<std::uint64_t>(std::bit_width(value)) - 6;
    return exact + (shift - 1) * per_octave + ((value >> shift) - per_octave);
}

std::uint64_t largest_in(std::size_t bucket) {
    if (bucket < exact) {
        return bucket;
    }
    const std::uint64_t shift = (bucket - exact) / per_octave + 1;
    const std::uint64_t position = (bucket - exact) % per_octave + per_octave;
    return ((position + 1) << shift) - 1;
}

}  // namespace

void histogram::record(std::chrono::microseconds latency) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(0, latency.count()));
    const std::size_t bucket = bucket_of(value);
    if (bucket >= buckets_.size()) {
        buckets_.resize(bucket + 1);
    }
    ++buckets_[bucket];
    ++count_;
}

std::chrono::microseconds histogram::percentile(double share) const {
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket != buckets_.size(); ++bucket) {
        seen += buckets_[bucket];
        if (seen > 0 && seen >= rank) {
            return std::chrono::microseconds(largest_in(bucket));
        }
    }
    return {};
}

}  // namespace like_counter::driver
