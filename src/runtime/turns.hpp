// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_TURNS_HPP
#define COLOCK_RUNTIME_TURNS_HPP

#include "core/time.hpp"
#include "runtime/environment.hpp"

namespace colock::runtime {

/// Has the engine's turns come, and knows what time it is in them.
class turns {
public:
    explicit turns(environment& world) noexcept : world_(world), recent_time_(world.now()) {}

    [[nodiscard]] core::time_point now() const noexcept { return world_.now(); }

    /// The time as of the latest turn, timer or read, for what need not be exact.
    [[nodiscard]] core::time_point recent_time() const noexcept { return recent_time_; }

    /// The time at which a vote has come: all those of one read of a socket have come together.
    [[nodiscard]] core::time_point time_of_vote() const noexcept {
        return reading_ ? recent_time_ : now();
    }

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

    /// For `recent_time`: it is now.
    void note_time() noexcept { recent_time_ = now(); }

    /// The replies of one read are told between these two.
    void begin_reading() noexcept {
        reading_ = true;
        note_time();
    }
    void end_reading() noexcept { reading_ = false; }

    /// There will be no other turn.
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }

private:
    environment& world_;
    core::time_point recent_time_;
    bool scheduled_ = false;
    bool reading_ = false;
    bool stopped_ = false;
};

}  // namespace colock::runtime

#endif
