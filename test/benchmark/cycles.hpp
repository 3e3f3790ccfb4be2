// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CYCLES_HPP
#define COLOCK_BENCHMARK_CYCLES_HPP

#include "benchmark/campaign.hpp"
#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/report.hpp"

#include <string>
#include <utility>

// Helpers for the workloads that compare different cycles of colock with each other.

namespace colock::benchmark {

inline const column cycles_per_second{"cycles_per_second", "cycles per second"};
inline const column p50{"p50_us", "p50 us"};
inline const column p99{"p99_us", "p99 us"};
inline const column client_cpu{"client_cpu_us_per_cycle", "client CPU us/cycle", 6, 2};

/// Returns a client that runs in a child process. By default it is a colock client.
inline contestant contestant_for(std::string name, orders work,
                                 measured (*run)(const orders&) = run_colock) {
    return {std::move(name), [work = std::move(work), run] {
                return in_child_process([&] { return to_json(run(work)); });
            }};
}

/// Returns the same client with tasks that take a lock of this kind.
inline contestant contestant_for(std::string name, orders work, lock_kind kind,
                                 measured (*run)(const orders&) = run_colock) {
    work.kind = kind;
    return contestant_for(std::move(name), std::move(work), run);
}

}  // namespace colock::benchmark

#endif
