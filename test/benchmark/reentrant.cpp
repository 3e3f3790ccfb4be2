// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/reentrant.hpp"

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;

const column entries_per_second{"entries_per_second", "entries per second"};

/// Enters the lock and releases it in a loop for `how_long`. Returns the entries per second.
asio::awaitable<double> entries_in(client& locks, std::chrono::milliseconds how_long) {
    constexpr int at_once = 10'000;  // Batch size. The clock and the watchdog run in between.
    const reentrant_mutex lock(locks, lock_name(0));
    const lock_owner owner;
    lease held = co_await lock.acquire(owner);
    std::uint64_t entries = 0;
    const auto began = clock::now();
    while (clock::now() < began + how_long) {
        for (int i = 0; i != at_once; ++i) {
            if (!lock.try_reenter(owner)) {  // The returned lease is released here.
                throw std::runtime_error("colock: an owner could not enter");
            }
        }
        entries += at_once;
        co_await asio::post(asio::deferred);
    }
    const std::chrono::duration<double> took = clock::now() - began;
    co_await held.release();
    co_return static_cast<double>(entries) / took.count();
}

nlohmann::json count_entries(const orders& work) {
    asio::io_context context{1};
    client locks(context, configuration_for(work.instances));
    double result = 0;
    std::exception_ptr failure;
    const auto run = [&]() -> asio::awaitable<void> {
        static_cast<void>(co_await entries_in(locks, work.warm_up));
        result = co_await entries_in(locks, work.duration);
        co_await locks.close();
    };
    asio::co_spawn(context, run(), [&](std::exception_ptr e) { failure = e; });
    context.run();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return {{"entries_per_second", result}};
}

}  // namespace

void run_reentrant(campaign& all) {
    const table cycles{"reentrant_uncontended",
                       "each task takes and releases a lock of its own: a mutex, or a "
                       "reentrant_mutex for an owner.",
                       {"instances", "concurrency"},
                       {cycles_per_second, p50, p99, client_cpu},
                       "mutex"};
    print_heading(cycles);
    for (const auto instances : all.options().instances) {
        for (const auto tasks : all.options().tasks) {
            const orders work = make_orders(all.options(), all.servers(), instances, tasks);
            all.servers().flush();
            all.measure(cycles, {{"instances", instances}, {"concurrency", tasks}},
                        {contestant_for("mutex", work, lock_kind::mutex),
                         contestant_for("reentrant", work, lock_kind::reentrant)});
        }
    }
    const table entries{"reentrant_entries",
                        "an owner that holds a lock enters it again by try_reenter, and releases "
                        "this entry.",
                        {"instances", "concurrency"},
                        {entries_per_second},
                        ""};
    print_heading(entries);
    const auto instances = std::ranges::min(all.options().instances);
    const orders work = make_orders(all.options(), all.servers(), instances, 1);
    all.servers().flush();
    all.measure(entries, {{"instances", instances}, {"concurrency", 1}},
                {{"try_reenter",
                  [work] { return in_child_process([&] { return count_entries(work); }); }}});
}

}  // namespace colock::benchmark
