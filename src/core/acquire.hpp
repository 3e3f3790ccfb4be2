#ifndef COLOCK_CORE_ACQUIRE_HPP
#define COLOCK_CORE_ACQUIRE_HPP

#include "core/backoff.hpp"
#include "core/fence_tally.hpp"
#include "core/quorum.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace colock::core {

/// How an acquire ended.
enum class acquire_outcome : std::uint8_t {
    granted,
    contended,  ///< somebody else holds it, and we were not to wait (any longer)
    no_quorum,  ///< too few instances answered
    too_slow,   ///< a quorum granted, but by then the lease would have been announced lost
    cancelled,
    closed,  ///< its client was
};

struct acquire_settings {
    std::size_t instances = 1;
    duration ttl{};
    drift_bound drift;
    duration instance_timeout{};
    core::backoff retry;
    /// At most so many attempts; 0 = any number.
    std::size_t attempts = 0;
    /// The end of all waiting. One attempt is made in any case, and if this has passed before it,
    /// it takes the time that it takes.
    time_point deadline = never;
    /// How long to go on while no quorum answers.
    duration unavailable_timeout{};
    /// Whether the lease is to have a fence.
    bool fencing = false;
    /// Whether an attempt that was denied may succeed at once, as the next is sent as contended. The two count as one.
    bool tries_twice = false;
    /// However long it may wait, an attempt is made this often, by which those that hold the lock learn of it; 0 = not.
    duration attempt_interval{};
};

/// Acquires a lock by as many attempts as it takes: each one sends `step::acquire` to all instances
/// at once, with a token of its own, and ends as soon as the votes cannot change the outcome.
///
/// Algorithm: Redlock, https://redis.io/docs/latest/develop/use/patterns/distributed-locks/
///
/// With fencing a grant brings the value of that instance's counter. The fence is larger than that of every
/// lease granted before, because of two things:
///
/// - it is the largest value of a quorum of grants, and
/// - before the lease is handed out, the counters of a majority are no less than it, each while the
///   key there was ours.
///
/// Any quorum of later grants shares an instance with that majority, and what it grants is larger. So
/// if all grants of the quorum have one value, that is the fence, in one round trip. Otherwise the
/// largest is, and a second round writes it back: `raise`. The validity counts from before the first.
///
/// A grant that comes later may have a larger value still, and that changes nothing: the majority that
/// knows our fence is there without it, and a counter that is ahead only makes a later fence larger.
///
/// It acts by being resumed: feed it an event, do what it says, feed it the next. After `attempt`,
/// `raise` and `give_back` it wants to be resumed with `done` at once; after `wait` with whatever
/// comes first.
/// Votes are those of the current attempt only; what comes later for a former one belongs to the
/// `release` that gives it back. A vote always counts, however late it is fed; only a `timer` (or
/// any event that is no vote) takes silence for an answer.
class acquire {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            done,       ///< the action was carried out
            vote,       ///< an instance voted on the current attempt
            raised,     ///< an instance voted on its `raise`
            remaining,  ///< an instance that denied told how long the key will live
            changed,    ///< at an instance that told, something has happened to the key
            timer,      ///< the time to wait for has come
            wake,       ///< an instance came back, or the lock may be free: do not wait longer
            parked,     ///< somebody else knows when to try again, and will `wake` it
            unparked,   ///< nobody does any more
            cancel,
        };
        kind_type kind = kind_type::done;
        std::size_t index = 0;
        core::vote vote;

        static event start() { return {kind_type::start, 0, {}}; }
        static event done() { return {kind_type::done, 0, {}}; }
        static event voted(std::size_t index, const core::vote& v) {
            return {kind_type::vote, index, v};
        }
        static event raised(std::size_t index, const core::vote& v) {
            return {kind_type::raised, index, v};
        }
        static event remaining(std::size_t index, const core::vote& v) {
            return {kind_type::remaining, index, v};
        }
        static event changed(std::size_t index) { return {kind_type::changed, index, {}}; }
        static event timer() { return {kind_type::timer, 0, {}}; }
        static event wake() { return {kind_type::wake, 0, {}}; }
        static event parked() { return {kind_type::parked, 0, {}}; }
        static event unparked() { return {kind_type::unparked, 0, {}}; }
        static event cancel() { return {kind_type::cancel, 0, {}}; }
    };

    struct action {
        enum class kind_type : std::uint8_t {
            attempt,  ///< draw a token, send `acquire` to all; `now` of this resume is "sent"
            raise,    ///< send `confirm` with `fence()` to all
            give_back,  ///< release what the attempt got or may get; ask `remaining` of whom it `asks_remaining`
            wait,     ///< until an event, or `time`
            granted,  ///< ended: the lease is valid until `time`
            failed,   ///< ended: see `outcome`
        };
        kind_type kind = kind_type::wait;
        time_point time = never;
        acquire_outcome outcome = acquire_outcome::contended;

        static action attempt() { return {kind_type::attempt, never, {}}; }
        static action raise() { return {kind_type::raise, never, {}}; }
        static action give_back() { return {kind_type::give_back, never, {}}; }
        static action wait(time_point until) { return {kind_type::wait, until, {}}; }
        static action granted(time_point until) { return {kind_type::granted, until, {}}; }
        static action failed(acquire_outcome why) { return {kind_type::failed, never, why}; }
    };

    /// `seed` feeds the jitter.
    acquire(const acquire_settings& settings, std::uint64_t seed);

    action resume(const event& e, time_point now);

    /// Before the start: as others of this process know, no quorum has answered since then.
    void no_quorum_since(time_point since) noexcept { unavailable_since_ = since; }

    /// After `give_back`: the next attempt is to follow soon, however many there were: see `queue_ticket::advice::poll`.
    void poll() noexcept { polls_ = true; }

    /// Since when no quorum has answered; never, if it has.
    [[nodiscard]] time_point no_quorum_since() const noexcept { return unavailable_since_; }

    /// Before the start: others are known to be there, so that the first attempt is sent as contended.
    void expect_others() noexcept { contended_ = true; }

    /// After `attempt`: whether one of this operation was denied before.
    [[nodiscard]] bool contended() const noexcept { return contended_; }

    /// When the wait for the next attempt ends, or the last such wait did.
    [[nodiscard]] time_point next_attempt() const noexcept { return backoff_end_; }

    /// Counts a vote that settles nothing, and after which there is nothing to do but to wait on. For
    /// any other it is false, and `resume` has to be fed with it.
    bool note(std::size_t index, const vote& v) {
        return state_ == state::voting && !votes_.decided_by(v) && record(index, v);
    }

    /// The votes of the current or last attempt; after a `raise`, those on that.
    [[nodiscard]] const round& votes() const noexcept { return votes_; }

    /// When the current or last attempt was sent.
    [[nodiscard]] time_point sent() const noexcept { return sent_; }

    /// After `raise`, or `granted` with fencing: the fence.
    [[nodiscard]] std::uint64_t fence() const noexcept { return fences_.largest(); }

    /// How many attempts there were.
    [[nodiscard]] std::size_t attempts() const noexcept { return attempts_; }

    /// After `give_back`: whether another attempt will follow, so that `remaining` is worth asking.
    [[nodiscard]] bool will_retry() const noexcept { return state_ == state::giving_back_to_retry; }

    /// After `give_back`: whether that attempt follows without a wait.
    [[nodiscard]] bool retries_at_once() const noexcept { return at_once_; }

    /// Whether it waits for the next attempt.
    [[nodiscard]] bool backing_off() const noexcept {
        return state_ == state::backing_off || state_ == state::parked;
    }

    /// Until the next attempt: whether instance `index` is to be asked `remaining`: who has denied, or may
    /// yet.
    [[nodiscard]] bool asks_remaining(std::size_t index) const {
        return (will_retry() || backing_off()) &&
               (votes_.has_denied(index) || votes_.is_silent(index));
    }

