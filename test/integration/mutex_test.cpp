// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/field_refused.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

// Locks: exclusion, waiting, the keys on the servers, closing, and failures.

namespace {

BOOST_FIXTURE_TEST_SUITE(mutex_test, colock::test::shared_servers<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using strings = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(two_clients_exclude_each_other) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        lease held = co_await mutex(a, "x").acquire();
        const auto refused = co_await mutex(b, "x").try_acquire();
        BOOST_TEST(!refused.owns_lock());
        const lease other = co_await mutex(b, "y").acquire();
        co_await held.release();
        // A quorum has released it. The other servers may still deny, and a stalled one does not answer in
        // time.
        const lease theirs = co_await mutex(b, "x").acquire();
        const auto mine_again = co_await mutex(a, "x").try_acquire();
        BOOST_TEST(!mine_again.owns_lock());
    });
}

BOOST_AUTO_TEST_CASE(a_mutex_is_not_reentrant) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        mutex lock(locks, "x");
        const lease held = co_await lock.acquire();
        const auto second = co_await lock.try_acquire();
        BOOST_TEST(!second.owns_lock());
    });
}

BOOST_AUTO_TEST_CASE(acquire_waits_for_the_release) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        lease held = co_await mutex(a, "x").acquire();
        bool acquired = false;
        const auto waiting = co_await start([](client& c, bool& got) -> asio::awaitable<void> {
            const lease second = co_await mutex(c, "x").acquire();
            got = second.valid();
        }(b, acquired));
        co_await async_wait_until([&] { return b.counters().contended >= 3; });
        BOOST_TEST(!acquired);
        co_await held.release();
        co_await async_wait_until([&] { return waiting->done; });
        BOOST_TEST(acquired);
    });
}

BOOST_AUTO_TEST_CASE(try_acquire_for_succeeds_if_released_in_time) {
    run_test(instances.config(), [&](client& a, client& b) -> asio::awaitable<void> {
        std::optional<lease> held = co_await mutex(a, "x").acquire();
        bool acquired = false;
        const auto waiting = co_await start([](client& c, bool& got) -> asio::awaitable<void> {
            const auto second = co_await mutex(c, "x").try_acquire_for(10s);
            got = second.owns_lock();
        }(b, acquired));
        co_await async_wait_until([&] { return b.counters().contended >= 2; });
        held.reset();
        co_await async_wait_until([&] { return waiting->done; });
        BOOST_TEST(acquired);
    });
}

BOOST_AUTO_TEST_CASE(deadlines_are_honoured) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, instances.config());
        const lease held = co_await mutex(other, "x").acquire();
        client locks(executor, instances.config());
        co_await all_ready(locks);
        mutex lock(locks, "x");

        const stopwatch for_a_while;
        auto refused = co_await lock.try_acquire_for(100ms);
        BOOST_TEST(!refused.owns_lock());
        BOOST_TEST((for_a_while.elapsed() >= 100ms));
        BOOST_TEST((for_a_while.elapsed() < 1s));

        const stopwatch until;
        refused = co_await lock.try_acquire_until(steady_clock::now() + 100ms);
        BOOST_TEST(!refused.owns_lock());
        BOOST_TEST((until.elapsed() >= 100ms));
        BOOST_TEST((until.elapsed() < 1s));

        // A timeout of zero allows one attempt.
        const auto attempts = locks.counters().attempts;
        for (const auto timeout : {0ms, -5ms}) {
            refused = co_await lock.try_acquire_for(timeout);
            BOOST_TEST(!refused.owns_lock());
        }
        refused = co_await lock.try_acquire_until(steady_clock::time_point::min());
        BOOST_TEST(!refused.owns_lock());
        BOOST_TEST(locks.counters().attempts == attempts + 3);
        const auto free = co_await mutex(locks, "y").try_acquire_for(-1s);
        BOOST_TEST(free.owns_lock());
    }());
}

BOOST_AUTO_TEST_CASE(the_maximum_timeout_and_deadline_are_accepted) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const auto first = co_await mutex(locks, "x").try_acquire_for(mutex::duration::max());
        BOOST_TEST(first.owns_lock());
        const auto second = co_await mutex(locks, "y").try_acquire_until(mutex::time_point::max());
        BOOST_TEST(second.owns_lock());
    });
}

