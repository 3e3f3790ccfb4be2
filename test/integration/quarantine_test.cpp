// What becomes of mutual exclusion when servers forget.

#include "integration/locks.hpp"
#include "support/field_refused.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace colock;
using namespace colock::test;

config with_quarantine(const servers& instances, milliseconds length) {
    config configuration = instances.config();
    configuration.restart_quarantine = length;
    return configuration;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(quarantine_test)

/// What is held goes on, and what is let go is.
BOOST_AUTO_TEST_CASE(a_lease_outlives_the_restart_of_a_minority) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 2s));
        co_await async_wait_until([&] { return ready_instances(locks) == 3; });
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        three[0].restart();
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        const instance_info restarted = locks.instances()[0];
        BOOST_TEST((restarted.quarantined_until > steady_clock::now()));
        BOOST_TEST((restarted.quarantined_until < steady_clock::now() + 3s));
        BOOST_TEST(to_string(restarted.state) == "quarantined");
        // Others are still granted by the rest, a quorum.
        const lease another = co_await mutex(locks, "y", with_ttl(1s)).acquire();
        BOOST_TEST(!three[0].has("y"));
        co_await all_ready(locks);
        BOOST_TEST((steady_clock::now() >= restarted.quarantined_until));
        // The watchdog has kept it all the while, and puts it back on the one that had forgotten.
        co_await async_wait_until([&] { return three[0].has("x"); });
        BOOST_TEST(held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }());
}

/// As soon as it can be, not only after the quarantine: by then others may have failed, and the lease
/// would be lost.
BOOST_AUTO_TEST_CASE(what_is_held_is_put_back_in_quarantine) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 3s));
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_every(50ms, 2s)).acquire();
        three[0].restart();
        co_await async_wait_until([&] { return three[0].has("x"); });
        BOOST_TEST((locks.instances()[0].state == instance_state::quarantined));
        three[1].restart();
        co_await async_wait_until([&] { return three[1].has("x"); });
        BOOST_TEST((locks.instances()[1].state == instance_state::quarantined));
        three[2].restart();
        co_await async_wait_until([&] { return three[2].has("x"); });
        BOOST_TEST(held.valid());
    }());
}

long uptime_of(const redis_server& server) {
    const std::string text = server.command({"INFO", "server"}).value();
    const std::string field = "uptime_in_seconds:";
    return std::stol(text.substr(text.find(field) + field.size()));
}

/// A server counts the seconds of its wall clock that have begun: it may say "a second" a moment after
/// it was started.
BOOST_AUTO_TEST_CASE(a_server_that_says_it_has_been_up_for_longer_than_it_has) {
    run_test([&]() -> asio::awaitable<void> {
        servers one(1);
        steady_clock::time_point started;
        for (;;) {
            co_await async_wait_until([&] {
                const auto now = std::chrono::system_clock::now();
                return now - std::chrono::floor<std::chrono::seconds>(now) > 700ms;
            });
            started = steady_clock::now();
            one[0].restart();
            co_await async_wait_until([&] { return uptime_of(one[0]) > 0; });
            if (steady_clock::now() - started < 800ms) {
                break;
            }
        }
        client locks(co_await asio::this_coro::executor, with_quarantine(one, 3s));
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        BOOST_TEST((locks.instances()[0].quarantined_until >= started + 3s));
        BOOST_TEST((locks.instances()[0].quarantined_until < started + 6s));
    }());
}

BOOST_AUTO_TEST_CASE(who_waits_is_told_why_and_woken_at_its_end) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 4s));
        co_await async_wait_until([&] {
            const auto all = locks.instances();
            return std::all_of(all.begin(), all.end(), [](const instance_info& one) {
                return one.state == instance_state::quarantined;
            });
        });
        const auto [e, nothing] =
            co_await mutex(locks, "x", with_ttl(4s)).try_acquire(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        BOOST_TEST(e.details().find("in quarantine: it had been up for only ") != std::string::npos,
                   e.details());
        lock_options patient = with_ttl(4s);
        patient.unavailable_timeout = 1min;
        patient.retry.initial = patient.retry.maximum = 1min;
        const lease held = co_await mutex(locks, "x", patient).acquire();
        BOOST_TEST(held.valid());
        co_await all_ready(locks);
    }());
}

