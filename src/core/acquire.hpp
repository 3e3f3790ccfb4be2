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
    /// The maximum number of attempts. 0 = unlimited.
    std::size_t attempts = 0;
    /// The end of the wait. One attempt is made in any case. If the deadline has passed before it, the
    /// attempt takes the time that it needs.
    time_point deadline = never;
    /// How long to continue while no quorum answers.
    duration unavailable_timeout{};
    /// Whether an attempt that was denied may succeed immediately when it is sent again as contended. The two
    /// attempts count as one.
    bool tries_twice = false;
    /// Whether a contended attempt announces that its sender waits. A waiter whose first attempt was denied
    /// then makes the next attempt immediately.
    bool announces = false;
    /// The maximum interval between attempts, however long the wait is. Each attempt shows the
    /// instances that the client still waits. 0 = unlimited.
    duration attempt_interval{};
    /// The maximum time from an attempt to the next while parked. 0 = unlimited.
    duration longest_parking{};
    /// If every instance in the way reports changes of its key, the next attempt waits for such a report.
    /// This wait is as long as the time since the first attempt, but at most this value. 0 = the pause stays
    /// regular.
    duration longest_reliance{};
};

/// Decides when an acquire attempts, and when it gives up. Each attempt is a `lease` with its own token,
/// which counts the votes.
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event.
class acquire {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            attempted,  ///< The attempt has ended with `outcome`.
            remaining,  ///< An instance that denied has reported how long the key will live.
            changed,    ///< An instance has reported that its key has changed.
            timer,      ///< The time to wait for has come.
            wake,       ///< An instance is back, or the lock may be free: do not wait longer.
            poll,       ///< The next attempt must follow soon: see `queue_ticket::advice::poll`.
            parked,     ///< The caller decides when to try again, and sends `wake` then.
            unparked,   ///< The caller does not decide this any longer.
            cancel,
        };
        kind_type kind = kind_type::start;
        /// For `remaining`: whether the instance will report the next change.
        bool will_tell = false;
        std::size_t index = 0;
        acquire_outcome outcome = acquire_outcome::granted;
        const core::vote* vote = nullptr;
        const round* votes = nullptr;

        static event start() { return {}; }
        /// The event refers to the votes.
        static event attempted(acquire_outcome outcome, const round& votes) {
            return {.kind = kind_type::attempted, .outcome = outcome, .votes = &votes};
        }
        /// The event refers to the vote.
        static event remaining(std::size_t index, const core::vote& v, bool will_tell) {
            return {kind_type::remaining, will_tell, index, {}, &v};
        }
        static event changed(std::size_t index) {
            return {.kind = kind_type::changed, .index = index};
        }
        static event just(kind_type kind) { return {.kind = kind}; }
    };

    struct step {
        bool attempt = false;  ///< Begin an attempt with a new lease.
        bool at_once = false;  ///< The attempt repeats the last one immediately, as contended.
        std::optional<acquire_outcome> failed{};  ///< The acquire has ended with this outcome.
        /// Resume with a timer event at this time, unless another event comes before.
        time_point until = never;
    };

    /// `seed` feeds the jitter.
    acquire(const acquire_settings& settings, std::uint64_t seed);

    step resume(const event& e, time_point now);

    /// Sets since when no quorum has answered other operations of this process. Call it before the start.
    void no_quorum_since(time_point since) noexcept { unavailable_since_ = since; }

    /// Returns since when no quorum has answered, or `never` if a quorum has.
    [[nodiscard]] time_point no_quorum_since() const noexcept { return unavailable_since_; }

    /// Makes the first attempt contended, because others are known to use the key. Call it before the start.
    void expect_others() noexcept { contended_ = true; }

    /// Sets `acquire_settings::announces`. Call it before an attempt has ended.
    void set_announces(bool announces) noexcept { settings_.announces = announces; }

    /// Returns the parameters for the lease that makes the attempt that has just begun.
    [[nodiscard]] core::attempt current_attempt() const noexcept;

    /// Returns when the wait for the next attempt ends, or when the last such wait ended.
    [[nodiscard]] time_point next_attempt() const noexcept { return backoff_end_; }

    /// Returns how the last attempt failed, or nothing before the first failure. An attempt that the deadline
    /// ended before any denial does not count.
    [[nodiscard]] const std::optional<acquire_outcome>& last_outcome() const noexcept {
        return last_outcome_;
    }

    /// Sets the time of an attempt that is sent later than it began.
    void sent_at(time_point now) noexcept { sent_ = now; }

    /// Returns when the first attempt began.
    [[nodiscard]] time_point began() const noexcept { return began_; }

    /// Returns when the current or last attempt was sent.
    [[nodiscard]] time_point sent() const noexcept { return sent_; }

    /// Returns the number of attempts.
    [[nodiscard]] std::size_t attempts() const noexcept { return attempts_; }

    /// Returns whether it waits for the end of a quarantine, before which no quorum can grant. The attempt
    /// that met the quarantine does not count.
    [[nodiscard]] bool waits_for_quarantine() const noexcept {
        return status_ == status::quarantined;
    }

    /// Returns whether it waits for the next attempt, but not for a quarantine.
    [[nodiscard]] bool backing_off() const noexcept {
        return status_ == status::backing_off || status_ == status::parked;
    }

    /// Returns whether to ask instance `index` for the remaining time before the next attempt, because it has
    /// denied or may still deny.
    [[nodiscard]] bool asks_remaining(std::size_t index) const {
        return backing_off() && in_the_way_.contains(index);
    }

private:
    using kind = event::kind_type;

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
    std::optional<acquire_outcome> last_outcome_;  // Without attempts that the deadline cut short.
    bool contended_ = false;
    bool polling_ = false;  // While backing off: the pause is short, and nothing shortens it.
    bool relying_ = false;  // While backing off: the attempt waits for a report of a change.
    time_point began_{};    // When the first attempt began.
    time_point sent_{};
    acquire_settings settings_;
    std::uint64_t random_;
    std::size_t attempts_ = 0;
    std::size_t excused_ = 0;  // Attempts that met a quarantine. `attempts_` does not include them.
    time_point backoff_end_{};
    time_point quarantine_end_{};  // Or the time of an attempt before that.
    time_point unavailable_since_ = never;
    std::size_t granted_ = 0;  // How many instances granted the last attempt.
    instance_set in_the_way_;  // Instances that denied the last attempt, or may still deny it.
    instance_set telling_;     // Instances in the way that will report a change.
    // Per instance: when the key that denied the attempt will have expired.
    std::vector<time_point> free_at_;
};

}  // namespace colock::core

#endif
