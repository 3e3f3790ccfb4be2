#include "benchmark/workloads.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/hold.hpp"
#include "benchmark/raw_client.hpp"
#include "benchmark/server_account.hpp"

#include <algorithm>
#include <stdexcept>

namespace colock::benchmark {
namespace {

const column cycles_per_second{"cycles_per_second", "cycles per second"};
const column p50{"p50_us", "p50 us"};
const column p99{"p99_us", "p99 us"};
const column client_cpu{"client_cpu_us_per_cycle", "client CPU us/cycle", 6, 2};
const column server_cpu{"server_cpu_us_per_cycle", "servers' CPU us/cycle", 6, 2};
const column bytes_per_waiter{"bytes_per_waiter", "bytes per waiter", 6, 0};

orders make_orders(const campaign_options& options, test::servers& servers, std::size_t instances,
                   std::size_t tasks) {
    orders work;
    work.instances = servers.uris();
    work.instances.resize(instances);
    work.concurrency = tasks;
    work.warm_up = options.warm_up;
    work.duration = options.duration;
    return work;
}

/// A client that runs in a process of its own.
contestant contestant_on(test::servers& servers, std::string name, measured (*run)(const orders&),
                         const orders& work) {
    return {std::move(name), [&servers, run, work] {
                const server_account account(servers, work.instances.size());
                auto figures = in_child_process([&] { return to_json(run(work)); });
                if (figures.at("cycles_with_warm_up") == 0) {
                    throw std::runtime_error("the client finished no cycle");
                }
                account.add_to(figures);
                return figures;
            }};
}

void run_uncontended(campaign& all) {
    const table t{"uncontended",
                  "each task takes and releases a lock of its own.",
                  {"instances", "tasks"},
                  {cycles_per_second, p50, p99, client_cpu, server_cpu},
                  "raw"};
    print_heading(t);
    for (const auto instances : all.options().instances) {
        for (const auto tasks : all.options().tasks) {
            const orders work = make_orders(all.options(), all.servers(), instances, tasks);
            all.measure(t, {{"instances", instances}, {"tasks", tasks}},
                        {contestant_on(all.servers(), "raw", run_raw, work),
                         contestant_on(all.servers(), "colock", run_colock, work)});
        }
    }
}

void run_hot_key_local(campaign& all) {
    const table t{
        "hot_key_local",
        "all tasks of one client want one lock, and let go of it at once. A cycle is from "
        "one turn to the next.",
        {"instances", "tasks", "handoff_limit"},
        {cycles_per_second, p50, p99, client_cpu, bytes_per_waiter},
        ""};
    print_heading(t);
    const auto instances = std::ranges::max(all.options().instances);
    for (const std::size_t limit : {64, 100'000}) {
        for (const auto tasks : all.options().tasks) {
            orders work = make_orders(all.options(), all.servers(), instances, tasks);
            work.hot_key = true;
            work.handoff_limit = limit;
            all.measure(t, {{"instances", instances}, {"tasks", tasks}, {"handoff_limit", limit}},
                        {contestant_on(all.servers(), "colock", run_colock, work)});
        }
    }
}

void run_native_release(campaign& all) {
    const table t{"native_release",
                  "as uncontended; releases by DELIFEQ (native), and on servers of which that was "
                  "taken away.",
                  {"instances", "tasks"},
                  {cycles_per_second, p50, p99, client_cpu, server_cpu},
                  "script"};
    const auto instances = std::ranges::max(all.options().instances);
    test::servers without(instances, {"--rename-command", "DELIFEQ", ""});
    print_heading(t);
    for (const auto tasks : all.options().tasks) {
        all.measure(t, {{"instances", instances}, {"tasks", tasks}},
                    {contestant_on(without, "script", run_colock,
                                   make_orders(all.options(), without, instances, tasks)),
                     contestant_on(all.servers(), "native", run_colock,
                                   make_orders(all.options(), all.servers(), instances, tasks))});
    }
}

}  // namespace

const std::vector<workload_entry>& workloads() {
    static const std::vector<workload_entry> all{
        {"uncontended", true, run_uncontended},
        {"hot_key_local", true, run_hot_key_local},
        {"hot_key_hold", true, run_hot_key_hold},
        {"native_release", false, run_native_release},  // needs servers that have the command
    };
    return all;
}

}  // namespace colock::benchmark
