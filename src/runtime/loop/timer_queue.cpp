// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/loop/timer_queue.hpp"

#include <algorithm>

namespace colock::runtime {

void timer_queue::set(timed& t, core::time_point when) {
    if (when == t.time_) {
        return;
    }
    clear(t);
    if (when == core::never) {
        return;
    }
    make_room();
    if (running_ && when <= *running_) {
        next_run_.push_back(&t);
        t.position_ = in_next_run | (next_run_.size() - 1);
        t.time_ = when;
    } else {
        t.time_ = when;
        insert_into_heap(t);
    }
    ++size_;
}

void timer_queue::clear(timed& t) noexcept {
    if (t.time_ == core::never) {
        return;
    }
    if ((t.position_ & in_next_run) != 0) {
        next_run_[t.position_ & ~in_next_run] = nullptr;
    } else {
        remove_from_heap(t);
    }
    t.time_ = core::never;
    --size_;
}

void timer_queue::run(core::time_point now) {
    running_ = now;
    try {
        while (!heap_.empty() && heap_.front().time <= now) {
            timed& t = *heap_.front().owner;
            clear(t);
            t.on_time(now);
        }
    } catch (...) {
        end_run();
        throw;
    }
    end_run();
}

/// Reserves heap space for each timer that is set, so that only `set` can fail for lack of memory.
void timer_queue::make_room() {
    if (heap_.capacity() == size_) {
        constexpr std::size_t at_first = 16;
        heap_.reserve(std::max(at_first, 2 * size_));
    }
}

void timer_queue::end_run() noexcept {
    running_.reset();
    for (timed* const one : next_run_) {
        if (one != nullptr) {
            insert_into_heap(*one);
        }
    }
    next_run_.clear();
}

void timer_queue::insert_into_heap(timed& t) noexcept {
    const heap_entry entry{t.time_, &t};
    heap_.push_back(entry);
    settle(heap_.size() - 1, entry);
}

void timer_queue::remove_from_heap(timed& t) noexcept {
    const std::size_t hole = t.position_;
    const heap_entry last = heap_.back();
    heap_.pop_back();
    if (hole != heap_.size()) {
        settle(hole, last);
    }
}

/// Moves the hole up or down until the entry fits into it.
void timer_queue::settle(std::size_t hole, heap_entry entry) noexcept {
    while (hole != 0 && entry.time < heap_[(hole - 1) / 2].time) {
        put(hole, heap_[(hole - 1) / 2]);
        hole = (hole - 1) / 2;
    }
    for (std::size_t child = 2 * hole + 1; child < heap_.size(); child = 2 * hole + 1) {
        if (child + 1 < heap_.size() && heap_[child + 1].time < heap_[child].time) {
            ++child;
        }
        if (entry.time <= heap_[child].time) {
            break;
        }
        put(hole, heap_[child]);
        hole = child;
    }
    put(hole, entry);
}

void timer_queue::put(std::size_t position, heap_entry entry) noexcept {
    heap_[position] = entry;
    entry.owner->position_ = position;
}

}  // namespace colock::runtime
