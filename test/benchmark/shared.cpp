// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/workloads.hpp"
#include "core/backoff.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;  // The same clock in all processes of a machine.
using std::chrono::milliseconds;

void run_uncontended(campaign& all) {
    compare_kinds(
        all,
        {table_of_cycles("shared_uncontended",
                         "each task takes and releases a lock of its own: a mutex, or a "
                         "shared_mutex as its writer or as a reader."),
         all.options().instances},
        {{"mutex", lock_kind::mutex}, {"write", lock_kind::writer}, {"read", lock_kind::reader}});
}

void run_hot_read(campaign& all) {
    const table t = table_of_cycles(
        "shared_hot_read", "all tasks of one client read one name, and let go of it at once.", "");
    print_heading(t);
    orders work =
        make_orders(all.options(), all.servers(), std::ranges::max(all.options().instances), 1000);
    work.hot_key = true;
    all.servers().flush();
    all.measure(t, parameters_of(work), {contestant_for("read", work, lock_kind::reader)});
}

// --- Readers and writers of many processes ----------------------------------------------------------

constexpr std::size_t processes = 16;
constexpr std::size_t tasks = 4;  // For each process.
constexpr milliseconds hold{2};
constexpr std::uint64_t writes_of_ten = 1;
constexpr std::array<const char*, 2> sides{"read", "write"};

/// One of the processes. It records how long its readers and its writers wait.
class visitor {
public:
    visitor(const std::vector<std::string>& instances, std::uint64_t seed, clock::time_point start,
            clock::time_point end)
        : random_(seed), start_(start), end_(end), locks_(context_, configuration_for(instances)) {}

    nlohmann::json operator()() {
        run_tasks(context_, locks_, tasks, [this] { return visit(); });
        return {{"read", waits_[0]}, {"write", waits_[1]}};
    }

private:
    asio::awaitable<void> visit() {
        co_await wait_until_ready(locks_);
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
    std::array<std::vector<double>, 2> waits_;
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
    const auto visits = in_child_processes(works);
    nlohmann::json figures;
    for (const std::string side : sides) {
        std::vector<double> waits;
        for (const nlohmann::json& each : visits) {
            const std::vector<double> more = each.at(side);
            waits.insert(waits.end(), more.begin(), more.end());
        }
        if (waits.empty()) {
            throw std::runtime_error("nobody read, or nobody wrote");
        }
        figures[side + "s_per_second"] =
            static_cast<double>(waits.size()) / std::chrono::duration<double>(duration).count();
        figures[side + "_wait_p50_us"] = percentile(waits, 0.5);
        figures[side + "_wait_p99_us"] = percentile(waits, 0.99);
        figures["longest_" + side + "_wait_us"] = std::ranges::max(waits);
    }
    return figures;
}

void run_mixed(campaign& all) {
    table t{"shared_mixed",
            "16 processes with 4 tasks each want one name all the time, a tenth of it to "
            "write, and hold it for 2 ms.",
            {"processes", "concurrency", "hold_ms"},
            {},
            ""};
    for (const std::string side : sides) {
        t.columns.push_back({side + "s_per_second", side + "s/s", 6, 0});
    }
    for (const std::string side : sides) {
        t.columns.push_back({side + "_wait_p50_us", side + " p50 us", 6, 0});
        t.columns.push_back({side + "_wait_p99_us", "p99 us", 6, 0});
        t.columns.push_back({"longest_" + side + "_wait_us", "longest us", 6, 0});
    }
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
