// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/workloads.hpp"
#include "support/redis_cluster.hpp"

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace colock::benchmark {
namespace {

constexpr std::chrono::milliseconds at_work{1};
constexpr std::chrono::milliseconds stopped{9};

/// Stops each master for most of the time, independently of the others.
class brake {
public:
    explicit brake(test::redis_cluster& cluster) {
        for (std::size_t i = 0; i != cluster.size(); ++i) {
            threads_.emplace_back([pid = cluster[i].pid()](const std::stop_token& end) {
                while (!end.stop_requested()) {
                    ::kill(pid, SIGSTOP);
                    std::this_thread::sleep_for(stopped);
                    ::kill(pid, SIGCONT);
                    std::this_thread::sleep_for(at_work);
                }
            });
        }
    }

private:
    std::vector<std::jthread> threads_;
};

orders orders_for(const campaign_options& options, const test::redis_cluster& cluster,
                  std::size_t tasks) {
    orders result;
    result.instances = {cluster.uri()};
    result.concurrency = tasks;
    result.warm_up = options.warm_up;
    result.duration = options.duration;
    return result;
}

}  // namespace

void run_cluster(campaign& all) {
    const table t{
        "cluster",
        "each of 1000 tasks takes and releases a lock of its own on a Redis Cluster. Each "
        "master may work all of its time,\nor is held back to a tenth of it.",
        {"concurrency", "time_percent"},
        {cycles_per_second, p50, p99, client_cpu},
        "one master"};
    print_heading(t);
    test::redis_cluster one(1);
    test::redis_cluster three(3);
    constexpr std::size_t tasks = 1000;
    const auto run_on = [&](test::redis_cluster& cluster, bool held_back) {
        return [&cluster, held_back, work = orders_for(all.options(), cluster, tasks)] {
            if (!held_back) {
                return in_child_process([&] { return to_json(run_colock(work)); });
            }
            const brake slower(cluster);
            return in_child_process([&] { return to_json(run_colock(work)); });
        };
    };
    for (const bool held_back : {false, true}) {
        constexpr auto percent = 100 * at_work / (at_work + stopped);
        all.measure(
            t, {{"concurrency", tasks}, {"time_percent", held_back ? percent : 100}},
            {{"one master", run_on(one, held_back)}, {"three masters", run_on(three, held_back)}});
    }
}

}  // namespace colock::benchmark