BOOST_AUTO_TEST_CASE(the_key_of_another_holder_is_respected) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (std::size_t i : {0U, 2U, 4U}) {
            hold_by_hand(instances[i], "x", 1min);
        }
        const auto refused = co_await mutex(locks, "x").try_acquire();
        BOOST_TEST(!refused.owns_lock());
        co_await settled(locks);
        // The keys are the other holder's. The partial grants of this client were rolled back.
        BOOST_TEST(instances.holding("x") == 3U);
        BOOST_TEST(instances[0].command({"GET", "x"}).value() == "somebody else");
    });
}

BOOST_AUTO_TEST_CASE(another_holder_on_a_minority_is_no_obstacle) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        hold_by_hand(instances[1], "x", 1min);
        hold_by_hand(instances[3], "x", 1min);
        auto held = co_await mutex(locks, "x").try_acquire();
        BOOST_TEST_REQUIRE(held.owns_lock());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 2U);
    });
}

/// A waiter attempts again when the holder's key has expired, even if its backoff is longer.
BOOST_AUTO_TEST_CASE(a_waiter_waits_no_longer_than_the_ttl_of_the_holder) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (auto& server : instances) {
            hold_by_hand(server, "x", 400ms);
        }
        lock_options patient;
        patient.retry.initial = patient.retry.maximum = 1min;
        const stopwatch waited;
        const lease held = co_await mutex(locks, "x", patient).acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST((waited.elapsed() < 5s));  // The backoff would be at least half a minute.
        BOOST_TEST(locks.counters().attempts <= 4U);
    });
}

BOOST_AUTO_TEST_CASE(acquire_fails_after_the_configured_number_of_attempts) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (auto& server : instances) {
            hold_by_hand(server, "x", 1min);
        }
        lock_options options;
        options.retry.attempts = 3;
        const auto [e, nothing] = co_await mutex(locks, "x", options).acquire(asio::as_tuple);
        BOOST_TEST((e == errc::contended));
        BOOST_TEST((e == condition::contended));
        BOOST_TEST(e.details().find("held by another holder") != std::string::npos, e.message());
        BOOST_TEST(locks.counters().attempts == 3U);
    });
}

/// Each command creates a key "x" that is not a lock.
const std::vector<strings> oddities{
    {"RPUSH", "x", "1"},
    {"SADD", "x", "1"},
    {"HSET", "x", "1", "1"},
    {"ZADD", "x", "1", "1"},
    {"XADD", "x", "1-1", "1", "1"},
    {"PFADD", "x", "1"},
    {"SET", "x", ""},
    {"SET", "x", std::string("\0\r\n$-1\r\n\xff", 9)},
    {"SET", "x", std::string(1 << 20, 'x')},
    {"SET", "x", "9007199254740992"},     // 2^53.
    {"SET", "x", "9223372036854775807"},  // INT64_MAX.
    {"SET", "x", "-9223372036854775809"},
    {"SET", "x", "1e400"},
};

/// Replaces the key with such a value and returns its dump.
std::string put(const redis_server& server, const strings& oddity) {
    server.command({"DEL", "x"});
    server.command(oddity);
    return server.command({"DUMP", "x"}).value();
}

void check_unchanged(servers& instances, std::size_t first, const std::string& dump) {
    for (std::size_t i = first; i != instances.size(); ++i) {
        BOOST_TEST((instances[i].command({"DUMP", "x"}).value_or("") == dump), "on server " << i);
        BOOST_TEST(instances[i].command({"PTTL", "x"}).value() == "-1");
    }
}

BOOST_AUTO_TEST_CASE(a_foreign_key_counts_as_another_holder, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            std::string dump;
            for (auto& server : instances) {
                dump = put(server, oddity);
            }
            const mutex lock(locks, "x");
            const auto contended = locks.counters().contended;
            const auto refused = co_await lock.try_acquire();
            BOOST_TEST(!refused.owns_lock());
            BOOST_TEST(locks.counters().contended == contended + 1);
            pending_acquire waiting;
            waiting.start(lock);
            co_await async_wait_until([&] { return locks.counters().contended >= contended + 2; });
            waiting.signal.emit(asio::cancellation_type::terminal);
            co_await async_wait_until([&] { return waiting.result.has_value(); });
            BOOST_TEST((*waiting.result == aborted));
            check_unchanged(instances, 0, dump);
        }
        BOOST_TEST(locks.counters().unavailable == 0U);
        for (const auto& instance : locks.instances()) {
            BOOST_TEST(instance.reason.empty());  // No connection was lost.
        }
    });
}

