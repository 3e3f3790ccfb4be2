#include "benchmark/campaign.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/raw_client.hpp"
#include "benchmark/report.hpp"

#include <cstdio>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace colock::benchmark {
namespace {

/// The value after `name` in what INFO says.
double info_value(const std::string& info, const std::string& name) {
    const auto position = info.find(name);
    return position == std::string::npos ? 0 : std::stod(info.substr(position + name.size()));
}

double server_cpu_seconds(const test::redis_server& server) {
    const auto info = server.command({"INFO", "cpu"}).value_or("");
    return info_value(info, "used_cpu_user:") + info_value(info, "used_cpu_sys:");
}

/// All commands executed since CONFIG RESETSTAT, but for our own question. Commands that a script
/// calls are counted once more by the server, under their own name: EVALSHA's own are `get` and
/// `del`, which neither client sends otherwise.
double commands(const test::redis_server& server) {
    std::istringstream lines(server.command({"INFO", "commandstats"}).value_or(""));
    double count = 0;
    for (std::string line; std::getline(lines, line);) {
        const bool ours = line.starts_with("cmdstat_info:") || line.starts_with("cmdstat_config");
        const bool in_script = line.starts_with("cmdstat_get:") || line.starts_with("cmdstat_del:");
        if (line.starts_with("cmdstat_") && !ours && !in_script) {
            count += info_value(line, "calls=");
        }
    }
    return count;
}

/// What the servers did between its making and `finish`.
class server_account {
public:
    server_account(test::servers& servers, std::size_t count) : servers_(servers), count_(count) {
        for (std::size_t i = 0; i != count; ++i) {
            servers[i].flush();
            servers[i].command({"CONFIG", "RESETSTAT"});
            cpu_seconds_ -= server_cpu_seconds(servers[i]);
        }
    }

    void finish(row& result) {
        double total = 0;
        for (std::size_t i = 0; i != count_; ++i) {
            cpu_seconds_ += server_cpu_seconds(servers_[i]);
            total += commands(servers_[i]);
            check_empty(servers_[i], result.client);
        }
        const auto cycles = static_cast<double>(result.figures.cycles_with_warm_up);
        result.server_cpu_us_per_cycle = cpu_seconds_ * 1e6 / cycles;
        result.commands_per_cycle = total / cycles;
    }

private:
    /// A client that leaves locks behind has not done the work that is measured.
    static void check_empty(const test::redis_server& server, const std::string& client) {
        if (server.command({"DBSIZE"}) != "0") {
            throw std::runtime_error(client + " left keys behind");
        }
    }

    test::servers& servers_;
    std::size_t count_;
    double cpu_seconds_ = 0;
};

}  // namespace

measured run_client(const std::string& name, const workload& work) {
    return name == "raw" ? run_raw(work) : run_colock(work);
}

row run_once(test::servers& servers, const std::string& client, std::size_t instances,
             std::size_t concurrency, const campaign_options& options) {
    workload work;
    work.instances = servers.uris();
    work.instances.resize(instances);
    work.concurrency = concurrency;
    work.warm_up = options.warm_up;
    work.duration = options.duration;

    row result;
    result.client = client;
    result.instances = instances;
    result.concurrency = concurrency;
    server_account account(servers, instances);
    result.figures =
        figures_from_json(in_child_process([&] { return to_json(run_client(client, work)); }));
    if (result.figures.cycles == 0) {
        throw std::runtime_error(client + " finished no cycle");
    }
    account.finish(result);
    return result;
}

std::vector<row> run_campaign(test::servers& servers, const campaign_options& options) {
    std::vector<row> rows;
    print_heading();
    for (const auto instances : options.instances) {
        for (const auto concurrency : options.concurrency) {
            for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
                for (const char* client : {"raw", "colock"}) {
                    print_progress(client, instances, concurrency, repetition, options.repetitions);
                    rows.push_back(run_once(servers, client, instances, concurrency, options));
                    rows.back().repetition = repetition;
                }
            }
            print_configuration(rows, instances, concurrency);
        }
    }
    return rows;
}

}  // namespace colock::benchmark
