// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/inquiry_operation.hpp"

#include "core/round.hpp"
#include "runtime/client_context.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace colock::runtime {

inquiry_operation::inquiry_operation(inquiry what)
    : request_operation(*what.owner), what_(std::move(what)) {}

void inquiry_operation::begin() {
    phases_.resize(context().instances.size(), phase::waits_for_start);
    answers_.resize(context().instances.size());
    ask_those_that_have_started(context().turn.now());
}

void inquiry_operation::on_stop(stop why) {
    finish(why == stop::closed ? inquiry_outcome::closed : inquiry_outcome::cancelled);
}

void inquiry_operation::on_instance_changed() {
    if (running()) {
        ask_those_that_have_started(context().turn.recent_time());
    }
}

void inquiry_operation::ask_those_that_have_started(core::time_point now) {
    core::instance_set targets;
    for (std::size_t i = 0; i != phases_.size(); ++i) {
        if (phases_[i] == phase::waits_for_start && !context().instances.starting(i)) {
            phases_[i] = phase::asked;
            targets.add(i);
        }
    }
    if (targets.empty()) {
        return;
    }
    answer_until_ = now + context().settings.instance_timeout;
    wait_until(answer_until_);
    kinds::command& command = submit(0, targets, answer_until_);
    command.kind = what_.kind;
    command.step = what_.step;
    command.key = what_.key;
    command.token = what_.token;
    command.ticket = what_.ticket;
}

void inquiry_operation::on_answer(std::size_t index, instance::command_tag /*tag*/,
                                  const core::vote& vote, core::time_point now) {
    accept(index, vote, now);
    finish_if_complete();
}

/// Takes the silence of all instances that were asked as their answer.
void inquiry_operation::on_time(core::time_point now) {
    if (now < answer_until_) {
        wait_until(answer_until_);
        return;
    }
    for (std::size_t i = 0; i != phases_.size(); ++i) {
        if (phases_[i] == phase::asked) {
            accept(i, core::vote::failed(core::failure::timeout), now);
        }
    }
    finish_if_complete();
}

void inquiry_operation::accept(std::size_t index, const core::vote& vote, core::time_point now) {
    if (phases_[index] == phase::asked) {  // Otherwise the vote has come too late.
        phases_[index] = phase::answered;
        answers_[index] = {vote, now};
    }
}

void inquiry_operation::finish_if_complete() {
    if (std::ranges::count(phases_, phase::answered) == std::ranges::ssize(phases_)) {
        finish(inquiry_outcome::answered);
    }
}

void inquiry_operation::finish(inquiry_outcome outcome) {
    outcome_ = outcome;
    try {
        voters_ = context().instances.states();
        const std::size_t removed = count(core::vote_kind::granted);
        if (what_.step == core::step::release && removed != 0 &&
            removed + count(core::vote_kind::denied) > core::spare_of(answers_.size())) {
            context().on_broken(what_.key, what_.token);
        }
        if (what_.step != core::step::inspect && outcome != inquiry_outcome::closed) {
            // Instances do not notify a client of its own writes.
            auto written = std::make_shared<lock_spec>();
            written->key = what_.key;
            context().own_writes.push_back(std::move(written));
        }
    } catch (const std::bad_alloc&) {  // There is no memory for the answer.
        outcome_ = inquiry_outcome::cancelled;
    }
    end();
}

}  // namespace colock::runtime
