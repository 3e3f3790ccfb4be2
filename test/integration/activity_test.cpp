// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The leases and the waiters that a client reports.

#include "integration/locks.hpp"
#include "support/contains.hpp"

#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

BOOST_FIXTURE_TEST_SUITE(activity_test, colock::test::shared_servers<3>)

using namespace colock;
using namespace colock::test;
using std::chrono::steady_clock;

/// A client with a label.
config labelled(config configuration) {
    configuration.label = "worker-7";
    return configuration;
}

BOOST_AUTO_TEST_CASE(a_client_lists_its_leases) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor,
                     labelled(patient_config(instances.config())));
        BOOST_TEST((co_await locks.leases()).empty());
        lock_options fenced = with_ttl(10s);
        fenced.fencing = true;
        const auto before = steady_clock::now();
        lease held = co_await mutex(locks, "x", fenced).acquire();
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        const lease_info& one = all.front();
        BOOST_TEST(one.resource == "x");
        BOOST_TEST(one.token == held.token());
        BOOST_TEST(one.label == "worker-7");
        BOOST_TEST(one.fence == held.fence());
        BOOST_TEST(one.holders == 1U);
        BOOST_TEST(!one.is_shared);
        BOOST_TEST(!one.is_lost);
        BOOST_TEST((one.since >= before && one.since <= steady_clock::now()));
        BOOST_TEST((one.valid_until == held.valid_until()));
        BOOST_TEST(one.answers == "");
        co_await held.release();
        BOOST_TEST((co_await locks.leases()).empty());
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(readers_that_share_a_lease_are_counted) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        const shared_mutex lock(locks, "x", with_ttl(10s));
        lease first = co_await lock.acquire_shared();
        lease second = co_await lock.share(first);
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        BOOST_TEST(all.front().holders == 2U);
        BOOST_TEST(all.front().is_shared);
        co_await second.release();  // The newest leaves, and the lease goes on.
        const std::vector<lease_info> rest = co_await locks.leases();
        BOOST_TEST_REQUIRE(rest.size() == 1U);
        BOOST_TEST(rest.front().holders == 1U);
        BOOST_TEST((rest.front().valid_until == first.valid_until()));
        BOOST_TEST(rest.front().is_shared);
        co_await first.release();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_lost_lease_is_listed_until_its_release) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        lease held = co_await mutex(locks, "x", renewed_every(50ms, 10s)).acquire();
        for (const auto& server : instances) {
            server.command({"SET", "x", "somebody else", "PX", "10000"});
        }
        co_await held.wait_lost();
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        BOOST_TEST(all.front().is_lost);
        BOOST_TEST((all.front().valid_until == steady_clock::time_point::min()));
        BOOST_TEST(contains(all.front().answers, "'x': 0 of 3 instances confirmed"),
                   all.front().answers);
        BOOST_TEST(all.front().answers == held.loss().message());
        co_await held.release();
        BOOST_TEST((co_await locks.leases()).empty());
        instances.flush();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_lost_without_votes_is_listed_with_the_reason) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        lock_options options = with_ttl(10s);
        options.max_hold = 1s;
        options.loss_margin = 500ms;  // After this time, the lease is no longer listed.
        lease held = co_await mutex(locks, "x", options).acquire();
        co_await held.wait_lost();
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        BOOST_TEST(all.front().answers == held.loss().message());
        co_await held.release();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_semaphore_lease_is_listed_with_its_label) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor,
                     labelled(patient_config(instances.config())));
        lease held = co_await semaphore(locks, "x", 3, with_ttl(10s)).acquire();
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        BOOST_TEST(all.front().label == "worker-7");
        co_await held.release();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_renewal_that_some_instance_misses_is_reported) {
    run_test([&]() -> asio::awaitable<void> {
        servers three(3);
        client locks(co_await asio::this_coro::executor, three.config());
        co_await all_ready(locks);
        lease held = co_await mutex(locks, "x", renewed_every(50ms, 10s)).acquire();
        three[2].kill();
        co_await async_wait_until(
            [&] { return locks.instances()[2].state != instance_state::ready; });
        const std::uint64_t renewed = locks.counters().renewed;
        co_await async_wait_until([&] { return locks.counters().renewed >= renewed + 2; });
        const std::vector<lease_info> all = co_await locks.leases();
        BOOST_TEST_REQUIRE(all.size() == 1U);
        BOOST_TEST(contains(all.front().answers, "'x': 2 of 3 instances confirmed"),
                   all.front().answers);
        co_await held.release();
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_CASE(a_client_lists_its_waiters) {
    run_test([&]() -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        client holder(executor, labelled(patient_config(instances.config())));
        client locks(executor, patient_config(instances.config()));
        lease held = co_await mutex(holder, "x", with_ttl(10s)).acquire();
        const mutex lock(locks, "x", with_ttl(10s));
        pending_acquire first;
        first.start(lock);
        co_await async_wait_until([&] { return locks.counters().contended >= 1; });
        pending_acquire second;
        second.start(lock);
        co_await async_wait_until([&] { return locks.counters().queued == 1; });
        std::vector<waiter_info> all = co_await locks.waiters();
        BOOST_TEST_REQUIRE(all.size() == 2U);
        std::ranges::sort(all, {}, &waiter_info::is_queued);
        BOOST_TEST(all[0].resource == "x");
        BOOST_TEST(all[0].label == "");
        BOOST_TEST(!all[0].is_queued);
        BOOST_TEST(contains(all[0].answers, "denied"), all[0].answers);
        BOOST_TEST(all[1].is_queued);
        BOOST_TEST((all[0].since <= all[1].since && all[1].since <= steady_clock::now()));
        BOOST_TEST((co_await locks.leases()).empty());
        co_await held.release();
        co_await async_wait_until([&] { return first.result.has_value(); });
        co_await first.granted.release();
        co_await async_wait_until([&] { return second.result.has_value(); });
        co_await second.granted.release();
        BOOST_TEST((co_await locks.waiters()).empty());
        co_await locks.close();
        co_await holder.close();
    }());
}

BOOST_AUTO_TEST_CASE(any_thread_may_ask_a_thread_safe_client) {
    asio::io_context context;
    auto work = asio::make_work_guard(context);
    std::thread runs([&] { context.run(); });
    {
        config shared = patient_config(instances.config());
        shared.thread_safe = true;
        client locks(context, shared);
        lease held = mutex(locks, "x", with_ttl(10s)).acquire(asio::use_future).get();
        BOOST_TEST(locks.leases(asio::use_future).get().size() == 1U);
        BOOST_TEST(locks.waiters(asio::use_future).get().empty());
        held.release(asio::use_future).get();
        locks.close(asio::use_future).get();
    }
    work.reset();
    runs.join();
}

BOOST_AUTO_TEST_CASE(a_client_that_was_moved_from_has_no_list) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, patient_config(instances.config()));
        client other = std::move(locks);
        // NOLINTBEGIN(bugprone-use-after-move): the subject of the test
        const auto [no_leases, leases] = co_await locks.leases(asio::as_tuple);
        BOOST_TEST((no_leases == errc::client_closed));
        const auto [no_waiters, waiters] = co_await locks.waiters(asio::as_tuple);
        BOOST_TEST((no_waiters == errc::client_closed));
        // NOLINTEND(bugprone-use-after-move)
        BOOST_TEST(leases.empty());
        BOOST_TEST(waiters.empty());
        co_await other.close();
        BOOST_TEST((co_await other.leases()).empty());
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
