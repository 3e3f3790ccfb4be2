#include "benchmark/campaign.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/machine.hpp"
#include "benchmark/raw_client.hpp"
#include "benchmark/report.hpp"
#include "benchmark/workloads.hpp"
#include "support/servers.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace colock::benchmark;

struct run_options {
    campaign_options campaign;
    double seconds = 2;
    std::string json;
    std::string workload;  // empty: all
    bool quick = false;
    bool check = false;
};

struct client_options {
    std::string name = "colock";
    std::vector<std::string> uris;
    std::size_t instances = 5;
    std::size_t concurrency = 1000;
    double seconds = 2;
    std::size_t handoff_limit = 64;
    bool hot_key = false;
    bool json = false;
};

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::vector<std::string> workload_names() {
    std::vector<std::string> names;
    for (const workload_entry& each : workloads()) {
        names.push_back(each.name);
    }
    return names;
}

void add_run(CLI::App& app, run_options& options) {
    auto& run = *app.add_subcommand("run", "start servers, measure raw and colock, compare");
    auto& campaign = options.campaign;
    run.add_flag("--quick", options.quick, "5 instances only, 3 repetitions of 1 s");
    run.add_option("--json", options.json, "write all figures to this file");
    run.add_flag("--check", options.check, "exit with 1 when a bound is not met");
    run.add_option("--instances", campaign.instances, "numbers of servers")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    run.add_option("--concurrency", campaign.tasks, "numbers of tasks")
        ->delimiter(',')
        ->check(CLI::Range(1, 100000));
    run.add_option("--workload", options.workload, "only this one")
        ->check(CLI::IsMember(workload_names()));
    run.add_option("--repetitions", campaign.repetitions)->check(CLI::Range(1, 1000));
    run.add_option("--seconds", options.seconds, "of each run")->check(CLI::Range(0.1, 3600.0));
    run.callback([&run, &options] {
        if (options.quick) {
            auto& quick = options.campaign;
            if (run.count("--instances") == 0)
                quick.instances = {5};
            if (run.count("--repetitions") == 0)
                quick.repetitions = 3;
            if (run.count("--seconds") == 0)
                options.seconds = 1;
            quick.warm_up = std::chrono::milliseconds(300);
            quick.hold_duration = std::chrono::seconds(3);
        }
        options.campaign.duration = milliseconds(options.seconds);
    });
}

void add_client(CLI::App& app, client_options& options) {
    auto& client = *app.add_subcommand("client", "one run of one client, in this process");
    client.add_option("--client", options.name)->check(CLI::IsMember({"raw", "colock"}));
    client.add_option("--uri", options.uris, "a server to use; without, own ones are started");
    client.add_option("--instances", options.instances, "how many servers to start")
        ->check(CLI::Range(1, 64));
    client.add_option("--concurrency", options.concurrency)->check(CLI::Range(1, 100000));
    client.add_option("--seconds", options.seconds)->check(CLI::Range(0.1, 3600.0));
    client.add_flag("--hot-key", options.hot_key, "all tasks want the same lock (colock only)");
    client.add_option("--handoff-limit", options.handoff_limit);
    client.add_flag("--json", options.json, "print the figures as JSON");
}

void write_json(const std::string& path, const nlohmann::json& report) {
    std::ofstream file(path);
    file << report.dump(2) << '\n';
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
    std::printf("\nwritten: %s\n", path.c_str());
}

int run(const run_options& options) {
    campaign all(options.campaign);
    for (const workload_entry& each : workloads()) {
        if (options.workload.empty() ? each.in_all : each.name == options.workload) {
            each.run(all);
        }
    }
    const bool met = print_bounds(all.rows());
    if (!options.json.empty()) {
        write_json(options.json, to_json(all.rows(), describe_machine(all.servers()[0])));
    }
    return options.check && !met ? 1 : 0;
}

int run_client(const client_options& options) {
    const colock::test::servers own(options.uris.empty() ? options.instances : 0);
    orders work;
    work.instances = options.uris.empty() ? own.uris() : options.uris;
    work.concurrency = options.concurrency;
    work.duration = milliseconds(options.seconds);
    work.hot_key = options.hot_key;
    work.handoff_limit = options.handoff_limit;
    const auto result = options.name == "raw" ? run_raw(work) : run_colock(work);
    if (options.json) {
        std::printf("%s\n", to_json(result).dump().c_str());
    } else {
        std::printf("%s: %.0f cycles/s, p50 %.1f us, p99 %.1f us, client CPU %.2f us per cycle\n",
                    options.name.c_str(), result.cycles_per_second, result.p50_us, result.p99_us,
                    result.client_cpu_us_per_cycle);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    run_options run_with;
    client_options client_with;
    CLI::App app("colock against the physical limit: a hand-written RESP loop");
    app.require_subcommand(1);
    add_run(app, run_with);
    add_client(app, client_with);
    CLI11_PARSE(app, argc, argv);
    try {
        return app.got_subcommand("run") ? run(run_with) : run_client(client_with);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "colock_benchmark: %s\n", failure.what());
        return 3;
    }
}
