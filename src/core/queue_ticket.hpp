// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_QUEUE_TICKET_HPP
#define COLOCK_CORE_QUEUE_TICKET_HPP

#include "core/queue_advice.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <cstdint>

namespace colock::core {

struct queue_ticket_settings {
    /// From one `join` to the next, which keeps the ticket alive, while the client is new at its place. An answer may
    /// take as long. The first waits for as long to be told that the lock is free, before it tries without that.
    duration refresh = milliseconds(250);

    /// The longest time between two `join`s. A client that stays at its place for long joins so rarely: idle waiters cost
    /// the keeper little.
    duration longest_refresh = milliseconds(4000);

    /// The `acquire_settings::longest_reliance` of the first client in the queue. A denied attempt renews the ticket, too. So
    /// the attempt comes a little before the next `join`, and replaces it.
    [[nodiscard]] duration longest_reliance() const noexcept { return longest_refresh * 7 / 8; }

    /// After so many changes of the lock, each this soon after the one before, the first polls if it still
    /// does not have it, until the lock has not changed for as long. (Renewals are further apart, unless
    /// the ttl is short.)
    unsigned changes_in_vain = 3;
    duration quick_succession = milliseconds(250);

    /// Whether the first attempts at once, though the lock is held: a writer's attempts tell the servers that it waits, and a reader
    /// joins others if only they hold the lock.
    bool attempts_while_held = false;

    /// The time from one `join` to the next of a client that has been at its place for `waited`. It is not longer than
    /// `waited`, unless it is `refresh`. So a fault that no server reports, such as the death of the client before it, at
    /// most doubles a wait.
    [[nodiscard]] duration interval(duration waited) const noexcept {
        duration result = refresh;
        while (step * result <= std::min(waited, longest_refresh)) {
            result *= step;
        }
        return result;
    }

    /// How long a ticket lives whose client joins at this interval. It outlives joins that are late. A join rewrites the
    /// ticket only in the second half of this time: the keeper notifies the client behind it of each write.
    [[nodiscard]] static duration ttl(duration interval) noexcept { return step * interval; }

    /// The ttl that another client's ticket had when it was written, guessed from what is left of it: the smallest that
    /// is not less. Each ttl is `step` times the one before. So the guess is right while more than a quarter is left.
    /// (A client that begins to join less often rewrites its ticket earlier than the guess says. Then the client behind it
    /// attempts in vain.)
    [[nodiscard]] duration ttl_of(duration remaining) const noexcept {
        duration result = ttl(refresh);
        while (result < remaining && result < ttl(longest_refresh)) {
            result *= step;
        }
        return result;
    }

private:
    static constexpr int step = 4;
};

/// A client's ticket in the remote queue: the clients that wait for a lock, in a list that one instance keeps (the
/// queue keeper). A ticket is a key that lives as long as its client waits, and lives. A client that joins is told which
/// ticket is before its own, and asks the keeper to be told when that one changes; the first asks so of the lock. So a
/// release wakes one client, and not all of them. (As in a queue lock, where each waiter spins on what the one before it
/// will write: J. M. Mellor-Crummey, M. L. Scott, "Algorithms for Scalable Synchronization on Shared-Memory
/// Multiprocessors", 1991.)
///
/// A client that gets the lock keeps its ticket until the release, unless it holds the lock for long. So when a ticket is
/// gone, the next client attempts at once: mostly it was a release.
///
/// A program that does not join the queue, and takes the lock again right after its release, is always
/// faster than a waiter that has to be told first. So when the lock has changed a few times in quick
/// succession, and the first still does not have it, the first polls, until it has the lock or the changes
/// end. Only the first does so, and it is still told of each release.
///
/// All of it is a hint, of when an attempt makes sense. Mutual exclusion does not depend on it; and if the
/// keeper forgets, errs or is silent, attempts only come too early or a little late.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next.
class queue_ticket {
public:
    using advice = queue_advice;

    struct event {
        enum class kind_type : std::uint8_t {
            join,            ///< queue up, from `from` on
            joined,          ///< the keeper voted on `join`
            lock,            ///< on `ask_lock`
            before,          ///< on `ask_before`
            lock_changed,    ///< the keeper tells that something has happened to the lock
            before_changed,  ///< to the ticket of the one before it
            all_changed,     ///< it may have happened to any key
            denied,          ///< an attempt was denied
            held,            ///< an attempt was granted
            timer,           ///< the time to wait for has come
        };
        kind_type kind = kind_type::timer;
        time_point from = time_point::min();
        /// Of `denied`: whether the keeper denied it too, and it wrote nothing there. Otherwise the attempt may have written
        /// the lock there, if only an announcement, and the keeper tells nobody of its own writing, nor of what comes after.
        bool by_keeper = true;
        const core::vote* vote = nullptr;

