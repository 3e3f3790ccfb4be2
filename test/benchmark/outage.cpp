// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/report.hpp"
#include "benchmark/workloads.hpp"
#include "support/deadline.hpp"
#include "support/redis_cluster.hpp"
#include "support/servers.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t leases = 500;
constexpr std::chrono::milliseconds lease_ttl = 20s;
constexpr std::size_t most_tasks = 80'000;
constexpr auto outage = 3s;
constexpr auto patience = 60s;  ///< Longer than the outage, so that no acquire fails.
constexpr auto sample = 100ms;

/// What stops, and what else runs on the machine.
struct disaster {
    std::string instances;  ///< "3 servers", "sentinel" or "cluster"
    std::size_t busy = 0;   ///< Processes that only compute.
    bool stops = true;
};

/// The servers of one run, and their processes.
struct victims {
    explicit victims(const std::string& kind) {
        if (kind == "cluster") {
            cluster = std::make_unique<test::redis_cluster>(3);
            uris = {cluster->uri()};
            for (std::size_t i = 0; i != cluster->size(); ++i) {
                pids.push_back((*cluster)[i].pid());
            }
            return;
        }
        servers = std::make_unique<test::servers>(kind == "sentinel" ? 1 : 3);
        uris = servers->uris();
        for (const auto& one : *servers) {
            pids.push_back(one.pid());
        }
        if (kind == "sentinel") {
            sentinel = std::make_unique<test::redis_server>(std::vector<std::string>{"--sentinel"});
            sentinel->command({"SENTINEL", "MONITOR", "mymaster", "127.0.0.1",
                               std::to_string((*servers)[0].port()), "1"});
            sentinel->command({"SENTINEL", "SET", "mymaster", "down-after-milliseconds", "60000"});
            uris = {"redis+sentinel://127.0.0.1:" + std::to_string(sentinel->port()) + "/mymaster"};
        }
    }

    std::unique_ptr<test::servers> servers;
    std::unique_ptr<test::redis_cluster> cluster;
    std::unique_ptr<test::redis_server> sentinel;
    std::vector<std::string> uris;
    std::vector<pid_t> pids;
};

/// Processes that only compute, and so compete with the client and the servers for the processors.
class busy_loops {
public:
    explicit busy_loops(std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            pids_.push_back(::fork());
            if (pids_.back() == 0) {
                const pid_t parent = ::getppid();
                while (::getppid() == parent) {
                }
                ::_exit(0);
            }
        }
    }
    busy_loops(const busy_loops&) = delete;
    busy_loops& operator=(const busy_loops&) = delete;
    ~busy_loops() {
        for (const pid_t one : pids_) {
            ::kill(one, SIGKILL);
            ::waitpid(one, nullptr, 0);
        }
    }

private:
    std::vector<pid_t> pids_;
};

/// Tasks that take and release one lock each, before, during and after the outage.
class crowd {
public:
    crowd(const victims& servers, const disaster& what, std::size_t tasks)
        : pids_(servers.pids),
          what_(what),
          tasks_(tasks),
          locks_(context_, configuration(servers)) {}

    nlohmann::json operator()() { return run_to_end(context_, run()); }

private:
    static config configuration(const victims& servers) {
        config result = configuration_for(servers.uris);
        result.failover_quarantine = lease_ttl;
        return result;
    }

    asio::awaitable<nlohmann::json> run() {
        co_await wait_until_ready(locks_);
        lock_options options;
        options.ttl = lease_ttl;
        for (std::size_t i = 0; i != leases; ++i) {
            held_.push_back(co_await mutex(locks_, lock_name(most_tasks + i), options).acquire());
        }
        for (std::size_t i = 0; i != tasks_; ++i) {
            asio::co_spawn(context_, task(i), asio::detached);
        }
        nlohmann::json figures;
        co_await samples(20);  // Warm-up.
        const double before = co_await rate_of(30);
        const std::size_t memory = largest_;
        const counters start = locks_.counters();
        const auto cpu = cpu_time();
        send_all(what_.stops ? SIGSTOP : 0);
        longest_stall_ = {};
        co_await samples(15);
        const std::uint64_t attempts = locks_.counters().attempts;
        co_await samples(outage / sample - 15);
        figures["attempts_without_quorum"] = locks_.counters().attempts - attempts;
        figures["cpu_ms"] = (cpu_time() - cpu).count() / 1000;
        send_all(what_.stops ? SIGCONT : 0);
        const auto back = clock::now();
        constexpr double almost = 0.9;
        while (co_await rate_of(5) < almost * before && clock::now() < back + patience) {
        }
        figures["back_ms"] = std::chrono::duration<double, std::milli>(clock::now() - back).count();
        figures["rate_before"] = before;
        figures["rate_after"] = co_await rate_of(30);
        const counters end = locks_.counters();
        figures["attempts_per_acquire"] = static_cast<double>(end.attempts - start.attempts) /
                                          static_cast<double>(end.acquired - start.acquired);
        figures["failed"] = failed_;
        figures["lost"] = end.lost;
        figures["stall_ms"] = std::chrono::duration<double, std::milli>(longest_stall_).count();
        figures["memory_ratio"] = static_cast<double>(largest_) / static_cast<double>(memory);
        if (!first_error_.empty()) {
            std::cerr << "  the first error: " << first_error_ << '\n';
        }
        over_ = true;
        co_await test::async_wait_until([this] { return ended_ == tasks_; }, 60s);
        held_.clear();
        co_await locks_.close(asio::as_tuple(asio::use_awaitable));
        co_return figures;
    }

