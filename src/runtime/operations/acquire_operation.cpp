// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/acquire_operation.hpp"

#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/key/announcement.hpp"
#include "runtime/key/key_queue.hpp"
#include "runtime/key/ticket.hpp"
#include "runtime/recycling_allocator.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace colock::runtime {
namespace {

/// Maximum time at the first name while another name is held. The operation then lets those behind it pass.
/// Later stands are shorter.
constexpr core::duration longest_stand = std::chrono::milliseconds(100);
constexpr core::duration later_stand = std::chrono::milliseconds(10);

/// Maximum time in the remote queue behind other clients. A writer then announces itself, and a reader
/// attempts.
constexpr core::duration longest_wait_for_turn = std::chrono::seconds(5);

core::acquire_settings acquire_settings_for(const lock_policy& policy, core::time_point deadline) {
    core::acquire_settings settings;
    settings.instances = policy.lease.instances;
    settings.retry = policy.retry;
    settings.attempts = policy.attempts;
    settings.deadline = deadline;
    settings.unavailable_timeout = policy.unavailable_timeout;
    settings.tries_twice = policy.kind().traits().tries_twice;
    settings.attempt_interval = policy.attempt_interval;
    settings.longest_parking =
        policy.admission().is_unlimited() ? longest_wait_for_turn : core::duration::zero();
    settings.longest_reliance = policy.attempts == 0
                                    ? core::queue_ticket_settings().longest_reliance()
                                    : core::duration::zero();
    return settings;
}

}  // namespace

acquire_operation::acquire_operation(std::shared_ptr<const lock_spec> spec,
                                     core::time_point deadline, std::uint64_t owner)
    : member_at_key(spec->admission()),
      spec_(std::move(spec)),
      loop_(*spec_->owner),
      instances_(spec_->owner->instances),
      deadline_(deadline),
      owner_(owner) {}

acquire_operation::acquire_operation(std::shared_ptr<const lock_spec> spec,
                                     std::shared_ptr<const handover> adopted)
    : acquire_operation(std::move(spec), core::never) {
    adopted_ = std::move(adopted);
}

acquire_operation::~acquire_operation() = default;

void acquire_operation::on_start() {
    ++loop_.counts.acquiring;
    arrived_ = loop_.turn.now();
    if (spec_->policy->kind().traits().orders_waiters && !adopts() && deadline_ > arrived_) {
        place_ = ++spec_->owner->places_given;
    }
    spec_->owner->queues.start(*this);
}

/// Waits in FIFO order, at most as long as its attempts would take. A single attempt does not wait. The
/// exception is an attempt of another reader of this client, which may let this reader enter.
void acquire_operation::wait_in_local_queue() {
    core::time_point until = deadline_;
    if (spec_->policy->attempts != 0 && until > arrived_) {
        const core::duration longest = spec_->policy->retry.longest_total(spec_->policy->attempts);
        until = longest < until - arrived_ ? arrived_ + longest : until;
    }
    stage_ = stage::in_local_queue;
    if (until <= arrived_ && may_enter_with_first()) {
        const core::duration start =
            instances_.starting() ? spec_->policy->unavailable_timeout : core::duration::zero();
        until = arrived_ + std::max(start, spec_->policy->lease.instance_timeout);
        until = deadline_ > arrived_ ? std::min(until, deadline_) : until;
    }
    if (until <= arrived_) {
        finish(outcome_in_local_queue());
        return;
    }
    // mutant: fifo_enters_by_attempt_only
    if (place_ != 0) {
        queue_->take_place(*this);
    }
    wait(until);
}

/// Returns whether a reader attempts for this client and this reader may follow it. No waiter between them
/// may conflict, and no instance may have denied the attempt.
bool acquire_operation::may_enter_with_first() const {
    const acquire_operation* const first = queue_->attempting();
    return first != nullptr && !first->finding() && !queue_->local().is_held_against(admission()) &&
           !queue_->local().has_rival_before(*this);
}

