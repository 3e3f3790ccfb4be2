// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"
#include "support/contains.hpp"
#include "support/reserved_port.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Cancels every operation at various moments, with every cancellation type.

namespace {

BOOST_FIXTURE_TEST_SUITE(cancellation_test, colock::test::shared_servers_far_away<5>)

using namespace colock;
using namespace colock::test;
using asio::cancellation_type;
using boost::unit_test::label;
using way = tcp_proxy::way;

constexpr std::array every_type{cancellation_type::terminal, cancellation_type::partial,
                                cancellation_type::total, cancellation_type::all};

/// Cancels a pending acquire. It ends immediately, in any state of the servers.
asio::awaitable<void> cancel(pending_acquire& one) {
    const stopwatch since;
    one.signal.emit(cancellation_type::terminal);
    co_await async_wait_until([&] { return one.result.has_value(); });
    BOOST_TEST((since.elapsed() < soon));
    BOOST_TEST((*one.result == aborted));
    BOOST_TEST(!one.granted.valid());
}

BOOST_AUTO_TEST_CASE(an_acquire_cancelled_in_its_first_turn_sends_nothing, *label("fault-01")) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (auto& server : instances) {
            server.command({"CONFIG", "RESETSTAT"});
        }
        const auto cancel_each_way = [&]() -> asio::awaitable<void> {
            for (const auto type : every_type) {
                pending_acquire one;
                one.start(mutex(locks, "x"));
                const stopwatch since;
                one.signal.emit(type);
                BOOST_TEST(!one.result.has_value());  // The handler is not called inside emit().
                co_await async_wait_until([&] { return one.result.has_value(); });
                BOOST_TEST((*one.result == aborted));
                BOOST_TEST(!one.granted.valid());
                BOOST_TEST((since.elapsed() < 5s));
            }
            co_await settled(locks);
        };
        co_await cancel_each_way();
        for (const std::string command : {"set", "evalsha", "eval", "pttl"}) {
            BOOST_TEST(executed(instances, command) == 0U, command);
        }
        constexpr std::size_t rounds = 25;
        for (std::size_t i = 1; i != rounds; ++i) {
            co_await cancel_each_way();
        }
        BOOST_TEST(locks.counters().cancelled == rounds * every_type.size());
        BOOST_TEST(executed(instances, "set") == 0U);
        BOOST_TEST(instances.keys() == 0U);
        // The same connections carry the next command, and the servers have executed nothing before it.
        const lease other = co_await mutex(locks, "other").acquire();
        co_await async_wait_until([&] { return instances.holding("other") == 5; });
        BOOST_TEST(executed(instances, "set") == 5U);
        BOOST_TEST(instances.keys() == 5U);
    });
}

BOOST_AUTO_TEST_CASE(an_acquire_cancelled_while_connecting_sends_nothing, *label("fault-01")) {
    run_test([&]() -> asio::awaitable<void> {
        // The only script that is sent by EVAL is the probe's, and it calls SET once.
        const auto sets = [&] { return executed(instances, "set") - executed(instances, "eval"); };
        const std::size_t before = sets();
        for (auto& link : network) {
            link.hold();
        }
        client locks(co_await asio::this_coro::executor, quiet_config());
        pending_acquire one;
        one.start(mutex(locks, "x"));
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.waiting(way::to_server) != 0; });
        }
        co_await cancel(one);
        for (auto& link : network) {
            link.resume();
        }
        co_await all_ready(locks);
        co_await settled(locks);
        BOOST_TEST(locks.counters().attempts == 0U);
        BOOST_TEST(sets() == before);
    }());
}

BOOST_AUTO_TEST_CASE(a_signal_of_type_none_cancels_nothing) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending_acquire one;
        one.start(mutex(locks, "x"));
        one.signal.emit(cancellation_type::none);
        co_await async_wait_until([&] { return one.result.has_value(); });
        BOOST_TEST(one.granted.valid());
    });
}

