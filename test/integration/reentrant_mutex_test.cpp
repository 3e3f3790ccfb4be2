// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// Owners that enter a lock again, on real servers.

namespace {

BOOST_FIXTURE_TEST_SUITE(reentrant_mutex_test, colock::test::shared_servers<3>)

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;
using boost::unit_test::label;

/// Returns the error of an operation, or no error on success.
template <typename Operation>
asio::awaitable<error> failure_of(Operation operation) {
    const auto [failure, nothing] =
        co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
    co_return failure;
}

/// Returns how many commands the servers have executed. Commands of the tests themselves are left out.
std::size_t writes(servers& instances) {
    return executed(instances, "set") + executed(instances, "evalsha") +
           executed(instances, "eval") + executed(instances, "delifeq") +
           executed(instances, "delex");
}

/// Checks that nothing of a lock is left: it can be held and released again.
asio::awaitable<void> expect_free(servers& instances, client& locks) {
    co_await settled(locks);
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(owners_are_equal_only_to_their_copies) {
    const lock_owner a;
    const lock_owner b;
    const lock_owner copy = a;  // NOLINT(*-unnecessary-copy-initialization)
    BOOST_TEST((a == copy));
    BOOST_TEST((a != b));
    BOOST_TEST(a.number() != 0U);
    std::set<std::uint64_t> numbers;
    std::vector<std::thread> threads;
    std::array<std::vector<std::uint64_t>, 4> made;
    for (auto& mine : made) {
        threads.emplace_back([&mine] {
            for (int i = 0; i != 1000; ++i) {
                mine.push_back(lock_owner().number());
            }
        });
    }
    for (std::size_t i = 0; i != threads.size(); ++i) {
        threads[i].join();
        numbers.insert(made[i].begin(), made[i].end());
    }
    BOOST_TEST(numbers.size() == 4000U);
}

BOOST_AUTO_TEST_CASE(an_owner_enters_again_and_the_last_entry_releases) {
    run_test(instances.config(), [&](client& locks, client& others) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const reentrant_mutex lock(locks, "x", with_ttl(1min));
        const lock_owner owner;
        lease outer = co_await lock.acquire(owner);
        co_await async_wait_until([&] { return instances.holding("x") == 3; });
        const std::size_t before = writes(instances);

        lease inner = co_await lock.acquire(owner);
        lease tried = co_await lock.try_acquire(owner);
        lease timed = co_await lock.try_acquire_for(owner, 1s);
        lease until = co_await lock.try_acquire_until(owner, steady_clock::now() + 1s);
        lease at_once = lock.try_reenter(owner);
        BOOST_TEST_REQUIRE((tried && timed && until && at_once));
        for (const lease* one : {&inner, &tried, &timed, &until, &at_once}) {
            BOOST_TEST(one->valid());
            BOOST_TEST(one->token() == outer.token());
            BOOST_TEST((one->valid_until() == outer.valid_until()));
            BOOST_TEST(!one->is_shared());
        }
        BOOST_TEST(locks.counters().held == 6U);
        BOOST_TEST(locks.counters().acquired == 6U);
        BOOST_TEST(!is_held(lock.try_reenter(lock_owner())));

        // Releases the outermost lease first.
        BOOST_TEST((co_await outer.release() == release_result::released));
        BOOST_TEST((co_await inner.release() == release_result::released));
        tried = lease();
        timed = lease();
        until = lease();
        BOOST_TEST(writes(instances) == before);
        BOOST_TEST(at_once.valid());
        BOOST_TEST(!is_held(co_await mutex(others, "x").try_acquire()));
        BOOST_TEST((co_await at_once.release() == release_result::released));
        BOOST_TEST(!is_held(lock.try_reenter(owner)));
        const lease next = co_await mutex(others, "x").acquire();
        BOOST_TEST(next.valid());
    });
}

BOOST_AUTO_TEST_CASE(it_excludes_a_mutex_and_is_excluded_by_it) {
    run_test(instances.config(), [&](client& locks, client& others) -> asio::awaitable<void> {
        const lock_owner owner;
        for (client* const by : {&locks, &others}) {
            lease entry = co_await reentrant_mutex(locks, "x").acquire(owner);
            BOOST_TEST(!is_held(co_await mutex(*by, "x").try_acquire()));
            BOOST_TEST(!is_held(co_await reentrant_mutex(*by, "x").try_acquire(lock_owner())));
            if (by == &others) {  // An owner belongs to one client.
                BOOST_TEST(!is_held(co_await reentrant_mutex(*by, "x").try_acquire(owner)));
            }
            co_await entry.release();
            lease plain = co_await mutex(*by, "x").acquire();
            BOOST_TEST(!is_held(co_await reentrant_mutex(locks, "x").try_acquire(owner)));
            co_await plain.release();
        }
        co_await expect_free(instances, locks);
    });
}

BOOST_AUTO_TEST_CASE(with_lock_nests_by_an_owner) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        const reentrant_mutex lock(locks, "x");
        static_assert(acquirable<owned<reentrant_mutex>> && acquirable<owned<mutex>>);
        const owned mine(lock, lock_owner());
        const auto inner = [](lease& held) -> asio::awaitable<int> {
            BOOST_TEST(held.valid());
            co_return 3;
        };
        const auto outer = [&](lease& held) -> asio::awaitable<int> {
            const int first = co_await with_lock(mine, inner);
            const int second = co_await with_lock(mine, inner);
            BOOST_TEST(held.valid());
            co_return first + second;
        };
        BOOST_TEST(co_await with_lock(mine, outer) == 6);
        BOOST_TEST(co_await lead(mine, outer) == 6);
        co_await expect_free(instances, locks);
    }());
}

