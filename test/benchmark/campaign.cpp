#include "benchmark/campaign.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/raw_client.hpp"
#include "benchmark/report.hpp"

#include <algorithm>
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

row run_once(test::servers& servers, const std::string& client, const workload& work) {
    row result;
    result.workload = work.hot_key ? "hot_key_local" : "uncontended";
    result.client = client;
    result.handoff_limit = work.hot_key ? work.handoff_limit : 0;
    result.instances = work.instances.size();
    result.concurrency = work.concurrency;
    server_account account(servers, work.instances.size());
    result.figures =
        figures_from_json(in_child_process([&] { return to_json(run_client(client, work)); }));
    if (result.figures.cycles == 0) {
        throw std::runtime_error(client + " finished no cycle");
    }
    account.finish(result);
    return result;
}

namespace {

workload make_workload(const test::servers& servers, std::size_t instances, std::size_t concurrency,
                       const campaign_options& options) {
    workload work;
    work.instances = servers.uris();
    work.instances.resize(instances);
    work.concurrency = concurrency;
    work.warm_up = options.warm_up;
    work.duration = options.duration;
    return work;
}

void run_uncontended(test::servers& servers, const campaign_options& options,
                     std::vector<row>& rows) {
    print_heading();
    for (const auto instances : options.instances) {
        for (const auto concurrency : options.concurrency) {
            const workload work = make_workload(servers, instances, concurrency, options);
            for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
                for (const char* client : {"raw", "colock"}) {
                    print_progress(client, work, repetition, options.repetitions);
                    rows.push_back(run_once(servers, client, work));
                    rows.back().repetition = repetition;
                }
            }
            print_configuration(rows, instances, concurrency);
        }
    }
}

void run_hot_key_local(test::servers& servers, const campaign_options& options,
                       std::vector<row>& rows) {
    print_hot_key_heading();
    const auto instances = std::ranges::max(options.instances);
    for (const auto limit : options.handoff_limits) {
        for (const auto concurrency : options.concurrency) {
            workload work = make_workload(servers, instances, concurrency, options);
            work.hot_key = true;
            work.handoff_limit = limit;
            for (int repetition = 1; repetition <= options.repetitions; ++repetition) {
                print_progress("colock", work, repetition, options.repetitions);
                rows.push_back(run_once(servers, "colock", work));
                rows.back().repetition = repetition;
            }
            print_hot_key(rows, limit, concurrency);
        }
    }
}

}  // namespace

std::vector<row> run_campaign(test::servers& servers, const campaign_options& options) {
    std::vector<row> rows;
    if (options.uncontended) {
        run_uncontended(servers, options, rows);
    }
    if (options.hot_key_local) {
        run_hot_key_local(servers, options, rows);
    }
    return rows;
}

}  // namespace colock::benchmark
