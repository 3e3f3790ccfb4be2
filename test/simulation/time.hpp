// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_TIME_HPP
#define COLOCK_TEST_SIMULATION_TIME_HPP

#include "core/time.hpp"

#include <chrono>
#include <cstdint>

namespace colock::simulation {

using namespace std::chrono_literals;

/// The true time, in which all events happen. No participant of the world can read it.
struct true_clock {
    using rep = core::duration::rep;
    using period = core::duration::period;
    using duration = core::duration;
    using time_point = std::chrono::time_point<true_clock, core::duration>;
    static constexpr bool is_steady = true;
};
using true_time = true_clock::time_point;

using core::duration;

/// The clock of a participant. It begins anywhere, runs too fast or too slow, and may be set.
class local_clock {
public:
    explicit local_clock(double rate, duration offset = {})
        : rate_(rate), local_(std::chrono::hours(1000) + offset) {}

    [[nodiscard]] core::time_point at(true_time t) const {
        return local_ + scaled(t - true_, rate_);
    }

    /// Returns when it will show `t`, unless it is set before.
    [[nodiscard]] true_time when(core::time_point t) const {
        return true_ + scaled(t - local_, 1 / rate_) + 1ns;  // Never before that moment.
    }

    void jump(true_time now, duration by) {
        local_ = at(now) + by;
        true_ = now;
    }

    void set_rate(true_time now, double rate) {
        jump(now, duration::zero());
        rate_ = rate;
    }

    [[nodiscard]] double rate() const { return rate_; }

private:
    static duration scaled(duration d, double factor) {
        return duration(static_cast<duration::rep>(static_cast<double>(d.count()) * factor));
    }

    double rate_;
    true_time true_{};
    core::time_point local_;
};

}  // namespace colock::simulation

#endif