/// Two want a name; the first one's time is up just after its servers' quarantine, and the loop does something
/// else until all that is over. What they are told; nothing if the machine was too slow for that.
asio::awaitable<std::vector<error>> told_at_the_end_of_a_quarantine(servers& three) {
    for (redis_server& one : three) {
        one.restart();
    }
    client locks(co_await asio::this_coro::executor, with_quarantine(three, 3s));
    co_await async_wait_until([&] {
        const auto all = locks.instances();
        return std::ranges::all_of(
            all, [](const instance_info& one) { return one.state == instance_state::quarantined; });
    });
    std::vector<steady_clock::time_point> ends;
    for (const instance_info& one : locks.instances()) {
        ends.push_back(one.quarantined_until);
    }
    std::ranges::sort(ends);
    const auto quorum_is_back = ends[1];
    const auto deadline = quorum_is_back + 50ms;

    lock_options first = with_ttl(1s);
    first.unavailable_timeout = 1min;
    first.retry.initial = first.retry.maximum = 1min;
    lock_options second = with_ttl(1s);
    second.unavailable_timeout = 0ms;
    std::vector<error> told;
    mutex(locks, "x", first).try_acquire_until(deadline, [&](error e, std::optional<lease>) {
        told.push_back(std::move(e));
    });
    mutex(locks, "x", second).acquire([&](error e, lease) { told.push_back(std::move(e)); });
    co_await mutex(locks, "y", with_ttl(1s)).try_acquire(asio::as_tuple);  // so that time goes on
    co_await async_wait_until([&] { return steady_clock::now() > quorum_is_back - 5ms; });
    const bool in_time = steady_clock::now() < quorum_is_back;
    std::this_thread::sleep_until(deadline + 10ms);
    co_await async_wait_until([&] { return told.size() == 2; });
    if (!in_time) {
        told.clear();
    }
    co_return told;
}

/// The first fails for good in the moment in which there is a quorum again, and the other with it, while all who
/// attempt are told.
BOOST_AUTO_TEST_CASE(who_fails_at_its_end_takes_others_along) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        std::vector<error> told;
        for (int attempts = 0; told.empty() && attempts != 5; ++attempts) {
            told = co_await told_at_the_end_of_a_quarantine(three);
        }
        BOOST_TEST(told.size() == 2U);
        for (const error& e : told) {
            BOOST_TEST((e == errc::no_quorum), e.message());
        }
    }());
}

/// Else a server that has restarted would grant a lock again that it has forgotten.
BOOST_AUTO_TEST_CASE(no_lock_may_live_for_longer) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, with_quarantine(three, 1s));
        BOOST_TEST(field_refused([&] { mutex(locks, "x", with_ttl(1001ms)); }) == "ttl");
        lock_options patient = with_ttl(1s);
        patient.unavailable_timeout = 1min;
        lease held = co_await mutex(locks, "x", patient).acquire();
        BOOST_TEST(field_refused([&] { held.extend(1001ms, [](error) {}); }) == "ttl");
        co_await held.extend(1s);
        BOOST_TEST(held.valid());

        client by_default(executor, config::from_uris(three.uris()));
        mutex(by_default, "x", with_ttl(10s));
        BOOST_TEST(field_refused([&] { mutex(by_default, "x", with_ttl(10001ms)); }) == "ttl");
        client one(executor, config::from_uris({three[0].uri()}));
        mutex(one, "x", with_ttl(24h));
        client trusting(executor, with_quarantine(three, 0s));
        mutex(trusting, "x", with_ttl(24h));
    }());
}

BOOST_AUTO_TEST_CASE(by_default_for_three_and_not_for_less) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        const auto executor = co_await asio::this_coro::executor;
        client all(executor, config::from_uris(three.uris()));
        client two(executor, config::from_uris({three[0].uri(), three[1].uri()}));
        client one(executor, config::from_uris({three[0].uri()}));
        co_await all_ready(two);
        co_await all_ready(one);
        const lease held = co_await mutex(two, "x").acquire();
        co_await async_wait_until(
            [&] { return all.instances()[2].state == instance_state::quarantined; });
        BOOST_TEST((all.instances()[2].quarantined_until > steady_clock::now() + 5s));
        BOOST_TEST(ready_instances(all) == 0U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()
