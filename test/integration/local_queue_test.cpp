// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/contains.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The waiters of one client for one name: their order, how they leave, and how a lease is handed off.

namespace {

BOOST_FIXTURE_TEST_SUITE(local_queue_test, colock::test::shared_servers<5>)

using namespace colock;
using namespace colock::test;

/// Returns a configuration with a long timeout. A busy machine may not answer within the default one, and
/// then a release fails.
config patient_config(const servers& instances) {
    config configuration = instances.config();
    configuration.instance_timeout = 10s;
    return configuration;
}

/// Coroutines that wait for a lock and record the order of the grants.
struct crowd {
    struct member {
        pending_acquire waiting;
        std::optional<std::size_t> place;  // The position among the grants.
    };

    /// Adds `count` members. Each releases the lock immediately after its grant.
    void enter(const mutex& lock, std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            member& one = members.emplace_back();
            lock.acquire(asio::bind_cancellation_slot(one.waiting.signal.slot(),
                                                      [this, &one](error e, lease l) {
                                                          one.waiting.result = e;
                                                          if (!e) {
                                                              one.place = served++;
                                                              BOOST_TEST(l.valid());
                                                          }
                                                      }));
        }
    }

    [[nodiscard]] asio::awaitable<void> done() const {
        co_await async_wait_until([this] {
            return std::all_of(members.begin(), members.end(),
                               [](const member& one) { return one.waiting.result.has_value(); });
        });
    }

    std::deque<member> members;
    std::size_t served = 0;
};

/// Returns options that never end a hand-off because of its time.
lock_options patient(std::size_t limit) {
    lock_options options;
    options.handoff_limit = limit;
    options.handoff_time = 1h;
    return options;
}

BOOST_AUTO_TEST_CASE(waiters_acquire_in_the_order_of_arrival) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        crowd all;
        all.enter(mutex(locks, "x"), 500);
        BOOST_TEST(locks.counters().queued == 499U);
        co_await all.done();
        for (std::size_t i = 0; i != all.members.size(); ++i) {
            BOOST_TEST((all.members[i].place == i));
        }
        BOOST_TEST(locks.counters().queued == 0U);
        BOOST_TEST(locks.counters().contended == 0U);
        BOOST_TEST(locks.counters().acquired == 500U);
        co_await settled(locks);
        BOOST_TEST(locks.counters().released == 500U);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(handoff_limit_bounds_the_number_of_handoffs) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const std::size_t sets_before = executed(instances, "set");
        const std::size_t joins_before =
            executed(instances, "rpush");  // Each waiter tries SET and adds a ticket.
        for (const std::size_t limit : {0U, 1U, 3U, 10U}) {
            const counters before = locks.counters();
            crowd all;
            all.enter(mutex(locks, "x", patient(limit)), 40);
            co_await all.done();
            const std::size_t holds = (40 + limit) / (limit + 1);
            BOOST_TEST(locks.counters().attempts - before.attempts == holds);
            BOOST_TEST(locks.counters().handed_off - before.handed_off == 40 - holds);
        }
        co_await settled(locks);
        const std::size_t sets = executed(instances, "set") - sets_before;
        const std::size_t joins = executed(instances, "rpush") - joins_before;
        BOOST_TEST(sets == 5 * locks.counters().attempts + 2 * joins);
    });
}

BOOST_AUTO_TEST_CASE(no_handoff_happens_after_handoff_time) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lock_options options = patient(1000);
        options.handoff_time = 20ms;
        const mutex lock(locks, "x", options);
        lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        const stopwatch held;
        co_await async_wait_until([&] { return held.elapsed() > 20ms; });
        BOOST_TEST(locks.counters().attempts == 1U);
        co_await first.release();
        co_await async_wait_until([&] { return second.granted.valid(); });
        BOOST_TEST(locks.counters().attempts == 2U);
        BOOST_TEST(locks.counters().handed_off == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_handoff_needs_no_round_trip) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const mutex lock(locks, "x", patient(1000));
        std::optional<lease> first = co_await lock.acquire();
        for (redis_server& server : instances) {
            server.pause();
        }
        crowd all;
        all.enter(lock, 100);
        first.reset();
        co_await async_wait_until([&] { return all.served == 100; });
        for (redis_server& server : instances) {
            server.resume();
        }
        co_await settled(locks);
    });
}

