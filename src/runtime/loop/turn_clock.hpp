// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_TURN_CLOCK_HPP
#define COLOCK_RUNTIME_LOOP_TURN_CLOCK_HPP

#include "core/time.hpp"
#include "runtime/environment.hpp"

#include <new>

namespace colock::runtime {

/// Schedules the engine's turns and caches the current time.
class turn_clock {
public:
    explicit turn_clock(environment& world) noexcept : world_(world), recent_time_(world.now()) {}

    [[nodiscard]] core::time_point now() const noexcept { return world_.now(); }

    /// Returns the time of the latest turn, timer, vote or other event of an instance. It need not be exact.
    [[nodiscard]] core::time_point recent_time() const noexcept { return recent_time_; }

    /// Schedules the next turn, unless it is scheduled already. Without memory for that, the next timer does
    /// it.
    void schedule() noexcept {
        if (scheduled_ || stopped_) {
            return;
        }
        is_missed_ = true;
        try {
            world_.defer();
            scheduled_ = true;
            is_missed_ = false;
        } catch (const std::bad_alloc&) {
            wake_soon();
        }
    }

    /// Schedules the turn for which there was no memory before.
    void retry() noexcept {
        if (is_missed_) {
            schedule();
        }
    }

    /// Begins a turn. A handler in it may run the context and wait for another turn.
    void begin() noexcept {
        note_time();
        scheduled_ = false;
    }

    /// Sets the `recent_time`.
    void note_time() noexcept { note_time(now()); }
    void note_time(core::time_point now) noexcept { recent_time_ = now; }

    /// Prevents further turns.
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    void wake_soon() noexcept {
        try {
            world_.wake_at(recent_time_);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see `schedule`
        }
    }

    environment& world_;
    core::time_point recent_time_;
    bool scheduled_ = false;
    bool is_missed_ = false;  // There was no memory to schedule it.
    bool stopped_ = false;
};

}  // namespace colock::runtime

#endif
