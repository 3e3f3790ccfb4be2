// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_CLIENT_CONTEXT_HPP
#define COLOCK_RUNTIME_CLIENT_CONTEXT_HPP

#include "core/time.hpp"
#include "core/validity.hpp"
#include "kinds/command.hpp"
#include "runtime/environment.hpp"
#include "runtime/in_client.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/key/contention_history.hpp"
#include "runtime/key/key_queue.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/key/owners.hpp"
#include "runtime/key/places.hpp"
#include "runtime/key/ticket.hpp"
#include "runtime/key/watcher.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/loop.hpp"
#include "runtime/operations/acquire_operation.hpp"
#include "runtime/operations/record_operation.hpp"
#include "runtime/operations/settlement_operation.hpp"

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
    std::size_t max_reply_size = std::size_t{16} << 20U;
};

/// All of a client's, for its engine to tell them.
struct members {
    template <typename T>
    using list = boost::intrusive::list<T, boost::intrusive::base_hook<in_client>,
                                        boost::intrusive::constant_time_size<false>>;

    list<acquire_operation> acquiring;
    list<lease_driver> leases;
    /// Of the leases, those that hear, until their end, when an instance takes commands again, and are in no other list.
    list<lease_driver> giving_back;
    list<ticket> tickets;
    list<runtime::places> places;
    list<record_operation> records;          ///< running, or with a vote pending
    list<settlement_operation> settlements;  ///< likewise
    /// The queues of locks with several names, by each name but the first.
    std::unordered_multimap<std::string_view, key_queue*> at_more_keys;
    /// By the name of the ticket that it is to be told of. The name stays where it is until it is taken out.
    std::unordered_map<std::string_view, watcher*> watched;
};

/// What the queues, leases and tickets of a client work with. They know these parts, and not the engine, which has them, and tells
/// its members of the world.
struct client_context : loop {
    client_context(environment& world_of_client, engine_settings checked)
        : loop(world_of_client), settings(std::move(checked)) {}

    const engine_settings settings;
    const std::uint64_t client_number =
        world.random() % core::value_limit;  // see `core::command::ticket`
    std::uint64_t places_given = 0;          // see `core::command::place`
    withdrawals withdrawn{*this};            // lives longer than the instances, which owe it votes
    instance_group instances;
    key_queues queues{*this};
    contention_history contention;
    latest_policies policies;
    runtime::owners owners;
    runtime::members members;
    /// The locks whose keys this client's leases have written in this turn, if others of this client may wait for them.
    std::vector<std::shared_ptr<const lock_spec>> own_writes;
    bool closing = false;

    void release_started() noexcept { ++counts.releasing; }
    void release_ended() {
        --counts.releasing;
        if (closing) {
            turn.schedule();  // it may be what the engine waits for
        }
    }
};

}  // namespace colock::runtime

#endif
