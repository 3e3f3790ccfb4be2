// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/renew.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {
namespace {

/// Scales an interval in proportion to the new ttl. The result is not 0, which would mean "never".
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

/// Returns when the round was sent that granted a lease until `valid_until`.
time_point sent_of(time_point valid_until, const renew_settings& settings) {
    return valid_until - (settings.ttl - settings.drift.of(settings.ttl));
}

}  // namespace

renew::renew(const renew_settings& settings, time_point granted_at, time_point valid_until)
    : settings_(settings),
      granted_at_(granted_at),
      valid_until_(valid_until),
      notice_(loss_notice(settings.ttl, settings.loss_margin)),
      round_ttl_(settings.ttl) {
    plan(settings.first > duration::zero() ? settings.first : settings.interval,
         sent_of(valid_until, settings), granted_at);
}

lease_step renew::resume(const event& e, time_point now) {
    const time_point was_due = due();
    lease_step step = go_on(e, now);
    if (step.lost) {
        step.lost_late = std::max(now - was_due, duration::zero());
    }
    return step;
}

lease_step renew::go_on(const event& e, time_point now) {
    using kind = event::kind_type;
    switch (e.kind) {
        case kind::extend:
            wanted_ = e.ttl;
            extend_waits_ = true;
            break;
        case kind::vote:
            // mutant: votes_of_any_round
            if (!round_ || e.round != round_number_) {
                return {};  // The vote is too late for its round.
            }
            round_->votes.record(e.index, *e.vote);
            break;
        case kind::timer:
            if (status_ == status::voting && now >= sent_ + settings_.instance_timeout) {
                round_->votes.fail_silent(failure::timeout);
            }
            break;
    }
    switch (status_) {
        case status::holding:
            return act(now);
        case status::voting:
            return consider(now);
        case status::ended:
            break;
    }
    return {};
}

/// Decides what to do now, if no round is in flight.
lease_step renew::act(time_point now) {
    if (round_ && round_->won && round_->votes.granted() == settings_.instances) {
        round_.reset();  // All its votes are known.
    }
    if (round_ && round_->votes.denied() > spare_of(settings_.instances)) {
        // The denials came only after the round had failed.
        return lose(loss::keys_gone);
    }
    if (now >= loss_time()) {
        return lose(reason_for_loss());
    }
    const instance_set heals = take_healable();
    lease_step step;
    if (std::exchange(extend_waits_, false)) {
        step = begin_round(wanted_, true, now);
        // mutant: never_renews
    } else if (now >= next_renewal_) {
        step = begin_round(settings_.ttl, false, now);
    }
    step.until = due();
    step.heals = heals;
    return step;
}

lease_step renew::begin_round(duration ttl, bool asked_for, time_point now) {
    round_ = std::make_unique<renewal_round>(settings_.instances);
    status_ = status::voting;  // Only now, because an allocation may fail.
    round_number_ = lease_tag::round_after(round_number_);
    round_ttl_ = ttl;
    sent_ = now;
    asked_for_ = asked_for;
    lease_step step;
    step.send = lease_tag(lease_tag::purpose_type::extend, round_number_);
    return step;
}

/// Ends the round if the outstanding votes cannot change its outcome.
lease_step renew::consider(time_point now) {
    // Validity that is over does not return. A shorter ttl that would be over by now does not take effect.
    const time_point in_time = core::valid_until(sent_, round_ttl_, settings_.drift) -
                               loss_notice(round_ttl_, settings_.loss_margin);
    // mutant: no_end_of_validity
    if (round_->votes.won() && now < valid_until_ && now < in_time) {
        return end_round(true, now);
    }
    // mutant: one_denial_is_a_loss
    if (round_->votes.denied() > spare_of(settings_.instances)) {
        return lose(loss::keys_gone);
    }
    if (round_->votes.impossible() || round_->votes.won()) {
        return end_round(false, now);
    }
    if (now >= loss_time()) {
        return lose(reason_for_loss());
    }
    lease_step step;
    step.until = due();
    return step;
}

lease_step renew::end_round(bool success, time_point now) {
    status_ = status::holding;
    round_->won = success;
    if (success) {
        ++won_;
        failed_in_a_row_ = 0;
        if (round_ttl_ != settings_.ttl) {  // Keep renewing at the same fraction of the new ttl.
            settings_.interval = scaled(settings_.interval, settings_.ttl, round_ttl_);
            settings_.ttl = round_ttl_;
        }
        // The validity may also become shorter: a key that was healed in the meantime lives no longer.
        // mutant: renewal_from_the_reply
        valid_until_ = core::valid_until(sent_, round_ttl_, settings_.drift);
        notice_ = loss_notice(round_ttl_, settings_.loss_margin);
        plan(settings_.interval, sent_, now);
    } else {
        ++failed_;
        round_ttl_ = settings_.ttl;
        if (settings_.interval > duration::zero()) {
            // Soon at first, then less often: after 1/32, 1/16, and at most 1/8 of the interval. Sooner if
            // little is left.
            const auto shift = std::min<std::uint32_t>(failed_in_a_row_, 2);
            next_renewal_ =
                now + std::min(settings_.interval / (32 >> shift), (valid_until_ - now) / 4);
        }
        ++failed_in_a_row_;
    }
    const bool was_asked_for = asked_for_;
    lease_step step = act(now);
    if (was_asked_for) {
        step.extended = success;
    }
    return step;
}

/// Plans the next renewal: `after_sent` after the granted round was sent, or sooner if rounds are slow.
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

lease_step renew::lose(loss why) {
    status_ = status::ended;
    lease_step step;
    step.lost = why;
    return step;
}

time_point renew::loss_time() const noexcept {
    return std::min(valid_until_ - notice_, max_hold_loss_time());
}

time_point renew::max_hold_loss_time() const noexcept {
    const time_point end = max_hold_end();
    return end == never ? never
                        : end - loss_notice(std::min(settings_.ttl, settings_.max_hold),
                                            settings_.loss_margin);
}

/// Returns why the lease is lost at `loss_time`.
loss renew::reason_for_loss() const {
    if (max_hold_loss_time() == loss_time()) {
        return loss::max_hold;
    }
    return settings_.interval == duration::zero() ? loss::expired : loss::unrenewable;
}

/// Returns the instances without the key in a round that succeeded. It returns each of them once.
instance_set renew::take_healable() {
    instance_set result;
    // mutant: heals_before_quorum
    if (!round_ || !round_->won) {
        return result;
    }
    for (std::size_t i = 0; i != round_->votes.instances(); ++i) {
        const std::optional<vote> v = round_->votes.vote_of(i);
        if (!round_->healed.contains(i) && v && is_absent(*v)) {
            round_->healed.add(i);
            result.add(i);
        }
    }
    return result;
}

}  // namespace colock::core
