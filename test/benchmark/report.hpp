// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_REPORT_HPP
#define COLOCK_BENCHMARK_REPORT_HPP

#include "benchmark/row.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace colock::benchmark {

/// A column of a table: one of the figures.
struct column {
    std::string figure;
    std::string heading;
    int width = 7;
    int digits = 0;
};

/// The layout of a workload's table: a line for each client and its parameters, with medians and spread.
struct table {
    std::string workload;
    std::string description;
    std::vector<std::string> parameters;
    std::vector<column> columns;
    /// The client that the others are compared with, below each group of lines. Empty: none.
    std::string base;
};

void print_heading(const table& t);

/// Prints the current run. It prints only to a terminal, and the next line overwrites it.
void print_progress(const table& t, const nlohmann::json& parameters, const std::string& client,
                    int repetition, int repetitions);

/// Prints those rows of this workload that have these parameters.
void print_group(const table& t, const std::vector<row>& rows, const nlohmann::json& parameters);

/// Prints the bounds that colock must meet, each with the measured value and that of a simpler program. Skips
/// a bound that has no measurement. Returns whether all bounds are met.
bool print_bounds(const std::vector<row>& rows);

/// Returns `{machine, rows[], medians[], bounds[]}`.
nlohmann::json to_json(const std::vector<row>& rows, const nlohmann::json& machine);

}  // namespace colock::benchmark

#endif
