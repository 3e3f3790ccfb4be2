// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_STATISTICS_HPP
#define COLOCK_RUNTIME_STATISTICS_HPP

#include <colock/histograms.hpp>

#include "core/time.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace colock::runtime {

/// A number with one writer, readable from any thread.
class counter {
public:
    void add(std::uint64_t n) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    counter& operator++() noexcept {
        add(1);
        return *this;
    }
    counter& operator--() noexcept {
        add(~std::uint64_t{0});
        return *this;
    }
    operator std::uint64_t() const noexcept {  // NOLINT(*-explicit-*)
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// The durations for a `colock::histogram`. They have one writer, and are readable from any thread.
class time_histogram {
public:
    /// The unit of the sum. With 100,000 leases at a time, nanoseconds would overflow in a day, and
    /// microseconds last for 2 years.
    using unit = std::chrono::microseconds;

    /// Adds a duration. A negative one counts as 0: the engine's time may be slightly old.
    void add(core::duration one) noexcept {
        one = std::max(one, core::duration::zero());
        const auto bucket =
            std::ranges::lower_bound(histogram::bounds, one) - histogram::bounds.begin();
        ++buckets_[static_cast<std::size_t>(bucket)];
        sum_.add(static_cast<std::uint64_t>(std::chrono::round<unit>(one).count()));
    }

    /// Returns what was added so far.
    [[nodiscard]] histogram read() const noexcept {
        histogram result;
        for (std::size_t i = 0; i != buckets_.size(); ++i) {
            result.buckets[i] = buckets_[i];
            result.count += result.buckets[i];
        }
        result.sum = unit(static_cast<unit::rep>(std::uint64_t{sum_}));
        return result;
    }

private:
    std::array<counter, histogram::bounds.size() + 1> buckets_;
    counter sum_;
};

/// The events for `colock::counters` and `colock::histograms`. Written on the engine's executor.
struct statistics {
    counter attempts, acquired, adopted, contended, unavailable, undone, cancelled;
    counter renewed, renewals_failed, healed, released, abandoned, detached, handed_off, lost;
    counter overstays;
    counter keys_without_ttl;
    counter records_read, writes_applied, writes_refused, writes_unknown;
    counter once_ran, once_found;
    counter held, acquiring, queued, waiting_to_send, releasing;
    time_histogram waits, holds;
};

}  // namespace colock::runtime

#endif
