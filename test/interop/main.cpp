// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "interop/encounter.hpp"
#include "support/writable_file.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

// Runs colock with other libraries on the same locks and checks the results. See run.sh.

namespace {

using namespace colock::interop;

struct options {
    std::vector<std::string> only;
    double seconds = 5;
    std::string json;
    std::vector<std::string> colock;
    std::vector<std::string> redlock;
    std::vector<std::string> redis_py;
};

void print(const nlohmann::json& result) {
    std::printf("%s: %s rounds, %s overlaps, %s changes of hands, longest section %.1f ms\n",
                result["encounter"].get<std::string>().c_str(), result["rounds"].dump().c_str(),
                result["overlaps"].dump().c_str(), result["changes_of_hands"].dump().c_str(),
                result["longest_section_ms"].get<double>());
    for (const auto& [kind, figures] : result["contention"].items()) {
        std::printf("   %-9s %5s acquisitions, longest wait %6.1f ms", kind.c_str(),
                    figures["acquisitions"].dump().c_str(),
                    figures["longest_wait_ms"].get<double>());
        if (result.contains("hand_over_ms")) {
            std::printf(
                "; had the lock %5.1f ms after the other's release, %5.1f ms after the other's ttl",
                result["hand_over_ms"][kind].get<double>(),
                result["take_over_ms"][kind].get<double>());
        }
        std::printf("\n");
    }
    for (const auto& failure : result["failures"]) {
        std::printf("   WRONG: %s\n", failure.get<std::string>().c_str());
    }
    for (const auto& remark : result["remarks"]) {
        std::printf("   NOTE: %s\n", remark.get<std::string>().c_str());
    }
    std::fflush(stdout);
}

void write_json(const std::string& path, const nlohmann::json& results) {
    std::ofstream file(path);
    file << results.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
}

bool run_all(const options& options) {
    auto results = nlohmann::json::array();
    bool well = true;
    for (const auto& one : encounters()) {
        if (!options.only.empty() &&
            std::ranges::find(options.only, one.name) == options.only.end()) {
            continue;
        }
        const auto& peer = one.peer == "redlock" ? options.redlock : options.redis_py;
        results.push_back(run(one, {options.colock, peer}, options.seconds));
        print(results.back());
        well = well && results.back()["failures"].empty();
    }
    if (!options.json.empty()) {
        write_json(options.json, results);
    }
    return well;
}

std::vector<std::string> names_of_encounters() {
    std::vector<std::string> names;
    for (const auto& one : encounters()) {
        names.push_back(one.name);
    }
    return names;
}

}  // namespace

int main(int argc, char** argv) {
    options options;
    CLI::App app("Runs colock and other libraries on the same locks.");
    app.add_option("--only", options.only, "run only these tests")
        ->check(CLI::IsMember(names_of_encounters()));
    app.add_option("--seconds", options.seconds, "duration of the competition in seconds")
        ->check(CLI::Range(1, 3600));
    app.add_option("--json", options.json, "write all figures to this file")
        ->check(colock::test::writable_file);
    app.add_option("--colock", options.colock, "command of colock's worker")->required();
    app.add_option("--redlock", options.redlock, "command of node-redlock's worker");
    app.add_option("--redis-py", options.redis_py, "command of redis-py's worker");
    CLI11_PARSE(app, argc, argv);
    try {
        return run_all(options) ? 0 : 1;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "interop_driver: %s\n", failure.what());
        return 1;
    }
}
