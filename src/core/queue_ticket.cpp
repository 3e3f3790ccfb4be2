#include "core/queue_ticket.hpp"

#include "core/client_hold.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

queue_ticket::step queue_ticket::join(time_point now, time_point from) {
    if (now < from) {
        join_at_ = from;
        return wait(advice::none);
    }
    return begin(look::no, now);
}

queue_ticket::step queue_ticket::denied(bool by_keeper, time_point now) {
    watches_lock_ = watches_lock_ && by_keeper;
    if (must_poll(now)) {
        step result = wait(advice::none);
        if (unanswered_ == 0 && !watches_lock_) {
            step what;
            what.ask_lock = true;
            result = ask(what, now);
        }
        result.advice = advice::poll;
        return result;
    }
    was_denied_ = attempting_ && !guessed_;
    attempting_ = guessed_ = false;
    if (unanswered_ != 0) {
        again_ = true;
        return wait(advice::none);
    }
    return begin(look::no, now);
}

queue_ticket::step queue_ticket::held(time_point now) {
    attempting_ = true;
    leave_at_ = now + settings_.refresh;  // until then the ticket lives, however old it is
    return wait(advice::none);
}

time_point queue_ticket::rejoin_from(time_point now) const noexcept {
    const time_point since = leave_at_ == never ? now : leave_at_ - settings_.refresh;
    return now + minimum_cool_down(now - since);
}

queue_ticket::step queue_ticket::begin(look at_lock, time_point now) {
    step what;
    what.join = true;
    what.ask_lock = at_lock == look::yes && !attempting_ && !watches_lock_;
    joined_ = now;
    join_at_ = never;
    again_ = false;
    return ask(what, now);
}

queue_ticket::step queue_ticket::ask(const step& what, time_point now) {
    asked_ = now;
    before_is_gone_ = lock_is_free_ = false;
    unanswered_ = unsigned{what.join} + unsigned{what.ask_lock} + unsigned{what.ask_before};
    step result = what;
    result.until = asked_ + settings_.refresh;
    return result;
}

queue_ticket::step queue_ticket::on_joined(const vote& v, time_point now) {
    if (v.kind == vote_kind::granted) {
        watches_before_ = watches_before_ && v.ticket == before_;
        before_ = v.ticket;
        is_first_ = before_ == 0;
        first_since_ = is_first_ ? std::min(first_since_, now) : never;
    }
    return answered(v, now);
}

queue_ticket::step queue_ticket::on_before(const vote& v, time_point now) {
    before_is_gone_ = v.kind == vote_kind::denied && v.key == key_state::absent;
    watches_before_ = !before_is_gone_;
    before_renews_ =
        run_out(v.remaining, joined_) - settings_.ttl() / 2;  // see `queue_ticket_settings`
    return answered(v, now);
}

queue_ticket::step queue_ticket::on_lock(const vote& v, time_point now) {
    lock_is_free_ = v.kind == vote_kind::denied && v.key == key_state::absent;
    watches_lock_ = !lock_is_free_;
    lock_end_ = run_out(v.remaining, now);
    return answered(v, now);
}

queue_ticket::step queue_ticket::answered(const vote& v, time_point now) {
    failed_ = failed_ || v.kind == vote_kind::failed;
    --unanswered_;
    return unanswered_ == 0 ? settle(now) : wait(advice::none);
}

/// All that was asked is answered.
queue_ticket::step queue_ticket::settle(time_point now) {
    if (failed_) {
        return wait(advice::broken);
    }
    if (attempting_) {
        return wait(advice::none);
    }
    if (again_) {
        return begin(look::yes, now);
    }
    const bool looked = std::exchange(looks_, false);
    const bool is_free = std::exchange(lock_is_free_, false);
    if (!is_first_) {
        was_denied_ = false;
        if (std::exchange(before_is_gone_, false)) {
            return begin(look::yes, now);
        }
        if (looked && is_free) {
            return give_turn(advice::turn);
        }
        if (!watches_before_) {
            step what;
            what.ask_before = true;
            return ask(what, now);
        }
        return wait(advice::wait);
    }
    if (was_denied_) {
        return give_turn(advice::on_its_own);
    }
    if (is_free) {
        return give_turn(advice::turn);
    }
    if (!watches_lock_) {
        step what;
        what.ask_lock = true;
        return ask(what, now);
    }
    return wait(advice::wait);
}

queue_ticket::step queue_ticket::give_turn(advice what) {
    attempting_ = true;
    was_denied_ = false;
    return wait(what);
}

queue_ticket::step queue_ticket::wait(advice what) {
    step result;
    result.advice = what;
    if (leave_at_ != never) {
        result.until = leave_at_;
    } else if (join_at_ != never) {
        result.until = join_at_;
    } else if (unanswered_ != 0) {
        result.until = asked_ + settings_.refresh;
    } else {
        result.until = std::min(joined_ + settings_.refresh, next_look());
    }
    return result;
}

/// When the first does not wait any longer to be told of the lock.
time_point queue_ticket::next_look() const noexcept {
    return is_first_ && !attempting_ ? std::min(first_since_ + settings_.refresh, lock_end_)
                                     : never;
}

queue_ticket::step queue_ticket::lock_changed(time_point now) {
    watches_lock_ = false;
    lock_end_ = never;
    if (is_first_) {
        count_change(now);
    }
    if (attempting_ || !is_first_) {
        return wait(advice::none);
    }
    if (unanswered_ != 0) {
        return changed(now);
    }
    return give_turn(advice::turn);
}

void queue_ticket::count_change(time_point now) {
    changes_ = changes_ != 0 && now - changed_ < settings_.quick_succession ? changes_ + 1 : 1;
    changed_ = now;
}

bool queue_ticket::must_poll(time_point now) const noexcept {
    return attempting_ && is_first_ && changes_ >= settings_.changes_in_vain &&
           now - changed_ < settings_.quick_succession;
}

queue_ticket::step queue_ticket::before_changed(time_point now) {
    watches_before_ = false;
    if (!attempting_ && unanswered_ == 0 && now < before_renews_) {
        guessed_ = true;
        return give_turn(advice::turn);
    }
    return changed(now);
}

queue_ticket::step queue_ticket::all_changed(time_point now) {
    watches_before_ = watches_lock_ = false;
    lock_end_ = never;
    return changed(now);
}

queue_ticket::step queue_ticket::changed(time_point now) {
    if (unanswered_ != 0) {
        again_ = true;
        return wait(advice::none);
    }
    return attempting_ ? wait(advice::none) : begin(look::yes, now);
}

queue_ticket::step queue_ticket::on_time(time_point now) {
    if (leave_at_ != never) {
        return wait(now < leave_at_ ? advice::none : advice::over);
    }
    if (join_at_ != never) {
        return now < join_at_ ? wait(advice::none) : begin(look::no, now);
    }
    if (unanswered_ != 0) {
        return wait(now < asked_ + settings_.refresh ? advice::none : advice::broken);
    }
    if (now >= next_look()) {
        return give_turn(advice::turn);
    }
    if (now >= joined_ + settings_.refresh) {
        looks_ = true;
        return begin(look::yes, now);
    }
    return wait(advice::none);
}

}  // namespace colock::core
