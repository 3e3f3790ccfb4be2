// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_KEY_QUEUE_HPP
#define COLOCK_RUNTIME_KEY_KEY_QUEUE_HPP

#include "core/instance_set.hpp"
#include "core/lease_step.hpp"
#include "core/outcome.hpp"
#include "core/queue_advice.hpp"
#include "core/queue_ticket.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/key/local_queue.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/ownership.hpp"
#include "runtime/recycling_allocator.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::runtime {

class acquire_operation;
class lease_driver;
class places;
class ticket;

/// The activity of one client at one key. It is the mediator of the operations, the leases, the client's
/// ticket in the remote queue and the announcements. Each of them reports its events to the queue as its last
/// action. The queue notifies the others. They do not depend on each other.
class key_queue {
public:
    /// The client has a queue for each key with an operation or a lease. `lock` is a lock with this key.
    key_queue(client_context& client, std::shared_ptr<const lock_spec> lock) noexcept
        : client_(client), lock_(std::move(lock)) {}

    /// Returns a lock with this key.
    [[nodiscard]] const lock_spec& lock() const noexcept { return *lock_; }

    /// Returns the operations and leases at the key, and the waiters.
    [[nodiscard]] const local_queue& local() const noexcept { return local_; }
    /// Returns the operation at the key, or null.
    [[nodiscard]] acquire_operation* attempting() const noexcept;

    /// Returns the lock that this operation wants, or null.
    [[nodiscard]] const lock_spec* wanted() const noexcept;
    /// Returns whether this operation asks which client holds the key.
    [[nodiscard]] bool wants_explanation() const noexcept;

    /// Returns the client's ticket in the remote queue. Null if it has not joined.
    [[nodiscard]] const ticket* remote() const noexcept { return ticket_; }

    /// Returns the earliest useful time for an attempt.
    [[nodiscard]] core::time_point next_attempt() const noexcept { return next_attempt_; }
    /// Returns since when attempts have found no quorum. `core::never` if the last one did.
    [[nodiscard]] core::time_point no_quorum_since() const noexcept { return no_quorum_since_; }

    /// Returns whether there is no operation or lease at the key, and no waiter.
    [[nodiscard]] bool unused() const noexcept { return local_.unused() && adopting_.empty(); }

    // From operations:

    /// Starts an operation: it waits, shares an existing lease, or begins.
    void start(acquire_operation& newcomer);
    /// Starts an adoption immediately, next to all others.
    void adopt(acquire_operation& newcomer);
    /// Begins an operation that was the first waiter.
    void begin(acquire_operation& next);
    /// Takes a ticket for the operation at the key, if there is none. Returns false if that is impossible.
    bool join_remote_queue(const acquire_operation& waiting);
    void leave_remote_queue();
    /// Returns whether operations behind it want other names than this lock.
    [[nodiscard]] bool has_waiters_for_other_names(const lock_spec& lock) noexcept;
    /// Puts an operation back into the local queue, because it waits for another of its names. The others
    /// come first.
    void let_others_pass(acquire_operation& one);
    /// Returns whether other clients are known to wait for the key. It is then fair to join them before the
    /// first attempt.
    [[nodiscard]] bool expects_other_clients();
    /// Returns whether other clients probably hold the key. An attempt that only checks for holders is then
    /// useless.
    [[nodiscard]] bool expects_holders();
    /// Records that such an attempt was denied.
    void note_holders();
    /// If the lock's order binds, the waiter in the local queue also enters the queue on the instance.
    void take_place(const acquire_operation& waiter);
    /// If the lock's order binds, reports that the operation attempts.
    void on_attempt_in_order();
    /// If the lock's order binds, reports that an attempt of the waiter with that place has got no answer.
    void on_attempt_lost(std::uint64_t place) noexcept;
    /// If the lock's order binds, reports that its attempt was denied and it continues to wait.
    void on_denied_place(const acquire_operation& waiting);
    /// Reports the denied attempt of an operation that waits on in the remote queue. `had_ticket` if it had
    /// the ticket before that attempt.
    void on_denied(const core::round& votes, bool had_ticket);
    /// Records that an attempt with an announcement is being sent.
    void announce(core::time_point now) noexcept;
    /// Withdraws the announcement on those instances, if it still stands.
    void withdraw(const std::shared_ptr<const lock_spec>& of, core::instance_set where,
                  core::time_point now);
    /// Reports that an operation has ended.
    void on_finished(acquire_operation& one, core::acquire_outcome outcome);

    // From leases:

    /// Handles a step of the lease's machine, after the lease has done its own part.
    void on_lease(lease_driver& lease, const core::lease_step& step, core::time_point now);
    /// Reports an instance's estimate of how long the denial of an attempt will last.
    void on_remaining(std::size_t index, const core::vote& vote);
    /// Returns the operation that wants a lease like this one and may receive it. If an operation waits at
    /// the key for room next to the lease, returns that one. Otherwise returns the first waiter, or null.
    [[nodiscard]] acquire_operation* next_for(const lease_driver& lease) noexcept;
    /// Reports a record that a quorum has. The waiters of that kind have found it.
    void on_record(const kinds::lock_kind& kind, const std::shared_ptr<const std::string>& record);
    /// Reports that a lease at the key has ended without a release.
    void on_disconnected(lease_driver& lease, core::time_point now);

