#include "integration/client_process.hpp"
#include "integration/fences.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What fences are for, and what must not break them.

namespace {

using namespace colock;
using namespace colock::test;
using strings = std::vector<std::string>;

/// A resource that refuses who is behind the times: its value, and the largest fence that it has seen.
class fenced_resource {
public:
    /// Whether it was written.
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

BOOST_FIXTURE_TEST_SUITE(fault_fencing_test, shared_servers<5>)

BOOST_AUTO_TEST_CASE(fault_20_fenced_write_of_a_stopped_holder_is_refused) {
    run_test([&]() -> asio::awaitable<void> {
        fenced_resource resource;
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(others);
        client_process process("x", 500ms, instances.config(), true);
        const std::string held = co_await process.ask("acquire");
        BOOST_TEST(held == "held");
        const std::string first_fence = co_await process.ask("fence");
        BOOST_TEST(resource.write("by the first", first_fence));
        BOOST_TEST(resource.write("by the first again", first_fence));
        process.pause();  // it is about to write once more
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

/// What a server may lose: everything, the lock, or only what counts its holders.
const std::vector<strings> losses{{"FLUSHALL"}, {"DEL", "x"}, {"DEL", counter_name}};

/// A server is no less than its neighbour, in turn.
BOOST_AUTO_TEST_CASE(fault_25_fence_counters_lost_between_two_holders) {
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

/// A minority is healed, and then knows the fence again.
BOOST_AUTO_TEST_CASE(fault_25_fence_counters_lost_by_a_minority_while_held) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        client others(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        co_await all_ready(others);
        // Ahead of the servers' clocks, so that these do not help.
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
            // Whoever is asked next knows: also with only two of those that did not forget.
            instances[2].pause();
            const std::uint64_t fence = co_await next_fence(mutex(others, "x", fenced()));
            instances[2].resume();
            BOOST_TEST(fence > last);
            last = fence;
        }
    }());
}

/// Each makes a counter of its own kind that nobody can count on with.
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
    {"SET", counter_name, "9007199254740991"},     // 2^53 - 1: there is no next
    {"SET", counter_name, "9007199254740992"},     // 2^53
    {"SET", counter_name, "9223372036854775807"},  // INT64_MAX
    {"SET", counter_name, std::string(400, '9')},
};

std::string place(const redis_server& server, const strings& oddity) {
    server.command({"DEL", counter_name});
    server.command(oddity);
    return server.command({"DUMP", counter_name}).value();
}

BOOST_AUTO_TEST_CASE(fault_34_odd_fence_counters_on_a_minority_are_left_alone) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        std::uint64_t last = 0;
        for (const strings& oddity : oddities) {
            for (const std::size_t first : {0U, 3U}) {
                std::string dump;
                for (std::size_t i = first; i != first + 2; ++i) {
                    dump = place(instances[i], oddity);
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

BOOST_AUTO_TEST_CASE(fault_34_odd_fence_counters_on_a_majority_are_an_error_that_says_so) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            std::string dump;
            for (std::size_t i = 0; i != 3; ++i) {
                dump = place(instances[i], oddity);
            }
            const auto [failure, held] =
                co_await mutex(locks, "x", fenced()).try_acquire(asio::as_tuple);
            BOOST_TEST((failure == errc::no_quorum), oddity.back());
            BOOST_TEST(
                failure.details().find("the fence counter holds no number") != std::string::npos,
                failure.details());
            BOOST_TEST(!held.has_value());
            co_await settled(locks);
            BOOST_TEST(instances.holding("x") == 0U);
            for (std::size_t i = 0; i != 3; ++i) {
                BOOST_TEST((instances[i].command({"DUMP", counter_name}).value() == dump));
            }
            // Who wants no fence is not concerned.
            lease plain = co_await mutex(locks, "x").acquire();
            co_await plain.release();
        }
        for (const auto& instance : locks.instances()) {
            BOOST_TEST(instance.reason.empty());  // no connection was lost by it
        }
        instances.flush();
        const std::uint64_t fence = co_await next_fence(mutex(locks, "x", fenced()));
        BOOST_TEST(fence != 0U);
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
