// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Clients that wait for the same lock queue on one of the servers. See core::queue_ticket.

namespace {

BOOST_AUTO_TEST_SUITE(remote_queue_test)

using namespace colock;
using namespace colock::test;

std::size_t queue_length(servers& instances) {
    std::size_t length = 0;
    for (const redis_server& server : instances) {
        length += std::stoul(server.command({"LLEN", "{x}:colock:queue"}).value());
    }
    return length;
}

/// Returns the index of the server that hosts the queue.
std::size_t keeper_of(servers& instances) {
    std::size_t i = 0;
    while (!instances[i].has("{x}:colock:queue")) {
        ++i;
    }
    return i;
}

struct scene : shared_servers<5> {
    asio::any_io_executor executor;
    client other;
    lease held;

    explicit scene(asio::any_io_executor e)
        : executor(std::move(e)), other(executor, patient_config()) {}

    /// Returns a configuration with a long timeout. A busy machine may not answer within the default one. A
    /// release then fails, and a waiter gives up its ticket.
    [[nodiscard]] config patient_config(milliseconds instance_timeout = 10s) const {
        config configuration = instances.config();
        configuration.instance_timeout = instance_timeout;
        return configuration;
    }

    asio::awaitable<void> hold() {
        co_await all_ready(other);
        held = co_await mutex(other, "x", patient()).acquire();
    }

    /// Waits until the queue has this length.
    asio::awaitable<void> length_is(std::size_t length) {
        co_await async_wait_until([&] { return queue_length(instances) == length; });
    }
};

/// Runs a test in which `other` holds the lock.
template <typename Test>
void run_scene(Test test) {
    run_test([](Test body) -> asio::awaitable<void> {
        scene s(co_await asio::this_coro::executor);
        co_await s.hold();
        co_await body(s);
    }(test));
}

/// A waiter with a client of its own.
struct waiter {
    client locks;
    pending_acquire waiting;

    explicit waiter(scene& s) : waiter(s, s.patient_config()) {}
    waiter(scene& s, const config& configuration) : locks(s.executor, configuration) {}

    asio::awaitable<void> start(const lock_options& options = patient()) {
        co_await all_ready(locks);
        waiting.start(mutex(locks, "x", options));
    }
    /// Starts to wait, and returns when `before` others are ahead and no command is pending.
    asio::awaitable<void> wait_behind(scene& s, std::size_t before,
                                      const lock_options& options = patient()) {
        co_await start(options);
        co_await s.length_is(before + 1);
        co_await async_wait_until([this] { return idle(locks); });
    }
    [[nodiscard]] bool granted() const { return waiting.granted.valid(); }
    asio::awaitable<void> give_up() {
        waiting.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([this] { return waiting.result.has_value(); });
    }
    asio::awaitable<void> release() { co_await waiting.granted.release(); }
    [[nodiscard]] std::uint64_t attempts() const { return locks.counters().attempts; }
};

/// Adds the waiters to the queue, in their order.
asio::awaitable<void> wait_in_remote_queue(scene& s, std::span<waiter> queue,
                                           const lock_options& options = patient()) {
    for (std::size_t i = 0; i != queue.size(); ++i) {
        co_await queue[i].wait_behind(s, i, options);
    }
}

/// Waits until both have held the lock, in either order.
asio::awaitable<void> both_get_it(std::array<waiter, 2>& queue) {
    for (int i = 0; i != 2; ++i) {
        co_await async_wait_until([&] { return queue[0].granted() || queue[1].granted(); });
        co_await queue[queue[0].granted() ? 0 : 1].release();
    }
}

BOOST_AUTO_TEST_CASE(waiting_clients_acquire_in_the_order_of_arrival) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 4> queue{waiter(s), waiter(s), waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue);
        const stopwatch all;
        co_await s.held.release();
        for (std::size_t i = 0; i != queue.size(); ++i) {
            co_await async_wait_until([&] { return queue[i].granted(); });
            BOOST_TEST(queue[i].attempts() <=
                       3U);  // The first attempts after a second without a message.
            for (std::size_t later = i + 1; later != queue.size(); ++later) {
                BOOST_TEST(!queue[later].granted());
                BOOST_TEST(queue[later].attempts() == 1U);  // Its attempt before it joined.
            }
            co_await queue[i].release();
        }
        BOOST_TEST((all.elapsed() < soon));
        for (waiter& each : queue) {
            co_await each.locks.close();
        }
        BOOST_TEST(s.instances.keys() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(a_client_that_has_met_others_joins_before_it_tries) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        waiter first(s);
        co_await first.wait_behind(s, 0);
        waiter second(s);
        co_await second.wait_behind(s, 1);
        co_await s.held.release();
        co_await async_wait_until([&] { return first.granted(); });
        const std::uint64_t attempts = first.attempts();
        const stopwatch released;
        co_await first.release();
        first.waiting.start(mutex(first.locks, "x", patient()));
        co_await async_wait_until([&] { return second.granted(); });
        co_await async_wait_until(
            [&] { return queue_length(s.instances) == 2 || released.elapsed() >= 1s; });
        BOOST_TEST((first.attempts() == attempts || released.elapsed() >= 1s));
        co_await second.release();
        co_await async_wait_until([&] { return first.granted(); });
    });
}

