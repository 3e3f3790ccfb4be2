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

/// What can go wrong, and is counted when it does.
enum class fault : std::uint8_t {
    slow_message,  ///< far slower than the others
    reset_before,  ///< a connection broke, and a command on it was never executed
    reset_after,   ///< a connection broke, and a command on it had been executed
    straggler,     ///< executed after its connection was given up
    reordered,     ///< overtook, on another connection, an earlier command of the same client
    refused,       ///< there was no connection to send on
    error_reply,   ///< refused by the server with an error
    partition,     ///< a client and an instance did not hear each other
    partition_to_server,  ///< only the instance did not hear
    partition_to_client,  ///< only the client did not hear
    flapping,             ///< several short ones in a row
    instance_pause,
    restart_with_data,
    restart_without_data,
    rollback,     ///< a restart that lost the last writes
    clock_drift,  ///< a clock that runs more than a per mille wrong
    clock_jump_forward,
    clock_jump_back,
    client_pause,   ///< longer than the ttl
    client_hiccup,  ///< shorter
    client_crash,
    client_close,
    cancellation,
    foreign_delete,
    foreign_expiry,   ///< somebody else shortened a key's ttl
    counter_lost,     ///< a server forgot a fence counter
    counter_spoiled,  ///< and one was set to where there is no next
    quarantined,      ///< an acquire for an instance that had restarted not long ago, and not sent
    withdrawn,        ///< a command was taken back before it was sent
    late_grant,       ///< a grant came when its attempt had been given up
    failover_from_dead,   ///< a replica was promoted, and the former master was dead
    failover_from_alive,  ///< and it was not, and may have been used by some
    lock_lost,            ///< the promoted replica had never heard of a lock
    renewal_lost,         ///< or perhaps not of its latest renewal
    replication_cut,
    sentinel_cut,    ///< a Sentinel went on naming the old master
    not_replicated,  ///< a grant that too few replicas acknowledged in time
    slot_move,
    slot_migration,  ///< the keys of a slot moved one by one
    moved,           ///< a node sent a client on
    asked,           ///< or sent it on for one command
    divided,         ///< a command for two keys, which were at two nodes
    sent_again,      ///< a command was not executed, and was sent again in another form
    out_of_memory,
    right_lost,      ///< a server refused a command that it had executed before
    writes_refused,  ///< a server was a replica for a while, or could not save, or the like
    scripts_lost,
    name_taken,  ///< a stranger had a value of his own under one of our names
    count,
};
inline constexpr std::size_t fault_count = static_cast<std::size_t>(fault::count);
std::string_view name(fault f);

/// The fault model: what may go wrong in a world, how often, and how badly. "Per run" is a mean; what
/// is zero does not happen.
struct fault_model {
    duration busy_time = 1500ms;  ///< for so long there are faults

    // Load. Then there are no users but these: each takes and releases a lock of its own, again and again.
    std::size_t crowd = 0;  ///< of the one client, at most so many and another hundred
    duration service{};     ///< what a server takes to execute a command

    // Every message.
    duration least_delay = 50us;
    duration usual_delay = 2ms;  ///< most are faster
    double slow_messages = 0;    ///< share of messages that take up to `slow_delay`
    duration slow_delay = 100ms;
    double error_replies = 0;  ///< share of commands that the server refuses, but for these:
    double raise_errors = 0;   ///< of commands to raise a fence counter
    /// Share of releases that go over a connection of their own, and may overtake their acquire. No
    /// kind of instance does that today; it is what `core::release` hears a late grant for. Only of
    /// releases: an extend that overtook the acquire would find no key, and a heal would follow that the
    /// acquire's own vote denies. For that order on one connection is needed.
    double second_connections = 0;

    // Connections, per run.
    double resets = 0;
    /// Share of broken connections that still deliver what was sent on them.
    double stragglers = 0.3;
    double partitions = 0;  ///< symmetric, one-way or flapping

    // Instances, per run.
    double instance_pauses = 0;
    double restarts_with_data = 0;
    double restarts_without_data = 0;
    double rollbacks = 0;
    /// `config::restart_quarantine`, and `failover_quarantine` alike: an instance that has been up for less than this
    /// gets no acquires, nor does a promoted replica.
    /// With it, what a restart destroys is no excuse. Not together with `clock_jumps`, which would make
    /// an instance seem to have been up for longer.
    duration quarantine{};
    double clock_jumps = 0;  ///< in both directions
    /// A replica is promoted. It lacks what has not reached it yet. How many of the former masters are alive is up to
    /// `dead_masters`.
    double failovers = 0;
    double dead_masters = 1;
    double replication_cuts = 0;
    double sentinel_cuts = 0;
    double slot_moves = 0;       ///< at once
    double slot_migrations = 0;  ///< key by key
    duration replication_delay{};
    /// In so much time all Sentinels have noticed a failover that are not cut off.
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
    double client_pauses = 0;  ///< mostly longer than the ttl
    double client_crashes = 0;
    double client_closes = 0;
    double cancellations = 0;  ///< share of acquires that are cancelled
    double slow_turns = 0.05;  ///< share of turns that begin up to 3 ms late

    // Clocks.
    double clock_rates = 0.0005;  ///< at most so much too fast or too slow, as a factor

    double fenced = 0.5;  ///< share of users who want a fence
};

/// What the library promises under these faults; checked only as far as that.
struct claims {
    /// No two leases of one resource are valid at one moment. Always but for this: a lease is
    /// excused whose keys were destroyed (lost by a restart or a rollback without a quarantine, deleted
    /// or shortened by strangers, expired early by a server clock that was set forward) on so many
    /// instances that it lost its quorum of keys by that alone. Plain Redlock does not survive this;
    /// fencing answers to it, and to restarts the quarantine.
    bool mutual_exclusion = true;
    /// Nobody loses a lease but by max_hold or because he did not want it renewed.
    bool no_loss = false;
    /// Fences are unique, and each is larger than those of all leases that were handed out before. Not
    /// where counters are lost or set back; unless clocks agree, none is set, and who restarts without
    /// its last data is quarantined.
    bool fence_order = true;
    /// However many users there are, no acquire fails, and the servers do this share of what they can do.
    double goodput = 0;
};

/// How a client finds the server for a key.
enum class topology : std::uint8_t { standalone, sentinel, cluster };

/// What the instances of a world are.
struct deployment {
    topology kind = topology::standalone;
    std::size_t replicas = 0;        ///< of each master
    std::size_t replicas_acked = 0;  ///< a grant counts only if so many acknowledge it
    bool tells_changes = false;  ///< of keys that a client has asked for: then it can keep queues
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

/// Null if there is none of that name.
const profile* find_profile(std::string_view name);

/// The one for a seed, where none was named. Worlds with a crowd take much longer than others, and have to be named.
const profile& profile_of(std::uint64_t seed);

}  // namespace colock::simulation

#endif
