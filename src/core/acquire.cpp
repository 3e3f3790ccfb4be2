// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/acquire.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

acquire::acquire(const acquire_settings& settings, std::uint64_t seed)
    : settings_(settings), random_(seed) {}

acquire::step acquire::resume(const event& e, time_point now) {
    if (e.kind == kind::cancel && status_ != status::ended) {
        return fail(acquire_outcome::cancelled);
    }
    switch (status_) {
        case status::idle:
            return e.kind == kind::start ? begin_attempt(now) : step();
        case status::attempting:
            return e.kind == kind::attempted ? on_attempted(e.outcome, *e.votes, now) : step();
        case status::backing_off:
            return on_backoff(e, now);
        case status::parked:
            return on_parked(e, now);
        case status::quarantined:
            return on_quarantined(e, now);
        case status::ended:
            break;
    }
    return {};
}

acquire::step acquire::begin_attempt(time_point now) {
    status_ = status::attempting;
    sent_ = now;
    if (attempts_ == 0) {
        began_ = now;
    }
    ++attempts_;
    return {.attempt = true};
}

acquire::step acquire::on_attempted(acquire_outcome why, const round& votes, time_point now) {
    if (why == acquire_outcome::granted) {
        status_ = status::ended;
        return {};
    }
    // The deadline ended the attempt before any instance denied. The outcome of the attempt before it says
    // more. An adoption may also find no quorum because some instances deny and others fail.
    const bool is_cut_short =
        why == acquire_outcome::no_quorum && !votes.unreachable() && votes.denied() == 0;
    if (is_cut_short) {
        return fail(last_outcome_.value_or(why));
    }
    last_outcome_ = why;
    if (why == acquire_outcome::no_quorum) {
        const time_point end = votes.reachable_from();
        // mutant: quarantine_is_an_outage
        if (end < settings_.deadline) {
            return wait_for_end_of_quarantine(end, votes, now);
        }
    }
    // A minority may have a record because a holder died while it wrote the record. If the grants of this
    // attempt complete the quorum, the record counts, and no other attempt follows.
    const std::size_t with_record = votes.record().count;
    if (with_record != 0 && votes.granted() + with_record >= quorum_of(settings_.instances)) {
        return fail(acquire_outcome::completed);
    }
    // mutant: wrong_kind_waits
    if (votes.impossible_by(key_state::other_kind)) {
        return fail(acquire_outcome::wrong_kind);
    }
    // mutant: wrong_limit_waits
    if (votes.impossible_by(key_state::other_limit)) {
        return fail(acquire_outcome::wrong_limit);
    }
    note_availability(why);
    if (may_retry_at_once(why, now)) {
        contended_ = true;
        --attempts_;  // The two count as one.
        step second = begin_attempt(now);
        second.at_once = true;
        return second;
    }
    contended_ = contended_ || why == acquire_outcome::contended;
    if (!may_retry(why, now)) {
        return fail(why);
    }
    granted_ = votes.granted();
    in_the_way_ = {};
    for (std::size_t i = 0; i != settings_.instances; ++i) {
        if (votes.has_denied(i) || votes.is_silent(i)) {
            in_the_way_.add(i);
        }
    }
    return back_off(regular_pause(), now);
}

acquire::step acquire::on_backoff(const event& e, time_point now) {
    switch (e.kind) {
        case kind::parked:
            status_ = status::parked;
            return on_parked(e, now);
        case kind::remaining:
            // Even if the key is already gone, wait a jittered moment. Otherwise all notified waiters would
            // retry at the same moment.
            expect_free_at(
                e.index, is_absent(*e.vote) ? now + step_aside() : run_out(e.vote->remaining, now));
            if (e.will_tell && e.vote->kind == vote_kind::denied) {
                telling_.add(e.index);
                rely_on_being_told(now);
            }
            break;
        case kind::changed:
            stop_relying(now);
            // The key may be free for other waiters as well. After a split vote, the jittered moment lets one
            // of them be the first.
            expect_free_at(e.index, granted_ == 0 ? now : now + step_aside());
            break;
        case kind::poll: {
            constexpr duration between_polls = milliseconds(2);
            polling_ = true;
            back_off(short_pause(between_polls), now);
            break;
        }
        default:
            break;
    }
    // mutant: deadline_ignored
    if (now >= settings_.deadline) {
        return fail(*last_outcome_);
    }
    if (now >= backoff_end_ || e.kind == kind::wake) {
        return begin_attempt(now);
    }
    return wait_until(backoff_end_);
}

/// Ignores the time of the next attempt.
acquire::step acquire::on_parked(const event& e, time_point now) {
    if (now >= settings_.deadline) {
        return fail(*last_outcome_);
    }
    if (e.kind == kind::wake || now >= end_of_parking()) {
        return begin_attempt(now);
    }
    return e.kind == kind::unparked ? back_off(regular_pause(), now) : wait_until(end_of_parking());
}

