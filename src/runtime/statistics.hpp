// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_STATISTICS_HPP
#define COLOCK_RUNTIME_STATISTICS_HPP

#include <atomic>
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

/// The events for `colock::counters`. Written on the engine's executor.
struct statistics {
    counter attempts, acquired, adopted, contended, unavailable, undone, cancelled;
    counter renewed, renewals_failed, healed, released, abandoned, detached, handed_off, lost;
    counter keys_without_ttl;
    counter records_read, writes_applied, writes_refused, writes_unknown;
    counter once_ran, once_found;
    counter held, acquiring, queued, waiting_to_send, releasing;
};

}  // namespace colock::runtime

#endif
