// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_PEERS_HPP
#define COLOCK_BENCHMARK_PEERS_HPP

#include "benchmark/measurement.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace colock::benchmark {

/// Another lock library. It runs in a child process, with a script of test/benchmark/peers. It uses its
/// default settings or the fastest ones.
struct peer {
    std::string name;
    std::vector<std::string> command;
    bool fastest = false;
    bool needs_one_instance = false;  ///< It has no quorum.
};

/// Runs the workload `uncontended` and returns the same figures as for colock.
nlohmann::json run_peer(const peer& who, const orders& work);

/// Runs the workload `hot_key_hold` with all tasks in one process. Returns `{holds: [[asked, granted,
/// released]...], cpu_us}` with times in microseconds.
nlohmann::json run_peer_on_hot_key(const peer& who, const orders& work,
                                   std::chrono::milliseconds hold);

}  // namespace colock::benchmark

#endif
