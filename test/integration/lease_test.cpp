// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/contains.hpp"
#include "support/field_refused.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// The operations of a lease, and how it ends.

namespace {

BOOST_FIXTURE_TEST_SUITE(lease_test, colock::test::shared_servers<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

BOOST_AUTO_TEST_CASE(an_empty_lease_is_invalid_and_has_no_resource) {
    lease nothing;
    BOOST_TEST(!nothing.valid());
    BOOST_TEST(nothing.resource().empty());
    BOOST_TEST(nothing.token().empty());
    BOOST_TEST(!nothing.is_shared());
    BOOST_TEST((nothing.valid_until() == lease::time_point::min()));
    BOOST_TEST(!nothing.loss());
    lease another = std::move(nothing);
    nothing = std::move(another);
}

BOOST_AUTO_TEST_CASE(extend_to_a_longer_ttl_prolongs_validity_and_keys) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(5s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        co_await held.extend(60s);
        BOOST_TEST((held.valid_until() > steady_clock::now() + 55s));
        co_await async_wait_until([&] {
            return std::all_of(instances.begin(), instances.end(),
                               [](const redis_server& s) { return pttl(s, "x") > 55s; });
        });
    });
}

BOOST_AUTO_TEST_CASE(the_watchdog_keeps_to_an_extension_with_a_shorter_ttl) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(60s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        co_await held.extend(600ms);
        BOOST_TEST((held.valid_until() <= steady_clock::now() + 600ms));
        co_await async_wait_until([&] { return locks.counters().renewed >= 8; });
        BOOST_TEST(held.valid());
        BOOST_TEST((held.valid_until() <= steady_clock::now() + 600ms));
        // The keys keep their longer ttl.
        BOOST_TEST(std::all_of(instances.begin(), instances.end(),
                               [](const redis_server& s) { return pttl(s, "x") > 50s; }));
    });
}

BOOST_AUTO_TEST_CASE(extend_prolongs_a_lease_without_watchdog_until_it_expires) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x", without_watchdog(500ms)).acquire();
        for (int i = 0; i != 3; ++i) {
            co_await held.extend(500ms);
        }
        BOOST_TEST(held.valid());
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_expired));
        const auto [e] = co_await held.extend(500ms, asio::as_tuple);
        BOOST_TEST((e == errc::lease_expired));
    });
}

BOOST_AUTO_TEST_CASE(concurrent_extends_complete_in_order) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        std::string order;
        held.extend(10s, [&](error e) { order += e ? "!" : "a"; });
        held.extend(20s, [&](error e) { order += e ? "!" : "b"; });
        held.extend(90s, [&](error e) { order += e ? "!" : "c"; });
        co_await async_wait_until([&] { return order.size() == 3; });
        BOOST_TEST(order == "abc");
        BOOST_TEST((held.valid_until() > steady_clock::now() + 80s));
    });
}

BOOST_AUTO_TEST_CASE(a_ttl_out_of_bounds_is_refused, *label("fault-35")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        for (const milliseconds ttl :
             {0ms, -1ms, 1ms, 9ms, milliseconds(24h) + 1ms, milliseconds::max()}) {
            const auto [refused] = co_await held.extend(ttl, asio::as_tuple);
            BOOST_TEST((refused == errc::invalid_argument));
            BOOST_TEST(refused.details().find("'x': ttl: ") == 0U, refused.message());
        }
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_CASE(extend_and_wait_lost_after_release_fail_with_not_held) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        co_await held.release();
        const auto [e] = co_await held.extend(10s, asio::as_tuple);
        BOOST_TEST((e == errc::not_held));
        BOOST_TEST(e.details().find("x") != std::string::npos);
        const auto [wait_error] = co_await held.wait_lost(asio::as_tuple);
        BOOST_TEST((wait_error == errc::not_held));
        BOOST_TEST(!held.loss());
    });
}

BOOST_AUTO_TEST_CASE(a_release_ends_an_extension_that_is_under_way) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        error extended;
        held.extend(20s, [&](error e) { extended = e; });
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
        BOOST_TEST((extended == errc::not_held));
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(release_is_idempotent) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        for (int i = 0; i != 3; ++i) {
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            BOOST_TEST(!held.valid());
            BOOST_TEST(!held.loss());
        }
        // Also when several releases are pending together.
        held = co_await mutex(locks, "x").acquire();
        int released = 0;
        for (int i = 0; i != 3; ++i) {
            held.release([&](error e, release_result result) {
                released += !e && result == release_result::released ? 1 : 0;
            });
        }
        co_await async_wait_until([&] { return released == 3; });
        BOOST_TEST(locks.counters().released == 2U);
    });
}

