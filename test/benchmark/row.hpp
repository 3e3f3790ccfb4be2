// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_ROW_HPP
#define COLOCK_BENCHMARK_ROW_HPP

#include <nlohmann/json.hpp>

#include <string>

namespace colock::benchmark {

/// What one run has given.
struct row {
    std::string workload;
    std::string client;
    nlohmann::json parameters;  ///< numbers by their names: "instances", "concurrency"
    int repetition = 0;         ///< from 1
    nlohmann::json figures;     ///< numbers by their names, units included: "p50_us"
};

}  // namespace colock::benchmark

#endif
