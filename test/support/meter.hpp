// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_METER_HPP
#define COLOCK_TEST_SUPPORT_METER_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/assert/source_location.hpp>
#include <boost/system/error_code.hpp>
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <thread>

namespace colock::test {

/// The cost of a test for this process. Threads and descriptors count from the construction of the meter.
struct cost {
    std::size_t threads = 0;      ///< At most.
    std::size_t descriptors = 0;  ///< At most.
    /// The most CPU time that the thread of the event loop used without running a timer. A busy machine may
    /// let the thread wait for seconds. This is not its fault and does not count. A handler that blocks looks
    /// the same, so only the deadline of a test finds it.
    std::chrono::milliseconds stall{};
    std::chrono::milliseconds cpu{};  ///< The CPU time of all threads.
    std::set<std::string>
        inheritable{};  ///< Descriptors without the close-on-exec flag at the end.
};

inline std::ostream& operator<<(std::ostream& to, const cost& of) {
    to << of.threads << " more threads, " << of.descriptors << " more descriptors, "
       << of.stall.count() << " ms longest stall, " << of.cpu.count() << " ms CPU";
    if (!of.inheritable.empty()) {
        to << ", " << of.inheritable.size()
           << " inheritable descriptors: " << *of.inheritable.begin() << " and so on";
    }
    return to;
}

/// The upper bounds of the cost. The threads and sockets of fake servers and proxies count too. A sanitizer
/// multiplies the CPU time.
struct cost_bounds {
    std::size_t threads = 64;
    std::size_t descriptors = 128;
    std::chrono::milliseconds stall{3000};
    std::chrono::milliseconds cpu = std::chrono::milliseconds::max();
};

/// The bounds of a test that works outside of the event loop, such as with an `instance_rig`. Its loop does
/// not run all the time.
inline constexpr cost_bounds loop_may_rest{.stall = std::chrono::milliseconds::max()};

/// Measures the cost of a test for this process, and fails the test if a bound is exceeded. It samples every
/// few milliseconds on the event loop of the test, and a last time in the destructor.
///
/// Thread-safety: only the thread that runs the event loop may use it.
class meter {
public:
    explicit meter(const boost::asio::any_io_executor& loop, const cost_bounds& bounds = {},
                   boost::source_location location = BOOST_CURRENT_LOCATION)
        : state_(std::make_shared<state>(loop)), bounds_(bounds), location_(location) {
        state::tick(state_);
    }
    meter(const meter&) = delete;
    meter& operator=(const meter&) = delete;

    ~meter() {
        state_->timer.cancel();
        state_->ended = true;
        const cost all = now();
        BOOST_TEST_MESSAGE("cost: " << all);
        BOOST_TEST_INFO_SCOPE("measured from line " << location_.line() << " of "
                                                    << location_.file_name() << " on: " << all);
        BOOST_TEST(all.threads <= bounds_.threads);
        BOOST_TEST(all.descriptors <= bounds_.descriptors);
        BOOST_TEST(all.stall.count() <= bounds_.stall.count());
        BOOST_TEST(all.cpu.count() <= bounds_.cpu.count());
        BOOST_TEST(all.inheritable.empty());
    }

    /// Returns the cost so far.
    [[nodiscard]] cost now() const {
        state_->look();
        cost result = state_->most;
        result.cpu = cpu_time(RUSAGE_SELF) - state_->cpu_before;
        for (const int one : descriptors()) {
            const int flags = ::fcntl(one, F_GETFD);
            if (!state_->descriptors_before.contains(one) && flags >= 0 &&
                (flags & FD_CLOEXEC) == 0) {
                result.inheritable.insert(what_is(one));
            }
        }
        return result;
    }

    /// Returns the ids of all threads. The kernel does not reuse an id soon. A joined thread may remain
    /// listed for a moment. Compare the ids with an earlier set, not the counts.
    static std::set<int> threads() {
        // A sanitizer starts a thread of its own together with the first thread of a program.
        [[maybe_unused]] static const bool has_threads = [] {
            std::thread([] {}).join();
            return true;
        }();
        return numbers_in("/proc/self/task");
    }

    static std::set<int> descriptors() {
        std::set<int> result = numbers_in("/proc/self/fd");
        // The descriptor of the folder itself is closed by now.
        std::erase_if(result, [](int one) { return ::fcntl(one, F_GETFD) < 0; });
        return result;
    }

    /// Returns how many are in `now` but not in `before`.
    static std::size_t added(const std::set<int>& now, const std::set<int>& before) {
        const auto is_new = [&](int one) { return !before.contains(one); };
        return static_cast<std::size_t>(std::ranges::count_if(now, is_new));
    }

private:
    static constexpr std::chrono::milliseconds interval{10};

    struct state {
        explicit state(const boost::asio::any_io_executor& loop) : timer(loop) {}

        static void tick(const std::shared_ptr<state>& self) {
            self->cpu_at_tick = cpu_time(RUSAGE_THREAD);
            self->timer.expires_after(interval);
            self->timer.async_wait([self](const boost::system::error_code& cancelled) {
                if (!cancelled && !self->ended) {
                    self->look();
                    tick(self);
                }
            });
        }

        void look() {
            most.stall = std::max(most.stall, cpu_time(RUSAGE_THREAD) - cpu_at_tick);
            most.threads = std::max(most.threads, added(threads(), threads_before));
            most.descriptors = std::max(most.descriptors, added(descriptors(), descriptors_before));
        }

        boost::asio::steady_timer timer;
        bool ended = false;
        std::chrono::milliseconds cpu_at_tick{};
        cost most;
        std::set<int> threads_before = threads();
        std::set<int> descriptors_before = descriptors();
        std::chrono::milliseconds cpu_before = cpu_time(RUSAGE_SELF);
    };

    static std::set<int> numbers_in(const char* folder) {
        std::set<int> result;
        for (const auto& one : std::filesystem::directory_iterator(folder)) {
            result.insert(std::stoi(one.path().filename()));
        }
        return result;
    }

    /// Returns the CPU time of the process (`RUSAGE_SELF`) or of the calling thread (`RUSAGE_THREAD`).
    static std::chrono::milliseconds cpu_time(int whose) {
        rusage used{};
        ::getrusage(whose, &used);
        const auto to_time = [](const timeval& of) {
            return std::chrono::seconds(of.tv_sec) + std::chrono::microseconds(of.tv_usec);
        };
        return std::chrono::duration_cast<std::chrono::milliseconds>(to_time(used.ru_utime) +
                                                                     to_time(used.ru_stime));
    }

    static std::string what_is(int descriptor) {
        std::error_code ignored;
        const auto target =
            std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored);
        return std::to_string(descriptor) + " " + target.string();
    }

    std::shared_ptr<state> state_;
    cost_bounds bounds_;
    boost::source_location location_;
};

}  // namespace colock::test

#endif