BOOST_AUTO_TEST_CASE(a_single_attempt_on_a_held_lock_fails_immediately) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        lease held = co_await lock.acquire();
        for (int i = 0; i != 3; ++i) {
            const auto refused = co_await lock.try_acquire();
            BOOST_TEST(!refused.owns_lock());
        }
        lock_options impatient;
        impatient.retry.attempts = 1;
        const auto waiting = co_await start([](mutex m) -> asio::awaitable<void> {
            co_await m.acquire();
        }(mutex(locks, "x", impatient)));
        co_await async_wait_until([&] { return waiting->done; });
        BOOST_TEST((waiting->code() == errc::contended));
        BOOST_TEST(locks.counters().attempts == 1U);
        co_await held.release();
        const auto granted = co_await lock.try_acquire();
        BOOST_TEST(granted.owns_lock());
    });
}

BOOST_AUTO_TEST_CASE(a_queued_waiter_gives_up_after_the_time_of_its_attempts) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const lease held = co_await mutex(locks, "a name").acquire();
        lock_options options;
        options.retry = {20ms, 50ms, 4};  // The pauses are at most 20, 40 and 50 ms.
        const stopwatch waited;
        const mutex lock(locks, "a name", options);
        const auto [failure, none] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failure == errc::contended));
        BOOST_TEST(failure.details().find("'a name': this client holds it already") !=
                   std::string::npos);
        BOOST_TEST((waited.elapsed() >= 110ms));
        BOOST_TEST((waited.elapsed() < 2s));
        BOOST_TEST(locks.counters().attempts == 1U);
    });
}

/// The holder has released, and no other waiter is ahead.
BOOST_AUTO_TEST_CASE(a_waiter_attempts_if_its_turn_and_its_timeout_coincide) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, patient_config(instances));
        lock_options options;
        options.handoff_limit = 0;
        options.retry = {10ms, 10ms, 3};  // The pauses add up to 20 ms at most.
        const mutex lock(locks, "x", options);
        std::optional<lease> held = co_await lock.acquire();
        pending_acquire waiting;
        // Both deadlines pass while no handler runs. The holder's timer is the first to fire. The client
        // therefore gets both events, one after the other, before its turn.
        asio::steady_timer letting_go(executor);
        letting_go.expires_at(steady_clock::now() - 1s);
        waiting.start(lock);
        letting_go.async_wait([&](const error_code& /*e*/) { held.reset(); });
        const stopwatch blocked;
        while (blocked.elapsed() < 50ms) {
        }
        co_await async_wait_until([&] { return waiting.result.has_value(); });
        BOOST_TEST(!waiting.result->code());
        BOOST_TEST(locks.counters().attempts == 2U);
        co_await waiting.granted.release();
        co_await lock.acquire();
    }());
}

BOOST_AUTO_TEST_CASE(a_waiter_leaves_the_local_queue_when_its_time_is_up) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        std::optional<lease> held = co_await lock.acquire();
        crowd before;
        before.enter(lock, 3);
        const auto refused = co_await lock.try_acquire_for(50ms);
        BOOST_TEST(!refused.owns_lock());
        crowd after;
        after.enter(lock, 3);
        BOOST_TEST(locks.counters().queued == 6U);
        BOOST_TEST(locks.counters().attempts == 1U);
        held.reset();
        co_await before.done();
        co_await after.done();
    });
}

