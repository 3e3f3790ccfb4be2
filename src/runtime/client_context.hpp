// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_CLIENT_CONTEXT_HPP
#define COLOCK_RUNTIME_CLIENT_CONTEXT_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "runtime/environment.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/key/contention_history.hpp"
#include "runtime/key/local_queue.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/completions.hpp"
#include "runtime/loop/outbox.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timers.hpp"
#include "runtime/loop/turn_clock.hpp"
#include "runtime/members.hpp"
#include "runtime/statistics.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::runtime {

/// For how long an instance that may have forgotten locks grants none, and so the longest ttl that a lock may have; 0: any.
struct quarantine_lengths {
    core::milliseconds restart{0};
    core::milliseconds failover{0};
};

struct engine_settings {
    std::string key_prefix;
    core::drift_bound drift;
    core::duration instance_timeout{};
    core::duration close_timeout{};
    quarantine_lengths quarantines;
    std::string label;  ///< of all tokens; empty for none
};

/// What the operations, leases and queues of a client work with. They know these parts, and not the engine, which has
/// them, and tells its members of the world. None of the parts knows another but `turns`.
struct client_context {
    client_context(environment& world_of_client, engine_settings checked)
        : world(world_of_client), settings(std::move(checked)) {}

    environment& world;
    const engine_settings settings;
    const std::uint64_t client_number =
        world.random() % core::value_limit;  // see `core::command::ticket`
    statistics counts;
    turn_clock turn{world};
    timers alarms{world};
    withdrawals withdrawn{*this};  // lives longer than the instances, which owe it votes
    instance_group instances;
    outbox out{turn};
    send_gate gate{turn, alarms, counts};
    completions finished{turn};
    local_queues queues{turn, counts};
    contention_history contention;
    latest_policies policies;
    runtime::members members;
    /// The locks whose keys this client's leases have written in this turn, if others of this client may wait for them.
    std::vector<std::shared_ptr<const lock_spec>> own_writes;
    bool closing = false;

    /// A random number, enough for jitter.
    [[nodiscard]] std::uint64_t next_seed() noexcept {
        std::uint64_t state = seeds_++;
        return core::next_random(state);
    }

    /// An instance has voted. If that was an answer, the instance may have room for what waits at the gate.
    void note_vote(const core::vote& vote, core::time_point now) {
        turn.note_time(now);
        if (gate.has_waiters() && core::answered(vote)) {
            gate.look_for_room();
        }
    }

    void release_started() noexcept { ++counts.releasing; }
    void release_ended() {
        --counts.releasing;
        if (closing) {
            turn.schedule();  // it may be what the engine waits for
        }
    }

private:
    std::uint64_t seeds_ = world.random();
};

}  // namespace colock::runtime

#endif
