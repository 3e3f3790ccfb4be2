// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/workloads.hpp"
#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

constexpr std::chrono::seconds ttl{30};
constexpr std::chrono::milliseconds sampling{100};

double share_of_a_core(std::chrono::microseconds cpu, clock::duration elapsed) {
    return static_cast<double>(cpu.count()) / to_us(elapsed);
}

/// One run: acquires the leases, holds them and releases them.
class holder {
public:
    holder(std::size_t leases, std::chrono::milliseconds duration,
           const std::vector<std::string>& instances)
        : count_(leases), duration_(duration), locks_(context_, configuration_for(instances)) {}

    nlohmann::json operator()() { return run_to_end(context_, run()); }

private:
    asio::awaitable<nlohmann::json> run() {
        co_await wait_until_ready(locks_);
        leases_.reserve(count_);
        const std::size_t before = heap_bytes();
        co_await take_all();
        const std::size_t taken = heap_bytes();
        nlohmann::json figures = co_await watch();
        const std::size_t renewed = heap_bytes();
        figures["bytes_per_lease"] =
            static_cast<double>(std::max(taken, renewed) - before) / static_cast<double>(count_);
        figures["lost"] = locks_.counters().lost;
        leases_.clear();
        co_await locks_.close(asio::as_tuple(asio::use_awaitable));  // Remaining leases expire.
        co_return figures;
    }

    /// Acquires all leases, a thousand at a time.
    asio::awaitable<void> take_all() {
        constexpr std::size_t at_once = 1000;
        lock_options options;
        options.ttl = ttl;
        std::size_t asked = 0;
        while (leases_.size() != count_) {
            while (asked != count_ && asked - leases_.size() < at_once) {
                mutex(locks_, lock_name(asked++), options).acquire([this](const error& e, lease l) {
                    if (e.code()) {
                        throw std::runtime_error(e.message());
                    }
                    leases_.push_back(std::move(l));
                });
            }
            const std::size_t open = asked == count_ ? 0 : at_once - 1;  // Allowed to be pending.
            co_await test::async_wait_until([&] { return asked - leases_.size() <= open; },
                                            std::chrono::seconds(60));
        }
    }

    asio::awaitable<nlohmann::json> watch() {
        asio::steady_timer timer(context_);
        const auto start = clock::now();
        const auto cpu = cpu_time();
        const std::uint64_t renewed_before = locks_.counters().renewed;
        std::vector<std::uint64_t> renewals;
        std::uint64_t last = renewed_before;
        for (auto next = start + sampling; next <= start + duration_; next += sampling) {
            timer.expires_at(next);
            co_await timer.async_wait(asio::use_awaitable);
            const std::uint64_t now = locks_.counters().renewed;
            renewals.push_back(now - std::exchange(last, now));
        }
        const auto elapsed = clock::now() - start;
        const double mean = static_cast<double>(last - renewed_before) /
                            static_cast<double>(std::max<std::size_t>(renewals.size(), 1));
        nlohmann::json figures;
        figures["client_cpu_share"] = share_of_a_core(cpu_time() - cpu, elapsed);
        figures["renewals_per_second"] = static_cast<double>(last - renewed_before) /
                                         std::chrono::duration<double>(elapsed).count();
        figures["burst"] = mean == 0 ? 0 : static_cast<double>(std::ranges::max(renewals)) / mean;
        co_return figures;
    }

    std::size_t count_;
    std::chrono::milliseconds duration_;
    asio::io_context context_{1};
    client locks_;
    std::vector<lease> leases_;
};

}  // namespace

void run_watchdog(campaign& all) {
    const table t{
        "watchdog",
        "one client holds leases with a ttl of 30 s, which the watchdog renews. The burst is "
        "the most renewals within\n100 ms, in terms of their mean.",
        {"leases"},
        {{"client_cpu_share", "CPU, share of a core", 5, 3},
         {"bytes_per_lease", "bytes per lease", 6, 0},
         {"renewals_per_second", "renewals/s", 6, 0},
         {"burst", "burst", 5, 2},
         {"lost", "lost", 4, 0}},
        ""};
    print_heading(t);
    const auto& options = all.options();
    all.measure(t, {{"leases", options.leases}},
                {{"colock",
                  [&] {
                      all.servers().flush();
                      return in_child_process([&] {
                          return holder(options.leases, options.watchdog_duration,
                                        all.servers().uris())();
                      });
                  }}},
                1);
}

}  // namespace colock::benchmark
