#include "core/lease.hpp"

#include <algorithm>
#include <cassert>

namespace colock::core {

using purpose = lease_tag::purpose_type;

lease::action lease::start(bool contended) {
    action result = action::send(step::acquire, lease_tag(purpose::acquire), ttl_);
    result.contended = contended;
    return result;
}

lease::action lease::raise(std::uint64_t fence) {
    assert(phase_ == phase::acquiring);
    fence_ = fence;
    return action::send(step::confirm, lease_tag(purpose::raise), {}, instance_set::all(), fence);
}

lease::action lease::hold(time_point valid_until, time_point now, std::uint64_t fence) {
    assert(phase_ == phase::acquiring);
    phase_ = phase::held;
    fence_ = fence;
    was_held_ = true;
    awaited_ = false;

    renew_settings settings;
    settings.instances = settings_->instances;
    settings.ttl = settings_->ttl;
    settings.interval = settings_->renew_interval;
    if (settings_->spread_renewals) {
        std::uint64_t random = seed_;
        settings.first =
            backoff{settings.interval, settings.interval}.delay(0, next_random(random));
        settings.grid = settings.interval / 256;
    }
    settings.drift = settings_->drift;
    settings.instance_timeout = settings_->instance_timeout;
    settings.max_hold = settings_->max_hold;
    machine_.emplace<renew>(settings, now, valid_until);
    return perform(renewing().resume(renew::event::start(), now), now);
}

lease::action lease::give_back(time_point now) {
    assert(phase_ == phase::acquiring);
    return begin_release(now, time_point::min());
}

lease::action lease::extend(duration ttl, time_point now) {
    if (phase_ != phase::held) {
        return action::wait(never);
    }
    return perform(renewing().resume(renew::event::extend(ttl), now), now);
}

lease::action lease::release(time_point now) {
    if (phase_ != phase::held && phase_ != phase::lost) {
        return action::wait(never);
    }
    return begin_release(now, promised_until());
}

lease::action lease::close(time_point now) {
    if (phase_ == phase::handing_off) {
        return begin_release(now, promised_until());
    }
    if (phase_ != phase::held) {
        return action::wait(never);
    }
    return lose(loss::closed);
}

lease::action lease::begin_handoff(time_point now) {
    assert(may_hand_off(now) && settings_->fencing);
    phase_ = phase::handing_off;
    handoff_ = std::make_unique<handoff_round>(settings_->instances);
    return ask_for_fence(0, now);
}

lease::action lease::ask_for_fence(std::uint64_t at_least, time_point now) {
    handoff_->votes.clear();
    handoff_->timeout = now + settings_->instance_timeout;
    handoff_number_ = (handoff_number_ + 1) % renew::round_numbers;
    return action::send(step::confirm, lease_tag(purpose::count, handoff_number_), {},
                        instance_set::all(), at_least);
}

/// Passes it on, or releases it, as soon as the votes that are still out cannot change which.
lease::action lease::decide_handoff(time_point now) {
    if (now >= handoff_->timeout) {
        handoff_->votes.fail_silent(failure::timeout);
    }
    if (handoff_->votes.impossible() || now >= watchdog().loss_time()) {
        return begin_release(now, promised_until());
    }
    if (!handoff_->votes.won()) {
        return perform(renewing().resume(renew::event::timer(), now), now);
    }
    if (!handoff_->writes_back && !handoff_->fences.agreed()) {
        handoff_->writes_back = true;
        return ask_for_fence(handoff_->fences.largest(), now);
    }
    phase_ = phase::held;
    fence_ = handoff_->fences.largest();
    handoff_.reset();
    hand_off(now);
    return action::just(action::kind_type::handed_off);
}

lease::action lease::lose(loss why) {
    phase_ = phase::lost;
    lost_ = why;
    return action::lost(why);
}

/// The holder has not let go of a lost lease: it keeps its keys until its validity has ended.
lease::action lease::wait_for_holder(time_point now) {
    const time_point end = watchdog().valid_until();
    return now < end ? action::wait(end) : begin_release(now, promised_until());
}

/// Until when the keys should have been there. For a lease that was lost because they were not: always.
time_point lease::promised_until() const noexcept {
    return lost_ == loss::keys_gone ? never : watchdog().valid_until();
}

bool lease::may_hand_off(time_point now) const noexcept {
    return phase_ == phase::held && settings_->renew_interval > duration::zero() &&
           ttl_ == settings_->ttl && watchdog().undisturbed() &&
           watchdog().ttl() == settings_->ttl &&
           watchdog().valid_until() - now >= settings_->ttl / 2;
}

lease::action lease::on_vote(std::size_t index, lease_tag tag, const vote& v, time_point now) {
    if (renewed() && tag.purpose() == purpose::extend) {
        awaited_by_writer_ = awaited_by_writer_ || v.key == key_state::awaited;
        return perform(renewing().resume(renew::event::voted(index, tag.round(), v), now), now);
    }
    if (phase_ == phase::handing_off && tag.purpose() == purpose::count) {
        if (tag.round() == handoff_number_ && handoff_->votes.record(index, v) &&
            v.kind == vote_kind::granted && !handoff_->writes_back) {
            handoff_->fences.add(v.fence);
        }
        return decide_handoff(now);
    }
    if (phase_ == phase::releasing && tag.purpose() == purpose::release) {
        // Not sent, since by then there was no need.
        const bool needless = v.kind == vote_kind::failed && keys_[index] == belief::no;
        return perform(giving_back().resume(
            core::release::event::voted(index, needless ? vote::denied(key_state::absent) : v),
            now));
    }
    if (phase_ == phase::releasing &&
        (tag.purpose() == purpose::acquire || tag.purpose() == purpose::heal)) {
        return perform(giving_back().resume(note_late_grant(index, v)
                                                ? core::release::event::late_grant(index)
                                                : core::release::event::timer(),
                                            now));
    }
    return action::wait(never);
}

lease::action lease::on_accepting(std::size_t index, time_point now) {
    if (phase_ == phase::releasing) {
        return perform(giving_back().resume(core::release::event::accepting(index), now));
    }
    return action::wait(never);
}

lease::action lease::on_time(time_point now) {
    if (phase_ == phase::held) {
        return perform(renewing().resume(renew::event::timer(), now), now);
    }
    if (phase_ == phase::handing_off) {
        return decide_handoff(now);
    }
    if (phase_ == phase::lost) {
        return wait_for_holder(now);
    }
    if (phase_ == phase::releasing) {
        return perform(giving_back().resume(core::release::event::timer(), now));
    }
    return action::wait(never);
}

lease::action lease::next(time_point now) {
    switch (phase_) {
        case phase::acquiring:
            break;
        case phase::held:
        case phase::handing_off:
            return perform(renewing().resume(renew::event::done(), now), now);
        case phase::lost:
            return wait_for_holder(now);
        case phase::releasing:
            return perform(giving_back().resume(core::release::event::done(), now));
        case phase::ended:
            break;
    }
    return action::wait(never);
}

void lease::disconnect() noexcept {
    phase_ = phase::ended;
    if (!outcome_) {
        outcome_ = outcome_to_tell(release_outcome::no_quorum);
    }
}

bool lease::may_have_keys() const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [](belief b) { return b != belief::no; });
}