    // From the ticket:

    void on_advice(core::queue_ticket::advice advice, core::time_point now);
    /// Reports an instance's answer to the ticket about how long the lock is held there.
    void note_remaining(std::size_t index, const core::vote& vote);

    // From the places:

    void on_place_advice(core::queue_advice advice);
    /// Returns whether the waiter with that place is attempting now.
    [[nodiscard]] bool has_attempt_under_way(std::uint64_t place) const noexcept;

    // From the engine and from `key_queues`:

    /// Reports that a key of the lock may have changed on instance number `index`.
    void on_key_changed(std::size_t index);

    /// Returns the lease at the key that this owner holds, or null.
    [[nodiscard]] lease_driver* held_for(const ownership& who) const noexcept;

    /// Moves the first waiter from the local queue to the key, if it may be there. Returns it, or null.
    [[nodiscard]] std::shared_ptr<acquire_operation> next();

private:
    [[nodiscard]] acquire_operation& front() noexcept;
    [[nodiscard]] acquire_operation& attempting_for(const lease_driver& lease) noexcept;
    [[nodiscard]] lease_driver* to_be_shared(const acquire_operation& newcomer,
                                             core::time_point now);
    void enter_again(acquire_operation& newcomer, lease_driver& lease);
    void push(acquire_operation& last);
    void admit_owner(lease_driver& lease);
    void remove(acquire_operation& waiter) noexcept;
    void leave(const acquire_operation& one, core::acquire_outcome outcome);
    void begin_hold(lease_driver& lease, core::time_point now);
    void become_shared(lease_driver& lease, core::time_point now);
    void end_hold(lease_driver& lease, bool is_released, core::time_point now);
    void let_go(lease_driver& lease, core::time_point now);
    void hand_off(lease_driver& lease, core::time_point now);
    void note_write(const lease_driver& lease, bool is_release);
    void fail_others(core::acquire_outcome outcome, const std::string& details);
    [[nodiscard]] places& places_for(const acquire_operation& waiter);
    [[nodiscard]] bool is_next_in_order(const acquire_operation& waiter) const noexcept;
    void leave_place(const acquire_operation& one) noexcept;
    void forget_places_if_empty() noexcept;
    void listen_to_more_keys(const acquire_operation& one);
    void forget_more_keys(const acquire_operation& one) noexcept;

    client_context& client_;
    std::shared_ptr<const lock_spec> lock_;
    local_queue local_;
    std::vector<acquire_operation*> adopting_;  // Operations that adopt leases of other processes.
    ticket* ticket_ = nullptr;
    places* places_ = nullptr;  // The waiters' places, if the lock's order binds and there are any.
    announcement announced_;
    // A round that was sent at this time or later has confirmed the lease.
    core::time_point confirmed_{};
    core::time_point next_attempt_ = core::time_point::min();
    core::time_point no_quorum_since_ = core::never;
};

/// The queues of a client, one for each key in use.
class key_queues {
public:
    explicit key_queues(client_context& client) noexcept : client_(client) {}

    /// Returns null if the key is not in use.
    [[nodiscard]] key_queue* find(std::string_view key) const noexcept {
        return find(hashed_key{key, hash_of_key(key)});
    }

    /// Starts an operation at its key.
    void start(acquire_operation& newcomer);

    /// Adds a holder to the lease of that lock that this owner holds, and returns the lease. Returns null if
    /// there is none that it may enter. The number of the holder is then `lease_driver::holder()`.
    [[nodiscard]] std::shared_ptr<lease_driver> reenter(const lock_spec& lock,
                                                        const ownership& who);

    /// Handles a change of the key's leases or operations. The next waiter begins at the end of the turn, if
    /// it may. An unused queue is removed.
    void advance(key_queue& queue);

    /// Begins the waiters that may.
    void begin_next();

    /// Drops everything, because the execution context is being destroyed.
    void abandon() noexcept {
        const auto next = std::exchange(next_, {});
        queues_.clear();
    }

private:
    /// Refers to the lock that the queue owns.
    struct hashed_key {
        std::string_view key;
        std::size_t hash;

        friend bool operator==(const hashed_key& a, const hashed_key& b) noexcept {
            return a.hash == b.hash && a.key == b.key;
        }
    };
    struct hasher {
        std::size_t operator()(const hashed_key& a) const noexcept { return a.hash; }
    };
    static hashed_key key_of(const lock_spec& lock) noexcept { return {lock.key, lock.key_hash}; }

    [[nodiscard]] key_queue* find(const hashed_key& key) const noexcept;

    client_context& client_;
    boost::unordered_flat_map<hashed_key, recycled<key_queue>, hasher> queues_;
    std::vector<std::shared_ptr<acquire_operation>> next_;  // At their keys, and about to begin.
};

}  // namespace colock::runtime

#endif
