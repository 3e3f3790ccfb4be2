// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/client_process.hpp"
#include "integration/locks.hpp"
#include "integration/majority.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// The renewal of leases while servers and holders fail and recover. Further cases combine renewals with a
// release, or with servers that do not reply.

namespace {

BOOST_FIXTURE_TEST_SUITE(watchdog_test, colock::test::shared_servers_far_away<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using way = tcp_proxy::way;

/// Returns the remaining ttl on a quorum, which is the third largest of five.
std::optional<milliseconds> quorum_pttl(servers& instances, const std::string& key) {
    std::vector<milliseconds> left;
    for (const auto& server : instances) {
        left.push_back(pttl(server, key).value_or(-1ms));
    }
    std::sort(left.begin(), left.end(), std::greater<>());
    const milliseconds of_quorum = left.at(left.size() / 2);
    return of_quorum < 0ms ? std::nullopt : std::optional(of_quorum);
}

/// Returns options with frequent renewals and a ttl that is long enough for a busy machine.
lock_options renewed_often() {
    return renewed_every(100ms, 3s);
}

/// Checks at short intervals that the lease is valid. If it is not, the message reports how long this process
/// did not run. A process that does not run cannot renew.
class held_still {
public:
    explicit held_still(const lease& held) : held_(held) {}

    void operator()() {
        pause_.look();
        BOOST_TEST_REQUIRE(held_.valid(), held_.loss().message() << "; the test stood still for "
                                                                 << pause_.value() / 1ms << " ms");
    }

private:
    const lease& held_;
    longest_pause pause_;
};

BOOST_AUTO_TEST_CASE(the_watchdog_keeps_a_one_second_lease_for_five_seconds) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        const mutex same(others, "x");
        const stopwatch watch;
        milliseconds least = 1s;
        co_await async_wait_until([&] {
            const auto left = quorum_pttl(instances, "x");
            BOOST_TEST_REQUIRE(left.has_value());
            BOOST_TEST_REQUIRE(held.valid());
            least = std::min(least, *left);
            return watch.elapsed() >= 5s;
        });
        BOOST_TEST_MESSAGE("the least ttl was " << least.count() << " ms");
        BOOST_TEST((least > 0ms));
        const auto refused = co_await same.try_acquire();
        BOOST_TEST(!refused.owns_lock());
        BOOST_TEST(locks.counters().renewed >= 8U);
        BOOST_TEST(locks.counters().lost == 0U);
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }());
}

/// No key lives longer than the ttl, however often it is renewed.
BOOST_AUTO_TEST_CASE(the_ttl_never_grows) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        lock_options often = with_ttl(500ms);
        often.renew = 10ms;
        const lease held = co_await mutex(locks, "x", often).acquire();
        co_await async_wait_until([&] {
            for (const auto& server : instances) {
                BOOST_TEST((pttl(server, "x").value_or(0ms) <= 500ms));
            }
            return locks.counters().renewed >= 50;
        });
    }());
}

BOOST_AUTO_TEST_CASE(the_lock_of_a_killed_process_is_free_after_the_ttl) {
    run_test([&]() -> asio::awaitable<void> {
        constexpr milliseconds ttl = 1s;
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        client_process holder("x", ttl, instances.config());
        const std::string answer = co_await holder.ask("acquire");
        BOOST_TEST(answer == "held");
        const mutex lock(locks, "x");
        auto refused = co_await lock.try_acquire_for(2 * ttl);  // The holder renews its lease.
        BOOST_TEST(!refused.owns_lock());
        holder.kill();
        const stopwatch since;
        const lease held = co_await lock.acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST((since.elapsed() <= ttl + 1s));
        BOOST_TEST_MESSAGE("free after " << since.elapsed().count() << " ms");
    }());
}

/// Without the option, the loss would be reported 200 ms before the validity ends.
BOOST_AUTO_TEST_CASE(a_loss_is_reported_by_the_margin_of_the_options) {
    run_test([&]() -> asio::awaitable<void> {
        servers one(1);
        client locks(co_await asio::this_coro::executor, one.config());
        lock_options early = renewed_every(500ms, 4s);
        early.loss_margin = 2s;
        const lease held = co_await mutex(locks, "x", early).acquire();
        BOOST_TEST(held.owns_lock());
        one[0].pause();
        const auto until = held.valid_until();
        co_await held.wait_lost();
        BOOST_TEST((until - steady_clock::now() > 1s));
        BOOST_TEST(!held.owns_lock());
        BOOST_TEST(!held);
        one[0].resume();
    }());
}

BOOST_AUTO_TEST_CASE(renewals_go_on_with_a_minority_stopped) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        held_still still(held);
        five[0].pause();
        five[3].pause();
        const auto renewed = locks.counters().renewed;
        co_await async_wait_until([&] {  // Longer than the silence timeout.
            still();
            return locks.counters().renewed >= renewed + 30;
        });
        BOOST_TEST(locks.counters().lost == 0U);
        // When they are back, the watchdog restores their keys.
        five[0].resume();
        five[3].resume();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        BOOST_TEST(held.valid());
    }());
}

BOOST_AUTO_TEST_CASE(renewals_go_on_with_a_minority_killed_and_restarted) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_often()).acquire();
        held_still still(held);
        five[1].kill();
        five[2].kill();
        const auto renewed = locks.counters().renewed;
        co_await async_wait_until([&] {
            still();
            return locks.counters().renewed >= renewed + 20;
        });
        five[1].restart();
        five[2].restart();
        co_await async_wait_until([&] { return five.holding("x") == 5; });
        BOOST_TEST(held.valid());
        BOOST_TEST(locks.counters().lost == 0U);
    }());
}

