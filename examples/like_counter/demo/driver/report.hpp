// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_REPORT_HPP
#define LIKE_COUNTER_DRIVER_REPORT_HPP

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <iomanip>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace like_counter::driver {

/// Reads a file of faults. Each line has the seconds since the load began, the fault, and the address:
/// `2.0 killed redis://127.0.0.1:7001`. Throws `std::runtime_error`.
inline nlohmann::json read_faults(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    auto faults = nlohmann::json::array();
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        double at_seconds = 0;
        std::string what;
        std::string instance;
        if (!(words >> at_seconds >> what >> instance)) {
            throw std::runtime_error(path + ": expected SECONDS WHAT INSTANCE, not " + line);
        }
        faults.push_back({{"at_seconds", at_seconds}, {"what", what}, {"instance", instance}});
    }
    return faults;
}

/// Writes that a service was made to send after its lock had passed to another.
struct stale_writes {
    std::uint64_t refused = 0;
    std::uint64_t made = 0;
};

/// Reads "REFUSED/MADE". Returns nothing if the text is something else.
inline std::optional<stale_writes> read_stale_writes(const std::string& text) {
    std::istringstream words(text);
    stale_writes result;
    char slash = ' ';
    if (words >> result.refused >> slash >> result.made && slash == '/' && words.eof()) {
        return result;
    }
    return std::nullopt;
}

inline bool has_accepted_stale_write(const nlohmann::json& result) {
    return result.value("stale_writes_refused", std::uint64_t{0}) <
           result.value("stale_writes_made", std::uint64_t{0});
}

/// Whether a run has some likes, no mismatch, no lock violation, and no stale write that was not refused.
inline bool is_good(const nlohmann::json& result) {
    return result.at("wishes") != 0 && result.at("mismatches") == 0 &&
           result.at("lock_violations") == 0 && !has_accepted_stale_write(result);
}

inline const char* conclusion_of(const nlohmann::json& result) {
    const bool locking = result.at("locking").get<bool>();
    if (is_good(result)) {
        return locking ? "Good: every like was counted exactly once."
                       : "The counters agree, although nothing was locked. A longer run shows the "
                         "drift.";
    }
    if (result.at("wishes") == 0) {
        return "Bad: no like was accepted.";
    }
    if (has_accepted_stale_write(result)) {
        return "Bad: a write that came too late was not refused.";
    }
    return locking
               ? "Bad: the counters have drifted apart, or the lock let two in."
               : "The counters have drifted apart. This is expected, because nothing was locked.";
}

/// Prints the result of a run for people.
inline void print_report(std::ostream& out, const nlohmann::json& result) {
    const auto number = [&result](const char* field) { return result.at(field).get<double>(); };
    const auto ms = [&result](const char* share) {
        return result.at("latency_us").at(share).get<double>() / 1000;
    };
    out << std::fixed << std::setprecision(1)  //
        << "  load              " << number("seconds") << " s, " << result.at("connections")
        << " connections to " << result.at("services") << " service process(es), "
        << result.at("instances").size() << " lock instance(s)\n"
        << "  likes and unlikes " << result.at("wishes") << ", " << number("likes_per_second")
        << " per second; latency p50 " << ms("p50") << " ms, p99 " << ms("p99") << " ms\n"
        << "  errors            " << result.at("errors");
    const char* separator = ": ";
    for (const auto& [kind, count] : result.at("errors_by_kind").items()) {
        out << separator << count << " x " << kind;
        separator = ", ";
    }
    out << '\n';
    for (const auto& fault : result.value("faults", nlohmann::json::array())) {
        out << "  at " << std::setw(5) << fault.at("at_seconds").get<double>() << " s        "
            << fault.at("what").get<std::string>() << " " << fault.at("instance").get<std::string>()
            << '\n';
    }
    out << "  checked           " << result.at("entities_checked") << " entities, "
        << result.at("authors_checked") << " authors\n"
        << "  accepted          " << result.at("accepted") << " likes, by the driver's own book\n"
        << "  counted           " << result.at("counted") << " in the entities' totals, "
        << result.at("author_total") << " in the authors'\n"
        << "  set members       " << result.at("set_members") << '\n'
        << "  mismatches        " << result.at("mismatches") << '\n'
        << "  lock violations   " << result.at("lock_violations") << '\n';
    if (result.contains("stale_writes_made")) {
        out << "  stale writes      " << result.at("stale_writes_made") << " made, "
            << result.at("stale_writes_refused") << " refused\n";
    }
    for (const auto& example : result.at("mismatch_examples")) {
        out << "    " << example.get<std::string>() << '\n';
    }
    out << conclusion_of(result) << '\n';
}

}  // namespace like_counter::driver

#endif
