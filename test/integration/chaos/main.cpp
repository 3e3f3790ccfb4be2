// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/chaos/soak.hpp"
#include "integration/chaos/storm.hpp"
#include "support/writable_file.hpp"

#include <CLI/CLI.hpp>

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>

// Runs locks under random faults for a given time. See chaos.sh.

namespace colock::test {
extern const char* const path_of_chaos_client;  // cmake/testing.cmake writes its definition.
}

namespace {

using namespace colock::chaos;

std::atomic<bool> stop = false;

void stop_on_signals() {
    struct sigaction action {};
    action.sa_handler = [](int) { stop = true; };
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

void write_json(const std::string& path, const nlohmann::json& result) {
    std::ofstream file(path);
    file << result.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
}

/// Returns whether the run has no failures.
bool run_and_judge(const soak_options& options, const std::string& json) {
    std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    const auto result = judge(run(options, stop));
    std::printf("%s\n", result.dump(2).c_str());
    std::fflush(stdout);
    if (!json.empty()) {
        write_json(json, result);
    }
    return options.broken == breakage::none ? result["failures"].empty()
                                            : result["violations"] != 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, breakage> breakages{
        {"hold-past-validity", breakage::hold_past_validity},
        {"no-quarantine", breakage::no_quarantine},
    };
    soak_options options;
    options.seed = std::random_device{}();
    options.client = colock::test::path_of_chaos_client;
    std::string json;
    CLI::App app("Runs colock under random faults. See test/integration/chaos.sh --help.");
    app.add_option("--seconds", options.seconds, "duration in seconds")
        ->check(CLI::Range(1, 86400));
    app.add_option("--seed", options.seed, "seed of all random choices");
    app.add_option("--json", json, "write all figures to this file")
        ->check(colock::test::writable_file);
    app.add_option("--only", options.only, "inject only these kinds of faults")
        ->check(CLI::IsMember(storm::kinds()));
    app.add_option("--broken", options.broken, "break the clients, and expect violations")
        ->transform(CLI::CheckedTransformer(breakages));
    CLI11_PARSE(app, argc, argv);
    try {
        stop_on_signals();
        return run_and_judge(options, json) ? 0 : 1;
    } catch (const interrupted&) {
        return 130;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "chaos: %s\n", failure.what());
        return 1;
    }
}