BOOST_AUTO_TEST_CASE(a_mutex_refuses_an_owner_that_would_wait_for_itself) {
    run_test(instances.config(), [&](client& locks, client& others) -> asio::awaitable<void> {
        const mutex plain(locks, "x");
        const reentrant_mutex lock(locks, "x");
        const lock_owner owner;
        lease held = co_await plain.acquire(owner);
        const error first = co_await failure_of(plain.acquire(owner));
        BOOST_TEST((first == errc::would_deadlock));
        BOOST_TEST(first.details() == "'x': this owner holds it already");
        BOOST_TEST((co_await failure_of(lock.acquire(owner)) == errc::would_deadlock));
        BOOST_TEST((co_await failure_of(lock.try_acquire(owner)) == errc::would_deadlock));
        BOOST_TEST(!is_held(lock.try_reenter(owner)));
        co_await held.release();
        lease entry = co_await lock.acquire(owner);
        BOOST_TEST((co_await failure_of(plain.acquire(owner)) == errc::would_deadlock));

        // Another owner and another client just wait.
        pending_acquire nobody;
        nobody.start(plain);
        pending_acquire elsewhere;
        elsewhere.start(owned(mutex(others, "x"), owner));
        pending_acquire another;
        another.start(owned(plain, lock_owner()));
        co_await async_wait_until([&] { return others.counters().contended > 0; });
        BOOST_TEST((!nobody.result && !elsewhere.result && !another.result));
        co_await entry.release();
        for (pending_acquire* const one : {&nobody, &elsewhere, &another}) {
            co_await async_wait_until([&] {
                for (pending_acquire* const any : {&nobody, &elsewhere, &another}) {
                    any->granted = lease();  // Releases the lease if it was granted.
                }
                return one->result.has_value();
            });
            BOOST_TEST(!*one->result);
        }
    });
}

BOOST_AUTO_TEST_CASE(waiters_of_an_owner_enter_together) {
    run_test(instances.config(), [&](client& locks, client& others) -> asio::awaitable<void> {
        const lock_owner owner;
        const owned mine(reentrant_mutex(locks, "x"), owner);
        lease foreign = co_await mutex(others, "x").acquire();
        std::array<pending_acquire, 5> waiting;
        for (pending_acquire& one : waiting) {
            one.start(mine);
        }
        pending_acquire other;
        other.start(mutex(locks, "x"));
        co_await async_wait_until([&] { return locks.counters().contended > 0; });
        co_await foreign.release();
        for (pending_acquire& one : waiting) {
            co_await async_wait_until([&] { return one.result.has_value(); });
            BOOST_TEST(one.granted.valid());
        }
        BOOST_TEST(!other.result);
        BOOST_TEST(locks.counters().held == 5U);
        for (pending_acquire& one : waiting) {
            one.granted = lease();
        }
        co_await async_wait_until([&] { return other.result.has_value(); });
        BOOST_TEST(other.granted.valid());
    });
}

