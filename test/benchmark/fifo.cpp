// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/fifo.hpp"

#include "benchmark/cycles.hpp"
#include "benchmark/raw_client.hpp"

#include <cstddef>
#include <vector>

namespace colock::benchmark {

/// Runs on one server, because a mutex with a binding order supports only one.
void run_fifo(campaign& all) {
    constexpr std::size_t instances = 1;
    const table apart{
        "fifo_uncontended",
        "each task takes and releases a mutex of its own, with or without a binding "
        "order of its waiters. Raw is a hand-written loop that sends the same command "
        "for a mutex, and raw_order the shortest script for the other.",
        {"instances", "concurrency"},
        {cycles_per_second, p50, p99, client_cpu},
        "mutex"};
    const table together{"fifo_hot_key",
                         "all tasks of one client want one mutex. Without a binding order it is "
                         "handed off 64 times, or never.",
                         {"instances", "concurrency"},
                         {cycles_per_second, p50, p99, client_cpu},
                         "mutex"};
    for (const table* const one : {&apart, &together}) {
        print_heading(*one);
        for (const auto tasks : all.options().tasks) {
            if (one == &together && tasks == 1) {
                continue;
            }
            orders work = make_orders(all.options(), all.servers(), instances, tasks);
            work.hot_key = one == &together;
            std::vector<contestant> contestants{contestant_for("mutex", work, lock_kind::mutex),
                                                contestant_for("fifo", work, lock_kind::ordered)};
            if (work.hot_key) {
                work.handoff_limit = 0;
                contestants.push_back(contestant_for("no hand-off", work, lock_kind::mutex));
            } else {
                contestants.push_back(contestant_for("raw", work, lock_kind::mutex, run_raw));
                contestants.push_back(
                    contestant_for("raw_order", work, lock_kind::ordered, run_raw));
            }
            all.servers().flush();
            all.measure(*one, {{"instances", instances}, {"concurrency", tasks}}, contestants);
        }
    }
}

}  // namespace colock::benchmark