BOOST_AUTO_TEST_CASE(cancelled_waiters_leave_the_middle_of_the_queue) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x", patient(1000));
        std::optional<lease> held = co_await lock.acquire();
        crowd all;
        all.enter(lock, 100);
        for (std::size_t i = 0; i != 100; ++i) {
            if (i % 3 != 0) {
                all.members[i].waiting.signal.emit(asio::cancellation_type::terminal);
            }
        }
        BOOST_TEST(locks.counters().queued == 34U);
        BOOST_TEST(locks.counters().attempts == 1U);
        held.reset();
        co_await all.done();
        for (std::size_t i = 0; i != 100; ++i) {
            if (i % 3 != 0) {
                BOOST_TEST((all.members[i].waiting.result == aborted));
            } else {
                BOOST_TEST((all.members[i].place == i / 3));
            }
        }
        BOOST_TEST(locks.counters().attempts == 1U);
        BOOST_TEST(locks.counters().cancelled == 66U);
    });
}

// Cancels the operation that attempts to acquire the key, and waiters that have just become the next ones.
BOOST_AUTO_TEST_CASE(the_next_waiter_attempts_if_the_first_is_cancelled) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, patient_config(instances));
        lease held = co_await mutex(other, "x").acquire();
        client locks(executor, patient_config(instances));
        const mutex lock(locks, "x");
        crowd all;
        all.enter(lock, 5);
        for (std::size_t i = 0; i != 4; ++i) {
            const auto attempts = locks.counters().attempts;
            co_await async_wait_until([&] { return locks.counters().attempts > attempts; });
            all.members[i].waiting.signal.emit(asio::cancellation_type::terminal);
        }
        co_await held.release();
        co_await all.done();
        BOOST_TEST((all.members[4].place == 0U));
        BOOST_TEST(locks.counters().cancelled == 4U);
    }());
}

BOOST_AUTO_TEST_CASE(every_holder_has_a_larger_fence) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        client other(co_await asio::this_coro::executor, patient_config(instances));
        co_await all_ready(locks);
        lock_options options = patient(1000);
        options.fencing = true;
        std::vector<std::uint64_t> fences;
        const auto work = [&fences](mutex lock) -> asio::awaitable<void> {
            for (int i = 0; i != 10; ++i) {
                lease held = co_await lock.acquire();
                fences.push_back(held.fence());
                co_await held.release();
                BOOST_TEST(held.fence() <= fences.back());  // Its fence does not change.
            }
        };
        std::vector<std::shared_ptr<background>> workers;
        for (int i = 0; i != 40; ++i) {
            workers.push_back(
                co_await start(work(mutex(i % 4 == 0 ? other : locks, "x", options))));
        }
        co_await async_wait_until([&] {
            return std::all_of(workers.begin(), workers.end(),
                               [](const auto& w) { return w->done; });
        });
        BOOST_TEST(fences.size() == 400U);
        BOOST_TEST((std::adjacent_find(fences.begin(), fences.end(), std::greater_equal<>()) ==
                    fences.end()));
        BOOST_TEST(locks.counters().handed_off > 150U);
    });
}

/// The keys are deleted, and another client acquires the lock with a fence larger than any before.
BOOST_AUTO_TEST_CASE(a_fenced_lease_with_deleted_keys_is_not_handed_off) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        client others(co_await asio::this_coro::executor, patient_config(instances));
        lock_options options = patient(10);
        options.fencing = true;
        const mutex lock(locks, "x", options);
        lease first = co_await lock.acquire();
        std::array<pending_acquire, 2> waiting;
        for (pending_acquire& one : waiting) {
            one.start(lock);
        }
        co_await async_wait_until([&] { return locks.counters().queued == 2; });
        for (redis_server& server : instances) {
            server.command({"DEL", "x"});
        }
        lease theirs = co_await mutex(others, "x", options).acquire();
        BOOST_TEST(theirs.fence() > first.fence());
        const auto result = co_await first.release();
        BOOST_TEST((result == release_result::lost));
        BOOST_TEST(!waiting[0].granted.valid());
        const std::uint64_t theirs_was = theirs.fence();
        co_await theirs.release();
        co_await async_wait_until([&] { return waiting[0].granted.valid(); });
        BOOST_TEST(waiting[0].granted.fence() > theirs_was);
        const std::uint64_t before = waiting[0].granted.fence();
        co_await waiting[0].granted.release();
        co_await async_wait_until([&] { return waiting[1].granted.valid(); });
        BOOST_TEST(waiting[1].granted.fence() > before);
    });
}

