// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/release.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

release::release(const release_settings& settings, instance_set holding, instance_set open,
                 std::uint64_t seed)
    : instances_(settings.instances, progress::unconcerned), settings_(settings), random_(seed) {
    counts_[static_cast<std::size_t>(progress::unconcerned)] =
        static_cast<std::uint8_t>(settings.instances);
    for (std::size_t i = 0; i != settings.instances; ++i) {
        if (holding.contains(i)) {
            set(i, progress::to_send);
            if (open.contains(i)) {
                open_.add(i);
            }
        }
    }
}

lease_step release::resume(const event& e, time_point now) {
    if (status_ == status::ended) {
        return {};
    }
    switch (e.kind) {
        case event::kind_type::start:
            started_at_ = now;
            answer_due_ = now + settings_.instance_timeout;
            break;
        case event::kind_type::vote:
            on_vote(e.index, *e.vote, now);
            break;
        case event::kind_type::late_vote:
            on_late_vote(e.index, *e.vote, now);
            break;
        case event::kind_type::accepting:
            close(e.index, now);  // Earlier commands have been executed by now, or never will be.
            if (instances_[e.index] == progress::to_retry) {
                set(e.index, progress::to_send);
            }
            break;
        case event::kind_type::timer:
            if (e.instances_answer) {  // They are busy, and not silent.
                answer_due_ = std::max(answer_due_, now + settings_.instance_timeout / 4);
            }
            break;
    }
    return advance(now);
}

/// Ends the open state of an instance that has answered its acquire. It may have executed the acquire just
/// now.
void release::close(std::size_t index, time_point now) noexcept {
    if (open_.contains(index)) {
        open_.remove(index);
        settings_.gone_at = std::max(settings_.gone_at, now + settings_.longest_life);
    }
}

/// On one connection the release runs after the acquire. If an instance nevertheless denies the release and
/// grants the acquire, in any order, the release is sent again.
void release::on_late_vote(std::size_t index, const vote& v, time_point now) {
    if (!may_execute_later(v)) {
        close(index, now);
    }
    // mutant: late_grant_forgotten
    if (v.kind == vote_kind::granted) {
        if (instances_[index] == progress::sent) {
            overtaking_.add(index);
        }
        if (thinks_without(index)) {
            set(index, progress::to_send);
        }
    }
}

release::progress release::denied_by(core::key_state whose) noexcept {
    switch (whose) {
        case key_state::absent:
        case key_state::unconnected:
            return progress::nobody;
        case key_state::foreign:
        case key_state::labelled:
        case key_state::other_kind:
        case key_state::other_limit:
        case key_state::partial:
        case key_state::completed:
            return progress::another;
        case key_state::unknown:
        case key_state::announced:
            break;
    }
    return progress::not_ours;
}

void release::on_vote(std::size_t index, const vote& v, time_point now) {
    if (instances_[index] != progress::sent) {
        return;
    }
    switch (v.kind) {
        case vote_kind::granted:
            open_.remove(index);
            set(index, progress::deleted);
            break;
        case vote_kind::denied:
            open_.remove(index);
            // mutant: overtaken_release_is_believed
            if (overtaking_.contains(index)) {  // Its key may not have existed yet.
                overtaking_.remove(index);
                set(index, progress::to_send);
                break;
            }
            set(index, denied_by(v.key));
            break;
        case vote_kind::failed:
            if (answered(v.reason)) {
                close(index, now);  // It has answered on a new connection.
            }
            // mutant: release_not_tried_again
            set(index, progress::to_retry);
            failures_.resize(settings_.instances);
            failures_[index] = v;
            // Thousands of leases may wait for an instance that is down, and it reports when it is back.
            // Regular tries would cost a quarter as much as all locks that are acquired without it.
            if (v.reason != failure::down && retry_at_ == never) {
                retry_at_ = now + settings_.retry.delay(tries_++, next_random(random_));
            }
            break;
    }
}

