#ifndef COLOCK_RUNTIME_LOCK_QUEUE_HPP
#define COLOCK_RUNTIME_LOCK_QUEUE_HPP

#include "core/tenure.hpp"
#include "core/time.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/recycling_allocator.hpp"

#include <boost/intrusive/list.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace colock::runtime {

class acquire_operation;
class lock_queue;
class place_in_line;

/// What an operation needs to stand in a queue.
class queued : public boost::intrusive::list_base_hook<boost::intrusive::tag<lock_queue>> {
public:
    [[nodiscard]] bool in_line() const noexcept { return is_linked(); }
};

/// Those of one client who want the same key: one is at it, by an attempt or as the holder of the
/// lease; the others stand in line, in the order in which they came, and cost the instances nothing.
class lock_queue {
public:
    /// With the first who is at it.
    explicit lock_queue(acquire_operation& first) noexcept;

    /// Of who is at it.
    [[nodiscard]] const lock_spec& spec() const noexcept { return *spec_; }

    /// The operation that is at it; null if it is held.
    [[nodiscard]] acquire_operation* attempting() const noexcept { return attempting_; }

    [[nodiscard]] bool empty() const noexcept { return line_.empty(); }

    [[nodiscard]] acquire_operation& front() noexcept;
    void push(acquire_operation& last);
    void remove(acquire_operation& one) noexcept;

    /// The first in line is at it now.
    acquire_operation& next() noexcept;

    /// The place of all of them in the line of the clients that wait for the key; null if they have none.
    [[nodiscard]] place_in_line* place() const noexcept { return place_; }
    void set_place(place_in_line* place) noexcept { place_ = place; }
    void leave_place();

    // What is known of the key.

    /// The process has it: by a round that was sent at `sent`.
    void begin_tenure(core::time_point sent, core::time_point now);
    [[nodiscard]] const core::tenure& tenure() const noexcept { return tenure_; }

    /// It has let go of it.
    void end_tenure(core::time_point now);

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
    const lock_spec* spec_;
    acquire_operation* attempting_;
    boost::intrusive::list<queued, boost::intrusive::base_hook<queued>> line_;
    place_in_line* place_ = nullptr;
    core::tenure tenure_;
    core::time_point next_attempt_ = core::time_point::min();
    core::time_point no_quorum_since_ = core::never;
};

/// The queues of a client, by key: one for each key that somebody is at.
class lock_queues {
public:
    /// Null if nobody is at the key.
    [[nodiscard]] lock_queue* find(const lock_spec& spec) const noexcept {
        return find(hashed_key{spec.key, spec.key_hash});
    }
    [[nodiscard]] lock_queue* find(std::string_view key) const noexcept {
        return find(hashed_key{key, hash_of_key(key)});
    }

    /// For the first to be at its key.
    lock_queue& open(acquire_operation& first);

    /// Nobody is at the key any more.
    void close(lock_queue& queue) noexcept;

private:
    using queue_pointer = recycled<lock_queue>;

    struct hashed_key {
        std::string_view key;
        std::size_t hash;

        friend bool operator==(const hashed_key& a, const hashed_key& b) noexcept {
            return a.hash == b.hash && a.key == b.key;
        }
    };

    /// To find a queue without comparing keys.
    struct identity {
        const lock_queue* queue;
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

    [[nodiscard]] lock_queue* find(const hashed_key& key) const noexcept;

    boost::unordered_flat_set<queue_pointer, hasher, same_key> queues_;
};

}  // namespace colock::runtime

#endif
