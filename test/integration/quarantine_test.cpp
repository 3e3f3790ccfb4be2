// What becomes of mutual exclusion when servers forget.

#include "integration/instance_rig.hpp"
#include "integration/locks.hpp"
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

namespace {

using namespace std::chrono_literals;
using namespace colock;
using namespace colock::test;

config with_quarantine(const servers& instances, milliseconds length) {
    config configuration = instances.config();
    configuration.restart_quarantine = length;
    return configuration;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// A server that has been up for a day, at that port.
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

}  // namespace

BOOST_AUTO_TEST_SUITE(quarantine_test)

/// What is held goes on, and what is let go is.
BOOST_AUTO_TEST_CASE(a_lease_outlives_the_restart_of_a_minority) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, with_quarantine(three, 2s));
        co_await async_wait_until([&] { return ready_instances(locks) == 3; });
        lease held = co_await mutex(locks, "x", with_ttl(1s)).acquire();
        three[0].restart();
        co_await async_wait_until(
            [&] { return locks.instances()[0].state == instance_state::quarantined; });
        const instance_info restarted = locks.instances()[0];
        BOOST_TEST((restarted.quarantined_until > steady_clock::now()));
        BOOST_TEST((restarted.quarantined_until < steady_clock::now() + 3s));
        BOOST_TEST(to_string(restarted.state) == "quarantined");
        // Others are still granted by the rest, a quorum.
        const lease another = co_await mutex(locks, "y", with_ttl(1s)).acquire();
        BOOST_TEST(!three[0].has("y"));
        co_await all_ready(locks);
        BOOST_TEST((steady_clock::now() >= restarted.quarantined_until));
        // The watchdog has kept it all the while, and puts it back on the one that had forgotten.
        co_await async_wait_until([&] { return three[0].has("x"); });
        BOOST_TEST(held.valid());
        const auto result = co_await held.release();
        BOOST_TEST((result == release_result::released));
    }());
}

/// As soon as it can be, not only after the quarantine: by then others may have failed, and the lease
/// would be lost.
BOOST_AUTO_TEST_CASE(what_is_held_is_put_back_in_quarantine) {
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

/// A server counts the seconds of its wall clock that have begun: it may say "a second" a moment after
/// it was started.
BOOST_AUTO_TEST_CASE(a_server_that_says_it_has_been_up_for_longer_than_it_has) {
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

BOOST_AUTO_TEST_CASE(who_waits_is_told_why_and_woken_at_its_end) {
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
        BOOST_TEST(e.details().find("in quarantine: it had been up for only ") != std::string::npos,
                   e.details());
        lock_options patient = with_ttl(4s);
        patient.unavailable_timeout = 1min;
        patient.retry.initial = patient.retry.maximum = 1min;
        const lease held = co_await mutex(locks, "x", patient).acquire();
        BOOST_TEST(held.valid());
        co_await all_ready(locks);
    }());
}

/// Two want a name; the first one's time is up just after its servers' quarantine, and the loop does something
/// else until all that is over. What they are told; nothing if the machine was too slow for that.
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
    first.unavailable_timeout = 1min;
    first.retry.initial = first.retry.maximum = 1min;
    lock_options second = with_ttl(1s);
    second.unavailable_timeout = 0ms;
    std::vector<error> told;
    mutex(locks, "x", first).try_acquire_until(deadline, [&](error e, std::optional<lease>) {
        told.push_back(std::move(e));
    });
    mutex(locks, "x", second).acquire([&](error e, lease) { told.push_back(std::move(e)); });
    co_await mutex(locks, "y", with_ttl(1s)).try_acquire(asio::as_tuple);  // so that time goes on
    co_await async_wait_until([&] { return steady_clock::now() > quorum_is_back - 5ms; });
    const bool in_time = steady_clock::now() < quorum_is_back;
    std::this_thread::sleep_until(deadline + 10ms);
    co_await async_wait_until([&] { return told.size() == 2; });
    if (!in_time) {
        told.clear();
    }
    co_return told;
}

/// The first fails for good in the moment in which there is a quorum again, and the other with it, while all who
/// attempt are told.
BOOST_AUTO_TEST_CASE(who_fails_at_its_end_takes_others_along) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        std::vector<error> told;
        for (int attempts = 0; told.empty() && attempts != 5; ++attempts) {
            told = co_await told_at_the_end_of_a_quarantine(three);
        }
        BOOST_TEST(told.size() == 2U);
        for (const error& e : told) {
            BOOST_TEST((e == errc::no_quorum), e.message());
        }
    }());
}

