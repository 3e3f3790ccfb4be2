// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_OPTIONS_HPP
#define COLOCK_TEST_SIMULATION_OPTIONS_HPP

#include "simulation/time.hpp"

#include "core/validity.hpp"
#include "support/small_redis/dialect.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// The faults. Each occurrence is counted.
enum class fault : std::uint8_t {
    slow_message,  ///< Far slower than the others.
    reset_before,  ///< A connection broke before a command on it was executed.
    reset_after,   ///< A connection broke after a command on it was executed.
    straggler,     ///< A command was executed after its connection was given up.
    reordered,     ///< A command overtook an earlier one of its client, on another connection.
    refused,       ///< There was no connection to send on.
    error_reply,   ///< The server returned an error.
    partition,     ///< No messages between a client and an instance.
    partition_to_server,  ///< No messages to the instance only.
    partition_to_client,  ///< No messages to the client only.
    flapping,             ///< Several short ones in a row.
    instance_pause,
    restart_with_data,
    restart_without_data,
    rollback,     ///< A restart that lost the last writes.
    clock_drift,  ///< A clock rate that is wrong by more than one per mille.
    clock_jump_forward,
    clock_jump_back,
    client_pause,   ///< Longer than the ttl.
    client_hiccup,  ///< Shorter than the ttl.
    client_crash,
    client_close,
    cancellation,
    foreign_delete,
    foreign_expiry,      ///< A third party shortened a key's ttl.
    counter_lost,        ///< A server lost a fence counter.
    counter_spoiled,     ///< A counter was set to a value without a successor.
    quarantined,         ///< An acquire was not sent, because the instance restarted recently.
    withdrawn,           ///< A command was withdrawn before it was sent.
    late_grant,          ///< A grant came after its attempt had been given up.
    failover_from_dead,  ///< A replica was promoted while the former master was dead.
    /// A replica was promoted while the former master was alive and possibly in use.
    failover_from_alive,
    lock_lost,     ///< The promoted replica never had a lock.
    renewal_lost,  ///< The promoted replica may lack the latest renewal.
    replication_cut,
    sentinel_cut,    ///< A Sentinel still reported the old master.
    not_replicated,  ///< Too few replicas acknowledged a grant in time.
    slot_move,
    slot_migration,  ///< The keys of a slot moved one by one.
    moved,           ///< A node redirected a client (MOVED).
    asked,           ///< A node redirected one command (ASK).
    divided,         ///< The two keys of a command were on two nodes.
    sent_again,      ///< An unexecuted command was sent again in another form.
    out_of_memory,
    right_lost,      ///< A server refused a command that it had executed before.
    writes_refused,  ///< For a while, a server was a replica, could not save, or the like.
    scripts_lost,
    name_taken,  ///< A foreign value had one of the library's names.
    count,
};
inline constexpr std::size_t fault_count = static_cast<std::size_t>(fault::count);
std::string_view name(fault f);

/// The fault model: which faults occur in a world, how often, and how severely. "Per run" is a mean. A value
/// of zero disables the fault.
struct fault_model {
    duration busy_time = 1500ms;  ///< Duration of the faults.

    // Load. It replaces all other users. Each user of the crowd acquires and releases a lock of its own in a
    // loop.
    std::size_t crowd = 0;  ///< The only client has up to this many users, plus up to 100.
    duration service{};     ///< The execution time of a command.

    // Every message.
    duration least_delay = 50us;
    duration usual_delay = 2ms;  ///< Most messages are faster.
    double slow_messages = 0;    ///< Share of messages that take up to `slow_delay`.
    duration slow_delay = 100ms;
    double error_replies = 0;  ///< Share of commands that the server refuses.
    double raise_errors = 0;   ///< The share for commands that raise a fence counter.
    /// Share of releases that use a second connection and may overtake their acquire. No instance type does
    /// this today. It tests how `core::release` handles late grants. It is limited to releases. An extend
    /// that overtook its acquire would find no key. The `heal` that follows would be denied by the acquire's
    /// own key. Renewals therefore require the order of one connection.
    double second_connections = 0;

