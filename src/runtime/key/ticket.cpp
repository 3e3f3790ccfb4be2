// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/ticket.hpp"

#include "kinds/kind.hpp"
#include "runtime/client_context.hpp"
#include "runtime/key/key_queue.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace colock::runtime {
namespace {

core::queue_ticket_settings ticket_settings_for(const lock_policy& policy) {
    core::queue_ticket_settings settings;
    settings.refresh = std::clamp<core::duration>(
        policy.retry.maximum, std::chrono::milliseconds(50), std::chrono::seconds(1));
    // mutant: first_writer_leaves_no_mark
    settings.attempts_while_held = policy.kind().announces() || policy.admission().leaves_room();
    if (policy.admission().counts_holders()) {  // Most changes are renewals.
        settings.changes_in_vain = std::numeric_limits<unsigned>::max();
    }
    return settings;
}

/// Returns a number that is not 0 and is small enough for a script.
std::uint64_t make_number(std::uint64_t random) noexcept {
    return random % (core::value_limit - 1) + 1;
}

}  // namespace

ticket& ticket::make(key_queue& queue, std::shared_ptr<const lock_spec> wanted,
                     std::size_t keeper) {
    const auto made = std::make_shared<ticket>(queue, std::move(wanted), keeper);
    made->self_ = made;
    made->client_.members.tickets.push_back(*made);
    return *made;
}

ticket::ticket(key_queue& queue, std::shared_ptr<const lock_spec> wanted, std::size_t keeper)
    : spec_(std::move(wanted)),
      client_(*spec_->owner),
      queue_(&queue),
      keeper_(keeper),
      number_(make_number(client_.world.random())),
      machine_(ticket_settings_for(*spec_->policy)) {}

void ticket::join() {
    resume(event::join(client_.contention.join_from(spec_->key_hash)));
}

ticket::~ticket() {
    client_.alarms.stop_waiting(*this);
}

void ticket::ask(question what, core::step step, std::string_view key, core::time_point now) {
    const lock_spec* const wanted = queue_ != nullptr ? queue_->wanted() : nullptr;
    const core::time_point deadline =
        what == question::leave ? core::never : now + spec_->policy->lease.instance_timeout;
    kinds::command& command = client_.out.submit(*this, static_cast<instance::command_tag>(what),
                                                 core::instance_set::only(keeper_), deadline);
    command.step = step;
    command.key = key;
    command.ticket = number_;
    if (what == question::lock) {
        command.kind = &(wanted != nullptr ? *wanted : *spec_).policy->kind();
        command.more_keys = spec_->more_keys;
        command.explains = wanted != nullptr && queue_->wants_explanation();
    } else {
        command.kind = &spec_->policy->kind().queue();
    }
    command.ttl = std::chrono::duration_cast<core::milliseconds>(machine_.ttl());
    ++pending_votes_;
    last_turn_ = client_.out.turn_number();
    first_turn_ = first_turn_.value_or(last_turn_);
}

void ticket::resume(const event& e) {
    resume(e, client_.turn.now());
}

void ticket::resume(const event& e, core::time_point now) {
    carry_out(machine_.resume(e, now), now);
}

/// Carries out a step. Reports the advice last, because the ticket may leave the queue in response.
void ticket::carry_out(const core::queue_ticket::step& step, core::time_point now) {
    if (step.join) {
        ask(question::join, core::step::join, spec_->key, now);
    }
    if (step.ask_lock) {
        ask(question::lock, core::step::remaining, spec_->key, now);
    }
    if (step.ask_before) {
        watch_before();
        ask(question::before, core::step::remaining, ticket_, now);
    }
    client_.alarms.wait(*this, step.until);
    if (step.advice != core::queue_ticket::advice::none) {
        advice_ = step.advice;
        queue_->on_advice(step.advice, now);
    }
}

void ticket::on_vote(std::size_t /*index*/, instance::command_tag tag, const core::vote& vote,
                     core::time_point now) {
    const auto alive = self_;  // The ticket may leave.
    client_.note_vote(vote, now);
    --pending_votes_;
    const auto what = static_cast<question>(tag);
    if (what == question::leave) {
        on_left(vote, now);
    } else if (queue_ != nullptr) {
        if (what == question::lock) {
            queue_->note_remaining(keeper_, vote);
        }
        resume(event::voted(what == question::join   ? kind::joined
                            : what == question::lock ? kind::lock
                                                     : kind::before,
                            vote),
               now);
    }
    forget_if_over();
}