/// Returns the outcome when the time ends in the local queue. The operations before it block it, unless they
/// have found no quorum. A reader does not block readers.
core::acquire_outcome acquire_operation::outcome_in_local_queue() const {
    using core::acquire_outcome;
    if (has_let_others_pass_ || queue_->local().is_held_against(admission())) {
        return acquire_outcome::contended;
    }
    const acquire_operation* const first = queue_->attempting();
    if (const auto found = first != nullptr ? first->finding() : std::nullopt) {
        return *found;
    }
    // mutant: front_is_always_in_the_way
    return queue_->local().has_rival_before(*this) ? acquire_outcome::contended
                                                   : acquire_outcome::no_quorum;
}

void acquire_operation::begin() {
    loop_.alarms.stop_waiting(*this);  // From the local queue.
    if (instances_.starting()) {
        wait_for_start();
    } else if (!adopts() && (queue_->remote() != nullptr || queue_->expects_other_clients()) &&
               join_remote_queue()) {
        wait_for_turn();
    } else if (!adopts() &&
               std::min(queue_->next_attempt(), deadline_) > loop_.turn.recent_time()) {
        stage_ = stage::stepping_aside;
        wait(std::min(queue_->next_attempt(), deadline_));
    } else {
        start_attempts();
    }
}

/// Waits until every instance has been tried once. The limit for a silent server is the same as later.
void acquire_operation::wait_for_start() {
    stage_ = stage::waiting_for_start;
    const core::duration longest = spec_->policy->unavailable_timeout;
    const core::time_point until =
        longest == core::duration::zero() ? core::never : arrived_ + longest;
    wait(deadline_ == core::time_point::min() ? until : std::min(until, deadline_));
}

/// An operation with a limited number of attempts makes them when they are due.
bool acquire_operation::may_join_remote_queue() const noexcept {
    return spec_->policy->kind().traits().joins_remote_queue && spec_->policy->attempts == 0 &&
           deadline_ > loop_.turn.recent_time();
}

bool acquire_operation::can_join_remote_queue() const {
    return may_join_remote_queue() && instances_.keeper_of(spec_->key).has_value();
}

/// Joins the remote queue. Returns false if the client cannot wait there.
bool acquire_operation::join_remote_queue() {
    if (!may_join_remote_queue()) {
        queue_->leave_remote_queue();
        return false;
    }
    if (!queue_->join_remote_queue(*this)) {
        return false;
    }
    if (queued_since_ == core::never) {
        queued_since_ = loop_.turn.now();
    }
    return true;
}

/// Returns whether it may attempt before its turn. The first client in the remote queue does not announce
/// itself if it waits as a mutex. Overlapping readers could then delay it indefinitely. The writers behind it
/// therefore announce themselves after some time, and the readers join the active readers. If a writer has
/// announced itself, the instances admit no new reader.
bool acquire_operation::may_pass() const noexcept {
    // mutant: queued_reader_sleeps
    return announces() || admission().is_unlimited();
}

bool acquire_operation::has_queued_for_long(core::time_point now) const noexcept {
    return may_pass() && now - queued_since_ >= longest_wait_for_turn;
}

core::time_point acquire_operation::end_of_turn_wait() const noexcept {
    return may_pass() ? std::min(deadline_, queued_since_ + longest_wait_for_turn) : deadline_;
}

/// Returns whether other clients delay this operation. Waiting clients do not, if there is always room for
/// this one.
bool acquire_operation::others_hold_it_up() const {
    return !admission().is_unlimited() && queue_->remote()->has_others_before();
}

void acquire_operation::wait_for_turn() {
    stage_ = stage::waiting_for_turn;
    wait(end_of_turn_wait());
    on_advice(queue_->remote()->advice());
}

void acquire_operation::on_advice(core::queue_ticket::advice advice) {
    using core::queue_ticket;
    if (stage_ == stage::waiting_for_turn) {
        if (advice == queue_ticket::advice::turn || advice == queue_ticket::advice::on_its_own ||
            advice == queue_ticket::advice::poll) {
            start_attempts();
        } else if (advice == queue_ticket::advice::broken) {
            // A random delay, so that not all waiters attempt at once.
            stage_ = stage::stepping_aside;
            wait(loop_.turn.now() + spec_->policy->retry.delay(0, loop_.next_seed()));
        }
    } else if (stage_ == stage::attempting && machine_->backing_off()) {
        switch (advice) {
            case queue_ticket::advice::none:
                break;
            case queue_ticket::advice::wait:
                resume(event::just(event::kind_type::parked));
                break;
            case queue_ticket::advice::turn:
                resume(event::just(event::kind_type::wake));
                break;
            case queue_ticket::advice::poll:
                resume(event::just(event::kind_type::poll));
                break;
            case queue_ticket::advice::on_its_own:
            case queue_ticket::advice::broken:
            case queue_ticket::advice::over:
                ask_remaining();
                resume(event::just(event::kind_type::unparked));
                break;
        }
    }
}

