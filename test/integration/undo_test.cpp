// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/meter.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

// Some servers may have granted a failed acquire, even if the client did not get their replies. The client
// rolls back these grants.

namespace {

BOOST_FIXTURE_TEST_SUITE(undo_test, colock::test::shared_servers_far_away<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using way = tcp_proxy::way;

/// Much longer than any test. A key that has disappeared was therefore deleted.
constexpr milliseconds endless = 10min;

std::size_t cuts(proxies& network) {
    std::size_t sum = 0;
    for (const tcp_proxy& link : network) {
        sum += link.cuts();
    }
    return sum;
}

/// Two of five servers grant. Of the other three, one does not get the request. The replies of the other two,
/// which also granted, do not arrive. The client rolls back the grants while these three are still silent.
template <typename Attempt>
void time_out_in_mid_acquire(servers& instances, proxies& network, const config& configuration,
                             Attempt attempt) {
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        const std::size_t granted_before = executed(instances, "set");
        network[0].hold(way::to_server);
        network[1].hold(way::to_client);
        network[2].hold(way::to_client);
        const stopwatch since;
        co_await attempt(mutex(locks, "x", with_ttl(endless)));
        BOOST_TEST((since.elapsed() < 5s));
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        BOOST_TEST(executed(instances, "set") >= granted_before + 4);
        BOOST_TEST(network[0].waiting(way::to_server) != 0U);
        for (auto& link : network) {
            link.resume();
        }
        co_await settled(locks);
        BOOST_TEST(executed(instances, "set") >= granted_before + 5);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(partial_grants_are_rolled_back_when_the_instances_time_out,
                     *label("fault-06")) {
    config configuration = quiet_config();
    configuration.instance_timeout = 500ms;
    time_out_in_mid_acquire(instances, network, configuration,
                            [](mutex lock) -> asio::awaitable<void> {
                                const auto [e, nothing] = co_await lock.try_acquire(asio::as_tuple);
                                BOOST_TEST((e == errc::no_quorum), e.message());
                            });
}

BOOST_AUTO_TEST_CASE(partial_grants_are_rolled_back_when_the_caller_times_out, *label("fault-06")) {
    config configuration = quiet_config();
    configuration.instance_timeout = 1min;
    time_out_in_mid_acquire(
        instances, network, configuration, [](mutex lock) -> asio::awaitable<void> {
            const auto [e, nothing] =
                co_await lock.acquire(asio::cancel_after(500ms, asio::as_tuple));
            BOOST_TEST((e == aborted), e.message());
        });
}

BOOST_AUTO_TEST_CASE(partial_grants_of_several_attempts_are_rolled_back, *label("fault-06")) {
    config configuration = quiet_config();
    configuration.instance_timeout = 250ms;
    time_out_in_mid_acquire(
        instances, network, configuration, [](mutex lock) -> asio::awaitable<void> {
            const auto [e, nothing] = co_await lock.try_acquire_for(1s, asio::as_tuple);
            BOOST_TEST((e == errc::no_quorum), e.message());
        });
}

/// The keys of the failed attempt block the next one until they are rolled back.
BOOST_AUTO_TEST_CASE(a_connection_cut_after_set_blocks_only_until_the_rollback,
                     *label("fault-08")) {
    for (const std::size_t cut : {3U, 5U}) {
        run_test([&]() -> asio::awaitable<void> {
            const meter costs(co_await asio::this_coro::executor);
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            const std::size_t cuts_before = cuts(network);
            for (std::size_t i = 0; i != cut; ++i) {
                network[i].cut_before_reply("SET");
            }
            const auto [e, nothing] =
                co_await mutex(locks, "x", with_ttl(endless)).try_acquire(asio::as_tuple);
            BOOST_TEST((e == errc::no_quorum), e.message());
            BOOST_TEST(e.details().find("connection lost") != std::string::npos, e.message());
            co_await async_wait_until([&] { return cuts(network) == cuts_before + cut; });
            const stopwatch since;
            const lease next = co_await mutex(locks, "x", with_ttl(endless)).acquire();
            BOOST_TEST(next.valid());
            BOOST_TEST((since.elapsed() < 5s));
            BOOST_TEST_MESSAGE("free after " << since.elapsed().count() << " ms");
        }());
        instances.flush();
    }
}

/// This happens within one acquire. The connections that carry the rollback are cut too.
BOOST_AUTO_TEST_CASE(an_acquire_survives_cuts_after_set_and_during_the_rollback,
                     *label("fault-08")) {
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        lock_options patient = with_ttl(endless);
        patient.unavailable_timeout = 1min;
        for (auto& link : network) {
            link.cut_before_reply("SET");
        }
        pending_acquire one;
        one.start(mutex(locks, "x", patient));
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.cuts() == 1; });
            link.cut_before_request("\r\nx\r\n");
        }
        co_await async_wait_until([&] { return one.result.has_value(); });
        BOOST_TEST(one.granted.valid());
        co_await one.granted.release();
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

/// The servers have not executed the SET.
BOOST_AUTO_TEST_CASE(a_connection_cut_before_set_needs_no_rollback, *label("fault-08")) {
    run_test([&]() -> asio::awaitable<void> {
        const meter costs(co_await asio::this_coro::executor);
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        for (auto& link : network) {
            link.cut_before_request("SET");
        }
        const stopwatch since;
        const lease held = co_await mutex(locks, "x", with_ttl(endless)).acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST((since.elapsed() < 5s));
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
