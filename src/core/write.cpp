// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/write.hpp"

#include <algorithm>

namespace colock::core {

write::step write::resume(const event& e, time_point now) {
    using kind = event::kind_type;
    if (status_ == status::finished) {
        return {};
    }
    switch (e.kind) {
        case kind::start:
            if (e.tries != 0) {
                return pause(e.tries, now);
            }
            deadline_ = now + settings_.unavailable_timeout;
            return wait_for_room();
        case kind::admitted: {
            status_ = status::sent;
            step result = wait();
            result.send = true;
            return result;
        }
        case kind::voted:
            return on_vote(*e.vote, now);
        case kind::wake:
            // The pause before the first copy lets other writers go first, so a wake does not end it.
            return status_ == status::pausing && deadline_ != never ? wait_for_room() : wait();
        case kind::timer:
            return on_time(now);
    }
    return wait();
}

write::step write::wait_for_room() {
    status_ = status::waiting;
    step result = wait();
    result.ask_for_room = true;
    return result;
}

write::step write::pause(std::size_t tries, time_point now) {
    status_ = status::pausing;
    resume_at_ = now + settings_.retry.delay(tries - 1, next_random(random_));
    return wait();
}

write::step write::on_vote(const vote& v, time_point now) {
    switch (v.kind) {
        case vote_kind::granted:
            return finish(write_outcome::applied);
        case vote_kind::denied:
            break;
        case vote_kind::failed:
            return on_failure(v.reason, now);
    }
    // mutant: write_sent_after_refusal
    if (v.key == key_state::foreign) {
        return finish(write_outcome::refused);
    }
    // The reply is about this copy only. An earlier copy may have been executed.
    if (is_in_doubt_) {
        return finish(write_outcome::unknown);
    }
    return finish(v.key == key_state::unknown ? write_outcome::refused : write_outcome::wrong_kind);
}

write::step write::on_failure(failure reason, time_point now) {
    // mutant: write_forgets_lost_answers
    is_in_doubt_ = is_in_doubt_ || (settings_.changes && outcome_unknown(reason));
    const bool is_over = now >= deadline_ || settings_.unavailable_timeout == duration::zero();
    // The command was executed. Another copy would not show whether replicas have it.
    if (is_over || (settings_.changes && reason == failure::not_replicated)) {
        return finish(is_in_doubt_ ? write_outcome::unknown : write_outcome::unavailable);
    }
    return pause(++failures_, now);
}

write::step write::on_time(time_point now) {
    if (now >= deadline_ && settings_.unavailable_timeout != duration::zero()) {
        return finish(in_doubt() ? write_outcome::unknown : write_outcome::unavailable);
    }
    if (status_ != status::pausing || now < resume_at_) {
        return wait();
    }
    if (deadline_ == never) {
        deadline_ = now + settings_.unavailable_timeout;
    }
    return wait_for_room();
}

write::step write::finish(write_outcome outcome) noexcept {
    status_ = status::finished;
    outcome_ = outcome;
    return {.done = true};
}

/// Returns a step that only waits. A single attempt waits for its vote without a limit.
write::step write::wait() const noexcept {
    step result;
    result.until = settings_.unavailable_timeout == duration::zero() ? never : deadline_;
    if (status_ == status::pausing) {
        result.until = std::min(result.until, resume_at_);
    }
    return result;
}

}  // namespace colock::core
