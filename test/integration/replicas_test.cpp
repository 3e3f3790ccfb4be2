// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Grants that count only after replicas have acknowledged them, and their behaviour while replicas do not.

#include "instance_rig.hpp"
#include "integration/locks.hpp"
#include "integration/replication.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(replicas_test)

using boost::unit_test::label;
using core::step;

constexpr std::string_view too_few = "0 of 1 acknowledged it in time (replicas_acked)";

/// A master and its only replica, which is synchronized.
struct replicated_server {
    replicated_server() { wait_until_streaming(master, replica); }

    [[nodiscard]] std::string uri() const { return master.uri() + "?replicas_acked=1"; }
    [[nodiscard]] colock::config config() const { return colock::config::from_uris({uri()}); }

    redis_server master{at_once};
    redis_server replica{replica_of(master)};
};

instance::redis::redis_settings settings_with(milliseconds replicas_timeout) {
    auto settings = quick_settings();
    settings.replicas_timeout = replicas_timeout;
    return settings;
}

/// Returns options that persist for a long time, also on a busy machine.
lock_options persistent(lock_options options) {
    options.unavailable_timeout = 20s;
    return options;
}

/// Sends the command in a batch of its own.
instance::command_tag send(instance_rig& rig, const step_of_kind& what, const std::string& key) {
    const auto tag = rig.submit(what, key, "ann");
    rig.flush();
    return tag;
}

/// Acquires in a loop, without success. Counts the failures for lack of replicas. On a slow machine, a reply
/// may also come too late.
asio::awaitable<void> keep_trying(const mutex& lock, const bool& stop, std::size_t& failed) {
    while (!stop) {
        const auto [e, granted] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((e.code() == errc::no_quorum), e.message());
        failed += e.message().find(too_few) != std::string::npos ? 1 : 0;
    }
}

// The replica stops, so no new grant is acknowledged. Held locks need no acknowledgement.
BOOST_AUTO_TEST_CASE(leases_are_renewed_while_acquires_wait_for_a_stopped_replica,
                     *label("fault-98")) {
    for (const std::size_t acquires : {3U, 100U}) {
        run_test(
            [&]() -> asio::awaitable<void> {
                constexpr std::size_t leases = 1000;
                replicated_server server;
                client locks(co_await asio::this_coro::executor, server.config());
                co_await all_ready(locks);
                std::vector<lease> held;
                for (std::size_t i = 0; i != leases; ++i) {
                    mutex(locks, "held-" + std::to_string(i), persistent(renewed_every(300ms, 3s)))
                        .acquire([&](error e, lease granted) {
                            BOOST_TEST(!e, e.message());
                            held.push_back(std::move(granted));
                        });
                }
                co_await async_wait_until([&] { return held.size() == leases; });
                server.replica.pause();

                bool stop = false;
                std::vector<std::shared_ptr<background>> tasks;
                std::vector<mutex> wanted;
                std::vector<std::size_t> failed(acquires);
                wanted.reserve(acquires);
                for (std::size_t i = 0; i != acquires; ++i) {
                    wanted.emplace_back(locks, "wanted-" + std::to_string(i));
                    tasks.push_back(co_await start(keep_trying(wanted[i], stop, failed[i])));
                }
                const auto renewed = locks.counters().renewed;
                co_await async_wait_until(
                    [&] {
                        BOOST_TEST_REQUIRE(locks.counters().lost == 0U);
                        return locks.counters().renewed >= renewed + 10 * leases &&
                               std::ranges::all_of(failed, [](std::size_t n) { return n >= 2; });
                    },
                    30s);
                BOOST_TEST(std::ranges::all_of(held, [](const lease& one) { return one.valid(); }));
                stop = true;
                co_await async_wait_until([&] {
                    return std::ranges::all_of(tasks, [](const auto& t) { return t->done; });
                });

                // The replica resumes where it was.
                server.replica.resume();
                const mutex same(locks, "wanted-0", persistent({}));
                const lease granted = co_await same.acquire();
                BOOST_TEST(granted.valid());
                BOOST_TEST(locks.counters().lost == 0U);
            }(),
            2min);
    }
}

