// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_OUTAGES_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_OUTAGES_HPP

#include <chrono>
#include <vector>

namespace colock::chaos {

/// Times during which no client could acquire a lock.
struct outages {
    std::chrono::nanoseconds longest{};
    std::chrono::nanoseconds total{};
};

/// Finds the outages within `begin` and `end`. An outage is a period longer than `patience` without a
/// success, although some client tried all the time. It lasts from the success before it to the success after
/// it. `successes` need not be sorted.
outages find_outages(std::vector<std::chrono::nanoseconds> successes,
                     std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                     std::chrono::nanoseconds patience);

}  // namespace colock::chaos

#endif