struct other_value {
    strings command;
    std::string what;
};

const std::vector<other_value> other_values{
    {{"RPUSH", "x", "1"}, "a list"},
    {{"SADD", "x", "1"}, "a set"},
    {{"HSET", "x", "1", "1"}, "a hash"},
    {{"ZADD", "x", "1", "1"}, "a sorted set"},
    {{"XADD", "x", "1-1", "1", "1"}, "a stream"},
};

/// The error used to be "held by another", which hid the cause.
BOOST_AUTO_TEST_CASE(the_error_reports_the_type_of_a_foreign_key, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lock_options options;
        options.retry.attempts = 5;
        for (const bool fencing : {false, true}) {
            options.fencing = fencing;
            for (const other_value& other : other_values) {
                std::string dump;
                for (auto& server : instances) {
                    dump = put(server, other.command);
                }
                const mutex exclusive(locks, "x", options);
                const shared_mutex shared(locks, "x", options);
                const std::string expected = " denied, the key holds " + other.what +
                                             ", which is not a lock, the key has no ttl";
                const auto tells = [&](const error& e) {
                    BOOST_TEST((e == errc::contended));
                    return e.details().find(expected) != std::string::npos;
                };
                // On a busy machine, the reply of a server may arrive too late for the error.
                const stopwatch waited;
                bool all_tell = false;
                while (!all_tell && waited.elapsed() < default_timeout) {
                    const auto [e, none] = co_await exclusive.acquire(asio::as_tuple);
                    const auto [f, no_writer] = co_await shared.acquire(asio::as_tuple);
                    const auto [g, no_reader] = co_await shared.acquire_shared(asio::as_tuple);
                    all_tell = tells(e) && tells(f) && tells(g);
                }
                BOOST_TEST(all_tell, expected);
                BOOST_TEST(!is_held(co_await exclusive.try_acquire()));
                BOOST_TEST(!is_held(co_await shared.try_acquire()));
                BOOST_TEST(!is_held(co_await shared.try_acquire_shared()));
                check_unchanged(instances, 0, dump);
            }
        }
        BOOST_TEST(locks.counters().unavailable == 0U);
    });
}

/// The same applies in the remote queue, where only one instance reports the key.
BOOST_AUTO_TEST_CASE(a_cancelled_waiter_reports_the_type_of_a_foreign_key, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (auto& server : instances) {
            put(server, {"RPUSH", "x", "1"});
        }
        std::string told;
        const auto tells = [&] {
            return told.find("the key holds a list, which is not a lock") != std::string::npos;
        };
        const stopwatch waited;
        while (!tells() && waited.elapsed() < default_timeout) {
            const auto [e, none] =
                co_await mutex(locks, "x").acquire(asio::cancel_after(1500ms, asio::as_tuple));
            told = e.details();
        }
        BOOST_TEST(tells(), told);
    });
}

BOOST_AUTO_TEST_CASE(a_loss_reports_the_type_of_a_foreign_key, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lock_options options;
        options.renew = 0ms;
        for (const bool fencing : {false, true}) {
            options.fencing = fencing;
            for (const int kind : {0, 1, 2}) {
                instances.flush();
                const shared_mutex shared(locks, "x", options);
                lease held;
                if (kind == 0) {
                    held = co_await mutex(locks, "x", options).acquire();
                } else if (kind == 1) {
                    held = co_await shared.acquire();
                } else {
                    held = co_await shared.acquire_shared();
                }
                co_await async_wait_until([&] { return instances.holding("x") == 5; });
                for (auto& server : instances) {
                    put(server, {"RPUSH", "x", "1"});
                }
                const auto [e] = co_await held.extend(10s, asio::as_tuple);
                BOOST_TEST((e == errc::lease_lost));
                BOOST_TEST(e.details().find("denied, the key holds a list, which is not a lock") !=
                               std::string::npos,
                           e.message());
                BOOST_TEST((co_await held.release() == release_result::lost));
            }
        }
    });
}

