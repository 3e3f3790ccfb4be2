// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/child_process.hpp"
#include "benchmark/colock_client.hpp"
#include "benchmark/cycles.hpp"
#include "benchmark/measurement.hpp"
#include "benchmark/server_account.hpp"
#include "benchmark/workloads.hpp"
#include "support/deadline.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace colock::benchmark {
namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Returns a client whose tasks take a mutex, or one of so many permits. The servers are emptied first.
contestant contestant_for(campaign& all, std::string name, orders work, std::uint32_t permits,
                          std::uint32_t taken) {
    work.permits = permits;
    work.taken = taken;
    const lock_kind kind = permits == 0 ? lock_kind::mutex : lock_kind::permit;
    contestant result = contestant_for(std::move(name), std::move(work), kind);
    result.run = [&all, run = result.run] {
        all.servers().flush();
        return run();
    };
    return result;
}

void run_uncontended(campaign& all) {
    const comparison what{
        table_of_cycles(
            "semaphore_uncontended",
            "each task takes and releases a lock of its own: a mutex, the one permit of a "
            "semaphore, one of 16 that are free,\nor one of 16 of which another client holds 8."),
        all.options().instances};
    compare_cycles(all, what, [&all](const orders& work) {
        return std::vector{contestant_for(all, "mutex", work, 0, 0),
                           contestant_for(all, "one", work, 1, 0),
                           contestant_for(all, "free", work, 16, 0),
                           contestant_for(all, "half full", work, 16, 8)};
    });
}

// --- All permits are out --------------------------------------------------------------------------------

constexpr std::uint32_t permits = semaphore::max_permits;
constexpr std::size_t clients = 16;
constexpr std::size_t waiters = 4;  // For each client.

/// One client holds and renews all permits. From time to time it releases one, for which the other clients
/// wait. The new holder keeps its permit from then on.
class full_semaphore {
public:
    full_semaphore(const std::vector<std::string>& instances, const test::redis_server& first,
                   milliseconds duration)
        : first_(first), duration_(duration), owner_(context_, configuration_for(instances)) {
        for (std::size_t i = 0; i != clients; ++i) {
            others_.push_back(std::make_unique<client>(context_, configuration_for(instances)));
        }
    }

    nlohmann::json operator()() { return run_to_end(context_, run()); }

private:
    asio::awaitable<nlohmann::json> run() {
        co_await wait_until_ready(owner_);
        const semaphore all(owner_, lock_name(0), permits);
        for (std::uint32_t i = 0; i != permits; ++i) {
            held_.push_back(co_await all.acquire());
        }
        for (const auto& one : others_) {
            co_await wait_until_ready(*one);
            for (std::size_t i = 0; i != waiters; ++i) {
                wait_in(*one);
            }
        }
        nlohmann::json figures = co_await measure();
        for (const auto& one : others_) {
            one->close([](const error& /*e*/) {});
        }
        held_.clear();
        owner_.close([](const error& /*e*/) {});
        co_await test::async_wait_until([this] { return ended_ == clients * waiters; });
        co_return figures;
    }

    void wait_in(client& one) {
        semaphore(one, lock_name(0), permits).acquire([this, &one](const error& e, lease l) {
            if (e.code()) {
                ++ended_;
                return;
            }
            waits_.push_back(to_us(clock::now() - released_));
            held_.push_back(std::move(l));
            wait_in(one);
        });
    }

    asio::awaitable<nlohmann::json> measure() {
        asio::steady_timer timer(context_);
        const auto start = clock::now();
        const double cpu = cpu_seconds(first_);
        while (clock::now() < start + duration_) {
            timer.expires_after(milliseconds(20));
            co_await timer.async_wait(asio::use_awaitable);
            const std::size_t before = waits_.size();
            lease next = std::move(held_.front());
            held_.pop_front();
            released_ = clock::now();
            if (co_await next.release() != release_result::released) {
                throw std::runtime_error("a permit was lost");
            }
            co_await test::async_wait_until([&] { return waits_.size() != before; });
        }
        const std::chrono::duration<double> elapsed = clock::now() - start;
        co_return nlohmann::json{
            {"grants", waits_.size()},
            {"grant_p50_us", percentile(waits_, 0.5)},
            {"grant_p99_us", percentile(waits_, 0.99)},
            {"server_cpu_share", (cpu_seconds(first_) - cpu) / elapsed.count()}};
    }

    const test::redis_server& first_;
    milliseconds duration_;
    asio::io_context context_{1};
    client owner_;
    std::vector<std::unique_ptr<client>> others_;
    std::deque<lease> held_;
    std::vector<double> waits_;
    clock::time_point released_;
    std::size_t ended_ = 0;
};

void run_full(campaign& all) {
    const table t{"semaphore_full",
                  "all 1,024 permits of a semaphore are out and renewed, and 64 waiters of 16 "
                  "clients want one. One is released at a time.",
                  {"instances", "permits", "waiters"},
                  {{"grant_p50_us", "release to grant, p50 us", 6, 0},
                   {"grant_p99_us", "p99 us", 6, 0},
                   {"server_cpu_share", "CPU of a server, share of a core", 5, 3}},
                  ""};
    print_heading(t);
    for (const auto instances : all.options().instances) {
        const auto some = make_orders(all.options(), all.servers(), instances, 1).instances;
        all.measure(
            t, {{"instances", instances}, {"permits", permits}, {"waiters", clients * waiters}},
            {{"colock",
              [&] {
                  all.servers().flush();
                  return in_child_process([&] {
                      return full_semaphore(some, all.servers()[0], 5 * all.options().duration)();
                  });
              }}},
            1);
    }
}

}  // namespace

void run_semaphore(campaign& all) {
    run_uncontended(all);
    run_full(all);
}

}  // namespace colock::benchmark
