// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_CLIENT_CONTEXT_HPP
#define COLOCK_RUNTIME_CLIENT_CONTEXT_HPP

#include "core/time.hpp"
#include "core/validity.hpp"
#include "kinds/command.hpp"
#include "runtime/environment.hpp"
#include "runtime/events.hpp"
#include "runtime/in_client.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/instance_reporter.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/key/contention_history.hpp"
#include "runtime/key/key_queue.hpp"
#include "runtime/key/owners.hpp"
#include "runtime/key/watcher.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/loop.hpp"
#include "runtime/loop/loop_monitor.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace colock::runtime {

class acquire_operation;
class lease_driver;
class places;
class request_operation;
class ticket;

/// How long an instance that may have lost locks grants none. Also the maximum ttl of a lock. 0 = unlimited.
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
    std::string label;  ///< Label in all tokens. Empty for none.
    std::size_t max_reply_size = std::size_t{16} << 20U;
    std::shared_ptr<event_receiver> receiver;  ///< May be null.
    core::duration blocked_threshold{};        ///< See `loop_monitor`. 0 for no such events.
};

/// All members of a client, so that the engine can notify them.
struct members {
    template <typename T>
    using list = boost::intrusive::list<T, boost::intrusive::base_hook<in_client>,
                                        boost::intrusive::constant_time_size<false>>;

    list<acquire_operation> acquiring;
    list<lease_driver> leases;
    /// Leases whose release has failed on an instance that was down. They are notified when an instance
    /// accepts commands again, and are in no other list.
    list<lease_driver> giving_back;
    list<ticket> tickets;
    list<runtime::places> places;
    list<request_operation> requests;  ///< Running, or with a pending vote.
    /// The queues of locks with several names, by each name except the first.
    std::unordered_multimap<std::string_view, key_queue*> at_more_keys;
    /// Keyed by the name of the ticket that is watched. The name stays valid until the entry is removed.
    std::unordered_map<std::string_view, watcher*> watched;
};

/// The parts of a client that its queues, leases and tickets use. They do not depend on the engine, which
/// owns these parts and notifies its members.
struct client_context : loop {
    client_context(environment& world_of_client, engine_settings checked);
    client_context(const client_context&) = delete;
    client_context& operator=(const client_context&) = delete;
    ~client_context();

    runtime::events events;
    const engine_settings settings;  // Without the receiver.
    // See `core::command::ticket`.
    const std::uint64_t client_number = world.random() % core::value_limit;
    std::uint64_t places_given = 0;  // See `core::command::place`.
    loop_monitor monitor{turn, alarms, events, settings.blocked_threshold};
    withdrawals withdrawn{*this};  // Outlives the instances, which owe it votes.
    instance_group instances;
    instance_reporter reporter{instances, alarms, events};
    key_queues queues{*this};
    contention_history contention;
    latest_policies policies;
    runtime::owners owners;
    runtime::members members;
    /// Locks whose keys were written by this client's leases in this turn, and for which other waiters of
    /// this client may wait.
    std::vector<std::shared_ptr<const lock_spec>> own_writes;
    bool closing = false;

    /// Counts a lease that an operation has got after this wait.
    void note_acquired(const lease_driver& lease, core::duration waited) noexcept;

    /// This client has removed the token from the key on so many instances that no quorum has it.
    void on_broken(std::string_view key, std::string_view token);

    void release_started() noexcept { ++counts.releasing; }
    void release_ended() {
        --counts.releasing;
        if (closing) {
            turn.schedule();  // The engine may wait for this.
        }
    }
};

}  // namespace colock::runtime

#endif
