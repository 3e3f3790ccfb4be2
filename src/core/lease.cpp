// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

lease_step lease::resume(const event& e, time_point now) {
    learn(e);
    switch (status_) {
        case status::attempting:
        case status::raising:
            return on_attempt(e, now);
        case status::held:
        case status::sharing:
        case status::resharing:
            return on_held(e, now);
        case status::counting:
        case status::recounting:
            return on_handing_off(e, now);
        case status::lost:
            return on_lost(e, now);
        case status::releasing:
            return on_releasing(e, now);
        case status::ended:
            break;
    }
    return {};
}

/// Updates whether an instance has the key, after its vote on an acquire, an adoption or a heal.
void lease::learn(const event& e) noexcept {
    const purpose what = e.tag.purpose();
    const bool is_attempt = what == purpose::acquire || what == purpose::retake;
    if (e.kind == kind::vote && what == purpose::adopt && e.vote->kind != vote_kind::failed) {
        // An instance that denies may have granted other values, or may have some of several keys.
        keys_[e.index] = e.vote->kind == vote_kind::granted ? belief::yes : belief::maybe;
    }
    if (e.kind != kind::vote || (!is_attempt && what != purpose::heal)) {
        return;
    }
    const vote& v = *e.vote;
    if (what == purpose::retake && e.tag == latest_) {
        learn_from_retake(e.index, v);
        return;
    }
    const bool is_final = !is_outdated(e.tag);
    if (v.kind == vote_kind::granted) {
        keys_[e.index] = belief::yes;
        // mutant: multi_partial_is_no
    } else if (v.kind == vote_kind::denied && v.key == key_state::partial) {
        keys_[e.index] = belief::maybe;
        // mutant: unknown_is_no
    } else if (is_attempt && is_final &&
               (v.kind == vote_kind::denied || !outcome_unknown(v.reason))) {
        keys_[e.index] = belief::no;
    }
    if (is_final && !may_execute_later(v)) {
        open_.remove(e.index);
    }
}

/// Updates the same after a retake. If the retake was not executed, the result of an earlier round remains.
void lease::learn_from_retake(std::size_t index, const vote& v) noexcept {
    belief& its = keys_[index];
    if (v.kind != vote_kind::failed) {
        its = v.kind == vote_kind::granted ? belief::yes : belief::no;
        open_.remove(index);
    } else if (outcome_unknown(v.reason)) {
        if (!may_execute_later(v)) {
            open_.remove(index);
        }
    } else if (its == belief::otherwise_no || its == belief::otherwise_yes) {
        // mutant: unsent_retake_is_an_answer
        its = its == belief::otherwise_no ? belief::no : belief::yes;
        open_.remove(index);
    }
}

/// Returns whether the instance was sent another acquire after this one.
bool lease::is_outdated(lease_tag tag) const noexcept {
    return latest_.purpose() == purpose::retake && tag.purpose() != purpose::heal && tag != latest_;
}

/// Prepares for an acquire that an instance is about to be sent.
void lease::expect_acquire(std::size_t index) noexcept {
    // mutant: heal_not_given_back
    keys_[index] = belief::maybe;
    open_.add(index);
}

/// Prepares for a retake that an instance is about to be sent.
void lease::expect_retake(std::size_t index) noexcept {
    const belief before = keys_[index];
    const bool is_closed = !open_.contains(index);
    expect_acquire(index);
    if (before == belief::no) {
        keys_[index] = belief::otherwise_no;
    } else if (before == belief::yes && is_closed) {
        keys_[index] = belief::otherwise_yes;
    }
}

step lease::step_of(lease_tag tag) noexcept {
    switch (tag.purpose()) {
        case purpose::acquire:
        case purpose::heal:
        case purpose::retake:
            return step::acquire;
        // mutant: adopted_by_an_acquire
        case purpose::adopt:
        case purpose::extend:
            return step::extend;
        case purpose::release:
            return step::release;
        case purpose::remaining:
            break;
        case purpose::raise:
        case purpose::next_value:
            return step::confirm;
    }
    return step::remaining;
}