    // Connections, per run.
    double resets = 0;
    /// Share of broken connections that still deliver the messages in flight.
    double stragglers = 0.3;
    double partitions = 0;  ///< Symmetric, one-way or flapping.

    // Instances, per run.
    double instance_pauses = 0;
    double restarts_with_data = 0;
    double restarts_without_data = 0;
    double rollbacks = 0;
    /// The value of `config::restart_quarantine` and of `failover_quarantine`. An instance that started less
    /// than this time ago gets no acquires, and neither does a promoted replica. With a quarantine, a loss of
    /// keys in a restart is no excuse. Do not combine it with `clock_jumps`, which would make an uptime look
    /// longer.
    duration quarantine{};
    double clock_jumps = 0;  ///< In both directions.
    /// A replica is promoted. It lacks the writes that have not reached it yet. `dead_masters` is the share
    /// of former masters that are dead.
    double failovers = 0;
    double dead_masters = 1;
    double replication_cuts = 0;
    double sentinel_cuts = 0;
    double slot_moves = 0;       ///< All keys together.
    double slot_migrations = 0;  ///< Key by key.
    duration replication_delay{};
    /// Within this time, all Sentinels that are not cut off have detected a failover.
    duration sentinel_delay{};
    double foreign_deletes = 0;
    double foreign_expiries = 0;
    double counters_lost = 0;
    double counters_spoiled = 0;
    double memory_shortages = 0;
    double rights_lost = 0;
    double write_refusals = 0;
    double scripts_lost = 0;
    double names_taken = 0;

    // Clients, per run.
    double client_pauses = 0;  ///< Mostly longer than the ttl.
    double client_crashes = 0;
    double client_closes = 0;
    double cancellations = 0;  ///< Share of acquires that are cancelled.
    double slow_turns = 0.05;  ///< Share of turns that begin up to 3 ms late.

    // Clocks.
    double clock_rates = 0.0005;  ///< Maximum deviation of a clock's rate from 1.

    double fenced = 0.5;  ///< Share of users that use fencing.
};

/// The promises of the library under these faults. Only these are checked.
struct claims {
    /// No two leases of one resource are valid at the same moment. The only exception is a lease that lost
    /// its quorum of keys solely because keys were destroyed on some instances. Keys are destroyed by a
    /// restart or a rollback without a quarantine, or by a third party that deletes or shortens them. They
    /// are also destroyed if a server clock is set forward. Plain Redlock does not survive this. Fencing
    /// protects against it, and the quarantine protects against restarts.
    bool mutual_exclusion = true;
    /// No lease is lost, except by max_hold or without renewals.
    bool no_loss = false;
    /// Fences are unique, and each is larger than those of all earlier leases. This does not hold if counters
    /// are lost or set back. It still holds if the clocks agree and are never set, and a server that restarts
    /// without its last data is quarantined.
    bool fence_order = true;
    /// With any number of users, no acquire fails, and the servers reach this share of their capacity.
    double goodput = 0;
};

/// How a client finds the server for a key.
enum class topology : std::uint8_t { standalone, sentinel, cluster };

/// The instances of a world.
struct deployment {
    topology kind = topology::standalone;
    std::size_t replicas = 0;        ///< For each master.
    std::size_t replicas_acked = 0;  ///< Required acknowledgements for a grant.
    bool tells_changes = false;  ///< Whether the servers support client tracking and thus queues.
    const small_redis::dialect* speaks = &small_redis::redis_8;
};

struct profile {
    std::string_view name;
    std::string_view what;
    fault_model faults;
    core::drift_bound drift;
    simulation::claims claims;
    simulation::deployment deployment{};
};

const std::vector<profile>& profiles();

/// Returns null if there is no profile of this name.
const profile* find_profile(std::string_view name);

/// Returns the profile of a seed for which none is named. Profiles with a crowd take much longer and are used
/// only by name.
const profile& profile_of(std::uint64_t seed);

}  // namespace colock::simulation

#endif
