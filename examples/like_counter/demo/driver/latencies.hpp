// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_LATENCIES_HPP
#define LIKE_COUNTER_DRIVER_LATENCIES_HPP

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <vector>

namespace like_counter::driver {

/// The latency of each request. In an hour, a fast machine has some ten million requests, which take 80 MB.
class latencies {
public:
    void record(std::chrono::microseconds latency) { all_.push_back(latency); }

    /// Returns the latency that this share of all (0 to 1) did not exceed, or 0 if there are none.
    [[nodiscard]] std::chrono::microseconds percentile(double share) const {
        if (all_.empty()) {
            return {};
        }
        const double rank = std::ceil(share * static_cast<double>(all_.size()));
        const auto position = static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
        std::vector<std::chrono::microseconds> sorted = all_;
        std::nth_element(sorted.begin(), sorted.begin() + position, sorted.end());
        return sorted[static_cast<std::size_t>(position)];
    }

private:
    std::vector<std::chrono::microseconds> all_;
};

}  // namespace like_counter::driver

#endif