BOOST_AUTO_TEST_CASE(entries_have_the_fence_of_the_outermost_one) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lock_options options;
        options.fencing = true;
        const reentrant_mutex lock(locks, "x", options);
        const lock_owner owner;
        lease outer = co_await lock.acquire(owner);
        lease inner = co_await lock.acquire(owner);
        const lease tried = lock.try_reenter(owner);
        BOOST_TEST_REQUIRE(tried.owns_lock());
        BOOST_TEST(inner.fence() == outer.fence());
        BOOST_TEST(tried.fence() == outer.fence());
        const error other = co_await failure_of(reentrant_mutex(locks, "x").acquire(owner));
        BOOST_TEST((other == errc::would_deadlock));
        BOOST_TEST(other.details().find("fencing") != std::string::npos);
        BOOST_TEST(!is_held(reentrant_mutex(locks, "x").try_reenter(owner)));
    }());
}

// An inner entry with a short ttl, its release, and its extension neither shorten the outer lease nor stop
// its watchdog.
BOOST_AUTO_TEST_CASE(an_inner_entry_changes_neither_ttl_nor_watchdog, *label("fault-45")) {
    run_test(
        [&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            const reentrant_mutex lock(locks, "x", renewed_every(100ms, 2s));
            const reentrant_mutex brief(locks, "x", without_watchdog(50ms));
            const lock_owner owner;
            for (const bool outer_first : {true, false}) {
                lease outer = co_await lock.acquire(owner);
                lease inner = co_await brief.acquire(owner);
                co_await inner.extend(300ms);
                BOOST_TEST((inner.valid_until() > steady_clock::now() + 1s));
                co_await inner.extend(4s);
                co_await outer.extend(300ms);  // Does not shorten it either.
                BOOST_TEST((inner.valid_until() > steady_clock::now() + 2s));
                lease& first = outer_first ? outer : inner;
                lease& last = outer_first ? inner : outer;
                co_await first.release();
                co_await renewed_more(locks, 3);
                BOOST_TEST(last.valid());
                BOOST_TEST(!last.loss());
                BOOST_TEST(std::all_of(instances.begin(), instances.end(),
                                       [](const redis_server& s) { return pttl(s, "x") > 1s; }));
                co_await last.release();
                co_await expect_free(instances, locks);
                const std::uint64_t renewed = locks.counters().renewed;
                lease elsewhere = co_await mutex(locks, "y", renewed_every(100ms, 2s)).acquire();
                co_await renewed_more(locks, 3);  // Only that one is renewed now.
                BOOST_TEST(locks.counters().renewed >= renewed + 3);
                BOOST_TEST(instances.holding("x") == 0U);
            }
        }(),
        30s);
}

// The replies to the attempts are late, so the servers execute several attempts. An entry counts once.
BOOST_AUTO_TEST_CASE(an_acquire_that_is_executed_several_times_counts_once, *label("fault-44")) {
    run_test(
        [&]() -> asio::awaitable<void> {
            proxies network(instances);
            config configuration = network.config();
            configuration.instance_timeout = 100ms;
            client locks(co_await asio::this_coro::executor, configuration);
            co_await all_ready(locks);
            const reentrant_mutex lock(locks, "x", with_ttl(2s));
            const lock_owner owner;
            for (auto& link : network) {
                link.drop(tcp_proxy::way::to_client);
            }
            pending_acquire outer;
            outer.start(owned(lock, owner));
            co_await async_wait_until([&] { return locks.counters().unavailable >= 2; });
            for (auto& link : network) {
                link.resume();
            }
            co_await async_wait_until([&] { return outer.result.has_value(); });
            BOOST_TEST_REQUIRE(!*outer.result);
            BOOST_TEST(locks.counters().attempts >= 3U);
            BOOST_TEST(locks.counters().held == 1U);
            lease inner = co_await lock.acquire(owner);
            BOOST_TEST(locks.counters().held == 2U);
            co_await inner.release();
            co_await outer.granted.release();
            co_await expect_free(instances, locks);
        }(),
        30s);
}

