// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/settlement_operation.hpp"

#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"

#include <algorithm>
#include <utility>

namespace colock::runtime {
namespace {

using core::settlement_outcome;

core::settlement_settings settlement_settings_for(const lock_policy& policy) {
    return {.instances = policy.lease.instances,
            .instance_timeout = policy.lease.instance_timeout,
            .retry = policy.retry};
}

core::settlement make_machine(const lock_policy& policy, const settlement_request& request) {
    return request.task == core::settlement::task_type::complete
               ? core::settlement(settlement_settings_for(policy), request.record, request.life)
               : core::settlement(settlement_settings_for(policy), request.task);
}

}  // namespace

settlement_operation::settlement_operation(std::shared_ptr<const lock_spec> spec,
                                           settlement_request request)
    : request_operation(*spec->owner),
      spec_(std::move(spec)),
      request_(std::move(request)),
      machine_(make_machine(*spec_->policy, request_)) {}

/// A look waits for room like an attempt. The other tasks are rare, or end a lease.
void settlement_operation::begin() {
    const core::time_point now = context().turn.now();
    if (completes()) {
        machine_.seed(context().next_seed());
    }
    if (request_.task != task::look || context().gate.admits_attempt()) {
        on_admitted(now);
        return;
    }
    send_until_ = now + spec_->policy->lease.instance_timeout;
    context().gate.wait_for_attempt(*this);
    wait_until(send_until_);
}

void settlement_operation::on_stop(stop why) {
    if (why == stop::closed) {
        finish(settlement_outcome::closed);
    } else if (!completes()) {
        finish(settlement_outcome::cancelled);
    }
}

/// Without room until the time limit, the result is the same as without an answer.
void settlement_operation::on_time(core::time_point now) {
    if (!at_gate::is_linked()) {
        resume(event::timer(), now);
    } else if (now < send_until_) {
        wait_until(send_until_);
    } else {
        finish(settlement_outcome::unsettled);
    }
}

bool settlement_operation::has_lost_lease(core::time_point now) const noexcept {
    return request_.lease && now >= request_.lease->valid_until(request_.holder);
}

void settlement_operation::on_admitted(core::time_point now) {
    began_ = now;
    resume(event::start(), now);
}

/// Returns when the caller stops waiting for a record to be stored. The watchdog renews the lease even on
/// instances that refuse the record for lack of memory.
core::time_point settlement_operation::end_of_completion() const noexcept {
    const lock_policy& policy = *spec_->policy;
    return completes() ? began_ + std::max(policy.lease.ttl, policy.unavailable_timeout)
                       : core::never;
}

void settlement_operation::resume(const event& e, core::time_point now) {
    const core::settlement::step step = machine_.resume(e, now);
    if (step.done) {
        finish(machine_.outcome());
        return;
    }
    if (has_lost_lease(now)) {
        finish(settlement_outcome::lost);
        return;
    }
    if (now >= end_of_completion()) {
        finish(settlement_outcome::overdue);
        return;
    }
    if (!step.targets.empty()) {
        send(step, now);
    }
    core::time_point until = std::min(step.until, end_of_completion());
    if (request_.lease) {
        until = std::min(until, request_.lease->valid_until(request_.holder));
    }
    wait_until(until);
}

void settlement_operation::send(const core::settlement::step& step, core::time_point now) {
    kinds::command& command = submit(static_cast<instance::command_tag>(step.what), step.targets,
                                     now + spec_->policy->lease.instance_timeout);
    command.kind = &spec_->policy->kind();
    command.key = spec_->key;
    command.token = request_.lease ? request_.lease->token() : std::string_view();
    if (step.what != message::write) {
        command.step = core::step::look;
        command.explains = step.what == message::inspect;
        return;
    }
    has_sent_ = true;
    if (completes()) {
        request_.lease->expect_record();
    }
    command.step = core::step::complete;
    // mutant: once_lost_lease_records
    command.heals = !completes();
    command.values = machine_.record().get();
    // mutant: once_record_for_a_ttl
    command.ttl = machine_.life();
}

bool settlement_operation::wanted(std::size_t /*index*/, instance::command_tag /*tag*/) const {
    return running() || completes();
}

void settlement_operation::on_answer(std::size_t index, instance::command_tag tag,
                                     const core::vote& vote, core::time_point now) {
    resume(event::voted(index, static_cast<message>(tag), vote), now);
}

void settlement_operation::finish(settlement_outcome outcome) {
    outcome_ = outcome;
    explain(outcome);
    end();
    const auto& lease = request_.lease;  // Commands in flight refer to its token.
    if (outcome == settlement_outcome::settled) {
        context().counts.once_found.add(completes() ? 0 : 1);
        context().counts.once_ran.add(completes() ? 1 : 0);
        if (lease) {
            lease->complete(request_.holder, machine_.record());
        }
    } else if (lease && has_sent_ && outcome != settlement_outcome::lost &&
               outcome != settlement_outcome::closed) {
        // Some instances may have the record in place of the token, so the lease must not be handed off.
        lease->send_release();
    }
}

void settlement_operation::explain(settlement_outcome outcome) {
    switch (outcome) {
        case settlement_outcome::settled:
        case settlement_outcome::unsettled:
            return;
        case settlement_outcome::refused:
        case settlement_outcome::lost:
        case settlement_outcome::overdue:
            details_ = describe(spec_->resource(),
                                has_sent_ ? "the body has run, and its result may be recorded"
                                          : "the body has run, and its result is not recorded",
                                context().instances.states());
            return;
        case settlement_outcome::cancelled:
        case settlement_outcome::closed:
            details_ = describe(spec_->resource());
            return;
    }
}

}  // namespace colock::runtime