void acquire_operation::start_attempts() {
    const bool has_waited_for_start = stage_ == stage::waiting_for_start;
    stage_ = stage::attempting;
    try {
        machine_ = make_recycled<core::acquire>(acquire_settings_for(*spec_->policy, deadline_),
                                                loop_.next_seed());
    } catch (const std::bad_alloc&) {
        end_without_memory();
        return;
    }
    if (has_waited_for_start) {
        machine_->no_quorum_since(arrived_);
    } else if (queue_->no_quorum_since() != core::never) {
        machine_->no_quorum_since(std::max(queue_->no_quorum_since(), arrived_));
    }
    const bool looks = spec_->policy->kind().traits().tries_twice && admission().counts_holders();
    if (queue_->local().is_held() || (looks && queue_->expects_holders())) {
        machine_->expect_others();
    }
    resume(event::start());
}

bool acquire_operation::may_receive() const noexcept {
    switch (stage_) {
        case stage::stepping_aside:
        case stage::waiting_for_turn:
            return true;
        case stage::attempting:
            return machine_->backing_off() || at_gate::is_linked();
        default:
            return false;
    }
}

void acquire_operation::receive(std::shared_ptr<lease_driver> lease) {
    give_up_attempt();
    lease_ = std::move(lease);
    finish(core::acquire_outcome::granted);
}

void acquire_operation::fail_as(core::acquire_outcome outcome, const std::string& details) {
    details_ = details;
    queue_ = nullptr;
    finish(outcome);
}

void acquire_operation::find(std::shared_ptr<const std::string> record) {
    record_ = std::move(record);
    queue_ = nullptr;
    finish(core::acquire_outcome::completed);
}

/// Takes over the records that the ended attempt has found.
void acquire_operation::note_records() {
    core::common_record found = lease_->votes().record();
    has_met_record_ = has_met_record_ || found.count != 0;
    if (found.count >= core::quorum_of(instances_.size())) {
        record_ = std::move(found.text);
    }
}

std::optional<core::acquire_outcome> acquire_operation::finding() const noexcept {
    if (lease_ && lease_->attempting() && lease_->votes().denied() != 0) {
        return core::acquire_outcome::contended;
    }
    if (machine_ && machine_->last_outcome()) {
        return machine_->last_outcome();
    }
    if (queue_->remote() != nullptr && queue_->remote()->has_others_before()) {
        return core::acquire_outcome::contended;
    }
    return std::nullopt;
}

void acquire_operation::cancel() {
    if (!running()) {
        return;
    }
    if (machine_) {
        if (lease_ && lease_->attempting()) {
            if (lease_->votes().denied() != 0) {
                note_denied(true);
            }
            lease_->give_up(loop_.turn.now());
        }
        resume(event::just(event::kind_type::cancel));
    } else {
        finish(closing_ ? core::acquire_outcome::closed : core::acquire_outcome::cancelled);
    }
}

void acquire_operation::on_instances_changed(bool quorum_is_back) {
    switch (stage_) {
        case stage::in_local_queue:
        case stage::next:
            break;
        case stage::stepping_aside:
            if (quorum_is_back) {
                start_attempts();
            }
            break;
        case stage::waiting_for_turn:
            break;
        case stage::waiting_for_start:
            if (!instances_.starting()) {
                start_attempts();
            }
            break;
        case stage::attempting:
            if (quorum_is_back) {
                resume(event::just(event::kind_type::wake));
            }
            break;
    }
}

void acquire_operation::on_key_changed(std::size_t index) {
    if (stage_ == stage::stepping_aside) {  // Other clients have held the key in the meantime.
        start_attempts();
    } else if (stage_ == stage::attempting && !admission().counts_holders()) {
        resume(event::changed(index));
    } else if (stage_ == stage::attempting && is_in_turn() && machine_->asks_remaining(index)) {
        looking_.add(index);
        ask_remaining(index);
    }
}