    /// Waits for this number of samples. Notes the memory and the delays of the event loop.
    asio::awaitable<void> samples(std::ptrdiff_t count) {
        asio::steady_timer timer(context_);
        for (std::ptrdiff_t i = 0; i != count; ++i) {
            const auto due = clock::now() + sample;
            timer.expires_at(due);
            co_await timer.async_wait(asio::use_awaitable);
            longest_stall_ = std::max(longest_stall_, clock::now() - due);
            largest_ = std::max(largest_, heap_bytes());
        }
    }

    /// Returns the cycles per second during this number of samples.
    asio::awaitable<double> rate_of(std::ptrdiff_t count) {
        const std::uint64_t cycles = cycles_;
        const auto start = clock::now();
        co_await samples(count);
        co_return static_cast<double>(cycles_ - cycles) /
            std::chrono::duration<double>(clock::now() - start).count();
    }

    void send_all(int signal) const {
        for (const pid_t one : pids_) {
            ::kill(one, signal);
        }
    }

    asio::awaitable<void> task(std::size_t number) {
        lock_options options;
        options.ttl = lock_ttl;
        options.unavailable_timeout = patience;
        mutex lock(locks_, lock_name(number), options);
        while (!over_) {
            auto [failure, held] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
            if (failure) {
                note(failure.message());
                continue;
            }
            // During the outage, a release may fail. The lease ends by itself then.
            co_await held.release(asio::as_tuple(asio::use_awaitable));
            ++cycles_;
        }
        ++ended_;
    }

    void note(const std::string& error) {
        ++failed_;
        if (first_error_.empty()) {
            first_error_ = error;
        }
    }

    std::vector<pid_t> pids_;
    disaster what_;
    std::size_t tasks_;
    asio::io_context context_{1};
    client locks_;
    std::vector<lease> held_;
    bool over_ = false;
    std::size_t ended_ = 0;
    std::uint64_t cycles_ = 0;
    std::uint64_t failed_ = 0;
    std::size_t largest_ = 0;
    clock::duration longest_stall_{};
    std::string first_error_;
};

nlohmann::json measure_once(const disaster& what, std::size_t tasks) {
    const victims servers(what.instances);
    const busy_loops busy(what.busy);
    return in_child_process([&] { return crowd(servers, what, tasks)(); });
}

}  // namespace

void run_outage(campaign& all) {
    const table t{"outage",
                  "the client holds 500 leases (ttl 20 s). Beside them, each of n tasks takes and "
                  "releases a lock of its own.\nAll servers stop for 3 s. The rate is back when "
                  "half a second has 0.9 of the cycles before.",
                  {"instances", "sentinel", "cluster", "busy", "stops"},
                  {{"rate_before", "cycles per second before", 8, 0},
                   {"rate_after", "after", 8, 0},
                   {"back_ms", "back after ms", 8, 0},
                   {"attempts_per_acquire", "attempts per acquire", 8, 2},
                   {"attempts_without_quorum", "attempts without a quorum", 8, 0},
                   {"failed", "failed", 6, 0},
                   {"lost", "lost", 4, 0},
                   {"stall_ms", "longest stall ms", 6, 0},
                   {"cpu_ms", "CPU ms in the outage", 6, 0},
                   {"memory_ratio", "memory / before", 5, 2}},
                  "20000"};
    print_heading(t);
    for (const disaster& what :
         {disaster{"3 servers", 0, false}, disaster{"3 servers"}, disaster{"3 servers", 8},
          disaster{"sentinel"}, disaster{"cluster"}}) {
        std::vector<contestant> contestants;
        for (const std::size_t tasks : {std::size_t{20'000}, std::size_t{40'000}, most_tasks}) {
            contestants.push_back(
                {std::to_string(tasks), [=] { return measure_once(what, tasks); }});
        }
        all.measure(t,
                    {{"instances", what.instances == "3 servers" ? 3 : 1},
                     {"sentinel", what.instances == "sentinel" ? 1 : 0},
                     {"cluster", what.instances == "cluster" ? 1 : 0},
                     {"busy", what.busy},
                     {"stops", what.stops ? 1 : 0}},
                    contestants);
    }
}

}  // namespace colock::benchmark
