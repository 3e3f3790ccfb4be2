// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Mutual exclusion when servers lose their data.

#include "integration/instance_rig.hpp"
#include "integration/locks.hpp"
#include "support/contains.hpp"
#include "support/fake_server.hpp"
#include "support/field_refused.hpp"
#include "support/reserved_port.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(quarantine_test)

namespace {

using namespace std::chrono_literals;
using namespace colock;
using namespace colock::test;
using boost::unit_test::label;

config with_quarantine(const servers& instances, milliseconds length) {
    config configuration = instances.config();
    configuration.restart_quarantine = length;
    return configuration;
}

/// Returns a server at this port that has been up for a day.
fake_server server_at(const reserved_port& where, char run_id) {
    return fake_server(
        [run_id](const fake_server::words& command) {
            return answer_as_server(command, {std::string(40, run_id), 24h});
        },
        where.number());
}

instance::redis::redis_settings quarantined_for(milliseconds length) {
    auto settings = quick_settings();
    settings.quarantine = {length, {0.0, 0ms}};
    return settings;
}

void run_until_quarantined(instance_rig& rig) {
    rig.run_until([&] { return rig.status().state == instance::state::quarantined; });
}

void run_until_down(instance_rig& rig) {
    rig.run_until([&] { return rig.status().state == instance::state::down; });
}

/// A lock is held on three instances. Two of them restart without their data before the lease ends. Returns
/// how much of the lease's validity is left when another client acquires the lock.
///
/// `known` means that the other client was connected to the instances before they restarted.
steady_clock::duration left_when_taken(milliseconds quarantine, bool known) {
    constexpr milliseconds ttl = 3s;
    steady_clock::duration left{};
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        config configuration = three.config();
        configuration.restart_quarantine = quarantine;
        const auto executor = co_await asio::this_coro::executor;
        client holder(executor, three.config());
        std::optional<client> other;
        if (known) {
            other.emplace(executor, configuration);
            co_await async_wait_until([&] { return ready_instances(*other) == 3; });
        }
        co_await all_ready(holder);
        // With a watchdog, the lease would be lost before its end.
        lease held = co_await mutex(holder, "x", without_watchdog(ttl)).acquire();
        const auto valid_until = held.valid_until();
        three[0].restart();
        three[1].restart();
        if (!known) {
            other.emplace(executor, configuration);
        }
        lock_options patient = with_ttl(ttl);
        patient.unavailable_timeout = 1min;
        const lease taken = co_await mutex(*other, "x", patient).acquire();
        left = valid_until - steady_clock::now();
        BOOST_TEST(taken.valid());
    }());
    return left;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_restart_without_data_does_not_break_mutual_exclusion, *label("fault-24")) {
    for (const bool known : {true, false}) {
        BOOST_TEST_CONTEXT((known ? "a client that was connected before" : "a new client")) {
            BOOST_TEST((left_when_taken(3s, known) <= 0s));
            // Without the quarantine there are two holders. This shows that the test can fail.
            BOOST_TEST((left_when_taken(0s, known) > 0s));
        }
    }
}

/// A held lease continues and can be released.
BOOST_AUTO_TEST_CASE(a_lease_outlives_the_restart_of_a_minority) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 2s));
        co_await async_wait_until([&] { return ready_instances(locks) == 3; });
        lease held = co_await mutex(locks, "x", with_ttl(2s)).acquire();
        three[0].restart();
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        const instance_info restarted = locks.instances()[0];
        BOOST_TEST((restarted.quarantined_until > steady_clock::now()));
        BOOST_TEST((restarted.quarantined_until < steady_clock::now() + 3s));
        BOOST_TEST(to_string(restarted.state) == "quarantined");
        for (const std::string& why : {restarted.reason, restarted.nodes.at(0).reason}) {
            BOOST_TEST(contains(why, ", grants locks in "), why);
        }
        // The other servers are a quorum and still grant.
        const lease another = co_await mutex(locks, "y", with_ttl(1s)).acquire();
        BOOST_TEST(!three[0].has("y"));
        co_await all_ready(locks);
        BOOST_TEST((steady_clock::now() >= restarted.quarantined_until));
        // The watchdog has renewed the lease during the quarantine. It restores the key on the server that
        // lost it.
        co_await async_wait_until([&] { return three[0].has("x"); });
        BOOST_TEST(held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }());
}

