// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/meter.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// A minority of servers that is down neither fails nor slows anything.

namespace {

BOOST_AUTO_TEST_SUITE(minority_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

using latencies = std::vector<steady_clock::duration>;

constexpr std::size_t concurrency = 8;
constexpr std::size_t rounds = 24;
constexpr std::size_t acquires_per_round = 200;

/// Returns options that tolerate slow rounds. On a busy machine a whole round may be too slow, and the test
/// only counts how often.
lock_options however_slow() {
    lock_options options;
    options.unavailable_timeout = 20s;
    return options;
}

asio::awaitable<void> measure_one(client& locks, std::string name, latencies& times) {
    const mutex lock(locks, std::move(name), however_slow());
    for (std::size_t i = 0; i != acquires_per_round / concurrency; ++i) {
        const auto begin = steady_clock::now();
        lease held = co_await lock.acquire();
        times.push_back(steady_clock::now() - begin);
        co_await held.release(asio::as_tuple);  // A slow release continues in the background.
    }
}

double p99_in_ms(latencies times) {
    const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() * 99 / 100);
    std::nth_element(times.begin(), at, times.end());
    return std::chrono::duration<double, std::milli>(*at).count();
}

asio::awaitable<latencies> measure(client& locks) {
    latencies times;
    std::vector<std::shared_ptr<background>> all;
    for (std::size_t i = 0; i != concurrency; ++i) {
        all.push_back(co_await start(measure_one(locks, "x" + std::to_string(i), times)));
    }
    for (const auto& one : all) {
        co_await async_wait_until([&] { return one->done; }, 30s);
        BOOST_TEST(one->code() == error_code());
    }
    co_return times;
}

/// Waits until resumed servers have caught up.
asio::awaitable<void> caught_up(const client& locks) {
    co_await settled(locks);
    co_await async_wait_until([&] { return idle(locks); });
}

/// Returns the lower quartile. A machine that stalls for a moment makes some rounds slow. A slow library
/// makes nearly all of them slow.
double lower_quartile(std::vector<double> values) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// Measures healthy and impaired servers in alternation, 4,800 acquires each, so other load on the machine
/// affects both.
template <typename Hurt, typename Heal>
void compare(Hurt hurt, Heal heal) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            servers five(5);
            client locks(co_await asio::this_coro::executor, five.config());
            std::vector<double> healthy;
            std::vector<double> hurting;
            co_await all_ready(locks);
            co_await measure(locks);  // Warms up.
            for (std::size_t i = 0; i != rounds; ++i) {
                co_await all_ready(locks);
                co_await caught_up(locks);
                healthy.push_back(p99_in_ms(co_await measure(locks)));
                for (const std::size_t victim : {1U, 4U}) {
                    hurt(five[victim]);
                }
                hurting.push_back(p99_in_ms(co_await measure(locks)));
                for (const std::size_t victim : {1U, 4U}) {
                    heal(five[victim]);
                }
            }
            const double usual = lower_quartile(std::move(healthy));
            const double with_two_down = lower_quartile(std::move(hurting));
            BOOST_TEST_MESSAGE("p99 in ms: healthy " << usual << ", with two down "
                                                     << with_two_down);
            BOOST_TEST(with_two_down <= 2 * usual + 5);
            BOOST_TEST(locks.counters().lost == 0U);
        }(),
        120s);
}

BOOST_AUTO_TEST_CASE(two_stopped_servers_of_five_do_not_slow_acquires, *label("fault-29")) {
    compare([](redis_server& s) { s.pause(); }, [](redis_server& s) { s.resume(); });
}

BOOST_AUTO_TEST_CASE(two_killed_servers_of_five_do_not_slow_acquires) {
    compare([](redis_server& s) { s.kill(); }, [](redis_server& s) { s.restart(); });
}

