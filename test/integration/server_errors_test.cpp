// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/contains.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// Servers that are killed, lose their scripts, refuse commands, or are busy.

namespace {

BOOST_AUTO_TEST_SUITE(server_errors_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

std::string info(const redis_server& server) {
    return server.command({"INFO", "all"}).value();
}

/// Waits until the client is connected to the current server processes.
asio::awaitable<void> all_ready_again(const client& locks, servers& restarted) {
    for (std::size_t i = 0; i != restarted.size(); ++i) {
        const std::string now = info(restarted[i]);
        co_await async_wait_until([&] {
            const instance_info known = locks.instances()[i];
            return known.state == instance_state::ready && contains(now, known.run_id);
        });
    }
}

BOOST_AUTO_TEST_CASE(a_lease_outlives_kill_9_with_aof_everysec, *label("fault-25")) {
    servers five(5, {"--appendonly", "yes", "--appendfsync", "everysec"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        for (auto& server : five) {  // Data that a server has written to the file survives.
            co_await async_wait_until(
                [&] { return contains(info(server), "aof_buffer_length:0"); });
            server.kill();
        }
        for (auto& server : five) {
            server.restart();
        }
        BOOST_TEST(five.holding("x") == 5U);
        client others(co_await asio::this_coro::executor, five.config());
        const auto refused = co_await mutex(others, "x").try_acquire();
        BOOST_TEST(!refused.owns_lock());
        co_await all_ready_again(locks, five);
        BOOST_TEST(held.valid());
        co_await held.extend(1min);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(five.holding("x") == 0U);
    }());
}

lock_options renewed_often() {
    return renewed_every(50ms, 10s);
}

struct five_servers : shared_servers<5> {};

BOOST_FIXTURE_TEST_CASE(flushed_scripts_are_resent_within_the_operation, five_servers,
                        *label("fault-26")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const auto forget = [&] {
            for (auto& server : instances) {
                server.command({"SCRIPT", "FLUSH"});
            }
        };
        for (int i = 0; i != 3; ++i) {
            lease held = co_await mutex(locks, "x", renewed_often()).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            forget();
            co_await renewed_more(locks, 2);  // Renewed by the watchdog.
            forget();
            co_await held.extend(20s);
            BOOST_TEST(held.valid());
            forget();
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
        }
        BOOST_TEST(locks.counters().renewals_failed == 0U);
        for (const auto& instance : locks.instances()) {
            BOOST_TEST(instance.reason.empty());  // No connection was lost.
        }
    }());
}

/// This includes the release of a destroyed lease and the rollback of a failed attempt.
BOOST_FIXTURE_TEST_CASE(flushed_scripts_are_resent_in_the_background, five_servers,
                        *label("fault-26")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(10min)).acquire();
        for (const std::size_t i : {0U, 1U, 2U}) {
            hold_by_hand(instances[i], "y", 10min);
        }
        for (auto& server : instances) {
            server.command({"SCRIPT", "FLUSH"});
        }
        held = lease();
        const auto refused = co_await mutex(locks, "y", with_ttl(10min)).try_acquire();
        BOOST_TEST(!refused.owns_lock());
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        BOOST_TEST(instances.holding("y") == 3U);
    }());
}

/// A restarted server has its data again, but not its scripts.
BOOST_AUTO_TEST_CASE(scripts_are_resent_after_a_restart, *label("fault-26")) {
    servers three(3, {"--appendonly", "yes", "--appendfsync", "always"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, three.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return three.holding("x") == 3; });
        for (auto& server : three) {
            server.restart();
        }
        co_await all_ready_again(locks, three);
        co_await held.extend(1min);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(three.keys() == 0U);
    }());
}

/// Returns a configuration with a long timeout. A busy machine may not answer within the default one, and an
/// attempt then fails for that reason.
config patient_config(const servers& instances) {
    config configuration = instances.config();
    configuration.instance_timeout = 10s;
    return configuration;
}