bool acquire_operation::is_in_turn() const noexcept {
    return queue_->remote() == nullptr || queue_->remote()->is_first();
}

void acquire_operation::on_close() {
    closing_ = true;
    cancel();
}

void acquire_operation::on_remaining(std::size_t index, const core::vote& vote) {
    note_remaining(index, vote);
    const bool is_free = core::is_absent(vote);
    const bool has_changed = looking_.contains(index);
    looking_.remove(index);
    resume(has_changed && is_free ? event::changed(index)
                                  : event::remaining(index, vote, instances_.tells_changes(index)));
}

void acquire_operation::note_remaining(std::size_t index, const core::vote& vote) {
    const bool has_no_ttl =
        vote.kind == core::vote_kind::denied && vote.remaining == core::milliseconds::max();
    if (vote.kind == core::vote_kind::denied && vote.detail) {
        denials_.resize(instances_.size());
        denials_[index] = vote;
    } else if (!has_no_ttl && !denials_.empty()) {
        denials_[index].detail.reset();
    }
    if (!has_no_ttl) {
        without_ttl_.remove(index);
    } else if (!without_ttl_.contains(index)) {
        without_ttl_.add(index);
        ++loop_.counts.keys_without_ttl;
    }
}

void acquire_operation::on_time(core::time_point now) {
    switch (stage_) {
        case stage::in_local_queue:
            finish(outcome_in_local_queue());
            break;
        case stage::next:
            break;
        case stage::waiting_for_turn:
            if (now < deadline_ && !has_queued_for_long(now)) {
                wait(end_of_turn_wait());
            } else if (now < deadline_ || !others_hold_it_up()) {
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
            if (lets_others_pass_at() <= now) {
                queue_->let_others_pass(*this);
            } else if (!at_gate::is_linked()) {
                resume(event::just(event::kind_type::timer));
            } else if (now < send_until_) {
                wait(send_until_);
            } else {
                loop_.gate.leave(*this);
                give_up_sending(now);
            }
            break;
    }
}

void acquire_operation::resume(const event& e) {
    const core::time_point now = loop_.turn.now();
    try {
        carry_out(machine_->resume(e, now), now);
    } catch (const std::bad_alloc&) {
        end_without_memory();
    }
}

/// Ends the operation, because there is no memory for its next step.
void acquire_operation::end_without_memory() {
    if (running()) {
        details_ = "out of memory";
        finish(core::acquire_outcome::no_quorum);
    }
}

void acquire_operation::carry_out(const core::acquire::step& step, core::time_point now) {
    if (step.attempt && waits_for_quorum(now)) {
        wait_for_quorum(now);
        // While the client connects, no instance is overloaded.
    } else if (step.attempt &&
               (step.at_once || instances_.starting() || loop_.gate.admits_attempt())) {
        if (step.at_once) {
            queue_->note_holders();
        }
        begin_attempt(now);
    } else if (step.attempt) {
        wait_to_be_sent(now);
    } else if (step.failed) {
        finish(closing_ ? core::acquire_outcome::closed : *step.failed);
    } else if (!at_gate::is_linked()) {
        wait(std::min(step.until, lets_others_pass_at()));
    }
}

/// Returns when it lets others pass. While one of its other names is held, it blocks waiters for other names.
/// One of these may hold that name and keep it until it has both. Therefore it does not stay here for long
/// while such waiters are behind it.
core::time_point acquire_operation::lets_others_pass_at() const noexcept {
    // mutant: multi_stands_in_the_way
    const bool may_stand_in_the_way = !spec_->more_keys.empty() && spec_->policy->attempts == 0 &&
                                      !adopts() && machine_->backing_off() &&
                                      machine_->last_outcome() == core::acquire_outcome::contended;
    return may_stand_in_the_way && queue_->has_waiters_for_other_names(*spec_)
               ? machine_->began() + (has_let_others_pass_ ? later_stand : longest_stand)
               : core::never;
}

void acquire_operation::on_waiter_behind() {
    if (stage_ == stage::attempting && lets_others_pass_at() < time()) {
        wait(lets_others_pass_at());
    }
}

void acquire_operation::wait_behind_others() {
    has_let_others_pass_ = true;
    lease_->detach();  // Kept, because the text of an error describes its votes.
    wait_in_local_queue();
}

/// Waits until the instances have room for the attempt. A single attempt without a timeout waits as long as
/// it would wait for votes.
void acquire_operation::wait_to_be_sent(core::time_point now) {
    send_until_ = deadline_ > arrived_ ? deadline_ : now + spec_->policy->lease.instance_timeout;
    loop_.gate.wait_for_attempt(*this);
    wait(send_until_);
}

/// Returns when it stops to wait for a quorum.
core::time_point acquire_operation::end_of_outage_wait(core::time_point now) const noexcept {
    return std::min(
        deadline_, std::min(machine_->no_quorum_since(), now) + spec_->policy->unavailable_timeout);
}

/// Returns whether its attempt waits until a quorum takes commands. The first attempt of an operation without
/// time to wait does not. Neither do the attempts of an operation that has a limited number of them.
bool acquire_operation::waits_for_quorum(core::time_point now) const noexcept {
    return !adopts() && spec_->policy->attempts == 0 &&
           (machine_->attempts() > 1 || now < end_of_outage_wait(now)) &&
           !instances_.take_commands(now);
}

void acquire_operation::wait_for_quorum(core::time_point now) {
    is_in_outage_ = true;
    note_denied(false);
    send_until_ = end_of_outage_wait(now);
    loop_.gate.wait_for_quorum(*this);
    wait(send_until_);
}

/// Returns the votes that an attempt without a quorum would get.
core::round acquire_operation::votes_in_outage() const {
    core::round result(instances_.size());
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        if (!instances_.takes_commands(i, loop_.turn.recent_time())) {
            result.record(i, core::vote::failed(core::failure::down));
        }
    }
    return result;
}

