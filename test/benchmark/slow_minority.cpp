// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/slow_minority.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/plain_clients.hpp"
#include "support/child_process.hpp"
#include "support/tcp_proxy.hpp"

#include <signal.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

namespace colock::benchmark {
namespace {

constexpr std::size_t instances = 5;
constexpr std::size_t slow = 2;  // The last ones.
constexpr std::chrono::milliseconds delay{200};

using client_function = measured (*)(const orders&);

nlohmann::json run_healthy(client_function run, const orders& work) {
    return in_child_process([&] { return to_json(run(work)); });
}

/// The client stops the servers itself, when it is connected to all of them.
nlohmann::json run_stopped(client_function run, test::servers& servers, orders work) {
    std::vector<pid_t> victims;
    for (std::size_t i = instances - slow; i != instances; ++i) {
        victims.push_back(servers[i].pid());
    }
    work.all_answer = false;
    work.when_connected = [&] {
        for (const pid_t victim : victims) {
            ::kill(victim, SIGSTOP);
        }
    };
    const auto wake_all = [&] {
        for (const pid_t victim : victims) {
            ::kill(victim, SIGCONT);
        }
    };
    nlohmann::json figures;
    try {
        figures = run_healthy(run, work);
    } catch (...) {
        wake_all();
        throw;
    }
    wake_all();
    return figures;
}

nlohmann::json run_delayed(client_function run, test::servers& servers, orders work) {
    std::vector<test::child_process> delays;
    for (std::size_t i = instances - slow; i != instances; ++i) {
        delays.emplace_back("delay",
                            std::vector<std::string>{"/proc/self/exe", "delay", "--port",
                                                     std::to_string(servers[i].port()), "--by",
                                                     std::to_string(delay.count())});
        work.instances[i] = "redis://127.0.0.1:" + delays.back().wait_for_line();
    }
    return run_healthy(run, work);
}

void measure(campaign& all, test::servers& servers, const table& t, client_function run) {
    print_heading(t);
    constexpr std::size_t tasks = 64;
    const orders work = make_orders(all.options(), servers, instances, tasks);
    const auto on_empty = [&](auto how) {
        return [&servers, how] {
            servers.flush();
            return how();
        };
    };
    all.measure(t, parameters_of(work),
                {{"healthy", on_empty([&] { return run_healthy(run, work); })},
                 {"stopped", on_empty([&] { return run_stopped(run, servers, work); })},
                 {"delayed", on_empty([&] { return run_delayed(run, servers, work); })}});
}

}  // namespace

void run_slow_minority(campaign& all) {
    table t = table_of_cycles("slow_minority",
                              "each of 64 tasks takes and releases a lock of its own; two of five "
                              "servers are stopped, or 200 ms away.",
                              "healthy", {{"growth_mib", "client's growth MiB", 6, 1}});
    test::servers servers(instances);
    measure(all, servers, t, run_colock);
    t.workload = "slow_minority_raw";
    t.description =
        "the same of the hand-written loop: what this machine takes from anybody who needs all of "
        "three answers, not three of five.";
    measure(all, servers, t, run_raw);
}

void run_delay(std::uint16_t port, std::chrono::milliseconds by) {
    test::tcp_proxy proxy(port);
    proxy.delay(by / 2);  // In each direction.
    std::printf("%u\n", static_cast<unsigned>(proxy.port()));
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
    }
}

}  // namespace colock::benchmark
