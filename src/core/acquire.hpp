// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_ACQUIRE_HPP
#define COLOCK_CORE_ACQUIRE_HPP

#include "core/backoff.hpp"
#include "core/instance_set.hpp"
#include "core/lease.hpp"
#include "core/outcome.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::core {

struct acquire_settings {
    std::size_t instances = 1;
    core::backoff retry;
    /// At most so many attempts; 0 = any number.
    std::size_t attempts = 0;
    /// The end of all waiting. One attempt is made in any case, and if this has passed before it,
    /// it takes the time that it takes.
    time_point deadline = never;
    /// How long to go on while no quorum answers.
    duration unavailable_timeout{};
    /// Whether an attempt that was denied may succeed at once, as the next is sent as contended. The two count as one.
    bool tries_twice = false;
    /// Whether a contended attempt announces that its sender waits. A waiter whose first attempt was denied then makes the next
    /// attempt immediately.
    bool announces = false;
    /// However long it may wait, an attempt is made this often, by which the instances learn that it still waits; 0 = not.
    duration attempt_interval{};
    /// A parked one attempts this long after its last attempt, if nothing has woken it before; 0 = not.
    duration longest_parking{};
    /// If every instance in the way reports changes of its key, the next attempt waits for such a report. That wait is as
    /// long as the time since the first attempt, but at most this. 0 = the pause stays regular.
    duration longest_reliance{};
};

/// Decides when an acquire attempts, and when it gives up. Each attempt is a `lease` with a token of its own, which
/// counts the votes.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next.
class acquire {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            attempted,  ///< the attempt has ended with `outcome`
            remaining,  ///< an instance that denied told how long the key will live
            changed,    ///< at an instance that told, something has happened to the key
            timer,      ///< the time to wait for has come
            wake,       ///< an instance came back, or the lock may be free: do not wait longer
            poll,       ///< the next attempt is to follow soon: see `queue_ticket::advice::poll`
            parked,     ///< somebody else knows when to try again, and will `wake` it
            unparked,   ///< nobody does any more
            cancel,
        };
        kind_type kind = kind_type::start;
        /// Of `remaining`: whether the instance will tell of the next change.
        bool will_tell = false;
        std::size_t index = 0;
        acquire_outcome outcome = acquire_outcome::granted;
        const core::vote* vote = nullptr;
        const round* votes = nullptr;

        static event start() { return {}; }
        /// The event refers to the votes.
        static event attempted(acquire_outcome outcome, const round& votes) {
            return {kind_type::attempted, false, 0, outcome, nullptr, &votes};
        }
        /// The event refers to the vote.
        static event remaining(std::size_t index, const core::vote& v, bool will_tell) {
            return {kind_type::remaining, will_tell, index, {}, &v, nullptr};
        }
        static event changed(std::size_t index) {
            return {kind_type::changed, false, index, {}, nullptr, nullptr};
        }
        static event just(kind_type kind) { return {kind, false, 0, {}, nullptr, nullptr}; }
    };

    struct step {
        bool attempt = false;                   ///< begin an attempt, by a lease of its own
        bool at_once = false;                   ///< the second form of the last attempt
        std::optional<acquire_outcome> failed;  ///< it has ended
        time_point until = never;               ///< to be woken then, if nothing comes before
    };

    /// `seed` feeds the jitter.
    acquire(const acquire_settings& settings, std::uint64_t seed);

    step resume(const event& e, time_point now);

    /// Before the start: as others of this process know, no quorum has answered since then.
    void no_quorum_since(time_point since) noexcept { unavailable_since_ = since; }

    /// Since when no quorum has answered; never, if it has.
    [[nodiscard]] time_point no_quorum_since() const noexcept { return unavailable_since_; }

    /// Before the start: others are known to be there, so that the first attempt is sent as contended.
    void expect_others() noexcept { contended_ = true; }

    /// Before an attempt has ended: see `acquire_settings::announces`.
    void set_announces(bool announces) noexcept { settings_.announces = announces; }

    /// What to tell the lease that makes the attempt which has just begun.
    [[nodiscard]] core::attempt current_attempt() const noexcept;

    /// When the wait for the next attempt ends, or the last such wait did.
    [[nodiscard]] time_point next_attempt() const noexcept { return backoff_end_; }

    /// How the last attempt has failed; nothing until one has. An attempt that the deadline has ended without an answer does
    /// not count.
    [[nodiscard]] const std::optional<acquire_outcome>& last_outcome() const noexcept {
        return last_outcome_;
    }

    /// The attempt that has begun is sent only now.
    void sent_at(time_point now) noexcept { sent_ = now; }

    /// When the first attempt began.
    [[nodiscard]] time_point began() const noexcept { return began_; }

    /// When the current or last attempt was sent.
    [[nodiscard]] time_point sent() const noexcept { return sent_; }

    /// How many attempts there were.
    [[nodiscard]] std::size_t attempts() const noexcept { return attempts_; }

    /// Whether it waits for the end of the quarantine without which a quorum may grant. The attempt that met it does not
    /// count.
    [[nodiscard]] bool waits_for_quarantine() const noexcept {
        return status_ == status::quarantined;
    }

    /// Whether it waits for the next attempt, but not for a quarantine.
    [[nodiscard]] bool backing_off() const noexcept {
        return status_ == status::backing_off || status_ == status::parked;
    }

    /// Until the next attempt: whether instance `index` is to be asked `remaining`, since it has denied, or may yet.
    [[nodiscard]] bool asks_remaining(std::size_t index) const {
        return backing_off() && in_the_way_.contains(index);
    }

