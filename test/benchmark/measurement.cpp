#include "benchmark/measurement.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include <algorithm>

namespace colock::benchmark {
namespace {

std::chrono::microseconds duration_of(const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

/// User and kernel time of this process; the servers' is not in it.
std::chrono::microseconds cpu_time() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return duration_of(usage.ru_utime) + duration_of(usage.ru_stime);
}

double percentile_us(std::vector<std::uint32_t>& latencies, double fraction) {
    const auto index =
        static_cast<std::ptrdiff_t>(fraction * static_cast<double>(latencies.size() - 1));
    const auto position = latencies.begin() + index;
    std::nth_element(latencies.begin(), position, latencies.end());
    return static_cast<double>(*position) / 1000.0;
}

}  // namespace

std::string lock_name(std::size_t task) {
    const auto digits = std::to_string(task);
    return "benchmark:" + std::string(6 - std::min<std::size_t>(6, digits.size()), '0') + digits;
}

measurement::measurement(boost::asio::io_context& context, const workload& work)
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
}

void measurement::end_measuring() {
    cpu_ = cpu_time() - cpu_at_start_;
    elapsed_ = clock::now() - started_;
    phase_ = phase::over;
}

measured measurement::result() {
    measured result;
    result.cycles = latencies_.size();
    result.cycles_with_warm_up = cycles_with_warm_up_;
    if (latencies_.empty()) {
        return result;
    }
    const auto cycles = static_cast<double>(latencies_.size());
    result.cycles_per_second = cycles / std::chrono::duration<double>(elapsed_).count();
    result.client_cpu_us_per_cycle = static_cast<double>(cpu_.count()) / cycles;
    result.p50_us = percentile_us(latencies_, 0.50);
    result.p99_us = percentile_us(latencies_, 0.99);
    return result;
}

}  // namespace colock::benchmark
