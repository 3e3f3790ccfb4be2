// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/meter.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Thousands of waiters, while all servers stand still.

namespace {

BOOST_AUTO_TEST_SUITE(outage_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

/// Takes and releases the lock once. Waits longer than any outage of these tests.
asio::awaitable<void> take_once(client& locks, std::string name, std::size_t& done) {
    lock_options options;
    options.unavailable_timeout = 1min;
    const mutex lock(locks, std::move(name), options);
    lease held = co_await lock.acquire();
    co_await held.release(asio::as_tuple);  // A slow release continues in the background.
    ++done;
}

BOOST_AUTO_TEST_CASE(waiters_do_not_try_while_no_quorum_is_connected, *label("fault-120")) {
    constexpr std::size_t waiters = 5000;
    servers three(3);
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const meter costs(executor);
            client locks(executor, three.config());
            co_await all_ready(locks);
            std::vector<lease> held;
            for (std::size_t i = 0; i != 100; ++i) {
                held.push_back(
                    co_await mutex(locks, "held" + std::to_string(i), with_ttl(30s)).acquire());
            }
            for (redis_server& one : three) {
                one.pause();
            }
            std::size_t done = 0;
            for (std::size_t i = 0; i != waiters; ++i) {
                asio::co_spawn(executor, take_once(locks, "x" + std::to_string(i), done),
                               asio::detached);
            }
            co_await async_wait_until([&] { return ready_instances(locks) == 0; });
            const std::uint64_t before = locks.counters().attempts;
            asio::steady_timer timer(executor, 1s);
            co_await timer.async_wait(asio::use_awaitable);
            BOOST_TEST(locks.counters().attempts == before);
            for (redis_server& one : three) {
                one.resume();
            }
            co_await async_wait_until([&] { return done == waiters; }, 30s);
            const counters all = locks.counters();
            BOOST_TEST(all.attempts <= 2 * all.acquired);
            BOOST_TEST(all.lost == 0U);
        }(),
        90s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
