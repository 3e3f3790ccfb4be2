// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CHILD_PROCESS_HPP
#define COLOCK_BENCHMARK_CHILD_PROCESS_HPP

#include <nlohmann/json.hpp>

#include <functional>
#include <vector>

namespace colock::benchmark {

/// Runs a function in a child process and returns its result. Memory, allocator caches and getrusage thus
/// start fresh in each run. Rethrows an exception of the function as `std::runtime_error`. Call it only while
/// the program has a single thread.
nlohmann::json in_child_process(const std::function<nlohmann::json()>& work);

/// Does the same with several processes at the same time. All of them have ended when it returns or throws.
std::vector<nlohmann::json> in_child_processes(
    const std::vector<std::function<nlohmann::json()>>& works);

}  // namespace colock::benchmark

#endif