/// The keys exist before the lock is acquired, or replace its keys while it is held.
BOOST_AUTO_TEST_CASE(foreign_keys_on_a_minority_are_left_alone, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            for (const bool before : {true, false}) {
                instances.flush();
                std::string dump;
                const auto put_two = [&] {
                    dump = put(instances[3], oddity);
                    put(instances[4], oddity);
                };
                if (before) {
                    put_two();
                }
                lease held = co_await mutex(locks, "x", renewed_every(20ms, 10s)).acquire();
                if (!before) {
                    co_await async_wait_until([&] { return instances.holding("x") == 5; });
                    put_two();
                }
                co_await renewed_more(locks, 2);
                BOOST_TEST(held.valid());
                const auto result = co_await held.release();
                BOOST_TEST((result == release_result::released));
                co_await settled(locks);
                check_unchanged(instances, 3, dump);
                BOOST_TEST(instances.keys() == 2U);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(foreign_keys_on_a_majority_cause_a_loss, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            instances.flush();
            lease held = co_await mutex(locks, "x", renewed_every(20ms, 10s)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            std::string dump;
            for (std::size_t i = 2; i != 5; ++i) {
                dump = put(instances[i], oddity);
            }
            co_await held.wait_lost();
            BOOST_TEST((held.loss() == errc::lease_lost));
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::lost), to_string(result));
            co_await settled(locks);
            check_unchanged(instances, 2, dump);
            BOOST_TEST(instances.keys() == 3U);
        }
    });
}

BOOST_AUTO_TEST_CASE(acquire_succeeds_when_a_foreign_key_expires, *label("fault-34")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (auto& server : instances) {
            put(server, oddities.front());
            server.command({"PEXPIRE", "x", "300"});
        }
        const lease held = co_await mutex(locks, "x").acquire();
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_CASE(a_lock_works_with_any_number_of_instances) {
    for (const std::size_t n : {1U, 2U, 3U, 5U}) {
        run_test([&]() -> asio::awaitable<void> {
            config configuration = instances.config();
            configuration.instances.resize(n);
            client locks(co_await asio::this_coro::executor, configuration);
            co_await all_ready(locks);
            mutex lock(locks, "n");
            lease held = co_await lock.acquire();
            co_await async_wait_until([&] { return instances.holding("n") == n; });
            const auto refused = co_await lock.try_acquire();
            BOOST_TEST(!refused.owns_lock());
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await settled(locks);
            BOOST_TEST(instances.holding("n") == 0U);
        }());
    }
}

BOOST_AUTO_TEST_CASE(a_quorum_of_an_even_number_is_more_than_half, *label("fault-35")) {
    for (const std::size_t n : {2U, 4U}) {
        run_test([&]() -> asio::awaitable<void> {
            config all = instances.config();
            all.instances.resize(n);
            config half = all;
            half.instances.erase(half.instances.begin(), half.instances.begin() + n / 2);
            client locks(co_await asio::this_coro::executor, all);
            client others(co_await asio::this_coro::executor, half);
            co_await all_ready(locks);
            lease held = co_await mutex(others, "x").acquire();
            const auto refused = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST(!refused.owns_lock());
            co_await settled(locks);
            BOOST_TEST(!instances[0].has("x"));
            co_await held.release();
            co_await settled(others);
            const auto granted = co_await mutex(locks, "x").try_acquire();
            BOOST_TEST(granted.owns_lock());
        }());
    }
}

BOOST_AUTO_TEST_CASE(the_key_has_the_plain_redlock_format) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "like:42", with_ttl(5s)).acquire();
        co_await async_wait_until([&] { return instances.holding("like:42") == 5; });
        for (auto& server : instances) {
            BOOST_TEST(server.command({"TYPE", "like:42"}).value() == "string");
            BOOST_TEST(server.command({"GET", "like:42"}).value() == held.token());
            const auto left = pttl(server, "like:42");
            BOOST_TEST_REQUIRE(left.has_value());
            BOOST_TEST((*left <= 5s));
            BOOST_TEST((*left > 3s));
        }
        BOOST_TEST(held.resource() == "like:42");
        BOOST_TEST((held.valid_until() <= steady_clock::now() + 5s - 52ms));
        BOOST_TEST((held.valid_until() > steady_clock::now() + 3s));
    });
}