void lease::fill(command& c, lease_tag tag) const noexcept {
    c.step = step_of(tag);
    duration ttl{};
    switch (tag.purpose()) {
        case purpose::acquire:
            c.contended = attempt_.contended;
            c.announces = attempt_.announces;
            ttl = settings_->ttl;
            break;
        case purpose::retake:
            c.contended = attempt_.contended;
            c.announces = false;
            c.value = next_value_;
            c.values = lists_.empty() ? nullptr : lists_.back().get();
            ttl = settings_->ttl;
            break;
        case purpose::heal:
            // It carries the value. An instance that has lost the key may also have lost its fence counter.
            // As one of the majority that stores the fence, it must not grant a smaller one later. The
            // counter after the heal does not matter now: a fence never changes while the lease is held.
            c.heals = true;
            c.value = value_;
            c.values = values_;
            ttl = watchdog().ttl_in_force();
            break;
        case purpose::adopt:
        case purpose::extend:
            c.value = value_;
            c.values = values_;
            ttl = acquiring() ? settings_->ttl : watchdog().ttl();
            break;
        case purpose::release:
        case purpose::remaining:
            break;
        case purpose::raise:
        case purpose::next_value:
            c.value = next_value_;
            break;
    }
    c.ttl = std::chrono::duration_cast<milliseconds>(ttl);
}

bool lease::wanted(std::size_t index, lease_tag tag) const noexcept {
    switch (tag.purpose()) {
        case purpose::acquire:
        case purpose::adopt:
        case purpose::raise:
        case purpose::retake:
            // mutant: acquire_after_give_back
            return acquiring() || renewed();
        case purpose::release:
            return keys_[index] != belief::no;
        case purpose::next_value:
            return counts();
        case purpose::remaining:
            return true;
        case purpose::extend:
        case purpose::heal:
            // mutant: abandoned_is_renewed
            break;
    }
    // mutant: extend_after_release
    return renewed();  // these stop strictly before the release
}

instance_set lease::without_key() const {
    instance_set result;
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        if (keys_[i] != belief::yes) {
            result.add(i);
        }
    }
    return result;
}

// --- The attempt ------------------------------------------------------------------------------------

lease_step lease::on_attempt(const event& e, time_point now) {
    switch (e.kind) {
        case kind::start:
            return begin_attempt(e, now);
        case kind::accepting:
            accepting_.add(e.index);
            return {};
        case kind::give_up:
            return adopts() ? abandon() : begin_release(time_point::min(), now);
        case kind::vote:
            // mutant: vote_of_an_older_round_counts
            if (e.tag != latest_ || !votes_.record(e.index, *e.vote)) {
                return {};
            }
            is_announced_ = is_announced_ || (adopts() && e.vote->key == key_state::announced);
            return decide_attempt(now);
        case kind::timer:
            if (status_ == status::raising && now >= useful_until()) {
                return fail(acquire_outcome::too_slow, now);
            }
            // mutant: waits_for_the_silent
            if (now >= asked_ + settings_->instance_timeout) {
                votes_.fail_silent(failure::timeout);
            } else if (now >= round_end()) {
                // The caller's deadline has passed, but silent instances still have time, and may grant. Another
                // client is known to hold the key only if an earlier attempt was denied too.
                // mutant: silence_is_a_denial
                return fail(attempt_.contended && votes_.denied() != 0 ? acquire_outcome::contended
                                                                       : acquire_outcome::no_quorum,
                            now);
            }
            return decide_attempt(now);
        default:
            return {};
    }
}

lease_step lease::begin_attempt(const event& e, time_point now) {
    attempt_ = *e.attempt;
    sent_ = now;
    if (attempt_.adopted != nullptr) {
        value_ = attempt_.adopted->value;
        values_ = keep_list(std::string(attempt_.adopted->values));
        ttl_ = std::max(ttl_, attempt_.adopted->ttl);
        // mutant: adopted_without_an_extend
        open_ = {};  // an extend makes no key
        return begin_round(purpose::adopt, now);
    }
    return begin_round(purpose::acquire, now);
}

lease_step lease::begin_round(purpose what, time_point now) {
    latest_ =
        lease_tag(what, what == purpose::acquire ? 0 : lease_tag::round_after(latest_.round()));
    votes_.clear();
    asked_ = now;
    stragglers_until_ = never;
    lease_step step;
    step.send = latest_;
    step.until = acquiring() ? round_end() : std::min(round_end(), watchdog().due());
    return step;
}

