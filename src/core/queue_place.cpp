// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/queue_place.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

queue_place::step queue_place::resume(const event& e, time_point now) {
    using kind = event::kind_type;
    const bool is_waiting = status_ == status::waiting;
    switch (e.kind) {
        case kind::entered:
            stayed_ = now;
            break;
        case kind::attempting:
            // A server does not notify a client of the client's own writes. An attempt therefore ends the
            // watch of the lock.
            status_ = status::attempting;
            lock_ = ticket_ = sight::unknown;
            break;
        case kind::denied:
            return look_again(now);
        case kind::stayed:
        case kind::lock:
        case kind::before:
            return on_answer(e, now);
        case kind::lock_changed:
            lock_ = sight::unknown;
            is_outdated_ = is_outdated_ || !is_waiting;
            // mutant: fifo_release_not_told
            return is_waiting && is_first() ? on_gone(now) : wait(advice::none);
        case kind::before_changed:
            ticket_ = sight::unknown;
            is_outdated_ = is_outdated_ || !is_waiting;
            return is_waiting && !is_first() ? look_again(now) : wait(advice::none);
        case kind::all_changed:
            lock_ = ticket_ = sight::unknown;
            is_outdated_ = is_outdated_ || !is_waiting;
            return is_waiting ? look_again(now) : wait(advice::none);
        case kind::timer:
            return on_time(now);
    }
    return wait(advice::none);
}

/// Asks for the position, after it has begun to watch the lock or the ticket ahead.
queue_place::step queue_place::look(bool at_lock, bool at_before, time_point now) {
    status_ = status::looking;
    is_outdated_ = unanswered_ != 0;  // The replies in flight are older.
    has_failed_ = false;
    stayed_ = now;
    step what = wait(advice::none);
    what.stay = true;
    what.watch_lock = at_lock && lock_ != sight::watched;
    what.watch_before = at_before && ticket_ != sight::watched;
    unanswered_ += 1U + unsigned{what.watch_lock} + unsigned{what.watch_before};
    return what;
}

queue_place::step queue_place::on_answer(const event& e, time_point now) {
    const vote& v = *e.vote;
    --unanswered_;
    if (v.kind == vote_kind::failed) {
        has_failed_ = true;
    } else if (e.kind != event::kind_type::stayed) {
        sight& what = e.kind == event::kind_type::lock ? lock_ : ticket_;
        what = is_absent(v) ? sight::gone : sight::watched;
        ends_ = what == sight::gone ? never : run_out(v.remaining, now);
    } else if (v.kind == vote_kind::denied) {  // The client's places are missing.
        is_outdated_ = true;
    } else if (v.value != before_) {
        before_ = v.value;
        ticket_ = sight::unknown;
    }
    return unanswered_ == 0 && status_ != status::attempting ? find_turn(now) : wait(advice::none);
}

/// Decides when all requests have been answered.
queue_place::step queue_place::find_turn(time_point now) {
    if (has_failed_) {
        status_ = status::waiting;
        lock_ = ticket_ = sight::unknown;
        ends_ = never;
        return wait(advice::on_its_own);
    }
    const sight seen = is_first() ? lock_ : ticket_;
    if (is_outdated_ || seen == sight::unknown) {
        return look_again(now);
    }
    // If the ticket ahead is gone, the instance does not count its client as dead yet.
    if (seen == sight::gone && is_first()) {
        return on_gone(now);
    }
    status_ = status::waiting;
    return wait(advice::wait);
}

/// Reacts to the possible end of the watched key.
queue_place::step queue_place::on_gone(time_point now) {
    lock_ = ticket_ = sight::unknown;
    ends_ = never;
    if (!is_first()) {
        return look(true, false, now);  // The request skips a dead client.
    }
    status_ = status::attempting;
    return wait(advice::turn);
}

queue_place::step queue_place::wait(advice what) const noexcept {
    step result;
    result.advice = what;
    result.until = stayed_ + settings_.refresh;
    if (status_ == status::waiting) {
        result.until = std::min(result.until, ends_);
    }
    return result;
}

queue_place::step queue_place::on_time(time_point now) {
    if (status_ == status::waiting && now >= ends_) {
        return on_gone(now);
    }
    if (now < stayed_ + settings_.refresh) {
        return wait(advice::none);
    }
    has_failed_ = has_failed_ && unanswered_ != 0;
    stayed_ = now;
    step what = wait(advice::none);
    what.stay = true;
    // A lost notification costs at most this interval.
    what.watch_lock = status_ == status::waiting && is_first();
    what.watch_before = status_ == status::waiting && !is_first();
    unanswered_ += 1U + unsigned{what.watch_lock} + unsigned{what.watch_before};
    return what;
}

}  // namespace colock::core