BOOST_AUTO_TEST_CASE(names_may_be_binary_and_are_limited_to_64_kib, *label("fault-35")) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = instances.config();
        configuration.key_prefix = "app:";
        client locks(co_await asio::this_coro::executor, configuration);
        client others(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        const std::string name("a\0b\r\n\xff{}", 8);
        const lease held = co_await mutex(locks, name).acquire();
        BOOST_TEST(held.resource() == name);
        co_await async_wait_until([&] { return instances.holding("app:" + name) == 5; });
        const auto refused = co_await mutex(others, name).try_acquire();
        BOOST_TEST(!refused.owns_lock());
        const auto another = co_await mutex(locks, std::string("\0", 1)).try_acquire();
        BOOST_TEST(another.owns_lock());
        const lease longest = co_await mutex(locks, std::string(65536, 'x')).acquire();
        BOOST_TEST(longest.valid());
        for (const std::size_t size : {std::size_t{0}, std::size_t{65537}, std::size_t{1} << 20U}) {
            BOOST_TEST(field_refused([&] { mutex(locks, std::string(size, 'x')); }) == "resource");
        }
    }());
}

BOOST_AUTO_TEST_CASE(tokens_are_unique) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        mutex lock(locks, "x");
        std::set<std::string> tokens;
        for (int i = 0; i != 200; ++i) {
            lease held = co_await lock.acquire();
            BOOST_TEST(held.token().size() >= 20U);
            BOOST_TEST(tokens.emplace(held.token()).second);
            co_await held.release();
        }
    });
}

BOOST_AUTO_TEST_CASE(the_first_acquire_waits_for_the_connections) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        BOOST_TEST(ready_instances(locks) == 0U);
        const auto held = co_await mutex(locks, "x").try_acquire();
        BOOST_TEST(held.owns_lock());
        BOOST_TEST(locks.counters().attempts == 1U);
    });
}

BOOST_AUTO_TEST_CASE(acquires_fail_in_bounded_time_without_servers, *label("fault-33")) {
    run_test([]() -> asio::awaitable<void> {
        // No server listens at these addresses.
        const config configuration = config::from_uris(
            {"redis://127.0.0.1:1", "redis://127.0.0.1:2", "unix:///no/such/socket"});
        client locks(co_await asio::this_coro::executor, configuration);
        const stopwatch once;
        const auto [try_error, no_lease] = co_await mutex(locks, "x").try_acquire(asio::as_tuple);
        BOOST_TEST((try_error == errc::no_quorum));
        BOOST_TEST((try_error == condition::unavailable));
        BOOST_TEST(try_error.details().find("down") != std::string::npos, try_error.message());
        BOOST_TEST((once.elapsed() < 3s));

        lock_options options;
        options.unavailable_timeout = 200ms;
        const stopwatch waiting;
        const auto [e, nothing] = co_await mutex(locks, "x", options).acquire(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        BOOST_TEST((waiting.elapsed() >= 200ms));
        BOOST_TEST((waiting.elapsed() < 3s));

        const auto [for_error, none] =
            co_await mutex(locks, "x").try_acquire_for(100ms, asio::as_tuple);
        BOOST_TEST((for_error == errc::no_quorum));
    }());
}

BOOST_AUTO_TEST_CASE(a_mutex_may_outlive_its_client) {
    run_test([&]() -> asio::awaitable<void> {
        auto locks =
            std::make_unique<client>(co_await asio::this_coro::executor, instances.config());
        mutex lock(*locks, "x");
        lease held = co_await lock.acquire();
        locks.reset();
        const auto [e, nothing] = co_await lock.acquire(asio::as_tuple);
        BOOST_TEST((e == errc::client_closed));
        const auto [try_error, none] = co_await lock.try_acquire(asio::as_tuple);
        BOOST_TEST((try_error == errc::client_closed));
        BOOST_TEST(!held.valid());
        BOOST_TEST((held.loss() == errc::client_closed));
        held = {};
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
    }());
}

BOOST_AUTO_TEST_CASE(close_ends_pending_operations_and_leases) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        client other(co_await asio::this_coro::executor, instances.config());
        const lease in_the_way = co_await mutex(other, "y").acquire();
        co_await async_wait_until([&] { return instances.holding("y") == 5; });
        lease held = co_await mutex(locks, "x").acquire();
        const auto waiting = co_await start([](client& c) -> asio::awaitable<void> {
            co_await mutex(c, "y").acquire(asio::use_awaitable);
        }(locks));
        const auto watching = co_await start([](lease& l) -> asio::awaitable<void> {
            co_await l.wait_lost(asio::use_awaitable);
            co_await l.release(asio::use_awaitable);
        }(held));
        co_await async_wait_until([&] { return locks.counters().contended != 0; });

        co_await locks.close();
        BOOST_TEST(instances.holding("x") == 0U);
        BOOST_TEST(instances.holding("y") == 5U);
        co_await async_wait_until([&] { return waiting->done && watching->done; });
        BOOST_TEST(waiting->code() == make_error_code(errc::client_closed));
        BOOST_TEST(watching->code() == error_code());
        BOOST_TEST((held.loss() == errc::client_closed));
        BOOST_TEST(!held.valid());
        for (const auto& instance : locks.instances()) {
            BOOST_TEST((instance.state == instance_state::closed));
        }
        BOOST_TEST(locks.counters().held == 0U);
        BOOST_TEST(locks.counters().releasing == 0U);

        co_await locks.close();  // Closing twice is harmless.
        const auto [e, nothing] = co_await mutex(locks, "y").acquire(asio::as_tuple);
        BOOST_TEST((e == errc::client_closed));
    });
}