/// Waits for the end of the quarantine. A quarantine is not an outage, because its end is known. Neither
/// `unavailable_timeout` nor the number of attempts therefore counts it. Attempts continue at
/// `attempt_interval`, which shows the other instances that the client still waits. Regular attempts
/// continue if an instance may grant at any time. A short pause allows for an instance that detects the end
/// of its quarantine a moment later.
acquire::step acquire::wait_for_end_of_quarantine(time_point end, const round& votes,
                                                  time_point now) {
    status_ = status::quarantined;
    unavailable_since_ = never;
    --attempts_;
    ++excused_;
    quarantine_end_ = std::min(std::max(end, now + short_pause(milliseconds(2))), end_of_parking());
    // mutant: quarantine_hides_a_late_vote
    if (votes.may_recover_at_any_time()) {
        quarantine_end_ = std::min(quarantine_end_, now + regular_pause());
    }
    return wait_until(quarantine_end_);
}

/// Attempts at the end of the quarantine, or when another instance may complete a quorum.
acquire::step acquire::on_quarantined(const event& e, time_point now) {
    if (now >= settings_.deadline) {
        return fail(*last_outcome_);
    }
    return e.kind == kind::wake || now >= quarantine_end_ ? begin_attempt(now)
                                                          : wait_until(quarantine_end_);
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

bool acquire::may_retry_at_once(acquire_outcome why, time_point now) const {
    if (contended_ || why != acquire_outcome::contended) {
        return false;
    }
    // If the deadline had passed before the only attempt of an operation, this attempt may have two parts as
    // well.
    const bool has_time = now < settings_.deadline || settings_.deadline <= sent_;
    return (settings_.tries_twice && has_time) || (settings_.announces && may_retry(why, now));
}

attempt acquire::current_attempt() const noexcept {
    const bool is_last = settings_.attempts != 0 && attempts_ >= settings_.attempts;
    return {.contended = contended_,
            .deadline = settings_.deadline,
            .announces = !is_last && settings_.deadline > sent_};
}

time_point acquire::next_regular_attempt() const {
    // mutant: waiting_writer_sleeps
    return settings_.attempt_interval == duration::zero() ? never
                                                          : sent_ + settings_.attempt_interval;
}

time_point acquire::end_of_parking() const {
    // mutant: parked_reader_sleeps
    return settings_.longest_parking == duration::zero()
               ? next_regular_attempt()
               : std::min(next_regular_attempt(), sent_ + settings_.longest_parking);
}

acquire::step acquire::back_off(duration pause, time_point now) {
    status_ = status::backing_off;
    free_at_.assign(settings_.instances, never);
    telling_ = {};
    relying_ = false;
    backoff_end_ = std::min(now + pause, next_regular_attempt());
    return wait_until(backoff_end_);
}

acquire::step acquire::wait_until(time_point when) const {
    return {.until = std::min(when, settings_.deadline)};
}

duration acquire::regular_pause() {
    polling_ = false;
    return settings_.retry.delay(attempts_ + excused_ - 1, next_random(random_));
}

/// Returns a first backoff, but a short one even if `retry` is long, because nothing is in the way any more.
duration acquire::step_aside() {
    return short_pause(milliseconds(10));
}

/// Returns a first backoff of at most `longest`.
duration acquire::short_pause(duration longest) {
    const backoff pause{std::min(settings_.retry.initial, longest), longest};
    return pause.delay(0, next_random(random_));
}

void acquire::expect_free_at(std::size_t index, time_point when) {
    free_at_[index] = when;
    // A waiter that polls is notified of a release too late. An attempt at that moment would fail, and would
    // replace a later attempt that may succeed.
    if (!polling_) {
        backoff_end_ = std::min(backoff_end_, quorum_free_at());
    }
}

/// If every instance in the way reports changes of its key, makes the next attempt wait for such a report, or
/// until keys expire. After an attempt without a quorum the pause stays regular, because
/// `unavailable_timeout` is checked only when an attempt ends.
void acquire::rely_on_being_told(time_point now) {
    telling_.keep(in_the_way_);
    const bool all_tell = last_outcome_ == acquire_outcome::contended && telling_ == in_the_way_;
    if (polling_ || !all_tell || settings_.longest_reliance == duration::zero()) {
        return;
    }
    relying_ = true;
    const duration pause = std::min(now - began_, settings_.longest_reliance);
    backoff_end_ =
        std::min({std::max(backoff_end_, now + pause), quorum_free_at(), next_regular_attempt()});
}

/// Ends the wait for a report, because an instance has reported a change. This instance reports no other
/// change until the next attempt asks it to. The other instances may already have freed the lock.
void acquire::stop_relying(time_point now) {
    telling_ = {};
    // mutant: told_by_one
    if (std::exchange(relying_, false)) {
        backoff_end_ = std::min(backoff_end_, now + regular_pause());
    }
}

/// Returns when enough keys in the way have expired for a quorum to be free. Returns `never` if too few
/// instances have reported the remaining time of their key.
time_point acquire::quorum_free_at() const {
    const std::size_t spare = spare_of(settings_.instances);
    const std::size_t in_the_way = settings_.instances - granted_;
    if (in_the_way <= spare) {  // A quorum had granted, but too late.
        return never;
    }
    std::vector<time_point> times = free_at_;
    const auto last = times.begin() + static_cast<std::ptrdiff_t>(in_the_way - spare - 1);
    std::nth_element(times.begin(), last, times.end());
    return *last;
}

acquire::step acquire::fail(acquire_outcome why) {
    status_ = status::ended;
    return {.failed = why};
}

}  // namespace colock::core
