#include "runtime/acquire_operation.hpp"

#include "core/prefetch.hpp"
#include "runtime/describe.hpp"
#include "runtime/engine.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/recycling_allocator.hpp"
#include "runtime/remote_queue.hpp"

#include <algorithm>
#include <utility>

namespace colock::runtime {
namespace {

core::acquire_settings settings_for(const lock_policy& policy, core::time_point deadline) {
    core::acquire_settings settings;
    settings.instances = policy.lease.instances;
    settings.ttl = policy.lease.ttl;
    settings.drift = policy.lease.drift;
    settings.instance_timeout = policy.lease.instance_timeout;
    settings.retry = policy.retry;
    settings.attempts = policy.attempts;
    settings.deadline = deadline;
    settings.unavailable_timeout = policy.unavailable_timeout;
    settings.fencing = policy.lease.fencing;
    settings.tries_twice = policy.kind().traits().tries_twice;
    settings.attempt_interval = policy.attempt_interval;
    return settings;
}

}  // namespace

acquire_operation::acquire_operation(std::shared_ptr<const lock_spec> spec,
                                     core::time_point deadline)
    : spec_(std::move(spec)), engine_(*spec_->owner), deadline_(deadline) {}

acquire_operation::~acquire_operation() = default;

void acquire_operation::on_start() {
    ++engine_.count().acquiring;
    engine_.add(*this);
    if (engine_.closing()) {
        on_close();
        return;
    }
    queue_ = engine_.queues().find(*spec_);
    if (queue_ == nullptr) {
        queue_ = &engine_.queues().open(*this);
        begin();
    } else if (!queue_->admits(*spec_)) {
        wait_in_local_queue();
    } else if (lease_state* const lease = queue_->to_be_shared(*spec_, engine_.now())) {
        share(*lease);
    } else {
        queue_->enter(*this);
        begin();
    }
}

/// Behind those who came before it; but not to wait for longer than its attempts would take, nor at all if
/// there would be one.
void acquire_operation::wait_in_local_queue() {
    arrived_ = engine_.now();
    core::time_point until = deadline_;
    if (spec_->policy->attempts != 0 && until > arrived_) {
        const core::duration patience = spec_->policy->retry.longest_total(spec_->policy->attempts);
        until = patience < until - arrived_ ? arrived_ + patience : until;
    }
    stage_ = stage::in_local_queue;
    queue_->push(*this);
    ++engine_.count().queued;
    if (until <= arrived_) {
        finish(core::acquire_outcome::contended);
    } else {
        wait(until);
    }
}

void acquire_operation::begin() {
    if (!running()) {
        return;  // it was cancelled meanwhile
    }
    if (engine_.starting()) {
        wait_for_start();
    } else if ((queue_->remote() != nullptr ||
                engine_.contention().expected_at(spec_->key_hash, engine_.recent_time())) &&
               join_remote_queue()) {
        wait_for_turn();
    } else if (std::min(queue_->next_attempt(), deadline_) > engine_.recent_time()) {
        stage_ = stage::stepping_aside;
        wait(std::min(queue_->next_attempt(), deadline_));
    } else {
        start_attempts();
    }
}

/// Until the instances have been tried for the first time; but a server that stays silent then has no longer
/// than one that does so later.
void acquire_operation::wait_for_start() {
    stage_ = stage::waiting_for_start;
    if (arrived_ == core::time_point()) {
        arrived_ = engine_.now();
    }
    const core::duration patience = spec_->policy->unavailable_timeout;
    const core::time_point until =
        patience == core::duration::zero() ? core::never : arrived_ + patience;
    wait(deadline_ == core::time_point::min() ? until : std::min(until, deadline_));
}

/// An operation with a limited number of attempts makes them when they are due.
bool acquire_operation::may_join_remote_queue() const noexcept {
    return spec_->policy->attempts == 0 && deadline_ > engine_.recent_time();
}

/// False if the client cannot wait in a remote queue.
bool acquire_operation::join_remote_queue() {
    if (!may_join_remote_queue()) {
        queue_->leave_remote_queue();
    } else if (queue_->remote() == nullptr) {
        if (const auto keeper = engine_.keeper_of(spec_->key)) {
            remote_queue::join(*queue_, engine_, *keeper);
        }
    }
    return queue_->remote() != nullptr;
}

void acquire_operation::wait_for_turn() {
    stage_ = stage::waiting_for_turn;
    wait(deadline_);
    on_advice(queue_->remote()->advice());
}

void acquire_operation::on_advice(core::queue_ticket::advice advice) {
    using core::queue_ticket;
    if (stage_ == stage::waiting_for_turn) {
        if (advice == queue_ticket::advice::turn || advice == queue_ticket::advice::on_its_own ||
            advice == queue_ticket::advice::poll) {
            start_attempts();
        } else if (advice == queue_ticket::advice::broken) {
            // For a random time, or all who waited would be there at once.
            stage_ = stage::stepping_aside;
            wait(engine_.now() + spec_->policy->retry.delay(0, engine_.next_seed()));
        }
    } else if (advice == queue_ticket::advice::poll) {
        machine_->poll();
    } else if (stage_ == stage::attempting && machine_->backing_off()) {
        if (advice == queue_ticket::advice::wait) {
            drive(core::acquire::event::parked());
        } else if (advice == queue_ticket::advice::turn) {
            drive(core::acquire::event::wake());
        } else if (advice != queue_ticket::advice::none) {
            ask_remaining();
            drive(core::acquire::event::unparked());
        }
    }
}

void acquire_operation::start_attempts() {
    const bool has_waited_for_start = stage_ == stage::waiting_for_start;
    stage_ = stage::attempting;
    machine_ =
        make_recycled<core::acquire>(settings_for(*spec_->policy, deadline_), engine_.next_seed());
    if (has_waited_for_start) {
        machine_->no_quorum_since(arrived_);
    } else if (queue_->no_quorum_since() != core::never) {
        machine_->no_quorum_since(std::max(queue_->no_quorum_since(), arrived_));
    }
    if (queue_->is_shared()) {
        machine_->expect_others();
    }
    drive(core::acquire::event::start());
}

void acquire_operation::share(lease_state& lease) {
    receive(lease.add_holder());
}

void acquire_operation::receive(std::shared_ptr<lease_state> lease) {
    lease_ = std::move(lease);
    finish(core::acquire_outcome::granted);
}

bool acquire_operation::fails_with(const acquire_operation& first, core::time_point now) {
    const core::time_point since = std::max(first.machine_->no_quorum_since(), arrived_);
    if (now - since < spec_->policy->unavailable_timeout) {
        return false;
    }
    details_ = first.details_;
    finish(first.outcome_);
    return true;
}

void acquire_operation::prefetch() const noexcept {
    core::prefetch_shared(spec_);
    if (lease_) {
        core::prefetch_shared(lease_);
    }
}

void acquire_operation::cancel() {
    if (!running()) {
        return;
    }
    if (machine_) {
        drive(core::acquire::event::cancel());
    } else {
        finish(closing_ ? core::acquire_outcome::closed : core::acquire_outcome::cancelled);
    }
}

void acquire_operation::on_instances_changed(bool quorum_is_back) {
    switch (stage_) {
        case stage::in_local_queue:
            break;
        case stage::stepping_aside:
            if (quorum_is_back) {
                start_attempts();
            }
            break;
        case stage::waiting_for_turn:
            break;
        case stage::waiting_for_start:
            if (!engine_.starting()) {
                start_attempts();
            }
            break;
        case stage::attempting:
            if (quorum_is_back) {
                drive(core::acquire::event::wake());
            }
            break;
    }
}

void acquire_operation::on_key_changed(std::size_t index) {
    if (stage_ == stage::attempting) {
        drive(core::acquire::event::changed(index));
    } else if (stage_ == stage::stepping_aside) {  // for one who knew that the key was held
        start_attempts();
    }
}

void acquire_operation::on_close() {
    closing_ = true;
    cancel();
}

void acquire_operation::on_deciding_vote(std::size_t index, const core::vote& vote) {
    drive(core::acquire::event::voted(index, vote));
}

void acquire_operation::on_raised(std::size_t index, const core::vote& vote) {
    drive(core::acquire::event::raised(index, vote));
}

void acquire_operation::on_remaining(std::size_t index, const core::vote& vote) {
    note_remaining(index, vote);
    drive(core::acquire::event::remaining(index, vote));
}

void acquire_operation::note_remaining(std::size_t index, const core::vote& vote) {
    if (vote.kind != core::vote_kind::denied || vote.remaining != core::milliseconds::max()) {
        without_ttl_.remove(index);
    } else if (!without_ttl_.contains(index)) {
        without_ttl_.add(index);
        ++engine_.count().keys_without_ttl;
    }
}

void acquire_operation::on_time(core::time_point now) {
    switch (stage_) {
        case stage::in_local_queue:
            finish(core::acquire_outcome::contended);
            break;
        case stage::waiting_for_turn:
            if (now < deadline_) {
                wait(deadline_);
            } else if (queue_->remote()->is_first()) {
                start_attempts();
            } else {
                finish(core::acquire_outcome::contended);
            }
            break;
        case stage::stepping_aside:
        case stage::waiting_for_start:
            start_attempts();
            break;
        case stage::attempting:
            drive(core::acquire::event::timer());
            break;
    }
}

void acquire_operation::drive(const core::acquire::event& event) {
    using kind = core::acquire::action::kind_type;
    const core::time_point now = engine_.now();
    core::acquire::action action = machine_->resume(event, now);
    for (;;) {
        switch (action.kind) {
            case kind::attempt:
                begin_attempt(now);
                break;
            case kind::raise:
                lease_->raise(machine_->fence(), now);
                break;
            case kind::give_back:
                give_back();
                break;
            case kind::wait:
                wait(action.time);
                return;
            case kind::granted:
                queue_->begin_hold(*lease_, machine_->sent(), now);
                lease_->hold(*queue_, action.time, now, machine_->fence());
                finish(core::acquire_outcome::granted);
                return;
            case kind::failed:
                finish(closing_ ? core::acquire_outcome::closed : action.outcome);
                return;
        }
        action = machine_->resume(core::acquire::event::done(), now);
    }
}

void acquire_operation::begin_attempt(core::time_point now) {
    if (lease_) {
        lease_->detach();
    }
    lease_ = std::allocate_shared<lease_state>(recycling_allocator<lease_state>(), spec_, *this,
                                               *machine_);
    ++engine_.count().attempts;
    lease_->begin(lease_, machine_->contended(), now);
}

void acquire_operation::give_back() {
    count_failed_attempt();
    lease_->give_back();
    if (!machine_->will_retry() || machine_->retries_at_once()) {
        return;
    }
    last_votes_ = std::make_unique<const core::round>(machine_->votes());
    const bool had_place = queue_->remote() != nullptr;
    if (machine_->votes().unreachable() || machine_->votes().won() || !join_remote_queue()) {
        ask_remaining();
        return;
    }
    engine_.contention().note(spec_->key_hash, true, engine_.recent_time());
    if (had_place) {
        queue_->remote()->on_denied(machine_->votes());
    }
}

/// Of whom the last attempt has found in the way.
void acquire_operation::ask_remaining() {
    for (std::size_t i = 0; i != engine_.instance_count(); ++i) {
        if (machine_->asks_remaining(i)) {
            lease_->ask_remaining(lease_, i);
        }
    }
}

void acquire_operation::count_failed_attempt() {
    const core::round& votes = machine_->votes();
    if (votes.unreachable() || votes.won()) {
        ++engine_.count().unavailable;
    } else if (votes.denied() != 0) {
        ++engine_.count().contended;
    }
}

void acquire_operation::wait(core::time_point until) {
    engine_.wait(*this, until);
}

void acquire_operation::finish(core::acquire_outcome outcome) {
    outcome_ = outcome;
    if (outcome == core::acquire_outcome::cancelled) {
        ++engine_.count().cancelled;
    }
    if (outcome == core::acquire_outcome::granted) {
        ++engine_.count().acquired;
        holder_ = lease_->holder();
        fence_ = lease_->fence();
    } else {
        explain(outcome);
        if (lease_) {
            lease_->detach();
            lease_.reset();
        }
    }
    engine_.stop_waiting(*this);
    member_of_engine::unlink();
    --engine_.count().acquiring;
    engine_.deliver_later(take());
    leave_queue(outcome);
}

void acquire_operation::leave_queue(core::acquire_outcome outcome) {
    local_queue* const queue = std::exchange(queue_, nullptr);
    if (queue == nullptr) {
        return;
    }
    if (in_local_queue()) {
        queue->remove(*this);
        --engine_.count().queued;
    } else if (outcome == core::acquire_outcome::granted) {
        if (spec_->is_shared()) {
            engine_.advance(*queue);  // the readers behind it may enter, too
        }
    } else {
        queue->leave();
        if (stage_ == stage::attempting) {
            queue->give_up(machine_->next_attempt(), machine_->no_quorum_since());
        }
        if (outcome == core::acquire_outcome::no_quorum ||
            outcome == core::acquire_outcome::too_slow) {
            const core::time_point now = engine_.recent_time();
            while (!queue->empty() && queue->front().fails_with(*this, now)) {
            }
        }
        if (queue->empty()) {
            queue->leave_remote_queue();
        }
        engine_.advance(*queue);
    }
}

/// Writes the story of an error; an empty optional needs none.
void acquire_operation::explain(core::acquire_outcome outcome) {
    const bool is_error = outcome != core::acquire_outcome::contended || deadline_ == core::never;
    if (!is_error ||
        !details_.empty()) {  // or it is that of another one, with which this one fails
        return;
    }
    if (outcome == core::acquire_outcome::closed) {
        details_ = describe(spec_->resource());
    } else if (machine_) {
        const core::round& votes = machine_->votes();
        const bool is_unanswered = votes.silent() == votes.instances();
        details_ = describe(spec_->resource(), is_unanswered && last_votes_ ? *last_votes_ : votes,
                            engine_.instance_states(), without_ttl_);
    } else {
        details_ = why_without_attempt();
    }
}

std::string acquire_operation::why_without_attempt() const {
    std::string_view why;
    switch (stage_) {
        case stage::in_local_queue:
            why = ": others of this client are before it in the queue";
            break;
        case stage::waiting_for_turn:
            why = ": other clients are before it in the queue";
            break;
        case stage::stepping_aside:
        case stage::attempting:
            why = ": not tried yet";
            break;
        case stage::waiting_for_start:
            return describe(spec_->resource(), "not tried yet, too few instances are connected",
                            engine_.instance_states());
    }
    std::string text = describe(spec_->resource()).append(why);
    const acquire_operation* const first = queue_ != nullptr ? queue_->attempting() : nullptr;
    if (first != nullptr && first->without_ttl_ != core::instance_set()) {
        text += "; it is held by another, the key has no ttl";
    }
    return text;
}

void acquire_operation::on_abandon() noexcept {
    engine_.stop_waiting(*this);
    if (in_local_queue()) {
        queue_->remove(*this);
    }
    if (lease_) {
        lease_->detach();
    }
    const auto dying = take();
}

}  // namespace colock::runtime