// A holder may work until it releases its lease, and no other client may acquire the lock before.
BOOST_AUTO_TEST_CASE(closing_leaves_the_lock_to_a_holder_that_has_not_released_it) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = instances.config();
        configuration.close_timeout = 2s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        lease slow = co_await mutex(locks, "x").acquire();
        lease kept = co_await mutex(locks, "y").acquire();
        bool closed = false;
        std::optional<error> how;
        locks.close([&](error e) {
            closed = true;
            how = e;
        });
        co_await async_wait_until([&] { return slow.loss() == errc::client_closed; });
        BOOST_TEST(!slow.valid());
        BOOST_TEST(!closed);
        BOOST_TEST(instances.holding("x") == 5U);
        const auto result = co_await slow.release();
        BOOST_TEST((result == release_result::expired));
        BOOST_TEST(instances.holding("x") == 0U);
        co_await async_wait_until([&] { return closed; });
        BOOST_TEST(!*how, how->message());  // No task has requested the release of `kept`.
        BOOST_TEST(instances.holding("y") == 5U);
        const auto [late, nothing] = co_await kept.release(asio::as_tuple);
        BOOST_TEST((late == errc::client_closed));
        BOOST_TEST(late.details().find("'y'") != std::string::npos, late.message());
    }());
}

BOOST_AUTO_TEST_CASE(concurrent_closes_complete_while_connecting) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        const auto waiting = co_await start([](client& c) -> asio::awaitable<void> {
            co_await mutex(c, "x").acquire(asio::use_awaitable);
        }(locks));
        int closed = 0;
        locks.close([&](error e) { closed += e ? 0 : 1; });
        locks.close([&](error e) { closed += e ? 0 : 1; });
        BOOST_TEST(closed == 0);
        co_await async_wait_until([&] { return closed == 2 && waiting->done; });
        BOOST_TEST(waiting->code() == make_error_code(errc::client_closed));
    });
}

BOOST_AUTO_TEST_CASE(a_client_keeps_its_context_busy_until_closed) {
    for (const std::string& uri : {std::string("memory://a"), instances[0].uri()}) {
        asio::io_context context;
        std::optional<client> locks(std::in_place, context, config::from_uris({uri}));
        context.run_for(20ms);
        BOOST_TEST(!context.stopped());
        locks.reset();
        context.run_for(10s);
        BOOST_TEST(context.stopped());
    }
}

// Some programs wait for an asynchronous operation inside a handler.
BOOST_AUTO_TEST_CASE(a_handler_may_run_the_context_until_another_operation_ends) {
    for (const std::string& uri : {std::string("memory://a"), instances[0].uri()}) {
        asio::io_context context;
        client locks(context, config::from_uris({uri}));
        const mutex outer(locks, "outer");
        const mutex inner(locks, "inner");
        bool outer_ended = false;
        bool inner_ended = false;
        outer.acquire([&](error e, lease) {
            BOOST_TEST(!e, e.message());
            lease held;
            inner.acquire([&](error, lease l) { held = std::move(l); });
            const stopwatch waiting;
            while (!held.valid() && waiting.elapsed() < 10s) {
                context.poll();
            }
            BOOST_TEST_REQUIRE(held.valid());
            held.release([&](error, release_result) { inner_ended = true; });
            while (!inner_ended && waiting.elapsed() < 10s) {
                context.poll();
            }
            outer_ended = true;
        });
        const stopwatch running;
        while (!outer_ended && running.elapsed() < 20s) {
            context.run_one_for(100ms);
        }
        BOOST_TEST(inner_ended);
    }
}

