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

/// The lock or the operation that a task measures.
enum class lock_kind : std::uint8_t {
    mutex,
    writer,
    reader,
    permit,
    reentrant,
    ordered,   ///< A mutex with a binding order.
    names,     ///< A multi_mutex.
    exchange,  ///< No lock: each cycle writes a versioned value whose version the task has.
    update,    ///< No lock: each cycle reads a versioned value and writes it.
    found,     ///< No lock: each cycle calls `once` and finds a result.
    run_once,  ///< The lock of a `once` that has a new name each time.
};

/// The work of a client: each of `concurrency` tasks takes and releases its own lock in a loop. With
/// `hot_key`, all tasks use the same lock, and a lease is handed off up to `handoff_limit` times.
struct orders {
    std::vector<std::string> instances;
    lock_kind kind = lock_kind::mutex;  ///< Only for colock.
    std::uint32_t permits = 0;          ///< Permits of each semaphore.
    std::uint32_t taken = 0;            ///< Permits that another client holds.
    std::size_t names = 1;              ///< Names of each lock.
    bool hot_key = false;
    std::size_t handoff_limit = 64;
    std::size_t concurrency = 1;
    std::chrono::milliseconds warm_up{500};
    std::chrono::milliseconds duration{2000};
    /// The pause between a grant and the release, and between the release and the next acquire. With a pause,
    /// the measured latency is that of the acquire. Without one, it is that of both.
    std::chrono::milliseconds pause{0};
    bool all_answer = true;  ///< If false, a lock that cannot be released at the end is no failure.
    std::function<void()> when_connected = [] {};  ///< Called before the warm-up.
};

constexpr std::chrono::milliseconds lock_ttl{10000};

/// Returns the name of a task's lock. All clients use the same names, so the lengths are equal.
std::string lock_name(std::size_t task);

/// The figures between the warm-up and the end. In a cycle, a task takes a lock and releases it.
struct measured {
    double cycles_per_second = 0;
    double p50_us = 0;  ///< Of a whole cycle. See also `orders::pause`.
    double p99_us = 0;
    double client_cpu_us_per_cycle = 0;  ///< User and kernel time of the client's process.
    double allocations_per_cycle = 0;    ///< Calls of `operator new` in the client's process.
    double growth_mib = 0;  ///< Growth of the process's maximum size since the warm-up.
    std::uint64_t cycles_with_warm_up = 0;
    double bytes_per_waiter = 0;  ///< Only for colock on a hot key. Excludes the waiting coroutine.
};

nlohmann::json to_json(const measured& figures);

/// Returns the user and kernel time of this process, without that of the servers.
std::chrono::microseconds cpu_time();

/// Returns a duration in microseconds.
inline double to_us(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double, std::micro>(d).count();
}

/// Returns the heap bytes that this process has allocated.
std::size_t heap_bytes();

/// Runs the context until `work` has ended. Throws what `work` throws.
void run_to_end(boost::asio::io_context& context, boost::asio::awaitable<void> work);

/// Does the same with work that returns figures, and returns these.
nlohmann::json run_to_end(boost::asio::io_context& context,
                          boost::asio::awaitable<nlohmann::json> work);

/// Returns the value at a fraction of the sorted values. There must be at least one value.
double percentile(std::vector<double>& values, double fraction);

/// Measures a running client. Measuring starts after the warm-up and stops when the time is over.
///
/// The client calls `start` first and then reports each cycle.
class measurement {
public:
    using clock = std::chrono::steady_clock;

    measurement(boost::asio::io_context& context, const orders& work);

    /// Begins the warm-up. The connections must be established.
    void start();

    /// Returns whether the time is over. The client then starts no new cycle.
    [[nodiscard]] bool over() const noexcept { return phase_ == phase::over; }

    /// Counts a cycle that ends now. Returns the current time, which is the start of the next cycle.
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
    std::vector<std::uint32_t> latencies_;  // In ns. A `uint32_t` holds up to 4 s.
    std::uint64_t cycles_with_warm_up_ = 0;
};

}  // namespace colock::benchmark

#endif
