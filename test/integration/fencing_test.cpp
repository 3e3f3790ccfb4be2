#include "integration/fences.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

// Fences on real servers. What becomes of them when servers lose data is in fault_fencing_test.

namespace {

using namespace colock;
using namespace colock::test;
using way = tcp_proxy::way;

constexpr std::uint64_t far = std::uint64_t{1} << 52;  // ahead of every clock

/// Lets the servers' counters differ, each by `step` from the one before.
void scatter_counters(servers& instances, std::uint64_t first, std::uint64_t step) {
    for (redis_server& server : instances) {
        server.command({"SET", counter_name, std::to_string(first)});
        first += step;
    }
}

BOOST_FIXTURE_TEST_SUITE(fencing_test, shared_servers_far_away<5>)

BOOST_AUTO_TEST_CASE(fences_grow_from_holder_to_holder_across_clients) {
    run_test([&]() -> asio::awaitable<void> {
        constexpr std::size_t times = 60;
        client first(co_await asio::this_coro::executor, instances.config());
        client second(co_await asio::this_coro::executor, instances.config());
        client third(co_await asio::this_coro::executor, instances.config());
        std::vector<std::uint64_t> fences;
        const auto work = [&](client& locks) -> asio::awaitable<void> {
            lock_options options = fenced();
            options.retry.initial = options.retry.maximum = 1ms;
            const mutex lock(locks, "x", options);
            for (std::size_t i = 0; i != times; ++i) {
                lease held = co_await lock.acquire();
                fences.push_back(held.fence());
                co_await held.release();
            }
        };
        std::vector<std::shared_ptr<background>> all;
        for (client* const one : {&first, &second, &third}) {
            all.push_back(co_await start(work(*one)));
        }
        for (const auto& one : all) {
            co_await async_wait_until([&] { return one->done; }, 30s);
            BOOST_TEST(!one->code());
        }
        BOOST_TEST(fences.size() == 3 * times);
        BOOST_TEST(std::is_sorted(fences.begin(), fences.end()));
        BOOST_TEST(std::set<std::uint64_t>(fences.begin(), fences.end()).size() == fences.size());
    }());
}

BOOST_AUTO_TEST_CASE(costs_no_second_round_trip_when_the_counters_agree) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = co_await next_fence(lock);
        co_await async_wait_until([&] { return idle(locks); });
        const auto commands = [&] {  // a server may have one of its own to let go
            return executed(instances, "evalsha") + executed(instances, "delifeq") +
                   executed(instances, "delex");
        };
        const std::size_t before = commands();
        constexpr std::size_t cycles = 200;
        for (std::size_t i = 0; i != cycles; ++i) {
            const std::uint64_t fence = co_await next_fence(lock);
            BOOST_TEST(fence > last);
            last = fence;
        }
        co_await async_wait_until([&] { return idle(locks); });
        // Each is one to take it and one to let it go. A second that begins meanwhile may be
        // known to some servers before the others.
        const std::size_t sent = commands() - before;
        BOOST_TEST(sent >= 5 * 2 * cycles);
        BOOST_TEST(sent <= 5 * 2 * cycles + 5 * 10);
    }());
}

BOOST_AUTO_TEST_CASE(counters_that_differ_are_brought_together_before_the_lease_is_handed_out) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        std::uint64_t last = 0;
        for (const std::uint64_t step : {1U, 100U, 3U}) {
            scatter_counters(instances, std::max(far, last), step);
            lease held = co_await mutex(locks, "x", fenced()).acquire();
            BOOST_TEST(held.fence() > last);
            BOOST_TEST(counted_to(instances, held.fence()) >= 3U);
            last = held.fence();
            co_await held.release();
            BOOST_TEST(held.fence() == last);
        }
    }());
}

BOOST_AUTO_TEST_CASE(a_minority_that_is_down_changes_nothing) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, network.config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = 0;
        for (std::size_t i = 0; i != 15; ++i) {  // another two each time
            network[i % 5].drop();
            network[(i + 2) % 5].drop();
            const std::uint64_t fence = co_await next_fence(lock);
            BOOST_TEST(fence > last);
            last = fence;
            network[i % 5].resume();
            network[(i + 2) % 5].resume();
        }
    }());
}

/// How a request begins to tell the largest of the servers' counters to all, after its token.
const std::string second_round = "$1\r\n0\r\n$16\r\n";

/// Until the second round of an acquire is on its way to the servers, and held up.
asio::awaitable<void> second_round_held_up(const servers& instances, proxies& network) {
    for (auto& link : network) {
        co_await async_wait_until([&] { return link.waiting() != 0; });
    }
    BOOST_TEST(instances.holding("x") >= 3U);  // the first of them went to a quorum at least
}