void acquire_operation::on_admitted(core::time_point now) {
    try {
        if (waits_for_quorum(now)) {
            wait_for_quorum(now);
        } else if (now < send_until_) {
            machine_->sent_at(now);
            begin_attempt(now);
        } else {
            give_up_sending(now);
        }
    } catch (const std::bad_alloc&) {
        end_without_memory();
    }
}

void acquire_operation::give_up_sending(core::time_point now) {
    is_overloaded_ = instances_.take_commands(now);
    const core::round none = is_overloaded_ ? core::round(instances_.size()) : votes_in_outage();
    carry_out(machine_->resume(event::attempted(core::acquire_outcome::no_quorum, none), now), now);
}

void acquire_operation::begin_attempt(core::time_point now) {
    if (lease_) {
        last_votes_ = std::make_shared<const core::round>(lease_->votes());
        last_denial_ = last_votes_->denied() != 0 ? last_votes_ : std::move(last_denial_);
        if (std::exchange(is_in_outage_, false)) {
            last_votes_ = std::make_shared<const core::round>(votes_in_outage());
        }
        lease_->detach();
    }
    lease_ = std::allocate_shared<lease_driver>(recycling_allocator<lease_driver>(), spec_, *queue_,
                                                adopts() ? adopted_token() : std::string_view());
    looking_ = {};
    ++loop_.counts.attempts;
    core::attempt attempt = machine_->current_attempt();
    if (adopts()) {
        attempt.adopted = &adopted_->has;
        lease_->begin(lease_, attempt, now);
        return;
    }
    if (place_ != 0) {
        queue_->on_attempt_in_order();
    } else {
        attempt.announces = attempt.announces && attempt.contended && is_announcement_due();
        if (attempt.announces) {
            queue_->announce(now);
        }
    }
    lease_->take_place(place_);
    lease_->begin(lease_, attempt, now);
}

bool acquire_operation::is_announcement_due() const {
    if (!announces()) {
        return false;
    }
    const class ticket* const ticket = queue_->remote();
    // mutant: mark_before_its_turn, mark_of_a_guess
    return announcement::is_due(
        spec_->policy->kind(),
        {.joins_remote_queue_next = machine_->attempts() == 1 && can_join_remote_queue(),
         .has_ticket = ticket != nullptr,
         .is_first = ticket != nullptr && ticket->is_first(),
         .has_queued_for_long = has_queued_for_long(loop_.turn.recent_time())});
}

void acquire_operation::on_granted() {
    note_records();
    finish(core::acquire_outcome::granted);
}

