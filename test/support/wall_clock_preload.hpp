// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_WALL_CLOCK_PRELOAD_HPP
#define COLOCK_TEST_SUPPORT_WALL_CLOCK_PRELOAD_HPP

#include <sys/time.h>
#include <time.h>

// Functions that read the same clock as `clock_gettime`. A library for LD_PRELOAD that replaces
// `clock_gettime` includes them in its only source.

extern "C" {

int gettimeofday(timeval* to, void* /*zone*/) noexcept {
    timespec now{};
    const int result = ::clock_gettime(CLOCK_REALTIME, &now);
    to->tv_sec = now.tv_sec;
    to->tv_usec = now.tv_nsec / 1000;
    return result;
}

time_t time(time_t* to) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    if (to != nullptr) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}

}  // extern "C"

#endif
