// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/options.hpp"

#include "simulation/dice.hpp"

#include <algorithm>
#include <array>

namespace colock::simulation {
namespace {

constexpr fault_model calm{.cancellations = 0.05};

constexpr fault_model busy{.busy_time = 300ms, .crowd = 60, .service = 600us, .usual_delay = 500us};

constexpr fault_model network{.slow_messages = 0.02,
                              .error_replies = 0.01,
                              .raise_errors = 0.01,
                              .resets = 3,
                              .partitions = 3,
                              .cancellations = 0.1,
                              .clock_rates = 0.004};

constexpr fault_model reordering{.slow_messages = 0.05,
                                 .second_connections = 0.4,
                                 .resets = 1,
                                 .stragglers = 0.8,
                                 .cancellations = 0.2,
                                 .clock_rates = 0.004};

fault_model stragglers() {
    fault_model f = network;
    f.resets = 10;
    f.stragglers = 0.8;
    f.slow_messages = 0.2;
    return f;
}

constexpr fault_model processes{.slow_messages = 0.01,
                                .resets = 0.5,
                                .instance_pauses = 2,
                                .restarts_with_data = 1,
                                .client_pauses = 2,
                                .client_crashes = 0.5,
                                .client_closes = 0.3,
                                .cancellations = 0.1,
                                .clock_rates = 0.004};

fault_model clocks() {
    fault_model f = network;
    f.client_pauses = 1;
    f.clock_rates = 0.1;
    return f;
}

constexpr fault_model cancelling{.slow_messages = 0.05,
                                 .error_replies = 0.02,
                                 .raise_errors = 0.02,
                                 .resets = 1,
                                 .client_closes = 1,
                                 .cancellations = 0.7};

constexpr fault_model data_loss{.slow_messages = 0.02,
                                .resets = 0.5,
                                .restarts_without_data = 1,
                                .rollbacks = 1,
                                .clock_jumps = 1,
                                .foreign_deletes = 1,
                                .foreign_expiries = 1,
                                .memory_shortages = 0.5,
                                .rights_lost = 0.5,
                                .scripts_lost = 0.5,
                                .names_taken = 0.5,
                                .cancellations = 0.05,
                                .clock_rates = 0.004};

fault_model restarts() {
    fault_model f = network;
    f.restarts_without_data = 2;
    f.rollbacks = 1;
    f.restarts_with_data = 0.5;
    f.client_pauses = 0.5;
    f.quarantine = 1s;  // The maximum of all ttls.
    return f;
}

fault_model everything() {
    fault_model f = data_loss;
    f.error_replies = f.raise_errors = 0.01;
    f.second_connections = 0.05;
    f.resets = 2;
    f.partitions = 2;
    f.instance_pauses = 1;
    f.restarts_with_data = 0.5;
    f.client_pauses = 1;
    f.client_crashes = 0.3;
    f.client_closes = 0.2;
    f.cancellations = 0.1;
    return f;
}

constexpr fault_model lost_counters{
    .slow_messages = 0.1,
    .error_replies = 0.05,
    .raise_errors = 0.4,
    .resets = 3,
    .partitions = 3,
    .restarts_without_data = 0.3,
    .rollbacks = 0.3,
    .quarantine = 1100ms,  // More than 1 s, because counters follow whole seconds.
    .foreign_deletes = 1,
    .foreign_expiries = 1,
    .counters_lost = 8,
    .counters_spoiled = 1,
    .client_pauses = 1,
    .cancellations = 0.1,
    .clock_rates = 0,
    .fenced = 1};

constexpr fault_model refusals{.slow_messages = 0.02,
                               .resets = 1,
                               .restarts_with_data = 0.5,
                               .memory_shortages = 3,
                               .rights_lost = 3,
                               .write_refusals = 2,
                               .scripts_lost = 3,
                               .names_taken = 3,
                               .cancellations = 0.1,
                               .clock_rates = 0.004};

constexpr fault_model failovers{.busy_time = 3s,
                                .slow_messages = 0.02,
                                .resets = 1,
                                .stragglers = 0.5,
                                .partitions = 1,
                                .failovers = 2,
                                .replication_cuts = 2,
                                .replication_delay = 30ms,
                                .cancellations = 0.05,
                                .clock_rates = 0.004};

fault_model sentinels() {
    fault_model f = failovers;
    f.dead_masters = 0.5;
    f.sentinel_cuts = 2;
    f.sentinel_delay = 30ms;
    f.quarantine = 1s;  // The maximum of all ttls.
    return f;
}

fault_model slots() {
    fault_model f = failovers;
    f.dead_masters = 0.5;
    f.slot_moves = 3;
    f.slot_migrations = 4;
    f.instance_pauses = 1;
    f.client_pauses = 0.5;
    f.quarantine = 1s;
    return f;
}

/// The bound that a user with unreliable clocks must set, because 1.1 / 0.9 is 1.22.
constexpr core::drift_bound wide{0.23, 2ms};

}  // namespace

std::string_view name(fault f) {
    static constexpr std::array<std::string_view, fault_count> names = {
        "slow_message",
        "reset_before",
        "reset_after",
        "straggler",
        "reordered",
        "refused",
        "error_reply",
        "partition",
        "partition_to_server",
        "partition_to_client",
        "flapping",
        "instance_pause",
        "restart_with_data",
        "restart_without_data",
        "rollback",
        "clock_drift",
        "clock_jump_forward",
        "clock_jump_back",
        "client_pause",
        "client_hiccup",
        "client_crash",
        "client_close",
        "cancellation",
        "foreign_delete",
        "foreign_expiry",
        "counter_lost",
        "counter_spoiled",
        "quarantined",
        "withdrawn",
        "late_grant",
        "failover_from_dead",
        "failover_from_alive",
        "lock_lost",
        "renewal_lost",
        "replication_cut",
        "sentinel_cut",
        "not_replicated",
        "slot_move",
        "slot_migration",
        "moved",
        "asked",
        "divided",
        "sent_again",
        "out_of_memory",
        "right_lost",
        "writes_refused",
        "scripts_lost",
        "name_taken",
    };
    return names[static_cast<std::size_t>(f)];
}

const std::vector<profile>& profiles() {
    static const std::vector<profile> all = {
        {"calm", "contention, cancellation and ordinary delays", calm, {}, {true, true}},
        {"network", "slow messages, resets and partitions", network, {}, {}},
        {"reordering", "several connections to an instance, and late messages", reordering, {}, {}},
        {"processes", "pauses, crashes and restarts without data loss", processes, {}, {}},
        {"clocks", "clock rates up to 10 % off, within a drift bound of 23 %", clocks(), wide, {}},
        {"cancelling", "most acquires are cancelled, and clients are closed", cancelling, {}, {}},
        {"data_loss",
         "lost data, clock jumps and key deletions: only Redlock's own guarantees are checked",
         data_loss,
         {},
         {true, false, false}},
        {"lost_counters",
         "lost fence counters and keys, quarantined restarts, synchronized clocks",
         lost_counters,
         {},
         {}},
        {"restarts",
         "restarts that lose data, with a quarantine: no violation is excused",
         restarts(),
         {},
         {}},
        {"beyond_drift",
         "clock rates up to 10 % off, beyond the drift bound",
         clocks(),
         {},
         {false, false}},
        {"stragglers", "broken connections that deliver their commands late", stragglers(), {}, {}},
        {"everything", "all of these faults at once", everything(), {}, {true, false, false}},
        {"refusals",
         "servers that refuse commands: no memory, missing rights, names that strangers have",
         refusals,
         {},
         {}},
        {"sentinels",
         "Sentinel masters and failovers that lose locks: no violation is excused",
         sentinels(),
         {},
         {},
         {topology::sentinel, 2}},
        {"slots",
         "slot migrations and failovers that lose locks: no violation is excused",
         slots(),
         {},
         {},
         {topology::cluster, 1}},
        {"replicated",
         "failovers without a quarantine, grants acknowledged by a replica: only renewals are lost",
         failovers,
         {},
         {true, false, false},
         {topology::sentinel, 1, 1}},
        {"busy", "more load than the servers can handle", busy, {}, {true, true, true, 0.9}},
    };
    return all;
}

const profile* find_profile(std::string_view name) {
    const auto found = std::find_if(profiles().begin(), profiles().end(),
                                    [name](const profile& p) { return p.name == name; });
    return found == profiles().end() ? nullptr : &*found;
}

const profile& profile_of(std::uint64_t seed) {
    const auto small = std::ranges::count_if(
        // They are first in the list.
        profiles(), [](const profile& p) { return p.faults.crowd == 0; });
    return profiles()[dice(~seed).below(static_cast<std::size_t>(small))];
}

}  // namespace colock::simulation
