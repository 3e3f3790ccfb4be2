// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "report.hpp"

#include <cstdint>
#include <fstream>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace like_counter::driver {
namespace {

void print_load(std::ostream& out, const nlohmann::json& result) {
    const auto& latency = result.at("latency_us");
    out << std::fixed << std::setprecision(1)  //
        << "  load              " << result.at("seconds").get<double>() << " s, "
        << result.at("connections") << " connections to " << result.at("services")
        << " service process(es), " << result.at("instances").size() << " lock instance(s)\n"
        << "  likes and unlikes " << result.at("wishes") << ", "
        << result.at("likes_per_second").get<double>() << " per second; latency p50 "
        << latency.at("p50").get<double>() / 1000 << " ms, p99 "
        << latency.at("p99").get<double>() / 1000 << " ms\n"
        << "  errors            " << result.at("errors");
    const char* separator = ": ";
    for (const auto& [kind, count] : result.at("errors_by_kind").items()) {
        out << separator << count << " x " << kind;
        separator = ", ";
    }
    out << '\n';
}

void print_faults(std::ostream& out, const nlohmann::json& result) {
    for (const auto& fault : result.value("faults", nlohmann::json::array())) {
        out << "  at " << std::setw(5) << fault.at("at_seconds").get<double>() << " s        "
            << fault.at("what").get<std::string>() << " " << fault.at("instance").get<std::string>()
            << '\n';
    }
}

void print_check(std::ostream& out, const nlohmann::json& result) {
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
}

void print_conclusion(std::ostream& out, const nlohmann::json& result) {
    const bool locking = result.at("locking").get<bool>();
    if (is_good(result)) {
        out << (locking ? "Good: every like was counted exactly once.\n"
                        : "The counters agree, although nothing was locked. A longer run shows the "
                          "drift.\n");
    } else if (result.at("wishes") == 0) {
        out << "Bad: no like was accepted.\n";
    } else if (result.value("stale_writes_refused", std::uint64_t{0}) <
               result.value("stale_writes_made", std::uint64_t{0})) {
        out << "Bad: a write that came too late was not refused.\n";
    } else if (locking) {
        out << "Bad: the counters have drifted apart, or the lock let two in.\n";
    } else {
        out << "The counters have drifted apart. This is expected, because nothing was locked.\n";
    }
}

}  // namespace

nlohmann::json read_faults(const std::string& path) {
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

std::optional<stale_writes> read_stale_writes(const std::string& text) {
    std::istringstream words(text);
    stale_writes result;
    char slash = ' ';
    if (words >> result.refused >> slash >> result.made && slash == '/' && words.eof()) {
        return result;
    }
    return std::nullopt;
}

bool is_good(const nlohmann::json& result) {
    return result.at("wishes").get<std::uint64_t>() > 0 && result.at("mismatches") == 0 &&
           result.at("lock_violations") == 0 &&
           result.value("stale_writes_refused", std::uint64_t{0}) >=
               result.value("stale_writes_made", std::uint64_t{0});
}

void print_report(std::ostream& out, const nlohmann::json& result) {
    print_load(out, result);
    print_faults(out, result);
    print_check(out, result);
    print_conclusion(out, result);
}

}  // namespace like_counter::driver
