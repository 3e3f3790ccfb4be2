// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The events that an observer receives.

#include "integration/locks.hpp"
#include "support/redis_cluster.hpp"

#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(observer_test)

namespace {

using namespace colock;
using namespace colock::test;

/// Counts the events, as the counters of a client do. It needs no mutex, because one function runs at a time.
class recorder final : public observer {
public:
    void on_acquired(const acquired_event& event) noexcept override {
        ++acquired;
        last_resource = event.resource;
        last_token = event.token;
        last_fence = event.fence;
        if (then) {
            then();
        }
    }
    void on_denied(const denied_event& event) noexcept override {
        ++(event.is_contended ? contended : unavailable);
        last_resource = event.resource;
    }
    void on_lost(const lost_event& event) noexcept override {
        lost += event.holders;
        last_resource = event.resource;
        last_token = event.token;
        reason = event.reason;
    }
    void on_instance_changed(const instance_changed_event& event) noexcept override {
        const std::string_view state = to_string(event.instance.state);
        changes.append(std::to_string(event.index)).append(" ").append(state) += "\n";
        last_instance = event.instance;
    }
    void on_blocked(const blocked_event& event) noexcept override { blocked.push_back(event.time); }

    std::uint64_t acquired = 0;
    std::uint64_t contended = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t lost = 0;
    std::string last_resource;
    std::string last_token;
    std::uint64_t last_fence = 0;
    error reason;
    std::string changes;  ///< One line for each.
    instance_info last_instance;
    std::vector<std::chrono::nanoseconds> blocked;
    std::function<void()> then;  ///< Called in `on_acquired`.
    lease kept;
};

/// Expects that the observer was told of all that the client has counted.
void expect_as_counted(const recorder& told, const client& by) {
    const counters counted = by.counters();
    BOOST_TEST(told.acquired == counted.acquired);
    BOOST_TEST(told.contended == counted.contended);
    BOOST_TEST(told.unavailable == counted.unavailable);
    BOOST_TEST(told.lost == counted.lost);
}

config observed_by(const std::shared_ptr<recorder>& told, config configuration) {
    configuration.observer = told;
    return configuration;
}

config in_memory(const std::string& name) {
    return config::from_uris({"memory://" + name});
}

}  // namespace

// --- In memory ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_kind_of_lock_is_reported_as_it_is_counted) {
    run_test([]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        const auto executor = co_await asio::this_coro::executor;
        client locks(executor, observed_by(told, in_memory("kinds")));
        client others(executor, in_memory("kinds"));
        BOOST_TEST(told->acquired == 0U);
        {
            lease held = co_await mutex(locks, "mutex").acquire();
            BOOST_TEST(told->last_resource == "mutex");
            BOOST_TEST(told->last_token == held.token());
            const auto denied = co_await mutex(locks, "mutex").try_acquire();
            BOOST_TEST(!denied);
        }
        {
            lock_owner anna;
            const reentrant_mutex lock(locks, "reentrant");
            lease outer = co_await lock.acquire(anna);
            lease inner = co_await lock.acquire(anna);
            BOOST_TEST(is_held(lock.try_reenter(anna)));
        }
        {
            lock_options fenced;
            fenced.fencing = true;
            const shared_mutex lock(locks, "shared", fenced);
            lease first = co_await lock.acquire_shared();
            lease second = co_await lock.share(first);
            BOOST_TEST(told->last_fence == second.fence());
        }
        {
            lease several = co_await semaphore(locks, "permits", 5).acquire(3);
            const multi_mutex both(locks, {"a", "b"});
            lease all = co_await both.acquire();
            BOOST_TEST(told->last_resource == "a, b");
        }
        {
            lease given = co_await mutex(others, "handover").acquire();
            const std::string text = co_await given.detach();
            lease adopted = co_await adopt(locks, text);
        }
        {
            lease theirs = co_await mutex(others, "taken").acquire();
            const auto denied = co_await mutex(locks, "taken").try_acquire();
            BOOST_TEST(!denied);
            BOOST_TEST(told->last_resource == "taken");
        }
        co_await async_wait_until([&] { return locks.counters().acquired == told->acquired; });
        BOOST_TEST(told->acquired == 9U);
        BOOST_TEST(told->contended == 1U);
        expect_as_counted(*told, locks);
        co_await others.close();
        co_await locks.close();
        BOOST_TEST(told->changes == "0 ready\n0 closed\n");
    }());
}