BOOST_AUTO_TEST_CASE(cancelled_in_the_second_round_everything_is_given_back) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, quiet_config());
        co_await all_ready(locks);
        scatter_counters(instances, far, 10);
        for (auto& link : network) {
            link.hold_from_request(second_round);
        }
        pending_acquire attempt;
        attempt.start(mutex(locks, "x", fenced()));
        co_await second_round_held_up(instances, network);
        BOOST_TEST(!attempt.result.has_value());
        attempt.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return attempt.result.has_value(); });
        BOOST_TEST((*attempt.result == aborted));
        for (auto& link : network) {
            link.resume();
        }
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
        const std::uint64_t next = co_await next_fence(mutex(locks, "x", fenced()));
        BOOST_TEST(next > far);
    }());
}

BOOST_AUTO_TEST_CASE(a_second_round_that_nobody_answers_is_a_failed_attempt) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = quiet_config();
        configuration.instance_timeout = 100ms;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        scatter_counters(instances, far, 10);
        lock_options once = fenced();
        once.unavailable_timeout = 0ms;
        for (auto& link : network) {
            link.hold_from_request(second_round);
        }
        pending_acquire attempt;
        attempt.start(mutex(locks, "x", once));
        co_await second_round_held_up(instances, network);
        co_await async_wait_until([&] { return attempt.result.has_value(); });
        BOOST_TEST((*attempt.result == errc::no_quorum), attempt.result->message());
        for (auto& link : network) {
            link.resume();
        }
        co_await settled(locks);
        BOOST_TEST(instances.holding("x") == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(fenced_and_plain_locks_exclude_each_other) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const mutex plain(locks, "x");
        const mutex counted(locks, "x", fenced());
        {
            lease held = co_await counted.acquire();
            const auto refused = co_await plain.try_acquire();
            BOOST_TEST(!refused.has_value());
            co_await held.release();
        }
        {
            lease held = co_await plain.acquire();
            const auto refused = co_await counted.try_acquire();
            BOOST_TEST(!refused.has_value());
            co_await held.release();
        }
        co_await settled(locks);
        for (const redis_server& server : instances) {
            hold_by_hand(server, "x", 1min);
        }
        const auto refused = co_await counted.try_acquire();
        BOOST_TEST(!refused.has_value());
    }());
}

BOOST_AUTO_TEST_CASE(a_lease_without_a_fence_says_so) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        const auto code_of = [](const lease& one) {
            try {
                BOOST_TEST(one.fence() == 0U);
            } catch (const lock_error& e) {
                return e.code();
            }
            return error_code();
        };
        BOOST_TEST((code_of(lease()) == errc::not_held));
        lease held = co_await mutex(locks, "x").acquire();
        BOOST_TEST((code_of(held) == errc::not_fenced));
        co_await held.release();
        BOOST_TEST((code_of(held) == errc::not_fenced));
        BOOST_TEST(instances.holding(counter_name) == 0U);
    }());
}

BOOST_AUTO_TEST_CASE(scripts_that_a_server_has_forgotten_are_sent_again) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = 0;
        for (int i = 0; i != 5; ++i) {
            for (const redis_server& server : instances) {
                server.command({"SCRIPT", "FLUSH"});
            }
            const std::uint64_t fence = co_await next_fence(lock);
            BOOST_TEST(fence > last);
            last = fence;
        }
        BOOST_TEST(locks.counters().unavailable == 0U);
    }());
}

const std::vector<std::pair<std::string, std::string>> counters_of{
    {"x", "{app:x}:colock:fence"},
    {"{user:1}:cart", "app:{user:1}:cart:colock::fence"},
};

BOOST_AUTO_TEST_CASE(counters_are_kept_for_a_week_beside_their_key) {
    run_test([&]() -> asio::awaitable<void> {
        config configuration = instances.config();
        configuration.key_prefix = "app:";
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_ready(locks);
        for (const auto& [resource, counter] : counters_of) {
            lease held = co_await mutex(locks, resource, fenced()).acquire();
            co_await async_wait_until([&] { return idle(locks); });
            BOOST_TEST(instances.holding(counter) == 5U);
            const auto left = pttl(instances[0], counter);
            BOOST_TEST_REQUIRE(left.has_value());
            BOOST_TEST((*left > 24h * 6 && *left <= 24h * 7));
            co_await held.release();
        }
    }());
}

const std::vector<std::string> in_memory{"memory://f1", "memory://f2", "memory://f3"};

BOOST_AUTO_TEST_CASE(in_memory_too) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, config::from_uris(in_memory));
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = 0;
        for (int i = 0; i != 1000; ++i) {
            const std::uint64_t fence = co_await next_fence(lock);
            BOOST_TEST(fence > last);
            last = fence;
        }
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
            std::chrono::system_clock::now().time_since_epoch());
        BOOST_TEST((last >> 20U) <= static_cast<std::uint64_t>(seconds.count()));
        BOOST_TEST((last >> 20U) + 100 > static_cast<std::uint64_t>(seconds.count()));
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