private:
    bool record(std::size_t index, const vote& v) {
        if (!votes_.record(index, v)) {
            return false;
        }
        if (settings_.fencing && v.kind == vote_kind::granted) {
            fences_.add(v.fence);
        }
        return true;
    }

    enum class state : std::uint8_t {
        idle,
        sending,
        voting,
        sending_raise,
        raising,
        giving_back_to_retry,
        giving_back_to_fail,
        backing_off,
        parked,
        ended,
    };

    action begin_attempt(time_point now);
    action on_backoff(const event& e, time_point now);
    action on_parked(const event& e, time_point now);
    action consider(time_point now);
    action begin_raise(time_point now);
    action on_round(const event& e, time_point now);
    action end_attempt(acquire_outcome why, time_point now);
    action back_off(time_point now);
    action fail_after_give_back(acquire_outcome why);
    action fail(acquire_outcome why);
    void note_availability(acquire_outcome why);
    [[nodiscard]] bool may_retry(acquire_outcome why, time_point now) const;
    [[nodiscard]] bool may_retry_at_once(acquire_outcome why, time_point now) const;
    [[nodiscard]] time_point next_regular_attempt() const;
    [[nodiscard]] time_point round_end() const;
    [[nodiscard]] time_point useful_until() const;
    [[nodiscard]] duration step_aside();
    [[nodiscard]] duration short_pause(duration longest);
    [[nodiscard]] time_point quorum_free_at() const;
    void expect_free_at(std::size_t index, time_point when);

    state state_ = state::idle;
    acquire_outcome outcome_ = acquire_outcome::contended;
    bool contended_ = false;
    bool at_once_ = false;  // the next attempt is the second half of this one
    bool polls_ = false;    // the next wait is short
    bool polling_ = false;  // this one is
    round votes_;
    fence_tally fences_;  // that were granted
    time_point sent_{};
    time_point asked_{};  // when the round under way was sent: the attempt, or its `raise`
    acquire_settings settings_;
    std::uint64_t random_;
    std::size_t attempts_ = 0;
    time_point backoff_end_{};
    time_point unavailable_since_ = never;
    std::vector<time_point> free_at_;  // per instance: when the key that denied us has run out
};

}  // namespace colock::core

#endif
