// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/campaign.hpp"
#include "benchmark/chart.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/machine.hpp"
#include "benchmark/peers.hpp"
#include "benchmark/plain_clients.hpp"
#include "benchmark/report.hpp"
#include "benchmark/slow_minority.hpp"
#include "benchmark/workloads.hpp"
#include "support/servers.hpp"
#include "support/writable_file.hpp"

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
    std::string chart;
    std::string section;
    std::string workload;  // Empty selects all workloads.
    std::string redlock;   // The script of a peer.
    // The command of the other peer: an interpreter, then its script.
    std::vector<std::string> redis_py;
    bool quick = false;
    bool check = false;
};

struct report_options {
    std::string from;
    std::string chart;
    std::string section;
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

struct delay_options {
    std::uint16_t port = 0;
    int milliseconds = 0;
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

std::vector<peer> peers_of(const run_options& options) {
    std::vector<peer> peers;
    if (!options.redlock.empty()) {
        const std::vector<std::string> command{"node", options.redlock};
        peers.push_back({"redlock", command, false, false});
        peers.push_back({"redlock+", command, true, false});
    }
    if (!options.redis_py.empty()) {
        peers.push_back({"redis-py", options.redis_py, false, true});
    }
    return peers;
}

void add_run(CLI::App& app, run_options& options) {
    auto& run =
        *app.add_subcommand("run", "start servers, measure colock and the other clients, compare");
    auto& campaign = options.campaign;
    run.add_flag("--quick", options.quick, "use 5 servers only, 3 repetitions of 1 s");
    run.add_option("--json", options.json, "write all figures to this file")
        ->check(colock::test::writable_file);
    run.add_option("--chart", options.chart, "draw the throughput, as SVG")
        ->check(colock::test::writable_file);
    run.add_option("--section", options.section, "write the figures for docs/benchmarks.md")
        ->check(colock::test::writable_file);
    run.add_flag("--check", options.check, "exit with code 1 if a bound is not met");
    run.add_option("--instances", campaign.instances, "numbers of servers, such as 1,3,5")
        ->delimiter(',')
        ->check(CLI::Range(1, 64));
    run.add_option("--concurrency", campaign.tasks, "numbers of tasks, such as 1,1000")
        ->delimiter(',')
        ->check(CLI::Range(1, 100000));
    run.add_option("--leases", campaign.leases, "leases of the workload watchdog")
        ->check(CLI::Range(1, 10'000'000));
    run.add_option("--workload", options.workload, "run only this workload")
        ->check(CLI::IsMember(workload_names()));
    run.add_option("--redlock", options.redlock, "also measure node-redlock, with this script");
    run.add_option("--redis-py", options.redis_py,
                   "also measure redis-py, with this Python and script")
        ->expected(2);
    run.add_option("--repetitions", campaign.repetitions, "runs of each measurement")
        ->check(CLI::Range(1, 1000));
    run.add_option("--seconds", options.seconds, "duration of each run in seconds")
        ->check(CLI::Range(0.1, 3600.0));
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
            quick.watchdog_duration = std::chrono::seconds(15);
        }
        options.campaign.duration = milliseconds(options.seconds);
        options.campaign.peers = peers_of(options);
    });
}

void add_client(CLI::App& app, client_options& options) {
    auto& client = *app.add_subcommand("client", "run one client once, in this process");
    client.add_option("--client", options.name, "the client to run")
        ->check(CLI::IsMember({"raw", "boost_redis", "colock"}));
    client.add_option("--uri", options.uris, "use this server instead of starting some");
    client.add_option("--instances", options.instances, "number of servers to start")
        ->check(CLI::Range(1, 64));
    client.add_option("--concurrency", options.concurrency, "number of tasks")
        ->check(CLI::Range(1, 100000));
    client.add_option("--seconds", options.seconds, "duration in seconds")
        ->check(CLI::Range(0.1, 3600.0));
    client.add_flag("--hot-key", options.hot_key,
                    "let all tasks compete for one lock (colock only)");
    client.add_option("--handoff-limit", options.handoff_limit, "lock_options::handoff_limit");
    client.add_flag("--json", options.json, "print the figures as JSON");
}

void add_report(CLI::App& app, report_options& options) {
    auto& report = *app.add_subcommand(
        "report", "make the chart and the section from figures measured before");
    report.add_option("--from", options.from, "file that --json has written")->required();
    report.add_option("--chart", options.chart, "draw the throughput, as SVG")
        ->check(colock::test::writable_file);
    report.add_option("--section", options.section, "write the figures for docs/benchmarks.md")
        ->check(colock::test::writable_file);
}

void add_delay(CLI::App& app, delay_options& options) {
    auto& delay = *app.add_subcommand(
        "delay", "a proxy that delays a server, for the workload slow_minority");
    delay.add_option("--port", options.port, "port of the server")->required();
    delay.add_option("--by", options.milliseconds, "delay in milliseconds")->required();
}

void write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) {
        throw std::runtime_error("cannot write " + path);
    }
    std::printf("\nwritten: %s\n", path.c_str());
}

/// Writes the chart and the section to the files that are named.
void write_report(const nlohmann::json& figures, const std::string& chart,
                  const std::string& section) {
    if (!chart.empty()) {
        write_file(chart, chart_of(figures));
    }
    if (!section.empty()) {
        write_file(section, section_of(figures));
    }
}

int report(const report_options& options) {
    std::ifstream file(options.from);
    const auto figures = nlohmann::json::parse(file, nullptr, false);
    if (figures.is_discarded()) {
        throw std::runtime_error(options.from + " is not what --json has written");
    }
    write_report(figures, options.chart, options.section);
    return 0;
}

int run(const run_options& options) {
    campaign all(options.campaign);
    for (const workload_entry& each : workloads()) {
        if (options.workload.empty() ? each.in_all : each.name == options.workload) {
            each.run(all);
        }
    }
    const bool met = print_bounds(all.rows());
    const auto report = to_json(all.rows(), describe_machine(all.servers()[0]));
    if (!options.json.empty()) {
        write_file(options.json, report.dump(2) + "\n");
    }
    write_report(report, options.chart, options.section);
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
    const auto result = options.name == "raw"           ? run_raw(work)
                        : options.name == "boost_redis" ? run_boost_redis(work)
                                                        : run_colock(work);
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
    report_options report_with;
    delay_options delay_with;
    CLI::App app("Compares colock with a hand-written RESP loop.");
    app.require_subcommand(1);
    add_run(app, run_with);
    add_client(app, client_with);
    add_report(app, report_with);
    add_delay(app, delay_with);
    CLI11_PARSE(app, argc, argv);
    try {
        if (app.got_subcommand("delay")) {
            run_delay(delay_with.port, std::chrono::milliseconds(delay_with.milliseconds));
            return 0;
        }
        if (app.got_subcommand("report")) {
            return report(report_with);
        }
        return app.got_subcommand("run") ? run(run_with) : run_client(client_with);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "colock_benchmark: %s\n", failure.what());
        return 3;
    }
}
