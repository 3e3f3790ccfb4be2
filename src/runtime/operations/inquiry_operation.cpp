// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/inquiry_operation.hpp"

#include "core/round.hpp"
#include "runtime/client_context.hpp"

#include <algorithm>
#include <utility>

namespace colock::runtime {

inquiry_operation::inquiry_operation(inquiry what)
    : what_(std::move(what)), client_(*what_.owner) {}

inquiry_operation::~inquiry_operation() = default;

void inquiry_operation::on_start() {
    if (client_.closing) {
        finish(inquiry_outcome::closed);
        return;
    }
    client_.members.inquiries.push_back(*this);
    phases_.resize(client_.instances.size(), phase::waits_for_start);
    answers_.resize(client_.instances.size());
    ask_those_that_have_started(client_.turn.now());
}

void inquiry_operation::cancel() {
    if (running()) {
        finish(inquiry_outcome::cancelled);
    }
}

void inquiry_operation::on_close() {
    if (running()) {
        finish(inquiry_outcome::closed);
    }
}

void inquiry_operation::on_abandon() noexcept {
    client_.alarms.stop_waiting(*this);
    // The handler may own the object that keeps this alive.
    const auto last = std::move(alive_);
    const auto dying = take();
}

void inquiry_operation::on_instance_changed() {
    if (running()) {
        ask_those_that_have_started(client_.turn.recent_time());
    }
}

void inquiry_operation::ask_those_that_have_started(core::time_point now) {
    core::instance_set targets;
    for (std::size_t i = 0; i != phases_.size(); ++i) {
        if (phases_[i] == phase::waits_for_start && !client_.instances.starting(i)) {
            phases_[i] = phase::asked;
            targets.add(i);
        }
    }
    if (!targets.empty()) {
        answer_until_ = now + client_.settings.instance_timeout;
        send(targets);
        client_.alarms.stop_waiting(*this);
        client_.alarms.wait(*this, answer_until_);
    }
}

void inquiry_operation::send(core::instance_set targets) {
    alive_ = self();
    pending_votes_ += targets.count(phases_.size());
    last_turn_ = client_.out.turn_number();
    kinds::command& command = client_.out.submit(*this, 0, targets, answer_until_);
    command.kind = what_.kind;
    command.step = what_.step;
    command.key = what_.key;
    command.token = what_.token;
    command.ticket = what_.ticket;
}

bool inquiry_operation::wanted(std::size_t /*index*/, instance::command_tag /*tag*/) const {
    return running();
}

void inquiry_operation::on_vote(std::size_t index, instance::command_tag /*tag*/,
                                const core::vote& vote, core::time_point now) {
    const auto alive = alive_;
    client_.note_vote(vote, now);
    if (--pending_votes_ == 0) {
        alive_.reset();
    }
    if (running()) {
        accept(index, vote, now);
        finish_if_complete();
    } else if (pending_votes_ == 0) {
        in_client::unlink();
    }
}

/// Takes the silence of all instances that were asked as their answer.
void inquiry_operation::on_time(core::time_point now) {
    if (now < answer_until_) {
        client_.alarms.wait(*this, answer_until_);
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
    voters_ = client_.instances.states();
    client_.alarms.stop_waiting(*this);
    if (pending_votes_ != 0) {
        client_.out.reconsider(last_turn_);  // It may not be sent yet.
    } else {
        in_client::unlink();
    }
    const std::size_t removed = count(core::vote_kind::granted);
    if (what_.step == core::step::release && removed != 0 &&
        removed + count(core::vote_kind::denied) > core::spare_of(answers_.size())) {
        client_.on_broken(what_.key, what_.token);
    }
    if (what_.step != core::step::inspect && outcome != inquiry_outcome::closed) {
        // Instances do not notify a client of its own writes.
        auto written = std::make_shared<lock_spec>();
        written->key = what_.key;
        client_.own_writes.push_back(std::move(written));
    }
    client_.finished.add(take());
}

}  // namespace colock::runtime