BOOST_AUTO_TEST_CASE(a_cancellation_after_completion_has_no_effect) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending_acquire one;
        one.start(mutex(locks, "x"));
        co_await async_wait_until([&] { return one.result.has_value(); });
        one.signal.emit(cancellation_type::all);
        co_await asio::post(asio::deferred);
        BOOST_TEST(one.granted.valid());
        BOOST_TEST(locks.counters().held == 1U);
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter_completes_immediately) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, instances.config());
        const lease held = co_await mutex(other, "x").acquire();
        client locks(executor, instances.config());
        lock_options patient;
        patient.retry.initial = patient.retry.maximum = 1min;
        for (const auto type : every_type) {
            pending_acquire one;
            const auto contended = locks.counters().contended;
            one.start(mutex(locks, "x", patient));
            co_await async_wait_until([&] { return locks.counters().contended != contended; });
            const stopwatch prompt;
            one.signal.emit(type);
            co_await async_wait_until([&] { return one.result.has_value(); });
            BOOST_TEST((*one.result == aborted));
            BOOST_TEST((prompt.elapsed() < 1s));
        }
        BOOST_TEST(held.valid());
    }());
}

/// Tests the rollback with some servers stopped, some late requests and some late replies. All servers grant
/// sooner or later. A reachable server is free again immediately, the others when they can be reached.
BOOST_AUTO_TEST_CASE(an_acquire_cancelled_after_sending_is_rolled_back, *label("fault-02")) {
    for (const std::size_t silent : {0U, 3U, 5U}) {
        run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
            co_await all_ready(locks);
            if (silent > 0) {
                instances[0].pause();
            }
            for (std::size_t i = 1; i < silent; ++i) {
                network[i].hold(way::to_server);
            }
            for (std::size_t i = silent; i < 5; ++i) {
                network[i].hold(way::to_client);
            }
            pending_acquire one;
            one.start(mutex(locks, "x", with_ttl(10min)));
            for (std::size_t i = silent > 0 ? 1 : 0; i < 5; ++i) {
                co_await async_wait_until([&] { return network[i].waiting() != 0; });
            }
            for (std::size_t i = silent; i < 5; ++i) {
                BOOST_TEST(instances[i].has("x"));
            }
            co_await cancel(one);
            for (std::size_t i = silent; i < 5; ++i) {  // Before any reply has arrived.
                co_await async_wait_until([&] { return !instances[i].has("x"); });
            }
            const std::size_t before = executed(instances[4], "set");
            instances[0].resume();
            for (auto& link : network) {
                link.resume();
            }
            co_await settled(locks);
            BOOST_TEST(locks.counters().undone == 1U);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(executed(instances[4], "set") == before + (silent == 5 ? 1 : 0));
        });
    }
}

asio::awaitable<void> acquire_and_hold(client& locks, std::string name, std::size_t& acquired) {
    const lease held = co_await mutex(locks, std::move(name), with_ttl(1min)).acquire();
    ++acquired;
    // The cancellation may also arrive while the lock is held.
    co_await asio::post(asio::deferred);
}

BOOST_AUTO_TEST_CASE(acquires_cancelled_at_random_moments_leave_nothing_behind) {
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            client locks(executor, instances.config());
            co_await all_ready(locks);
            std::mt19937 random(42);
            constexpr std::size_t total = 2000;
            constexpr std::size_t at_once = 20;
            std::size_t acquired = 0;
            std::size_t ended = 0;
            int longest = 3000;  // In µs. Adapted to the machine, so that only some are cancelled.
            for (std::size_t i = 0; i != total / at_once; ++i) {
                std::uniform_int_distribution<int> microseconds(0, longest);
                const std::size_t acquired_before = acquired;
                for (std::size_t k = 0; k != at_once; ++k) {
                    // Some acquires have names of their own, and some contend for one name.
                    const std::string name =
                        k % 4 == 0 ? "shared" : "x" + std::to_string(i * at_once + k);
                    asio::co_spawn(
                        executor, acquire_and_hold(locks, name, acquired),
                        asio::cancel_after(std::chrono::microseconds(microseconds(random)),
                                           [&](std::exception_ptr) { ++ended; }));
                }
                co_await async_wait_until([&] { return ended == (i + 1) * at_once; });
                const std::size_t got = acquired - acquired_before;
                if (got < at_once / 4) {
                    longest = std::min(longest * 2, 100'000);
                } else if (got > at_once * 3 / 4) {
                    longest = std::max(longest / 2, 100);
                }
            }
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            const counters end = locks.counters();
            BOOST_TEST(end.acquired >= acquired);
            // The cancellations must hit both pending and completed acquires, or the test shows nothing.
            BOOST_TEST(end.cancelled > 100U);
            BOOST_TEST(acquired > 100U);
            BOOST_TEST_MESSAGE(end.cancelled << " cancelled, " << acquired << " acquired, "
                                             << end.undone << " undone");
            // No watchdog is left. The ttl is so long that no renewal is due during the test.
            BOOST_TEST(end.held == 0U);
            BOOST_TEST(end.renewed == 0U);
        }(),
        120s);
}

