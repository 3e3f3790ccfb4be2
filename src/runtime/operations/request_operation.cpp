// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/request_operation.hpp"

#include "runtime/client_context.hpp"

namespace colock::runtime {

request_operation::~request_operation() = default;

void request_operation::on_start() {
    if (context_.closing) {
        on_stop(stop::closed);
        return;
    }
    context_.members.requests.push_back(*this);
    begin();
}

void request_operation::on_not_started() {
    context_.alarms.stop_waiting(*this);
    context_.gate.leave(*this);
}

void request_operation::cancel() {
    if (running()) {
        on_stop(stop::cancelled);
    }
}

void request_operation::on_close() {
    if (running()) {
        on_stop(stop::closed);
    }
}

void request_operation::on_abandon() noexcept {
    context_.alarms.stop_waiting(*this);
    at_gate::unlink();
    // The handler may own the object that keeps this alive.
    const auto last = std::move(alive_);
    const auto dying = take();
}

kinds::command& request_operation::submit(instance::command_tag tag, core::instance_set targets,
                                          core::time_point send_until) {
    kinds::command& command = context_.out.submit(*this, tag, targets, send_until);
    alive_ = self();
    pending_votes_ += targets.count(context_.instances.size());
    last_turn_ = context_.out.turn_number();
    return command;
}

/// Submissions of this turn are not sent if they are no longer wanted.
bool request_operation::has_left() const {
    return !alive_ || last_turn_ != context_.out.turn_number();
}

bool request_operation::wanted(std::size_t /*index*/, instance::command_tag /*tag*/) const {
    return running();
}

void request_operation::on_vote(std::size_t index, instance::command_tag tag,
                                const core::vote& vote, core::time_point now) {
    const auto alive = alive_;
    context_.note_vote(vote, now);
    if (--pending_votes_ == 0) {
        alive_.reset();
    }
    if (running()) {
        on_answer(index, tag, vote, now);
    } else if (pending_votes_ == 0) {
        in_client::unlink();
    }
}

void request_operation::wait_until(core::time_point when) {
    context_.alarms.stop_waiting(*this);
    if (when != core::never) {
        context_.alarms.wait(*this, when);
    }
}

void request_operation::end() {
    context_.alarms.stop_waiting(*this);
    context_.gate.leave(*this);
    if (alive_) {
        context_.out.reconsider(last_turn_);  // It may not be sent yet.
    } else {
        in_client::unlink();
    }
    context_.finished.add(take());
}

}  // namespace colock::runtime
