// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/local_queue.hpp"

#include <algorithm>
#include <cassert>

namespace colock::runtime {

local_queue::local_queue(waiter& first) noexcept
    : spec_(first.wanted().get()), attempting_(&first) {}

/// Beside others, only one that they admit.
bool local_queue::may_begin(const lock_spec& wanted) const noexcept {
    return attempting_ == nullptr && !is_held_against(wanted);
}

bool local_queue::admits_next() const noexcept {
    return !waiters_.empty() && may_begin(*waiters_.front().wanted());
}

client_lease* local_queue::to_be_shared(const waiter& newcomer, core::time_point now) {
    const lock_spec& wanted = *newcomer.wanted();
    if (!held_as_.shares_lease() || latest_ == nullptr ||
        !latest_->held().may_hand_off(0, wanted.policy->handoff, now)) {
        return nullptr;
    }
    if (wanted.policy->lease.value_per_holder && newcomer.arrived() > confirmed_) {
        return nullptr;
    }
    return latest_->may_be_shared(wanted, now) ? latest_ : nullptr;
}

bool local_queue::has_rival_before(const waiter& one) const noexcept {
    const kinds::admission wanted = one.wanted()->admission();
    const auto is_rival = [wanted](const waiter& other) {
        return !wanted.admits(other.wanted()->admission());
    };
    if (attempting_ != nullptr && is_rival(*attempting_)) {
        return true;
    }
    const auto end = waiters_.iterator_to(one);
    return std::any_of(waiters_.begin(), end, is_rival);
}

void local_queue::enter(waiter& newcomer) noexcept {
    spec_ = newcomer.wanted().get();
    attempting_ = &newcomer;
}

waiter& local_queue::next() noexcept {
    waiter& result = front();
    remove(result);
    enter(result);
    return result;
}

void local_queue::leave() noexcept {
    attempting_ = nullptr;
    if (!leases_.empty()) {
        spec_ = &leases_.back().spec();
    }
}

void local_queue::leave_remote_queue() {
    if (remote_ != nullptr) {
        remote_->leave();
    }
}

void local_queue::on_key_changed(std::size_t index) {
    if (attempting_ == nullptr) {
        return;
    }
    waiter& waiting = *attempting_;
    const auto owned = waiting.self();  // the first to hear of it may end it, and us
    if (remote_ != nullptr) {
        remote_->on_lock_changed(index);
    }
    if (waiting.running()) {
        waiting.on_key_changed(index);
    }
}

void local_queue::begin_hold(client_lease& lease, core::time_point sent, core::time_point now) {
    attempting_ = nullptr;
    leases_.push_back(lease);
    latest_ = &lease;
    held_as_ = lease.spec().admission();
    lease.hold_since(sent, now);
    confirmed_ = sent;
    no_quorum_since_ = core::never;
    if (held_as_.leaves_room()) {
        leave_remote_queue();  // others may enter as well
    } else if (remote_ != nullptr) {
        remote_->on_held();
    }
}

void local_queue::become_shared(client_lease& lease, core::time_point asked, core::time_point now) {
    held_as_ = lease.spec().admission();
    lease.hold_since(now, now);
    confirmed_ = asked;
    leave_remote_queue();  // as for a reader that was granted
}

void local_queue::end_hold(client_lease& lease, core::time_point now) {
    leases_.erase(leases_.iterator_to(lease));
    latest_ = latest_ == &lease ? nullptr : latest_;
    if (attempting_ == nullptr && !leases_.empty()) {
        spec_ = &leases_.back().spec();
    }
    if (!held_as_.leaves_room()) {
        next_attempt_ = now + lease.held().cool_down(now);
        leave_remote_queue();
    }
}

local_queue* local_queues::find(const hashed_key& key) const noexcept {
    const auto found = queues_.find(key);
    return found == queues_.end() ? nullptr : found->get();
}

local_queue& local_queues::open(waiter& first) {
    return **queues_.insert(make_recycled<local_queue>(first)).first;
}

void local_queues::advance(local_queue& queue) {
    while (queue.admits_next()) {
        waiter& next = queue.front();
        if (client_lease* const lease = queue.to_be_shared(next, turns_.now())) {
            next.receive(lease->add_holder());  // which takes it out of the queue
            continue;
        }
        next_.push_back(std::static_pointer_cast<waiter>(queue.next().self()));
        --counts_.queued;
        turns_.schedule();
        return;
    }
    if (!queue.needs_remote()) {
        queue.leave_remote_queue();
    }
    if (queue.unused()) {
        assert(queue.remote() == nullptr);  // it refers to the queue
        queues_.erase(identity{&queue, queue.spec().key_hash});
    }
}

void local_queues::begin_next() {
    while (!next_.empty()) {
        for (const auto& one : std::exchange(next_, {})) {
            one->begin();
        }
    }
}

}  // namespace colock::runtime