/// Ends the attempt if the outstanding votes cannot change its outcome. When a lease is adopted, an instance
/// that has not replied may have its key. That lease is therefore lost only if so many instances have denied
/// that no quorum can have it.
lease_step lease::decide_attempt(time_point now) {
    // mutant: contended_in_spite_of_a_quorum, majority_of_the_granted
    if (votes_.won()) {
        // mutant: too_slow_is_believed
        if (now >= useful_until()) {  // it would be lost at once
            return fail(acquire_outcome::too_slow, now);
        }
        return adopts() ? hold(core::valid_until(sent_, settings_->ttl, settings_->drift), now)
                        : agree_on_value(now);
    }
    if (votes_.impossible() && !may_meet_record()) {
        const bool is_lost = adopts() && votes_.denied() > spare_of(votes_.instances());
        // mutant: adopted_lease_lost_too_soon
        const bool is_denied = adopts() ? is_lost : !votes_.unreachable();
        return fail(is_denied ? acquire_outcome::contended : acquire_outcome::no_quorum, now);
    }
    lease_step step;
    step.until = round_end();
    return step;
}

/// Returns whether the outstanding votes decide if a quorum has a record, possibly with the grants of this
/// attempt.
bool lease::may_meet_record() const {
    if (votes_.silent() == 0) {
        return false;
    }
    const std::size_t count = votes_.record().count;
    const std::size_t quorum = quorum_of(votes_.instances());
    return count != 0 && count + votes_.granted() < quorum &&
           count + votes_.granted() + votes_.silent() >= quorum;
}

/// Continues after a quorum has granted: holds the lease if the values agree, or begins another round.
lease_step lease::agree_on_value(time_point now) {
    const bool is_raised = status_ == status::raising && settings_->agreement == agreement::largest;
    agreed_value agreed =
        is_raised ? agreed_value{.value = next_value_} : agree(settings_->agreement, votes_);
    // mutant: no_second_round
    if (agreed.reached) {
        value_ = agreed.value;
        values_ = keep_list(std::move(agreed.values));
        // mutant: validity_from_the_reply
        return hold(core::valid_until(sent_, settings_->ttl, settings_->drift), now);
    }
    if (agreed.may_be_reached) {  // As long again as the quorum took.
        stragglers_until_ = std::min(stragglers_until_, now + (now - asked_));
        if (now < stragglers_until_) {
            lease_step step;
            step.until = std::min(round_end(), stragglers_until_);
            return step;
        }
    }
    keep_list(std::move(agreed.values));
    return raise(agreed.value, now);
}

/// Stores a list, because commands refer to it until the lease is destroyed.
const std::string* lease::keep_list(std::string&& list) {
    if (list.empty()) {
        return nullptr;
    }
    return lists_.emplace_back(std::make_unique<const std::string>(std::move(list))).get();
}

/// Returns whether the values of an instance's grant differ from those of the lease.
bool lease::has_other_value(std::uint64_t value, const std::string* list) const noexcept {
    const bool is_same_list =
        list == nullptr || values_ == nullptr ? list == values_ : *list == *values_;
    return value != value_ || !is_same_list;
}

/// Asks for at least this value. Instances that have not granted are asked as well: they may do so at any
/// time.
lease_step lease::raise(std::uint64_t value, time_point now) {
    constexpr std::uint32_t most_rounds = 8;  // An attempt without competitors needs at most three.
    // mutant: second_round_from_the_reply
    status_ = status::raising;
    next_value_ = value;
    if (settings_->agreement == agreement::largest) {
        return begin_round(purpose::raise, now);
    }
    if (latest_.round() == most_rounds) {
        return fail(acquire_outcome::contended, now);
    }
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        expect_retake(i);
    }
    return begin_round(purpose::retake, now);
}

/// Returns when to stop waiting for votes: after the timeout of an instance. An attempt also stops at the
/// caller's deadline, unless that had passed before the attempt began. A second round also stops when the
/// lease would already be over.
time_point lease::round_end() const noexcept {
    const time_point timeout = asked_ + settings_->instance_timeout;
    if (!acquiring()) {
        return timeout;
    }
    const time_point end =
        attempt_.deadline <= sent_ ? timeout : std::min(timeout, attempt_.deadline);
    return status_ == status::raising ? std::min(end, useful_until()) : end;
}

/// Returns when a lease by this attempt would be reported lost. A grant after this time is too late.
time_point lease::useful_until() const noexcept {
    return core::valid_until(sent_, settings_->ttl, settings_->drift) -
           loss_notice(settings_->ttl, settings_->loss_margin);
}