BOOST_AUTO_TEST_CASE(the_end_of_a_client_is_reported) {
    const auto told = std::make_shared<recorder>();
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, observed_by(told, in_memory("end")));
        lease held = co_await mutex(locks, "x").acquire();
        locks.close([](error) {});
        co_await async_wait_until([&] { return told->lost == 1; });
        BOOST_TEST((told->reason == errc::client_closed));
        BOOST_TEST(told->last_token == held.token());
        co_await held.release();
        co_await async_wait_until([&] { return told->changes == "0 ready\n0 closed\n"; });
        expect_as_counted(*told, locks);
    }());
    BOOST_TEST(told.use_count() == 1);
}

// The observer, the lease and the client would own each other for ever.
BOOST_AUTO_TEST_CASE(an_observer_may_own_a_lease) {
    const auto told = std::make_shared<recorder>();
    run_test([](std::shared_ptr<recorder> owner) -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, observed_by(owner, in_memory("own")));
        owner->kept = co_await mutex(locks, "x").acquire();
        const std::weak_ptr<recorder> observed = std::exchange(owner, nullptr);
        locks.close([](error) {});
        co_await async_wait_until([&] { return observed.use_count() == 1; });
    }(told));
    BOOST_TEST(told.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(clients_may_share_an_observer) {
    run_test([]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        const auto executor = co_await asio::this_coro::executor;
        client one(executor, observed_by(told, in_memory("share")));
        client two(executor, observed_by(told, in_memory("share")));
        lease first = co_await mutex(one, "x").acquire();
        lease second = co_await mutex(two, "y").acquire();
        BOOST_TEST(told->acquired == 2U);
    }());
}

BOOST_AUTO_TEST_CASE(an_observer_may_destroy_the_client_and_start_operations) {
    run_test([]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        std::optional<client> locks(std::in_place, co_await asio::this_coro::executor,
                                    observed_by(told, in_memory("destroy")));
        std::optional<error> second;
        told->then = [&] {
            if (locks) {
                mutex(*locks, "y").acquire([&](error result, lease) { second = result; });
                locks.reset();
            }
        };
        lease held = co_await mutex(*locks, "x").acquire();
        co_await async_wait_until([&] { return second.has_value(); });
        BOOST_TEST((*second == errc::client_closed));
        BOOST_TEST(!locks);
    }());
}

BOOST_AUTO_TEST_CASE(functions_that_are_not_overridden_do_nothing) {
    class deaf final : public observer {};
    run_test([]() -> asio::awaitable<void> {
        config configuration = in_memory("deaf");
        configuration.observer = std::make_shared<deaf>();
        client locks(co_await asio::this_coro::executor, configuration);
        lease held = co_await mutex(locks, "x").acquire();
        const auto denied = co_await mutex(locks, "x").try_acquire();
        BOOST_TEST(!denied);
        co_await held.release();
        co_await locks.close();
    }());
}

// ThreadSanitizer finds two functions that run at the same time.
BOOST_AUTO_TEST_CASE(with_several_threads_one_function_runs_at_a_time) {
    const auto told = std::make_shared<recorder>();
    config configuration = observed_by(told, in_memory("threads"));
    configuration.thread_safe = true;
    asio::thread_pool pool(4);
    client locks(pool.get_executor(), configuration);
    for (int task = 0; task != 8; ++task) {
        asio::co_spawn(
            pool,
            [](client& by, int number) -> asio::awaitable<void> {
                const mutex lock(by, "x" + std::to_string(number % 3));
                for (int i = 0; i != 100; ++i) {
                    lease held = co_await lock.acquire();
                    co_await held.release();
                }
            }(locks, task),
            [](const std::exception_ptr& failure) {
                if (failure) {
                    std::rethrow_exception(failure);
                }
            });
    }
    wait_until([&] { return locks.counters().released == 800; });
    locks.close([](error) {});
    pool.join();
    expect_as_counted(*told, locks);
}