BOOST_AUTO_TEST_CASE(closing_awaits_pending_releases) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (int i = 0; i != 50; ++i) {
            co_await mutex(locks, "x" + std::to_string(i)).acquire();  // The lease is dropped.
        }
        co_await locks.close();
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_client_assigned_over_is_closed) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, instances.config());
        const lease held = co_await mutex(locks, "x").acquire();
        locks = client(executor, instances.config());
        BOOST_TEST((held.loss() == errc::client_closed));
        const lease again = co_await mutex(locks, "x").acquire();
        BOOST_TEST(again.valid());
        client moved = std::move(locks);
        BOOST_TEST(moved.counters().held == 1U);
    }());
}

BOOST_AUTO_TEST_CASE(counters_add_up) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        mutex lock(locks, "x");
        lease held = co_await lock.acquire();
        BOOST_TEST(locks.counters().held == 1U);
        BOOST_TEST(locks.counters().acquired == 1U);
        co_await lock.try_acquire();  // Sends nothing.
        client other(co_await asio::this_coro::executor, instances.config());
        const lease in_the_way = co_await mutex(other, "y").acquire();
        co_await mutex(locks, "y").try_acquire();
        co_await held.extend(20s);
        co_await held.release();
        { const lease dropped = co_await lock.acquire(); }
        co_await settled(locks);
        const counters end = locks.counters();
        BOOST_TEST(end.attempts == 3U);
        BOOST_TEST(end.acquired == 2U);
        BOOST_TEST(end.contended == 1U);
        BOOST_TEST(end.unavailable == 0U);
        BOOST_TEST(end.cancelled == 0U);
        BOOST_TEST(end.renewed == 1U);
        BOOST_TEST(end.renewals_failed == 0U);
        BOOST_TEST(end.released == 2U);
        BOOST_TEST(end.handed_off == 0U);
        BOOST_TEST(end.lost == 0U);
        BOOST_TEST(end.acquiring == 0U);
    });
}

/// Counts the holders inside, to check mutual exclusion.
struct occupancy {
    std::array<std::atomic<int>, 3> inside{};
    std::atomic<int> entered = 0;
    std::atomic<int> violations = 0;

    asio::awaitable<void> visit(lease& held, std::size_t key) {
        violations += inside.at(key)++ != 0 || !held.valid() ? 1 : 0;
        ++entered;
        co_await asio::post(asio::deferred);  // Lets other coroutines run.
        violations += --inside.at(key) != 0 ? 1 : 0;
    }
};

asio::awaitable<void> hammer(client& locks, occupancy& rooms, std::size_t seed, int rounds) {
    for (int i = 0; i != rounds; ++i) {
        const std::size_t key = (seed + static_cast<std::size_t>(i)) % rooms.inside.size();
        const mutex lock(locks, "room" + std::to_string(key));
        lease held = co_await lock.acquire();
        co_await rooms.visit(held, key);
        if (i % 3 == 0) {
            held = lease();  // The destructor releases it.
        } else {
            co_await held.release();
        }
    }
}

BOOST_AUTO_TEST_CASE(many_coroutines_exclude_each_other) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client a(executor, instances.config());
            client b(executor, instances.config());
            occupancy rooms;
            std::vector<std::shared_ptr<background>> visitors;
            for (std::size_t i = 0; i != 24; ++i) {
                visitors.push_back(co_await start(hammer(i % 2 == 0 ? a : b, rooms, i, 10)));
            }
            for (const auto& visitor : visitors) {
                co_await async_wait_until([&] { return visitor->done; }, 60s);
                BOOST_TEST(visitor->code() == error_code());
            }
            BOOST_TEST(rooms.violations == 0);
            BOOST_TEST(rooms.entered == 240);
            co_await settled(a);
            co_await settled(b);
            BOOST_TEST(a.counters().acquired + b.counters().acquired == 240U);
            BOOST_TEST(instances.keys() == 0U);
        }(),
        90s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
