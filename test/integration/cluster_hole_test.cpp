// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// No node serves some slots of a Redis Cluster, and many clients wait for locks there. The other slots must
// serve as before.

#include "instance/redis/key_slot.hpp"
#include "locks.hpp"
#include "support/meter.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_hole_test, *boost::unit_test::label("fault-103"))

using boost::unit_test::label;

/// A cluster of two masters. The second one gives up its slots, so no node serves them.
class half_a_cluster {
public:
    half_a_cluster() {
        for (const std::size_t i : {1, 0}) {
            nodes_[i].command({"CLUSTER", "DELSLOTSRANGE", "8192", "16383"});
        }
        wait_until([this] {
            return std::ranges::all_of(std::initializer_list<std::size_t>{0, 1}, [this](auto i) {
                return redis_cluster::says(nodes_[i], {"CLUSTER", "INFO"},
                                           "cluster_slots_assigned:8192\r");
            });
        });
    }

    [[nodiscard]] config configuration() const {
        config result;
        result.instances = {nodes_.uri()};
        result.failover_quarantine = 0ms;
        return result;
    }

    /// Returns names of locks whose slots are served, or are not served.
    [[nodiscard]] std::vector<std::string> names(bool served, std::size_t count) const {
        std::vector<std::string> result;
        for (std::size_t i = 0; result.size() != count; ++i) {
            std::string name = "lock:" + std::to_string(i);
            if ((instance::redis::key_slot(name) < 8192) == served) {
                result.push_back(std::move(name));
            }
        }
        return result;
    }

    /// Assigns the slots to the second master again.
    void fill() {
        nodes_[1].command({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"});
        nodes_.wait_until_ok();
    }

private:
    redis_cluster nodes_{2, 0, {"--cluster-require-full-coverage", "no"}};
};

/// Acquires and releases a lock in a loop until it is stopped.
asio::awaitable<void> cycle(mutex lock, const bool& stopped, std::uint64_t& cycles) {
    while (!stopped) {
        auto held = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
        if (lease& granted = std::get<1>(held); granted.valid()) {
            co_await granted.release(asio::as_tuple(asio::use_awaitable));
            ++cycles;
        }
    }
}

/// Returns the cycles in one second.
asio::awaitable<double> rate(const std::uint64_t& cycles) {
    const stopwatch watch;
    const std::uint64_t before = cycles;
    co_await async_wait_until([&] { return watch.elapsed() >= 1500ms; });
    co_return static_cast<double>(cycles - before) * 1000 /
        static_cast<double>(watch.elapsed().count());
}

// The waiters are either many for one slot, or spread over many slots.
BOOST_AUTO_TEST_CASE(waiters_for_unserved_slots_do_not_slow_other_locks) {
    run_test(
        []() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            half_a_cluster nodes;
            for (const bool at_one_slot : {false, true}) {
                config configuration = nodes.configuration();
                configuration.instance_timeout = 5s;  // A waiter's command waits this long.
                client locks(executor, configuration);
                co_await all_ready(locks);
                bool stopped = false;
                bool waiters_stopped = false;
                std::uint64_t cycles = 0;
                std::uint64_t in_hole = 0;
                for (const std::string& name : nodes.names(true, 100)) {
                    co_await start(cycle(mutex(locks, name), stopped, cycles));
                }
                co_await async_wait_until([&] { return cycles != 0; });
                const meter costs(executor);
                const double before = co_await rate(cycles);

                constexpr std::size_t waiters = 5'000;
                const auto names = nodes.names(false, at_one_slot ? 1 : waiters);
                for (std::size_t i = 0; i != waiters; ++i) {
                    const std::string name =
                        at_one_slot ? "{" + names[0] + "}" + std::to_string(i) : names[i];
                    co_await start(cycle(mutex(locks, name), waiters_stopped, in_hole));
                }
                co_await async_wait_until([&] { return locks.counters().attempts > waiters; });
                const double beside_waiters = co_await rate(cycles);
                BOOST_TEST(in_hole == 0U);

                waiters_stopped = true;
                co_await async_wait_until([&] { return locks.counters().acquiring <= 100; }, 30s);
                const double after = co_await rate(cycles);
                BOOST_TEST_MESSAGE("cycles a second: " << before << " before, " << beside_waiters
                                                       << " beside waiters, " << after << " after");
                // The rate was a hundredth when the cost grew with the number of waiters.
                BOOST_TEST(beside_waiters >= std::min(before, after) / 3);
                stopped = true;
                co_await locks.close();
            }
        }(),
        120s);
}

BOOST_AUTO_TEST_CASE(waiters_for_unserved_slots_acquire_when_slots_are_served) {
    run_test(
        []() -> asio::awaitable<void> {
            half_a_cluster nodes;
            client locks(co_await asio::this_coro::executor, nodes.configuration());
            co_await all_ready(locks);
            const meter costs(co_await asio::this_coro::executor, {.stall = 1s});
            constexpr std::size_t waiters = 2'000;
            bool stopped = false;
            std::vector<std::uint64_t> cycles(waiters);
            const auto names = nodes.names(false, waiters);
            for (std::size_t i = 0; i != waiters; ++i) {
                co_await start(cycle(mutex(locks, names[i]), stopped, cycles[i]));
            }
            co_await async_wait_until([&] { return locks.counters().unavailable > waiters; });
            nodes.fill();
            co_await async_wait_until(
                [&] { return std::ranges::all_of(cycles, [](auto n) { return n != 0; }); });
            stopped = true;
            co_await locks.close();
        }(),
        120s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
