// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/key_queue.hpp"

#include "runtime/client_context.hpp"
#include "runtime/describe.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/key/places.hpp"
#include "runtime/key/ticket.hpp"
#include "runtime/operations/acquire_operation.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace colock::runtime {
namespace {

acquire_operation& operation_of(member_at_key& one) noexcept {
    return static_cast<acquire_operation&>(one);
}

lease_driver& lease_of(member_at_key& one) noexcept {
    return static_cast<lease_driver&>(one);
}

std::string describe_lost(const lock_spec& wanted) {
    return describe(wanted.resource())
        .append(": this owner has lost its lease, and has not released it");
}

}  // namespace

acquire_operation* key_queue::attempting() const noexcept {
    return local_.attempting() == nullptr ? nullptr : &operation_of(*local_.attempting());
}

const lock_spec* key_queue::wanted() const noexcept {
    return attempting() == nullptr ? nullptr : attempting()->spec().get();
}

bool key_queue::wants_explanation() const noexcept {
    return attempting() != nullptr && attempting()->wants_explanation();
}

acquire_operation& key_queue::front() noexcept {
    return operation_of(local_.front());
}

/// Returns the operation that has made the attempt for this lease.
acquire_operation& key_queue::attempting_for(const lease_driver& lease) noexcept {
    const auto adopts = std::ranges::find_if(
        adopting_, [&](const acquire_operation* one) { return one->has_attempted(lease); });
    return adopts != adopting_.end() ? **adopts : *attempting();
}

// --- Operations -------------------------------------------------------------------------------------

void key_queue::start(acquire_operation& newcomer) {
    newcomer.come_to(*this);
    // mutant: would_deadlock_for_a_waiter, owner_waits_for_itself
    if (lease_driver* const own = held_for(newcomer.acts_for())) {
        enter_again(newcomer, *own);
    } else if (!local_.admits(newcomer.admission())) {
        push(newcomer);
        newcomer.wait_in_local_queue();
        if (acquire_operation* const first = attempting()) {
            first->on_waiter_behind();
        }
    } else if (lease_driver* const lease = to_be_shared(newcomer, newcomer.arrived())) {
        newcomer.receive(lease->add_holder(newcomer.arrived()));
    } else {
        local_.enter(newcomer);
        begin(newcomer);
    }
}

void key_queue::adopt(acquire_operation& newcomer) {
    newcomer.come_to(*this);
    const std::string_view token = newcomer.adopted_token();
    const auto adopts = [&](const auto* one) { return one->adopted_token() == token; };
    if (local_.any_lease([&](auto& one) { return lease_of(one).token() == token; }) ||
        std::ranges::any_of(adopting_, adopts)) {
        newcomer.fail_as(core::acquire_outcome::adopted_twice,
                         describe(newcomer.spec()->resource())
                             .append(": text: this client has adopted it already"));
        return;
    }
    adopting_.push_back(&newcomer);
    newcomer.begin();
}

lease_driver* key_queue::held_for(const ownership& who) const noexcept {
    if (!who.is_known() || local_.latest() == nullptr) {
        return nullptr;
    }
    lease_driver& latest = lease_of(*local_.latest());
    return latest.is_held_for(who) ? &latest : nullptr;
}

/// Handles an operation whose owner holds that lease. It does not wait behind others, because they wait for
/// the release of this lease.
void key_queue::enter_again(acquire_operation& newcomer, lease_driver& lease) {
    using core::acquire_outcome;
    const lock_spec& wanted = *newcomer.spec();
    if (!lease.may_be_entered(newcomer.acts_for(), wanted)) {
        const bool differs = lease.held_for().reenters && newcomer.acts_for().reenters;
        newcomer.fail_as(acquire_outcome::would_deadlock,
                         describe(wanted.resource())
                             .append(": this owner holds it already")
                             .append(differs ? ", and only one of the two has fencing" : ""));
        // mutant: owner_enters_when_it_is_over
    } else if (lease.is_over(newcomer.arrived())) {  // The loss was not reported yet.
        newcomer.fail_as(acquire_outcome::lease_lost, describe_lost(wanted));
    } else {
        newcomer.receive(lease.add_holder(newcomer.arrived()));
    }
}

/// Admits the other waiters of the owner that has got the lease.
void key_queue::admit_owner(lease_driver& lease) {
    const ownership who = lease.held_for();
    // mutant: owner_left_behind
    if (!client_.owners.has_waiters(who)) {
        return;
    }
    local_.for_each_waiter([&](member_at_key& one) {
        acquire_operation& waiter = operation_of(one);
        if (lease.may_be_entered(waiter.acts_for(), *waiter.spec())) {
            waiter.receive(
                lease.add_holder(client_.turn.recent_time()));  // Removes it from the queue.
        }
    });
}