BOOST_AUTO_TEST_CASE(no_watchdog_survives_a_cancelled_acquire) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, instances.config());
        co_await all_ready(locks);
        lock_options often = with_ttl(1s);
        often.renew = 5ms;
        std::mt19937 random(7);
        std::uniform_int_distribution<int> microseconds(0, 2000);
        std::size_t ended = 0;
        for (std::size_t i = 0; i != 100; ++i) {
            pending_acquire one;
            asio::steady_timer moment(executor, std::chrono::microseconds(microseconds(random)));
            one.start(mutex(locks, "x" + std::to_string(i), often));
            co_await moment.async_wait();
            one.signal.emit(cancellation_type::total);
            co_await async_wait_until([&] { return one.result.has_value(); });
            ++ended;
        }
        co_await settled(locks);
        const auto renewed = locks.counters().renewed;
        const auto extends = executed(instances, "evalsha");
        // A leftover watchdog would have renewed as often as this one.
        lease other = co_await mutex(locks, "other", often).acquire();
        co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 10; });
        co_await other.release();
        co_await settled(locks);
        const auto rounds = locks.counters().renewed + locks.counters().renewals_failed - renewed;
        // Each renewal sends one command per instance. One more is sent for the release, and one for a
        // renewal that is in flight at the release.
        BOOST_TEST(executed(instances, "evalsha") - extends <= 5 * (rounds + 2));
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(a_release_cancelled_before_sending_is_still_executed, *label("fault-04")) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (int i = 0; i != 5; ++i) {
            for (const auto type : every_type) {
                lease held = co_await mutex(locks, "x", with_ttl(10min)).acquire();
                asio::cancellation_signal signal;
                std::optional<error> result;
                held.release(asio::bind_cancellation_slot(
                    signal.slot(), [&](error e, release_result) { result = e; }));
                signal.emit(type);
                co_await async_wait_until([&] { return result.has_value(); });
                BOOST_TEST((*result == aborted));
                BOOST_TEST(!held.valid());
                co_await settled(locks);
                BOOST_TEST(instances.keys() == 0U);
                const auto after_all = co_await held.release();
                BOOST_TEST((after_all == release_result::released));
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(a_release_cancelled_after_sending_is_still_executed, *label("fault-04")) {
    run_test(quiet_config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (const way held_back : {way::to_server, way::to_client}) {
            lease held = co_await mutex(locks, "x", with_ttl(10min)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            for (auto& link : network) {
                link.hold(held_back);
            }
            asio::cancellation_signal signal;
            std::optional<error> result;
            held.release(asio::bind_cancellation_slot(
                signal.slot(), [&](error e, release_result) { result = e; }));
            for (auto& link : network) {
                co_await async_wait_until([&] { return link.waiting() != 0; });
            }
            const stopwatch since;
            signal.emit(cancellation_type::all);
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((*result == aborted));
            BOOST_TEST((since.elapsed() < 5s));
            BOOST_TEST(!held.valid());
            BOOST_TEST(instances.holding("x") == (held_back == way::to_server ? 5U : 0U));
            for (auto& link : network) {
                link.resume();
            }
            co_await async_wait_until([&] { return instances.holding("x") == 0; });
            const auto after_all = co_await held.release();
            BOOST_TEST((after_all == release_result::released));
        }
    });
}

/// The servers cannot be reached again before the client is destroyed.
BOOST_AUTO_TEST_CASE(the_ttl_ends_a_lock_whose_cancelled_release_never_arrives,
                     *label("fault-04")) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = quiet_config();
        configuration.close_timeout = 0ms;
        std::optional<client> locks(std::in_place, co_await asio::this_coro::executor,
                                    configuration);
        co_await all_ready(*locks);
        lease held = co_await mutex(*locks, "x", with_ttl(1s)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        for (auto& link : network) {
            link.drop();
        }
        const auto [e, result] = co_await held.release(asio::cancel_after(1ms, asio::as_tuple));
        BOOST_TEST((e == aborted));
        BOOST_TEST(instances.holding("x") == 5U);
        locks.reset();
        for (auto& link : network) {
            link.resume();
        }
        client others(co_await asio::this_coro::executor, instances.config());
        const lease next = co_await mutex(others, "x").acquire();
        BOOST_TEST(next.valid());
    }());
}

