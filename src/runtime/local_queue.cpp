#include "runtime/local_queue.hpp"

#include "runtime/acquire_operation.hpp"
#include "runtime/remote_queue.hpp"

#include <memory>

namespace colock::runtime {

local_queue::local_queue(acquire_operation& first) noexcept
    : spec_(&first.spec()), attempting_(&first) {}

acquire_operation& local_queue::front() noexcept {
    return static_cast<acquire_operation&>(waiters_.front());
}

void local_queue::push(acquire_operation& last) {
    waiters_.push_back(last);
}

void local_queue::remove(acquire_operation& one) noexcept {
    waiters_.erase(waiters_.iterator_to(one));
}

acquire_operation& local_queue::next() noexcept {
    acquire_operation& result = front();
    waiters_.pop_front();
    spec_ = &result.spec();
    attempting_ = &result;
    return result;
}

void local_queue::leave_remote_queue() {
    if (remote_ != nullptr) {
        remote_->leave();
    }
}

void local_queue::begin_hold(core::time_point sent, core::time_point now) {
    attempting_ = nullptr;
    hold_ = core::client_hold(sent, now);
    no_quorum_since_ = core::never;
    if (remote_ != nullptr) {
        remote_->on_held();
    }
}

void local_queue::end_hold(core::time_point now) {
    next_attempt_ = now + hold_.cool_down(now);
    leave_remote_queue();
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