void key_queue::begin(acquire_operation& next) {
    listen_to_more_keys(next);
    next.begin();
}

/// The operation is in no list when it begins. The queue refers to it as `attempting`.
std::shared_ptr<acquire_operation> key_queue::next() {
    while (local_.admits_next()) {
        acquire_operation& waiter = front();
        const core::time_point now = client_.turn.now();
        if (lease_driver* const lease = to_be_shared(waiter, now)) {
            client_.turn.note_time(now);             // It has waited until now.
            waiter.receive(lease->add_holder(now));  // Removes it from the queue.
            continue;
        }
        remove(waiter);
        local_.enter(waiter);
        waiter.become_next();
        return std::static_pointer_cast<acquire_operation>(waiter.self());
    }
    return nullptr;
}

bool key_queue::has_waiters_for_other_names(const lock_spec& lock) noexcept {
    return local_.any_waiter([&](member_at_key& one) {
        return operation_of(one).spec()->more_names != lock.more_names;
    });
}

void key_queue::let_others_pass(acquire_operation& one) {
    forget_more_keys(one);
    no_quorum_since_ = core::never;  // A quorum has denied it.
    local_.leave();
    push(one);
    one.wait_behind_others();
    client_.queues.advance(*this);
}

void key_queue::push(acquire_operation& last) {
    client_.owners.add_waiter(last.acts_for());
    local_.push(last);
    ++client_.counts.queued;
}

void key_queue::remove(acquire_operation& waiter) noexcept {
    local_.remove(waiter);
    --client_.counts.queued;
    client_.owners.remove_waiter(waiter.acts_for());
}

/// Returns the lease at the key that the operation may share, or null. With fencing, the lease must have a
/// fence from after the operation's arrival. If the lease has lost its keys, an older fence may be smaller
/// than that of another client's writer.
lease_driver* key_queue::to_be_shared(const acquire_operation& newcomer, core::time_point now) {
    const lock_spec& wanted = *newcomer.spec();
    if (!local_.held_as().shares_lease() || local_.latest() == nullptr) {
        return nullptr;
    }
    lease_driver& latest = lease_of(*local_.latest());
    // mutant: shared_with_an_old_fence, shared_for_ever
    if (!latest.held_by_client().may_hand_off(0, wanted.policy->handoff, now) ||
        (wanted.policy->lease.value_per_holder && newcomer.arrived() > confirmed_)) {
        return nullptr;
    }
    return latest.may_be_shared(wanted, now) ? &latest : nullptr;
}

void key_queue::announce(core::time_point now) noexcept {
    announced_.made(attempting()->spec()->policy->kind(), now);
}

void key_queue::withdraw(const std::shared_ptr<const lock_spec>& of, core::instance_set where,
                         core::time_point now) {
    client_.withdrawn.withdraw(announced_, of, where, now);
}

void key_queue::on_finished(acquire_operation& one, core::acquire_outcome outcome) {
    if (one.adopts()) {
        std::erase(adopting_, &one);
        client_.queues.advance(*this);
        return;
    }
    if (one.at_key::is_linked()) {
        remove(one);
        leave_place(one);
        // After a grant the queue advances anyway, and on a close every waiter ends.
        if (outcome != core::acquire_outcome::granted && outcome != core::acquire_outcome::closed) {
            // mutant: given_up_without_successor
            client_.queues.advance(*this);  // readers behind a writer may enter now
        }
        return;
    }
    forget_more_keys(one);
    if (outcome == core::acquire_outcome::granted) {
        if (local_.attempting() == &one) {  // It got the lease by hand-off.
            local_.leave();
            leave_remote_queue();
        }
        leave_place(one);
        if (one.admission().leaves_room()) {
            client_.queues.advance(*this);  // The waiters behind it may enter too.
        }
        return;
    }
    leave(one, outcome);
    leave_place(one);
    // mutant: cancelled_without_successor
    client_.queues.advance(*this);
}

/// The operation was at the key.
void key_queue::leave(const acquire_operation& one, core::acquire_outcome outcome) {
    local_.leave();
    if (one.record()) {
        on_record(one.spec()->policy->kind(), one.record());
    }
    const core::acquire* const machine = one.machine();
    if (machine == nullptr) {
        return;
    }
    next_attempt_ = machine->next_attempt();
    no_quorum_since_ = machine->no_quorum_since();
    const bool has_failed =
        outcome == core::acquire_outcome::no_quorum || outcome == core::acquire_outcome::too_slow;
    // Without a time in `no_quorum_since_`, its own time may only have been too short.
    if (has_failed && no_quorum_since_ != core::never) {
        fail_others(outcome, one.details());
    }
}

