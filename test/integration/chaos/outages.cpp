// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/outages.hpp"

#include <algorithm>

namespace colock::chaos {

outages find_outages(std::vector<std::chrono::nanoseconds> successes,
                     std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                     std::chrono::nanoseconds patience) {
    std::erase_if(successes, [&](auto time) { return time <= begin || time >= end; });
    successes.push_back(end);
    std::ranges::sort(successes);
    outages found;
    auto last = begin;
    for (const auto time : successes) {
        if (time - last > patience) {
            found.longest = std::max(found.longest, time - last);
            found.total += time - last;
        }
        last = time;
    }
    return found;
}

}  // namespace colock::chaos