/// Else a server that has restarted would grant a lock again that it has forgotten.
BOOST_AUTO_TEST_CASE(no_lock_may_live_for_longer) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, with_quarantine(three, 1s));
        BOOST_TEST(field_refused([&] { mutex(locks, "x", with_ttl(1001ms)); }) == "ttl");
        lock_options patient = with_ttl(1s);
        patient.unavailable_timeout = 1min;
        lease held = co_await mutex(locks, "x", patient).acquire();
        BOOST_TEST(field_refused([&] { held.extend(1001ms, [](error) {}); }) == "ttl");
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

/// An address comes to mean another server, which has been up for long, and knows nothing of our locks.
BOOST_AUTO_TEST_CASE(another_server_at_the_same_address) {
    const reserved_port where;
    std::optional<fake_server> server(server_at(where, 'a'));
    instance_rig rig(server->uri(), quarantined_for(2s));
    rig.run_until_ready();
    server.reset();
    run_until_down(rig);
    const auto before = steady_clock::now();
    server.emplace(server_at(where, 'b'));
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until >= before + 2s));
    BOOST_TEST(rig.acquire("k", "ann") == "failed: quarantined");
    const std::string why = rig.status().why_quarantined;
    BOOST_TEST(contains(why, "run_id " + std::string(40, 'b')), why);
    BOOST_TEST(contains(why, "was " + std::string(40, 'a')), why);
    BOOST_TEST(contains(why, "restart_quarantine ends in "), why);
    rig.run_until_ready();
    BOOST_TEST((steady_clock::now() >= before + 2s));
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_quarantine_goes_on_when_the_other_server_is_connected_to_again) {
    const reserved_port where;
    std::optional<fake_server> server(server_at(where, 'a'));
    instance_rig rig(server->uri(), quarantined_for(1min));
    rig.run_until_ready();
    server.reset();
    run_until_down(rig);
    server.emplace(server_at(where, 'b'));
    run_until_quarantined(rig);
    const auto end = rig.status().quarantined_until;
    server.reset();
    run_until_down(rig);
    server.emplace(server_at(where, 'b'));
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until == end));
    BOOST_TEST(contains(rig.status().why_quarantined, "was " + std::string(40, 'a')));
    // The first one is back: others may have taken locks on the second meanwhile.
    server.reset();
    run_until_down(rig);
    server.emplace(server_at(where, 'a'));
    run_until_quarantined(rig);
    BOOST_TEST((rig.status().quarantined_until > end));
    BOOST_TEST(contains(rig.status().why_quarantined, "was " + std::string(40, 'b')));
}

BOOST_AUTO_TEST_CASE(the_same_server_again_is_trusted) {
    const reserved_port where;
    std::optional<fake_server> server(server_at(where, 'a'));
    instance_rig rig(server->uri(), quarantined_for(1min));
    for (int connection = 0; connection != 3; ++connection) {
        rig.run_until_ready();
        server.reset();
        run_until_down(rig);
        server.emplace(server_at(where, 'a'));
    }
    rig.run_until_ready();
    BOOST_TEST((rig.status().quarantined_until == steady_clock::time_point::min()));
}

/// Nobody can tell whether it is the same one.
BOOST_AUTO_TEST_CASE(a_server_without_a_run_id_is_not_trusted_a_second_time) {
    const reserved_port where;
    std::optional<fake_server> server(server_at(where, 'a'));
    instance_rig rig(server->uri(), quarantined_for(1min));
    rig.run_until_ready();
    server.reset();
    run_until_down(rig);
    server.emplace(
        [](const fake_server::words& command) {
            return command[0] == "INFO" ? bulk_string("# Server\r\nuptime_in_seconds:86400\r\n")
                                        : answer_as_server(command);
        },
        where.number());
    run_until_quarantined(rig);
    BOOST_TEST(contains(rig.status().why_quarantined, "tells no run_id"),
               rig.status().why_quarantined);
}

BOOST_AUTO_TEST_CASE(another_server_without_a_quarantine) {
    const reserved_port where;
    std::optional<fake_server> server(server_at(where, 'a'));
    instance_rig rig(server->uri(), quarantined_for(0ms));
    rig.run_until_ready();
    server.reset();
    run_until_down(rig);
    server.emplace(server_at(where, 'b'));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

/// With one server, too, if the user has asked for a quarantine.
BOOST_AUTO_TEST_CASE(the_error_tells_of_another_server) {
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
        BOOST_TEST(!nothing.has_value());
        BOOST_TEST(contains(e.details(), "in quarantine: it has run_id " + std::string(40, 'b') +
                                             ", and was " + std::string(40, 'a')),
                   e.details());
        BOOST_TEST(contains(e.details(), "restart_quarantine ends in "), e.details());
        BOOST_TEST(contains(e.details(), " s)"), e.details());
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(by_default_for_three_and_not_for_less) {
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
