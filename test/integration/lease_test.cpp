#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

// What a holder can do with a lease, and what happens to it.

namespace {

using namespace colock;
using namespace colock::test;

/// Waits until the lease is lost; says how much of its validity was left then.
asio::awaitable<steady_clock::duration> left_at_loss(lease& held) {
    lease::time_point valid_until{};
    std::optional<steady_clock::time_point> lost;
    held.wait_lost([&](error e) {
        BOOST_TEST(!e, e.message());
        lost = steady_clock::now();
    });
    co_await async_wait_until([&] {
        if (held.valid()) {  // renewals move it; the last value before the loss is the one
            valid_until = held.valid_until();
        }
        return lost.has_value();
    });
    co_return valid_until - *lost;
}

BOOST_FIXTURE_TEST_SUITE(lease_test, shared_servers<5>)

BOOST_AUTO_TEST_CASE(an_empty_lease) {
    lease nothing;
    BOOST_TEST(!nothing.valid());
    BOOST_TEST(nothing.resource().empty());
    BOOST_TEST(nothing.token().empty());
    BOOST_TEST((nothing.valid_until() == lease::time_point::min()));
    BOOST_TEST(!nothing.loss());
    lease another = std::move(nothing);
    nothing = std::move(another);
}

BOOST_AUTO_TEST_CASE(extend_to_a_longer_ttl) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(5s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        co_await held.extend(60s);
        BOOST_TEST((held.valid_until() > steady_clock::now() + 55s));
        co_await async_wait_until([&] {
            return std::all_of(instances.begin(), instances.end(),
                               [](const redis_server& s) { return pttl(s, "x") > 55s; });
        });
    }());
}

BOOST_AUTO_TEST_CASE(extend_to_a_shorter_ttl_which_the_watchdog_keeps_to) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(60s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        co_await held.extend(600ms);
        BOOST_TEST((held.valid_until() <= steady_clock::now() + 600ms));
        co_await async_wait_until([&] { return locks.counters().renewed >= 8; });
        BOOST_TEST(held.valid());
        BOOST_TEST((held.valid_until() <= steady_clock::now() + 600ms));
        // The keys are not cut short.
        BOOST_TEST(std::all_of(instances.begin(), instances.end(),
                               [](const redis_server& s) { return pttl(s, "x") > 50s; }));
    }());
}

BOOST_AUTO_TEST_CASE(extend_without_a_watchdog) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x", without_watchdog(500ms)).acquire();
        for (int i = 0; i != 3; ++i) {
            co_await held.extend(500ms);
        }
        BOOST_TEST(held.valid());
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_expired));
        const auto [e] = co_await held.extend(500ms, asio::as_tuple);
        BOOST_TEST((e == errc::lease_expired));
    }());
}

BOOST_AUTO_TEST_CASE(several_extends_at_once_are_done_in_order) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        std::string order;
        held.extend(10s, [&](error e) { order += e ? "!" : "a"; });
        held.extend(20s, [&](error e) { order += e ? "!" : "b"; });
        held.extend(90s, [&](error e) { order += e ? "!" : "c"; });
        co_await async_wait_until([&] { return order.size() == 3; });
        BOOST_TEST(order == "abc");
        BOOST_TEST((held.valid_until() > steady_clock::now() + 80s));
    }());
}

BOOST_AUTO_TEST_CASE(a_ttl_that_cannot_be) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x").acquire();
        for (const milliseconds ttl : {0ms, -1ms, 9ms, milliseconds(24h) + 1ms}) {
            BOOST_CHECK_THROW(held.extend(ttl), config_error);
        }
        BOOST_TEST(held.valid());
    }());
}

BOOST_AUTO_TEST_CASE(extend_after_release) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x").acquire();
        co_await held.release();
        const auto [e] = co_await held.extend(10s, asio::as_tuple);
        BOOST_TEST((e == errc::not_held));
        BOOST_TEST(e.details().find("x") != std::string::npos);
        const auto [wait_error] = co_await held.wait_lost(asio::as_tuple);
        BOOST_TEST((wait_error == errc::not_held));
        BOOST_TEST(!held.loss());
    }());
}

