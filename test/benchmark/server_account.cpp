// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/server_account.hpp"

#include <sstream>
#include <stdexcept>
#include <string>

namespace colock::benchmark {
namespace {

/// Returns the value after `name` in the reply to INFO.
double info_value(const std::string& info, const std::string& name) {
    const auto position = info.find(name);
    return position == std::string::npos ? 0 : std::stod(info.substr(position + name.size()));
}

/// Returns the number of commands executed since CONFIG RESETSTAT, without INFO and CONFIG. The server also
/// counts commands that a script calls, under their own names. The GET and DEL commands are therefore left
/// out. Only the EVALSHA scripts send them.
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

}  // namespace

double cpu_seconds(const test::redis_server& server) {
    const auto info = server.command({"INFO", "cpu"}).value_or("");
    return info_value(info, "used_cpu_user:") + info_value(info, "used_cpu_sys:");
}

server_account::server_account(test::servers& servers, std::size_t count)
    : servers_(servers), count_(count) {
    for (std::size_t i = 0; i != count; ++i) {
        servers[i].flush();
        servers[i].command({"CONFIG", "RESETSTAT"});
        cpu_seconds_before_ += cpu_seconds(servers[i]);
    }
}

void server_account::add_to(nlohmann::json& figures) const {
    double cpu = -cpu_seconds_before_;
    double total = 0;
    for (std::size_t i = 0; i != count_; ++i) {
        cpu += cpu_seconds(servers_[i]);
        total += commands(servers_[i]);
        if (const auto keys = servers_[i].command({"DBSIZE"}).value(); keys != "0") {
            throw std::runtime_error("the client left " + keys + " keys behind on server " +
                                     std::to_string(i + 1));
        }
    }
    const auto cycles = figures.at("cycles_with_warm_up").get<double>();
    figures["server_cpu_us_per_cycle"] = cpu * 1e6 / cycles;
    figures["commands_per_cycle"] = total / cycles;
}

}  // namespace colock::benchmark