/// Fails the first waiters too, if they have waited for a quorum as long as they may.
void key_queue::fail_others(core::acquire_outcome outcome, const std::string& details) {
    const core::time_point now = client_.turn.recent_time();
    while (!local_.empty()) {
        acquire_operation& waiter = front();
        const core::time_point since = std::max(no_quorum_since_, waiter.arrived());
        if (now - since < waiter.spec()->policy->unavailable_timeout) {
            return;
        }
        remove(waiter);
        leave_place(waiter);
        waiter.fail_as(outcome, details);
    }
}

/// Completes all waiters of that kind with the record, so that they need no round trips.
void key_queue::on_record(const kinds::lock_kind& kind,
                          const std::shared_ptr<const std::string>& record) {
    local_.for_each_waiter([&](member_at_key& one) {
        acquire_operation& waiter = operation_of(one);
        if (&waiter.spec()->policy->kind() == &kind) {
            remove(waiter);
            waiter.find(record);
        }
    });
}

/// Registers the queue for changes of the further keys of the lock.
void key_queue::listen_to_more_keys(const acquire_operation& one) {
    for (const std::string_view key : one.spec()->more_keys) {
        // mutant: multi_hears_of_one_name
        client_.members.at_more_keys.emplace(key, this);
    }
}

void key_queue::forget_more_keys(const acquire_operation& one) noexcept {
    auto& all = client_.members.at_more_keys;
    for (const std::string_view key : one.spec()->more_keys) {
        const auto found = all.equal_range(key);
        const auto ours = std::find_if(found.first, found.second,
                                       [this](const auto& entry) { return entry.second == this; });
        if (ours != found.second) {
            all.erase(ours);
        }
    }
}

// --- Leases -----------------------------------------------------------------------------------------

/// The lease of an attempt belongs to the operation at the key. Other leases are at the key themselves.
void key_queue::on_lease(lease_driver& lease, const core::lease_step& step, core::time_point now) {
    if (step.attempt == core::acquire_outcome::granted) {
        begin_hold(lease, now);
    } else if (step.attempt) {
        attempting_for(lease).on_failed(*step.attempt, now);
    } else if (!lease.is_at_key()) {
        return;
    } else if (step.let_go) {
        end_hold(lease, step.send.has_value(), now);
    } else {
        if (step.send || !step.heals.empty()) {
            note_write(lease, false);
        }
        if (step.handed_off) {
            hand_off(lease, now);
            // mutant: downgrade_admits_at_once
        } else if (step.extended && lease.is_readers()) {
            become_shared(lease, now);
        }
    }
}

void key_queue::begin_hold(lease_driver& lease, core::time_point now) {
    acquire_operation& winner = attempting_for(lease);
    const core::time_point sent = winner.machine()->sent();
    if (winner.adopts()) {
        local_.hold_beside(lease);
    } else {
        local_.hold(lease);
    }
    lease.hold_since(sent, now);
    confirmed_ = sent;
    no_quorum_since_ = core::never;
    if (attempting() != nullptr) {
        // The ticket belongs to another operation, which continues to wait.
    } else if (local_.held_as().leaves_room()) {
        leave_remote_queue();  // Others may enter too.
    } else if (ticket_ != nullptr) {
        ticket_->on_held();
    }
    lease.hold_for(winner.acts_for());
    if (places_ != nullptr && winner.place() != 0) {
        places_->on_granted(winner.place());
        forget_places_if_empty();
    }
    winner.on_granted();
    admit_owner(lease);
}

/// Applies the first successful downgrade. A later one changes nothing, because the readers admitted by the
/// first may already wait in the remote queue.
void key_queue::become_shared(lease_driver& lease, core::time_point now) {
    // mutant: second_downgrade_admits_again
    if (local_.held_as().shares_lease()) {
        return;
    }
    // mutant: downgraded_is_exclusive
    local_.hold_as(lease);
    lease.share_since(now);
    confirmed_ = lease.downgrade_began();
    leave_remote_queue();  // As for a reader that was granted.
    client_.queues.advance(*this);
}

void key_queue::end_hold(lease_driver& lease, bool is_released, core::time_point now) {
    // Instances that store the token have no announcement.
    // mutant: mark_is_left_by_a_holder
    withdraw(lease.shared_spec(), lease.without_key(), now);
    let_go(lease, now);
    if (is_released) {
        note_write(lease, true);
    }
    client_.queues.advance(*this);
}

