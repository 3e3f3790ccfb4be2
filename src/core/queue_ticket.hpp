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
    /// The interval between `join`s, which keep the ticket alive, while the client is new at its place. It is
    /// also the timeout of a reply. The first client waits as long for a notification that the lock is free,
    /// before it attempts without one.
    duration refresh = milliseconds(250);

    /// The maximum interval between `join`s. A client that has been at its place for long joins as rarely as
    /// this, so idle waiters cost the keeper little.
    duration longest_refresh = milliseconds(4000);

    /// Returns the `acquire_settings::longest_reliance` of the first client in the queue. A denied attempt
    /// renews the ticket as well. The attempt therefore comes a little before the next `join`, and replaces
    /// it.
    [[nodiscard]] duration longest_reliance() const noexcept { return longest_refresh * 7 / 8; }

    /// The first client polls after this many changes of the lock, each within `quick_succession` of the
    /// previous one, if it still does not have the lock. It polls until the lock has not changed for as long.
    /// Renewals are further apart, unless the ttl is short.
    unsigned changes_in_vain = 3;
    duration quick_succession = milliseconds(250);

    /// Whether the first client attempts immediately, although the lock is held. A writer's attempts announce
    /// to the servers that it waits. A reader joins other readers if only they hold the lock.
    bool attempts_while_held = false;

    /// Returns the interval between `join`s of a client that has been at its place for `waited`. It is not
    /// longer than `waited`, unless it is `refresh`. A fault that no server reports, such as the death of the
    /// client ahead, therefore at most doubles a wait.
    [[nodiscard]] duration interval(duration waited) const noexcept {
        duration result = refresh;
        // mutant: waiter_asks_often
        while (step * result <= std::min(waited, longest_refresh)) {
            result *= step;
        }
        return result;
    }

    /// Returns how long a ticket lives whose client joins at this interval. The ticket outlives late joins. A
    /// join rewrites it only in the second half of this time, because the keeper notifies the client behind
    /// of each write.
    [[nodiscard]] static duration ttl(duration interval) noexcept { return step * interval; }

    /// Estimates the ttl that another client's ticket had when it was written, from the time that is left of
    /// it. The result is the smallest ttl that is not less. Each ttl is `step` times the previous one, so the
    /// estimate is right while more than a quarter is left.
    ///
    /// A client that begins to join less often rewrites its ticket earlier than estimated. Then the client
    /// behind it attempts in vain.
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

/// A client's ticket in the remote queue. The queue is a list of the clients that wait for a lock. One
/// instance keeps it, the queue keeper. A ticket is a key that its client keeps alive while it waits.
///
/// The reply to `join` contains the ticket ahead. The client asks the keeper to report when that ticket
/// changes. The first client asks the same for the lock. A release therefore wakes one client, and not all of
/// them. This resembles a queue lock, where each waiter spins on what the waiter ahead will write. See J. M.
/// Mellor-Crummey, M. L. Scott, "Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors",
/// 1991.
///
/// A client that gets the lock keeps its ticket until the release, unless it holds the lock for long. When a
/// ticket is gone, the next client therefore attempts immediately: mostly the cause was a release.
///
/// A program that bypasses the queue and acquires the lock again right after its release is always faster
/// than a waiter that depends on a notification. If the lock has changed a few times in quick succession and
/// the first client still does not have it, that client polls. It stops when it has the lock or the changes
/// end. Only the first client polls, and it still gets a report of each release.
///
/// The queue only gives hints on when an attempt makes sense. Mutual exclusion does not depend on it. If the
/// keeper loses data, errs or is silent, attempts only come too early or a little late.
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event.
class queue_ticket {
public:
    using advice = queue_advice;

    struct event {
        enum class kind_type : std::uint8_t {
            join,            ///< Join the queue, from `from` on.
            joined,          ///< The keeper voted on `join`.
            lock,            ///< The keeper voted on `ask_lock`.
            before,          ///< The keeper voted on `ask_before`.
            lock_changed,    ///< The keeper reports that the lock has changed.
            before_changed,  ///< The keeper reports that the ticket ahead has changed.
            all_changed,     ///< Any key may have changed.
            denied,          ///< An attempt was denied.
            held,            ///< An attempt was granted.
            timer,           ///< The time to wait for has come.
        };
        kind_type kind = kind_type::timer;
        time_point from = time_point::min();
        /// For `denied`: whether the keeper denied the attempt as well, and the attempt wrote nothing there.
        /// Otherwise it may have written the lock there, at least an announcement. The keeper does not report
        /// the client's own write, nor later changes.
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
        bool join = false;  ///< Send `join`.
        /// Send `remaining` for the lock. It also asks for reports of changes.
        bool ask_lock = false;
        /// Send `remaining` for the ticket of `before()`. It also asks for reports of changes.
        bool ask_before = false;
        queue_ticket::advice advice = advice::none;
        /// Resume with a timer event at this time, unless another event comes before.
        time_point until = never;
    };

    explicit queue_ticket(const queue_ticket_settings& settings) noexcept : settings_(settings) {}

    step resume(const event& e, time_point now);

    /// Returns when a client that leaves now may join again: after 1/16 of the time that it held the lock, at
    /// most 10 ms. The client then does not get in the way of the next client's attempt.
    [[nodiscard]] time_point rejoin_from(time_point now) const noexcept;

    /// Returns how long the ticket of the last `join` shall live.
    [[nodiscard]] duration ttl() const noexcept { return queue_ticket_settings::ttl(interval_); }

    /// Returns when the ticket ends on the keeper if its client does not join again.
    [[nodiscard]] time_point ticket_end() const noexcept { return joined_ + ttl(); }

    /// Returns whether no client was ahead at the last join.
    [[nodiscard]] bool is_first() const noexcept { return first_since_ != never; }

    /// Returns the ticket ahead at the last join, or 0 if there was none.
    [[nodiscard]] std::uint64_t before() const noexcept { return before_; }

private:
    enum class status : std::uint8_t {
        outside,              // It joins at `join_at_`.
        asking,               // It has asked the keeper whether its turn has come.
        asking_after_denial,  // As `asking`, after a denial in its turn.
        // As `asking`. It also asks whether the lock is free, because the clients ahead may have died.
        looking,
        waiting,     // For a report of the keeper.
        guessing,    // It attempts, because the ticket ahead is gone, and keeps its ticket alive.
        attempting,  // It attempts, in its turn or on its own, and keeps its ticket alive.
        holding,     // It holds the lock. The ticket lives for a while.
    };

    /// The knowledge of a key at the keeper.
    enum class sight : std::uint8_t {
        unknown,
        watched,  // The keeper will report the next change.
        gone,     // According to the latest reply.
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
    unsigned unanswered_ = 0;   // Requests that are in flight.
    bool is_outdated_ = false;  // Something has changed since the requests were sent.
    sight lock_ = sight::unknown;
    sight before_ticket_ = sight::unknown;
    unsigned changes_ = 0;  // Of the lock in quick succession, while the client was the first.
    std::uint64_t before_ = 0;
    // The ticket ahead is not renewed before then, so an earlier change is its end.
    time_point before_renews_{};
    time_point join_at_ = never;
    time_point joined_{};
    duration interval_{};       // Until it joins again.
    time_point place_since_{};  // Since then it waits at its place.
    time_point asked_{};
    time_point held_since_ = never;
    time_point changed_at_{};  // The last of `changes_`.
    time_point first_since_ = never;
    time_point lock_end_ = never;
};

}  // namespace colock::core

#endif