BOOST_AUTO_TEST_CASE(release_reports_lost_if_the_keys_were_deleted) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        instances.flush();
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::lost));
    });
}

BOOST_AUTO_TEST_CASE(release_leaves_the_successors_keys_alone) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
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
    });
}

/// The release completes promptly, with a result of its own, whether the servers are reachable or not.
BOOST_AUTO_TEST_CASE(release_of_an_expired_lease_reports_expired_promptly, *label("fault-16")) {
    servers three(3);
    enum class keys { still_there, expired, unreachable };
    for (const keys state : {keys::still_there, keys::expired, keys::unreachable}) {
        run_test(three.config(), [&](client& locks) -> asio::awaitable<void> {
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", without_watchdog(300ms)).acquire();
            if (state == keys::unreachable) {
                three[0].kill();
                three[1].pause();
                three[2].pause();
            }
            co_await held.wait_lost();
            BOOST_TEST(!held.valid());
            if (state == keys::expired) {
                co_await async_wait_until([&] { return three.holding("x") == 0; });
            }
            const stopwatch prompt;
            // This overload throws on an error.
            const release_result result = co_await held.release();
            BOOST_TEST((result == release_result::expired), to_string(result));
            BOOST_TEST((prompt.elapsed() < 1s));
            BOOST_TEST((held.loss() == errc::lease_expired));
            BOOST_TEST((held.loss() == condition::lost));
            BOOST_TEST(locks.counters().lost == 1U);
            const release_result again = co_await held.release();
            BOOST_TEST((again == release_result::expired), to_string(again));
        });
    }
}

/// The program stalls until the ttl is over, so the client has not yet detected the end.
BOOST_AUTO_TEST_CASE(release_after_a_blocked_event_loop_reports_expired, *label("fault-16")) {
    for (const lock_options& options : {without_watchdog(200ms), with_ttl(200ms)}) {
        run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", options).acquire();
            // No other handler runs in this loop.
            wait_until([&] { return instances.holding("x") == 0; });
            BOOST_TEST(!held.valid());
            const stopwatch prompt;
            const auto [e, result] = co_await held.release(asio::as_tuple);
            BOOST_TEST(!e, e.message());
            BOOST_TEST((result == release_result::expired), to_string(result));
            BOOST_TEST((prompt.elapsed() < 1s));
        });
    }
}

/// Checks that the error names each server and its failure.
void expect_all_named(const error& e, servers& gone) {
    for (const redis_server& server : gone) {
        BOOST_TEST(e.details().find(std::to_string(server.port())) != std::string::npos,
                   e.message());
    }
    BOOST_TEST(e.details().find("0 of 3 instances confirmed, 2 required") != std::string::npos,
               e.message());
}

BOOST_AUTO_TEST_CASE(a_release_after_the_end_of_close_says_that_the_client_was_closed,
                     *label("fault-125")) {
    run_test([&]() -> asio::awaitable<void> {
        config of = instances.config();
        of.close_timeout = 50ms;
        client locks(co_await asio::this_coro::executor, of);
        lease held = co_await mutex(locks, "x").acquire();
        co_await locks.close();
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST((e == errc::client_closed));
        BOOST_TEST(e.message().find("'x': the client was closed before the release was sent") !=
                       std::string::npos,
                   e.message());
        instances.flush();
    }());
}

/// Its keys are gone, so the end of the client changes nothing.
BOOST_AUTO_TEST_CASE(a_lost_lease_has_the_same_result_after_the_end_of_close) {
    run_test([&]() -> asio::awaitable<void> {
        config of = instances.config();
        of.close_timeout = 50ms;
        client locks(co_await asio::this_coro::executor, of);
        lease held = co_await mutex(locks, "x", renewed_every(50ms, 1min)).acquire();
        instances.flush();
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_lost));
        co_await locks.close(asio::as_tuple);
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST(!e, e.message());
        BOOST_TEST((result == release_result::expired));
    }());
}