BOOST_AUTO_TEST_CASE(a_cancelled_extend_leaves_the_lease_valid) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(5s)).acquire();
        for (const auto type : every_type) {
            asio::cancellation_signal signal;
            std::optional<error> result;
            held.extend(1min,
                        asio::bind_cancellation_slot(signal.slot(), [&](error e) { result = e; }));
            signal.emit(type);
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((*result == aborted));
            BOOST_TEST(held.valid());
        }
        // The next extension works.
        co_await held.extend(20s);
        const auto released = co_await held.release();
        BOOST_TEST((released == release_result::released));
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_wait_lost_leaves_the_lease_valid) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        lease held = co_await mutex(locks, "x").acquire();
        for (const auto type : every_type) {
            asio::cancellation_signal signal;
            std::optional<error> result;
            held.wait_lost(
                asio::bind_cancellation_slot(signal.slot(), [&](error e) { result = e; }));
            signal.emit(type);
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((*result == aborted));
        }
        for (int i = 0; i != 3; ++i) {
            const auto [e] = co_await held.wait_lost(asio::cancel_after(1ms, asio::as_tuple));
            BOOST_TEST((e == aborted));
        }
        BOOST_TEST(held.valid());
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_close_continues_in_the_background) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x").acquire();
        asio::cancellation_signal signal;
        std::optional<error> result;
        locks.close(asio::bind_cancellation_slot(signal.slot(), [&](error e) { result = e; }));
        signal.emit(cancellation_type::terminal);
        co_await async_wait_until([&] { return result.has_value(); });
        BOOST_TEST((*result == aborted));
        held = lease();
        co_await locks.close();
        BOOST_TEST(instances.keys() == 0U);
    });
}

/// A cancellation does not disturb the commands of another lock.
BOOST_AUTO_TEST_CASE(a_cancelled_acquire_does_not_disturb_others) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        co_await all_ready(locks);
        for (int i = 0; i != 100; ++i) {
            std::array<pending_acquire, 4> victims;
            for (std::size_t k = 0; k != victims.size(); ++k) {
                victims.at(k).start(mutex(locks, "victim" + std::to_string(k)));
            }
            const auto e = co_await start([](client& c) -> asio::awaitable<void> {
                lease held = co_await mutex(c, "other").acquire();
                co_await held.extend(20s);
                co_await held.release();
            }(locks));
            for (auto& victim : victims) {
                co_await asio::post(asio::deferred);
                victim.signal.emit(cancellation_type::terminal);
            }
            co_await async_wait_until([&] { return e->done; });
            BOOST_TEST(e->code() == error_code());
            for (auto& victim : victims) {
                co_await async_wait_until([&] { return victim.result.has_value(); });
            }
        }
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
        BOOST_TEST(locks.counters().unavailable == 0U);
        BOOST_TEST(locks.counters().renewals_failed == 0U);
        BOOST_TEST(ready_instances(locks) == 5U);
    });
}

/// Cancels an acquire when `is_time()` is true, and returns the details of its error.
template <std::predicate Predicate>
asio::awaitable<std::string> details_when_cancelled(const mutex& lock, Predicate is_time) {
    pending_acquire one;
    one.start(lock);
    co_await async_wait_until(is_time);
    one.signal.emit(cancellation_type::terminal);
    co_await async_wait_until([&] { return one.result.has_value(); });
    BOOST_TEST((*one.result == aborted));
    co_return one.result->details();
}

