// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A library for LD_PRELOAD. The wall clock of the process shows the content of the file COLOCK_CLOCK_FILE, in
// microseconds since 1970. If the content is 0, the clock shows the time of the machine. Monotonic clocks are
// unchanged.

#include "wall_clock_preload.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using shared_time = std::atomic<std::int64_t>;

const shared_time* shared() {
    static const shared_time* const result = []() -> const shared_time* {
        const char* const path = std::getenv("COLOCK_CLOCK_FILE");
        const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            return nullptr;
        }
        void* const memory = ::mmap(nullptr, sizeof(shared_time), PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        return memory == MAP_FAILED ? nullptr : static_cast<const shared_time*>(memory);
    }();
    return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, to);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) &&
        shared() != nullptr) {
        if (const std::int64_t now = shared()->load(); now != 0) {
            to->tv_sec = now / 1'000'000;
            to->tv_nsec = now % 1'000'000 * 1000;
        }
    }
    return static_cast<int>(result);
}

/// Between two reads of the wall clock, Valkey adds the time that a processor counter has measured. It looks
/// in /proc/cpuinfo for that counter. The file therefore appears to be missing. Depending on the C library,
/// the name of the function is fopen64 or fopen.
FILE* fopen64(const char* path, const char* mode) {
    using function = FILE*(const char*, const char*);
    static auto* const next = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "fopen64"));
    return std::string_view(path) == "/proc/cpuinfo" ? nullptr : next(path, mode);
}

FILE* fopen(const char* path, const char* mode) {
    return ::fopen64(path, mode);
}

}  // extern "C"
