// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_QUEUE_PLACE_HPP
#define COLOCK_CORE_QUEUE_PLACE_HPP

#include "core/queue_advice.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace colock::core {

struct queue_place_settings {
    /// From one `stay` to the next.
    duration refresh = milliseconds(250);

    /// From the longest pause of a waiter that polls.
    [[nodiscard]] static duration refresh_for(duration longest_pause) noexcept {
        return std::clamp<duration>(longest_pause, milliseconds(50), std::chrono::seconds(1));
    }

    /// How long a client's ticket lives. It outlives a few refreshes that are late.
    [[nodiscard]] duration ttl() const noexcept { return 4 * refresh; }
};

/// When a client's first waiter attempts, if the order of a lock's waiters binds.
///
/// One instance has a queue of all waiters of all clients, and a ticket for each client. A ticket is a key that lives as long as
/// its client waits, and lives. An attempt succeeds only if no living waiter of another client is before those of its client. So this
/// decides only when an attempt makes sense, and keeps the ticket alive.
///
/// The first in the queue watches the lock. Any other watches the ticket of the client before it. Each grant and each leave writes
/// that ticket, and its end deletes it. (As in a queue lock, where each waiter spins on what the one before it will write: see
/// `queue_ticket`.) A client asks for its position again after it has begun to watch. So no change falls between the two.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next.
class queue_place {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            entered,  ///< the first waiter of the client has entered the queue
            attempting,  ///< a waiter of the client attempts, or the client has the lock and others wait
            denied,          ///< an attempt was denied
            stayed,          ///< the vote on `stay`: the client before ours
            lock,            ///< the vote on `watch_lock`
            before,          ///< the vote on `watch_before`
            lock_changed,    ///< the instance tells that something has happened to the lock
            before_changed,  ///< to the ticket of the client before ours
            all_changed,     ///< it may have happened to any key
            timer,           ///< the time to wait for has come
        };
        kind_type kind = kind_type::timer;
        const core::vote* vote = nullptr;

        /// The event refers to the vote.
        static event voted(kind_type kind, const core::vote& v) { return {kind, &v}; }
        static event just(kind_type kind) { return {kind, nullptr}; }
    };

    using advice = queue_advice;

    struct step {
        bool stay =
            false;  ///< send `stay`, which keeps the ticket alive and tells who is before us
        bool watch_lock = false;  ///< send `remaining` of the lock, to be told of its changes, too
        bool watch_before = false;  ///< send `remaining` of the ticket of `before()`, likewise
        queue_place::advice advice = advice::none;
        time_point until = never;  ///< to be woken then, if nothing comes before
    };

    explicit queue_place(const queue_place_settings& settings) noexcept : settings_(settings) {}

    step resume(const event& e, time_point now);

    /// The client before ours; 0 if there is none.
    [[nodiscard]] std::uint64_t before() const noexcept { return before_; }

private:
    enum class status : std::uint8_t {
        attempting,  // or without a waiter that could: only the ticket is kept alive
        looking,     // it has asked where it is
        waiting,     // to be told by the instance
    };

    /// What is known of a key at the instance.
    enum class sight : std::uint8_t {
        unknown,
        watched,  // the instance will tell of the next change
        gone,     // as the latest answer says
    };

    step look(bool at_lock, bool at_before, time_point now);
    step look_again(time_point now) { return look(is_first(), !is_first(), now); }
    step on_answer(const event& e, time_point now);
    step on_time(time_point now);
    step find_turn(time_point now);
    step on_gone(time_point now);
    [[nodiscard]] step wait(advice what) const noexcept;
    [[nodiscard]] bool is_first() const noexcept { return before_ == 0; }

    queue_place_settings settings_;
    status status_ = status::attempting;
    unsigned unanswered_ = 0;   // of what it asked
    bool is_outdated_ = false;  // what it asked: something has changed since
    bool has_failed_ = false;   // one of the answers
    sight lock_ = sight::unknown;
    sight ticket_ = sight::unknown;  // of the client before ours
    std::uint64_t before_ = 0;
    time_point stayed_{};      // when it sent `stay` last
    time_point ends_ = never;  // what it watches, unless that is renewed
};

}  // namespace colock::core

#endif
