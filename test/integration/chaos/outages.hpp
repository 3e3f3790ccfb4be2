// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_OUTAGES_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_OUTAGES_HPP

#include <chrono>
#include <vector>

namespace colock::chaos {

/// Times when nobody could acquire anything.
struct outages {
    std::chrono::nanoseconds longest{};
    std::chrono::nanoseconds total{};
};

/// An outage is a stretch of time longer than `patience` in which nobody had success, although
/// somebody tried all the time. It counts from the success before it to the one after it, within
/// `begin` and `end`. `successes` need not be in order.
outages find_outages(std::vector<std::chrono::nanoseconds> successes,
                     std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                     std::chrono::nanoseconds patience);

}  // namespace colock::chaos

#endif
