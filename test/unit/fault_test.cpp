// The faults of the list that need no server.

#include "core/renew.hpp"
#include "core/validity.hpp"
#include "support/deadline.hpp"
#include "support/field_refused.hpp"
#include "support/run.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

/// How far the wall clock is off.
std::atomic<long> wall_clock_offset{0};  // s

/// For how long the machine has been suspended.
std::atomic<long> time_suspended{0};  // s

}  // namespace

// In place of the system's.
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
using namespace std::chrono_literals;
namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A wall clock that is right again when the test ends.
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

/// So many instances inside this process: "memory://<name>0" and so on.
config in_memory(const std::string& name, std::size_t count = 1) {
    config configuration;
    for (std::size_t i = 0; i != count; ++i) {
        configuration.instances.push_back("memory://" + name + std::to_string(i));
    }
    return configuration;
}

BOOST_AUTO_TEST_SUITE(fault_test)

/// Every renewal wins, and the holder wants to hold it for good: its time is up all the same.
BOOST_AUTO_TEST_CASE(fault_17_max_hold_is_not_renewed_away) {
    using event = core::renew::event;
    using kind = core::renew::action::kind_type;
    core::renew_settings settings;
    settings.instances = 3;
    settings.ttl = 1s;
    settings.interval = 300ms;
    settings.instance_timeout = 50ms;
    settings.max_hold = 1min;
    const core::time_point granted_at{};
    core::renew machine(settings, granted_at,
                        core::valid_until(granted_at, settings.ttl, settings.drift));
    core::time_point now = granted_at;
    core::renew::action action = machine.resume(event::start(), now);
    while (action.kind != kind::lost) {
        if (action.kind == kind::wait) {
            BOOST_TEST_REQUIRE((action.time <= granted_at + settings.max_hold));
            now = std::max(now, action.time);
            action = machine.resume(event::timer(), now);
        } else {
            BOOST_TEST_REQUIRE((action.kind == kind::send));
            action = machine.resume(event::done(), now);
            for (std::size_t i = 0; i != 3 && action.kind != kind::lost; ++i) {
                action = machine.resume(
                    event::voted(i, machine.round_number(), core::vote::granted()), now);
            }
        }
    }
    BOOST_TEST((action.why == core::loss::max_hold));
    BOOST_TEST((now == granted_at + settings.max_hold - core::loss_notice(settings.ttl)));
    BOOST_TEST((machine.valid_until() == granted_at + settings.max_hold));
    BOOST_TEST(machine.won() > 190U);
}

BOOST_AUTO_TEST_CASE(fault_17_max_hold_frees_the_lock) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_17"));
        lock_options limited = renewed_often(10s);
        limited.max_hold = 100ms;
        const auto begin = steady_clock::now();
        const lease held = co_await mutex(locks, "x", limited).acquire();
        const lease next = co_await mutex(locks, "x").acquire();  // although `held` is kept
        BOOST_TEST((steady_clock::now() - begin >= 100ms));
        BOOST_TEST(next.valid());
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.loss() == errc::max_hold_exceeded));
        BOOST_TEST(locks.counters().renewed > 0U);
    }());
}

BOOST_AUTO_TEST_CASE(fault_22_wall_clock_jumps_and_nothing_happens) {
    const wall_clock clock;
    const auto before = std::chrono::system_clock::now();
    const auto seconds_before = ::time(nullptr);
    wall_clock::jump(1h);
    BOOST_TEST((std::chrono::system_clock::now() - before >= 1h));  // it does jump
    BOOST_TEST(::time(nullptr) - seconds_before >= 3600);
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_22", 3));
        lease held = co_await mutex(locks, "x", renewed_often(5s)).acquire();
        std::optional<error> waited;
        mutex(locks, "x").try_acquire_for(1min, [&](error e, std::optional<lease>) { waited = e; });
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

/// A lease that nobody renews ends at its time, not an hour later.
BOOST_AUTO_TEST_CASE(fault_22_wall_clock_jumps_back_and_a_lease_ends_in_time) {
    const wall_clock clock;
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_22"));
        lock_options unrenewed;
        unrenewed.ttl = 100ms;
        unrenewed.renew = 0ms;
        const lease held = co_await mutex(locks, "x", unrenewed).acquire();
        wall_clock::jump(-1h);
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_expired));
        const auto next = co_await mutex(locks, "x").try_acquire_for(10s);
        BOOST_TEST(next.has_value());
    }());
}

