#include "integration/locks.hpp"
#include "integration/majority.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

// The watchdog, when its renewals meet a release, a bad network, or servers that do not answer.

namespace {

using namespace colock;
using namespace colock::test;
using way = tcp_proxy::way;

BOOST_FIXTURE_TEST_SUITE(fault_watchdog_test, shared_servers_far_away<5>)

/// The renewal reaches the servers with the release behind it, or has been answered by the time.
BOOST_AUTO_TEST_CASE(fault_12_renewal_in_flight_at_release_never_recreates_the_key) {
    for (const way held_back : {way::to_server, way::to_client}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", renewed_every(20ms, 10min)).acquire();
            co_await async_wait_until([&] { return locks.counters().renewed != 0; });
            for (auto& link : network) {
                link.hold(held_back);
            }
            for (auto& link : network) {
                co_await async_wait_until([&] { return link.waiting() != 0; });
            }
            BOOST_TEST(held.valid());
            BOOST_TEST(instances.holding("x") == 5U);
            std::optional<release_result> result;
            held.release([&](error e, release_result r) {
                BOOST_TEST(!e, e.message());
                result = r;
            });
            for (auto& link : network) {
                link.resume();
            }
            co_await async_wait_until([&] { return result.has_value(); });
            BOOST_TEST((result == release_result::released));
            const auto rounds = locks.counters().renewed;
            co_await settled(locks);
            BOOST_TEST(instances.keys() == 0U);
            BOOST_TEST(locks.counters().renewed == rounds);
        }());
    }
}

/// One server has lost the key, and gets it again: the SET is under way at the release.
BOOST_AUTO_TEST_CASE(fault_12_renewal_in_flight_at_release_that_heals) {
    for (int i = 0; i != 5; ++i) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", renewed_every(20ms, 10min)).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            tcp_proxy& link = network[4];
            link.hold_from_request("SET");
            instances[4].command({"DEL", "x"});
            co_await async_wait_until([&] { return link.waiting(way::to_server) != 0; });
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            co_await async_wait_until([&] { return instances.keys() == 0; });
            const std::size_t before = executed(instances[4], "set");
            link.resume();
            co_await settled(locks);
            BOOST_TEST(executed(instances[4], "set") == before + 1);
            BOOST_TEST(instances.keys() == 0U);
        }());
    }
}

BOOST_AUTO_TEST_CASE(fault_12_renewal_in_flight_at_release_again_and_again) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const lock_options often = renewed_every(1ms, 1min);
        for (std::size_t i = 0; i != 200; ++i) {
            lease held = co_await mutex(locks, "x" + std::to_string(i), often).acquire();
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed != renewed; });
            if (i % 4 == 0) {
                instances[i % 5].flush();  // to be healed just now
            }
            if (i % 2 == 0) {
                held.extend(2min, [](error) {});
            }
            held = lease();
        }
        co_await settled(locks);
        BOOST_TEST(instances.keys() == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(fault_13_renewals_fail_on_a_majority_the_loss_is_announced_in_time) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, most.network.config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
            most.each(hurt);
            lease::time_point valid_until{};
            std::optional<steady_clock::time_point> lost;
            held.wait_lost([&](error e) {
                BOOST_TEST(!e);
                lost = steady_clock::now();
            });
            co_await async_wait_until([&] {
                valid_until = held.valid() ? held.valid_until() : valid_until;
                return lost.has_value();
            });
            BOOST_TEST((*lost < valid_until));
            BOOST_TEST(!held.valid());
            BOOST_TEST((held.loss() == errc::lease_lost));
            BOOST_TEST((held.loss() == condition::lost));
            BOOST_TEST(locks.counters().renewals_failed != 0U);

            // What was sent to them meanwhile does not bring it back.
            most.each(heal);
            co_await settled(locks);
            BOOST_TEST(most.all.holding("x") == 0U);
            BOOST_TEST(!held.valid());
            const auto free = co_await mutex(locks, "x").try_acquire_for(5s);
            BOOST_TEST(free.has_value());
        }());
    }
}

