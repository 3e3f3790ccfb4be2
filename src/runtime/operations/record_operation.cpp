// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/record_operation.hpp"

#include "core/instance_set.hpp"
#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"

#include <utility>

namespace colock::runtime {
namespace {

using core::write_outcome;

core::write_settings write_settings_for(const record_spec& spec, const record_request& request) {
    return {.changes = request.writes,
            .retry = spec.retry,
            .unavailable_timeout = spec.unavailable_timeout};
}

/// Returns an id that no other write from the same version has. Records store only a few writes, so 64 bits
/// are enough.
std::array<char, 16> draw_id(environment& world) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::array<char, 16> result{};
    std::uint64_t rest = world.random();
    for (char& c : result) {
        c = digits[rest & 15U];
        rest >>= 4U;
    }
    return result;
}

std::string_view what_happened(write_outcome outcome, bool writes, bool in_doubt) {
    switch (outcome) {
        case write_outcome::unknown:
            return "nobody knows whether the write was carried out";
        case write_outcome::unavailable:
            return writes ? "the write was not carried out" : "the value could not be read";
        case write_outcome::wrong_kind:
            return writes ? "a versioned value cannot be written here"
                          : "a versioned value cannot be read here";
        default:
            return !writes    ? "the read was given up"
                   : in_doubt ? "the write was given up, but it may have been carried out"
                              : "the write was given up, and was not carried out";
    }
}

}  // namespace

record_operation::record_operation(std::shared_ptr<const record_spec> spec, record_request request)
    : request_operation(*spec->owner),
      spec_(std::move(spec)),
      request_(std::move(request)),
      machine_(write_settings_for(*spec_, request_), 0) {}

/// The operation may be created on any thread, so the random numbers are drawn here, from the engine's
/// generator.
void record_operation::begin() {
    machine_ = core::write(write_settings_for(*spec_, request_), context().next_seed());
    if (request_.writes) {
        id_ = draw_id(context().world);
    }
    waits_for_start_ =
        spec_->unavailable_timeout == core::duration::zero() && context().instances.starting();
    if (!waits_for_start_) {
        resume(event::start(request_.tries), context().turn.now());
    }
}

void record_operation::on_stop(stop why) {
    finish(why == stop::closed ? write_outcome::closed : write_outcome::cancelled);
}

void record_operation::on_instance_changed() {
    if (!running()) {
        return;
    }
    if (!waits_for_start_) {
        resume(event::just(event::kind_type::wake), context().turn.recent_time());
    } else if (!context().instances.starting()) {
        waits_for_start_ = false;
        resume(event::start(request_.tries), context().turn.recent_time());
    }
}

void record_operation::on_time(core::time_point now) {
    resume(event::just(event::kind_type::timer), now);
}

void record_operation::on_admitted(core::time_point now) {
    resume(event::just(event::kind_type::admitted), now);
}

void record_operation::resume(const event& e, core::time_point now) {
    const core::write::step step = machine_.resume(e, now);
    if (step.done) {
        finish(machine_.outcome());
        return;
    }
    if (step.send) {
        send();
    } else if (step.ask_for_room) {
        if (context().gate.admits_attempt()) {
            on_admitted(now);
            return;
        }
        context().gate.wait_for_attempt(*this);
    }
    wait_until(step.until);
}

void record_operation::send() {
    const bool is_single = spec_->unavailable_timeout == core::duration::zero();
    kinds::command& command =
        submit(0, core::instance_set::all(), is_single ? core::never : machine_.deadline());
    command.kind = spec_->kind;
    command.key = spec_->key;
    command.ticket = spec_->longest_in_reply;
    if (!request_.writes) {
        command.step = core::step::read;
        return;
    }
    command.step = core::step::write;
    // mutant: write_with_a_new_id
    command.token = {id_.data(), id_.size()};
    command.value = request_.expected;
    command.values = request_.value ? &*request_.value : nullptr;
    command.ttl = spec_->ttl;
}

void record_operation::on_answer(std::size_t /*index*/, instance::command_tag /*tag*/,
                                 const core::vote& vote, core::time_point now) {
    if (vote.kind != core::vote_kind::failed && vote.key != core::key_state::other_kind) {
        version_ = vote.value;
        value_ = vote.detail;
    } else {
        last_vote_ = vote;
        has_vote_ = true;
    }
    resume(event::voted(vote), now);
}

void record_operation::finish(write_outcome outcome) {
    outcome_ = outcome;
    statistics& counts = context().counts;
    if (outcome == write_outcome::applied) {
        ++(request_.writes ? counts.writes_applied : counts.records_read);
    } else if (outcome == write_outcome::refused) {
        ++counts.writes_refused;
    } else {
        counts.writes_unknown.add(outcome == write_outcome::unknown ? 1 : 0);
        details_ = describe_request(
            spec_->resource(), *spec_->kind, what_happened(outcome, request_.writes, in_doubt()),
            has_vote_ ? &last_vote_ : nullptr, context().instances.states());
    }
    end();
}

/// Returns the value of the record. After an applied write, it is the value of the request.
std::optional<std::string> record_operation::take_value() {
    if (request_.writes && outcome_ == write_outcome::applied) {
        return std::move(request_.value);
    }
    return value_ ? std::optional(*value_) : std::nullopt;
}

}  // namespace colock::runtime
