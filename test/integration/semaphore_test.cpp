// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Semaphores on real servers. The common properties of all lock kinds are tested in own_kind_test.cpp, which
// includes semaphores.

namespace {

BOOST_AUTO_TEST_SUITE(semaphore_test)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

/// Returns the error of an operation, or no error on success.
template <typename Operation>
asio::awaitable<error> failure_of(Operation operation) {
    const auto [result, held] = co_await std::move(operation)(asio::as_tuple(asio::use_awaitable));
    co_return result;
}

/// Simulates work.
asio::awaitable<void> work_for(milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::deferred);
}

/// Leaves the permit of a holder that has died.
void die_with_permit(const redis_server& server, const std::string& limit, const std::string& digit,
                     milliseconds ttl) {
    server.command({"SET", "x", "permit:" + limit + "*1:" + std::string(40, digit[0]), "PX",
                    std::to_string(ttl.count())});
}

BOOST_FIXTURE_TEST_SUITE(on_three_servers, shared_servers<3>)

BOOST_AUTO_TEST_CASE(there_are_as_many_holders_as_permits) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        const semaphore of_a(a, "x", 3);
        const semaphore of_b(b, "x", 3);
        BOOST_TEST(of_a.permits() == 3U);
        lease first = co_await of_a.acquire();
        lease second = co_await of_b.acquire();
        lease third = co_await of_a.try_acquire();
        BOOST_TEST_REQUIRE(third.owns_lock());
        BOOST_TEST((first.valid() && second.valid() && third.valid()));
        BOOST_TEST(!is_held(co_await of_b.try_acquire()));
        BOOST_TEST(!is_held(co_await of_a.try_acquire_for(20ms)));
        BOOST_TEST(!is_held(co_await of_a.try_acquire_until(steady_clock::now() + 20ms)));
        BOOST_TEST((co_await second.release() == release_result::released));
        lease fourth = co_await of_a.try_acquire_for(soon);
        BOOST_TEST_REQUIRE(fourth.owns_lock());
        for (lease* const one : {&first, &third, &fourth}) {
            BOOST_TEST((co_await one->release() == release_result::released));
        }
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(several_permits_are_one_lease) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const semaphore s(locks, "x", 5);
        lease three = co_await s.acquire(3);
        BOOST_TEST(!is_held(co_await s.try_acquire(3)));
        BOOST_TEST(!is_held(co_await s.try_acquire_for(3, 20ms)));
        BOOST_TEST(!is_held(co_await s.try_acquire_until(3, steady_clock::now() + 20ms)));
        lease two = co_await s.try_acquire(2);
        BOOST_TEST_REQUIRE(two.owns_lock());
        BOOST_TEST(!is_held(co_await s.try_acquire()));
        BOOST_TEST((co_await three.release() == release_result::released));
        lease again = co_await s.acquire(3);
        BOOST_TEST(!is_held(co_await s.try_acquire()));
        co_await again.release();
        co_await two.release();
        lease all = co_await s.acquire(5);
        BOOST_TEST((co_await all.release() == release_result::released));
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 52: this holds even while others acquire and release one permit all the time.
BOOST_AUTO_TEST_CASE(a_waiter_for_all_permits_is_not_starved, *label("fault-52")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        bool goes_on = true;
        std::vector<std::shared_ptr<background>> small;
        for (client* const each : {&a, &a, &b, &b, &b}) {
            small.push_back(co_await start([](client& of, bool& on) -> asio::awaitable<void> {
                const semaphore s(of, "x", 3);
                while (on) {
                    lease held = co_await s.acquire();
                    co_await work_for(2ms);
                    co_await held.release();
                }
            }(*each, goes_on)));
        }
        for (client* const each : {&a, &b}) {
            const semaphore s(*each, "x", 3);
            lease all = co_await s.acquire(3);
            BOOST_TEST(all.valid());
            co_await all.release();
        }
        goes_on = false;
        for (const auto& one : small) {
            co_await async_wait_until([&] { return one->done; });
            BOOST_TEST((one->thrown == nullptr));
        }
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 52: the permits become free one by one.
BOOST_AUTO_TEST_CASE(a_waiter_for_several_permits_is_woken_when_enough_are_free,
                     *label("fault-52")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        std::vector<lease> held;
        for (int i = 0; i != 3; ++i) {
            held.push_back(co_await semaphore(a, "x", 3, patient()).acquire());
        }
        std::optional<lease> granted;
        semaphore(b, "x", 3, patient()).acquire(2, [&](error failed, lease got) {
            BOOST_TEST(!failed);
            granted = std::move(got);
        });
        co_await async_wait_until([&] { return b.counters().contended >= 2 && idle(b); });
        co_await held[0].release();
        co_await async_wait_until([&] { return idle(a) && idle(b); });
        BOOST_TEST(!granted.has_value());
        const stopwatch waited;
        co_await held[2].release();
        co_await async_wait_until([&] { return granted.has_value(); });
        BOOST_TEST((waited.elapsed() < soon));
        co_await held[1].release();
        co_await granted->release();
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 49.
BOOST_AUTO_TEST_CASE(a_release_adds_no_permit, *label("fault-49")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const semaphore s(locks, "x", 2, without_watchdog(200ms));
        lease first = co_await s.acquire();
        lease late = co_await s.acquire();
        BOOST_TEST((co_await first.release() == release_result::released));
        // Releases the same lease again.
        BOOST_TEST((co_await first.release() == release_result::released));
        co_await late.wait_lost();
        static_cast<void>(co_await late.release());
        const semaphore lasting(locks, "x", 2);
        lease one = co_await lasting.acquire();
        lease two = co_await lasting.acquire();
        BOOST_TEST(!is_held(co_await lasting.try_acquire()));
        co_await one.release();
        co_await two.release();
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 50.
BOOST_AUTO_TEST_CASE(the_permit_of_a_dead_holder_returns_after_its_ttl, *label("fault-50")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        for (const redis_server& server : instances) {
            die_with_permit(server, "2", "7", 1s);
        }
        const stopwatch waited;
        const semaphore s(locks, "x", 2);
        lease one = co_await s.acquire();
        BOOST_TEST(!is_held(co_await s.try_acquire()));
        lease two = co_await s.acquire();
        BOOST_TEST((waited.elapsed() > 900ms));
        BOOST_TEST(!is_held(co_await s.try_acquire()));
        co_await one.release();
        co_await two.release();
        co_await locks.close();
    }());
    // The permit of the dead holder may end a little later on the last server. The others would last for 30 s.
    wait_until([&] { return instances.keys() == 0; }, 10s);
}

/// Fault 50: a cancelled acquire leaves no permit behind, at whichever point it was cancelled.
BOOST_AUTO_TEST_CASE(a_cancelled_acquire_leaves_no_permit, *label("fault-50")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        co_await all_ready(locks);
        const semaphore s(locks, "x", 4);
        lease held = co_await s.acquire();
        for (int i = 0; i != 60; ++i) {
            auto one = std::make_shared<pending_acquire>();
            one->start(s);
            for (int turn = 0; turn != i % 20; ++turn) {
                co_await asio::post(asio::deferred);
            }
            one->signal.emit(asio::cancellation_type::terminal);
            co_await async_wait_until([&] { return one->result.has_value(); });
            one->granted = lease();
        }
        co_await async_wait_until([&] { return locks.counters().releasing == 0; });
        lease rest = co_await s.acquire(3);
        co_await rest.release();
        co_await held.release();
        co_await locks.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

/// Fault 51.
BOOST_AUTO_TEST_CASE(another_number_of_permits_is_an_error, *label("fault-51")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        lease held = co_await semaphore(a, "x", 50).acquire();
        const semaphore other(b, "x", 20);
        const auto expect_mismatch = [](const error& failed) {
            BOOST_TEST((failed == errc::limit_mismatch), failed.message());
            BOOST_TEST(failed.message().find("a semaphore of 50 permits") != std::string::npos,
                       failed.message());
        };
        expect_mismatch(co_await failure_of([&](auto token) { return other.acquire(token); }));
        expect_mismatch(co_await failure_of([&](auto token) { return other.try_acquire(token); }));
        BOOST_TEST(held.valid());
        co_await held.release();
        lease now = co_await other.acquire();
        co_await now.release();
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(two_kinds_on_one_name_exclude_each_other_and_say_so) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        const semaphore permits(a, "x", 2);
        const mutex exclusive(b, "x");
        const shared_mutex shared(b, "x");
        const auto expect_wrong_kind = [](const error& failed, const std::string& other) {
            BOOST_TEST((failed == errc::wrong_kind), failed.message());
            BOOST_TEST(failed.message().find(other) != std::string::npos, failed.message());
        };
        lease held = co_await exclusive.acquire();
        expect_wrong_kind(co_await failure_of([&](auto token) { return permits.acquire(token); }),
                          "a mutex");
        BOOST_TEST((co_await held.release() == release_result::released));
        held = co_await shared.acquire_shared();
        expect_wrong_kind(co_await failure_of([&](auto token) { return permits.acquire(token); }),
                          "a shared mutex");
        BOOST_TEST((co_await held.release() == release_result::released));

        held = co_await permits.acquire();
        BOOST_TEST(!is_held(co_await exclusive.try_acquire()));
        expect_wrong_kind(
            co_await failure_of([&](auto token) { return shared.acquire_shared(token); }),
            "a semaphore of 2 permits");
        // After waiting for a second, a mutex queries which kind of lock has the key. Its error after a
        // cancellation reports the kind.
        lock_options options;
        options.retry.maximum = 50ms;
        std::string told;
        for (milliseconds time = 1500ms; told.empty() && time < 20s; time *= 2) {
            pending_acquire waiting;
            waiting.start(mutex(b, "x", options));
            const stopwatch since;
            co_await async_wait_until([&] { return since.elapsed() > time; }, 30s);
            waiting.signal.emit(asio::cancellation_type::terminal);
            co_await async_wait_until([&] { return waiting.result.has_value(); });
            if (waiting.result->details().find("a semaphore of 2 permits") != std::string::npos) {
                told = waiting.result->details();
            }
        }
        BOOST_TEST(!told.empty());
        BOOST_TEST(held.valid());
        BOOST_TEST((co_await held.release() == release_result::released));
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_CASE(impossible_arguments_are_refused) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        const auto is_about = [](const std::string& field, const std::string& text) {
            return [=](const config_error& e) {
                return e.field() == field && std::string(e.what()).find(text) != std::string::npos;
            };
        };
        for (const std::uint32_t permits : {0U, 1025U, 4'000'000'000U}) {
            BOOST_CHECK_EXCEPTION(semaphore(locks, "x", permits), config_error,
                                  is_about("permits", std::to_string(permits)));
        }
        lock_options fenced;
        fenced.fencing = true;
        BOOST_CHECK_EXCEPTION(semaphore(locks, "x", 2, fenced), config_error,
                              is_about("fencing", "semaphore"));
        const semaphore s(locks, "x", 3);
        for (const std::uint32_t count : {0U, 4U}) {
            const auto [refused, none] = co_await s.acquire(count, asio::as_tuple);
            BOOST_TEST((refused == errc::invalid_argument));
            BOOST_TEST(refused.details() == "'x': count: " + std::to_string(count) +
                                                " permits are not possible, since it has 3. Ask "
                                                "for 1 to 3");
            const auto [also, nothing] = co_await s.try_acquire(count, asio::as_tuple);
            BOOST_TEST((also == errc::invalid_argument));
            BOOST_TEST(!none.owns_lock());
            BOOST_TEST(!nothing.owns_lock());
        }
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(with_lock_takes_permits) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client a(executor, patient_config(instances.config()));
        client b(executor, patient_config(instances.config()));
        int inside = 0;
        int most = 0;
        int done = 0;
        std::vector<std::shared_ptr<background>> tasks;
        for (int i = 0; i != 40; ++i) {
            const auto body = [&](lease&) -> asio::awaitable<void> {
                most = std::max(most, ++inside);
                co_await work_for(1ms);
                --inside;
                ++done;
            };
            tasks.push_back(co_await start([](client& of, auto run) -> asio::awaitable<void> {
                const semaphore s(of, "x", 5);
                co_await with_lock(s, run);
            }(i % 2 == 0 ? a : b, body)));
        }
        for (const auto& one : tasks) {
            co_await async_wait_until([&] { return one->done; });
            BOOST_TEST((one->thrown == nullptr));
        }
        BOOST_TEST(most <= 5);
        BOOST_TEST(done == 40);
        co_await a.close();
        co_await b.close();
    }());
    BOOST_TEST(instances.keys() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(semaphore_test_of_five, shared_servers<5>)

/// Fault 47: each instance has one holder less than its limit. If each instance only counted holders, it
/// would admit the third.
BOOST_AUTO_TEST_CASE(majorities_that_overlap_admit_no_third_holder, *label("fault-47")) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        std::vector<std::unique_ptr<client>> clients;
        std::vector<lease> held;
        proxies of_first(instances);
        proxies of_second(instances);
        proxies of_third(instances);
        const auto acquire_at = [&](proxies& network,
                                    std::array<std::size_t, 2> away) -> asio::awaitable<lease> {
            for (const std::size_t one : away) {
                network[one].drop();
            }
            config seen = patient_config(network.config());
            seen.instance_timeout = 500ms;
            clients.push_back(std::make_unique<client>(executor, seen));
            co_await async_wait_until(
                [&] { return ready_instances(*clients.back()) == (away[0] == away[1] ? 4 : 3); });
            co_return co_await semaphore(*clients.back(), "x", 2).try_acquire();
        };
        auto first = co_await acquire_at(of_first, {3, 4});
        auto second = co_await acquire_at(of_second, {0, 1});
        BOOST_TEST_REQUIRE(first.owns_lock());
        BOOST_TEST_REQUIRE(second.owns_lock());
        auto third = co_await acquire_at(of_third, {2, 2});
        BOOST_TEST(!third.owns_lock());
        BOOST_TEST((first.valid() && second.valid()));
        co_await first.release();
        third = co_await semaphore(*clients.back(), "x", 2).try_acquire_for(soon);
        BOOST_TEST(third.owns_lock());
    }());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
