// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/versioned.hpp"

#include "benchmark/cycles.hpp"

#include <cstddef>

namespace colock::benchmark {

/// Runs on one server, because a versioned value supports only one.
void run_versioned(campaign& all) {
    constexpr std::size_t instances = 1;
    const table apart{"versioned_uncontended",
                      "each task has a name of its own. It takes and releases a mutex, writes a "
                      "value whose version it knows, or reads and writes it.",
                      {"instances", "concurrency"},
                      {cycles_per_second, p50, p99, client_cpu},
                      "mutex"};
    print_heading(apart);
    for (const auto tasks : all.options().tasks) {
        const orders work = make_orders(all.options(), all.servers(), instances, tasks);
        all.servers().flush();
        all.measure(apart, {{"instances", instances}, {"concurrency", tasks}},
                    {contestant_for("mutex", work, lock_kind::mutex),
                     contestant_for("compare_exchange", work, lock_kind::exchange),
                     contestant_for("update", work, lock_kind::update)});
    }
    const table together{"versioned_hot_key",
                         "all tasks of one client want the same name: a mutex, or a value that "
                         "they read and write.",
                         {"instances", "concurrency"},
                         {cycles_per_second, p50, p99, client_cpu},
                         "mutex"};
    print_heading(together);
    for (const auto tasks : all.options().tasks) {
        if (tasks == 1) {
            continue;
        }
        orders work = make_orders(all.options(), all.servers(), instances, tasks);
        work.hot_key = true;
        all.servers().flush();
        all.measure(together, {{"instances", instances}, {"concurrency", tasks}},
                    {contestant_for("mutex", work, lock_kind::mutex),
                     contestant_for("update", work, lock_kind::update)});
    }
}

}  // namespace colock::benchmark