void key_queue::on_disconnected(lease_driver& lease, core::time_point now) {
    let_go(lease, now);
    client_.queues.advance(*this);
}

void key_queue::let_go(lease_driver& lease, core::time_point now) {
    local_.let_go(lease);
    lease.leave_key();
    if (!local_.held_as().leaves_room() && attempting() == nullptr) {
        // The order of other clients' waiters does not depend on speed.
        next_attempt_ = lease.shared_spec()->policy->kind().traits().orders_waiters
                            ? now
                            : now + lease.held_by_client().cool_down(now);
        leave_remote_queue();
    }
}

acquire_operation* key_queue::next_for(const lease_driver& lease) noexcept {
    acquire_operation* next = attempting();
    if (next == nullptr && !local_.empty()) {
        next = &front();
    } else if (next != nullptr && !(lease.admission().counts_holders() && next->may_receive())) {
        next = nullptr;
    }
    return next != nullptr && lease.serves(*next->spec()) && is_next_in_order(*next) ? next
                                                                                     : nullptr;
}

/// Returns whether the waiter is next. If the lock's order binds, a waiter of another client may precede it.
bool key_queue::is_next_in_order(const acquire_operation& waiter) const noexcept {
    // mutant: fifo_no_hand_off
    return waiter.place() == 0 ||
           (places_ != nullptr && places_->may_be_handed_off(waiter.place()));
}

/// Hands the lease off, or releases it if no waiter wants it.
void key_queue::hand_off(lease_driver& lease, core::time_point now) {
    if (acquire_operation* const next = next_for(lease)) {
        if (next->place() != 0) {
            places_->on_handed_off(next->place());
        }
        next->receive(lease.hand_off(next->acts_for(), now));
        admit_owner(lease);
    } else {
        lease.give_back(now);
    }
}

/// Records that the lease is about to write its keys. The turn notifies this client's own waiters: an
/// operation that waits next to the lease for room, and waiters in the queues of other names.
void key_queue::note_write(const lease_driver& lease, bool is_release) {
    // mutant: own_release_is_not_told
    const bool waits_beside =
        local_.attempting() != nullptr && (is_release || lease.admission().counts_holders());
    const bool may_wait_elsewhere = is_release && (!lease.shared_spec()->more_keys.empty() ||
                                                   !client_.members.at_more_keys.empty());
    if (waits_beside || may_wait_elsewhere) {
        client_.own_writes.push_back(lease.shared_spec());
        client_.turn.schedule();
    }
}

void key_queue::on_remaining(std::size_t index, const core::vote& vote) {
    attempting()->on_remaining(index, vote);
}

// --- The remote queue -------------------------------------------------------------------------------

bool key_queue::expects_other_clients() {
    return client_.contention.expected_at(lock_->key_hash, client_.turn.recent_time());
}

bool key_queue::expects_holders() {
    return client_.contention.has_holders(lock_->key_hash);
}

void key_queue::note_holders() {
    client_.contention.note_holders(lock_->key_hash);
}

bool key_queue::join_remote_queue(const acquire_operation& waiting) {
    if (ticket_ == nullptr) {
        if (const auto keeper = client_.instances.keeper_of(lock_->key)) {
            ticket_ = &ticket::make(*this, waiting.spec(), *keeper);
            ticket_->join();
        }
    }
    return ticket_ != nullptr;
}

void key_queue::leave_remote_queue() {
    if (ticket_ != nullptr) {
        std::exchange(ticket_, nullptr)->leave();
    }
}

void key_queue::on_denied(const core::round& votes, bool had_ticket) {
    client_.contention.note(lock_->key_hash, true, client_.turn.recent_time());
    if (had_ticket) {
        ticket_->on_denied(votes, attempting()->spec()->policy->kind().announces());
    }
}

void key_queue::on_advice(core::queue_ticket::advice advice, core::time_point now) {
    using core::queue_ticket;
    if (advice == queue_ticket::advice::wait) {
        client_.contention.note(lock_->key_hash, true, now);
    } else if (advice == queue_ticket::advice::broken || advice == queue_ticket::advice::over) {
        leave_remote_queue();
    }
    if (acquire_operation* const waiting = attempting()) {
        waiting->on_advice(advice);
    }
}

// --- Places, if the lock's order binds ---------------------------------------------------------------

places& key_queue::places_for(const acquire_operation& waiter) {
    if (places_ == nullptr) {
        places_ = &places::make(*this, waiter.spec());
    }
    return *places_;
}

void key_queue::on_attempt_in_order() {
    if (places_ != nullptr) {
        places_->on_attempting();
    }
}

void key_queue::take_place(const acquire_operation& waiter) {
    places_for(waiter).enter(waiter.place());
}