BOOST_AUTO_TEST_CASE(a_holder_stays_in_the_remote_queue_until_its_release) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 2> queue{waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue);
        const stopwatch waited;
        co_await s.held.release();
        co_await async_wait_until([&] { return queue[0].granted(); });
        const std::size_t length = queue_length(s.instances);
        BOOST_TEST((length == 2 || waited.elapsed() >= 1s));  // The ticket expires then anyway.
        co_await queue[0].release();
        co_await async_wait_until([&] { return queue[1].granted(); });
        BOOST_TEST((queue[1].attempts() == 2 || waited.elapsed() >= 1s));
        co_await queue[1].release();
        co_await s.length_is(0);
    });
}

BOOST_AUTO_TEST_CASE(a_holder_leaves_the_remote_queue_after_a_while) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 3> queue{waiter(s), waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue);
        co_await s.held.release();
        co_await async_wait_until([&] { return queue[0].granted(); });
        co_await s.length_is(2);
        BOOST_TEST(queue[0].granted());
        co_await async_wait_until([&] { return queue[1].attempts() == 2 && idle(queue[1].locks); });
        BOOST_TEST(queue[2].attempts() == 1U);
        co_await queue[0].release();
        co_await async_wait_until([&] { return queue[1].granted(); });
        BOOST_TEST(queue[1].attempts() == 3U);  // Made when it was notified of the release.
        co_await queue[1].release();
        co_await async_wait_until([&] { return queue[2].granted(); });
    });
}

BOOST_AUTO_TEST_CASE(a_cancelled_waiter_leaves_the_middle_of_the_queue) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 3> queue{waiter(s), waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue);
        const stopwatch left;
        co_await queue[1].give_up();
        co_await s.length_is(2);
        // The last waiter has attempted. Otherwise it would do so in parallel with the first.
        co_await async_wait_until([&] {
            return (queue[2].attempts() == 2 || left.elapsed() >= 1s) && idle(queue[2].locks);
        });
        const stopwatch waited;
        co_await s.held.release();
        co_await async_wait_until([&] { return queue[0].granted(); });
        co_await queue[0].release();
        co_await async_wait_until([&] { return queue[2].granted(); });
        BOOST_TEST((waited.elapsed() < soon));
    });
}

// The wait is longer than a reply may take. The next query is nevertheless not late.
BOOST_AUTO_TEST_CASE(a_waiter_stays_in_the_remote_queue_after_a_long_wait) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        const config default_timeout = s.instances.config();
        std::array<waiter, 2> queue{waiter(s, default_timeout), waiter(s, default_timeout)};
        co_await wait_in_remote_queue(s, queue);
        const stopwatch slept;
        co_await async_wait_until(
            [&] { return slept.elapsed() > 2 * default_timeout.instance_timeout; });
        const std::size_t asked = executed(s.instances, "pttl");
        co_await s.held.release();
        co_await async_wait_until([&] { return queue[0].granted(); });
        co_await async_wait_until([&] {  // The second has been notified.
            return queue_length(s.instances) < 2 && executed(s.instances, "pttl") > asked &&
                   idle(queue[1].locks);
        });
        BOOST_TEST(queue_length(s.instances) == 1U);
        co_await queue[0].release();
        co_await async_wait_until([&] { return queue[1].granted(); });
    });
}

BOOST_AUTO_TEST_CASE(a_timed_out_waiter_leaves_the_remote_queue) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        waiter first(s);
        co_await first.wait_behind(s, 0);
        waiter second(s);
        co_await all_ready(second.locks);
        BOOST_TEST(!is_held(co_await mutex(second.locks, "x", patient()).try_acquire_for(300ms)));
        co_await s.length_is(1);
        // The client has now seen other waiters, and makes no attempt before its timeout.
        BOOST_TEST(!is_held(co_await mutex(second.locks, "x", patient()).try_acquire_for(300ms)));
        BOOST_TEST(second.attempts() == 1U);
        co_await s.length_is(1);
        co_await first.give_up();
    });
}

BOOST_AUTO_TEST_CASE(the_next_waiter_of_a_client_takes_over_its_ticket) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        waiter first(s);
        co_await first.wait_behind(s, 0);
        pending_acquire next;
        next.start(mutex(first.locks, "x", patient()));
        waiter second(s);
        co_await second.wait_behind(s, 1);
        co_await first.give_up();
        co_await s.held.release();
        co_await async_wait_until([&] { return next.granted.valid(); });
        BOOST_TEST(!second.granted());
        co_await second.give_up();
    });
}