/// The key is restored as soon as possible, not only after the quarantine. Other servers may fail before its
/// end, and then the lease would be lost.
BOOST_AUTO_TEST_CASE(a_held_key_is_restored_during_the_quarantine) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 3s));
        co_await all_ready(locks);
        const lease held = co_await mutex(locks, "x", renewed_every(50ms, 2s)).acquire();
        three[0].restart();
        co_await async_wait_until([&] { return three[0].has("x"); });
        BOOST_TEST((locks.instances()[0].state == instance_state::quarantined));
        three[1].restart();
        co_await async_wait_until([&] { return three[1].has("x"); });
        BOOST_TEST((locks.instances()[1].state == instance_state::quarantined));
        three[2].restart();
        co_await async_wait_until([&] { return three[2].has("x"); });
        BOOST_TEST(held.valid());
    }());
}

long uptime_of(const redis_server& server) {
    const std::string text = server.command({"INFO", "server"}).value();
    const std::string field = "uptime_in_seconds:";
    return std::stol(text.substr(text.find(field) + field.size()));
}

/// A server counts the seconds of its wall clock that have begun. Its uptime may therefore be 1 s immediately
/// after its start.
BOOST_AUTO_TEST_CASE(an_overstated_uptime_does_not_shorten_the_quarantine) {
    run_test([&]() -> asio::awaitable<void> {
        servers one(1);
        steady_clock::time_point started;
        for (;;) {
            co_await async_wait_until([&] {
                const auto now = std::chrono::system_clock::now();
                return now - std::chrono::floor<std::chrono::seconds>(now) > 700ms;
            });
            started = steady_clock::now();
            one[0].restart();
            co_await async_wait_until([&] { return uptime_of(one[0]) > 0; });
            if (steady_clock::now() - started < 800ms) {
                break;
            }
        }
        client locks(co_await asio::this_coro::executor, with_quarantine(one, 3s));
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        BOOST_TEST((locks.instances()[0].quarantined_until >= started + 3s));
        BOOST_TEST((locks.instances()[0].quarantined_until < started + 6s));
    }());
}

BOOST_AUTO_TEST_CASE(the_error_reports_the_quarantine_and_its_end_wakes_waiters) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 4s));
        co_await async_wait_until([&] {
            const auto all = locks.instances();
            return std::all_of(all.begin(), all.end(), [](const instance_info& one) {
                return one.state == instance_state::quarantined;
            });
        });
        const auto [e, nothing] =
            co_await mutex(locks, "x", with_ttl(4s)).try_acquire(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        BOOST_TEST(e.details().find("quarantined, restarted ") != std::string::npos, e.details());
        BOOST_TEST(e.details().find(", grants locks in ") != std::string::npos, e.details());
        BOOST_TEST(e.details().find("not needed") == std::string::npos, e.details());
        const auto [too_late, none] =
            co_await mutex(locks, "x", with_ttl(4s)).try_acquire_for(1500ms, asio::as_tuple);
        BOOST_TEST((too_late == errc::no_quorum), too_late.message());
        lock_options once = with_ttl(4s);
        once.unavailable_timeout = 0ms;
        once.retry.initial = once.retry.maximum = 1min;
        const auto in_time = co_await mutex(locks, "in time", once).try_acquire_for(5min);
        BOOST_TEST((in_time && in_time.valid()));
        const lease held = co_await mutex(locks, "x", once).acquire();
        BOOST_TEST(held.valid());
        BOOST_TEST(locks.counters().acquired == 2U);
        co_await all_ready(locks);
    }());
}

