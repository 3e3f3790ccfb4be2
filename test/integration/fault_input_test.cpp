#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

// What is in the lock's place is nothing that a lock has put there.

namespace {

using namespace colock;
using namespace colock::test;
using strings = std::vector<std::string>;

/// Each makes a key "x" of its own kind.
const std::vector<strings> oddities{
    {"RPUSH", "x", "1"},
    {"SADD", "x", "1"},
    {"HSET", "x", "1", "1"},
    {"ZADD", "x", "1", "1"},
    {"XADD", "x", "1-1", "1", "1"},
    {"PFADD", "x", "1"},
    {"SET", "x", ""},
    {"SET", "x", std::string("\0\r\n$-1\r\n\xff", 9)},
    {"SET", "x", std::string(1 << 20, 'x')},
    {"SET", "x", "9007199254740992"},     // 2^53
    {"SET", "x", "9223372036854775807"},  // INT64_MAX
    {"SET", "x", "-9223372036854775809"},
    {"SET", "x", "1e400"},
};

/// Puts it there instead of whatever there was; how it looks then.
std::string place(const redis_server& server, const strings& oddity) {
    server.command({"DEL", "x"});
    server.command(oddity);
    return server.command({"DUMP", "x"}).value();
}

void check_unchanged(servers& instances, std::size_t first, const std::string& dump) {
    for (std::size_t i = first; i != instances.size(); ++i) {
        BOOST_TEST((instances[i].command({"DUMP", "x"}).value_or("") == dump), "on server " << i);
        BOOST_TEST(instances[i].command({"PTTL", "x"}).value() == "-1");
    }
}

lock_options renewed_often() {
    return renewed_every(20ms, 10s);
}

BOOST_FIXTURE_TEST_SUITE(fault_input_test, shared_servers<5>)

BOOST_AUTO_TEST_CASE(fault_34_odd_keys_are_somebody_elses) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            std::string dump;
            for (auto& server : instances) {
                dump = place(server, oddity);
            }
            const mutex lock(locks, "x");
            const auto contended = locks.counters().contended;
            const auto refused = co_await lock.try_acquire();
            BOOST_TEST(!refused.has_value());
            const auto waited = co_await lock.try_acquire_for(20ms);
            BOOST_TEST(!waited.has_value());
            BOOST_TEST(locks.counters().contended >= contended + 2);
            check_unchanged(instances, 0, dump);
        }
        BOOST_TEST(locks.counters().unavailable == 0U);
        for (const auto& instance : locks.instances()) {
            BOOST_TEST(instance.reason.empty());  // no connection was lost by it
        }
    }());
}

/// On a minority, before and while the lock is held.
BOOST_AUTO_TEST_CASE(fault_34_odd_keys_on_a_minority_are_left_alone) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            for (const bool before : {true, false}) {
                instances.flush();
                std::string dump;
                const auto place_two = [&] {
                    dump = place(instances[3], oddity);
                    place(instances[4], oddity);
                };
                if (before) {
                    place_two();
                }
                lease held = co_await mutex(locks, "x", renewed_often()).acquire();
                if (!before) {
                    co_await async_wait_until([&] { return instances.holding("x") == 5; });
                    place_two();
                }
                co_await renewed_more(locks, 2);
                BOOST_TEST(held.valid());
                const auto result = co_await held.release();
                BOOST_TEST((result == release_result::released));
                co_await settled(locks);
                check_unchanged(instances, 3, dump);
                BOOST_TEST(instances.keys() == 2U);
            }
        }
    }());
}

BOOST_AUTO_TEST_CASE(fault_34_odd_keys_on_a_majority_are_a_loss) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (const strings& oddity : oddities) {
            instances.flush();
            lease held = co_await mutex(locks, "x", renewed_often()).acquire();
            co_await async_wait_until([&] { return instances.holding("x") == 5; });
            std::string dump;
            for (std::size_t i = 2; i != 5; ++i) {
                dump = place(instances[i], oddity);
            }
            co_await held.wait_lost();
            BOOST_TEST((held.loss() == errc::lease_lost));
            const auto result = co_await held.release();
            BOOST_TEST((result == release_result::lost), to_string(result));
            co_await settled(locks);
            check_unchanged(instances, 2, dump);
            BOOST_TEST(instances.keys() == 3U);
        }
    }());
}

BOOST_AUTO_TEST_CASE(fault_34_odd_keys_that_run_out_free_the_lock) {
    run_test([&]() -> asio::awaitable<void> {
        client locks(co_await asio::this_coro::executor, instances.config());
        co_await all_ready(locks);
        for (auto& server : instances) {
            place(server, oddities.front());
            server.command({"PEXPIRE", "x", "300"});
        }
        const lease held = co_await mutex(locks, "x").acquire();
        BOOST_TEST(held.valid());
    }());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