bool ticket::wanted(std::size_t /*index*/, instance::command_tag tag) const {
    return queue_ != nullptr || static_cast<question>(tag) == question::leave;
}

void ticket::on_time(core::time_point /*now*/) {
    if (left_behind_) {
        left_behind_ = false;
        forget_if_over();
    } else {
        resume(event::just(kind::timer));
    }
}

void ticket::on_denied(const core::round& votes, bool may_have_written) {
    advice_ = core::queue_ticket::advice::none;
    resume(event::denied(votes.has_denied(keeper_) && !may_have_written));
}

void ticket::on_held() {
    stop_watching();
    resume(event::just(kind::held));
}

void ticket::on_lock_changed(std::size_t index) {
    if (concerned_by(index)) {
        resume(event::just(kind::lock_changed));
    }
}

void ticket::on_watched_changed(std::size_t index) {
    if (concerned_by(index)) {
        stop_watching();
        resume(event::just(kind::before_changed));
    }
}

void ticket::on_all_keys_changed(std::size_t index) {
    if (concerned_by(index)) {
        stop_watching();
        resume(event::just(kind::all_changed));
    }
}

/// Notifications of the keeper may be lost.
void ticket::on_instance_changed(std::size_t index) {
    if (left_behind_ && index == keeper_ && client_.instances.tells_changes(keeper_)) {
        left_behind_ = false;
        client_.alarms.stop_waiting(*this);
        ask_to_leave(client_.turn.now());
    } else if (queue_ != nullptr && !client_.instances.can_keep_queue(keeper_)) {
        core::queue_ticket::step end;
        end.advice = core::queue_ticket::advice::broken;
        carry_out(end, client_.turn.now());
    } else {
        on_all_keys_changed(index);
    }
}

void ticket::leave() {
    queue_ = nullptr;
    stop_watching();
    client_.alarms.stop_waiting(*this);
    client_.out.reconsider(last_turn_);
    // mutant: left_without_a_word
    if (first_turn_.value_or(client_.out.turn_number()) == client_.out.turn_number()) {
        forget_if_over();  // No command was sent, and the pending ones are withdrawn.
        return;
    }
    const core::time_point now = client_.turn.now();
    client_.contention.step_aside(spec_->key_hash, machine_.rejoin_from(now));
    ask_to_leave(now);
}

void ticket::ask_to_leave(core::time_point now) {
    ask(question::leave, core::step::leave, spec_->key, now);
    // The next client in the queue is notified and then queries all instances. They must have received the
    // release by then.
    client_.out.send_last(keeper_);
}

/// Handles the vote on the leave. A ticket that stays behind delays the next client, which assumes that this
/// client is alive.
void ticket::on_left(const core::vote& vote, core::time_point now) {
    if (vote.kind == core::vote_kind::granted) {
        client_.contention.note(spec_->key_hash, vote.value != 0, now);
        // mutant: ticket_is_left_behind
    } else if (now < machine_.ticket_end() && !client_.closing) {
        left_behind_ = true;
        client_.alarms.wait(*this, machine_.ticket_end());
    }
}

/// Called only after the last request was answered, so no command refers to the old name.
void ticket::watch_before() {
    stop_watching();
    ticket_ = spec_->policy->kind().queue().ticket_name(spec_->key, machine_.before());
    watching_ = true;
    client_.members.watched[ticket_] = this;
}

void ticket::stop_watching() noexcept {
    if (std::exchange(watching_, false)) {
        client_.members.watched.erase(ticket_);
    }
}

void ticket::forget_if_over() noexcept {
    if (queue_ == nullptr && pending_votes_ == 0 && !left_behind_) {
        in_client::unlink();
        const auto dying = std::move(self_);
    }
}

void ticket::on_abandon() noexcept {
    client_.alarms.stop_waiting(*this);
    queue_ = nullptr;
    const auto dying = std::move(self_);
}

}  // namespace colock::runtime
