// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_HISTOGRAM_HPP
#define LIKE_COUNTER_DRIVER_HISTOGRAM_HPP

#include <chrono>
#include <cstdint>
#include <vector>

namespace like_counter::driver {

/// Latencies, each rounded up by 3 % at most, in a few kilobytes however many there are.
class histogram {
public:
    void record(std::chrono::microseconds latency);

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

    /// The latency that this share of all (0 to 1) did not exceed; 0 if there are none.
    [[nodiscard]] std::chrono::microseconds percentile(double share) const;

private:
    std::vector<std::uint64_t> buckets_;
    std::uint64_t count_ = 0;
};

}  // namespace like_counter::driver

#endif
