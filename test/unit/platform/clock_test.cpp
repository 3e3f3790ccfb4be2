// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Clocks: the wall clock may jump, and the machine may be suspended.

#include "support/deadline.hpp"
#include "support/run.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

namespace {

/// The offset of the wall clock.
std::atomic<long> wall_clock_offset{0};  // In seconds.

/// The time for which the machine has been suspended.
std::atomic<long> time_suspended{0};  // In seconds.

}  // namespace

// These functions replace those of the system.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long result = ::syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += wall_clock_offset;
    }
    if (result == 0 && clock == CLOCK_BOOTTIME) {
        now->tv_sec += time_suspended;
    }
    return static_cast<int>(result);
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
    timespec precise{};
    const int result = clock_gettime(CLOCK_REALTIME, &precise);
    *now = {.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return result;
}

extern "C" time_t time(time_t* copy) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (copy != nullptr) {
        *copy = now.tv_sec;
    }
    return now.tv_sec;
}

namespace {

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Sets the wall clock until the end of the test.
struct wall_clock {
    ~wall_clock() { wall_clock_offset = 0; }
    static void jump(std::chrono::seconds by) { wall_clock_offset += by.count(); }
};

void suspend(std::chrono::seconds length) {
    time_suspended += length.count();
}

lock_options renewed_often(milliseconds ttl) {
    lock_options options;
    options.ttl = ttl;
    options.renew = 5ms;
    return options;
}

/// Returns a configuration with this many memory instances: "memory://<name>0" and so on.
config in_memory(const std::string& name, std::size_t count = 1) {
    config configuration;
    for (std::size_t i = 0; i != count; ++i) {
        configuration.instances.push_back("memory://" + name + std::to_string(i));
    }
    return configuration;
}

BOOST_AUTO_TEST_SUITE(clock_test)

BOOST_AUTO_TEST_CASE(wall_clock_jumps_do_not_affect_leases, *label("fault-22")) {
    const wall_clock clock;
    const auto before = std::chrono::system_clock::now();
    const auto seconds_before = ::time(nullptr);
    wall_clock::jump(1h);
    BOOST_TEST((std::chrono::system_clock::now() - before >= 1h));  // Verifies the jump.
    BOOST_TEST(::time(nullptr) - seconds_before >= 3600);
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("clock", 3));
        lease held = co_await mutex(locks, "x", renewed_often(5s)).acquire();
        std::optional<error> waited;
        mutex(locks, "x").try_acquire_for(1min, [&](error e, const lease&) { waited = e; });
        for (const std::chrono::seconds jump : {3600s, -7200s, 3600s * 24 * 365}) {
            wall_clock::jump(jump);
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 5; });
            BOOST_TEST(held.valid());
            BOOST_TEST((held.valid_until() <= steady_clock::now() + 5s));
            BOOST_TEST((held.valid_until() > steady_clock::now() + 1s));
            BOOST_TEST(!waited.has_value());
        }
        co_await held.release();
        co_await async_wait_until([&] { return waited.has_value(); });
        BOOST_TEST(!*waited, waited->message());
        BOOST_TEST(locks.counters().lost == 0U);
        BOOST_TEST(locks.counters().renewals_failed == 0U);
    }());
}

/// A lease without a watchdog ends on time, and not an hour late.
BOOST_AUTO_TEST_CASE(a_lease_ends_in_time_although_the_wall_clock_jumps_back, *label("fault-22")) {
    const wall_clock clock;
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("clock"));
        lock_options unrenewed;
        unrenewed.ttl = 100ms;
        unrenewed.renew = 0ms;
        const lease held = co_await mutex(locks, "x", unrenewed).acquire();
        wall_clock::jump(-1h);
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_expired));
        const auto next = co_await mutex(locks, "x").try_acquire_for(10s);
        BOOST_TEST(next.owns_lock());
    }());
}

BOOST_AUTO_TEST_CASE(a_machine_suspended_for_longer_than_the_ttl_loses_the_lease,
                     *label("fault-22")) {
    for (const milliseconds renew : {0ms, 3000ms}) {
        run_test([renew]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, in_memory("clock", 3));
            lock_options options;
            options.renew = renew;
            lease held = co_await mutex(locks, "x", options).acquire();
            BOOST_TEST(held.valid());
            suspend(11s);
            BOOST_TEST(!held.valid());
            BOOST_TEST((held.valid_until() <= steady_clock::now()));
            co_await held.wait_lost();  // Completes soon, although the timer was set for later.
            BOOST_TEST((held.loss() == condition::lost));
            BOOST_TEST((co_await held.release() == release_result::expired));
            const auto next = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST_REQUIRE(next.owns_lock());
            BOOST_TEST(next.valid());
        }());
    }
}

BOOST_AUTO_TEST_CASE(a_machine_suspended_for_less_than_the_ttl_keeps_the_lease,
                     *label("fault-22")) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("clock", 3));
        lease held = co_await mutex(locks, "x").acquire();
        const auto before = held.valid_until();
        suspend(2s);
        BOOST_TEST(held.valid());
        BOOST_TEST((held.valid_until() <= before - 1990ms));
        BOOST_TEST((held.valid_until() > steady_clock::now()));
        co_await async_wait_until([&] { return held.valid_until() > before; });  // It is renewed.
        // A deadline is a time of the steady clock.
        const auto begin = steady_clock::now();
        const auto other =
            co_await mutex(locks, "x").try_acquire_until(steady_clock::now() + 200ms);
        BOOST_TEST(!other.owns_lock());
        BOOST_TEST((steady_clock::now() - begin >= 190ms));
        BOOST_TEST((co_await held.release() == release_result::released));
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
