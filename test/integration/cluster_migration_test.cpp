// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A Valkey Cluster that migrates slots as a whole, by CLUSTER MIGRATESLOTS, while locks on them are in use.

#include "locks.hpp"
#include "support/redis_cluster.hpp"
#include "visitors.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_migration_test)

using boost::unit_test::label;

constexpr std::size_t masters = 3;

/// Returns the number of migrations. The environment variable COLOCK_MIGRATIONS may ask for more.
std::size_t migrations() {
    const char* const text = std::getenv("COLOCK_MIGRATIONS");  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? 20 : std::stoul(text);
}

/// Migrates the slot of a key from master to master. After a migration, the former owner answers nothing
/// until it has deleted the keys of the slot.
class migration {
public:
    migration(redis_cluster& cluster, const std::string& key)
        : cluster_(cluster),
          key_(key),
          slot_(std::to_string(redis_cluster::slot_of(cluster[0], key))),
          owner_(cluster.first_owner_of(key)) {}

    /// Before the last tenth, creates so many keys that a server needs some tenths of a second to delete them.
    void repeat(std::size_t times) {
        for (std::size_t done = 0; done != times; done += once() ? 1 : 0) {
            if (done == times - times / 10) {
                fill();
            }
        }
    }

    /// Returns the longest time that an owner or former owner needed for an answer.
    [[nodiscard]] milliseconds longest_silence() const { return longest_silence_; }

private:
    /// Returns whether the slot has a new owner.
    bool once() {
        const std::size_t to = (owner_ + 1) % masters;
        ask({"CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot_, slot_, "NODE", cluster_.id(to)});
        std::string latest;
        const auto is = [&](const std::string& state) {
            return latest.find("\n" + state + "\n") != std::string::npos;
        };
        wait_until([&] {
            latest = ask({"CLUSTER", "GETSLOTMIGRATIONS"});
            latest.resize(std::min(latest.size(), latest.find("\nname\n", 1)));
            return is("success") || is("failed");
        });
        if (is("failed")) {
            BOOST_TEST_MESSAGE("a migration failed: " << latest);
            return false;
        }
        owner_ = to;
        return true;
    }

    void fill() {
        constexpr int steps = 8;  // Each one blocks the server.
        for (int i = 0; i != steps; ++i) {
            ask({"EVAL", "for i = 1, 50000 do redis.call('set', ARGV[1] .. i, '') end return ''",
                 "1", key_, "filler:" + key_ + ":" + std::to_string(i) + ":"});
        }
    }

    std::string ask(const std::vector<std::string>& command) {
        const stopwatch silence;
        std::string result = cluster_[owner_].command(command).value();
        longest_silence_ = std::max(longest_silence_, silence.elapsed());
        return result;
    }

    redis_cluster& cluster_;
    std::string key_;
    std::string slot_;
    std::size_t owner_;
    milliseconds longest_silence_{};
};

/// Returns the keys of all locks.
std::string keys_of_locks(redis_cluster& cluster) {
    std::string result;
    for (std::size_t i = 0; i != masters; ++i) {
        result += cluster[i].command({"KEYS", "lock*"}).value();
    }
    return result;
}

BOOST_AUTO_TEST_CASE(locks_work_while_their_slot_is_migrated_atomically, *label("fault-139")) {
    redis_cluster cluster(masters);
    for (std::size_t i = 0; i != masters; ++i) {
        // No node counts as failed while it deletes keys.
        cluster[i].command({"CONFIG", "SET", "cluster-node-timeout", "15000"});
    }
    const std::size_t count = migrations();
    run_test(
        [&]() -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            config configuration = config::from_uris({cluster.uri(masters)});
            configuration.failover_quarantine = 0ms;
            client first(executor, configuration);
            client second(executor, configuration);
            co_await all_ready(first);
            co_await all_ready(second);

            const std::string contended = "lock{moving}";
            const lock_options options = with_ttl(1min);
            std::vector<lease> held;
            visitors all;
            for (std::size_t i = 0; i != 10; ++i) {
                client& locks = i % 2 == 0 ? first : second;
                const std::string number = std::to_string(i);
                held.push_back(
                    co_await mutex(locks, "lock:held{moving}" + number, with_ttl(10s)).acquire());
                all.begin(executor, locks, contended, options);
                all.begin(executor, locks, contended + number, options);
                all.begin(executor, locks, "lock" + number, options);
            }
            migration slot(cluster, "{moving}");
            auto moved = std::async(std::launch::async, [&] { slot.repeat(count); });
            co_await async_wait_until(
                [&] { return moved.wait_for(0s) == std::future_status::ready; }, count * 5s);
            moved.get();
            all.stop();
            co_await async_wait_until([&] { return all.gone(); });
            BOOST_TEST_MESSAGE(count << " migrations, " << all.visits() << " visits, "
                                     << all.visits(contended) << " of the contended lock, "
                                     << all.longest_pause(contended).count() << " ms without one, "
                                     << slot.longest_silence().count()
                                     << " ms longest silence of a server");
            BOOST_TEST(all.overlaps() == 0U);
            for (const auto& [reason, times] : all.refused()) {
                BOOST_ERROR(times << " times: " << reason);
            }
            // A server on a busy machine may be silent for longer than a release waits.
            for (const auto& [reason, times] : all.not_released()) {
                BOOST_TEST((slot.longest_silence() > 800ms), times << " times: " << reason);
            }
            for (lease& one : held) {
                BOOST_TEST(one.valid());
                BOOST_TEST((co_await one.release() == release_result::released));
            }
            BOOST_TEST(first.counters().lost + second.counters().lost == 0U);
            co_await first.close();
            co_await second.close();
            wait_until([&] { return keys_of_locks(cluster).empty(); });
        }(),
        60s + count * 6s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