/// The servers are stopped for a long time, so the client drops their connections and fails to reconnect.
BOOST_AUTO_TEST_CASE(two_servers_stopped_for_long_cause_no_timeout, *label("fault-29")) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            servers five(5);
            config configuration = five.config();
            configuration.silence_timeout = 1s;
            configuration.connect_timeout = 200ms;
            configuration.instance_timeout = 5s;
            client locks(co_await asio::this_coro::executor, configuration);
            co_await all_ready(locks);
            five[0].pause();
            five[2].pause();
            const stopwatch watch;
            while (watch.elapsed() < 4s) {
                const latencies times = co_await measure(locks);
                // No timeout occurred.
                BOOST_TEST((*std::max_element(times.begin(), times.end()) < 5s));
            }
            BOOST_TEST(ready_instances(locks) == 3U);
            five[0].resume();
            five[2].resume();
            co_await all_ready(locks);
        }(),
        60s);
}

// A quorum has answered each release, so closing has nothing to wait for.
BOOST_AUTO_TEST_CASE(closing_does_not_wait_for_a_minority) {
    for (const bool stopped : {true, false}) {
        BOOST_TEST_CONTEXT((stopped ? "stopped" : "killed")) {
            servers five(5);
            run_test([&]() -> asio::awaitable<void> {
                const meter costs(co_await asio::this_coro::executor);
                config configuration = five.config();
                configuration.close_timeout = 30s;
                client locks(co_await asio::this_coro::executor, configuration);
                co_await all_ready(locks);
                lease held = co_await mutex(locks, "x").acquire();
                co_await async_wait_until([&] { return five.holding("x") == 5; });
                for (const std::size_t victim : {1U, 4U}) {
                    if (stopped) {
                        five[victim].pause();
                    } else {
                        five[victim].kill();
                    }
                }
                co_await held.release();
                const stopwatch closing;
                const auto [e] = co_await locks.close(asio::as_tuple);
                BOOST_TEST(!e, e.message());
                BOOST_TEST((closing.elapsed() < 10s));
            }());
        }
    }
}

// A stopped server executes the SET in its socket buffer when it resumes. By then the client has dropped the
// connection and released the lock, and the ttl is over.
BOOST_AUTO_TEST_CASE(a_key_set_after_its_release_is_deleted) {
    servers three(3);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        constexpr auto ttl = 3s;
        config configuration = three.config();
        configuration.silence_timeout = 300ms;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        three[2].pause();
        lease held = co_await mutex(locks, "x", with_ttl(ttl)).acquire();
        co_await async_wait_until([&] { return ready_instances(locks) == 2; });
        BOOST_TEST((co_await held.release() == release_result::released));
        const stopwatch since;
        co_await async_wait_until([&] { return since.elapsed() > ttl + 200ms; });
        BOOST_TEST(locks.counters().releasing == 1U);
        three[2].resume();
        const stopwatch awake;
        co_await settled(locks);
        BOOST_TEST((awake.elapsed() < ttl - 500ms));  // The key did not expire.
        // The only script that is sent by EVAL is the probe's, and it calls SET once.
        BOOST_TEST(executed(three[2], "set") - executed(three[2], "eval") == 1U);
        BOOST_TEST(three.holding("x") == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(releases_reach_an_unavailable_minority_when_it_returns) {
    servers five(5);
    proxies network(five);
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        constexpr std::size_t leases = 100;
        config configuration = network.config();
        configuration.instance_timeout = 5s;  // All three remaining servers must answer.
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        std::vector<lease> held;
        for (std::size_t i = 0; i != leases; ++i) {
            held.push_back(co_await mutex(locks, "x" + std::to_string(i), with_ttl(60s)).acquire());
        }
        co_await async_wait_until([&] { return five.keys() == 5 * leases; });
        for (const std::size_t i : {1U, 4U}) {
            network[i].refuse();
            network[i].cut();
        }
        co_await async_wait_until([&] { return ready_instances(locks) == 3; });
        for (lease& one : held) {
            BOOST_TEST((co_await one.release() == release_result::released));
        }
        BOOST_TEST(five.keys() == 2 * leases);
        BOOST_TEST(locks.counters().releasing == leases);
        for (const std::size_t i : {1U, 4U}) {
            network[i].accept();
            co_await async_wait_until([&] { return five[i].keys().empty(); });
        }
        co_await settled(locks);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
