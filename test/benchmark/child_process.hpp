// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CHILD_PROCESS_HPP
#define COLOCK_BENCHMARK_CHILD_PROCESS_HPP

#include <nlohmann/json.hpp>

#include <functional>
#include <vector>

namespace colock::benchmark {

/// Runs a function in a process of its own, so that memory, caches of the allocator and getrusage
/// start fresh for each run, and returns what it returns. Throws what it throws, as
/// `std::runtime_error`. Call it while the program has one thread.
nlohmann::json in_child_process(const std::function<nlohmann::json()>& work);

/// The same with several processes at once. All of them end before it throws or returns.
std::vector<nlohmann::json> in_child_processes(
    const std::vector<std::function<nlohmann::json()>>& works);

}  // namespace colock::benchmark

#endif