lease_step lease::fail(acquire_outcome why, time_point now) {
    lease_step step = adopts() ? abandon() : begin_release(time_point::min(), now);
    step.attempt = why;
    return step;
}

// --- The holder -------------------------------------------------------------------------------------

lease_step lease::hold(time_point valid_until, time_point now) {
    status_ = status::held;
    was_held_ = true;

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
    settings.loss_margin = settings_->loss_margin;
    part_.emplace<renew>(settings, now, valid_until);
    lease_step step = keep(renew::event::timer(), now);
    step.attempt = acquire_outcome::granted;
    const bool is_complete = votes_.failed() == 0 && accepting_.empty();
    for (std::size_t i = 0; !is_complete && i != keys_.size(); ++i) {
        if (votes_.has_failed(i) && votes_.vote_of(i)->reason == failure::down) {
            unconnected_.add(i);
        }
        if (accepting_.contains(i) && !restore(i, now).heals.empty()) {
            step.heals.add(i);
        }
    }
    if (settings_->agreement == agreement::same && !adopts()) {
        for (std::size_t i = 0; i != keys_.size(); ++i) {
            // mutant: wrong_number_stays
            if (votes_.has_granted(i) && has_other_value(votes_.value_of(i), votes_.text_of(i))) {
                step.heals.add(i);
                expect_acquire(i);
            }
        }
    }
    return step;
}

/// Heals an instance that granted the attempt late with another value than the lease, if all values must be
/// the same.
lease_step lease::correct_value(const event& e) {
    const bool is_wrong = settings_->agreement == agreement::same &&
                          e.vote->kind == vote_kind::granted &&
                          has_other_value(e.vote->value, e.vote->detail.get());
    // mutant: late_wrong_number_stays
    if (e.tag != latest_ || !is_wrong) {
        return {};
    }
    expect_acquire(e.index);
    lease_step step;
    step.heals.add(e.index);
    step.until = watchdog().due();
    return step;
}

/// Returns whether the instance may lack the key: the last word on it was no grant.
bool lease::may_lack_key(std::size_t index) const noexcept {
    const round* const renewal = watchdog().votes();
    const std::optional<vote> last =
        renewal != nullptr ? renewal->vote_of(index) : std::optional<vote>();
    return keys_[index] != belief::yes || (last && last->kind != vote_kind::granted);
}

/// Restores the key of an instance that takes commands again, unless it may be about to execute an earlier
/// acquire or heal. That one could come after the release.
lease_step lease::restore(std::size_t index, time_point now) {
    // mutant: restored_by_the_next_renewal
    if (!may_lack_key(index) || open_.contains(index) || now >= watchdog().loss_time()) {
        return {};
    }
    expect_acquire(index);
    lease_step step;
    step.heals.add(index);
    step.until = watchdog().due();
    return step;
}

lease_step lease::on_held(const event& e, time_point now) {
    switch (e.kind) {
        case kind::accepting:
            return restore(e.index, now);
        case kind::vote:
            switch (e.tag.purpose()) {
                case purpose::acquire:
                case purpose::retake:
                    return correct_value(e);
                case purpose::extend:
                    return on_extend_vote(e, now);
                case purpose::next_value:
                    return record_next_value(e) ? decide_share(now) : lease_step();
                default:
                    return {};
            }
        case kind::timer:
            if (counts() && now >= asked_ + settings_->instance_timeout &&
                now < watchdog().loss_time()) {
                votes_.fail_silent(failure::timeout);
                return decide_share(now);
            }
            return keep(renew::event::timer(), now);
        case kind::extend:
            return keep(renew::event::extend(e.ttl), now);
        case kind::share:
            status_ = status::sharing;
            return ask_next_value(0, now);
        case kind::next_holder:
            if (!settings_->value_per_holder) {
                return hand_off(now);
            }
            status_ = status::counting;
            return ask_next_value(0, now);
        case kind::release:
            return begin_release(promised_until(), now);
        case kind::abandon:
            // mutant: abandoned_is_released
            return abandon();
        case kind::close:
            return lose(loss::closed);
        case kind::broken:
            return lose(loss::keys_gone);
        default:
            return {};
    }
}

