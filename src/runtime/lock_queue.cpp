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
