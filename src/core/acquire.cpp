#include "core/acquire.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <utility>
#include <vector>

namespace colock::core {

acquire::acquire(const acquire_settings& settings, std::uint64_t seed)
    : votes_(settings.instances), settings_(settings), random_(seed) {}

acquire::action acquire::resume(const event& e, time_point now) {
    using kind = event::kind_type;
    switch (state_) {
        case state::idle:
            if (e.kind == kind::cancel) {
                return fail(acquire_outcome::cancelled);
            }
            assert(e.kind == kind::start);
            return begin_attempt(now);

        case state::sending:
            assert(e.kind == kind::done);
            state_ = state::voting;
            return action::wait(round_end());

        case state::sending_raise:
            assert(e.kind == kind::done);
            state_ = state::raising;
            return action::wait(round_end());

        case state::voting:
        case state::raising:
            if (e.kind == kind::cancel) {
                return fail_after_give_back(acquire_outcome::cancelled);
            }
            return on_round(e, now);

        case state::giving_back_to_retry:
            assert(e.kind == kind::done);
            return back_off(now);

        case state::giving_back_to_fail:
            assert(e.kind == kind::done);
            return fail(outcome_);

        case state::backing_off:
            return on_backoff(e, now);

        case state::parked:
            return on_parked(e, now);

        case state::ended:
            break;
    }
    return action::wait(never);
}

acquire::action acquire::on_backoff(const event& e, time_point now) {
    using kind = event::kind_type;
    if (e.kind == kind::cancel) {
        return fail(acquire_outcome::cancelled);
    }
    if (e.kind == kind::parked) {
        state_ = state::parked;
        return on_parked(e, now);
    }
    if (e.kind == kind::remaining) {
        // Who is told that a key is gone already still takes a step aside, or all that were
        // told would be back at the same moment.
        expect_free_at(e.index, e.vote.kind == vote_kind::denied && e.vote.key == key_state::absent
                                    ? now + step_aside()
                                    : run_out(e.vote.remaining, now));
    } else if (e.kind == kind::changed) {
        // It may be free. So it may be for others who wait: after a split vote, one of us has
        // to be the first.
        expect_free_at(e.index, votes_.granted() == 0 ? now : now + step_aside());
    }
    if (now >= settings_.deadline) {
        return fail(outcome_);
    }
    if (now >= backoff_end_ || e.kind == kind::wake) {
        return begin_attempt(now);
    }
    return action::wait(std::min(backoff_end_, settings_.deadline));
}

/// Without looking at the time until the next attempt.
acquire::action acquire::on_parked(const event& e, time_point now) {
    using kind = event::kind_type;
    if (e.kind == kind::cancel) {
        return fail(acquire_outcome::cancelled);
    }
    if (now >= settings_.deadline) {
        return fail(outcome_);
    }
    if (e.kind == kind::wake || now >= next_regular_attempt()) {
        return begin_attempt(now);
    }
    return e.kind == kind::unparked
               ? back_off(now)
               : action::wait(std::min(next_regular_attempt(), settings_.deadline));
}

acquire::action acquire::begin_attempt(time_point now) {
    state_ = state::sending;
    votes_.clear();
    fences_ = {};
    sent_ = asked_ = now;
    attempts_ += std::exchange(at_once_, false) ? 0 : 1;
    return action::attempt();
}

/// Ends the attempt if the votes that are still out cannot change how.
acquire::action acquire::consider(time_point now) {
    if (votes_.won()) {
        const time_point until = valid_until(sent_, settings_.ttl, settings_.drift);
        if (now >= until - loss_notice(settings_.ttl)) {  // it would be lost at once
            return end_attempt(acquire_outcome::too_slow, now);
        }
        if (state_ != state::raising && !fences_.agreed()) {
            return begin_raise(now);
        }
        state_ = state::ended;
        return action::granted(until);
    }
    if (votes_.impossible()) {
        return end_attempt(
            votes_.unreachable() ? acquire_outcome::no_quorum : acquire_outcome::contended, now);
    }
    return action::wait(round_end());
}

acquire::action acquire::on_round(const event& e, time_point now) {
    using kind = event::kind_type;
    const bool raising = state_ == state::raising;
    if (e.kind == (raising ? kind::vote : kind::raised)) {
        return action::wait(round_end());  // on another round than this one
    }
    if (e.kind == kind::vote) {
        record(e.index, e.vote);
    } else if (e.kind == kind::raised) {
        votes_.record(e.index, e.vote);
    } else if (raising && now >= useful_until()) {
        return end_attempt(acquire_outcome::too_slow, now);
    } else if (now >= asked_ + settings_.instance_timeout) {
        votes_.fail_silent(failure::timeout);
    } else if (now >= round_end()) {
        // The caller's time is up, though not that of the silent ones.
        return end_attempt(acquire_outcome::contended, now);
    }
    return consider(now);
}

/// The second round. Who is not among the granted is asked as well: it may have granted meanwhile, or
/// be about to.
acquire::action acquire::begin_raise(time_point now) {
    state_ = state::sending_raise;
    votes_.clear();
    asked_ = now;
    return action::raise();
}

/// When to stop waiting for votes: after the timeout of an instance, or at the caller's deadline,
/// unless that was before the attempt began (a single attempt takes the time that it takes). And a
/// second round is of no use to a lease that is over.
time_point acquire::round_end() const {
    const time_point timeout = asked_ + settings_.instance_timeout;
    const time_point end =
        settings_.deadline <= sent_ ? timeout : std::min(timeout, settings_.deadline);
    return state_ == state::raising ? std::min(end, useful_until()) : end;
}

/// When a lease by this attempt would be announced lost: from then on a grant comes too late.
time_point acquire::useful_until() const {
    return valid_until(sent_, settings_.ttl, settings_.drift) - loss_notice(settings_.ttl);
}

acquire::action acquire::end_attempt(acquire_outcome why, time_point now) {
    note_availability(why);
    outcome_ = why;
    at_once_ = may_retry_at_once(why, now);
    contended_ = contended_ || why == acquire_outcome::contended;
    if (!at_once_ && !may_retry(why, now)) {
        return fail_after_give_back(why);
    }
    state_ = state::giving_back_to_retry;
    return action::give_back();
}

void acquire::note_availability(acquire_outcome why) {
    if (why == acquire_outcome::contended) {
        unavailable_since_ = never;
    } else if (unavailable_since_ == never) {
        unavailable_since_ = sent_;
    }
}

bool acquire::may_retry(acquire_outcome why, time_point now) const {
    if (now >= settings_.deadline || (settings_.attempts != 0 && attempts_ >= settings_.attempts)) {
        return false;
    }
    return why == acquire_outcome::contended ||
           now - unavailable_since_ < settings_.unavailable_timeout;
}

/// Also the one attempt of an operation that has passed its deadline before.
bool acquire::may_retry_at_once(acquire_outcome why, time_point now) const {
    return settings_.tries_twice && !contended_ && why == acquire_outcome::contended &&
           (now < settings_.deadline || settings_.deadline <= sent_);
}

time_point acquire::next_regular_attempt() const {
    return settings_.attempt_interval == duration::zero() ? never
                                                          : sent_ + settings_.attempt_interval;
}

acquire::action acquire::back_off(time_point now) {
    if (at_once_) {
        return begin_attempt(now);
    }
    state_ = state::backing_off;
    free_at_.assign(settings_.instances, never);
    constexpr duration between_polls = milliseconds(2);
    polling_ = std::exchange(polls_, false);
    backoff_end_ = now + (polling_ ? short_pause(between_polls)
                                   : settings_.retry.delay(attempts_ - 1, next_random(random_)));
    backoff_end_ = std::min(backoff_end_, next_regular_attempt());
    return action::wait(std::min(backoff_end_, settings_.deadline));
}

/// A first backoff, but a short one even for the patient: nothing is in the way any more.
duration acquire::step_aside() {
    return short_pause(milliseconds(10));
}

/// A first backoff, but no longer than this.
duration acquire::short_pause(duration longest) {
    const backoff pause{std::min(settings_.retry.initial, longest), longest};
    return pause.delay(0, next_random(random_));
}

void acquire::expect_free_at(std::size_t index, time_point when) {
    free_at_[index] = when;
    // A waiter that polls hears of a release too late: an attempt at that moment would be in vain, and would take
    // the place of one that may succeed.
    if (!polling_) {
        backoff_end_ = std::min(backoff_end_, quorum_free_at());
    }
}

/// When so many of the keys that denied us, or may deny us yet, have run out that a quorum may be free;
/// never, if too few of them have told.
time_point acquire::quorum_free_at() const {
    const std::size_t spare = spare_of(settings_.instances);
    const std::size_t in_the_way = settings_.instances - votes_.granted();
    if (in_the_way <= spare) {  // a quorum had granted, too slowly
        return never;
    }
    std::vector<time_point> times = free_at_;
    const auto last = times.begin() + static_cast<std::ptrdiff_t>(in_the_way - spare - 1);
    std::nth_element(times.begin(), last, times.end());
    return *last;
}

acquire::action acquire::fail_after_give_back(acquire_outcome why) {
    state_ = state::giving_back_to_fail;
    outcome_ = why;
    return action::give_back();
}

acquire::action acquire::fail(acquire_outcome why) {
    state_ = state::ended;
    return action::failed(why);
}

}  // namespace colock::core
