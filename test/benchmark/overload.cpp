// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/report.hpp"
#include "benchmark/workloads.hpp"
#include "support/child_process.hpp"
#include "support/deadline.hpp"

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
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

constexpr std::size_t leases = 1000;  // Held by the client in addition to the locks of its tasks.
constexpr std::chrono::milliseconds lease_ttl{2000};
constexpr std::size_t usual_tasks = 1000;
constexpr std::size_t many_tasks = 100'000;

/// One run of one client.
class crowd {
public:
    crowd(const std::vector<std::string>& instances, std::size_t tasks,
          std::chrono::milliseconds duration, std::function<void()> when_connected)
        : tasks_(tasks),
          duration_(duration),
          when_connected_(std::move(when_connected)),
          locks_(context_, configuration_for(instances)) {}

    nlohmann::json operator()() { return run_to_end(context_, run()); }

private:
    asio::awaitable<nlohmann::json> run() {
        co_await wait_until_ready(locks_);
        co_await take_leases();
        nlohmann::json figures;
        figures["bytes_per_sleeper"] = co_await bytes_per_sleeper();
        when_connected_();
        const std::size_t before = heap_bytes();
        asio::steady_timer timer(context_);
        for (std::size_t i = 0; i != tasks_; ++i) {
            asio::co_spawn(context_, task(i), asio::detached);
        }
        const auto start = clock::now();
        std::size_t largest = 0;
        for (auto next = start; next < start + duration_; next += std::chrono::milliseconds(100)) {
            timer.expires_at(next);
            co_await timer.async_wait(asio::use_awaitable);
            largest = std::max(largest, heap_bytes());
        }
        const double elapsed = std::chrono::duration<double>(clock::now() - start).count();
        figures["cycles_per_second"] = static_cast<double>(cycles_) / elapsed;
        figures["failed"] = failed_;
        figures["lost"] = locks_.counters().lost;
        figures["mean_wait_ms"] = acquired_ == 0 ? 0 : sum_ms_ / static_cast<double>(acquired_);
        figures["longest_wait_ms"] = longest_ms_;
        figures["longest_wait_of_mean"] =
            acquired_ == 0 ? 0 : longest_ms_ * static_cast<double>(acquired_) / sum_ms_;
        figures["bytes_per_task"] =
            static_cast<double>(largest - std::min(largest, before)) / static_cast<double>(tasks_);
        if (!first_error_.empty()) {
            std::cerr << "  the first error: " << first_error_ << '\n';
        }
        over_ = true;
        co_await test::async_wait_until([this] { return ended_ == tasks_; },
                                        std::chrono::seconds(60));
        held_.clear();
        co_await locks_.close(asio::as_tuple(asio::use_awaitable));
        co_return figures;
    }

    /// Returns the bytes per task if the task waits for a timer instead of a lock. This is the lower limit of
    /// `bytes_per_task`.
    asio::awaitable<double> bytes_per_sleeper() {
        const std::size_t before = heap_bytes();
        asio::steady_timer timer(context_, asio::steady_timer::time_point::max());
        std::size_t asleep = 0;
        for (std::size_t i = 0; i != tasks_; ++i) {
            asio::co_spawn(context_, sleeper(i, timer, asleep), asio::detached);
        }
        co_await test::async_wait_until([&] { return asleep == tasks_; });
        const std::size_t during = heap_bytes();
        timer.cancel();
        co_await test::async_wait_until([&] { return asleep == 0; });
        co_return static_cast<double>(during - std::min(during, before)) /
            static_cast<double>(tasks_);
    }

    asio::awaitable<void> sleeper(std::size_t number, asio::steady_timer& timer,
                                  std::size_t& asleep) {
        lock_options options;
        options.ttl = lock_ttl;
        const mutex lock(locks_, lock_name(number), options);
        ++asleep;
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        --asleep;
    }

    asio::awaitable<void> take_leases() {
        lock_options options;
        options.ttl = lease_ttl;
        for (std::size_t i = 0; i != leases; ++i) {
            held_.push_back(co_await mutex(locks_, lock_name(many_tasks + i), options).acquire());
        }
    }

