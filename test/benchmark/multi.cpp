// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/multi.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace colock::benchmark {
namespace {

contestant contestant_for(std::string name, orders work, lock_kind kind, std::size_t names) {
    work.kind = kind;
    work.names = names;
    return contestant_for(std::move(name), std::move(work));
}

}  // namespace

void run_multi(campaign& all) {
    const table t{"multi_uncontended",
                  "each task takes and releases a lock of its own: a mutex, or a multi_mutex of 2, "
                  "4 or 16 names.",
                  {"instances", "concurrency"},
                  {{"cycles_per_second", "cycles per second"},
                   {"p50_us", "p50 us"},
                   {"p99_us", "p99 us"},
                   {"client_cpu_us_per_cycle", "client CPU us/cycle", 6, 2}},
                  "mutex"};
    print_heading(t);
    for (const auto instances : all.options().instances) {
        for (const auto tasks : all.options().tasks) {
            const orders work = make_orders(all.options(), all.servers(), instances, tasks);
            all.servers().flush();
            all.measure(t, {{"instances", instances}, {"concurrency", tasks}},
                        {contestant_for("mutex", work, lock_kind::mutex, 1),
                         contestant_for("2 names", work, lock_kind::names, 2),
                         contestant_for("4 names", work, lock_kind::names, 4),
                         contestant_for("16 names", work, lock_kind::names, 16)});
        }
    }
}

}  // namespace colock::benchmark