BOOST_AUTO_TEST_CASE(fault_13_renewals_fail_on_a_majority_the_body_of_with_lock_is_cancelled) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, most.network.config());
            co_await all_ready(locks);
            lease::time_point valid_until{};
            steady_clock::time_point stopped{};
            const auto body = [&](lease& held) -> asio::awaitable<void> {
                most.each(hurt);
                try {
                    co_await async_wait_until([&] {
                        valid_until = held.valid() ? held.valid_until() : valid_until;
                        return false;
                    });
                } catch (const boost::system::system_error& e) {
                    stopped = steady_clock::now();
                    BOOST_TEST(e.code() == aborted);
                    throw;
                }
            };
            bool lost = false;
            try {
                co_await with_lock(mutex(locks, "x", with_ttl(1s)), body);
            } catch (const lease_lost&) {
                lost = true;
            }
            BOOST_TEST(lost);
            BOOST_TEST((stopped < valid_until));
            most.each(heal);
            co_await settled(locks);
        }());
    }
}

/// No renewal that comes through after the ttl counts; what was lost stays so.
BOOST_AUTO_TEST_CASE(fault_15_servers_paused_past_the_ttl) {
    for (const std::string kind : {"ALL", "WRITE"}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            co_await all_ready(others);
            lease held = co_await mutex(locks, "x", with_ttl(500ms)).acquire();
            for (auto& server : instances) {
                server.command({"CLIENT", "PAUSE", "1500", kind});
            }
            const auto renewed = locks.counters().renewed;
            const auto valid_until = held.valid_until();
            co_await held.wait_lost();
            BOOST_TEST((steady_clock::now() < valid_until + 500ms));
            BOOST_TEST(!held.valid());
            BOOST_TEST((held.loss() == errc::lease_lost));
            // The renewals that were waiting in the servers are executed now, before B's turn.
            lock_options patient;
            patient.unavailable_timeout = 1min;
            const lease next = co_await mutex(others, "x", patient).acquire();
            BOOST_TEST(next.valid());
            co_await settled(locks);
            co_await async_wait_until([&] { return idle(locks); });
            BOOST_TEST(!held.valid());
            BOOST_TEST(locks.counters().renewed <= renewed + 1);
            BOOST_TEST(locks.counters().held == 0U);
            const auto result = co_await held.release();
            BOOST_TEST((result != release_result::released));
            BOOST_TEST(next.valid());
        }());
        instances.flush();
    }
}

/// Prompt, typed, and no exception, whoever can be reached.
BOOST_AUTO_TEST_CASE(fault_16_release_of_an_expired_lease) {
    servers three(3);
    for (const bool dead : {false, true}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, three.config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", without_watchdog(300ms)).acquire();
            if (dead) {
                three[0].kill();
                three[1].pause();
                three[2].pause();
            }
            co_await held.wait_lost();
            BOOST_TEST(!held.valid());
            const stopwatch prompt;
            const release_result result = co_await held.release();  // would throw
            BOOST_TEST((result == release_result::expired), to_string(result));
            BOOST_TEST((prompt.elapsed() < 1s));
            BOOST_TEST((held.loss() == errc::lease_expired));
            const release_result again = co_await held.release();
            BOOST_TEST((again == release_result::expired), to_string(again));
        }());
    }
}

/// Asked before the client itself has noticed: the program was late.
BOOST_AUTO_TEST_CASE(fault_16_release_of_an_expired_lease_by_a_late_program) {
    for (const lock_options& options : {without_watchdog(200ms), with_ttl(200ms)}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", options).acquire();
            wait_until([&] { return instances.holding("x") == 0; });  // nothing runs meanwhile
            BOOST_TEST(!held.valid());
            const stopwatch prompt;
            const auto [e, result] = co_await held.release(asio::as_tuple);
            BOOST_TEST(!e, e.message());
            BOOST_TEST((result == release_result::expired), to_string(result));
            BOOST_TEST((prompt.elapsed() < 1s));
        }());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
