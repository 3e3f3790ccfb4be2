// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_LOCAL_QUEUE_HPP
#define COLOCK_RUNTIME_KEY_LOCAL_QUEUE_HPP

#include "core/time.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/turn_clock.hpp"
#include "runtime/members.hpp"
#include "runtime/recycling_allocator.hpp"
#include "runtime/statistics.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::runtime {

/// The operations and leases of one client on one key. At the key are the leases that hold it, of which there are several
/// only if all of them are shared, and one operation at most, which attempts. The others wait in the order in which they
/// came, and cost the instances nothing. So a waiting writer stops the readers behind it.
class local_queue {
public:
    /// With the first operation at the key.
    explicit local_queue(waiter& first) noexcept;

    /// Of a lease or an operation that is at the key.
    [[nodiscard]] const lock_spec& spec() const noexcept { return *spec_; }

    /// The operation that is at it, if there is one.
    [[nodiscard]] waiter* attempting() const noexcept { return attempting_; }

    [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }

    /// Whether nobody is at it, nor waits.
    [[nodiscard]] bool unused() const noexcept {
        return attempting_ == nullptr && leases_.empty() && waiters_.empty();
    }

    /// Whether a newcomer may be at the key at once.
    [[nodiscard]] bool admits(const lock_spec& newcomer) const noexcept {
        return waiters_.empty() && may_begin(newcomer);
    }
    /// Whether the first waiter may.
    [[nodiscard]] bool admits_next() const noexcept;

    /// The lease at the key in which that operation may have a share; null if there is none. With fencing its fence was counted
    /// after the operation came. An older one may be smaller than that of another client's writer, if the lease has lost its keys.
    [[nodiscard]] client_lease* to_be_shared(const waiter& newcomer, core::time_point now);

    /// Whether this client holds the key.
    [[nodiscard]] bool is_held() const noexcept { return !leases_.empty(); }
    /// As what it does, or did last.
    [[nodiscard]] kinds::admission held_as() const noexcept { return held_as_; }

    /// Whether a lease of this client keeps an operation with that lock from the key.
    [[nodiscard]] bool is_held_against(const lock_spec& wanted) const noexcept {
        return is_held() && !held_as_.admits(wanted.admission());
    }
    /// Whether an operation of this client comes before that waiter and cannot hold the key together with it.
    [[nodiscard]] bool has_rival_before(const waiter& one) const noexcept;

    [[nodiscard]] waiter& front() noexcept { return waiters_.front(); }
    void push(waiter& last) noexcept { waiters_.push_back(last); }
    void remove(waiter& one) noexcept { waiters_.erase(waiters_.iterator_to(one)); }

    /// It is at the key, and attempts.
    void enter(waiter& newcomer) noexcept;

    /// The first waiter is.
    waiter& next() noexcept;

    /// The operation that attempted is at it no more.
    void leave() noexcept;

    /// The client's part in the remote queue, for all of them; null if it has not joined.
    [[nodiscard]] remote_ticket* remote() const noexcept { return remote_; }
    void set_remote(remote_ticket* remote) noexcept { remote_ = remote; }
    /// Whether anybody here needs that part: an operation that attempts, or an exclusive lease, until its release. A
    /// waiter behind other leases of this client does not: it is told when they have let go.
    [[nodiscard]] bool needs_remote() const noexcept {
        return attempting_ != nullptr || (is_held() && !held_as_.leaves_room());
    }
    void leave_remote_queue();

    /// What the client has told the instances of its waiters here.
    [[nodiscard]] announcement& announced() noexcept { return announced_; }

    /// Something has happened to the key at instance number `index`.
    void on_key_changed(std::size_t index);

    // What is known of the key.

    /// The client has it, by the operation that attempted: by a round that was sent at `sent`.
    void begin_hold(client_lease& lease, core::time_point sent, core::time_point now);

    /// The one lease there is a reader's now, by a round that was sent after `asked`.
    void become_shared(client_lease& lease, core::time_point asked, core::time_point now);

