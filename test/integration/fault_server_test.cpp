#include "integration/locks.hpp"

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

// Servers that lose data, forget scripts, refuse commands, or are busy.

namespace {

using namespace colock;
using namespace colock::test;

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string info(const redis_server& server) {
    return server.command({"INFO", "all"}).value();
}

/// Until the client is connected to the processes that run now.
asio::awaitable<void> all_ready_again(const client& locks, servers& restarted) {
    for (std::size_t i = 0; i != restarted.size(); ++i) {
        const std::string now = info(restarted[i]);
        co_await async_wait_until([&] {
            const instance_info known = locks.instances()[i];
            return known.state == instance_state::ready && contains(now, known.run_id);
        });
    }
}

BOOST_AUTO_TEST_SUITE(fault_server_test)

BOOST_AUTO_TEST_CASE(fault_25_data_lost_or_kept_by_kill_9_with_aof_everysec) {
    servers five(5, {"--appendonly", "yes", "--appendfsync", "everysec"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        for (auto& server : five) {  // it does not lose what it has written to the file
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
        BOOST_TEST(!refused.has_value());
        co_await all_ready_again(locks, five);
        BOOST_TEST(held.valid());
        co_await held.extend(1min);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(five.holding("x") == 0U);
    }());
}

/// Who deletes: everything, or only this lock's key.
const std::vector<std::vector<std::string>> deletions{{"FLUSHALL"}, {"DEL", "x"}};

lock_options renewed_often() {
    return renewed_every(50ms, 10s);
}

struct five_servers : shared_servers<5> {};

/// What a majority has lost is a loss, told long before the ttl is over; nothing makes it again.
BOOST_FIXTURE_TEST_CASE(fault_25_data_lost_or_kept_on_a_majority, five_servers) {
    for (const auto& deletion : deletions) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease held = co_await mutex(locks, "x", renewed_often()).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (const std::size_t i : {1U, 2U, 3U}) {
                instances[i].command(deletion);
            }
            const auto valid_until = held.valid_until();
            co_await held.wait_lost();
            BOOST_TEST((steady_clock::now() < valid_until - 1s));
            BOOST_TEST((held.loss() == errc::lease_lost));
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(locks.counters().healed == 0U);
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::lost), to_string(result));
            const auto next = co_await mutex(others, "x").try_acquire();
            BOOST_TEST(next.has_value());
        }());
    }
}

/// What a minority has lost it gets again, and nobody else gets the lock meanwhile.
BOOST_FIXTURE_TEST_CASE(fault_25_data_lost_or_kept_on_a_minority, five_servers) {
    for (const auto& deletion : deletions) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease held = co_await mutex(locks, "x", renewed_often()).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (int i = 0; i != 5; ++i) {
                const auto healed = locks.counters().healed;
                instances[0].command(deletion);
                instances[4].command(deletion);
                const auto refused = co_await mutex(others, "x").try_acquire();
                BOOST_TEST(!refused.has_value());
                co_await async_wait_until([&] { return locks.counters().healed >= healed + 2; });
                BOOST_TEST(instances[0].command({"GET", "x"}).value() == held.token());
            }
            BOOST_TEST(held.valid());
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
        }());
    }
}

BOOST_FIXTURE_TEST_CASE(fault_26_script_flush_is_recovered_inside_the_operation, five_servers) {
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
            co_await renewed_more(locks, 2);  // by the watchdog
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
            BOOST_TEST(instance.reason.empty());  // no connection was made anew
        }
    }());
}

/// A destroyed lease's release too, and the undo of an attempt.
BOOST_FIXTURE_TEST_CASE(fault_26_script_flush_before_a_release_that_nobody_awaits, five_servers) {
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
        BOOST_TEST(!refused.has_value());
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        BOOST_TEST(instances.holding("y") == 3U);
    }());
}

/// A restarted server has its data again, but no scripts.
BOOST_AUTO_TEST_CASE(fault_26_script_flush_by_a_restart) {
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

/// The servers refuse: an attempt fails in their words, takes nobody for a holder, and costs no
/// connection.
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

/// Also: a lease that is held there goes on when it ends, and a minority that refuses is nothing.
void refuse_for_a_while(servers& three, const std::function<void(redis_server&)>& refuse,
                        const std::function<void(redis_server&)>& end, std::string_view words,
                        bool stays_connected = true) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, three.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        refuse(three[0]);
        {
            const auto granted = co_await mutex(locks, "y").try_acquire();
            BOOST_TEST(granted.has_value());
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

// A server that has become a replica is left, until it is a master again.
BOOST_AUTO_TEST_CASE(fault_27_refused_commands_readonly) {
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

BOOST_AUTO_TEST_CASE(fault_27_refused_commands_noperm) {
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

BOOST_AUTO_TEST_CASE(fault_27_refused_commands_oom) {
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

/// A long command to a server, beside the test: gives up after some seconds.
std::jthread beside(const redis_server& server, std::vector<std::string> command) {
    return std::jthread([&server, words = std::move(command)] {
        try {
            server.command(words);
        } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch)
        }
    });
}

/// Until an attempt is refused in these words.
asio::awaitable<void> refused_with(client& locks, std::string_view words) {
    for (const stopwatch since; since.elapsed() < default_timeout;) {
        const auto [e, nothing] = co_await mutex(locks, "other").try_acquire(asio::as_tuple);
        if (contains(e.details(), words)) {
            co_return;
        }
    }
    BOOST_FAIL("was not refused with " << words);
}

BOOST_AUTO_TEST_CASE(fault_27_refused_commands_loading) {
    servers one(1, {"--enable-debug-command", "yes"});
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, one.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(10min)).acquire();
        // It loads its own data again, so slowly that it takes minutes.
        one[0].command({"DEBUG", "POPULATE", "100000"});
        one[0].command({"CONFIG", "SET", "loading-process-events-interval-bytes", "1024"});
        one[0].command({"CONFIG", "SET", "key-load-delay", "2000"});
        const std::jthread loading = beside(one[0], {"DEBUG", "RELOAD"});
        co_await refused_with(locks, "LOADING");
        co_await check_refused(locks, "LOADING");
        check_still_connected(locks);
        // Who connects now is told the same.
        client late(co_await asio::this_coro::executor, one.config());
        co_await async_wait_until([&] { return !late.instances()[0].reason.empty(); });
        co_await check_refused(late, "LOADING");
        one[0].command({"CONFIG", "SET", "key-load-delay", "0"});
        co_await all_ready(late);
        const auto refused = co_await mutex(late, "x").try_acquire();
        BOOST_TEST(!refused.has_value());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        check_still_connected(locks);
    }());
}

/// The server lets nobody in, from some moment on: then it is down, and says why.
BOOST_AUTO_TEST_CASE(fault_27_refused_commands_noauth_and_wrongpass) {
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

BOOST_AUTO_TEST_CASE(fault_28_busy_script_for_longer_than_the_ttl) {
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
                BOOST_TEST(granted.has_value());
            } else {
                co_await refused_with(locks, "BUSY");
                co_await check_refused(locks, "BUSY");
                lease::time_point valid_until{};
                bool lost = false;
                held.wait_lost([&](error) { lost = true; });
                co_await async_wait_until([&] {
                    valid_until = held.valid() ? held.valid_until() : valid_until;
                    return lost;
                });
                BOOST_TEST((steady_clock::now() < valid_until));
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
            BOOST_TEST(free.has_value());
            check_still_connected(locks);
        }());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
