// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_TURN_CLOCK_HPP
#define COLOCK_RUNTIME_LOOP_TURN_CLOCK_HPP

#include "core/time.hpp"
#include "runtime/environment.hpp"

namespace colock::runtime {

/// Has the engine's turns come, and knows what time it is in them.
class turn_clock {
public:
    explicit turn_clock(environment& world) noexcept : world_(world), recent_time_(world.now()) {}

    [[nodiscard]] core::time_point now() const noexcept { return world_.now(); }

    /// The time of the latest turn, timer or vote, or of another change of an instance. It need not be exact.
    [[nodiscard]] core::time_point recent_time() const noexcept { return recent_time_; }

    /// Has the next turn come soon.
    void schedule() {
        if (!scheduled_ && !stopped_) {
            world_.defer();
            scheduled_ = true;  // not if that has thrown, or no turn would ever come
        }
    }

    /// A turn begins. A handler in it may run the context, and wait there for another turn.
    void begin() noexcept {
        note_time();
        scheduled_ = false;
    }

    /// Sets the `recent_time`.
    void note_time() noexcept { note_time(now()); }
    void note_time(core::time_point now) noexcept { recent_time_ = now; }

    /// There will be no other turn.
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    environment& world_;
    core::time_point recent_time_;
    bool scheduled_ = false;
    bool stopped_ = false;
};

}  // namespace colock::runtime

#endif
