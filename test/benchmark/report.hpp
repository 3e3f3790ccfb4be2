#ifndef COLOCK_BENCHMARK_REPORT_HPP
#define COLOCK_BENCHMARK_REPORT_HPP

#include "benchmark/campaign.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace colock::benchmark {

nlohmann::json to_json(const measured& figures);
measured figures_from_json(const nlohmann::json& object);

void print_heading();

/// What runs now, on a terminal only: the next line overwrites it.
void print_progress(const std::string& client, const workload& work, int repetition,
                    int repetitions);

void print_hot_key_heading();

/// Medians and spread of a hot key's runs.
void print_hot_key(const std::vector<row>& rows, std::size_t handoff_limit,
                   std::size_t concurrency);

/// Medians and spread of both clients in one configuration, and their ratios.
void print_configuration(const std::vector<row>& rows, std::size_t instances,
                         std::size_t concurrency);

/// The bounds that colock has set itself, each with what was measured. Returns whether all that
/// were measured are met.
bool print_bounds(const std::vector<row>& rows);

/// `{machine, rows[], ratios[]}`.
nlohmann::json to_json(const std::vector<row>& rows, const nlohmann::json& machine);

}  // namespace colock::benchmark

#endif
