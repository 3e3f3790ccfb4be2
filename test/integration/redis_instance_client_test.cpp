// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Several instances of one client, some of which are unreachable or identical.

#include "integration/redis_instance.hpp"
#include "support/deadline.hpp"
#include "support/redis_server.hpp"
#include "support/run.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_SUITE(beside_others)

namespace {

std::size_t ready_count(const colock::client& client) {
    const auto all = client.instances();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
        return one.state == colock::instance_state::ready;
    }));
}

}  // namespace

// The timeouts are so long that the test fails if any operation waits for the bad addresses.
BOOST_AUTO_TEST_CASE(bad_names_and_addresses_do_not_delay_the_others, *label("fault-31")) {
    const redis_server a;
    const redis_server b;
    redis_server c;
    c.pause();
    run_test([](std::string one, std::string two, std::string stopped) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {"redis://no-such-host.invalid", stopped, one, two};
        configuration.instances.push_back("memory://beside_others");
        configuration.connect_timeout = 5min;
        configuration.silence_timeout = 1h;
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return ready_count(client) == 3; });
        colock::mutex mutex(client, "k");
        colock::lease lease = co_await mutex.acquire(asio::use_awaitable);
        BOOST_TEST(lease.valid());
        co_await lease.release(asio::use_awaitable);
        co_await client.close(asio::use_awaitable);
        const auto states = client.instances();
        for (const auto& s : states) {
            BOOST_TEST((s.state == colock::instance_state::closed));
        }
    }(a.uri(), b.uri(), c.uri()));
}

/// A server has several names that a client may be configured with. The configuration alone cannot show that
/// they are one server.
BOOST_AUTO_TEST_CASE(a_server_under_two_names_votes_once, *label("fault-89")) {
    redis_server a;
    const redis_server b;
    run_test([](redis_server& twice, std::string other) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const std::string by_name = "redis://localhost:" + std::to_string(twice.port());
        for (const std::string& second :
             {by_name, by_name + "/1", twice.unix_uri(), twice.unix_uri() + "?db=2"}) {
            colock::config configuration;
            configuration.restart_quarantine = 0ms;
            configuration.instances = {twice.uri(), second, other};
            colock::client client(executor, configuration);
            co_await async_wait_until([&] {
                const auto all = client.instances();
                return ready_count(client) == 2 &&
                       (!all[0].reason.empty() || !all[1].reason.empty());
            });
            const auto all = client.instances();
            const std::size_t refused = all[0].reason.empty() ? 1 : 0;
            BOOST_TEST(
                all[refused].reason ==
                "it is the same server as " + all[1 - refused].address + " (run_id " +
                    all[1 - refused].run_id +
                    "). Every instance must be a different server, so remove one of the two");
            BOOST_TEST((all[1 - refused].state == colock::instance_state::ready));
            colock::mutex mutex(client, "k");
            colock::lease lease = co_await mutex.acquire();
            BOOST_TEST(lease.valid());
            co_await lease.release();
            // When the connection of the first name has ended, the client accepts the second name.
            twice.restart();
            co_await async_wait_until([&] { return ready_count(client) == 2; });
            co_await client.close();
        }
    }(a, b.uri()));
}

/// A defect gave one server three votes. When it restarted and lost its data, two clients held the name.
BOOST_AUTO_TEST_CASE(one_server_is_no_quorum_of_three, *label("fault-89")) {
    redis_server server;
    run_test([](redis_server& only) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {only.uri() + "/0",
                                   "redis://localhost:" + std::to_string(only.port()) + "/1",
                                   only.unix_uri() + "?db=2"};
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] {
            const auto all = client.instances();
            const auto refused = std::count_if(all.begin(), all.end(), [](const auto& one) {
                return contains(one.reason, "it is the same server as");
            });
            return ready_count(client) == 1 && refused == 2;
        });
        colock::mutex mutex(client, "k");
        const auto [failure, lease] =
            co_await mutex.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failure == colock::errc::no_quorum));
        BOOST_TEST(contains(failure.details(), "it is the same server as"), failure.details());
        co_await client.close();
    }(server));
}

BOOST_AUTO_TEST_CASE(states_and_reasons_reach_the_user) {
    redis_server a;
    const redis_server b({"--requirepass", "secret"});
    run_test([](redis_server& server, std::string refused) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {server.uri(), refused};
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] {
            const auto all = client.instances();
            return all[0].state == colock::instance_state::ready && !all[1].reason.empty();
        });
        BOOST_TEST(client.instances()[0].reason.empty());
        BOOST_TEST(!client.instances()[0].version.empty());
        BOOST_TEST(client.instances()[0].run_id.size() == 40U);
        BOOST_TEST(contains(client.instances()[1].reason, "NOAUTH"));
        server.kill();
        co_await async_wait_until(
            [&] { return client.instances()[0].state == colock::instance_state::down; });

        colock::mutex mutex(client, "k");
        auto [failure, lease] = co_await mutex.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failure == colock::errc::no_quorum));
        BOOST_TEST(contains(failure.details(), "0 of 2 instances granted the lock, 2 required"),
                   failure.details());
        BOOST_TEST(contains(failure.details(), ":" + std::to_string(server.port()) + ": down, "),
                   failure.details());
        co_await client.close(asio::use_awaitable);
    }(a, local_uri(b)));
}

BOOST_AUTO_TEST_SUITE_END()