void acquire_operation::on_failed(core::acquire_outcome why, core::time_point now) {
    if (adopts() && why == core::acquire_outcome::contended) {
        finish(core::acquire_outcome::lease_lost);
        return;
    }
    try {
        machine_->set_announces(is_announcement_due());
        note_records();
        if (lease_->votes().denied() == 0) {
            queue_->on_attempt_lost(place_);
        }
        const core::acquire::step next =
            machine_->resume(event::attempted(why, lease_->votes()), now);
        if (!machine_->waits_for_quarantine()) {
            note_denied(why == core::acquire_outcome::contended);
        }
        carry_out(next, now);
        if (running() && machine_->backing_off() && !adopts()) {
            wait_for_others();
        }
    } catch (const std::bad_alloc&) {
        end_without_memory();
    }
}

/// Counts a failed attempt.
void acquire_operation::note_denied(bool is_contended) noexcept {
    // mutant: denial_not_told
    ++(is_contended ? loop_.counts.contended : loop_.counts.unavailable);
    spec_->owner->events.add([&] {
        return denied_event{std::string(spec_->resource()), machine_->attempts(), is_contended,
                            loop_.turn.recent_time() - arrived_};
    });
}

/// Waits in the remote queue. Without a remote queue, asks the instances how long they will deny.
void acquire_operation::wait_for_others() {
    const core::round& votes = lease_->votes();
    const bool had_ticket = queue_->remote() != nullptr;
    if (place_ != 0 && votes.denied() != 0) {
        queue_->on_denied_place(*this);
    } else if (votes.unreachable() || votes.won() || !join_remote_queue()) {
        ask_remaining();
    } else {
        queue_->on_denied(votes, had_ticket);
    }
}

/// Asks the instances that have denied the last attempt, or may still deny it.
void acquire_operation::ask_remaining() {
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        if (machine_->asks_remaining(i)) {
            ask_remaining(i);
        }
    }
}

/// Returns whether the wait is unusually long for a mutex. Two kinds of locks may use the same name.
bool acquire_operation::has_waited_for_long() const noexcept {
    constexpr core::duration long_time = std::chrono::seconds(1);
    return loop_.turn.recent_time() - arrived_ >= long_time;
}

/// Asks an instance how long it will deny. Every lock has a ttl. For a key without one, and after a long
/// wait, a slower request also returns the value of the key.
void acquire_operation::ask_remaining(std::size_t index) {
    lease_->ask_remaining(lease_, index, without_ttl_.contains(index) || has_waited_for_long());
}

void acquire_operation::wait(core::time_point until) {
    loop_.alarms.wait(*this, until);
}

/// Finishes the operation. Must be the last action, because the queue may be destroyed.
void acquire_operation::finish(core::acquire_outcome outcome) {
    outcome_ = outcome;
    if (outcome == core::acquire_outcome::cancelled) {
        ++loop_.counts.cancelled;
    }
    if (outcome == core::acquire_outcome::granted) {
        loop_.counts.adopted.add(adopts() ? 1 : 0);
        spec_->owner->note_acquired(*lease_, loop_.turn.recent_time() - arrived_);
        holder_ = lease_->holder();
        fence_ = lease_->fence();
    } else if (outcome == core::acquire_outcome::completed) {
        loop_.counts.once_found.add(record_ ? 1 : 0);
        give_up_attempt();
    } else {
        explain(outcome);
        give_up_attempt();
    }
    loop_.finished.add(take());
    leave(outcome);
}

/// Leaves the client and the queue, which may be destroyed.
void acquire_operation::leave(core::acquire_outcome outcome) {
    loop_.alarms.stop_waiting(*this);
    loop_.gate.leave(*this);
    in_client::unlink();
    --loop_.counts.acquiring;
    if (queue_ != nullptr) {
        std::exchange(queue_, nullptr)->on_finished(*this, outcome);
    }
}

void acquire_operation::on_not_started() {
    give_up_attempt();
    leave(core::acquire_outcome::cancelled);
}

/// Gives up the latest attempt, which was denied or is being rolled back.
void acquire_operation::give_up_attempt() {
    if (lease_) {
        const bool has_announced = !adopts() && stage_ != stage::in_local_queue;
        if (has_announced) {
            // mutant: mark_is_left
            queue_->withdraw(spec_, lease_->without_key(), loop_.turn.now());
        }
        lease_->detach();
        lease_.reset();
    }
}

