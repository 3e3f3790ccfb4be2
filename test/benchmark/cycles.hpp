// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CYCLES_HPP
#define COLOCK_BENCHMARK_CYCLES_HPP

#include "benchmark/campaign.hpp"
#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/report.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

// Helpers for the workloads that compare cycles of several clients.

namespace colock::benchmark {

inline const column cycles_per_second{"cycles_per_second", "cycles per second"};
inline const column p50{"p50_us", "p50 us"};
inline const column p99{"p99_us", "p99 us"};
inline const column client_cpu{"client_cpu_us_per_cycle", "client CPU us/cycle", 6, 2};

/// Returns a table of cycles with a group of lines for each number of servers and tasks.
inline table table_of_cycles(std::string workload, std::string description,
                             std::string base = "mutex",
                             const std::vector<column>& more_columns = {},
                             const std::vector<std::string>& more_parameters = {}) {
    table result{std::move(workload),
                 std::move(description),
                 {"instances", "concurrency"},
                 {cycles_per_second, p50, p99, client_cpu},
                 std::move(base)};
    result.columns.insert(result.columns.end(), more_columns.begin(), more_columns.end());
    result.parameters.insert(result.parameters.end(), more_parameters.begin(),
                             more_parameters.end());
    return result;
}

/// Returns the parameters that a table shows for these orders.
inline nlohmann::json parameters_of(const orders& work) {
    return {{"instances", work.instances.size()}, {"concurrency", work.concurrency}};
}

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

/// A comparison. It runs with each number of servers given here, and with each number of tasks of the campaign.
struct comparison {
    table layout;
    std::vector<std::size_t> instances;
    bool hot_key = false;  ///< All tasks use the same lock. A single task is left out then.
};

/// Measures the contestants that the function returns for the orders. Empties the servers before each group
/// of lines.
template <typename Function>
void compare_cycles(campaign& all, const comparison& what, Function contestants_for) {
    print_heading(what.layout);
    for (const std::size_t count : what.instances) {
        for (const std::size_t tasks : all.options().tasks) {
            if (what.hot_key && tasks == 1) {
                continue;
            }
            orders work = make_orders(all.options(), all.servers(), count, tasks);
            work.hot_key = what.hot_key;
            all.servers().flush();
            all.measure(what.layout, parameters_of(work), contestants_for(work));
        }
    }
}

/// Measures colock clients that take these kinds of locks.
inline void compare_kinds(campaign& all, const comparison& what,
                          const std::vector<std::pair<std::string, lock_kind>>& kinds) {
    compare_cycles(all, what, [&](const orders& work) {
        std::vector<contestant> contestants;
        for (const auto& [name, kind] : kinds) {
            contestants.push_back(contestant_for(name, work, kind));
        }
        return contestants;
    });
}

}  // namespace colock::benchmark

#endif
