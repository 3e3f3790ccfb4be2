// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/queue_ticket.hpp"

#include "core/client_hold.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

queue_ticket::step queue_ticket::resume(const event& e, time_point now) {
    using kind = event::kind_type;
    switch (e.kind) {
        case kind::join:
            join_at_ = std::max(e.from, now);
            return on_time(now);
        case kind::joined:
        case kind::lock:
        case kind::before:
            return on_answer(e, now);
        case kind::lock_changed:
            return on_lock_changed(now);
        case kind::before_changed:
            return on_before_changed(now);
        case kind::all_changed:
            forget(sight::watched, before_ticket_);
            forget(sight::watched, lock_);
            lock_end_ = never;
            place_since_ = now;
            return look_again(now);
        case kind::denied:
            return on_denied(e.by_keeper, now);
        case kind::held:
            status_ = status::holding;
            held_since_ = now;
            break;
        case kind::timer:
            return on_time(now);
    }
    return wait(advice::none);
}

time_point queue_ticket::rejoin_from(time_point now) const noexcept {
    return now + minimum_cool_down(held_since_ == never ? duration::zero() : now - held_since_);
}

// --- Asking -----------------------------------------------------------------------------------------

/// Joins the queue, or joins again to keep the ticket alive.
queue_ticket::step queue_ticket::ask_position(bool and_the_lock, time_point now) {
    joined_ = now;
    interval_ = settings_.interval(now - place_since_);
    is_outdated_ = false;
    step what;
    what.join = true;
    what.ask_lock = and_the_lock && lock_ != sight::watched;
    return ask(what, now);
}

queue_ticket::step queue_ticket::ask(step what, time_point now) {
    asked_ = now;
    forget(sight::gone, before_ticket_);
    forget(sight::gone, lock_);
    unanswered_ = unsigned{what.join} + unsigned{what.ask_lock} + unsigned{what.ask_before};
    what.until = asked_ + settings_.refresh;
    return what;
}

void queue_ticket::forget(sight outdated, sight& of) noexcept {
    of = of == outdated ? sight::unknown : of;
}

queue_ticket::step queue_ticket::on_answer(const event& e, time_point now) {
    const vote& v = *e.vote;
    const sight seen = is_absent(v) ? sight::gone : sight::watched;
    switch (e.kind) {
        case event::kind_type::joined:
            note_position(v, now);
            break;
        case event::kind_type::lock:
            lock_ = seen;
            lock_end_ = run_out(v.remaining, now);
            break;
        default:
            before_ticket_ = seen;
            before_renews_ = run_out(v.remaining, joined_) - settings_.ttl_of(v.remaining) / 2;
            break;
    }
    --unanswered_;
    if (v.kind == vote_kind::failed) {
        return wait(advice::broken);
    }
    return is_asking() && unanswered_ == 0 ? find_turn(now) : wait(advice::none);
}

void queue_ticket::note_position(const vote& v, time_point now) {
    if (v.kind == vote_kind::granted) {
        if (v.value != before_) {
            forget(sight::watched, before_ticket_);
            before_ = v.value;
            place_since_ = now;
        }
        first_since_ = before_ == 0 ? std::min(first_since_, now) : never;
    }
}

/// Decides when all requests have been answered.
queue_ticket::step queue_ticket::find_turn(time_point now) {
    if (is_outdated_) {
        return ask_position(true, now);
    }
    const status asked_as = std::exchange(status_, status::asking);
    if (is_first() && asked_as == status::asking_after_denial) {
        return give_turn(advice::on_its_own);
    }
    if (!is_first() && before_ticket_ == sight::gone) {
        return ask_position(true, now);
    }
    const bool is_free = lock_ == sight::gone;
    if (is_first() ? is_free || settings_.attempts_while_held
                   : is_free && asked_as == status::looking) {
        return give_turn(advice::turn);
    }
    step what;
    what.ask_lock = is_first() && lock_ != sight::watched;
    what.ask_before = !is_first() && before_ticket_ != sight::watched;
    if (what.ask_lock || what.ask_before) {
        return ask(what, now);
    }
    status_ = status::waiting;
    return wait(advice::wait);
}

// --- Notifications ----------------------------------------------------------------------------------

queue_ticket::step queue_ticket::on_lock_changed(time_point now) {
    forget(sight::watched, lock_);
    lock_end_ = never;
    if (is_first()) {
        count_change(now);
        if (status_ == status::waiting) {
            return give_turn(advice::turn);
        }
        is_outdated_ = is_asking();
    }
    return wait(advice::none);
}

queue_ticket::step queue_ticket::on_before_changed(time_point now) {
    forget(sight::watched, before_ticket_);
    if (status_ == status::waiting && now < before_renews_) {
        status_ = status::guessing;
        return wait(advice::turn);
    }
    return look_again(now);
}

queue_ticket::step queue_ticket::look_again(time_point now) {
    if (status_ == status::waiting) {
        status_ = status::asking;
        return ask_position(true, now);
    }
    is_outdated_ = is_asking();
    return wait(advice::none);
}

queue_ticket::step queue_ticket::on_denied(bool by_keeper, time_point now) {
    if (!by_keeper) {
        forget(sight::watched, lock_);
    }
    if (must_poll(now)) {
        step result;
        result.ask_lock = unanswered_ == 0 && lock_ != sight::watched;
        result = result.ask_lock ? ask(result, now) : wait(advice::none);
        result.advice = advice::poll;
        return result;
    }
    status_ = status_ == status::attempting ? status::asking_after_denial : status::asking;
    if (unanswered_ != 0) {
        is_outdated_ = true;
        return wait(advice::none);
    }
    return ask_position(false, now);
}

void queue_ticket::count_change(time_point now) {
    changes_ = changes_ != 0 && now - changed_at_ < settings_.quick_succession ? changes_ + 1 : 1;
    changed_at_ = now;
}

bool queue_ticket::must_poll(time_point now) const noexcept {
    return is_attempting() && is_first() && changes_ >= settings_.changes_in_vain &&
           now - changed_at_ < settings_.quick_succession;
}

// --- Waiting ----------------------------------------------------------------------------------------

queue_ticket::step queue_ticket::give_turn(advice what) {
    status_ = status::attempting;
    return wait(what);
}

queue_ticket::step queue_ticket::wait(advice what) const {
    step result;
    result.advice = what;
    if (status_ == status::holding) {
        result.until =
            held_since_ + settings_.refresh;  // The ticket lives until then, however old it is.
    } else if (status_ == status::outside) {
        result.until = join_at_;
    } else if (unanswered_ != 0) {
        result.until = asked_ + settings_.refresh;
    } else {
        result.until = std::min(joined_ + interval_, next_look());
    }
    return result;
}

/// Returns when the first client stops waiting for a report about the lock.
time_point queue_ticket::next_look() const noexcept {
    return is_first() && status_ == status::waiting
               ? std::min(first_since_ + settings_.refresh, lock_end_)
               : never;
}

queue_ticket::step queue_ticket::on_time(time_point now) {
    if (now < wait(advice::none).until) {
        return wait(advice::none);
    }
    if (status_ == status::holding) {
        return wait(advice::over);
    }
    if (status_ == status::outside) {
        status_ = status::asking;
        place_since_ = now;
        return ask_position(false, now);
    }
    if (unanswered_ != 0) {
        return wait(advice::broken);
    }
    if (now >= next_look()) {
        return give_turn(advice::turn);
    }
    if (is_attempting()) {
        return ask_position(false, now);
    }
    // mutant: queue_never_looks_again
    status_ = status::looking;
    return ask_position(true, now);
}

}  // namespace colock::core