/// Writes the details of an error. An outcome without an error needs none.
void acquire_operation::explain(core::acquire_outcome outcome) {
    const bool is_error = outcome != core::acquire_outcome::contended || deadline_ == core::never;
    // Details that are set belong to the operation with which this one fails.
    if (!is_error || !details_.empty()) {
        return;
    }
    const bool has_failed =
        outcome == core::acquire_outcome::no_quorum || outcome == core::acquire_outcome::too_slow;
    const acquire_operation* const first =
        stage_ == stage::in_local_queue && has_failed ? queue_->attempting() : nullptr;
    if (outcome == core::acquire_outcome::closed) {
        details_ = describe(spec_->resource());
    } else {
        details_ = first != nullptr ? first->story() : story();
    }
}

std::string acquire_operation::story() const {
    return story(instances_.states());
}

std::string acquire_operation::story(const std::vector<instance::status>& instances) const {
    if (is_overloaded_) {
        return describe(spec_->resource())
            .append(": the client is overloaded: ")
            .append(std::to_string(loop_.counts.waiting_to_send))
            .append(" others wait until the instances have room for them");
    }
    if (!lease_) {
        return why_without_attempt(instances);
    }
    const core::round down = votes_in_outage();
    const core::round& latest = lease_->votes();
    const bool is_unanswered = latest.silent() == instances.size();
    const core::round& votes = is_in_outage_                  ? down
                               : is_unanswered && last_votes_ ? *last_votes_
                                                              : latest;
    const auto describe_votes = [&](const core::round& of) {
        return describe_attempt(spec_->resource(), spec_->policy->kind(), of, instances,
                                {without_ttl_, denials_});
    };
    const core::round* const denial = latest.denied() != 0 ? &latest : last_denial_.get();
    std::string text = describe_votes(votes);
    if (votes.denied() == 0 && denial != nullptr) {
        text += ". Before that: " + describe_votes(*denial);
    }
    if (client_holds_it()) {
        return text + ", " + words_for_own_lease();
    }
    const bool may_be_own = votes.denied() != 0 && loop_.counts.abandoned != 0;
    return may_be_own ? text + ", perhaps by a lease that this client has abandoned" : text;
}

/// Helps a task to notice that it waits for itself.
bool acquire_operation::client_holds_it() const noexcept {
    return queue_ != nullptr && queue_->local().is_held();
}

/// Names the kind of the client's lease if it is another than that of this lock.
std::string acquire_operation::words_for_own_lease() const {
    std::string text = "this client holds it already";
    if (const auto* const its = static_cast<const lease_driver*>(queue_->local().latest())) {
        const std::string_view kind = its->policy().kind().traits().name;
        text += kind == spec_->policy->kind().traits().name
                    ? ""
                    : ", by a lease of kind '" + std::string(kind) + "'";
    }
    return text;
}

std::string acquire_operation::why_without_attempt(
    const std::vector<instance::status>& instances) const {
    std::string why;
    switch (stage_) {
        case stage::in_local_queue:
        case stage::next:
            why = client_holds_it() ? words_for_own_lease()
                                    : "waiting in the local queue behind others of this client";
            break;
        case stage::waiting_for_turn:
            why = client_holds_it() ? words_for_own_lease() + ", and others wait for it"
                                    : "waiting in the remote queue behind another client";
            break;
        case stage::stepping_aside:
            why = "not tried yet";
            break;
        case stage::attempting:
        case stage::waiting_for_start:
            return describe(spec_->resource(), "not tried yet, too few instances are connected",
                            instances);
    }
    std::string text = describe(spec_->resource()).append(": ").append(why);
    const acquire_operation* const first = queue_ != nullptr ? queue_->attempting() : nullptr;
    if (first != nullptr && first->met_key_without_ttl()) {
        text += ", the key has no ttl";
    }
    return text;
}

void acquire_operation::on_abandon() noexcept {
    loop_.alarms.stop_waiting(*this);
    at_key::unlink();
    if (lease_) {
        lease_->detach();
    }
    const auto dying = take();
}

}  // namespace colock::runtime
