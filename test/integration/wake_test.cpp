// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>

// A client that waits for another client's lock is woken when the lock may be free, long before its next
// poll.

namespace {

BOOST_AUTO_TEST_SUITE(wake_test)

using namespace colock;
using namespace colock::test;

struct scene : shared_servers<5> {
    client other;
    client locks;

    explicit scene(const asio::any_io_executor& executor)
        : other(executor, instances.config()), locks(executor, instances.config()) {}

    /// Waits until `times` attempts were denied and no command is pending.
    asio::awaitable<void> refused(std::uint64_t times = 1) const {
        co_await async_wait_until(
            [this, times] { return locks.counters().contended >= times && idle(locks); });
    }

    /// Begins an acquire of a lock whose keys were written by hand, and waits until it is denied.
    asio::awaitable<void> wait_for_foreign_keys(pending_acquire& waiting) {
        for (const redis_server& server : instances) {
            hold_by_hand(server, "x", 1min);
        }
        waiting.start(mutex(locks, "x", patient()));
        co_await refused();
    }
};

template <typename Test>
void run_scene(Test test) {
    run_test([](Test body) -> asio::awaitable<void> {
        scene s(co_await asio::this_coro::executor);
        co_await all_ready(s.locks);
        co_await body(s);
    }(test));
}

BOOST_AUTO_TEST_CASE(a_release_wakes_a_waiter) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        co_await all_ready(s.other);
        lease held = co_await mutex(s.other, "x", patient()).acquire();
        co_await async_wait_until([&] { return s.instances.holding("x") == s.instances.size(); });
        pending_acquire waiting;
        waiting.start(mutex(s.locks, "x", patient()));
        co_await s.refused();
        const stopwatch waited;
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST((waited.elapsed() < soon));
        BOOST_TEST(s.locks.counters().attempts == 2U);
    });
}

BOOST_AUTO_TEST_CASE(a_manual_delete_of_the_keys_wakes_a_waiter) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        pending_acquire waiting;
        co_await s.wait_for_foreign_keys(waiting);
        // Two deletions are too few for a quorum. The first notification nevertheless triggers an attempt.
        s.instances[0].command({"DEL", "x"});
        s.instances[3].command({"DEL", "x"});
        const stopwatch waited;
        co_await async_wait_until([&] { return waited.elapsed() > 200ms; });
        const std::uint64_t in_vain = s.locks.counters().attempts;
        BOOST_TEST(in_vain <= 2U);
        s.instances[4].command({"DEL", "x"});
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST((waited.elapsed() < soon));
        BOOST_TEST(s.locks.counters().attempts == in_vain + 1);
    });
}

BOOST_AUTO_TEST_CASE(a_flush_wakes_a_waiter) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        pending_acquire waiting;
        co_await s.wait_for_foreign_keys(waiting);
        const stopwatch waited;
        s.instances.flush();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST((waited.elapsed() < soon));
    });
}

BOOST_AUTO_TEST_CASE(renewal_wakes_waiter_without_effect_and_release_wakes_it_again) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        lock_options renewed = patient();
        renewed.renew = 100ms;
        lease held = co_await mutex(s.other, "x", renewed).acquire();
        pending_acquire waiting;
        waiting.start(mutex(s.locks, "x", patient()));
        co_await s.refused(3);
        BOOST_TEST(held.valid());
        const stopwatch waited;
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
        BOOST_TEST((waited.elapsed() < soon));
    });
}

BOOST_AUTO_TEST_CASE(the_next_waiter_is_woken_when_the_first_has_left) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        lease held = co_await mutex(s.other, "x", patient()).acquire();
        pending_acquire first;
        first.start(mutex(s.locks, "x", patient()));
        pending_acquire second;
        second.start(mutex(s.locks, "x", patient()));
        co_await s.refused();
        first.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return first.result.has_value(); });
        const stopwatch waited;
        co_await held.release();
        co_await async_wait_until([&] { return second.granted.valid(); });
        BOOST_TEST((waited.elapsed() < soon));
    });
}

BOOST_AUTO_TEST_CASE(a_waiter_polls_without_client_tracking) {
    run_test([]() -> asio::awaitable<void> {
        servers one(1);
        one[0].command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-client|tracking"});
        config deaf = one.config();
        deaf.instances = {"redis://ann:x@127.0.0.1:" + std::to_string(one[0].port())};
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, one.config());
        client locks(executor, deaf);
        lease held = co_await mutex(other, "x").acquire();
        pending_acquire waiting;
        waiting.start(mutex(locks, "x"));
        co_await async_wait_until([&] { return locks.counters().contended >= 3; });
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