BOOST_AUTO_TEST_CASE(fault_22_suspended_for_longer_than_the_ttl) {
    for (const milliseconds renew : {0ms, 3000ms}) {
        run_test([renew]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, in_memory("fault_22", 3));
            lock_options options;
            options.renew = renew;
            lease held = co_await mutex(locks, "x", options).acquire();
            BOOST_TEST(held.valid());
            suspend(11s);
            BOOST_TEST(!held.valid());
            BOOST_TEST((held.valid_until() <= steady_clock::now()));
            co_await held.wait_lost();  // soon, although the timer was armed for later
            BOOST_TEST((held.loss() == condition::lost));
            BOOST_TEST((co_await held.release() == release_result::expired));
            const auto next = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST_REQUIRE(next.has_value());
            BOOST_TEST(next->valid());
        }());
    }
}

BOOST_AUTO_TEST_CASE(fault_22_suspended_for_less_than_the_ttl) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_22", 3));
        lease held = co_await mutex(locks, "x").acquire();
        const auto before = held.valid_until();
        suspend(2s);
        BOOST_TEST(held.valid());
        BOOST_TEST((held.valid_until() <= before - 1990ms));
        BOOST_TEST((held.valid_until() > steady_clock::now()));
        co_await async_wait_until([&] { return held.valid_until() > before; });  // it is renewed
        // What a user gives is a time of the steady clock.
        const auto begin = steady_clock::now();
        const auto other =
            co_await mutex(locks, "x").try_acquire_until(steady_clock::now() + 200ms);
        BOOST_TEST(!other.has_value());
        BOOST_TEST((steady_clock::now() - begin >= 190ms));
        BOOST_TEST((co_await held.release() == release_result::released));
    }());
}

BOOST_AUTO_TEST_CASE(fault_35_bad_input_ttl) {
    asio::io_context context;
    client locks(context, in_memory("fault_35"));
    constexpr milliseconds century = 24h * 365 * 100;
    for (const milliseconds ttl : {0ms, -1ms, 1ms, century, milliseconds::max()}) {
        lock_options options;
        options.ttl = ttl;
        BOOST_TEST(field_refused([&] { mutex(locks, "x", options); }) == "ttl");
    }
    lock_options longest;
    longest.ttl = 24h;
    BOOST_TEST(field_refused([&] { mutex(locks, "x", longest); }).empty());
}

BOOST_AUTO_TEST_CASE(fault_35_bad_input_ttl_of_an_extension) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_35"));
        lease held = co_await mutex(locks, "x").acquire();
        for (const milliseconds ttl : {0ms, -1ms, 1ms, milliseconds::max()}) {
            BOOST_TEST(field_refused([&] { held.extend(ttl, [](error) {}); }) == "ttl");
        }
        BOOST_TEST(held.valid());
    }());
}

BOOST_AUTO_TEST_CASE(fault_35_bad_input_resource) {
    run_test([]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, in_memory("fault_35"));
        BOOST_TEST(field_refused([&] { mutex(locks, ""); }) == "resource");
        BOOST_TEST(field_refused([&] { mutex(locks, std::string(1 << 20, 'x')); }) == "resource");
        const std::string binary("\0\r\n\xff{}", 6);
        const lease held = co_await mutex(locks, binary).acquire();
        BOOST_TEST(held.resource() == binary);
        const auto another = co_await mutex(locks, std::string("\0", 1)).try_acquire();
        BOOST_TEST(another.has_value());
        const auto refused = co_await mutex(locks, binary).try_acquire();
        BOOST_TEST(!refused.has_value());
    }());
}

