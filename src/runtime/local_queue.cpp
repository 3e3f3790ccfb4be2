#include "runtime/local_queue.hpp"

#include "runtime/acquire_operation.hpp"
#include "runtime/lease_state.hpp"
#include "runtime/remote_queue.hpp"

#include <memory>

namespace colock::runtime {

local_queue::local_queue(acquire_operation& first) noexcept
    : spec_(&first.spec()), attempting_(&first) {}

/// Beside others, only a reader among readers.
bool local_queue::may_begin(const lock_spec& wanted) const noexcept {
    return attempting_ == nullptr && (leases_.empty() || (shared_ && wanted.is_shared()));
}

bool local_queue::admits_next() const noexcept {
    return !waiters_.empty() &&
           may_begin(static_cast<const acquire_operation&>(waiters_.front()).spec());
}

lease_state* local_queue::to_be_shared(const lock_spec& wanted, core::time_point now) {
    if (!shared_ || latest_ == nullptr || !hold_.may_hand_off(0, wanted.policy->handoff, now)) {
        return nullptr;
    }
    auto& latest = static_cast<lease_state&>(*latest_);
    return latest.may_be_shared(wanted, now) ? &latest : nullptr;
}

acquire_operation& local_queue::front() noexcept {
    return static_cast<acquire_operation&>(waiters_.front());
}

void local_queue::push(acquire_operation& last) {
    waiters_.push_back(last);
}

void local_queue::remove(acquire_operation& one) noexcept {
    waiters_.erase(waiters_.iterator_to(one));
}

void local_queue::enter(acquire_operation& newcomer) noexcept {
    spec_ = &newcomer.spec();
    attempting_ = &newcomer;
}

acquire_operation& local_queue::next() noexcept {
    acquire_operation& result = front();
    waiters_.pop_front();
    enter(result);
    return result;
}

void local_queue::leave() noexcept {
    attempting_ = nullptr;
    if (!leases_.empty()) {
        spec_ = &static_cast<lease_state&>(leases_.back()).spec();
    }
}

void local_queue::leave_remote_queue() {
    if (remote_ != nullptr) {
        remote_->leave();
    }
}

void local_queue::begin_hold(lease_state& lease, core::time_point sent, core::time_point now) {
    attempting_ = nullptr;
    leases_.push_back(lease);
    latest_ = &lease;
    shared_ = lease.spec().is_shared();
    hold_ = core::client_hold(sent, now);
    no_quorum_since_ = core::never;
    if (shared_) {
        leave_remote_queue();  // other readers may enter as well
    } else if (remote_ != nullptr) {
        remote_->on_held();
    }
}

void local_queue::become_shared(core::time_point now) noexcept {
    shared_ = true;
    hold_ = core::client_hold(now, now);
}

void local_queue::end_hold(lease_state& lease, core::time_point now) {
    leases_.erase(leases_.iterator_to(lease));
    latest_ = latest_ == &lease ? nullptr : latest_;
    if (attempting_ == nullptr && !leases_.empty()) {
        spec_ = &static_cast<lease_state&>(leases_.back()).spec();
    }
    if (!shared_) {
        next_attempt_ = now + hold_.cool_down(now);
        leave_remote_queue();
    }
}

local_queue* local_queues::find(const hashed_key& key) const noexcept {
    const auto found = queues_.find(key);
    return found == queues_.end() ? nullptr : found->get();
}

local_queue& local_queues::open(acquire_operation& first) {
    return **queues_.insert(make_recycled<local_queue>(first)).first;
}

void local_queues::close(local_queue& queue) noexcept {
    queues_.erase(identity{&queue, queue.spec().key_hash});
}

}  // namespace colock::runtime
