#include "runtime/timer_queue.hpp"

namespace colock::runtime {

void timer_queue::set(timed& t, core::time_point when) {
    if (when == core::never) {
        clear(t);
        return;
    }
    if (t.position_ != timed::unset && t.time_ == when) {
        return;
    }
    if (t.position_ == timed::unset) {
        heap_.push_back(&t);
        t.position_ = heap_.size() - 1;
    }
    t.time_ = when;
    sift_up(t.position_);
    sift_down(t.position_);
}

void timer_queue::clear(timed& t) {
    const std::size_t position = t.position_;
    if (position == timed::unset) {
        return;
    }
    t.position_ = timed::unset;
    timed* last = heap_.back();
    heap_.pop_back();
    if (last != &t) {
        place(position, last);
        sift_up(position);
        sift_down(last->position_);
    }
}

void timer_queue::run(core::time_point now) {
    // As many as there are now: one that sets itself anew for a time that has passed must not keep us.
    for (std::size_t most = heap_.size();
         most != 0 && !heap_.empty() && heap_.front()->time_ <= now; --most) {
        timed& due = *heap_.front();
        clear(due);
        due.on_time(now);
    }
}

void timer_queue::place(std::size_t position, timed* t) noexcept {
    heap_[position] = t;
    t->position_ = position;
}

void timer_queue::sift_up(std::size_t position) noexcept {
    timed* t = heap_[position];
    while (position != 0) {
        const std::size_t parent = (position - 1) / 2;
        if (heap_[parent]->time_ <= t->time_) {
            break;
        }
        place(position, heap_[parent]);
        position = parent;
    }
    place(position, t);
}

void timer_queue::sift_down(std::size_t position) noexcept {
    timed* t = heap_[position];
    for (;;) {
        std::size_t child = 2 * position + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && heap_[child + 1]->time_ < heap_[child]->time_) {
            ++child;
        }
        if (t->time_ <= heap_[child]->time_) {
            break;
        }
        place(position, heap_[child]);
        position = child;
    }
    place(position, t);
}

}  // namespace colock::runtime
