// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/client_process.hpp"
#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <optional>
#include <string>

// Ownership and time: a holder that was stalled for longer than its ttl must not treat the lock as its own.

namespace {

BOOST_FIXTURE_TEST_SUITE(ownership_test, colock::test::shared_servers_far_away<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using way = tcp_proxy::way;

constexpr milliseconds ttl = 500ms;

/// Checks that B's lease is valid and that every server has its key.
void check_untouched(servers& instances, const lease& b) {
    BOOST_TEST(b.valid());
    for (const redis_server& server : instances) {
        BOOST_TEST(server.command({"GET", "x"}).value_or("nothing") == b.token());
    }
}

/// Waits until A's keys have expired, and acquires the lock for B on all servers.
asio::awaitable<lease> take_over(client& others, servers& instances) {
    co_await async_wait_until([&] { return instances.holding("x") == 0; });
    lease b = co_await mutex(others, "x").acquire();
    co_await async_wait_until([&] { return idle(others); });
    check_untouched(instances, b);
    co_return b;
}

BOOST_AUTO_TEST_CASE(the_release_of_an_expired_holder_leaves_its_successor_alone,
                     *label("fault-18")) {
    for (const lock_options& options : {without_watchdog(ttl), with_ttl(ttl)}) {
        run_test([&]() -> asio::awaitable<void> {
            client locks(co_await asio::this_coro::executor, quiet_config());
            client others(co_await asio::this_coro::executor, instances.config());
            co_await all_ready(others);
            lease a = co_await mutex(locks, "x", options).acquire();
            for (auto& link : network) {  // No renewal arrives.
                link.drop();
            }
            const lease b = co_await take_over(others, instances);
            BOOST_TEST(!a.valid());
            for (auto& link : network) {
                link.resume();
            }
            co_await all_ready(locks);
            const auto [extended] = co_await a.extend(1min, asio::as_tuple);
            BOOST_TEST((extended == condition::lost), extended.message());
            const auto [e, result] = co_await a.release(asio::as_tuple);
            BOOST_TEST((result != release_result::released));
            co_await settled(locks);
            check_untouched(instances, b);
            a = lease();
            co_await locks.close();
            check_untouched(instances, b);
        }());
        instances.flush();
    }
}

/// A's release is in flight while its ttl ends and B acquires the lock.
BOOST_AUTO_TEST_CASE(a_release_that_arrives_late_leaves_the_successor_alone, *label("fault-18")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        co_await all_ready(others);
        lease a = co_await mutex(locks, "x", without_watchdog(ttl)).acquire();
        co_await async_wait_until([&] { return idle(locks); });
        for (auto& link : network) {
            link.hold(way::to_server);
        }
        const std::size_t before = executed(instances, "evalsha");
        const auto [e, result] = co_await a.release(asio::cancel_after(1ms, asio::as_tuple));
        BOOST_TEST((e == aborted));
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.waiting() != 0; });
        }
        const lease b = co_await take_over(others, instances);
        for (auto& link : network) {
            link.resume();
        }
        co_await async_wait_until([&] { return idle(locks); });
        BOOST_TEST(executed(instances, "evalsha") >= before + 5);
        check_untouched(instances, b);
        const auto [late_error, late_result] = co_await a.release(asio::as_tuple);
        BOOST_TEST((late_error || late_result != release_result::released));
    }());
}

/// The grants stay in the sockets of a stopped process until the ttl is over.
void stop_with_grants_unread(servers& instances, proxies& network, milliseconds instance_timeout) {
    run_test([&]() -> asio::awaitable<void> {
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(others);
        config configuration = network.config();
        configuration.instance_timeout = instance_timeout;
        client_process process("x", ttl, configuration);
        const std::string ready = co_await process.ask("ready");
        BOOST_TEST(ready == "ready");
        for (auto& link : network) {
            link.hold(way::to_client);
        }
        const std::size_t before = executed(instances, "set");
        process.tell("try");
        co_await async_wait_until([&] { return executed(instances, "set") >= before + 5; });
        process.pause();
        for (auto& link : network) {
            link.resume();
            co_await async_wait_until([&] { return link.waiting() == 0; });
        }
        {
            const lease b = co_await take_over(others, instances);
            process.resume();
            const std::string answer = co_await process.wait_for_answer();
            BOOST_TEST(answer != "held");
            BOOST_TEST_MESSAGE("it says: " << answer);
            const std::string valid = co_await process.ask("valid");
            BOOST_TEST(valid == "invalid");
            const std::string again = co_await process.ask("try");
            BOOST_TEST(again == "contended");
            check_untouched(instances, b);
        }
        const std::string free = co_await process.ask("acquire");
        BOOST_TEST(free == "held");
    }());
}

/// Only the validity shows that the grants are too old.
BOOST_AUTO_TEST_CASE(a_client_stopped_with_unread_grants_rejects_them, *label("fault-19")) {
    stop_with_grants_unread(instances, network, 1min);
}

BOOST_AUTO_TEST_CASE(a_client_stopped_with_unread_grants_past_its_timeout_rejects_them,
                     *label("fault-19")) {
    stop_with_grants_unread(instances, network, 50ms);
}

BOOST_AUTO_TEST_CASE(a_holder_stopped_past_its_ttl_detects_the_loss_on_resuming,
                     *label("fault-20")) {
    run_test([&]() -> asio::awaitable<void> {
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(others);
        client_process process("x", ttl, network.config());
        const std::string held = co_await process.ask("acquire");
        BOOST_TEST(held == "held");
        const std::string valid = co_await process.ask("valid");
        BOOST_TEST(valid == "valid");
        process.pause();
        {
            const lease b = co_await take_over(others, instances);
            // The command waits in the pipe, so the process answers it first when it resumes.
            process.tell("valid");
            process.resume();
            const std::string on_waking = co_await process.wait_for_answer();
            BOOST_TEST(on_waking == "invalid");
            const std::string why = co_await process.ask("lost");
            BOOST_TEST(why == make_error_code(errc::lease_lost).message());
            const std::string released = co_await process.ask("release");
            BOOST_TEST(released != "released");
            const std::string again = co_await process.ask("try");
            BOOST_TEST(again == "contended");
            check_untouched(instances, b);
        }
        const std::string free = co_await process.ask("acquire");
        BOOST_TEST(free == "held");
    }());
}

/// The servers have granted renewals, and the holder reads the replies only after the ttl.
BOOST_AUTO_TEST_CASE(a_holder_stopped_past_its_ttl_ignores_unread_renewals, *label("fault-20")) {
    run_test([&]() -> asio::awaitable<void> {
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(others);
        client_process process("x", ttl, network.config());
        const std::string held = co_await process.ask("acquire");
        BOOST_TEST(held == "held");
        for (auto& link : network) {
            link.hold(way::to_client);
        }
        for (auto& link : network) {
            co_await async_wait_until([&] { return link.waiting() != 0; });
        }
        process.pause();
        for (auto& link : network) {
            link.resume();
        }
        const lease b = co_await take_over(others, instances);
        process.tell("valid");
        process.resume();
        const std::string on_waking = co_await process.wait_for_answer();
        BOOST_TEST(on_waking == "invalid");
        const std::string why = co_await process.ask("lost");
        BOOST_TEST(why == make_error_code(errc::lease_lost).message());
        check_untouched(instances, b);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