BOOST_AUTO_TEST_CASE(a_blocked_event_loop_is_reported) {
    run_test([]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        config configuration = observed_by(told, in_memory("blocked"));
        configuration.blocked_threshold = 100ms;
        client locks(co_await asio::this_coro::executor, configuration);
        const auto is_reported = [&] {
            return std::ranges::any_of(told->blocked, [](auto time) { return time >= 375ms; });
        };
        lease held = co_await mutex(locks, "x").acquire();  // The loop runs.
        std::this_thread::sleep_for(400ms);
        co_await async_wait_until(is_reported);
    }());
}

BOOST_AUTO_TEST_CASE(a_threshold_of_zero_means_never) {
    run_test([]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        config configuration = observed_by(told, in_memory("never"));
        configuration.blocked_threshold = 0ms;
        client locks(co_await asio::this_coro::executor, configuration);
        lease held = co_await mutex(locks, "x").acquire();  // The loop runs.
        std::this_thread::sleep_for(200ms);
        co_await held.release();
        co_await locks.close();
        BOOST_TEST(told->blocked.empty());
    }());
}

// --- On servers ---------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_loss_is_reported_with_the_error_that_the_holder_gets, shared_servers<3>) {
    run_test([&]() -> asio::awaitable<void> {
        const auto told = std::make_shared<recorder>();
        client locks(co_await asio::this_coro::executor,
                     observed_by(told, patient_config(instances.config())));
        lease held = co_await mutex(locks, "x", renewed_every(20ms, 10s)).acquire();
        for (redis_server& one : instances) {
            one.command({"SET", "x", "somebody else"});
        }
        co_await held.wait_lost();
        BOOST_TEST(told->lost == 1U);
        BOOST_TEST((told->reason == errc::lease_lost));
        BOOST_TEST(told->reason.message() == held.loss().message());
        BOOST_TEST(told->last_resource == "x");
        BOOST_TEST(told->last_token == held.token());
        co_await held.release();
        co_await locks.close();
        expect_as_counted(*told, locks);
    }());
}

BOOST_AUTO_TEST_CASE(a_server_that_dies_and_comes_back_is_reported) {
    run_test([]() -> asio::awaitable<void> {
        servers one(1);
        const auto told = std::make_shared<recorder>();
        config configuration = observed_by(told, one.config());
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return told->changes.ends_with("0 ready\n"); });
        BOOST_TEST(told->last_instance.address == one[0].uri());
        BOOST_TEST(told->last_instance.version != "");
        one[0].kill();
        co_await async_wait_until([&] { return told->changes.ends_with("0 ready\n0 down\n"); });
        BOOST_TEST(told->last_instance.reason != "");
        one[0].restart();
        co_await async_wait_until(
            [&] { return told->changes.ends_with("0 ready\n0 down\n0 ready\n"); });
        co_await locks.close();
    }());
}

// The end of the quarantine has no notification.
BOOST_AUTO_TEST_CASE(a_cluster_that_dies_and_comes_back_is_reported) {
    run_test([]() -> asio::awaitable<void> {
        redis_cluster nodes(1);
        const auto told = std::make_shared<recorder>();
        config configuration = observed_by(told, config::from_uris({nodes.uri()}));
        configuration.restart_quarantine = 1s;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return told->changes.ends_with("0 ready\n"); });
        BOOST_TEST(told->last_instance.address == nodes.uri());
        told->changes.clear();
        nodes[0].kill();
        co_await async_wait_until([&] { return told->changes == "0 down\n"; });
        nodes[0].restart();
        co_await async_wait_until(
            [&] { return told->changes == "0 down\n0 quarantined\n0 ready\n"; });
        co_await locks.close();
    }());
}

// The instance never becomes ready in between.
BOOST_AUTO_TEST_CASE(a_server_that_dies_in_its_quarantine_is_reported) {
    run_test([]() -> asio::awaitable<void> {
        servers one(1);
        const auto told = std::make_shared<recorder>();
        config configuration = observed_by(told, one.config());
        configuration.restart_quarantine = 1h;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return told->changes.ends_with("0 quarantined\n"); });
        BOOST_TEST(told->last_instance.reason != "");
        one[0].kill();
        co_await async_wait_until(
            [&] { return told->changes.ends_with("0 quarantined\n0 down\n"); });
        one[0].restart();
        co_await async_wait_until(
            [&] { return told->changes.ends_with("0 quarantined\n0 down\n0 quarantined\n"); });
        co_await locks.close();
    }());
}

BOOST_AUTO_TEST_SUITE_END()
