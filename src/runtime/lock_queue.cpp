#include "runtime/lock_queue.hpp"

#include "runtime/acquire_operation.hpp"
#include "runtime/place_in_line.hpp"

#include <memory>

namespace colock::runtime {

lock_queue::lock_queue(acquire_operation& first) noexcept
    : spec_(&first.spec()), attempting_(&first) {}

acquire_operation& lock_queue::front() noexcept {
    return static_cast<acquire_operation&>(line_.front());
}

void lock_queue::push(acquire_operation& last) {
    line_.push_back(last);
}

void lock_queue::remove(acquire_operation& one) noexcept {
    line_.erase(line_.iterator_to(one));
}

acquire_operation& lock_queue::next() noexcept {
    acquire_operation& result = front();
    line_.pop_front();
    spec_ = &result.spec();
    attempting_ = &result;
    return result;
}

void lock_queue::leave_place() {
    if (place_ != nullptr) {
        place_->leave();
    }
}

void lock_queue::begin_tenure(core::time_point sent, core::time_point now) {
    attempting_ = nullptr;
    tenure_ = core::tenure(sent, now);
    no_quorum_since_ = core::never;
    if (place_ != nullptr) {
        place_->on_held();
    }
}

void lock_queue::end_tenure(core::time_point now) {
    next_attempt_ = now + tenure_.pause(now);
    leave_place();
}

lock_queue* lock_queues::find(const hashed_key& key) const noexcept {
    const auto found = queues_.find(key);
    return found == queues_.end() ? nullptr : found->get();
}

lock_queue& lock_queues::open(acquire_operation& first) {
    return **queues_.insert(make_recycled<lock_queue>(first)).first;
}

void lock_queues::close(lock_queue& queue) noexcept {
    queues_.erase(identity{&queue, queue.spec().key_hash});
}

}  // namespace colock::runtime
