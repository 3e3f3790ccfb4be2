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
    /// The interval between `stay`s.
    duration refresh = milliseconds(250);

    /// Returns the interval for the longest pause of a waiter that polls.
    [[nodiscard]] static duration refresh_for(duration longest_pause) noexcept {
        return std::clamp<duration>(longest_pause, milliseconds(50), std::chrono::seconds(1));
    }

    /// Returns how long a client's ticket lives. It outlives a few late refreshes.
    [[nodiscard]] duration ttl() const noexcept { return 4 * refresh; }
};

/// Decides when a client's first waiter attempts, if the order of a lock's waiters is binding.
///
/// One instance has a queue of all waiters of all clients, and a ticket for each client. A ticket is a key
/// that its client keeps alive while it waits. An attempt succeeds only if no living waiter of another client
/// is ahead of the client's waiters. This class therefore only decides when an attempt makes sense, and keeps
/// the ticket alive.
///
/// The first client in the queue watches the lock. Any other client watches the ticket of the client ahead.
/// Each grant and each leave writes that ticket, and its end deletes it. This resembles a queue lock, where
/// each waiter spins on what the waiter ahead will write: see `queue_ticket`. After a client has begun to
/// watch, it asks for its position again. It therefore misses no change in between.
///
/// A waiter is dead if its client has no ticket. The instance's clock goes on while the instance stands still,
/// so tickets may end although their clients live. The times that prevent this, in units of `refresh`:
///
/// | time | what |
/// |---|---|
/// | 1 | A client sends `stay`. This leaves at least 3.5 of 4 to its ticket. |
/// | 1.5 | After this silence, the instance may have stood still. A shorter one ends no renewed ticket. |
/// | 4 | For this time after such a silence, nobody is dead. |
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event.
class queue_place {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            entered,  ///< The first waiter of the client has entered the queue.
            /// A waiter of the client attempts, or the client has the lock and others wait.
            attempting,
            denied,        ///< An attempt was denied.
            stayed,        ///< The vote on `stay`, with the client ahead.
            lock,          ///< The vote on `watch_lock`.
            before,        ///< The vote on `watch_before`.
            lock_changed,  ///< The instance reports that the lock has changed.
            /// The instance reports that the ticket of the client ahead has changed.
            before_changed,
            all_changed,  ///< Any key may have changed.
            timer,        ///< The time to wait for has come.
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
            false;  ///< Send `stay`, which keeps the ticket alive and asks for the client ahead.
        /// Send `remaining` for the lock. It also asks for reports of changes.
        bool watch_lock = false;
        /// Send `remaining` for the ticket of `before()`. It also asks for reports of changes.
        bool watch_before = false;
        queue_place::advice advice = advice::none;
        /// Resume with a timer event at this time, unless another event comes before.
        time_point until = never;
    };

    explicit queue_place(const queue_place_settings& settings) noexcept : settings_(settings) {}

    step resume(const event& e, time_point now);

    /// Returns the client ahead, or 0 if there is none.
    [[nodiscard]] std::uint64_t before() const noexcept { return before_; }

private:
    enum class status : std::uint8_t {
        attempting,  // Or no waiter can attempt. Only the ticket is kept alive.
        looking,     // It has asked for its position.
        waiting,     // For a report of the instance.
    };

    /// The knowledge of a key at the instance.
    enum class sight : std::uint8_t {
        unknown,
        watched,  // The instance will report the next change.
        gone,     // According to the latest reply.
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
    unsigned unanswered_ = 0;   // Requests that are in flight.
    bool is_outdated_ = false;  // Something has changed since the requests were sent.
    bool has_failed_ = false;   // A request has failed.
    sight lock_ = sight::unknown;
    sight ticket_ = sight::unknown;  // Of the client ahead.
    std::uint64_t before_ = 0;
    time_point stayed_{};      // When it last sent `stay`.
    time_point ends_ = never;  // The end of the watched key, unless that is renewed.
};

}  // namespace colock::core

#endif
