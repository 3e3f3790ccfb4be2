// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A library for LD_PRELOAD. It moves the wall clock of the process by COLOCK_CLOCK_AHEAD seconds, which may
// be negative. Monotonic clocks are unchanged.

#include "wall_clock_preload.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

long ahead() {
    static const long seconds = [] {
        const char* const text = std::getenv("COLOCK_CLOCK_AHEAD");
        return text == nullptr ? 0L : std::strtol(text, nullptr, 10);
    }();
    return seconds;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, to);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        to->tv_sec += ahead();
    }
    return static_cast<int>(result);
}

}  // extern "C"
