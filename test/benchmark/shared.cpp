// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/shared.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"
#include "core/backoff.hpp"
#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;  // The same clock in all processes of a machine.
using std::chrono::milliseconds;

void run_uncontended(campaign& all) {
    const table t{"shared_uncontended",
                  "each task takes and releases a lock of its own: a mutex, or a shared_mutex as "
                  "its writer or as a reader.",
                  {"instances", "concurrency"},
                  {cycles_per_second, p50, p99, client_cpu},
                  "mutex"};
    print_heading(t);
    for (const auto instances : all.options().instances) {
        for (const auto tasks : all.options().tasks) {
            const orders work = make_orders(all.options(), all.servers(), instances, tasks);
            all.servers().flush();
            all.measure(t, {{"instances", instances}, {"concurrency", tasks}},
                        {contestant_for("mutex", work, lock_kind::mutex),
                         contestant_for("write", work, lock_kind::writer),
                         contestant_for("read", work, lock_kind::reader)});
        }
    }
}

void run_hot_read(campaign& all) {
    const table t{"shared_hot_read",
                  "all tasks of one client read one name, and let go of it at once.",
                  {"instances", "concurrency"},
                  {cycles_per_second, p50, p99, client_cpu},
                  ""};
    print_heading(t);
    orders work =
        make_orders(all.options(), all.servers(), std::ranges::max(all.options().instances), 1000);
    work.hot_key = true;
    all.servers().flush();
    all.measure(t, {{"instances", work.instances.size()}, {"concurrency", work.concurrency}},
                {contestant_for("read", work, lock_kind::reader)});
}

// --- Readers and writers of many processes ----------------------------------------------------------

constexpr std::size_t processes = 16;
constexpr std::size_t tasks = 4;  // For each process.
constexpr milliseconds hold{2};
constexpr std::uint64_t writes_of_ten = 1;

double to_us(clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
}

/// One of the processes. It records how long its readers and its writers wait.
class visitor {
public:
    visitor(const std::vector<std::string>& instances, std::uint64_t seed, clock::time_point start,
            clock::time_point end)
        : random_(seed), start_(start), end_(end), locks_(context_, configuration_for(instances)) {}

    nlohmann::json operator()() {
        for (std::size_t i = 0; i != tasks; ++i) {
            asio::co_spawn(context_, visit(), [this](std::exception_ptr failure) {
                if (failure && !failure_) {
                    failure_ = failure;
                    context_.stop();
                }
                if (++finished_ == tasks) {
                    locks_.close([](const error& /*e*/) {});
                }
            });
        }
        context_.run();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
        return {{"reads", waits_[0]}, {"writes", waits_[1]}};
    }

private:
    asio::awaitable<void> visit() {
        co_await test::async_wait_until([this] { return all_ready(locks_); });
        asio::steady_timer timer(context_, start_);
        co_await timer.async_wait(asio::use_awaitable);
        const shared_mutex lock(locks_, lock_name(0));
        while (clock::now() < end_) {
            const bool writes = core::next_random(random_) % 10 < writes_of_ten;
            const auto asked = clock::now();
            lease held;
            if (writes) {
                held = co_await lock.acquire();
            } else {
                held = co_await lock.acquire_shared();
            }
            waits_[writes ? 1 : 0].push_back(to_us(clock::now() - asked));
            timer.expires_after(hold);
            co_await timer.async_wait(asio::use_awaitable);
            if (co_await held.release() != release_result::released) {
                throw std::runtime_error("a lease was lost");
            }
        }
    }

    std::uint64_t random_;
    clock::time_point start_;
    clock::time_point end_;
    asio::io_context context_{1};
    client locks_;
    std::size_t finished_ = 0;
    std::array<std::vector<double>, 2> waits_;
    std::exception_ptr failure_;
};

nlohmann::json run_mixed_once(test::servers& servers, milliseconds duration) {
    servers.flush();
    // All clients are connected by then.
    const auto start = clock::now() + std::chrono::seconds(1);
    std::vector<std::function<nlohmann::json()>> works;
    for (std::size_t i = 0; i != processes; ++i) {
        works.emplace_back(
            [&, i] { return visitor(servers.uris(), i + 1, start, start + duration)(); });
    }
    std::vector<double> reads;
    std::vector<double> writes;
    for (const nlohmann::json& each : in_child_processes(works)) {
        for (const nlohmann::json& one : each.at("reads")) {
            reads.push_back(one);
        }
        for (const nlohmann::json& one : each.at("writes")) {
            writes.push_back(one);
        }
    }
    if (reads.empty() || writes.empty()) {
        throw std::runtime_error("nobody read, or nobody wrote");
    }
    const double seconds = std::chrono::duration<double>(duration).count();
    return {{"reads_per_second", static_cast<double>(reads.size()) / seconds},
            {"writes_per_second", static_cast<double>(writes.size()) / seconds},
            {"read_wait_p50_us", percentile(reads, 0.5)},
            {"read_wait_p99_us", percentile(reads, 0.99)},
            {"longest_read_wait_us", std::ranges::max(reads)},
            {"write_wait_p50_us", percentile(writes, 0.5)},
            {"write_wait_p99_us", percentile(writes, 0.99)},
            {"longest_write_wait_us", std::ranges::max(writes)}};
}

void run_mixed(campaign& all) {
    const table t{"shared_mixed",
                  "16 processes with 4 tasks each want one name all the time, a tenth of it to "
                  "write, and hold it for 2 ms.",
                  {"processes", "concurrency", "hold_ms"},
                  {{"reads_per_second", "reads/s", 6, 0},
                   {"writes_per_second", "writes/s", 6, 0},
                   {"read_wait_p50_us", "read p50 us", 6, 0},
                   {"read_wait_p99_us", "p99 us", 6, 0},
                   {"longest_read_wait_us", "longest us", 6, 0},
                   {"write_wait_p50_us", "write p50 us", 6, 0},
                   {"write_wait_p99_us", "p99 us", 6, 0},
                   {"longest_write_wait_us", "longest us", 6, 0}},
                  ""};
    print_heading(t);
    all.measure(t, {{"processes", processes}, {"concurrency", tasks}, {"hold_ms", hold.count()}},
                {{"colock",
                  [&] { return run_mixed_once(all.servers(), 2 * all.options().hold_duration); }}},
                1);
}

}  // namespace

void run_shared(campaign& all) {
    run_uncontended(all);
    run_hot_read(all);
    run_mixed(all);
}

}  // namespace colock::benchmark
