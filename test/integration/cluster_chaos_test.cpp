// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A Redis Cluster whose slots move back and forth and which loses a master, with many concurrent lock users.

#include "locks.hpp"
#include "support/redis_cluster.hpp"
#include "visitors.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_chaos_test)

constexpr std::size_t names = 30;

std::string name(std::size_t i) {
    return "chaos:" + std::to_string(i % names);
}

/// Moves the slots of some names from master to master, on a separate thread, until it is stopped. In the
/// end, each slot is at its first master again, and all nodes have the current map.
class migrations {
public:
    /// The number of names whose slots move.
    static constexpr std::size_t moving = 10;

    explicit migrations(redis_cluster& cluster)
        : thread_([this, &cluster] {
              try {
                  run(cluster);
              } catch (const std::exception& e) {
                  failure_ = e.what();
              }
              done_ = true;
          }) {}
    ~migrations() {
        stop();
        thread_.join();
    }
    migrations(const migrations&) = delete;
    migrations& operator=(const migrations&) = delete;

    void stop() { stopped_ = true; }
    [[nodiscard]] bool done() const { return done_; }
    /// Returns why the migrations ended, or an empty string if they were stopped. Call it only after `done`.
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::size_t moves() const { return moves_; }

private:
    void run(redis_cluster& cluster) {
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i != moving; ++i) {
            at.push_back(cluster.first_owner_of(name(i)));
        }
        for (std::size_t i = 0; !stopped_; i = (i + 1) % moving) {
            const std::size_t slot = redis_cluster::slot_of(cluster[0], name(i));
            const std::size_t to = (at[i] + 1) % 3;
            cluster.begin_to_move(slot, at[i], to);
            for (int pause = 0; pause != 20 && !stopped_; ++pause) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            cluster.move_keys(slot, at[i], to);
            cluster.end_move(slot, to);
            at[i] = to;
            ++moves_;
        }
        for (std::size_t i = 0; i != moving; ++i) {
            const std::size_t home = cluster.first_owner_of(name(i));
            if (at[i] != home) {
                cluster.move(redis_cluster::slot_of(cluster[0], name(i)), at[i], home);
            }
        }
        cluster.wait_until_agreed();
    }

    std::atomic<bool> stopped_{false};
    std::atomic<bool> done_{false};
    std::atomic<std::size_t> moves_{0};
    std::string failure_;
    std::thread thread_;
};

/// Waits until all masters of the cluster are ready.
asio::awaitable<void> all_masters_ready(const client& locks) {
    co_await async_wait_until([&] {
        const auto nodes = locks.instances().front().nodes;
        return nodes.size() >= 3 && std::ranges::all_of(nodes, [](const node_info& one) {
                   return one.state == instance_state::ready;
               });
    });
}

/// Returns the nodes as the client sees them, for the message of a failing test.
std::string view_of(const client& locks) {
    std::string result = "as a client sees the nodes:\n";
    for (const node_info& one : locks.instances().front().nodes) {
        result.append(one.address)
            .append(one.state == instance_state::ready ? " ready " : " not ready ");
        result.append(one.reason).append("\n");
    }
    return result;
}

BOOST_AUTO_TEST_CASE(mutual_exclusion_holds_while_slots_move_and_a_master_dies) {
    // With full coverage, the whole cluster would stop while no node serves the slots of the dead master.
    redis_cluster cluster(3, 1, {"--cluster-require-full-coverage", "no"});
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            config configuration = config::from_uris({cluster.uri(6)});
            configuration.failover_quarantine = 2s;
            client first(executor, configuration);
            client second(executor, configuration);
            co_await all_masters_ready(first);
            co_await all_masters_ready(second);
            visitors all;
            for (std::size_t i = 0; i != 500; ++i) {
                lock_options options = with_ttl(2s);
                options.unavailable_timeout = 30s;
                options.fencing = i % names % 3 == 0;
                all.begin(executor, i % 2 == 0 ? first : second, name(i), options);
            }
            co_await async_wait_until([&] { return all.visits() > 1000; });

            all.reset_pauses();
            {
                migrations moving(cluster);
                co_await async_wait_until([&] { return moving.moves() > 50 || moving.done(); },
                                          60s);
                moving.stop();
                co_await async_wait_until([&] { return moving.done(); }, 40s);
                BOOST_TEST_REQUIRE(moving.failure() == "");
                BOOST_TEST_MESSAGE(moving.moves() << " moves, " << all.visits() << " visits");
            }
            milliseconds longest{};
            for (std::size_t i = 0; i != names; ++i) {
                longest = std::max(longest, all.longest_pause(name(i)));
            }
            BOOST_TEST_MESSAGE("longest time without a visit " << longest.count() << " ms");
            BOOST_TEST((longest < 1s));

            std::vector<std::string> moved;
            for (std::size_t i = 0; i != migrations::moving; ++i) {
                moved.push_back(name(i));
            }
            std::vector<std::string> of_the_dead;
            std::vector<std::string> others;
            const std::size_t dead = cluster.first_owner_of(name(0));
            for (std::size_t i = 0; i != names; ++i) {
                (cluster.first_owner_of(name(i)) == dead ? of_the_dead : others).push_back(name(i));
            }
            all.reset_pauses();
            cluster[dead].kill();
            const stopwatch since_death;
            // By then, the leases on the dead master have ended, because they cannot be renewed.
            co_await async_wait_until([&] { return all.longest_pause(of_the_dead.front()) > 1s; },
                                      20s);
            try {
                for (const std::string& one : of_the_dead) {
                    const std::size_t before = all.visits(one);
                    co_await async_wait_until([&] { return all.visits(one) > before + 20; }, 30s);
                }
            } catch (const deadline_passed&) {
                for (const std::string& one : of_the_dead) {
                    BOOST_ERROR(one << " paused for " << all.longest_pause(one).count() << " ms");
                }
                BOOST_ERROR(view_of(first) << view_of(second) << cluster.state_and_logs());
                throw;
            }
            BOOST_TEST_MESSAGE("all of the dead master's locks again after "
                               << since_death.elapsed().count() << " ms");
            // A slot that has just left the dead master may look like a slot that was taken over from it. It
            // is then quarantined too.
            for (const std::string& one : others) {
                const bool was_moved = std::ranges::count(moved, one) != 0;
                BOOST_TEST((all.longest_pause(one) < (was_moved ? 4s : 1s)),
                           one << " paused for " << all.longest_pause(one).count() << " ms");
            }
            all.stop();
            co_await async_wait_until([&] { return all.gone(); }, 20s);
            BOOST_TEST(all.overlaps() == 0U);
            for (const auto& [reason, count] : all.refused()) {
                BOOST_ERROR(count << " times: " << reason);
            }
            co_await first.close(asio::as_tuple);
            co_await second.close(asio::as_tuple);
        }(),
        150s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