/// The first lease of a client is granted while one server cannot be reached. No renewal is due for long.
BOOST_AUTO_TEST_CASE(a_server_that_is_connected_later_gets_the_key_before_the_next_renewal,
                     *label("fault-121")) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        three[2].kill();
        client locks(co_await asio::this_coro::executor, three.config());
        const lease held = co_await mutex(locks, "x", renewed_every(5min, 15min)).acquire();
        three[2].restart();
        co_await async_wait_until([&] { return three.holding("x") == 3; });
        BOOST_TEST(locks.counters().renewed == 0U);
        BOOST_TEST(held.valid());
    }());
}

/// One server cannot be reached during a renewal, and its key expires.
BOOST_AUTO_TEST_CASE(a_server_that_is_back_gets_its_key_before_the_next_renewal,
                     *label("fault-121")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", renewed_every(5min, 15min)).acquire();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        network[4].refuse();
        network[4].cut();
        co_await async_wait_until([&] { return ready_instances(locks) == 4; });
        co_await held.extend(15min);
        const auto renewed = locks.counters().renewed;
        instances[4].command({"DEL", "x"});
        network[4].accept();
        co_await async_wait_until([&] { return instances.holding("x") == 5; });
        BOOST_TEST(locks.counters().renewed == renewed);
        BOOST_TEST(held.valid());
    }());
}

/// A stopped server gets the renewals, and then the release, when it resumes.
BOOST_AUTO_TEST_CASE(no_key_is_left_on_a_server_that_was_stopped_during_the_release,
                     *label("fault-12")) {
    run_test([&]() -> asio::awaitable<void> {
        servers five(5);
        client locks(co_await asio::this_coro::executor, five.config());
        co_await all_ready(locks);
        lock_options often = with_ttl(10s);
        often.renew = 20ms;
        for (int i = 0; i != 5; ++i) {
            lease held = co_await mutex(locks, "x", often).acquire();
            co_await async_wait_until([&] { return five.holding("x") == 5; });
            five[4].pause();
            co_await renewed_more(locks, 3);
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::released));
            five[4].resume();
            co_await settled(locks);
            BOOST_TEST(five.holding("x") == 0U);
        }
    }());
}

/// Either the renewal is late and the release follows it, or the replies to the renewal are late.
BOOST_AUTO_TEST_CASE(a_renewal_in_flight_at_the_release_never_recreates_the_key,
                     *label("fault-12")) {
    for (const way held_back : {way::to_server, way::to_client}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", renewed_every(20ms, 10min)).acquire();
            co_await async_wait_until([&] { return locks.counters().renewed != 0; });
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
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

/// One server has lost the key. The SET that restores it is in flight at the release.
BOOST_AUTO_TEST_CASE(a_key_being_restored_at_the_release_is_deleted, *label("fault-12")) {
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

BOOST_AUTO_TEST_CASE(releases_at_the_moment_of_a_renewal_leave_no_key, *label("fault-12")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const lock_options often = renewed_every(1ms, 1min);
        for (std::size_t i = 0; i != 200; ++i) {
            lease held = co_await mutex(locks, "x" + std::to_string(i), often).acquire();
            const auto renewed = locks.counters().renewed;
            co_await async_wait_until([&] { return locks.counters().renewed != renewed; });
            if (i % 4 == 0) {
                instances[i % 5].flush();  // This release coincides with a restoration.
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

BOOST_AUTO_TEST_CASE(a_loss_is_reported_before_the_validity_ends, *label("fault-13")) {
    majority most;
    for (const auto& [hurt, heal] : majority::failures()) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, most.network.config());
            co_await all_ready(locks);
            lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
            most.each(hurt);
            const told_of_loss told = co_await told_when_lost(held);
            BOOST_TEST(told.in_time());
            BOOST_TEST(!held.valid());
            BOOST_TEST((held.loss() == errc::lease_lost));
            BOOST_TEST((held.loss() == condition::lost));
            BOOST_TEST(locks.counters().renewals_failed != 0U);

            // Renewals that reach the servers only now do not restore the lease.
            most.each(heal);
            co_await settled(locks);
            BOOST_TEST(most.all.holding("x") == 0U);
            BOOST_TEST(!held.valid());
            const auto free = co_await mutex(locks, "x").try_acquire_for(5s);
            BOOST_TEST(free.owns_lock());
        }());
    }
}

/// No handler of the client can run during the block, but the lease can be queried.
BOOST_AUTO_TEST_CASE(a_loss_reports_a_blocked_event_loop_as_the_reason, *label("fault-13")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", with_ttl(500ms)).acquire();
        const lease unrenewed = co_await mutex(locks, "y", without_watchdog(500ms)).acquire();
        std::this_thread::sleep_for(600ms);  // Blocks the event loop, the subject of this test.
        BOOST_TEST(!held.valid());
        const std::string_view why = "the client's event loop did not run for at least ";
        const error at_once = held.loss();
        BOOST_TEST((at_once == errc::lease_lost));
        BOOST_TEST(at_once.details().find(why) != std::string::npos, at_once.details());
        BOOST_TEST((unrenewed.loss() == errc::lease_expired));
        BOOST_TEST(unrenewed.loss().details() == "'y'");  // It has no renewals.
        co_await held.wait_lost();
        BOOST_TEST((held.loss() == errc::lease_lost));
        BOOST_TEST(held.loss().details().find(why) != std::string::npos, held.loss().details());
        BOOST_TEST((unrenewed.loss() == errc::lease_expired));
    }());
}

/// A renewal that is executed after the ttl does not count. A lost lease stays lost.
BOOST_AUTO_TEST_CASE(servers_paused_past_the_ttl_cause_a_loss, *label("fault-15")) {
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
            // The servers execute the delayed renewals before they grant the next acquire.
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