/// The next waiter gives up while the servers advance the counter.
BOOST_AUTO_TEST_CASE(a_fenced_lease_is_released_if_the_next_waiter_cancels) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        lock_options options = patient(10);
        options.fencing = true;
        const mutex lock(locks, "x", options);
        lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        co_await async_wait_until([&] { return locks.counters().queued == 1; });
        std::optional<release_result> released;
        first.release([&](error, release_result result) { released = result; });
        second.signal.emit(asio::cancellation_type::all);
        co_await async_wait_until([&] { return released && second.result; });
        BOOST_TEST((*released == release_result::released));
        BOOST_TEST((second.result->code() == aborted));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_to_a_lock_with_other_options) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        lock_options longer = patient(1000);
        longer.ttl = 20s;
        const mutex other(locks, "x", longer);
        pending_acquire waiting;
        waiting.start(other);
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST(locks.counters().attempts == 2U);
        BOOST_TEST((waiting.granted.valid_until() > steady_clock::now() + 15s));
        // Equal options have the same effect as the same object.
        pending_acquire third;
        third.start(mutex(locks, "x", longer));
        co_await waiting.granted.release();
        co_await async_wait_until([&] { return third.granted.valid(); });
        BOOST_TEST(locks.counters().attempts == 2U);
    });
}

BOOST_AUTO_TEST_CASE(a_lease_extended_to_another_ttl_is_not_handed_off) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        for (const auto ttl : {20s, 5s}) {
            lease held = co_await lock.acquire();
            co_await held.extend(ttl);
            pending_acquire waiting;
            waiting.start(lock);
            const auto attempts = locks.counters().attempts;
            co_await held.release();
            co_await async_wait_until([&] { return waiting.granted.valid(); });
            BOOST_TEST(locks.counters().attempts == attempts + 1);
        }
        BOOST_TEST(locks.counters().handed_off == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_during_an_extension) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x");
        lease held = co_await lock.acquire();
        pending_acquire waiting;
        waiting.start(lock);
        std::optional<error> extended;
        held.extend(10s, [&](error e) { extended = e; });
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST(locks.counters().attempts == 2U);
        BOOST_TEST((extended && *extended == errc::not_held));
    });
}

BOOST_AUTO_TEST_CASE(a_lease_without_a_watchdog_is_not_handed_off) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x", without_watchdog(10s));
        lease held = co_await lock.acquire();
        pending_acquire waiting;
        waiting.start(lock);
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST(locks.counters().attempts == 2U);
        BOOST_TEST((waiting.granted.valid_until() > steady_clock::now() + 9s));
    });
}

