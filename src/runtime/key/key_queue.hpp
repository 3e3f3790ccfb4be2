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

/// What one client does at one key. It is the mediator of the operations and leases there, of the client's ticket in the remote
/// queue, and of what the client has announced. These tell it what has happened to them, as the last thing that they do. It tells
/// the others what follows. They do not know each other.
class key_queue {
public:
    /// The client has a queue for each key that somebody is at. `lock` is one that has this key.
    key_queue(client_context& client, std::shared_ptr<const lock_spec> lock) noexcept
        : client_(client), lock_(std::move(lock)) {}

    /// A lock that has this key.
    [[nodiscard]] const lock_spec& lock() const noexcept { return *lock_; }

    /// Who is at the key, and who waits.
    [[nodiscard]] const local_queue& local() const noexcept { return local_; }
    /// The operation that is at the key, if there is one.
    [[nodiscard]] acquire_operation* attempting() const noexcept;

    /// The lock that this operation wants; null without one.
    [[nodiscard]] const lock_spec* wanted() const noexcept;
    /// Whether this operation asks who has the key.
    [[nodiscard]] bool wants_explanation() const noexcept;

    /// The client's ticket in the remote queue; null if it has not joined.
    [[nodiscard]] const ticket* remote() const noexcept { return ticket_; }

    /// Before it there is no sense in an attempt.
    [[nodiscard]] core::time_point next_attempt() const noexcept { return next_attempt_; }
    /// Since when attempts have found no quorum; `core::never` if the last one did.
    [[nodiscard]] core::time_point no_quorum_since() const noexcept { return no_quorum_since_; }

    /// Whether nobody is at the key, nor waits.
    [[nodiscard]] bool unused() const noexcept { return local_.unused() && adopting_.empty(); }

    // From operations:

    /// It waits, has a share in a lease that is there, or begins.
    void start(acquire_operation& newcomer);
    /// It begins at once, beside all others.
    void adopt(acquire_operation& newcomer);
    /// It has been the first waiter, and begins.
    void begin(acquire_operation& next);
    /// Takes a ticket for an operation that is at the key, if there is none. Returns false if that cannot be.
    bool join_remote_queue(const acquire_operation& waiting);
    void leave_remote_queue();
    /// Whether others wait behind it that want other names than this lock.
    [[nodiscard]] bool has_waiters_for_other_names(const lock_spec& lock) noexcept;
    /// It waits at the key for another of its names. Those behind it come first.
    void let_others_pass(acquire_operation& one);
    /// Whether other clients are known to wait for the key, so that it is fair to join them before the first attempt.
    [[nodiscard]] bool expects_other_clients();
    /// Whether holders in other clients are to be expected, so that there is no sense in an attempt that only looks for none.
    [[nodiscard]] bool expects_holders();
    /// The attempt that only looked was denied.
    void note_holders();
    /// If the order of its lock binds: it waits in the local queue, and enters the queue of the instance.
    void take_place(const acquire_operation& waiter);
    /// Likewise, it attempts.
    void on_attempt_in_order();
    /// Likewise, its attempt was denied, and it waits on.
    void on_denied_place(const acquire_operation& waiting);
    /// The attempt of an operation that waits on in the remote queue was denied. If `had_ticket`, it was before that attempt.
    void on_denied(const core::round& votes, bool had_ticket);
    /// An attempt that announces its waiter is being sent.
    void announce(core::time_point now) noexcept;
    /// Takes back what was announced at those instances, if it still stands.
    void withdraw(const std::shared_ptr<const lock_spec>& of, core::instance_set where,
                  core::time_point now);
    /// It has ended.
    void on_finished(acquire_operation& one, core::acquire_outcome outcome);

    // From leases:

    /// The lease's machine has decided this, and the lease has done what is its own.
    void on_lease(lease_driver& lease, const core::lease_step& step, core::time_point now);
    /// An instance has told a lease whose attempt was denied how long that will last.
    void on_remaining(std::size_t index, const core::vote& vote);
    /// The operation that wants a lease like this one, and may be handed it. It is the first waiter. If an operation waits at the key
    /// for room beside the lease, it is that one. Null if there is none.
    [[nodiscard]] acquire_operation* next_for(const lease_driver& lease) noexcept;
    /// A quorum has this record. The waiters of that kind have found it.
    void on_record(const kinds::lock_kind& kind, const std::shared_ptr<const std::string>& record);
    /// A lease that is at the key has ended without a release.
    void on_disconnected(lease_driver& lease, core::time_point now);

    // From the ticket:

    void on_advice(core::queue_ticket::advice advice, core::time_point now);
    /// An instance has told the ticket how long the lock is held there.
    void note_remaining(std::size_t index, const core::vote& vote);

    // From the places:

    void on_place_advice(core::queue_advice advice);
    /// Whether the waiter with that place attempts at this moment.
    [[nodiscard]] bool has_attempt_under_way(std::uint64_t place) const noexcept;

    // From the engine, and from `key_queues`:

    /// Something has happened to a key of the lock at instance number `index`.
    void on_key_changed(std::size_t index);

    /// The lease at the key that this owner holds; null if it holds none.
    [[nodiscard]] lease_driver* held_for(const ownership& who) const noexcept;

    /// Takes the first waiter out of the local queue and to the key, if it may be there. Returns it, or null.
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
    std::vector<acquire_operation*> adopting_;  // go on with leases of other processes
    ticket* ticket_ = nullptr;
    places* places_ = nullptr;  // of those that wait for a lock whose order binds, if there are any
    announcement announced_;
    core::time_point confirmed_{};  // a round that was sent then or later has confirmed the lease
    core::time_point next_attempt_ = core::time_point::min();
    core::time_point no_quorum_since_ = core::never;
};

/// The queues of a client, by key: one for each key that somebody is at.
class key_queues {
public:
    explicit key_queues(client_context& client) noexcept : client_(client) {}

    /// Null if nobody is at the key.
    [[nodiscard]] key_queue* find(std::string_view key) const noexcept {
        return find(hashed_key{key, hash_of_key(key)});
    }

    /// An operation has come to its key.
    void start(acquire_operation& newcomer);

    /// Adds a holder to the lease of that lock that this owner holds, and returns it. Returns null if there is none that it may
    /// enter. The number of the holder is `lease_driver::holder()` then.
    [[nodiscard]] std::shared_ptr<lease_driver> reenter(const lock_spec& lock,
                                                        const ownership& who);

    /// A lease or an operation has come to the key, or has left it. The next waiter begins at the end of the turn, if it may.
    /// An unused queue is gone after that.
    void advance(key_queue& queue);

    /// Begins with those that may.
    void begin_next();

    /// There is no world any more.
    void abandon() noexcept {
        const auto next = std::exchange(next_, {});
        queues_.clear();
    }

private:
    /// Of the lock that its queue has.
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
    std::vector<std::shared_ptr<acquire_operation>> next_;  // at their keys, and about to begin
};

}  // namespace colock::runtime

#endif
