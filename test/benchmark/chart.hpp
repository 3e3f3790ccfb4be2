// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CHART_HPP
#define COLOCK_BENCHMARK_CHART_HPP

#include <nlohmann/json.hpp>

#include <string>

namespace colock::benchmark {

/// Returns an SVG chart of the throughput in the workload `uncontended`. It shows bars, and whiskers from the
/// minimum to the maximum. `report` is the result of `to_json`.
std::string chart_of(const nlohmann::json& report);

/// Returns the figures of docs/benchmarks.md as Markdown.
std::string section_of(const nlohmann::json& report);

}  // namespace colock::benchmark

#endif
