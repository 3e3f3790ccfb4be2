// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_LOOP_HPP
#define COLOCK_RUNTIME_LOOP_LOOP_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/environment.hpp"
#include "runtime/loop/completions.hpp"
#include "runtime/loop/outbox.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timers.hpp"
#include "runtime/loop/turn_clock.hpp"
#include "runtime/statistics.hpp"

#include <cstdint>

namespace colock::runtime {

/// Schedules the work of a client: its turns, its timers, and its use of the room on the instances.
struct loop {
    explicit loop(environment& world_of_client) : world(world_of_client) {}

    environment& world;
    statistics counts;
    turn_clock turn{world};
    timers alarms{world};
    outbox out{turn};
    send_gate gate{turn, alarms, counts};
    completions finished{turn};

    /// Returns a random number for jitter.
    [[nodiscard]] std::uint64_t next_seed() noexcept {
        std::uint64_t state = seeds_++;
        return core::next_random(state);
    }

    /// Records a vote. If the instance has answered, it may have room for the waiters at the gate.
    void note_vote(const core::vote& vote, core::time_point now) {
        turn.note_time(now);
        if (gate.has_waiters() && core::answered(vote)) {
            gate.look_for_room();
        }
    }

private:
    std::uint64_t seeds_ = world.random();
};

}  // namespace colock::runtime

#endif