    /// A lease has let go of it.
    void end_hold(client_lease& lease, core::time_point now);

    /// An operation gave up, which would have tried next at `next_attempt`, and has found no quorum
    /// since `no_quorum_since`.
    void give_up(core::time_point next_attempt, core::time_point no_quorum_since) noexcept {
        next_attempt_ = next_attempt;
        no_quorum_since_ = no_quorum_since;
    }

    /// Before it there is no sense in an attempt.
    [[nodiscard]] core::time_point next_attempt() const noexcept { return next_attempt_; }
    [[nodiscard]] core::time_point no_quorum_since() const noexcept { return no_quorum_since_; }

private:
    [[nodiscard]] bool may_begin(const lock_spec& wanted) const noexcept;

    const lock_spec* spec_;
    template <typename T>
    using list = boost::intrusive::list<T, boost::intrusive::base_hook<at_key>,
                                        boost::intrusive::constant_time_size<false>>;

    waiter* attempting_;
    list<client_lease> leases_;                                 // the newest last
    kinds::admission held_as_ = kinds::admission::exclusive();  // these are
    list<waiter> waiters_;
    remote_ticket* remote_ = nullptr;
    announcement announced_;
    client_lease* latest_ = nullptr;  // the latest lease, while it is there
    core::time_point confirmed_{};  // a round that was sent then or later has confirmed that lease
    core::time_point next_attempt_ = core::time_point::min();
    core::time_point no_quorum_since_ = core::never;
};

/// The queues of a client, by key: one for each key that somebody is at.
class local_queues {
public:
    local_queues(turn_clock& when, statistics& counts) : turns_(when), counts_(counts) {}

    /// Null if nobody is at the key.
    [[nodiscard]] local_queue* find(const lock_spec& spec) const noexcept {
        return find(hashed_key{spec.key, spec.key_hash});
    }
    [[nodiscard]] local_queue* find(std::string_view key) const noexcept {
        return find(hashed_key{key, hash_of_key(key)});
    }

    /// For the first to be at its key.
    local_queue& open(waiter& first);

    /// A lease or an operation has come to the key, or has left it: the next waiter begins at the end of the turn, if it
    /// may. An unused queue is gone after that.
    void advance(local_queue& queue);

    /// Begins with those that may.
    void begin_next();

    /// Destroys those that have not begun.
    void drop_next() noexcept { const auto next = std::exchange(next_, {}); }

private:
    using queue_pointer = recycled<local_queue>;

    struct hashed_key {
        std::string_view key;
        std::size_t hash;

        friend bool operator==(const hashed_key& a, const hashed_key& b) noexcept {
            return a.hash == b.hash && a.key == b.key;
        }
    };

    /// To find a queue without comparing keys.
    struct identity {
        const local_queue* queue;
        std::size_t hash;
    };

    static hashed_key key_of(const hashed_key& key) noexcept { return key; }
    static hashed_key key_of(const queue_pointer& queue) noexcept {
        return {queue->spec().key, queue->spec().key_hash};
    }

    struct same_key {
        using is_transparent = void;
        bool operator()(const auto& a, const auto& b) const noexcept {
            return key_of(a) == key_of(b);
        }
        bool operator()(const identity& a, const queue_pointer& b) const noexcept {
            return a.queue == b.get();
        }
        bool operator()(const queue_pointer& a, const identity& b) const noexcept {
            return a.get() == b.queue;
        }
    };
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(const auto& a) const noexcept { return key_of(a).hash; }
        std::size_t operator()(const identity& a) const noexcept { return a.hash; }
    };

    [[nodiscard]] local_queue* find(const hashed_key& key) const noexcept;

    turn_clock& turns_;
    statistics& counts_;
    boost::unordered_flat_set<queue_pointer, hasher, same_key> queues_;
    std::vector<std::shared_ptr<waiter>> next_;  // at their keys, and about to begin
};

}  // namespace colock::runtime

#endif
