// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_LOOP_MONITOR_HPP
#define COLOCK_RUNTIME_LOOP_LOOP_MONITOR_HPP

#include "core/time.hpp"
#include "runtime/events.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/loop/timers.hpp"
#include "runtime/loop/turn_clock.hpp"

namespace colock::runtime {

/// Notices that the event loop was blocked. It sets a timer again and again. A timer that runs late shows how
/// long nothing else can have run.
class loop_monitor final : private timed {
public:
    /// Reports blockages that are longer than `threshold`.
    loop_monitor(turn_clock& turns, timers& alarms, events& out, core::duration threshold) noexcept
        : turns_(turns), alarms_(alarms), events_(out), threshold_(threshold) {}

    /// Begins with the next turn, if there is a receiver, and if the threshold is not 0. Before this turn, the
    /// program may not have started its event loop.
    void start() {
        if (events_.wanted() && threshold_ != core::duration::zero()) {
            latest_ = core::time_point::min();
            turns_.schedule();
        }
    }

    void stop() noexcept {
        alarms_.stop_waiting(*this);
        latest_ = core::never;
    }

    /// Called in each turn, because a turn may come before the late timer.
    void look(core::time_point now) {
        if (now <= latest_) {
            return;
        }
        if (latest_ == core::time_point::min()) {
            wait(now);
        } else {
            events_.add([&] { return blocked_event{now - due_}; });
            expect_at(now);
        }
    }

private:
    /// A blockage that ends before the timer is due goes unnoticed. So the timer is due soon.
    void wait(core::time_point now) {
        expect_at(now + threshold_ / 4);
        alarms_.wait(*this, due_);
    }

    void expect_at(core::time_point due) noexcept {
        due_ = due;
        latest_ = due + threshold_;
    }

    void on_time(core::time_point now) override {
        look(now);
        wait(now);
    }

    turn_clock& turns_;
    timers& alarms_;
    events& events_;
    core::duration threshold_;
    core::time_point due_{};                 // When the timer is due.
    core::time_point latest_ = core::never;  // Later is too late. `never` without a timer.
};

}  // namespace colock::runtime

#endif
