// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_HISTOGRAMS_HPP
#define COLOCK_HISTOGRAMS_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colock {
inline namespace v1 {

/// How many durations fell into each of some buckets, with their number and their sum. Nothing is ever
/// subtracted, so the difference of two histograms describes the time between them.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct histogram {
    /// The upper bounds of the buckets, except the last one, from 100 us to 20 s in steps of 1, 2 and 5, and
    /// a minute. They are round numbers in a dashboard and in an alert rule.
    static constexpr std::array<std::chrono::nanoseconds, 18> bounds{
        std::chrono::microseconds(100), std::chrono::microseconds(200),
        std::chrono::microseconds(500), std::chrono::milliseconds(1),
        std::chrono::milliseconds(2),   std::chrono::milliseconds(5),
        std::chrono::milliseconds(10),  std::chrono::milliseconds(20),
        std::chrono::milliseconds(50),  std::chrono::milliseconds(100),
        std::chrono::milliseconds(200), std::chrono::milliseconds(500),
        std::chrono::seconds(1),        std::chrono::seconds(2),
        std::chrono::seconds(5),        std::chrono::seconds(10),
        std::chrono::seconds(20),       std::chrono::seconds(60)};

    /// The number of durations in each bucket. It is plain, not cumulative: each duration counts in one bucket
    /// only. Bucket `i` has the durations of at most `bounds[i]` that are longer than `bounds[i - 1]`. The last
    /// bucket has those that are longer than all bounds.
    std::array<std::uint64_t, bounds.size() + 1> buckets{};
    /// The number of durations. It is the sum of `buckets`.
    std::uint64_t count = 0;
    /// The sum of all durations, each rounded to a microsecond. If another thread adds one at the same time, it
    /// may be in `buckets` and not yet in `sum`.
    std::chrono::microseconds sum{};

    /// Returns how many durations were at most `bounds[i]`, as a cumulative histogram has it. If `i` is
    /// `bounds.size()` or more, returns `count`.
    [[nodiscard]] constexpr std::uint64_t at_most(std::size_t i) const noexcept {
        std::uint64_t result = 0;
        for (std::size_t bucket = 0; bucket <= i && bucket != buckets.size(); ++bucket) {
            result += buckets[bucket];
        }
        return result;
    }
};

/// The durations that a client has measured since it was created.
struct histograms {
    /// How long acquires waited, from their start to the grant. It has one duration for each lease that
    /// `counters::acquired` counts. An acquire that ended without a lease is not in it.
    histogram waits;
    /// How long leases were held: from the grant until the holder began to release, abandon or detach the
    /// lease, or until the loss. Each holder has its own duration, also after a hand-off, and for a share of
    /// a lease.
    histogram holds;
};

}  // namespace v1
}  // namespace colock

#endif
