// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/workloads.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/plain_clients.hpp"
#include "benchmark/server_account.hpp"
#include "benchmark/slow_minority.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

const column server_cpu{"server_cpu_us_per_cycle", "servers' CPU us/cycle", 6, 2};
const column allocations{"allocations_per_cycle", "allocations/cycle", 5, 2};
const column bytes_per_waiter{"bytes_per_waiter", "bytes per waiter", 6, 0};

/// Returns a contestant that runs on the servers of these orders. They are emptied first, and the servers'
/// figures are added.
contestant contestant_on(test::servers& servers, std::string name, const orders& work,
                         std::function<nlohmann::json()> run) {
    return {std::move(name), [&servers, run = std::move(run), count = work.instances.size()] {
                const server_account account(servers, count);
                auto figures = run();
                if (figures.at("cycles_with_warm_up") == 0) {
                    throw std::runtime_error("the client finished no cycle");
                }
                account.add_to(figures);
                return figures;
            }};
}

/// Does the same for a client of this project, in a child process.
contestant contestant_on(test::servers& servers, std::string name, const orders& work,
                         measured (*run)(const orders&)) {
    return contestant_on(servers, std::move(name), work, [run, work] {
        return in_child_process([&] { return to_json(run(work)); });
    });
}

/// Returns colock and the clients of this project that it is compared with.
std::vector<contestant> clients_of_project(test::servers& servers, const orders& work) {
    return {contestant_on(servers, "raw", work, run_raw),
            contestant_on(servers, "boost_redis", work, run_boost_redis),
            contestant_on(servers, "colock", work, run_colock)};
}

void run_uncontended(campaign& all) {
    const comparison what{
        table_of_cycles("uncontended", "each task takes and releases a lock of its own.", "raw",
                        {allocations, server_cpu}),
        all.options().instances};
    compare_cycles(all, what, [&all](const orders& work) {
        std::vector<contestant> contestants = clients_of_project(all.servers(), work);
        for (const peer& each : all.options().peers) {
            if (work.instances.size() == 1 || !each.needs_one_instance) {
                contestants.push_back(contestant_on(all.servers(), each.name, work, [&each, work] {
                    return run_peer(each, work);
                }));
            }
        }
        return contestants;
    });
}

void run_paced(campaign& all) {
    const table t = table_of_cycles(
        "paced",
        "one task takes a lock of its own, holds it for 5 ms, and waits for 5 ms; the latency is "
        "that of taking\nit. What it costs when all processes have slept: compare hot_key_hold.",
        "raw", {server_cpu}, {"pause_ms"});
    print_heading(t);
    const auto instances = std::ranges::max(all.options().instances);
    orders work = make_orders(all.options(), all.servers(), instances, 1);
    work.pause = std::chrono::milliseconds(5);
    all.measure(t, {{"instances", instances}, {"concurrency", 1}, {"pause_ms", work.pause.count()}},
                clients_of_project(all.servers(), work));
}

void run_hot_key_local(campaign& all) {
    const table t =
        table_of_cycles("hot_key_local",
                        "all tasks of one client want one lock, and let go of it at once. A cycle "
                        "is from one turn to the next.",
                        "", {bytes_per_waiter}, {"handoff_limit"});
    print_heading(t);
    const auto instances = std::ranges::max(all.options().instances);
    for (const std::size_t limit : {64, 100'000}) {
        for (const auto tasks : all.options().tasks) {
            orders work = make_orders(all.options(), all.servers(), instances, tasks);
            work.hot_key = true;
            work.handoff_limit = limit;
            all.measure(
                t, {{"instances", instances}, {"concurrency", tasks}, {"handoff_limit", limit}},
                {contestant_on(all.servers(), "colock", work, run_colock)});
        }
    }
}

void run_native_release(campaign& all) {
    const table t =
        table_of_cycles("native_release",
                        "as uncontended; releases by DELIFEQ (native), by a script each "
                        "(script), and by one for many (one_script): on servers of which the "
                        "former were taken away.",
                        "script", {server_cpu});
    const auto instances = std::ranges::max(all.options().instances);
    test::servers without(instances, {"--rename-command", "DELIFEQ", ""});
    test::servers without_many(instances,
                               {"--rename-command", "DELIFEQ", "", "--rename-command", "MGET", ""});
    print_heading(t);
    for (const auto tasks : all.options().tasks) {
        const auto on = [&](test::servers& servers, const char* name) {
            return contestant_on(servers, name,
                                 make_orders(all.options(), servers, instances, tasks), run_colock);
        };
        all.measure(
            t, {{"instances", instances}, {"concurrency", tasks}},
            {on(without_many, "script"), on(without, "one_script"), on(all.servers(), "native")});
    }
}

}  // namespace

const std::vector<workload_entry>& workloads() {
    static const std::vector<workload_entry> all{
        {"uncontended", true, run_uncontended},
        {"paced", true, run_paced},
        {"hot_key_local", true, run_hot_key_local},
        {"hot_key_hold", true, run_hot_key_hold},
        {"watchdog", true, run_watchdog},
        {"slow_minority", true, run_slow_minority},
        {"shared", false, run_shared},
        {"semaphore", false, run_semaphore},
        {"reentrant", false, run_reentrant},
        {"fifo", false, run_fifo},
        {"multi", false, run_multi},
        {"versioned", false, run_versioned},
        {"once", false, run_once},
        {"overload", false, run_overload},
        {"outage", false, run_outage},
        {"cluster", false, run_cluster},
        {"native_release", false, run_native_release},  // Needs servers that have the command.
    };
    return all;
}

}  // namespace colock::benchmark
