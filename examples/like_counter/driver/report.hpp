#ifndef LIKE_COUNTER_DRIVER_REPORT_HPP
#define LIKE_COUNTER_DRIVER_REPORT_HPP

#include <nlohmann/json.hpp>

#include <iosfwd>
#include <string>

namespace like_counter::driver {

/// Reads a file of faults, one a line: seconds since the load began, what was done, to which
/// address. `2.0 killed redis://127.0.0.1:7001`. Throws `std::runtime_error`.
nlohmann::json read_faults(const std::string& path);

/// Whether a run has shown what it is meant to: some likes, no mismatch, no lock violation.
bool is_good(const nlohmann::json& result);

/// The result of a run, for people.
void print_report(std::ostream& out, const nlohmann::json& result);

}  // namespace like_counter::driver

#endif
