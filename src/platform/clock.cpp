// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "platform/clock.hpp"

#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX, not C
#include <algorithm>
#include <chrono>

namespace colock::platform {
namespace {

using std::chrono::steady_clock;

#if defined(CLOCK_BOOTTIME)

core::duration time_since_boot() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Returns how far the clock that advances during a suspend is ahead of the steady clock. It returns the
/// least of a few tries, because the thread may be interrupted between the two reads.
core::duration lead() noexcept {
    core::duration least = core::duration::max();
    for (int i = 0; i != 3; ++i) {
        const core::duration steady = steady_clock::now().time_since_epoch();
        least = std::min(least, time_since_boot() - steady);
    }
    return least;
}

core::duration lead_at_start() noexcept {
    static const core::duration result = lead();
    return result;
}

/// Returns how long the machine has been suspended since this program first asked for the time.
core::duration suspended() noexcept {
    return std::chrono::round<core::milliseconds>(lead() - lead_at_start());
}

#else

core::duration suspended() noexcept {
    return core::duration::zero();
}

#endif

bool is_extreme(core::time_point time) noexcept {
    return time == core::time_point::min() || time == core::time_point::max();
}

}  // namespace

core::time_point clock::now() noexcept {
#if defined(CLOCK_BOOTTIME)
    return core::time_point(time_since_boot() - lead_at_start());
#else
    return steady_clock::now();
#endif
}

core::time_point clock::to_steady(core::time_point time) noexcept {
    return is_extreme(time) ? time : time - suspended();
}

core::time_point clock::from_steady(core::time_point time) noexcept {
    if (is_extreme(time)) {
        return time;
    }
    const core::duration more = suspended();
    return time < core::time_point::max() - more ? time + more : core::time_point::max();
}

}  // namespace colock::platform