BOOST_AUTO_TEST_CASE(an_extend_under_way_when_released) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        error extended;
        held.extend(20s, [&](error e) { extended = e; });
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        BOOST_TEST((extended == errc::not_held));
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(release_is_idempotent) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x").acquire();
        for (int i = 0; i != 3; ++i) {
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            BOOST_TEST(!held.valid());
            BOOST_TEST(!held.loss());
        }
        // At once, too.
        held = co_await mutex(locks, "x").acquire();
        int released = 0;
        for (int i = 0; i != 3; ++i) {
            held.release([&](error e, release_result result) {
                released += !e && result == release_result::released ? 1 : 0;
            });
        }
        co_await async_wait_until([&] { return released == 3; });
        BOOST_TEST(locks.counters().released == 2U);
    }());
}

BOOST_AUTO_TEST_CASE(release_after_the_keys_were_deleted) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x").acquire();
        instances.flush();
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::lost));
    }());
}

BOOST_AUTO_TEST_CASE(release_leaves_the_successors_keys_alone) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        for (auto& server : instances) {
            server.command({"SET", "x", "successor"});
        }
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::lost));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 5U);
    }());
}

BOOST_AUTO_TEST_CASE(release_after_the_ttl_has_run_out) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x", without_watchdog(200ms)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        const stopwatch prompt;
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST(!e, e.message());
        BOOST_TEST((result == release_result::expired));
        BOOST_TEST((prompt.elapsed() < 2s));
        BOOST_TEST((held.loss() == errc::lease_expired));
        BOOST_TEST((held.loss() == condition::lost));
        BOOST_TEST(locks.counters().lost == 1U);
    }());
}

/// The program hangs while the ttl runs out: the watchdog had no chance to say so.
BOOST_AUTO_TEST_CASE(release_after_the_program_was_late) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x", with_ttl(100ms)).acquire();
        wait_until([&] { return instances.holding("x") == 0; });  // blocks the whole context
        BOOST_TEST(!held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::expired));
    }());
}

/// Each server is named, with what became of it.
void expect_all_named(const error& e, servers& gone) {
    for (const redis_server& server : gone) {
        BOOST_TEST(e.details().find(std::to_string(server.port())) != std::string::npos,
                   e.message());
    }
    BOOST_TEST(e.details().find("0 of 3 instances granted, 2 needed") != std::string::npos,
               e.message());
}

BOOST_AUTO_TEST_CASE(release_with_all_servers_gone) {
    run_test([&]() -> asio::awaitable<void> {
        servers gone(3);
        client locks(co_await asio::this_coro::executor, gone.config());
        lease held = co_await mutex(locks, "x", with_ttl(2s)).acquire();
        for (auto& server : gone) {
            server.kill();
        }
        const auto [not_extended] = co_await held.extend(20s, asio::as_tuple);
        BOOST_TEST((not_extended == errc::no_quorum));
        expect_all_named(not_extended, gone);
        const stopwatch bounded;
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        expect_all_named(e, gone);
        BOOST_TEST((bounded.elapsed() < 2s));
    }());
}

BOOST_AUTO_TEST_CASE(moving) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease first = co_await mutex(locks, "x").acquire();
        const std::string token(first.token());
        lease second = std::move(first);
        BOOST_TEST(!first.valid());  // NOLINT(*-use-after-move)
        BOOST_TEST(second.valid());
        BOOST_TEST(second.token() == token);
        second = std::move(second);  // NOLINT(*-self-move): on purpose
        BOOST_TEST(second.valid());
        const auto [e, result] = co_await first.release(asio::as_tuple);
        BOOST_TEST((e == errc::not_held));
        BOOST_TEST(locks.counters().held == 1U);
    }());
}

BOOST_AUTO_TEST_CASE(assigning_over_a_held_lease_releases_it) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x").acquire();
        held = co_await mutex(locks, "y").acquire();
        BOOST_TEST(held.resource() == "y");
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        BOOST_TEST(held.valid());
        BOOST_TEST(instances.holding("y") >= 3U);
    }());
}