/// Two waiters want one name. The first waiter's deadline is just after the end of the quarantine, and the
/// event loop is blocked until then. Returns their errors, or nothing if the machine was too slow for this.
asio::awaitable<std::vector<error>> told_at_the_end_of_a_quarantine(servers& three) {
    for (redis_server& one : three) {
        one.restart();
    }
    client locks(co_await asio::this_coro::executor, with_quarantine(three, 3s));
    co_await async_wait_until([&] {
        const auto all = locks.instances();
        return std::ranges::all_of(
            all, [](const instance_info& one) { return one.state == instance_state::quarantined; });
    });
    std::vector<steady_clock::time_point> ends;
    for (const instance_info& one : locks.instances()) {
        ends.push_back(one.quarantined_until);
    }
    std::ranges::sort(ends);
    const auto quorum_is_back = ends[1];
    const auto deadline = quorum_is_back + 50ms;

    lock_options first = with_ttl(1s);
    lock_options second = with_ttl(1s);
    second.unavailable_timeout = 0ms;
    std::vector<error> told;
    mutex(locks, "x", first).try_acquire_until(deadline, [&](error e, const lease&) {
        told.push_back(std::move(e));
    });
    mutex(locks, "x", second).acquire([&](error e, lease) { told.push_back(std::move(e)); });
    co_await mutex(locks, "y", with_ttl(1s))
        .try_acquire(asio::as_tuple);  // Makes the client read the time.
    co_await async_wait_until([&] { return steady_clock::now() > quorum_is_back - 200ms; });
    const bool in_time = steady_clock::now() < quorum_is_back;
    std::this_thread::sleep_until(deadline + 10ms);
    co_await async_wait_until([&] { return told.size() == 2; });
    if (!in_time) {
        told.clear();
    }
    co_return told;
}

/// The first waiter has timed out when a quorum is back. The second acquires the lock.
BOOST_AUTO_TEST_CASE(the_end_of_the_quarantine_skips_a_timed_out_waiter) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        std::vector<error> told;
        for (int attempts = 0; told.empty() && attempts != 5; ++attempts) {
            told = co_await told_at_the_end_of_a_quarantine(three);
        }
        BOOST_TEST_REQUIRE(told.size() == 2U);
        BOOST_TEST((told.front() == errc::no_quorum), told.front().message());
        BOOST_TEST(!told.back(), told.back().message());
    }());
}

/// Otherwise a restarted server could grant a lock that it has lost a second time.
BOOST_AUTO_TEST_CASE(no_ttl_may_be_longer_than_the_quarantine) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, with_quarantine(three, 1s));
        BOOST_TEST(field_refused([&] { mutex(locks, "x", with_ttl(1001ms)); }) == "ttl");
        lock_options patient = with_ttl(1s);
        patient.unavailable_timeout = 1min;
        lease held = co_await mutex(locks, "x", patient).acquire();
        const auto [refused] = co_await held.extend(1001ms, asio::as_tuple);
        BOOST_TEST((refused == errc::invalid_argument), refused.message());
        co_await held.extend(1s);
        BOOST_TEST(held.valid());

        client by_default(executor, config::from_uris(three.uris()));
        mutex(by_default, "x", with_ttl(10s));
        BOOST_TEST(field_refused([&] { mutex(by_default, "x", with_ttl(10001ms)); }) == "ttl");
        client one(executor, config::from_uris({three[0].uri()}));
        mutex(one, "x", with_ttl(24h));
        client trusting(executor, with_quarantine(three, 0s));
        mutex(trusting, "x", with_ttl(24h));
    }());
}

/// A server that others replace at the same address, and an instance that was ready on the first of them.
struct replaced_server {
    explicit replaced_server(milliseconds quarantine)
        : rig(process->uri(), quarantined_for(quarantine)) {
        rig.run_until_ready();
    }
    void ends() {
        process.reset();
        run_until_down(rig);
    }
    void becomes(char run_id) {
        if (process) {
            ends();
        }
        process.emplace(server_at(where, run_id));
    }

    const reserved_port where{};
    std::optional<fake_server> process{server_at(where, 'a')};
    instance_rig rig;
};