std::string field_of(std::vector<std::string> uris) {
    return field_refused([&] {
        asio::io_context context;
        config configuration;
        configuration.instances = std::move(uris);
        const client locks(context, configuration);
    });
}

BOOST_AUTO_TEST_CASE(fault_35_bad_input_instances) {
    BOOST_TEST(field_of({}) == "instances");
    BOOST_TEST(field_of({"memory://a", "memory://b", "memory://a"}) == "instances[2]");
    BOOST_TEST(field_of({"redis://h", "redis://h:6379/1"}) == "instances[1]");
    for (const std::string uri : {"", "redis", "redis://", "redis://h:0", "redis://h:65536",
                                  "redis://h/x", "http://h", "redis://h?x=1", "redis://[::1"}) {
        BOOST_TEST(field_of({"memory://a", uri}) == "instances[1]", uri);
    }
    BOOST_TEST(field_of({"memory://a", "memory://b"}).empty());
}

/// More than half is needed.
BOOST_AUTO_TEST_CASE(fault_35_bad_input_even_number_of_instances) {
    run_test([]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client half(executor, in_memory("even", 2));
        client all(executor, in_memory("even", 4));
        lease held = co_await mutex(half, "x").acquire();
        const auto refused = co_await mutex(all, "x").try_acquire();
        BOOST_TEST(!refused.has_value());
        co_await held.release();
        const auto granted = co_await mutex(all, "x").try_acquire();
        BOOST_TEST(granted.has_value());
    }());
}

BOOST_AUTO_TEST_CASE(fault_35_bad_input_json) {
    const auto field = [](std::string_view text) {
        std::string result = "no error";
        try {
            config::from_json(text);
        } catch (const config_error& e) {
            result = e.field();
        }
        return result;
    };
    BOOST_TEST(field("") == "");
    BOOST_TEST(field("{") == "");
    BOOST_TEST(field("[]") == "");
    BOOST_TEST(field("{}") == "/instances");
    BOOST_TEST(field(R"({"instances": []})") == "/instances");
    BOOST_TEST(field(R"({"instances": ["memory://a", "nonsense"]})") == "/instances/1");
    BOOST_TEST(field(R"({"instances": ["memory://a", 1]})") == "/instances/1");
    BOOST_TEST(field(R"({"instances": ["memory://a"], "instance_timeout_ms": "1"})") ==
               "/instance_timeout_ms");
    BOOST_TEST(field(R"({"instances": ["memory://a"], "max_in_flight": -1})") == "/max_in_flight");
    BOOST_TEST(field(R"({"instances": ["memory://a"], "no/such": 1})") == "/no~1such");
    BOOST_TEST(field(R"({"instances": ["memory://a"]})") == "no error");
}

/// What is beyond the bound fails at once, says why, and harms nothing that is within.
BOOST_AUTO_TEST_CASE(fault_35_bad_input_more_in_flight_than_the_bound) {
    run_test([]() -> asio::awaitable<void> {
        config configuration = in_memory("fault_35");
        configuration.max_in_flight = 10;
        client locks(co_await asio::this_coro::executor, configuration);
        std::vector<std::optional<lease>> granted;
        std::vector<error> errors;
        for (int i = 0; i != 30; ++i) {  // all in one turn
            mutex(locks, "x" + std::to_string(i)).try_acquire([&](error e, auto got) {
                errors.push_back(e);
                granted.push_back(std::move(got));
            });
        }
        co_await async_wait_until([&] { return errors.size() == 30; });
        std::size_t held = 0;
        for (std::size_t i = 0; i != 30; ++i) {
            held += granted[i] && granted[i]->valid() ? 1 : 0;
            if (!granted[i]) {
                BOOST_TEST((errors[i] == errc::no_quorum), errors[i].message());
                BOOST_TEST(errors[i].details().find("overloaded") != std::string::npos);
            }
        }
        BOOST_TEST(held == 10U);
        granted.clear();
        co_await async_wait_until([&] { return locks.counters().releasing == 0; });
        const auto later = co_await mutex(locks, "x29").try_acquire();
        BOOST_TEST(later.has_value());
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