/// Decides a share as a hand-off. The lease is held all the time and renewed. Without a quorum, only the
/// share fails.
lease_step lease::decide_share(time_point now) {
    if (votes_.impossible()) {
        return end_share(false);
    }
    const bool is_decided = votes_.won();
    if (!is_decided) {
        return keep(renew::event::timer(), now);
    }
    if (status_ == status::sharing && !take_next_value()) {
        status_ = status::resharing;
        return ask_next_value(next_value_, now);
    }
    value_ = next_value_;
    return end_share(true);
}

lease_step lease::end_share(bool success) {
    status_ = status::held;
    lease_step step;
    step.shared = success;
    step.until = watchdog().due();
    return step;
}

lease_step lease::on_extend_vote(const event& e, time_point now) {
    is_announced_ = is_announced_ || e.vote->key == key_state::announced;
    vote its = *e.vote;
    if (is_absent(its) && unconnected_.contains(e.index) && keys_[e.index] != belief::yes) {
        its.key = key_state::unconnected;
    } else if (expects_record_ && its.kind == vote_kind::denied && !is_absent(its)) {
        its = vote::failed(failure::unclear_error);
    }
    return keep(renew::event::voted(e.index, e.tag.round(), its), now);
}

/// Passes an event to the watchdog, and applies its decision.
lease_step lease::keep(const renew::event& e, time_point now) {
    lease_step step = renewing().resume(e, now);
    for (std::size_t i = 0; !step.heals.empty() && i != keys_.size(); ++i) {
        if (step.heals.contains(i)) {
            expect_acquire(i);
        }
    }
    // mutant: longest_ttl_forgotten
    ttl_ = std::max(ttl_, watchdog().ttl());
    if (!step.lost) {
        step.until = counts() ? std::min(step.until, round_end()) : step.until;
        return step;
    }
    lease_step end = held() ? lose(*step.lost) : begin_release(promised_until(), now);
    end.extended = step.extended;
    end.lost_late = step.lost_late;
    return end;
}

bool lease::may_hand_off(time_point now) const noexcept {
    // mutant: hand_off_the_rest, handed_off_when_lost
    return status_ == status::held && settings_->renew_interval > duration::zero() &&
           ttl_ == settings_->ttl && watchdog().undisturbed() &&
           watchdog().ttl() == settings_->ttl &&
           watchdog().valid_until() - now >= settings_->ttl / 2 &&
           watchdog().loss_time() - now >= settings_->ttl / 4;
}

lease_step lease::hand_off(time_point now) {
    status_ = status::held;
    renewing().hand_off(now);
    lease_step step;
    step.handed_off = true;
    step.until = watchdog().due();
    return step;
}

lease_step lease::on_handing_off(const event& e, time_point now) {
    switch (e.kind) {
        case kind::accepting:
            return restore(e.index, now);
        case kind::vote:
            if (e.tag.purpose() == purpose::extend) {
                return on_extend_vote(e, now);
            }
            return record_next_value(e) ? decide_handoff(now) : lease_step();
        case kind::timer:
            if (now >= asked_ + settings_->instance_timeout) {
                votes_.fail_silent(failure::timeout);
            }
            return decide_handoff(now);
        case kind::close:
            return begin_release(promised_until(), now);
        default:
            return {};
    }
}

/// Asks for a value for another holder: a new value, or `least` if that is not 0.
lease_step lease::ask_next_value(std::uint64_t least, time_point now) {
    next_value_ = least;
    return begin_round(purpose::next_value, now);
}

/// Records the vote. Returns whether it counts.
bool lease::record_next_value(const event& e) {
    return counts() && e.tag == latest_ && votes_.record(e.index, *e.vote);
}

/// Takes the values that a quorum has brought. Returns whether they agree.
bool lease::take_next_value() {
    const agreed_value agreed = agree(settings_->agreement, votes_);
    next_value_ = agreed.value;
    return agreed.reached;
}

/// Hands off the lease or releases it, as soon as the outstanding votes cannot change the decision.
lease_step lease::decide_handoff(time_point now) {
    // mutant: handed_off_when_it_is_over
    if (votes_.impossible() || now >= watchdog().loss_time()) {
        return begin_release(promised_until(), now);
    }
    // mutant: handed_off_without_asking
    if (!votes_.won()) {
        return keep(renew::event::timer(), now);
    }
    // mutant: handed_off_without_second_round
    if (status_ == status::counting && !take_next_value()) {
        status_ = status::recounting;
        return ask_next_value(next_value_, now);
    }
    // mutant: one_fence_for_all
    value_ = next_value_;
    return hand_off(now);
}