/// Another server takes over the address. It has been up for a long time, and does not have the locks of the
/// first.
BOOST_AUTO_TEST_CASE(another_server_at_the_same_address_is_quarantined) {
    replaced_server server(2s);
    instance_rig& rig = server.rig;
    server.ends();
    const auto before = steady_clock::now();
    server.becomes('b');
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until >= before + 2s));
    BOOST_TEST(rig.acquire("k", "ann") == "failed: quarantined");
    const std::string why = rig.status().why_quarantined;
    BOOST_TEST(contains(why, "run_id is " + std::string(40, 'b')), why);
    BOOST_TEST(contains(why, "was " + std::string(40, 'a')), why);
    BOOST_TEST(contains(why, ", grants locks in "), why);
    rig.run_until_ready();
    BOOST_TEST((steady_clock::now() >= before + 2s));
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_reconnect_continues_the_quarantine_of_a_different_server) {
    replaced_server server(1min);
    instance_rig& rig = server.rig;
    server.becomes('b');
    run_until_quarantined(rig);
    const auto end = rig.status().quarantined_until;
    server.becomes('b');
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until == end));
    BOOST_TEST(contains(rig.status().why_quarantined, "was " + std::string(40, 'a')));
    // The first server is back. In between, other clients may have acquired locks on the second one.
    server.becomes('a');
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until > end));
    BOOST_TEST(contains(rig.status().why_quarantined, "was " + std::string(40, 'b')));
}

BOOST_AUTO_TEST_CASE(a_reconnect_to_the_same_server_causes_no_quarantine) {
    replaced_server server(1min);
    for (int connection = 0; connection != 3; ++connection) {
        server.becomes('a');
        server.rig.run_until_ready();
    }
    BOOST_TEST((server.rig.status().quarantined_until == steady_clock::time_point::min()));
}

/// Without a run_id, the client must assume a different server.
BOOST_AUTO_TEST_CASE(a_server_without_a_run_id_is_quarantined_on_reconnect) {
    replaced_server server(1min);
    instance_rig& rig = server.rig;
    server.ends();
    server.process.emplace(
        [](const fake_server::words& command) {
            return command[0] == "INFO" ? bulk_string("# Server\r\nuptime_in_seconds:86400\r\n")
                                        : answer_as_server(command);
        },
        server.where.number());
    run_until_quarantined(rig);
    BOOST_TEST(contains(rig.status().why_quarantined, "reports no run_id"),
               rig.status().why_quarantined);
}

BOOST_AUTO_TEST_CASE(a_different_server_grants_locks_if_no_quarantine_is_set) {
    replaced_server server(0ms);
    instance_rig& rig = server.rig;
    server.becomes('b');
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

/// This also applies to a single server, if a quarantine is configured.
BOOST_AUTO_TEST_CASE(the_error_reports_that_the_server_is_different) {
    run_test([]() -> asio::awaitable<void> {
        const reserved_port where;
        std::optional<fake_server> server(server_at(where, 'a'));
        config configuration;
        configuration.instances = {server->uri()};
        configuration.restart_quarantine = 1min;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        server.reset();
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::down; });
        server.emplace(server_at(where, 'b'));
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        const auto [e, nothing] = co_await mutex(locks, "x").try_acquire(asio::as_tuple);
        BOOST_TEST((e == errc::no_quorum));
        BOOST_TEST(!nothing.owns_lock());
        BOOST_TEST(
            contains(e.details(), "quarantined, it is a different server, its run_id is " +
                                      std::string(40, 'b') + " and was " + std::string(40, 'a')),
            e.details());
        BOOST_TEST(contains(e.details(), ", grants locks in "), e.details());
        BOOST_TEST(contains(e.details(), " s (restart_quarantine)]"), e.details());
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(only_three_or_more_instances_are_quarantined_by_default) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        const auto executor = co_await asio::this_coro::executor;
        client all(executor, config::from_uris(three.uris()));
        client two(executor, config::from_uris({three[0].uri(), three[1].uri()}));
        client one(executor, config::from_uris({three[0].uri()}));
        co_await all_ready(two);
        co_await all_ready(one);
        const lease held = co_await mutex(two, "x").acquire();
        co_await async_wait_until(
            [&] { return all.instances()[2].state == instance_state::quarantined; });
        BOOST_TEST((all.instances()[2].quarantined_until > steady_clock::now() + 5s));
        BOOST_TEST(ready_instances(all) == 0U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()