BOOST_AUTO_TEST_CASE(the_destructor_hands_the_release_over) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        {
            const lease held = co_await mutex(locks, "x").acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
        }
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        co_await settled(locks);
        BOOST_TEST(locks.counters().released == 1U);
    }());
}

BOOST_AUTO_TEST_CASE(an_operation_may_outlive_its_lease) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        std::optional<lease> held = co_await mutex(locks, "x").acquire();
        std::optional<error> waited;
        std::optional<release_result> released;
        held->wait_lost([&](error e) { waited = e; });
        held->release([&](error, release_result result) { released = result; });
        held.reset();
        co_await async_wait_until([&] { return released.has_value(); });
        BOOST_TEST((*released == release_result::released));
        BOOST_TEST_REQUIRE(waited.has_value());
        BOOST_TEST((*waited == errc::not_held));
    }());
}

BOOST_AUTO_TEST_CASE(keys_deleted_on_a_majority_are_a_loss) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        for (const std::size_t i : {0U, 1U, 2U}) {
            instances[i].flush();
        }
        const auto left = co_await left_at_loss(held);
        BOOST_TEST((left > 0ms));
        const error loss = held.loss();
        BOOST_TEST((loss == errc::lease_lost));
        BOOST_TEST(loss.details().find("no such key") != std::string::npos, loss.message());
        BOOST_TEST(!held.valid());
        // The keys that are left go too, and none comes back.
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::lost));
        const auto [e] = co_await held.extend(1s, asio::as_tuple);
        BOOST_TEST((e == errc::lease_lost));
        const auto [again] = co_await held.wait_lost(asio::as_tuple);
        BOOST_TEST(!again);
        BOOST_TEST(locks.counters().lost == 1U);
        BOOST_TEST(locks.counters().released == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(keys_deleted_on_a_minority_are_healed) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        instances[1].flush();
        instances[4].flush();
        co_await async_wait_until([&] { return locks.counters().healed == 2; });
        BOOST_TEST(instances.holding("x") == 5U);
        BOOST_TEST(held.valid());
        BOOST_TEST(!held.loss());
        BOOST_TEST(instances[1].command({"GET", "x"}).value() == held.token());
        BOOST_TEST((pttl(instances[1], "x").value() <= 1s));
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(a_minority_that_somebody_else_took_is_left_to_him) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(2s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        instances[2].command({"SET", "x", "somebody else"});
        co_await renewed_more(locks, 3);
        BOOST_TEST(held.valid());
        co_await held.release();
        co_await settled(locks);
        BOOST_TEST(instances[2].command({"GET", "x"}).value() == "somebody else");
        BOOST_TEST(instances.holding("x") == 1U);
    }());
}

BOOST_AUTO_TEST_CASE(max_hold_ends_a_lease_whose_holder_never_lets_go) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lock_options options = with_ttl(1s);
        options.max_hold = 1500ms;
        const stopwatch held_for;
        lease held = co_await mutex(locks, "x", options).acquire();
        const auto left = co_await left_at_loss(held);
        BOOST_TEST((left > 0ms));
        BOOST_TEST((held_for.elapsed() >= 1400ms));
        BOOST_TEST((held_for.elapsed() < 4s));
        BOOST_TEST((held.loss() == errc::max_hold_exceeded));
        BOOST_TEST((held.loss() == condition::lost));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        BOOST_TEST(locks.counters().renewed >= 3U);
    }());
}

BOOST_AUTO_TEST_CASE(without_a_watchdog_it_expires_a_little_before_the_end) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x", without_watchdog(4s)).acquire();
        const auto left = co_await left_at_loss(held);
        BOOST_TEST((left > 0ms));
        BOOST_TEST((left <= 200ms));
        BOOST_TEST((held.loss() == errc::lease_expired));
        BOOST_TEST(locks.counters().renewed == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(several_wait_for_the_loss) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lease held = co_await mutex(locks, "x", without_watchdog(200ms)).acquire();
        int told = 0;
        for (int i = 0; i != 3; ++i) {
            held.wait_lost([&](error e) { told += e ? 0 : 1; });
        }
        co_await async_wait_until([&] { return told == 3; });
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