BOOST_AUTO_TEST_CASE(extend_and_release_fail_with_no_quorum_without_servers) {
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

BOOST_AUTO_TEST_CASE(a_release_waits_for_a_server_that_stands_still_for_a_moment,
                     *label("fault-139")) {
    run_test([&]() -> asio::awaitable<void> {
        redis_server one;
        config of;
        of.instances = {one.uri()};
        of.instance_timeout = 1s;
        of.silence_timeout = 1min;
        client locks(co_await asio::this_coro::executor, of);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        one.pause();
        const stopwatch standstill;
        std::optional<error> told;
        held.release([&](error e, release_result) { told = e; });
        co_await async_wait_until(
            [&] { return standstill.elapsed() > of.instance_timeout * 3 / 2; });
        BOOST_TEST(!told.has_value());
        one.resume();
        co_await async_wait_until([&] { return told.has_value(); });
        BOOST_TEST(!*told, told->message());
        BOOST_TEST(!one.has("x"));
    }());
}

/// Its handlers run on the executor of the client, not on a thread of their own.
BOOST_AUTO_TEST_CASE(a_lease_that_was_moved_from_keeps_its_executor) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, instances.config());
        const shared_mutex guard(locks, "guarded");
        lease held = co_await mutex(locks, "x").acquire();
        lease now = std::move(held);
        const lease latest = std::move(now);
        now = lease();
        int completed = 0;
        const auto count = [&, expected = errc::not_held, here = std::this_thread::get_id()](
                               const error& e, const auto&...) {
            BOOST_TEST((std::this_thread::get_id() == here));
            BOOST_TEST((e == expected), e.message());
            ++completed;
        };
        // NOLINTBEGIN(bugprone-use-after-move): what it is about
        BOOST_TEST((held.get_executor() == executor));
        held.release(count);
        held.extend(10s, count);
        held.wait_lost(count);
        guard.downgrade(held, count);
        guard.share(now, count);
        BOOST_TEST(completed == 0);
        co_await async_wait_until([&] { return completed == 5; });
        BOOST_TEST(latest.valid());
        // NOLINTEND(bugprone-use-after-move)
    }());
}

BOOST_AUTO_TEST_CASE(a_lease_can_be_moved) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
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
    });
}

BOOST_AUTO_TEST_CASE(assigning_over_a_held_lease_releases_it) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        held = co_await mutex(locks, "y").acquire();
        BOOST_TEST(held.resource() == "y");
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        BOOST_TEST(held.valid());
        BOOST_TEST(instances.holding("y") >= 3U);
    });
}

BOOST_AUTO_TEST_CASE(the_destructor_releases_in_the_background) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        {
            const lease held = co_await mutex(locks, "x").acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
        }
        co_await async_wait_until([&] { return instances.holding("x") == 0; });
        co_await settled(locks);
        BOOST_TEST(locks.counters().released == 1U);
    });
}

BOOST_AUTO_TEST_CASE(an_operation_may_outlive_its_lease) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
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
    });
}

/// A third party deletes all keys, or only the key of this lock.
const std::vector<std::vector<std::string>> deletions{{"FLUSHALL"}, {"DEL", "x"}};

/// The loss is reported long before the ttl is over, and the keys are not created again.
BOOST_AUTO_TEST_CASE(deleting_the_keys_on_a_majority_loses_the_lease, *label("fault-25")) {
    for (const auto& deletion : deletions) {
        run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease held = co_await mutex(locks, "x", renewed_every(50ms, 5s)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (const std::size_t i : {1U, 2U, 3U}) {
                instances[i].command(deletion);
            }
            const told_of_loss told = co_await told_when_lost(held);
            BOOST_TEST((told.left() > 1s));
            const error loss = held.loss();
            BOOST_TEST((loss == errc::lease_lost));
            BOOST_TEST(loss.details().find("no such key") != std::string::npos, loss.message());
            BOOST_TEST(!held.valid());
            // The remaining keys are deleted as well.
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(locks.counters().healed == 0U);
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::lost), to_string(result));
            const auto [e] = co_await held.extend(1s, asio::as_tuple);
            BOOST_TEST((e == errc::lease_lost));
            const auto [again] = co_await held.wait_lost(asio::as_tuple);
            BOOST_TEST(!again);
            BOOST_TEST(locks.counters().lost == 1U);
            BOOST_TEST(locks.counters().released == 0U);
            const auto next = co_await mutex(others, "x").try_acquire();
            BOOST_TEST(next.owns_lock());
        });
    }
}

/// The watchdog restores the key on the minority. No other client acquires the lock in between.
BOOST_AUTO_TEST_CASE(keys_deleted_on_a_minority_are_restored, *label("fault-25")) {
    for (const auto& deletion : deletions) {
        run_test([&]() -> asio::awaitable<void> {
            constexpr milliseconds ttl = 10s;
            client locks(co_await asio::this_coro::executor, instances.config());
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease held = co_await mutex(locks, "x", renewed_every(50ms, ttl)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (int i = 0; i != 5; ++i) {
                const auto healed = locks.counters().healed;
                instances[0].command(deletion);
                instances[4].command(deletion);
                const auto refused = co_await mutex(others, "x").try_acquire();
                BOOST_TEST(!refused.owns_lock());
                co_await async_wait_until([&] { return locks.counters().healed >= healed + 2; });
                BOOST_TEST(instances.holding("x") == 5U);
                for (const std::size_t one : {0U, 4U}) {
                    BOOST_TEST(instances[one].command({"GET", "x"}).value() == held.token());
                    BOOST_TEST((pttl(instances[one], "x").value() <= ttl));
                }
            }
            BOOST_TEST(held.valid());
            BOOST_TEST(!held.loss());
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
        }());
    }
}

BOOST_AUTO_TEST_CASE(another_holders_key_on_a_minority_is_left_alone) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
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
    });
}

