// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "benchmark/measurement.hpp"

#include "benchmark/allocations.hpp"

#include <boost/asio/co_spawn.hpp>

#include <malloc.h>
#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace colock::benchmark {
namespace {

std::chrono::microseconds duration_of(const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

/// Returns the maximum memory size of this process so far.
double greatest_size_mib() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    constexpr double kib_per_mib = 1024;
    return static_cast<double>(usage.ru_maxrss) / kib_per_mib;
}

}  // namespace

std::chrono::microseconds cpu_time() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return duration_of(usage.ru_utime) + duration_of(usage.ru_stime);
}

std::size_t heap_bytes() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

void run_to_end(boost::asio::io_context& context, boost::asio::awaitable<void> work) {
    std::exception_ptr failure;
    boost::asio::co_spawn(context, std::move(work), [&](std::exception_ptr e) {
        failure = e;
        if (e) {
            context.stop();
        }
    });
    context.run();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

nlohmann::json run_to_end(boost::asio::io_context& context,
                          boost::asio::awaitable<nlohmann::json> work) {
    nlohmann::json result;
    const auto keep = [&]() -> boost::asio::awaitable<void> { result = co_await std::move(work); };
    run_to_end(context, keep());
    return result;
}

double percentile(std::vector<double>& values, double fraction) {
    const auto index =
        static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
    const auto position = values.begin() + index;
    std::nth_element(values.begin(), position, values.end());
    return *position;
}

nlohmann::json to_json(const measured& m) {
    nlohmann::json object{{"cycles_per_second", m.cycles_per_second},
                          {"p50_us", m.p50_us},
                          {"p99_us", m.p99_us},
                          {"client_cpu_us_per_cycle", m.client_cpu_us_per_cycle},
                          {"allocations_per_cycle", m.allocations_per_cycle},
                          {"growth_mib", m.growth_mib},
                          {"cycles_with_warm_up", m.cycles_with_warm_up}};
    if (m.bytes_per_waiter != 0) {
        object["bytes_per_waiter"] = m.bytes_per_waiter;
    }
    return object;
}

std::string lock_name(std::size_t task) {
    const auto digits = std::to_string(task);
    return "benchmark:" + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

measurement::measurement(boost::asio::io_context& context, const orders& work)
    : timer_(context), work_(work) {
    constexpr std::size_t most_cycles_per_millisecond = 400;
    latencies_.reserve(static_cast<std::size_t>(work.duration.count()) *
                       most_cycles_per_millisecond);
}

void measurement::start() {
    timer_.expires_after(work_.warm_up);
    timer_.async_wait([this](boost::system::error_code) { begin_measuring(); });
}

void measurement::begin_measuring() {
    timer_.expires_after(work_.duration);
    timer_.async_wait([this](boost::system::error_code) { end_measuring(); });
    phase_ = phase::measuring;
    started_ = clock::now();
    cpu_at_start_ = cpu_time();
    allocations_ = allocations();
    greatest_size_mib_ = greatest_size_mib();
}

void measurement::end_measuring() {
    cpu_ = cpu_time() - cpu_at_start_;
    allocations_ = allocations() - allocations_;
    greatest_size_mib_ = greatest_size_mib() - greatest_size_mib_;
    elapsed_ = clock::now() - started_;
    phase_ = phase::over;
}

measured measurement::result() {
    measured result;
    result.cycles_with_warm_up = cycles_with_warm_up_;
    if (latencies_.empty()) {
        return result;
    }
    const auto cycles = static_cast<double>(latencies_.size());
    result.cycles_per_second = cycles / std::chrono::duration<double>(elapsed_).count();
    result.client_cpu_us_per_cycle = static_cast<double>(cpu_.count()) / cycles;
    result.allocations_per_cycle = static_cast<double>(allocations_) / cycles;
    result.growth_mib = greatest_size_mib_;
    std::vector<double> microseconds(latencies_.begin(), latencies_.end());
    result.p50_us = percentile(microseconds, 0.50) / 1000;
    result.p99_us = percentile(microseconds, 0.99) / 1000;
    return result;
}

}  // namespace colock::benchmark
