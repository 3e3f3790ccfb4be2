// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/client_process.hpp"
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

// Fences on real servers, also if these lose data or hold counters that are not numbers.

namespace {

BOOST_FIXTURE_TEST_SUITE(fencing_test, colock::test::shared_servers_far_away<5>)

using namespace colock;
using namespace colock::test;
using boost::unit_test::label;
using strings = std::vector<std::string>;

constexpr std::uint64_t far = std::uint64_t{1} << 52;  // Ahead of every clock.

/// A resource that refuses a write whose fence is smaller than the largest one so far.
class fenced_resource {
public:
    /// Returns whether the value was written.
    bool write(const std::string& value, const std::string& fence) {
        static const std::string script =
            "if tonumber(ARGV[2]) < tonumber(redis.call('get', 'seen') or 0) then return 0 end\n"
            "redis.call('set', 'seen', ARGV[2])\n"
            "redis.call('set', 'value', ARGV[1])\n"
            "return 1";
        return server_.command({"EVAL", script, "0", value, fence}).value() == "1";
    }
    [[nodiscard]] std::string value() const {
        return server_.command({"GET", "value"}).value_or("nothing");
    }

private:
    redis_server server_;
};

/// Sets the servers' counters to different values, each larger by `step` than the one before.
void scatter_counters(servers& instances, std::uint64_t first, std::uint64_t step) {
    for (redis_server& server : instances) {
        server.command({"SET", counter_name, std::to_string(first)});
        first += step;
    }
}

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

BOOST_AUTO_TEST_CASE(counters_that_agree_need_no_second_round_trip) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = co_await next_fence(lock);
        co_await async_wait_until([&] { return idle(locks); });
        const auto commands = [&] {  // A server may have a native command for releases.
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
        // An acquire and a release take one command each. A server's clock may reach the next second before
        // the others, and then one more command is sent.
        const std::size_t sent = commands() - before;
        BOOST_TEST(sent >= 5 * 2 * cycles);
        BOOST_TEST(sent <= 5 * 2 * cycles + 5 * 10);
    }());
}

BOOST_AUTO_TEST_CASE(counters_that_differ_are_raised_before_the_lease_is_granted) {
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

BOOST_AUTO_TEST_CASE(fences_grow_while_a_minority_is_down) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, network.config());
        co_await all_ready(locks);
        const mutex lock(locks, "x", fenced());
        std::uint64_t last = 0;
        for (std::size_t i = 0; i != 15; ++i) {  // Drops two other connections each time.
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

/// The bytes that follow the token in the second-round request, which carries the largest counter to all
/// servers.
const std::string second_round = "$1\r\n0\r\n$16\r\n";

/// Waits until the second round of an acquire is in flight but has not reached the servers.
asio::awaitable<void> second_round_held_up(const servers& instances, proxies& network) {
    for (auto& link : network) {
        co_await async_wait_until([&] { return link.waiting() != 0; });
    }
    BOOST_TEST(instances.holding("x") >= 3U);  // The first round has reached at least a quorum.
}

BOOST_AUTO_TEST_CASE(an_acquire_cancelled_in_its_second_round_is_rolled_back) {
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

BOOST_AUTO_TEST_CASE(a_second_round_without_answers_is_a_failed_attempt) {
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
            BOOST_TEST(!refused.owns_lock());
            co_await held.release();
        }
        {
            lease held = co_await plain.acquire();
            const auto refused = co_await counted.try_acquire();
            BOOST_TEST(!refused.owns_lock());
            co_await held.release();
        }
        co_await settled(locks);
        for (const redis_server& server : instances) {
            hold_by_hand(server, "x", 1min);
        }
        const auto refused = co_await counted.try_acquire();
        BOOST_TEST(!refused.owns_lock());
    }());
}

BOOST_AUTO_TEST_CASE(fence_throws_for_a_lease_without_a_fence) {
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

BOOST_AUTO_TEST_CASE(flushed_scripts_are_resent_and_fences_grow, *label("fault-26")) {
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

BOOST_AUTO_TEST_CASE(the_write_of_a_stopped_holder_is_refused, *label("fault-20")) {
    run_test([&]() -> asio::awaitable<void> {
        fenced_resource resource;
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(others);
        client_process process("x", 500ms, instances.config(), "fenced");
        const std::string held = co_await process.ask("acquire");
        BOOST_TEST(held == "held");
        const std::string first_fence = co_await process.ask("fence");
        BOOST_TEST(resource.write("by the first", first_fence));
        BOOST_TEST(resource.write("by the first again", first_fence));
        process.pause();  // Before it writes again.
        process.tell("fence");
        lease b = co_await mutex(others, "x", fenced()).acquire();
        BOOST_TEST(resource.write("by its successor", std::to_string(b.fence())));
        process.resume();
        const std::string fence = co_await process.wait_for_answer();
        BOOST_TEST(fence == first_fence);
        BOOST_TEST(!resource.write("by the first, much later", fence));
        BOOST_TEST(resource.value() == "by its successor");
        BOOST_TEST(resource.write("by its successor again", std::to_string(b.fence())));
        co_await b.release();
        const std::string again = co_await process.ask("acquire");
        BOOST_TEST(again == "held");
        BOOST_TEST(resource.write("by the first, in turn", co_await process.ask("fence")));
    }());
}

/// A server may lose all data, the lock, or only the fence counter.
const std::vector<strings> losses{{"FLUSHALL"}, {"DEL", "x"}, {"DEL", counter_name}};

/// The servers lose their data one after another, each alone or together with the next ones.
BOOST_AUTO_TEST_CASE(fences_grow_although_counters_are_lost_between_holders, *label("fault-25")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        co_await all_ready(others);
        std::uint64_t last = 0;
        for (const strings& loss : losses) {
            for (const std::size_t how_many : {1U, 2U, 5U}) {
                for (std::size_t first = 0; first != 10; ++first) {
                    const mutex lock(first % 2 == 0 ? locks : others, "x", fenced());
                    const std::uint64_t fence = co_await next_fence(lock);
                    BOOST_TEST(fence > last, loss.front() << " on " << how_many);
                    last = fence;
                    for (std::size_t i = 0; i != how_many; ++i) {
                        instances[(first + i) % 5].command(loss);
                    }
                }
            }
        }
    }());
}

