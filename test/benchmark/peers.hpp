// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_PEERS_HPP
#define COLOCK_BENCHMARK_PEERS_HPP

#include "benchmark/measurement.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace colock::benchmark {

/// Another lock library, in a process of its own that runs a script of test/benchmark/peers: with its defaults, or
/// with the settings that make it fastest.
struct peer {
    std::string name;
    std::vector<std::string> command;
    bool fastest = false;
    bool needs_one_instance = false;  ///< it knows no quorum
};

/// Workload `uncontended`: the same figures as of our own.
nlohmann::json run_peer(const peer& who, const orders& work);

/// Workload `hot_key_hold`, with all tasks in one process: `{holds: [[asked, granted, let go]...], cpu_us}`, times
/// in microseconds.
nlohmann::json run_peer_on_hot_key(const peer& who, const orders& work,
                                   std::chrono::milliseconds hold);

}  // namespace colock::benchmark

#endif
