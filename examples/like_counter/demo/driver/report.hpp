// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_REPORT_HPP
#define LIKE_COUNTER_DRIVER_REPORT_HPP

#include <nlohmann/json.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace like_counter::driver {

/// Reads a file of faults, one a line: seconds since the load began, what was done, to which
/// address. `2.0 killed redis://127.0.0.1:7001`. Throws `std::runtime_error`.
nlohmann::json read_faults(const std::string& path);

/// Writes that somebody whose lock had passed to another was made to send.
struct stale_writes {
    std::uint64_t refused = 0;
    std::uint64_t made = 0;
};

/// Reads "REFUSED/MADE"; nothing if it is something else.
std::optional<stale_writes> read_stale_writes(const std::string& text);

/// Whether a run has shown what it is meant to: some likes, no mismatch, no lock violation, and no
/// stale write that was not refused.
bool is_good(const nlohmann::json& result);

/// The result of a run, for people.
void print_report(std::ostream& out, const nlohmann::json& result);

}  // namespace like_counter::driver

#endif