void key_queue::on_attempt_lost(std::uint64_t place) noexcept {
    if (places_ != nullptr) {
        places_->on_attempt_lost(place);
    }
}

void key_queue::on_denied_place(const acquire_operation& waiting) {
    places_for(waiting).on_denied(waiting.place());
}

/// Gives up the place of an operation. A granted operation has none any more. A denied attempt may still have
/// entered the queue, with others waiting behind it. Without memory the place is left: it ends with the
/// ticket, or with this client's next waiter.
void key_queue::leave_place(const acquire_operation& one) noexcept {
    const bool has_place = places_ != nullptr && places_->contains(one.place());
    if (one.place() != 0 && (has_place || one.may_have_entered())) {
        try {
            places_for(one).leave(one.place());
        } catch (const std::bad_alloc&) {
        }
        forget_places_if_empty();
    }
}

void key_queue::forget_places_if_empty() noexcept {
    if (places_ != nullptr && places_->empty()) {
        std::exchange(places_, nullptr)->detach();
    }
}

bool key_queue::has_attempt_under_way(std::uint64_t place) const noexcept {
    const acquire_operation* const first = attempting();
    return first != nullptr && first->place() == place && first->has_attempt_under_way();
}

void key_queue::on_place_advice(core::queue_advice advice) {
    acquire_operation* const waiting = attempting();
    if (waiting != nullptr && waiting->place() != 0) {
        waiting->on_advice(advice);
    }
}

void key_queue::note_remaining(std::size_t index, const core::vote& vote) {
    if (acquire_operation* const waiting = attempting()) {
        waiting->note_remaining(index, vote);
    }
}

void key_queue::on_key_changed(std::size_t index) {
    if (acquire_operation* const waiting = attempting()) {
        // A notified object may end the operation and this queue.
        const auto owned = waiting->self();
        if (ticket_ != nullptr) {
            ticket_->on_lock_changed(index);
        }
        if (places_ != nullptr) {
            places_->on_lock_changed();
        }
        if (waiting->running()) {
            waiting->on_key_changed(index);
        }
    }
}

// --- All queues of a client -------------------------------------------------------------------------

key_queue* key_queues::find(const hashed_key& key) const noexcept {
    const auto found = queues_.find(key);
    return found == queues_.end() ? nullptr : found->second.get();
}

void key_queues::start(acquire_operation& newcomer) {
    client_.members.acquiring.push_back(newcomer);
    if (client_.closing) {
        newcomer.on_close();
        return;
    }
    const std::shared_ptr<const lock_spec>& lock = newcomer.spec();
    const ownership who = newcomer.acts_for();
    // mutant: owner_holds_anew_after_a_loss
    if (who.reenters && client_.owners.has_lost(who, lock->key)) {
        newcomer.fail_as(core::acquire_outcome::lease_lost, describe_lost(*lock));
        return;
    }
    key_queue* queue = find(key_of(*lock));
    if (queue == nullptr) {
        auto opened = make_recycled<key_queue>(client_, lock);
        queue = queues_.emplace(key_of(*lock), std::move(opened)).first->second.get();
    }
    if (newcomer.adopts()) {
        queue->adopt(newcomer);
    } else {
        queue->start(newcomer);
    }
}

std::shared_ptr<lease_driver> key_queues::reenter(const lock_spec& lock, const ownership& who) {
    const key_queue* const queue = find(key_of(lock));
    lease_driver* const own = queue != nullptr ? queue->held_for(who) : nullptr;
    if (own == nullptr || !own->may_be_entered(who, lock) ||
        client_.owners.has_lost(who, lock.key)) {
        return nullptr;
    }
    const core::time_point now = client_.turn.now();
    if (own->is_over(now)) {
        return nullptr;
    }
    auto entered = own->add_holder(now);
    client_.note_acquired(*own, core::duration::zero());
    return entered;
}

void key_queues::advance(key_queue& queue) {
    if (auto next = queue.next()) {
        // mutant: next_waiter_not_woken
        next_.push_back(std::move(next));
        client_.turn.schedule();
        return;
    }
    if (!queue.local().needs_remote_queue()) {
        queue.leave_remote_queue();
    }
    if (queue.unused()) {
        assert(queue.remote() == nullptr);  // The ticket refers to the queue.
        queues_.erase(key_of(queue.lock()));
    }
}

void key_queues::begin_next() {
    while (!next_.empty()) {
        for (const auto& one : std::exchange(next_, {})) {
            if (one->running()) {  // Otherwise it was cancelled in the meantime.
                one->queue().begin(*one);
            }
        }
    }
}

}  // namespace colock::runtime