// At most one WAIT is pending. All commands sent after it follow it, and then the next WAIT.
BOOST_AUTO_TEST_CASE(a_renewal_waits_for_at_most_one_wait_command, *label("fault-98")) {
    replicated_server server;
    instance_rig rig(server.uri(), settings_with(1s));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("held", "ann") == "granted");
    server.replica.pause();
    const auto first = send(rig, step::acquire, "a");
    const auto second = send(rig, step::acquire, "b");
    const auto third = send(rig, step::acquire, "c");
    const auto renewal = send(rig, step::extend, "held");
    rig.run_until_voted();
    BOOST_TEST(to_text(rig.vote_on(renewal)) == "granted");
    for (const auto acquire : {first, second, third}) {
        BOOST_TEST(to_text(rig.vote_on(acquire)) == "failed: not replicated");
        BOOST_TEST(*rig.vote_on(acquire).detail == too_few);
    }
    // Tag 0 is the acquire before the replica stopped.
    const std::vector<instance::command_tag> expected{0, first, renewal, second, third};
    BOOST_TEST(rig.order_of_votes() == expected, boost::test_tools::per_element());
}

// A server with idle clients checks for an expired WAIT every 1/hz s.
BOOST_AUTO_TEST_CASE(a_wait_command_ends_in_time_on_an_idle_server, *label("fault-98")) {
    replicated_server server;
    server.master.command({"CONFIG", "SET", "hz", "1"});
    instance_rig rig(server.uri(), settings_with(10ms));
    rig.run_until_ready();
    server.replica.pause();
    const stopwatch watch;
    for (int i = 0; i != 10; ++i) {
        BOOST_TEST(rig.acquire(std::to_string(i), "ann") == "failed: not replicated");
    }
    BOOST_TEST((watch.elapsed() < 5s), watch.elapsed().count() << " ms");
}

// Otherwise the attempts of waiters would block the connection.
BOOST_AUTO_TEST_CASE(denied_attempts_do_not_wait_for_a_stopped_replica, *label("fault-98")) {
    replicated_server server;
    instance_rig rig(server.uri(), settings_with(1s));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    server.replica.pause();
    BOOST_TEST(rig.acquire("another", "ann") == "failed: not replicated");
    const std::size_t waits = executed(server.master, "wait");
    for (int i = 0; i != 10; ++i) {
        BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
    }
    BOOST_TEST(executed(server.master, "wait") == waits);
    server.replica.resume();
    BOOST_TEST(rig.release("another", "ann") == "granted");
    BOOST_TEST(rig.acquire("another", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(few_wait_commands_serve_many_grants, *label("fault-75")) {
    replicated_server server;
    instance_rig rig(server.uri(), settings_with(5s));
    rig.run_until_ready();
    server.replica.pause();
    for (int i = 0; i != 50; ++i) {
        send(rig, step::acquire, std::to_string(i));
    }
    server.replica.resume();
    BOOST_TEST(std::ranges::count(rig.votes(), "granted") == 50);
    BOOST_TEST(executed(server.master, "wait") <= 3U);
    BOOST_TEST(server.replica.has("49"));
}

// The server is also silent during a WAIT.
BOOST_AUTO_TEST_CASE(a_wait_command_does_not_trigger_the_silence_timeout, *label("fault-98")) {
    run_test([]() -> asio::awaitable<void> {
        replicated_server server;
        auto configuration = server.config();
        configuration.instance_timeout = 20s;
        configuration.silence_timeout = 2s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        server.replica.pause();
        const mutex lock(locks, "k");
        const auto [e, granted] = co_await lock.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(e.message().find(too_few) != std::string::npos, e.message());
        BOOST_TEST(ready_instances(locks) == 1U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
