// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_STOPPED_CLOCK_HPP
#define COLOCK_TEST_SUPPORT_STOPPED_CLOCK_HPP

#include "support/redis_server.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

/// A wall clock for servers, which stands still until the test sets it. It starts with the time of the
/// machine.
class stopped_clock {
public:
    /// `preload` is the path of the library `stopped_clock_preload`.
    explicit stopped_clock(std::string preload) : preload_(std::move(preload)) {
        const int file = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || ::ftruncate(file, sizeof(shared_time)) != 0) {
            throw std::runtime_error("cannot write " + path());
        }
        memory_ = ::mmap(nullptr, sizeof(shared_time), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        ::close(file);
        if (memory_ == MAP_FAILED) {
            throw std::runtime_error("cannot map " + path());
        }
    }
    ~stopped_clock() { ::munmap(memory_, sizeof(shared_time)); }
    stopped_clock(const stopped_clock&) = delete;
    stopped_clock& operator=(const stopped_clock&) = delete;

    /// Returns the launcher that a server needs.
    [[nodiscard]] std::vector<std::string> launcher() const {
        return {"env", "LD_PRELOAD=" + preload_, "COLOCK_CLOCK_FILE=" + path()};
    }

    /// Sets the clock, in microseconds since 1970.
    void set(std::int64_t now) { static_cast<shared_time*>(memory_)->store(now); }

private:
    using shared_time = std::atomic<std::int64_t>;

    [[nodiscard]] std::string path() const { return (folder_.path() / "clock").string(); }

    temporary_folder folder_;
    std::string preload_;
    void* memory_ = nullptr;
};

}  // namespace colock::test

#endif