BOOST_AUTO_TEST_CASE(a_lease_that_was_handed_off_counts_as_released) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x", patient(1000));
        lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        std::optional<error> watched;
        first.wait_lost([&](error e) { watched = e; });
        BOOST_TEST((co_await first.release() == release_result::released));
        co_await async_wait_until([&] { return second.granted.valid(); });
        BOOST_TEST(locks.counters().handed_off == 1U);

        BOOST_TEST(!first.valid());
        BOOST_TEST((first.valid_until() < steady_clock::now()));
        BOOST_TEST(!first.loss());
        BOOST_TEST((watched && *watched == errc::not_held));
        BOOST_TEST((co_await first.release() == release_result::released));
        error extended;
        first.extend(10s, [&](error e) { extended = e; });
        error watch_again;
        first.wait_lost([&](error e) { watch_again = e; });
        co_await async_wait_until([&] { return extended && watch_again; });
        BOOST_TEST((extended == errc::not_held));
        BOOST_TEST((watch_again == errc::not_held));
        { const lease gone = std::move(first); }

        BOOST_TEST(second.granted.valid());
        BOOST_TEST(locks.counters().held == 1U);
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        for (const redis_server& server : instances) {
            BOOST_TEST((server.command({"GET", "x"}) == std::string(second.granted.token())));
        }
        co_await second.granted.release();
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_watchdog_renews_a_lease_after_a_handoff) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        lock_options options = patient(1000);
        options.ttl = 3s;
        options.renew = 200ms;
        const mutex lock(locks, "x", options);
        lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        co_await first.release();
        co_await async_wait_until([&] { return second.granted.valid(); });
        BOOST_TEST(locks.counters().handed_off == 1U);
        const auto until = second.granted.valid_until();
        co_await renewed_more(locks, 2);
        BOOST_TEST((second.granted.valid_until() > until));
        BOOST_TEST((first.valid_until() < steady_clock::now()));

        std::optional<error> lost;
        second.granted.wait_lost([&](error e) { lost = e; });
        for (std::size_t i = 0; i != 3; ++i) {
            instances[i].command({"DEL", "x"});
        }
        co_await async_wait_until([&] { return lost.has_value(); });
        BOOST_TEST(!*lost);
        BOOST_TEST((second.granted.loss() == errc::lease_lost));
        BOOST_TEST(!first.loss());
    });
}

BOOST_AUTO_TEST_CASE(max_hold_restarts_at_a_handoff) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        lock_options options = patient(10);
        options.max_hold = 2s;
        const mutex lock(locks, "x", options);
        lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        const stopwatch held;
        co_await async_wait_until([&] { return held.elapsed() >= 500ms; });
        const stopwatch released;  // Started before the second acquires it.
        co_await first.release();
        co_await async_wait_until([&] { return second.granted.valid(); });
        co_await async_wait_until([&] { return bool(second.granted.loss()); });
        BOOST_TEST((released.elapsed() >= 1800ms));
        BOOST_TEST((second.granted.loss() == errc::max_hold_exceeded));
        BOOST_TEST(!first.loss());
    });
}

BOOST_AUTO_TEST_CASE(a_lost_lease_is_not_handed_off) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        const mutex lock(locks, "x", renewed_every(50ms, 2s));
        const lease first = co_await lock.acquire();
        pending_acquire second;
        second.start(lock);
        for (redis_server& server : instances) {
            server.command({"DEL", "x"});
        }
        co_await async_wait_until([&] { return second.granted.valid(); });
        BOOST_TEST((first.loss() == errc::lease_lost));
        BOOST_TEST(locks.counters().handed_off == 0U);
        BOOST_TEST(locks.counters().attempts == 2U);
        BOOST_TEST(second.granted.token() != first.token());
    });
}

BOOST_AUTO_TEST_CASE(other_clients_get_their_turn) {
    run_test(patient_config(instances), [&](client& many, client& one) -> asio::awaitable<void> {
        co_await all_ready(many);
        co_await all_ready(one);
        bool enough = false;
        const auto work = [](mutex lock, const bool& stop) -> asio::awaitable<void> {
            while (!stop) {
                co_await lock.acquire();
                co_await asio::post(asio::use_awaitable);
            }
        };
        std::vector<std::shared_ptr<background>> workers;
        for (int i = 0; i != 20; ++i) {
            workers.push_back(co_await start(work(mutex(many, "x"), enough)));
        }
        for (int i = 0; i != 5; ++i) {
            const auto granted = co_await mutex(one, "x").try_acquire_for(20s);
            BOOST_TEST(granted.owns_lock());
        }
        enough = true;
        co_await async_wait_until([&] {
            return std::all_of(workers.begin(), workers.end(),
                               [](const auto& w) { return w->done; });
        });
    });
}

