// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_ROW_HPP
#define COLOCK_BENCHMARK_ROW_HPP

#include <nlohmann/json.hpp>

#include <string>

namespace colock::benchmark {

/// The result of one run.
struct row {
    std::string workload;
    std::string client;
    nlohmann::json parameters;  ///< Numbers by name: "instances", "concurrency".
    int repetition = 0;         ///< Counted from 1.
    nlohmann::json figures;     ///< Numbers by name, with the unit in the name: "p50_us".
};

}  // namespace colock::benchmark

#endif