time_point release::gone_at() const noexcept {
    // mutant: release_given_up_while_open
    return open_.empty() ? settings_.gone_at : never;
}

lease_step release::advance(time_point now) {
    lease_step step;
    if (status_ == status::asking) {
        step.resolved = outcome(now);
        status_ = step.resolved ? status::retrying : status::asking;
    }
    if (now >= retry_at_) {
        replace(progress::to_retry, progress::to_send);
        retry_at_ = never;
    }
    if (now >= gone_at()) {
        return end(step);
    }
    if (count(progress::to_send) != 0) {
        step.send = lease_tag(lease_tag::purpose_type::release);
        step.targets = to_send();
        replace(progress::to_send, progress::sent);
    }
    if (count(progress::sent) + count(progress::to_retry) == 0) {
        return end(step);
    }
    const time_point answer_due = status_ == status::asking ? answer_due_ : never;
    step.until = std::min({retry_at_, answer_due, gone_at()});
    return step;
}

lease_step release::end(lease_step step) noexcept {
    status_ = status::ended;
    step.ended = true;
    return step;
}

/// Returns nothing while the outcome is open.
std::optional<release_outcome> release::outcome(time_point now) const {
    const std::size_t quorum = quorum_of(settings_.instances);
    const std::size_t another = count(progress::another);
    const std::size_t gone = another + count(progress::nobody) + count(progress::not_ours);
    const std::size_t unconcerned = count(progress::unconcerned);

    // mutant: released_by_one
    if (count(progress::deleted) >= quorum) {
        return release_outcome::released;
    }
    // mutant: lost_by_one_denial
    if (settings_.instances - unconcerned - gone < quorum) {  // The token has no quorum.
        return another != 0 || started_at_ < settings_.valid_until ? release_outcome::lost
                                                                   : release_outcome::expired;
    }
    const bool all_gone = now >= gone_at();
    if (all_gone && started_at_ >= settings_.valid_until) {
        return release_outcome::expired;
    }
    const bool all_answered = count(progress::to_send) + count(progress::sent) == 0;
    if (!all_answered && !all_gone && now < answer_due_) {
        return std::nullopt;
    }
    // Some instances do not reply. If a quorum has replied, nothing contradicts that the lease was held.
    const std::size_t answered = count(progress::deleted) + gone + unconcerned;
    // mutant: answers_are_no_quorum
    return answered >= quorum ? release_outcome::released : release_outcome::no_quorum;
}

/// Mostly returns all instances, by a fast path.
instance_set release::to_send() const noexcept {
    if (count(progress::to_send) == settings_.instances) {
        return instance_set::all();
    }
    instance_set result;
    for (std::size_t i = 0; i != settings_.instances; ++i) {
        if (instances_[i] == progress::to_send) {
            result.add(i);
        }
    }
    return result;
}

round release::votes() const {
    round result(settings_.instances);
    for (std::size_t i = 0; i != settings_.instances; ++i) {
        switch (instances_[i]) {
            case progress::deleted:
                result.record(i, vote::granted());
                break;
            case progress::unconcerned:
            case progress::nobody:
                result.record(i, vote::denied(key_state::absent));
                break;
            case progress::another:
                result.record(i, vote::denied(key_state::foreign));
                break;
            case progress::not_ours:
                result.record(i, vote::denied(key_state::unknown));
                break;
            case progress::to_send:
            case progress::sent:
            case progress::to_retry:
                if (!failures_.empty() && failures_[i].reason != failure::none) {
                    result.record(i, failures_[i]);
                }
                break;
        }
    }
    result.fail_silent(failure::timeout);
    return result;
}

void release::set(std::size_t index, progress p) {
    --counts_[static_cast<std::size_t>(instances_[index])];
    ++counts_[static_cast<std::size_t>(p)];
    instances_[index] = p;
}

void release::replace(progress from, progress to) {
    for (std::size_t i = 0; i != settings_.instances; ++i) {
        if (instances_[i] == from) {
            set(i, to);
        }
    }
}

}  // namespace colock::core
