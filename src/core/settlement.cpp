// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/settlement.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

settlement::step settlement::resume(const event& e, time_point now) {
    switch (status_) {
        case status::idle:
            if (e.kind != kind::start) {
                return {};
            }
            if (task_ != task_type::complete) {
                return ask(task_ == task_type::look ? message::look : message::inspect, now);
            }
            status_ = status::storing;
            return {.targets = instance_set::all(), .what = message::write};
        case status::asking:
            return on_answer(e, now);
        case status::storing:
            return task_ == task_type::complete ? on_completed(e, now) : on_stored(e, now);
        case status::ended:
            break;
    }
    return {};
}

// --- Finding a record -------------------------------------------------------------------------------

settlement::step settlement::ask(message what, time_point now) {
    status_ = status::asking;
    asked_ = what;
    votes_.clear();
    sent_ = now;
    return {
        .targets = instance_set::all(), .what = what, .until = now + settings_.instance_timeout};
}

settlement::step settlement::on_answer(const event& e, time_point now) {
    if (e.kind == kind::voted) {
        if (e.on != asked_ || !votes_.record(e.index, *e.vote)) {
            return wait_until(sent_ + settings_.instance_timeout);
        }
    } else if (now >= sent_ + settings_.instance_timeout) {
        votes_.fail_silent(failure::timeout);
    }
    return decide_answer(now);
}

/// Without a quorum, waits for all votes, even if no quorum is possible any more: a minority may have a
/// record. Otherwise a body might run again, so the wait is worth its time. An instance that is silent for
/// longer is not asked again.
settlement::step settlement::decide_answer(time_point now) {
    const common_record found = votes_.record();
    has_met_record_ = has_met_record_ || found.count != 0;
    // mutant: once_minority_is_a_result
    if (found.count >= quorum_of(settings_.instances)) {
        record_ = found.text;
        return finish(settlement_outcome::settled);
    }
    return votes_.silent() == 0 ? end_round(found, now)
                                : wait_until(sent_ + settings_.instance_timeout);
}

settlement::step settlement::end_round(const common_record& found, time_point now) {
    // mutant: once_minority_not_healed
    if (found.count == 0) {
        return finish(settlement_outcome::unsettled);
    }
    return asked_ == message::look ? ask(message::inspect, now) : store(found, now);
}

/// Returns how many instances would take a record: they have no key, or the key has the caller's token.
std::size_t settlement::free() const {
    std::size_t result = 0;
    for (std::size_t i = 0; i != settings_.instances; ++i) {
        const auto vote = votes_.vote_of(i);
        result += vote && (is_absent(*vote) || vote->kind == vote_kind::granted) ? 1U : 0U;
    }
    return result;
}

settlement::step settlement::store(const common_record& found, time_point now) {
    if (found.count + free() < quorum_of(settings_.instances) ||
        found.remaining <= milliseconds(0)) {
        return finish(settlement_outcome::unsettled);
    }
    status_ = status::storing;
    record_ = found.text;
    constexpr milliseconds longest_life =
        std::chrono::hours(24 * 365);  // An operator may have removed the ttl.
    // mutant: once_healed_copy_lives_anew
    life_ = std::min(found.remaining, longest_life);
    votes_.clear();
    sent_ = now;
    return {.targets = instance_set::all(),
            .what = message::write,
            .until = now + settings_.instance_timeout};
}

settlement::step settlement::on_stored(const event& e, time_point now) {
    if (e.kind == kind::voted && e.on == message::write) {
        votes_.record(e.index, *e.vote);
    } else if (now >= sent_ + settings_.instance_timeout) {
        votes_.fail_silent(failure::timeout);
    }
    if (votes_.won()) {
        return finish(settlement_outcome::settled);
    }
    if (votes_.impossible()) {
        return finish(settlement_outcome::unsettled);
    }
    return wait_until(sent_ + settings_.instance_timeout);
}

// --- Storing a new one ------------------------------------------------------------------------------

/// A lost reply is harmless: an instance that has the record already grants the next copy as well.
settlement::step settlement::on_completed(const event& e, time_point now) {
    if (e.kind == kind::voted) {
        switch (e.vote->kind) {
            case vote_kind::granted:
                stored_.add(e.index);
                break;
            case vote_kind::denied:
                refused_.add(e.index);
                break;
            case vote_kind::failed:
                // mutant: once_record_not_sent_again
                to_resend_.add(e.index);
                if (resend_at_ == never) {
                    resend_at_ = now + settings_.retry.delay(failures_++, next_random(random_));
                }
                break;
        }
    }
    // mutant: once_recorded_by_a_minority
    if (stored_.count(settings_.instances) >= quorum_of(settings_.instances)) {
        return finish(settlement_outcome::settled);
    }
    // mutant: once_refused_by_a_minority
    if (refused_.count(settings_.instances) > spare_of(settings_.instances)) {
        return finish(settlement_outcome::refused);
    }
    return now >= resend_at_ ? resend() : wait_until(resend_at_);
}

settlement::step settlement::resend() {
    resend_at_ = never;
    return {.targets = std::exchange(to_resend_, instance_set()), .what = message::write};
}

settlement::step settlement::finish(settlement_outcome outcome) noexcept {
    status_ = status::ended;
    outcome_ = outcome;
    return {.done = true};
}

settlement::step settlement::wait_until(time_point when) noexcept {
    return {.until = when};
}

}  // namespace colock::core
