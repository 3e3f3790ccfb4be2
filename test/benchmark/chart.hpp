// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_CHART_HPP
#define COLOCK_BENCHMARK_CHART_HPP

#include <nlohmann/json.hpp>

#include <string>

namespace colock::benchmark {

/// Bars, from the least to the most with whiskers, of the throughput of the workload `uncontended`, as SVG; of a
/// report as `to_json` makes it.
std::string chart_of(const nlohmann::json& report);

/// The figures of docs/benchmarks.md, as Markdown.
std::string section_of(const nlohmann::json& report);

}  // namespace colock::benchmark

#endif