BOOST_AUTO_TEST_CASE(max_hold_ends_a_lease_that_is_never_released, *label("fault-17")) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lock_options options = with_ttl(1s);
        options.max_hold = 1500ms;
        const stopwatch held_for;
        lease held = co_await mutex(locks, "x", options).acquire();
        const told_of_loss told = co_await told_when_lost(held);
        BOOST_TEST(told.in_time());
        BOOST_TEST((held_for.elapsed() >= 1400ms));
        BOOST_TEST((held_for.elapsed() < 4s));
        BOOST_TEST((held.loss() == errc::max_hold_exceeded));
        BOOST_TEST((held.loss() == condition::lost));
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        BOOST_TEST(locks.counters().renewed >= 3U);
        // It succeeds although `held` still exists.
        const lease next = co_await mutex(locks, "x").acquire();
        BOOST_TEST(next.valid());
        BOOST_TEST(!held.valid());
    });
}

BOOST_AUTO_TEST_CASE(a_lease_without_a_watchdog_expires_shortly_before_its_end) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x", without_watchdog(4s)).acquire();
        const told_of_loss told = co_await told_when_lost(held);
        BOOST_TEST(told.in_time());
        BOOST_TEST((told.left() <= 200ms));
        BOOST_TEST((held.loss() == errc::lease_expired));
        BOOST_TEST(locks.counters().renewed == 0U);
    });
}

BOOST_AUTO_TEST_CASE(the_keys_of_an_abandoned_lease_end_with_their_ttl) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        client rival(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const mutex m(locks, "x", renewed_every(100ms, 2s));
        lease held = co_await m.acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        co_await renewed_more(locks, 1);
        error not_lost;
        bool told = false;
        held.wait_lost([&](error e) {
            not_lost = std::move(e);
            told = true;
        });
        // The validity counts from before the last renewal, so the keys live a little longer.
        const auto free_at = held.valid_until();
        held.abandon();
        BOOST_TEST(!held.valid());
        BOOST_TEST(!held.loss());
        BOOST_TEST(held.token().empty());
        const auto [e, result] = co_await held.release(asio::as_tuple);
        BOOST_TEST((e == errc::not_held));
        co_await async_wait_until([&] { return told; });
        BOOST_TEST((not_lost == errc::not_held));
        BOOST_TEST(locks.counters().held == 0U);
        BOOST_TEST(locks.counters().abandoned == 1U);
        const std::uint64_t renewed = locks.counters().renewed;

        // No other client acquires the lock before that.
        const auto none = co_await mutex(rival, "x").try_acquire();
        BOOST_TEST((!none || steady_clock::now() >= free_at));
        // An error of this client says that it may wait for itself.
        lock_options once = renewed_every(100ms, 2s);
        once.retry.attempts = 1;
        const auto [denied, no_lease] =
            co_await mutex(locks, "x", once).acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(
            (steady_clock::now() >= free_at ||
             contains(denied.details(), "perhaps by a lease that this client has abandoned")),
            denied.details());
        const lease next = co_await m.acquire();
        BOOST_TEST((steady_clock::now() >= free_at));
        BOOST_TEST(next.valid());
        BOOST_TEST(locks.counters().released == 0U);
        BOOST_TEST(locks.counters().handed_off == 0U);
        BOOST_TEST(locks.counters().renewed <= renewed + 1);  // The renewal of the next lease.
    });
}

BOOST_AUTO_TEST_CASE(close_leaves_the_keys_of_an_abandoned_lease) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1min)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        held.abandon();
        held.abandon();  // A second call has no effect.
        co_await locks.close();
        BOOST_TEST(instances.holding("x") == 5U);
        BOOST_TEST(std::all_of(instances.begin(), instances.end(),
                               [](const redis_server& s) { return pttl(s, "x").has_value(); }));
    });
}

BOOST_AUTO_TEST_CASE(several_wait_lost_calls_complete_on_a_loss) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x", without_watchdog(200ms)).acquire();
        int told = 0;
        for (int i = 0; i != 3; ++i) {
            held.wait_lost([&](error e) { told += e ? 0 : 1; });
        }
        co_await async_wait_until([&] { return told == 3; });
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
