// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_TIMERS_HPP
#define COLOCK_RUNTIME_LOOP_TIMERS_HPP

#include "core/time.hpp"
#include "runtime/environment.hpp"
#include "runtime/loop/timer_queue.hpp"

namespace colock::runtime {

/// The times that the parts of a client wait for. The environment wakes the client at the earliest one.
class timers {
public:
    explicit timers(environment& world) : world_(world) {}

    /// Calls `t` at that time or earlier. A later time does not move an entry that is set, which makes
    /// frequent postponement cheap.
    void wait(timed& t, core::time_point until) {
        if (until < t.time()) {
            queue_.set(t, until);
            // mutant: timer_not_moved_forward
            if (until < armed_for_) {
                arm();
            }
        }
    }

    void stop_waiting(timed& t) noexcept { queue_.clear(t); }

    /// Calls the entries that are due.
    void run(core::time_point now) {
        armed_for_ = core::time_point::min();  // Until all due entries have been called.
        try {
            queue_.run(now);
        } catch (...) {
            armed_for_ = core::never;
            arm();
            throw;
        }
        armed_for_ = core::never;
        arm();
    }

    /// Clears the wake-up, until the next `wait`.
    void disarm() {
        armed_for_ = core::never;
        world_.wake_at(core::never);
    }

    /// Makes no further calls to the environment.
    void stop() noexcept { armed_for_ = core::time_point::min(); }

private:
    void arm() {
        if (queue_.earliest() < armed_for_) {
            armed_for_ = queue_.earliest();
            world_.wake_at(armed_for_);
        }
    }

    environment& world_;
    timer_queue queue_;
    core::time_point armed_for_ = core::never;
};

}  // namespace colock::runtime

#endif
