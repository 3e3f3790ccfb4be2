// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_EVENT_QUEUE_HPP
#define COLOCK_TEST_SUPPORT_EVENT_QUEUE_HPP

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace colock::test {

/// A virtual time, and the events that are due later. Events that are due at the same time occur in the order of
/// their scheduling.
template <typename TimePoint>
class event_queue {
public:
    using event = std::function<void()>;

    explicit event_queue(TimePoint start) : now_(start) {}

    [[nodiscard]] TimePoint now() const noexcept { return now_; }

    /// Schedules an event, at once if its time has passed.
    void at(TimePoint when, event what) {
        heap_.push_back({std::max(when, now_), order_++, std::move(what)});
        std::push_heap(heap_.begin(), heap_.end(), later());
    }

    /// Returns whether an event is due by this time.
    [[nodiscard]] bool has_until(TimePoint end) const noexcept {
        return !heap_.empty() && heap_.front().when <= end;
    }

    /// Lets time pass until the next event, which it runs.
    void run_next() {
        std::pop_heap(heap_.begin(), heap_.end(), later());
        const entry next = std::move(heap_.back());
        heap_.pop_back();
        pass_to(next.when);
        next.what();
    }

    /// Lets time pass without any event.
    void pass_to(TimePoint when) noexcept { now_ = std::max(now_, when); }

    void clear() noexcept { heap_.clear(); }

private:
    struct entry {
        TimePoint when;
        std::uint64_t order;
        event what;
    };
    struct later {
        bool operator()(const entry& a, const entry& b) const noexcept {
            return a.when != b.when ? a.when > b.when : a.order > b.order;
        }
    };

    TimePoint now_;
    std::uint64_t order_ = 0;
    std::vector<entry> heap_;
};

}  // namespace colock::test

#endif
