// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Real Sentinels, and the death of a master with many concurrent lock users. In sentinel_test, the Sentinels
// are fake.

#include "locks.hpp"
#include "support/contains.hpp"
#include "support/meter.hpp"
#include "support/redis_server.hpp"
#include "visitors.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(failover_test)

/// Sentinels ping once a second at most. With a shorter limit, they may consider a newly promoted master dead
/// and fail over again.
constexpr milliseconds down_after = 2s;

/// A master, two replicas, and three Sentinels that monitor them.
class deployment {
public:
    deployment() {
        for (int i = 0; i != 2; ++i) {
            servers_.emplace_back(std::vector<std::string>{"--replicaof", "127.0.0.1",
                                                           std::to_string(servers_[0].port())});
        }
        for (int i = 0; i != 3; ++i) {
            const redis_server& one =
                sentinels_.emplace_back(std::vector<std::string>{"--sentinel"});
            one.command({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1",
                         std::to_string(servers_[0].port()), "2"});
            one.command({"SENTINEL", "SET", "mymaster", "down-after-milliseconds",
                         std::to_string(down_after.count()), "failover-timeout", "5000"});
        }
        wait_until(
            [this] {
                return std::ranges::all_of(sentinels_, [](const redis_server& one) {
                    const std::string known = *one.command({"SENTINEL", "MASTER", "mymaster"});
                    return contains(known, "num-slaves\n2\n") &&
                           contains(known, "num-other-sentinels\n2\n");
                });
            },
            30s);
        // A replica counts as connected before it has the master's data. If the master dies that early, the
        // Sentinels fail over several times.
        wait_until(
            [this] {
                return std::all_of(
                    servers_.begin() + 1, servers_.end(), [](const redis_server& one) {
                        return contains(*one.command({"INFO", "replication"}), "link_status:up");
                    });
            },
            30s);
    }

    [[nodiscard]] colock::config config() const {
        std::string hosts;
        for (const redis_server& one : sentinels_) {
            hosts += (hosts.empty() ? "" : ",") + ("127.0.0.1:" + std::to_string(one.port()));
        }
        return colock::config::from_uris({"redis+sentinel://" + hosts + "/mymaster"});
    }

    redis_server& first_master() { return servers_[0]; }

private:
    std::vector<redis_server> servers_ = std::vector<redis_server>(1);
    std::vector<redis_server> sentinels_;
};

/// Records the states of the only instance.
struct state_log final : observer {
    void on_instance_changed(const instance_changed_event& event) noexcept override {
        states.append(to_string(event.instance.state)) += ' ';
    }
    std::string states;
};

// Two clients with 200 coroutines on 20 names. Locks are thus contended inside each client and between the
// two.
BOOST_AUTO_TEST_CASE(mutual_exclusion_holds_during_a_sentinel_failover) {
    deployment servers;
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const meter costs(executor);
            config configuration = servers.config();
            configuration.failover_quarantine = 2s;
            const auto told = std::make_shared<state_log>();
            configuration.observer = told;
            client first(executor, configuration);
            configuration.observer.reset();
            client second(executor, configuration);
            co_await all_ready(first);
            co_await all_ready(second);
            visitors all;
            for (std::size_t i = 0; i != 200; ++i) {
                lock_options options = with_ttl(2s);
                options.unavailable_timeout = 30s;
                all.begin(executor, i % 2 == 0 ? first : second,
                          "counter:" + std::to_string(i % 20), options);
            }
            co_await async_wait_until([&] { return all.visits() > 500; });
            lease lasting = co_await mutex(first, "lasting", with_ttl(1s)).acquire();
            servers.first_master().kill();
            const stopwatch since_death;
            // The watchdog reports the loss, because no renewal succeeds.
            co_await lasting.wait_lost();
            BOOST_TEST(!lasting.loss().message().empty());

            // The Sentinels take down_after to detect the death, about a second to agree, and some time to
            // inform all of them.
            co_await async_wait_until(
                [&] { return first.instances()[0].state == instance_state::quarantined; }, 40s);
            const milliseconds failover = since_death.elapsed();
            // A lease that has reached the new master can be handed off during the quarantine. 500 visits
            // show new grants.
            const std::size_t before = all.visits();
            co_await async_wait_until([&] { return all.visits() > before + 500; }, 20s);
            const milliseconds pause = since_death.elapsed();
            BOOST_TEST_MESSAGE("failover " << failover.count() << " ms, locks again after "
                                           << pause.count() << " ms");
            BOOST_TEST((pause <= failover + 2s + 2s));
            BOOST_TEST(contains(told->states, "ready down "));
            BOOST_TEST(told->states.ends_with(" quarantined ready "));
            all.stop();
            co_await async_wait_until([&] { return all.gone(); }, 20s);
            BOOST_TEST(all.overlaps() == 0U);
            BOOST_TEST(all.refused().empty());
            co_await first.close(asio::as_tuple);
            co_await second.close(asio::as_tuple);
        }(),
        90s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