BOOST_AUTO_TEST_CASE(a_dead_waiter_does_not_block_the_next_one) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        {
            asio::io_context context;
            client dying(context.get_executor(), s.instances.config());
            pending_acquire waiting;
            waiting.start(mutex(dying, "x", with_ttl(10s)));
            while (queue_length(s.instances) == 0) {
                context.run_for(10ms);
            }
        }
        waiter second(s);
        co_await second.start(with_ttl(10s));
        // It may be behind the dead waiter, whose ticket lasts for about a second.
        co_await async_wait_until([&] { return second.attempts() != 0 && idle(second.locks); });
        const stopwatch waited;
        co_await s.held.release();
        co_await async_wait_until([&] { return second.granted(); });
        BOOST_TEST((waited.elapsed() < soon));
    });
}

BOOST_AUTO_TEST_CASE(waiters_acquire_if_the_queue_server_is_killed) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 2> queue{waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue, with_ttl(10s));
        redis_server& keeper = s.instances[keeper_of(s.instances)];
        keeper.kill();
        const stopwatch waited;
        co_await s.held.release();
        co_await both_get_it(queue);
        BOOST_TEST((waited.elapsed() < soon));
        keeper.restart();
    });
}

BOOST_AUTO_TEST_CASE(waiters_acquire_if_the_queue_server_is_stopped) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        const config notices = s.patient_config(250ms);
        std::array<waiter, 2> queue{waiter(s, notices), waiter(s, notices)};
        co_await wait_in_remote_queue(s, queue, with_ttl(10s));
        redis_server& keeper = s.instances[keeper_of(s.instances)];
        keeper.pause();
        const stopwatch waited;
        co_await s.held.release();
        co_await both_get_it(queue);
        BOOST_TEST((waited.elapsed() < soon));
        keeper.resume();
    });
}

BOOST_AUTO_TEST_CASE(waiters_rejoin_if_the_queue_server_is_flushed) {
    run_scene([](scene& s) -> asio::awaitable<void> {
        std::array<waiter, 2> queue{waiter(s), waiter(s)};
        co_await wait_in_remote_queue(s, queue);
        const std::size_t keeper = keeper_of(s.instances);
        s.instances[keeper].command({"FLUSHALL"});
        co_await s.length_is(2);  // Both have joined again.
        const stopwatch waited;
        co_await s.held.release();
        co_await both_get_it(queue);
        BOOST_TEST((waited.elapsed() < soon));
    });
}

BOOST_AUTO_TEST_CASE(a_waiter_polls_without_the_right_to_use_lists) {
    run_test([]() -> asio::awaitable<void> {
        servers one(1);
        one[0].command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "&*", "+@all", "-@list"});
        config other_user = one.config();
        other_user.instances = {"redis://ann:x@127.0.0.1:" + std::to_string(one[0].port())};
        const auto executor = co_await asio::this_coro::executor;
        client other(executor, one.config());
        client locks(executor, other_user);
        lease held = co_await mutex(other, "x").acquire();
        pending_acquire waiting;
        waiting.start(mutex(locks, "x"));
        co_await async_wait_until([&] { return locks.counters().contended >= 3; });
        BOOST_TEST(executed(one[0], "rpush") == 0U);
        co_await held.release();
        co_await async_wait_until([&] { return waiting.granted.valid(); });
    }());
}

/// A key that belongs to an application.
struct foreign_key {
    std::string name;
    std::vector<std::string> writing;
    std::vector<std::string> reading;
};

std::vector<foreign_key> foreign_keys() {
    std::vector<foreign_key> result;
    for (const std::string name : {"{x}:colock:queue", "{x}:line", "x:line"}) {
        const std::vector<std::string> range{"LRANGE", name, "0", "-1"};
        result.push_back({name, {"RPUSH", name, "1", "job:7", "2"}, range});
        result.push_back({name, {"RPUSH", name, "1", "2"}, range});
        result.push_back({name, {"SET", name, "text"}, {"GET", name}});
        result.push_back({name, {"SADD", name, "member"}, {"SMEMBERS", name}});
    }
    return result;
}

