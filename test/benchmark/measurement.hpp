// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_MEASUREMENT_HPP
#define COLOCK_BENCHMARK_MEASUREMENT_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace colock::benchmark {

/// What a task takes.
enum class lock_kind : std::uint8_t {
    mutex,
    writer,
    reader,
    permit,
    reentrant,
    ordered,   ///< a mutex with a binding order
    names,     ///< of a multi_mutex
    exchange,  ///< nothing: it writes a versioned value, whose version it knows
    update,    ///< the same, by a read and a write
    found,     ///< nothing: it calls `once`, and finds a result
    run_once,  ///< the lock of a `once`, with a new name each time
};

/// What a client is told to do: `concurrency` tasks, each taking and releasing its own lock in a loop.
/// With `hot_key` all want the same, and a lease is handed off `handoff_limit` times.
struct orders {
    std::vector<std::string> instances;
    lock_kind kind = lock_kind::mutex;  ///< of colock
    std::uint32_t permits = 0;          ///< of each semaphore
    std::uint32_t taken = 0;            ///< so many of them another client holds
    std::size_t names = 1;              ///< of each lock with several names
    bool hot_key = false;
    std::size_t handoff_limit = 64;
    std::size_t concurrency = 1;
    std::chrono::milliseconds warm_up{500};
    std::chrono::milliseconds duration{2000};
    /// Between a grant and the release, and between that and the next acquire. With one, the latency that is
    /// measured is that of the acquire, and without, that of both.
    std::chrono::milliseconds pause{0};
    bool all_answer = true;  ///< else locks that cannot be released at the end are no failure
    std::function<void()> when_connected = [] {};  ///< called before the warm-up
};

constexpr std::chrono::milliseconds lock_ttl{10000};

/// The name of a task's lock; as long for one client as for the other.
std::string lock_name(std::size_t task);

/// What was measured between warm-up and end. A cycle is a lock taken and released.
struct measured {
    double cycles_per_second = 0;
    double p50_us = 0;  ///< of a whole cycle; see also `orders::pause`
    double p99_us = 0;
    double client_cpu_us_per_cycle = 0;  ///< user and kernel time of the client's process
    double allocations_per_cycle = 0;    ///< of the client's process: calls of operator new
    double growth_mib =
        0;  ///< of the client's process: its memory's greatest size, since the warm-up
    std::uint64_t cycles_with_warm_up = 0;
    double bytes_per_waiter = 0;  ///< of colock on a hot key, without the waiting coroutine itself
};

nlohmann::json to_json(const measured& figures);

/// User and kernel time of this process; the servers' is not in it.
std::chrono::microseconds cpu_time();

/// What this process has taken of the heap.
std::size_t heap_bytes();

/// Runs the context until this has ended, and throws what it throws.
void run_to_end(boost::asio::io_context& context, boost::asio::awaitable<void> work);

/// The value at a fraction of the sorted values; there is at least one.
double percentile(std::vector<double>& values, double fraction);

/// Stands beside a running client: starts measuring after the warm-up, tells when to end.
///
/// The client begins with `start`, and reports each cycle.
class measurement {
public:
    using clock = std::chrono::steady_clock;

    measurement(boost::asio::io_context& context, const orders& work);

    /// Connections stand: the warm-up begins now.
    void start();

    /// Whether the time is over: no new cycles then.
    [[nodiscard]] bool over() const noexcept { return phase_ == phase::over; }

    /// A cycle has ended now. Returns this now, for the next cycle's start.
    clock::time_point cycle_since(clock::time_point start) {
        const auto now = clock::now();
        ++cycles_with_warm_up_;
        if (phase_ == phase::measuring) {
            latencies_.push_back(
                static_cast<std::uint32_t>(std::chrono::nanoseconds(now - start).count()));
        }
        return now;
    }

    [[nodiscard]] measured result();

private:
    enum class phase { warming_up, measuring, over };

    void begin_measuring();
    void end_measuring();

    boost::asio::steady_timer timer_;
    orders work_;
    phase phase_ = phase::warming_up;
    clock::time_point started_;
    std::chrono::microseconds cpu_at_start_{};
    std::uint64_t allocations_ = 0;
    double greatest_size_mib_ = 0;
    clock::duration elapsed_{};
    std::chrono::microseconds cpu_{};
    std::vector<std::uint32_t> latencies_;  // in ns: up to 4 s
    std::uint64_t cycles_with_warm_up_ = 0;
};

}  // namespace colock::benchmark

#endif