/// Checks that an attempt fails with the message of the servers and is not counted as contended.
asio::awaitable<void> check_refused(client& locks, std::string_view words) {
    const auto contended = locks.counters().contended;
    const auto [e, nothing] = co_await mutex(locks, "refused").try_acquire(asio::as_tuple);
    BOOST_TEST((e == errc::no_quorum), e.message());
    BOOST_TEST((e == condition::unavailable));
    BOOST_TEST(contains(e.details(), words), e.details());
    BOOST_TEST(!contains(e.details(), "held by another"), e.details());
    BOOST_TEST(locks.counters().contended == contended);
}

void check_still_connected(const client& locks) {
    for (const auto& instance : locks.instances()) {
        BOOST_TEST((instance.state == instance_state::ready));
        BOOST_TEST(instance.reason.empty(), instance.reason);
    }
}

/// A minority that refuses has no effect. After a majority has refused for a while, a held lease continues.
void refuse_for_a_while(servers& three, const std::function<void(redis_server&)>& refuse,
                        const std::function<void(redis_server&)>& end, std::string_view words,
                        bool stays_connected = true) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(three));
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        refuse(three[0]);
        {
            const auto granted = co_await mutex(locks, "y").try_acquire();
            BOOST_TEST(granted.owns_lock());
        }
        refuse(three[1]);
        refuse(three[2]);
        co_await check_refused(locks, words);
        const auto failed = locks.counters().renewals_failed;
        co_await async_wait_until([&] { return locks.counters().renewals_failed >= failed + 2; });
        BOOST_TEST(held.valid());
        if (stays_connected) {
            check_still_connected(locks);
        }
        for (auto& server : three) {
            end(server);
        }
        co_await renewed_more(locks, 2);
        BOOST_TEST(held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(three.keys() == 0U);
        if (stays_connected) {
            check_still_connected(locks);
        }
    }());
}

// The client abandons a server that has become a replica, until it is a master again.
BOOST_AUTO_TEST_CASE(a_demoted_master_is_a_failed_vote, *label("fault-27")) {
    servers three(3);
    refuse_for_a_while(
        three,
        [](redis_server& s) {
            s.command({"REPLICAOF", "127.0.0.1", "1"});
        },
        [](redis_server& s) {
            s.command({"REPLICAOF", "NO", "ONE"});
        },
        "replica", false);
}

BOOST_AUTO_TEST_CASE(a_missing_right_is_a_failed_vote, *label("fault-27")) {
    servers three(3);
    refuse_for_a_while(
        three,
        [](redis_server& s) {
            s.command({"ACL", "SETUSER", "default", "-set", "-evalsha"});
        },
        [](redis_server& s) {
            s.command({"ACL", "SETUSER", "default", "+@all"});
        },
        "NOPERM");
}

BOOST_AUTO_TEST_CASE(a_server_out_of_memory_still_renews_and_releases, *label("fault-27")) {
    servers three(3, {"--maxmemory-policy", "noeviction"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, three.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        lease dropped = co_await mutex(locks, "y", with_ttl(10min)).acquire();
        for (auto& server : three) {
            server.command({"CONFIG", "SET", "maxmemory", "1"});
        }
        co_await check_refused(locks, "OOM");
        co_await renewed_more(locks, 2);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        dropped = lease();
        co_await settled(locks);
        BOOST_TEST(three.keys() == 0U);
        check_still_connected(locks);
        for (auto& server : three) {
            server.command({"CONFIG", "SET", "maxmemory", "0"});
        }
        held = co_await mutex(locks, "x").acquire();
        BOOST_TEST(held.valid());
    }());
}

/// Sends a long-running command to a server, on a separate thread. Gives up after some seconds.
std::jthread beside(const redis_server& server, std::vector<std::string> command) {
    return std::jthread([&server, words = std::move(command)] {
        try {
            server.command(words);
        } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch)
        }
    });
}

/// Attempts until an attempt is refused with this message.
asio::awaitable<void> refused_with(client& locks, std::string_view words) {
    for (const stopwatch since; since.elapsed() < default_timeout;) {
        const auto [e, nothing] = co_await mutex(locks, "other").try_acquire(asio::as_tuple);
        if (contains(e.details(), words)) {
            co_return;
        }
    }
    BOOST_FAIL("was not refused with " << words);
}