/// The keys of a minority are restored, and its counters then reach the fence again.
BOOST_AUTO_TEST_CASE(counters_lost_by_a_minority_are_restored_while_held, *label("fault-25")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        co_await all_ready(others);
        // The counters are ahead of the servers' clocks, so a clock cannot replace a lost counter.
        for (const redis_server& server : instances) {
            server.command({"SET", counter_name, "4503599627370496"});
        }
        std::uint64_t last = 4503599627370496;
        for (int round = 0; round != 3; ++round) {
            lease held = co_await mutex(locks, "x", fenced(renewed_every(30ms, 10s))).acquire();
            BOOST_TEST(held.fence() > last);
            last = held.fence();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            const auto healed = locks.counters().healed;
            instances[0].command({"FLUSHALL"});
            instances[4].command({"FLUSHALL"});
            co_await async_wait_until([&] { return locks.counters().healed >= healed + 2; });
            BOOST_TEST(counter_on(instances[0]) >= last);
            BOOST_TEST(counter_on(instances[4]) >= last);
            BOOST_TEST(held.fence() == last);
            co_await held.release();
            // The next fence is larger, even if only two of the servers that kept their counter answer.
            instances[2].pause();
            const std::uint64_t fence = co_await next_fence(mutex(others, "x", fenced()));
            instances[2].resume();
            BOOST_TEST(fence > last);
            last = fence;
        }
    }());
}

/// Each command creates a counter that cannot be increased.
const std::vector<strings> oddities{
    {"RPUSH", counter_name, "1"},
    {"HSET", counter_name, "1", "1"},
    {"SET", counter_name, ""},
    {"SET", counter_name, "garbage"},
    {"SET", counter_name, std::string("1\0", 2)},
    {"SET", counter_name, "-1"},
    {"SET", counter_name, "1.5"},
    {"SET", counter_name, "1e5"},
    {"SET", counter_name, " 1"},
    {"SET", counter_name, "0x10"},
    {"SET", counter_name, "nan"},
    {"SET", counter_name, "9007199254740991"},     // 2^53 - 1: there is no next value.
    {"SET", counter_name, "9007199254740992"},     // 2^53.
    {"SET", counter_name, "9223372036854775807"},  // INT64_MAX.
    {"SET", counter_name, std::string(400, '9')},
};

std::string put(const redis_server& server, const strings& oddity) {
    server.command({"DEL", counter_name});
    server.command(oddity);
    return server.command({"DUMP", counter_name}).value();
}

BOOST_AUTO_TEST_CASE(invalid_counters_on_a_minority_are_left_alone, *label("fault-34")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        std::uint64_t last = 0;
        for (const strings& oddity : oddities) {
            for (const std::size_t first : {0U, 3U}) {
                std::string dump;
                for (std::size_t i = first; i != first + 2; ++i) {
                    dump = put(instances[i], oddity);
                }
                lease held = co_await mutex(locks, "x", fenced(renewed_every(20ms, 10s))).acquire();
                BOOST_TEST(held.fence() > last, oddity.back());
                last = held.fence();
                co_await renewed_more(locks, 2);
                BOOST_TEST(held.valid());
                const auto result = co_await held.release();
                BOOST_TEST((result == release_result::released));
                co_await settled(locks);
                for (std::size_t i = first; i != first + 2; ++i) {
                    BOOST_TEST((instances[i].command({"DUMP", counter_name}).value() == dump));
                    BOOST_TEST(!instances[i].has("x"));
                    instances[i].command({"DEL", counter_name});
                }
            }
        }
    }());
}

BOOST_AUTO_TEST_CASE(invalid_counters_on_a_majority_fail_the_acquire, *label("fault-34")) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            std::string dump;
            for (std::size_t i = 0; i != 3; ++i) {
                dump = put(instances[i], oddity);
            }
            const auto [failure, held] =
                co_await mutex(locks, "x", fenced()).try_acquire(asio::as_tuple);
            BOOST_TEST((failure == errc::no_quorum), oddity.back());
            BOOST_TEST(
                failure.details().find("the fence counter holds no number") != std::string::npos,
                failure.details());
            BOOST_TEST(!held.owns_lock());
            co_await settled(locks);
            BOOST_TEST(instances.holding("x") == 0U);
            for (std::size_t i = 0; i != 3; ++i) {
                BOOST_TEST((instances[i].command({"DUMP", counter_name}).value() == dump));
            }
            // A lock without fencing is not affected.
            lease plain = co_await mutex(locks, "x").acquire();
            co_await plain.release();
        }
        for (const auto& instance : locks.instances()) {
            BOOST_TEST(instance.reason.empty());  // No connection was lost.
        }
        instances.flush();
        const std::uint64_t fence = co_await next_fence(mutex(locks, "x", fenced()));
        BOOST_TEST(fence != 0U);
    }());
}

const std::vector<std::string> in_memory{"memory://f1", "memory://f2", "memory://f3"};

BOOST_AUTO_TEST_CASE(fences_of_memory_instances_grow_with_the_clock) {
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