BOOST_AUTO_TEST_CASE(without_a_quorum_waiters_fail_after_their_own_timeout) {
    run_test([&]() -> asio::awaitable<void> {
        servers own(3);
        client locks(co_await asio::this_coro::executor, own.config());
        co_await all_ready(locks);
        lock_options options;
        options.unavailable_timeout = 500ms;
        const mutex lock(locks, "x", options);
        own[0].kill();
        own[1].kill();
        co_await async_wait_until([&] { return ready_instances(locks) == 1; });
        const stopwatch waited;
        crowd all;
        all.enter(lock, 200);
        co_await all.done();
        BOOST_TEST((waited.elapsed() >= 450ms));
        BOOST_TEST((waited.elapsed() < 5s));
        for (const auto& one : all.members) {
            BOOST_TEST((*one.waiting.result == errc::no_quorum));
            // The first one has made no attempt. Once its time is over, the next one makes a single one.
            for (const std::size_t i : {0U, 1U}) {
                BOOST_TEST(contains(one.waiting.result->details(),
                                    own[i].uri() + ": down, Connection refused"),
                           one.waiting.result->details());
            }
        }
        // The later waiter waits for its own timeout.
        crowd first;
        first.enter(lock, 1);
        const stopwatch between;
        co_await async_wait_until([&] { return between.elapsed() >= 250ms; });
        const stopwatch waited_second;
        crowd second;
        second.enter(lock, 1);
        co_await first.done();
        BOOST_TEST(!second.members[0].waiting.result.has_value());
        co_await second.done();
        BOOST_TEST((waited_second.elapsed() >= 450ms));
        BOOST_TEST((*second.members[0].waiting.result == errc::no_quorum));
    }());
}

BOOST_AUTO_TEST_CASE(all_waiters_acquire_when_the_servers_are_back) {
    run_test([&]() -> asio::awaitable<void> {
        servers own(3);
        client locks(co_await asio::this_coro::executor, own.config());
        co_await all_ready(locks);
        lock_options options;
        options.unavailable_timeout = 1min;
        own[0].kill();
        own[1].kill();
        co_await async_wait_until([&] { return ready_instances(locks) == 1; });
        crowd all;
        all.enter(mutex(locks, "x", options), 100);
        co_await async_wait_until([&] { return locks.counters().acquiring == 100; });
        own[0].restart();
        co_await all.done();
        BOOST_TEST(all.served == 100U);
    }());
}

BOOST_AUTO_TEST_CASE(closing_fails_all_waiters) {
    run_test(patient_config(instances), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        const mutex lock(locks, "x");
        lease held = co_await lock.acquire();
        held.wait_lost([&](error) { lease(std::move(held)); });  // As a holder would react.
        crowd all;
        all.enter(lock, 1000);
        crowd attempting;
        attempting.enter(mutex(locks, "y"), 1000);
        co_await locks.close();
        co_await all.done();
        co_await attempting.done();
        for (const crowd* some : {&all, &attempting}) {
            for (const auto& one : some->members) {
                BOOST_TEST((*one.waiting.result == errc::client_closed));
            }
        }
        BOOST_TEST(locks.counters().lost == 1U);
        BOOST_TEST(locks.counters().queued == 0U);
        BOOST_TEST(locks.counters().acquiring == 0U);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_context_may_be_destroyed_while_waiters_are_queued) {
    auto context = std::make_unique<asio::io_context>();
    lease held;
    crowd all;
    {
        client locks(*context, patient_config(instances));
        const mutex lock(locks, "x");
        lock.acquire([&](error, lease l) {
            held = std::move(l);
            all.enter(lock, 50);
            context->stop();
        });
        context->run();
    }
    context.reset();
    held = {};
    BOOST_TEST(all.served == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