BOOST_AUTO_TEST_CASE(a_loading_server_is_a_failed_vote, *label("fault-27")) {
    servers one(1, {"--enable-debug-command", "yes"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(one));
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(10min)).acquire();
        // The server reloads its own data, so slowly that it takes minutes.
        one[0].command({"DEBUG", "POPULATE", "100000"});
        one[0].command({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
        one[0].command({"CONFIG", "SET", "key-load-delay", "2000"});
        const std::jthread loading = beside(one[0], {"DEBUG", "RELOAD"});
        co_await refused_with(locks, "LOADING");
        co_await check_refused(locks, "LOADING");
        check_still_connected(locks);
        // A client that connects now gets the same reply.
        client late(co_await asio::this_coro::executor, patient_config(one));
        co_await async_wait_until([&] { return !late.instances()[0].reason.empty(); });
        co_await check_refused(late, "LOADING");
        one[0].command({"CONFIG", "SET", "key-load-delay", "0"});
        co_await all_ready(late);
        const auto refused = co_await mutex(late, "x").try_acquire();
        BOOST_TEST(!refused.owns_lock());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        check_still_connected(locks);
    }());
}

/// The instances are down, and the error reports the reason.
BOOST_AUTO_TEST_CASE(a_missing_or_wrong_password_is_a_failed_vote, *label("fault-27")) {
    servers three(3);
    run_test([&]() -> asio::awaitable<void> {
        config with_password = three.config();
        for (std::string& uri : with_password.instances) {
            uri.insert(uri.find("//") + 2, ":old@");
        }
        for (auto& server : three) {
            server.command({"ACL", "SETUSER", "other", "on", ">x", "~*", "+@all"});
            server.command({"ACL", "SETUSER", "default", "resetpass", ">new"});
        }
        client nobody(co_await asio::this_coro::executor, three.config());
        client wrong(co_await asio::this_coro::executor, with_password);
        for (const client* locks : {&nobody, &wrong}) {
            co_await async_wait_until([&] {
                const auto all = locks->instances();
                return std::none_of(all.begin(), all.end(),
                                    [](const instance_info& i) { return i.reason.empty(); });
            });
        }
        co_await check_refused(nobody, "NOAUTH");
        co_await check_refused(wrong, "WRONGPASS");
    }());
}

BOOST_AUTO_TEST_CASE(a_script_busy_past_the_ttl_loses_the_lease_on_a_majority, *label("fault-28")) {
    servers three(3, {"--lua-time-limit", "1"});
    for (const std::size_t busy : {1U, 3U}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, three.config());
            co_await all_ready(locks);
            lock_options options = with_ttl(1s);
            options.renew = 50ms;
            lease held = co_await mutex(locks, "x", options).acquire();
            std::vector<std::jthread> callers;
            for (std::size_t i = 0; i != busy; ++i) {
                callers.push_back(beside(three[i], {"EVAL", "while true do end", "0"}));
            }
            const stopwatch since;
            if (busy == 1) {
                co_await async_wait_until([&] { return since.elapsed() > 2s || !held.valid(); });
                BOOST_TEST(held.valid());
                const auto granted = co_await mutex(locks, "y").try_acquire();
                BOOST_TEST(granted.owns_lock());
            } else {
                co_await refused_with(locks, "BUSY");
                co_await check_refused(locks, "BUSY");
                const told_of_loss told = co_await told_when_lost(held);
                BOOST_TEST(told.in_time());
                co_await async_wait_until([&] { return since.elapsed() > 1500ms; });
                co_await check_refused(locks, "BUSY");
            }
            check_still_connected(locks);
            for (std::size_t i = 0; i != busy; ++i) {
                three[i].command({"SCRIPT", "KILL"});
            }
            callers.clear();
            const auto result = co_await held.release();
            BOOST_TEST((result == (busy == 1 ? release_result::released : release_result::expired)),
                       to_string(result));
            co_await settled(locks);
            BOOST_TEST(three.keys() == 0U);
            const auto free = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST(free.owns_lock());
            check_still_connected(locks);
        }());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