        static event join(time_point from) { return {kind_type::join, from, true, nullptr}; }
        static event denied(bool by_keeper) {
            return {kind_type::denied, time_point::min(), by_keeper, nullptr};
        }
        /// The event refers to the vote.
        static event voted(kind_type kind, const core::vote& v) {
            return {kind, time_point::min(), true, &v};
        }
        static event just(kind_type kind) { return {kind, time_point::min(), true, nullptr}; }
    };

    struct step {
        bool join = false;        ///< send `join`
        bool ask_lock = false;    ///< send `remaining` of the lock, to be told of its changes, too
        bool ask_before = false;  ///< send `remaining` of the ticket of `before()`, likewise
        queue_ticket::advice advice = advice::none;
        time_point until = never;  ///< to be woken then, if nothing comes before
    };

    explicit queue_ticket(const queue_ticket_settings& settings) noexcept : settings_(settings) {}

    step resume(const event& e, time_point now);

    /// When a client that leaves now may join again: after a sixteenth of the time for which it held the lock, so that it
    /// is not in the way of the next one's attempt.
    [[nodiscard]] time_point rejoin_from(time_point now) const noexcept;

    /// How long the ticket is to live that the last `join` writes.
    [[nodiscard]] duration ttl() const noexcept { return queue_ticket_settings::ttl(interval_); }

    /// When the ticket ends on the keeper if its client does not join again.
    [[nodiscard]] time_point ticket_end() const noexcept { return joined_ + ttl(); }

    /// Whether nobody was before it when it joined last.
    [[nodiscard]] bool is_first() const noexcept { return first_since_ != never; }

    /// The number of the one before it when it joined last; 0 if there was none.
    [[nodiscard]] std::uint64_t before() const noexcept { return before_; }

private:
    enum class status : std::uint8_t {
        outside,              // it joins at `join_at_`
        asking,               // the keeper, whether it is its turn
        asking_after_denial,  // the same, having been denied in its turn
        looking,  // the same, also whether the lock is free, though others are before it: they may have died
        waiting,     // to be told by the keeper
        guessing,    // attempting, since the ticket before it is gone; the ticket is kept alive
        attempting,  // in its turn, or on its own; the ticket is kept alive
        holding,     // the lock; the ticket lives for a while
    };

    /// What is known of a key at the keeper.
    enum class sight : std::uint8_t {
        unknown,
        watched,  // the keeper will tell of the next change
        gone,     // as the latest answer says
    };

    step ask_position(bool and_the_lock, time_point now);
    step ask(step what, time_point now);
    step on_answer(const event& e, time_point now);
    step on_lock_changed(time_point now);
    step on_before_changed(time_point now);
    step on_denied(bool by_keeper, time_point now);
    step on_time(time_point now);
    step find_turn(time_point now);
    step look_again(time_point now);
    step give_turn(advice what);
    step wait(advice what) const;
    void note_position(const vote& v, time_point now);
    void count_change(time_point now);
    static void forget(sight outdated, sight& of) noexcept;
    [[nodiscard]] bool is_asking() const noexcept {
        return status_ == status::asking || status_ == status::asking_after_denial ||
               status_ == status::looking;
    }
    [[nodiscard]] bool is_attempting() const noexcept {
        return status_ == status::guessing || status_ == status::attempting;
    }
    [[nodiscard]] bool must_poll(time_point now) const noexcept;
    [[nodiscard]] time_point next_look() const noexcept;

    queue_ticket_settings settings_;
    status status_ = status::outside;
    unsigned unanswered_ = 0;   // of what it asked
    bool is_outdated_ = false;  // what it asked: something has changed since
    sight lock_ = sight::unknown;
    sight before_ticket_ = sight::unknown;
    unsigned changes_ = 0;  // of the lock in quick succession, while it was the first
    std::uint64_t before_ = 0;
    time_point before_renews_{};  // not its ticket before then: what changes that is the end of it
    time_point join_at_ = never;
    time_point joined_{};
    duration interval_{};       // until it joins again
    time_point place_since_{};  // at which it waits
    time_point asked_{};
    time_point held_since_ = never;
    time_point changed_at_{};  // the last of `changes_`
    time_point first_since_ = never;
    time_point lock_end_ = never;
};

}  // namespace colock::core

#endif