// Two coroutines on one thread have separate owners. A coroutine that resumes on another thread keeps its
// owner.
BOOST_AUTO_TEST_CASE(ownership_belongs_to_no_thread, *label("fault-46")) {
    asio::thread_pool threads(4);
    config configuration = instances.config();
    configuration.thread_safe = true;
    client locks(threads, configuration);
    const reentrant_mutex lock(locks, "x");
    std::atomic<int> inside = 0;
    std::atomic<int> visits = 0;
    std::set<std::thread::id> seen;  // One owner writes it, under its lock.
    const auto visit = [&]() -> asio::awaitable<void> {
        const lock_owner owner;
        lease outer = co_await lock.acquire(owner);
        BOOST_TEST(++inside == 1);
        for (int i = 0; i != 5; ++i) {
            lease inner = co_await lock.acquire(owner);
            BOOST_TEST(inner.token() == outer.token());
            BOOST_TEST(!is_held(
                lock.try_reenter(owner)));  // As documented for a client with `thread_safe`.
            seen.insert(std::this_thread::get_id());
            co_await asio::post(asio::deferred);
        }
        ++visits;
        BOOST_TEST(--inside == 0);
        co_await outer.release();
    };
    std::vector<std::future<void>> all;
    for (int i = 0; i != 20; ++i) {
        all.push_back(asio::co_spawn(asio::make_strand(threads), visit(), asio::use_future));
    }
    for (auto& one : all) {
        one.get();
    }
    asio::co_spawn(threads, locks.close(asio::use_awaitable), asio::use_future).get();
    threads.join();
    BOOST_TEST(visits == 20);
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(two_owners_of_one_thread_exclude_each_other, *label("fault-46")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        const reentrant_mutex lock(locks, "x");
        lease first = co_await lock.acquire(lock_owner());
        BOOST_TEST(!is_held(co_await lock.try_acquire(lock_owner())));
        co_await first.release();
    }());
}

BOOST_AUTO_TEST_CASE(an_entry_after_a_loss_fails_until_all_are_released, *label("fault-46")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const reentrant_mutex lock(locks, "x", renewed_every(50ms, 500ms));
        const lock_owner owner;
        lease outer = co_await lock.acquire(owner);
        lease inner = co_await lock.acquire(owner);
        instances.flush();
        co_await outer.wait_lost();
        BOOST_TEST((outer.loss() == errc::lease_lost));
        BOOST_TEST((inner.loss() == errc::lease_lost));
        const error refused = co_await failure_of(lock.acquire(owner));
        BOOST_TEST((refused == errc::lease_lost));
        BOOST_TEST(refused.details().find("has not released it") != std::string::npos);
        BOOST_TEST(!is_held(lock.try_reenter(owner)));
        const lease other = co_await lock.acquire(lock_owner());  // The lock is free again.
        BOOST_TEST(other.valid());
        BOOST_TEST((co_await failure_of(lock.try_acquire(owner)) == errc::lease_lost));
        outer = lease();
        BOOST_TEST((co_await failure_of(lock.acquire(owner)) == errc::lease_lost));
        BOOST_TEST((co_await inner.release() != release_result::released));
        BOOST_TEST(!is_held(co_await lock.try_acquire(owner)));  // Another owner holds it.
    }());
}

BOOST_AUTO_TEST_CASE(cancellation_of_an_entry_at_any_moment_leaves_no_keys) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client locks(executor, instances.config());
            co_await all_ready(locks);
            const reentrant_mutex lock(locks, "x", with_ttl(1min));
            std::size_t granted = 0;
            for (int i = 0; i != 200; ++i) {
                const owned mine(lock, lock_owner());
                std::array<pending_acquire, 3> entries;
                for (pending_acquire& one : entries) {
                    one.start(mine);
                }
                asio::steady_timer moment(executor, std::chrono::microseconds(5 * i));
                co_await moment.async_wait();
                for (pending_acquire& one : entries) {
                    one.signal.emit(cancellation_type::all);
                    co_await async_wait_until([&] { return one.result.has_value(); });
                    BOOST_TEST((!*one.result || one.result->code() == aborted));
                    granted += *one.result ? 0 : 1;
                }
            }
            co_await expect_free(instances, locks);
            BOOST_TEST(granted > 0U);
        }(),
        60s);
}

BOOST_AUTO_TEST_CASE(a_moved_from_lock_or_a_closed_client_enters_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        reentrant_mutex lock(locks, "x");
        const lock_owner owner;
        const lease outer = co_await lock.acquire(owner);
        const reentrant_mutex moved = std::move(lock);
        BOOST_TEST(
            !is_held(lock.try_reenter(owner)));  // NOLINT(bugprone-use-after-move): as it says
        BOOST_TEST((co_await failure_of(lock.acquire(owner)) == errc::client_closed));
        BOOST_TEST(is_held(moved.try_reenter(owner)));
        co_await locks.close();
        BOOST_TEST(!is_held(moved.try_reenter(owner)));
        BOOST_TEST((co_await failure_of(moved.acquire(owner)) == errc::client_closed));
        BOOST_TEST((outer.loss() == errc::client_closed));
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