lease_step lease::lose(loss why) {
    status_ = status::lost;
    lost_ = why;
    lease_step step;
    step.lost = why;
    step.until = watchdog().valid_until();
    return step;
}

/// Keeps the keys of a lost lease until its holder releases it, or until its validity has ended.
lease_step lease::on_lost(const event& e, time_point now) {
    if (e.kind == kind::abandon) {
        return abandon();
    }
    // mutant: released_at_the_loss
    if (e.kind == kind::release || (e.kind == kind::timer && now >= watchdog().valid_until())) {
        return begin_release(promised_until(), now);
    }
    lease_step step;
    step.until = watchdog().valid_until();
    return step;
}

/// Ends the lease immediately. Nothing else is sent, and the keys expire with their ttl.
lease_step lease::abandon() {
    status_ = status::ended;
    lease_step step;
    // mutant: abandoned_without_successor
    step.let_go = true;
    step.ended = true;
    return step;
}

/// Returns until when the keys should have been there. If the lease was lost because they were gone, they
/// should still be there: the result is `never`. If its time was over, nothing is promised any more, although
/// the loss was reported a little before the end.
time_point lease::promised_until() const noexcept {
    switch (lost_) {
        case loss::keys_gone:
            return never;
        case loss::unrenewable:
        case loss::expired:
            return time_point::min();
        case loss::none:
        case loss::max_hold:
        case loss::closed:
            break;
    }
    return watchdog().valid_until();
}

// --- The release ------------------------------------------------------------------------------------

/// Starts the release, from any status.
lease_step lease::begin_release(time_point valid_until, time_point now) {
    // mutant: attempt_without_undo
    status_ = status::releasing;
    release_settings settings;
    settings.instances = settings_->instances;
    settings.instance_timeout = settings_->instance_timeout;
    settings.retry = settings_->release_retry;
    settings.valid_until = valid_until;
    settings.gone_at = gone_at(now, ttl_, settings_->drift);
    settings.longest_life = settings.gone_at - now;
    instance_set holding;
    for (std::size_t i = 0; i != keys_.size(); ++i) {
        // mutant: undo_only_where_granted
        if (keys_[i] != belief::no) {
            holding.add(i);
        }
    }
    part_.emplace<core::release>(settings, holding, open_, seed_);
    lease_step step = give_back(core::release::event::start(), now);
    step.let_go = true;
    return step;
}

lease_step lease::on_releasing(const event& e, time_point now) {
    using giving = core::release::event;
    switch (e.kind) {
        case kind::vote:
            switch (e.tag.purpose()) {
                case purpose::release: {
                    // It was not sent, because it was no longer needed.
                    const bool needless =
                        e.vote->kind == vote_kind::failed && keys_[e.index] == belief::no;
                    const vote none = vote::denied(key_state::absent);
                    return give_back(giving::voted(e.index, needless ? none : *e.vote), now);
                }
                case purpose::acquire:
                case purpose::retake:
                    // mutant: late_first_round_is_the_last
                    if (is_outdated(e.tag)) {
                        return {};  // The later round may still be executed.
                    }
                    [[fallthrough]];
                case purpose::heal:
                    return give_back(giving::late(e.index, *e.vote), now);
                default:
                    return {};
            }
        case kind::accepting:
            return give_back(giving::accepting(e.index), now);
        case kind::timer:
            return give_back(giving::timer(e.instances_answer), now);
        default:
            return {};
    }
}

/// Passes an event to the release, and applies its decision.
lease_step lease::give_back(const core::release::event& e, time_point now) {
    lease_step step = giving_back().resume(e, now);
    if (step.resolved) {
        outcome_ = step.resolved = outcome_to_tell(*step.resolved);
    }
    if (step.ended) {
        status_ = status::ended;
    }
    return step;
}

void lease::disconnect() noexcept {
    status_ = status::ended;
    if (!outcome_) {
        outcome_ = outcome_to_tell(release_outcome::no_quorum);
    }
}

bool lease::may_have_keys() const noexcept {
    return std::any_of(keys_.begin(), keys_.end(), [](belief b) { return b != belief::no; });
}

/// Returns the outcome to report. A lost lease had ended before its release. Mostly its validity is over by
/// then, whether any instance replies or not.
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