BOOST_AUTO_TEST_CASE(the_error_reports_why_no_server_is_reachable) {
    run_test([&]() -> asio::awaitable<void> {
        config nobody_there;
        const std::array<reserved_port, 3> ports;
        for (const reserved_port& port : ports) {
            nobody_there.instances.push_back("redis://127.0.0.1:" + std::to_string(port.number()));
        }
        client locks(co_await asio::this_coro::executor, nobody_there);
        const std::string told = co_await details_when_cancelled(mutex(locks, "x"), [&] {
            const auto all = locks.instances();
            return std::ranges::all_of(
                all, [](const instance_info& one) { return !one.reason.empty(); });
        });
        BOOST_TEST(told.starts_with("'x': not tried yet, too few instances are connected ["), told);
        BOOST_TEST(contains(told, nobody_there.instances[0] + ": "), told);
        BOOST_TEST(contains(told, "Connection refused]"), told);
        try {
            co_await mutex(locks, "x").acquire(asio::cancel_after(100ms));
            BOOST_TEST(false);
        } catch (const lock_error& thrown) {
            BOOST_TEST((thrown.code() == aborted));
            BOOST_TEST(contains(thrown.what(), ": down, Connection refused]"), thrown.what());
        }
    }());
}

BOOST_AUTO_TEST_CASE(the_error_reports_that_too_few_instances_are_connected) {
    run_test([&]() -> asio::awaitable<void> {
        for (redis_server& server : instances) {
            server.pause();
        }
        client locks(co_await asio::this_coro::executor, instances.config());
        const std::string told =
            co_await details_when_cancelled(mutex(locks, "x"), [] { return true; });
        BOOST_TEST(told.starts_with("'x': not tried yet, too few instances are connected ["), told);
        BOOST_TEST(contains(told, "not connected yet"), told);
        for (redis_server& server : instances) {
            server.resume();
        }
    }());
}

BOOST_AUTO_TEST_CASE(the_error_reports_that_the_lock_is_held) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        co_await all_ready(others);
        const lease held = co_await mutex(others, "x").acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        const std::string told = co_await details_when_cancelled(
            mutex(locks, "x"), [&] { return locks.counters().contended > 0; });
        BOOST_TEST(contains(told, "held by another holder"), told);
        BOOST_TEST(contains(told, "vote not needed"), told);
        BOOST_TEST(!contains(told, "no answer yet"), told);
        BOOST_TEST(!contains(told, "no ttl"), told);
        BOOST_TEST(locks.counters().keys_without_ttl == 0U);
        const std::string in_local_queue = co_await details_when_cancelled(
            mutex(others, "x"), [&] { return others.counters().queued > 0; });
        BOOST_TEST(in_local_queue == "'x': this client holds it already");
    });
}

BOOST_AUTO_TEST_CASE(the_error_reports_a_key_without_ttl) {
    const std::vector<std::vector<std::string>> commands{{"SETNX", "x", "left by somebody"},
                                                         {"RPUSH", "x", "no lock at all"}};
    for (const auto& command : commands) {
        run_test([&]() -> asio::awaitable<void> {
            instances.flush();
            for (redis_server& server : instances) {
                server.command(command);
            }
            client locks(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            const std::string told = co_await details_when_cancelled(
                mutex(locks, "x"), [&] { return locks.counters().keys_without_ttl > 0; });
            BOOST_TEST(contains(told, "the key has no ttl"), told);
            lock_options few;
            few.retry.attempts = 3;
            const auto [e, none] = co_await mutex(locks, "x", few).acquire(asio::as_tuple);
            BOOST_TEST((e == errc::contended));
            BOOST_TEST(contains(e.details(), "the key has no ttl"), e.details());
        }());
    }
}

BOOST_AUTO_TEST_CASE(the_error_of_a_closed_client_names_the_resource) {
    run_test(instances.config(), [&](client& locks) -> asio::awaitable<void> {
        pending_acquire one;
        one.start(mutex(locks, "x"));
        co_await locks.close();
        co_await async_wait_until([&] { return one.result.has_value(); });
        BOOST_TEST((*one.result == errc::client_closed));
        BOOST_TEST(one.result->message() == "the lock client is closed: 'x'");
        const auto [e, none] = co_await mutex(locks, "y").acquire(asio::as_tuple);
        BOOST_TEST(e.message() == "the lock client is closed: 'y'");
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