BOOST_AUTO_TEST_CASE(keys_of_an_application_are_left_alone) {
    for (const foreign_key& key : foreign_keys()) {
        BOOST_TEST_CONTEXT(key.writing.front() << ' ' << key.name) {
            run_test([&]() -> asio::awaitable<void> {
                scene s(co_await asio::this_coro::executor);
                for (const redis_server& server : s.instances) {
                    server.command(key.writing);
                }
                const auto before = s.instances[0].command(key.reading);
                co_await s.hold();
                std::array<waiter, 2> both{waiter(s), waiter(s)};
                for (waiter& one : both) {
                    co_await one.start();
                    co_await async_wait_until(
                        [&] { return one.attempts() != 0 && idle(one.locks); });
                }
                // The waiters have joined again by then.
                const stopwatch waiting;
                co_await async_wait_until([&] { return waiting.elapsed() > 300ms; });
                co_await s.held.release();
                co_await both_get_it(both);
                for (waiter& one : both) {
                    co_await one.locks.close();
                }
                for (const redis_server& server : s.instances) {
                    BOOST_TEST((server.command(key.reading) == before));
                    BOOST_TEST(!pttl(server, key.name).has_value());
                }
            }());
        }
    }
}

BOOST_AUTO_TEST_CASE(names_that_differ_in_braces_have_separate_queues) {
    run_test([]() -> asio::awaitable<void> {
        servers one(1);  // The only server hosts both queues.
        const auto executor = co_await asio::this_coro::executor;
        client holding(executor, one.config());
        client plain(executor, one.config());
        client braced(executor, one.config());
        for (const client* each : {&holding, &plain, &braced}) {
            co_await all_ready(*each);
        }
        const mutex other(holding, "z", patient());
        const mutex tagged(holding, "{z}", patient());
        constexpr int handoffs = 10;
        milliseconds waited{};
        for (int i = 0; i != handoffs; ++i) {
            lease held = co_await other.acquire();
            lease held_too = co_await tagged.acquire();
            const std::size_t joined = executed(one[0], "rpush");
            const auto queued = [&](std::size_t more, const client& who) -> asio::awaitable<void> {
                co_await async_wait_until(
                    [&, more] { return executed(one[0], "rpush") >= joined + more && idle(who); });
            };
            pending_acquire first;
            first.start(mutex(plain, "z", patient()));
            co_await queued(1, plain);
            pending_acquire second;
            second.start(mutex(braced, "{z}", patient()));
            co_await queued(2, braced);
            const stopwatch released;
            co_await held_too.release();
            co_await async_wait_until([&] { return second.granted.valid(); });
            waited += released.elapsed();
            BOOST_TEST(!first.granted.valid());
            co_await second.granted.release();
            co_await held.release();
            co_await async_wait_until([&] { return first.granted.valid(); });
            co_await first.granted.release();
        }
        // Behind the waiter of another lock, each would take a quarter of a second.
        BOOST_TEST(waited.count() < handoffs * 125);
    }());
}

/// Releases the lock and re-acquires it before any other client can be notified.
asio::awaitable<void> take_again_and_again(client& locks, const bool& enough) {
    const mutex lock(locks, "x", with_ttl(10s));
    while (!enough) {
        const lease held = co_await lock.acquire();
    }
}

BOOST_AUTO_TEST_CASE(a_client_that_keeps_reacquiring_lets_others_in) {
    run_test([]() -> asio::awaitable<void> {
        scene s(co_await asio::this_coro::executor);
        co_await all_ready(s.other);
        bool enough = false;
        const auto greedy = co_await start(take_again_and_again(s.other, enough));
        waiter modest(s);
        co_await all_ready(modest.locks);
        for (int i = 0; i != 5; ++i) {
            modest.waiting.start(mutex(modest.locks, "x", patient()));
            co_await async_wait_until([&] { return modest.granted(); });
            BOOST_TEST(!greedy->done);
            co_await modest.release();
        }
        enough = true;
        co_await async_wait_until([&] { return greedy->done; });
    }());
}

/// The beginning of a command that leaves the remote queue. No other command of a mutex begins with it.
const std::string leave_command = "*6\r\n$7\r\nEVALSHA\r\n";

BOOST_FIXTURE_TEST_CASE(an_uncontended_client_joins_the_queue_only_rarely,
                        shared_servers_far_away<5>) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", patient());
        const auto joined = [&] { return executed(instances, "rpush"); };
        const std::size_t before = joined();
        const auto leaving = [&] {
            return std::any_of(network.begin(), network.end(),
                               [](tcp_proxy& link) { return link.waiting() != 0; });
        };
        const auto take_it = [&]() -> asio::awaitable<void> {
            lease held = co_await lock.acquire();
            co_await held.release();
        };
        for (auto& link : network) {
            link.hold_from_request(leave_command);
        }
        const stopwatch all;
        while (!leaving() && all.elapsed() < 20s) {
            co_await take_it();
        }
        BOOST_TEST_REQUIRE(leaving());
        for (int i = 0; i != 20; ++i) {  // The reply to its leave is still pending.
            co_await take_it();
        }
        for (auto& link : network) {
            link.resume();
        }
        co_await settled(locks);
        BOOST_TEST(joined() - before == 1U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