private:
    enum class status : std::uint8_t { idle, attempting, backing_off, parked, quarantined, ended };

    step begin_attempt(time_point now);
    step on_attempted(acquire_outcome why, const round& votes, time_point now);
    step on_backoff(const event& e, time_point now);
    step on_parked(const event& e, time_point now);
    step on_quarantined(const event& e, time_point now);
    step back_off(duration pause, time_point now);
    step fail(acquire_outcome why);
    [[nodiscard]] step wait_until(time_point when) const;
    step wait_for_end_of_quarantine(time_point end, const round& votes, time_point now);
    void note_availability(acquire_outcome why);
    [[nodiscard]] bool may_retry(acquire_outcome why, time_point now) const;
    [[nodiscard]] bool may_retry_at_once(acquire_outcome why, time_point now) const;
    [[nodiscard]] time_point next_regular_attempt() const;
    [[nodiscard]] time_point end_of_parking() const;
    [[nodiscard]] duration step_aside();
    [[nodiscard]] duration short_pause(duration longest);
    [[nodiscard]] duration regular_pause();
    [[nodiscard]] time_point quorum_free_at() const;
    void expect_free_at(std::size_t index, time_point when);
    void rely_on_being_told(time_point now);
    void stop_relying(time_point now);

    status status_ = status::idle;
    std::optional<acquire_outcome>
        last_outcome_;  // of the attempts that the deadline has not cut short
    bool contended_ = false;
    bool polling_ = false;  // while backing off: for a short time, which nothing shortens
    bool relying_ = false;  // while backing off: the attempt waits for a report of a change
    time_point began_{};    // when the first attempt did
    time_point sent_{};
    acquire_settings settings_;
    std::uint64_t random_;
    std::size_t attempts_ = 0;
    std::size_t excused_ = 0;  // attempts that met a quarantine, and are not among these
    time_point backoff_end_{};
    time_point quarantine_end_{};  // or when to attempt before that
    time_point unavailable_since_ = never;
    std::size_t granted_ = 0;          // the last attempt, by so many instances
    instance_set in_the_way_;          // that have denied it, or may yet
    instance_set telling_;             // those in the way that will report a change
    std::vector<time_point> free_at_;  // per instance: when the key that denied us has run out
};

}  // namespace colock::core

#endif
