#include "core/renew.hpp"

#include <algorithm>
#include <cassert>

namespace colock::core {
namespace {

/// What is to a new ttl as an interval is to the ttl. Not 0, which would be "never", however short.
duration scaled(duration interval, duration ttl, duration new_ttl) {
    if (interval == duration::zero()) {
        return interval;
    }
    constexpr duration shortest = milliseconds(1);
    const double ratio = static_cast<double>(new_ttl.count()) / static_cast<double>(ttl.count());
    return std::max(
        shortest,
        duration(static_cast<duration::rep>(static_cast<double>(interval.count()) * ratio)));
}

/// When the round was sent that granted a lease until `valid_until`.
time_point sent_of(time_point valid_until, const renew_settings& settings) {
    return valid_until - (settings.ttl - settings.drift.of(settings.ttl));
}

}  // namespace

renew::renew(const renew_settings& settings, time_point granted_at, time_point valid_until)
    : settings_(settings),
      granted_at_(granted_at),
      valid_until_(valid_until),
      notice_(loss_notice(settings.ttl)),
      round_ttl_(settings.ttl) {
    plan(settings.first > duration::zero() ? settings.first : settings.interval,
         sent_of(valid_until, settings), granted_at);
}

renew::action renew::resume(const event& e, time_point now) {
    using kind = event::kind_type;
    if (e.kind == kind::stop) {
        state_ = state::ended;
    } else if (e.kind == kind::extend) {
        wanted_ = e.ttl;
    }
    switch (state_) {
        case state::holding:
            if (e.kind == kind::vote) {
                return on_vote(e, now);
            }
            return next(now);

        case state::sending:
            assert(e.kind == kind::done);
            state_ = state::voting;
            return consider(now);

        case state::voting:
            if (e.kind == kind::vote) {
                return on_vote(e, now);
            }
            if (now >= sent_ + settings_.instance_timeout) {
                round_->votes.fail_silent(failure::timeout);
            }
            return consider(now);

        case state::ended:
            break;
    }
    return action::wait(never);
}

/// What a lease with no round in flight has to do now.
renew::action renew::next(time_point now) {
    if (round_ && round_->won && round_->votes.granted() == settings_.instances) {
        round_.reset();  // there is nothing more to learn from it
    }
    if (answer_) {
        const bool success = *answer_;
        answer_.reset();
        return action::extended(success);
    }
    if (round_ && round_->votes.denied() > spare_of(settings_.instances)) {
        // Known only after the round had failed.
        return lose(loss::keys_gone);
    }
    if (now >= loss_time()) {
        return lose(reason_for_loss());
    }
    if (const auto index = take_healable()) {
        return action::heal(*index);
    }
    if (wanted_) {
        const duration ttl = *wanted_;
        wanted_.reset();
        return begin_round(now, ttl, true);
    }
    if (now >= next_renewal_) {
        return begin_round(now, settings_.ttl, false);
    }
    return action::wait(std::min(next_renewal_, loss_time()));
}

renew::action renew::begin_round(time_point now, duration ttl, bool asked_for) {
    state_ = state::sending;
    round_ = std::make_unique<renewal_round>(settings_.instances);
    round_number_ = (round_number_ + 1) % round_numbers;
    round_ttl_ = ttl;
    sent_ = now;
    asked_for_ = asked_for;
    return action::send();
}

renew::action renew::on_vote(const event& e, time_point now) {
    if (round_ && e.round == round_number_) {
        round_->votes.record(e.index, e.vote);
    }
    return state_ == state::voting ? consider(now) : next(now);
}

/// Ends the round if the votes that are still out cannot change how.
renew::action renew::consider(time_point now) {
    // What is over does not come back; and a shorter ttl that would be over by now does not take hold.
    const time_point in_time =
        core::valid_until(sent_, round_ttl_, settings_.drift) - loss_notice(round_ttl_);
    if (round_->votes.won() && now < valid_until_ && now < in_time) {
        return end_round(true, now);
    }
    if (round_->votes.denied() > spare_of(settings_.instances)) {
        return lose(loss::keys_gone);
    }
    if (round_->votes.impossible() || round_->votes.won()) {
        return end_round(false, now);
    }
    if (now >= loss_time()) {
        return lose(reason_for_loss());
    }
    return action::wait(std::min(sent_ + settings_.instance_timeout, loss_time()));
}

renew::action renew::end_round(bool success, time_point now) {
    state_ = state::holding;
    round_->won = success;
    if (success) {
        ++won_;
        failed_in_a_row_ = 0;
        if (round_ttl_ != settings_.ttl) {  // keep renewing at the same fraction of the new ttl
            settings_.interval = scaled(settings_.interval, settings_.ttl, round_ttl_);
            settings_.ttl = round_ttl_;
        }
        // Also if that is sooner: a key that was healed meanwhile lives no longer.
        valid_until_ = core::valid_until(sent_, round_ttl_, settings_.drift);
        notice_ = loss_notice(round_ttl_);
        plan(settings_.interval, sent_, now);
    } else {
        ++failed_;
        round_ttl_ = settings_.ttl;
        if (settings_.interval > duration::zero()) {
            // Soon at first, then less often: 1/32, 1/16, at most 1/8 of the interval; sooner when
            // little is left.
            const auto shift = std::min<std::uint32_t>(failed_in_a_row_, 2);
            next_renewal_ =
                now + std::min(settings_.interval / (32 >> shift), (valid_until_ - now) / 4);
        }
        ++failed_in_a_row_;
    }
    if (asked_for_) {
        answer_ = success;
    }
    return next(now);
}

/// The next renewal: so long after the round that was granted, or sooner where rounds are slow.
void renew::plan(duration after_sent, time_point sent, time_point granted) {
    if (settings_.interval == duration::zero()) {
        next_renewal_ = never;
        return;
    }
    const duration round_trip = granted - sent;
    next_renewal_ = std::min(sent + after_sent, valid_until_ - notice_ - 2 * round_trip);
    if (settings_.grid > duration::zero()) {
        next_renewal_ -= next_renewal_.time_since_epoch() % settings_.grid;
    }
}

renew::action renew::lose(loss why) {
    state_ = state::ended;
    return action::lost(why);
}

time_point renew::loss_time() const noexcept {
    return std::min(valid_until_ - notice_, max_hold_loss_time());
}

time_point renew::max_hold_loss_time() const noexcept {
    const time_point end = max_hold_end();
    return end == never ? never : end - loss_notice(std::min(settings_.ttl, settings_.max_hold));
}

/// Why it is lost at `loss_time`.
loss renew::reason_for_loss() const {
    if (max_hold_loss_time() == loss_time()) {
        return loss::max_hold;
    }
    return settings_.interval == duration::zero() ? loss::expired : loss::unrenewable;
}

/// An instance that was found without the key in a round that won, once each.
std::optional<std::size_t> renew::take_healable() {
    if (!round_ || !round_->won) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i != round_->votes.instances(); ++i) {
        const std::optional<vote> v = round_->votes.vote_of(i);
        if (!round_->healed[i] && v && v->kind == vote_kind::denied &&
            v->key == key_state::absent) {
            round_->healed[i] = true;
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace colock::core
