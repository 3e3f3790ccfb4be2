// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/workloads.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

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
            if (const lease entry = lock.try_reenter(owner); !entry) {
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
    const auto run = [&]() -> asio::awaitable<nlohmann::json> {
        static_cast<void>(co_await entries_in(locks, work.warm_up));
        const double result = co_await entries_in(locks, work.duration);
        co_await locks.close();
        co_return nlohmann::json{{"entries_per_second", result}};
    };
    return run_to_end(context, run());
}

}  // namespace

void run_reentrant(campaign& all) {
    compare_kinds(all,
                  {table_of_cycles("reentrant_uncontended",
                                   "each task takes and releases a lock of its own: a mutex, or a "
                                   "reentrant_mutex for an owner."),
                   all.options().instances},
                  {{"mutex", lock_kind::mutex}, {"reentrant", lock_kind::reentrant}});
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
    all.measure(entries, parameters_of(work),
                {{"try_reenter",
                  [work] { return in_child_process([&] { return count_entries(work); }); }}});
}

}  // namespace colock::benchmark
