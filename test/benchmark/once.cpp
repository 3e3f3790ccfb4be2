// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/once.hpp"

#include "benchmark/cycles.hpp"

namespace colock::benchmark {

void run_once(campaign& all) {
    const table apart{
        "once_uncontended",
        "each task has a name of its own. It takes and releases a mutex, or calls once "
        "and finds a result, or calls once with a new name each time.",
        {"instances", "concurrency"},
        {cycles_per_second, p50, p99, client_cpu},
        "mutex"};
    print_heading(apart);
    for (const auto instances : all.options().instances) {
        for (const auto tasks : all.options().tasks) {
            const orders work = make_orders(all.options(), all.servers(), instances, tasks);
            all.servers().flush();
            all.measure(apart, {{"instances", instances}, {"concurrency", tasks}},
                        {contestant_for("mutex", work, lock_kind::mutex),
                         contestant_for("once, found", work, lock_kind::found),
                         contestant_for("once, run", work, lock_kind::run_once)});
        }
    }
}

}  // namespace colock::benchmark