    asio::awaitable<void> task(std::size_t number) {
        lock_options options;
        options.ttl = lock_ttl;
        mutex lock(locks_, lock_name(number), options);
        while (!over_) {
            const auto asked = clock::now();
            auto [failure, held] = co_await lock.acquire(asio::as_tuple(asio::use_awaitable));
            const double ms =
                std::chrono::duration<double, std::milli>(clock::now() - asked).count();
            if (failure) {
                ++failed_;
                if (first_error_.empty()) {
                    first_error_ = failure.message();
                }
                continue;
            }
            ++acquired_;
            sum_ms_ += ms;
            longest_ms_ = std::max(longest_ms_, ms);
            const auto [error, result] = co_await held.release(asio::as_tuple(asio::use_awaitable));
            if (error || result != release_result::released) {
                ++failed_;
                if (first_error_.empty()) {
                    first_error_ = "release: " + error.message();
                }
            }
            ++cycles_;
        }
        ++ended_;
    }

    std::size_t tasks_;
    std::chrono::milliseconds duration_;
    std::function<void()> when_connected_;
    asio::io_context context_{1};
    client locks_;
    std::vector<lease> held_;
    bool over_ = false;
    std::size_t ended_ = 0;
    std::uint64_t cycles_ = 0;
    std::uint64_t acquired_ = 0;
    std::uint64_t failed_ = 0;
    double sum_ms_ = 0;
    double longest_ms_ = 0;
    std::string first_error_;
};

/// Stops a process for half of the time.
class half_a_core {
public:
    explicit half_a_core(pid_t victim) {
        pid_ = ::fork();
        if (pid_ == 0) {
            for (;;) {
                constexpr useconds_t half = 5000;
                if (::kill(victim, SIGSTOP) != 0) {
                    ::_exit(0);
                }
                ::usleep(half);
                ::kill(victim, SIGCONT);
                ::usleep(half);
            }
        }
    }
    half_a_core(const half_a_core&) = delete;
    half_a_core& operator=(const half_a_core&) = delete;
    ~half_a_core() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

/// The faults of one run.
struct hardship {
    std::size_t instances = 5;
    std::size_t stopped = 0;  ///< Number of servers to stop.
    std::size_t far_ms = 0;   ///< Delay of one of the servers, in ms.
    double cores = 1;         ///< For the client: 1 or 0.5.
};

nlohmann::json measure_once(const hardship& h, std::size_t tasks,
                            std::chrono::milliseconds duration) {
    test::servers servers(h.instances);
    std::vector<std::string> uris = servers.uris();
    const auto& last = servers[h.instances - 1];
    std::vector<test::child_process> delays;
    if (h.far_ms != 0) {
        delays.emplace_back("delay", std::vector<std::string>{"/proc/self/exe", "delay", "--port",
                                                              std::to_string(last.port()), "--by",
                                                              std::to_string(h.far_ms)});
        uris.back() = "redis://127.0.0.1:" + delays.back().wait_for_line();
    }
    const auto figures = in_child_process([&] {
        std::unique_ptr<half_a_core> half;
        return crowd(uris, tasks, duration, [&] {
            if (h.stopped != 0) {
                ::kill(last.pid(), SIGSTOP);
            }
            if (h.cores < 1) {
                half = std::make_unique<half_a_core>(::getpid());
            }
        })();
    });
    ::kill(last.pid(), SIGCONT);
    return figures;
}

}  // namespace

void run_overload(campaign& all) {
    const table t{"overload",
                  "the client holds 1,000 leases (ttl 2 s). Beside them, each of 1,000 or 100,000 "
                  "tasks takes and\nreleases a lock of its own.",
                  {"instances", "stopped", "far_ms", "cores"},
                  {{"cycles_per_second", "cycles per second", 8, 0},
                   {"failed", "failed", 6, 0},
                   {"lost", "lost", 4, 0},
                   {"mean_wait_ms", "mean wait ms", 6, 1},
                   {"longest_wait_ms", "longest wait ms", 6, 1},
                   {"longest_wait_of_mean", "longest / mean", 4, 1},
                   {"bytes_per_task", "bytes per task", 6, 0},
                   {"bytes_per_sleeper", "bytes per sleeping task", 6, 0}},
                  "1000"};
    print_heading(t);
    const auto duration = std::max(all.options().duration, std::chrono::milliseconds(5000));
    const std::vector<hardship> hardships{{1}, {3}, {5}, {5, 1}, {5, 0, 100}, {5, 0, 0, 0.5}};
    for (const hardship& h : hardships) {
        std::vector<contestant> contestants;
        for (const std::size_t tasks : {usual_tasks, many_tasks}) {
            contestants.push_back(
                {std::to_string(tasks), [=] { return measure_once(h, tasks, duration); }});
        }
        all.measure(t,
                    {{"instances", h.instances},
                     {"stopped", h.stopped},
                     {"far_ms", h.far_ms},
                     {"cores", h.cores}},
                    contestants);
    }
}

}  // namespace colock::benchmark
