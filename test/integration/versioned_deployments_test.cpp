// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Versioned values behind Sentinels, on replicas and in a cluster.

#include "integration/locks.hpp"
#include "integration/replication.hpp"
#include "kinds/scripts.hpp"
#include "support/fake_sentinel.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(versioned_deployments_test)

using boost::unit_test::label;

versioned_options persistent(milliseconds time = 1min) {
    versioned_options options;
    options.unavailable_timeout = time;
    options.retry = {1ms, 20ms, 0};
    return options;
}

config config_of(const std::string& uri) {
    return config::from_uris({uri});
}

/// Writes `times` times, starting from this version. Returns the last version.
asio::awaitable<std::uint64_t> write_often(const versioned& what, std::uint64_t version,
                                           int times) {
    for (int i = 0; i != times; ++i) {
        const write_outcome now = co_await what.compare_exchange(version, std::to_string(i));
        BOOST_TEST_REQUIRE(now.applied);
        version = now.current.version;
    }
    co_return version;
}

std::optional<std::string> add_one(const versioned_state& now) {
    return std::to_string(now.value ? std::stoi(*now.value) + 1 : 1);
}

/// Fault 62: the new master lacks the last writes and is promoted within the same second.
BOOST_AUTO_TEST_CASE(versions_go_on_after_a_promotion, *label("fault-62")) {
    run_test([]() -> asio::awaitable<void> {
        redis_server former{at_once};
        redis_server replica{replica_of(former)};
        wait_until_streaming(former, replica);
        std::vector<fake_sentinel> sentinels(3);
        std::string hosts;
        for (fake_sentinel& one : sentinels) {
            one.name(former.port());
            hosts += (hosts.empty() ? "" : ",") + one.host_and_port();
        }
        client locks(co_await asio::this_coro::executor,
                     config_of("redis+sentinel://" + hosts + "/mymaster"));
        co_await all_ready(locks);
        const versioned x(locks, "x", persistent());
        std::uint64_t last = co_await write_often(x, 0, 3);
        former.command({"WAIT", "1", "5000"});
        const std::uint64_t replicated = last;
        replica.command({"REPLICAOF", "NO", "ONE"});  // Receives no further writes.
        last = co_await write_often(x, last, 100);
        former.kill();
        for (fake_sentinel& one : sentinels) {
            one.switch_to(replica.port());
        }
        // There is no quarantine, because a versioned value has no holder.
        const versioned_state found = co_await x.read();
        BOOST_TEST(found.version == replicated);
        BOOST_TEST(!(co_await x.compare_exchange(last, "stale")).applied);
        const write_outcome again = co_await x.compare_exchange(found.version, "new");
        BOOST_TEST(again.applied);
        BOOST_TEST(again.current.version > last);
        co_await locks.close();
    }());
}

/// Fault 63: a value that is only on the master may be lost with it, so its write is not reported as applied.
BOOST_AUTO_TEST_CASE(a_write_on_too_few_replicas_is_unknown, *label("fault-63")) {
    run_test([]() -> asio::awaitable<void> {
        redis_server master{at_once};
        redis_server replica{replica_of(master)};
        wait_until_streaming(master, replica);
        config configuration = config_of(master.uri() + "?replicas_acked=1");
        configuration.instance_timeout = 300ms;  // The replicas have a third of this time.
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        const versioned x(locks, "x", persistent());
        replica.pause();
        const auto [failed, outcome] =
            co_await x.compare_exchange(0, "one", asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failed == errc::outcome_unknown), failed.message());
        BOOST_TEST(failed.message().find("replicas") != std::string::npos, failed.message());
        replica.resume();
        bool is_there = false;
        const versioned_state now = co_await x.read();
        BOOST_TEST(now.value.value() == "one");
        for (std::uint64_t version = now.version; !is_there;) {
            const auto [e, next] =
                co_await x.compare_exchange(version, "two", asio::as_tuple(asio::use_awaitable));
            is_there = !e;
            version = e ? (co_await x.read()).version : next.current.version;
        }
        BOOST_TEST(replica.command({"HGET", "x", "d"}).value() == "two");
        co_await locks.close();
    }());
}

/// Each update counts once, at whichever point the slot moves.
BOOST_AUTO_TEST_CASE(updates_go_on_while_the_slot_moves) {
    redis_cluster cluster(2);
    run_test(
        [&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, config_of(cluster.uri()));
            co_await all_ready(locks);
            const versioned likes(locks, "likes", persistent());
            std::uint64_t updates = 0;
            bool stops = false;
            const auto task = co_await start(
                [](const versioned& of, std::uint64_t& count, bool& stop) -> asio::awaitable<void> {
                    while (!stop) {
                        co_await of.update(add_one);
                        ++count;
                    }
                }(likes, updates, stops));
            std::size_t from = cluster.first_owner_of("likes");
            const std::size_t slot = redis_cluster::slot_of(cluster[0], "likes");
            const auto goes_on = [&]() -> asio::awaitable<void> {
                const std::uint64_t before = updates;
                co_await async_wait_until([&] { return updates > before + 20 || task->done; });
            };
            for (int i = 0; i != 3; ++i, from = 1 - from) {
                co_await goes_on();
                cluster.begin_to_move(slot, from, 1 - from);
                co_await goes_on();
                cluster.move_keys(slot, from, 1 - from);
                co_await goes_on();
                cluster.end_move(slot, 1 - from);
            }
            co_await goes_on();
            stops = true;
            co_await async_wait_until([&] { return task->done; });
            BOOST_TEST((task->thrown == nullptr));
            BOOST_TEST((co_await likes.read()).value.value() == std::to_string(updates));
            co_await locks.close();
        }(),
        2min);
}

/// Names of any slot, and names with braces that are not a hash tag. A record needs no second key.
BOOST_AUTO_TEST_CASE(any_name_is_possible_in_a_cluster) {
    redis_cluster cluster(2);
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, config_of(cluster.uri()));
        co_await all_ready(locks);
        for (const std::string name : {"a", "b", "c", "order:{42}", "a}b", "{}", "a{b"}) {
            const versioned x(locks, name, persistent());
            co_await x.update(add_one);
            co_await x.update(add_one);
            const versioned_state two = co_await x.read();
            BOOST_TEST(two.value.value() == "2");
            BOOST_TEST((co_await x.erase(two.version)).applied);
        }
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