/// Leaves the phases of acquiring, holding and having lost for good.
lease::action lease::begin_release(time_point now, time_point valid_until) {
    phase_ = phase::releasing;
    handoff_.reset();
    release_settings settings;
    settings.instances = settings_->instances;
    settings.instance_timeout = settings_->instance_timeout;
    settings.retry = settings_->release_retry;
    settings.valid_until = valid_until;
    settings.gone_at = gone_at(now, ttl_, settings_->drift);
    settings.longest_life = settings.gone_at - now;
    auto& machine = machine_.emplace<core::release>(settings, seed_);
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        if (keys_[i] != belief::no) {
            machine.concern(i);
            if (open_.contains(i)) {
                machine.leave_open(i);
            }
        }
    }
    return perform(machine.resume(core::release::event::start(), now));
}

lease::action lease::perform(const renew::action& a, time_point now) {
    using kind = renew::action::kind_type;
    switch (a.kind) {
        case kind::wait:
            break;
        case kind::send:
            ttl_ = std::max(ttl_, watchdog().ttl());
            return action::send(step::extend, lease_tag(purpose::extend, watchdog().round_number()),
                                watchdog().ttl());
        case kind::heal:
            // With fencing it carries the fence: an instance that has lost the key may have lost the
            // counter too, and must not grant less than our fence to whoever comes after us, as one
            // of the majority that knows it. What the counter is then matters to nobody now: a fence
            // never changes while the lease is held.
            keys_[a.index] = belief::maybe;
            open_.add(a.index);
            return action::send(step::acquire, lease_tag(purpose::heal), watchdog().ttl(),
                                instance_set::only(a.index), fence_);
        case kind::extended:
            return action::extended(a.success);
        case kind::lost:
            return phase_ == phase::handing_off ? begin_release(now, promised_until())
                                                : lose(a.why);
    }
    return action::wait(handoff_ ? std::min(a.time, handoff_->timeout) : a.time);
}

lease::action lease::perform(const core::release::action& a) {
    using kind = core::release::action::kind_type;
    switch (a.kind) {
        case kind::send:
            return action::send(step::release, lease_tag(purpose::release), {},
                                giving_back().wanted());
        case kind::wait:
            break;
        case kind::resolved:
            outcome_ = outcome_to_tell(a.outcome);
            return action::just(action::kind_type::resolved);
        case kind::ended:
            phase_ = phase::ended;
            return action::just(action::kind_type::ended);
    }
    return action::wait(a.time);
}

/// A lease that was lost had ended before it was given back; and mostly its validity is over by then,
/// whether anybody answers or not.
release_outcome lease::outcome_to_tell(release_outcome outcome) const noexcept {
    const bool was_lost = lost_ != loss::none;
    const bool over = was_lost && lost_ != loss::max_hold && lost_ != loss::closed;
    if ((was_lost && outcome == release_outcome::released) ||
        (over && outcome == release_outcome::no_quorum)) {
        return release_outcome::expired;
    }
    return outcome;
}

}  // namespace colock::core
