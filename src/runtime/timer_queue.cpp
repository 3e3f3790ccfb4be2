// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/timer_queue.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace colock::runtime {
namespace {

static_assert(std::numeric_limits<core::duration::rep>::digits == 63);

/// Makes a signed count of nanoseconds an unsigned one of the same order, and back.
constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

}  // namespace

void timer_queue::set(timed& t, core::time_point when) {
    if (when == t.time_) {
        return;
    }
    clear(t);
    if (when != core::never) {
        make_room();
        t.time_ = when;
        ++size_;
        insert(t);
    }
}

void timer_queue::clear(timed& t) noexcept {
    if (t.time_ != core::never) {
        remove(t);
        t.time_ = core::never;
        --size_;
    }
}

core::time_point timer_queue::earliest() const noexcept {
    if (!due_.empty()) {
        return due_.front().time_;
    }
    if (!heap_.empty()) {
        return heap_.front().time;
    }
    const tick first = first_slot_start();
    return first == no_tick ? core::never : start_of(first);
}

void timer_queue::run(core::time_point now) {
    advance(tick_of(now));
    while (!heap_.empty() && heap_.front().time <= now) {
        timed& t = *heap_.front().owner;
        remove_from_heap(t);
        due_.push_back(t);
    }
    while (!due_.empty()) {
        timed& t = due_.front();
        clear(t);
        t.on_time(now);
    }
}

timer_queue::tick timer_queue::tick_of(core::time_point time) noexcept {
    return (static_cast<std::uint64_t>(time.time_since_epoch().count()) ^ sign_bit) >> tick_bits;
}

core::time_point timer_queue::start_of(tick t) noexcept {
    return core::time_point(
        core::duration(static_cast<core::duration::rep>((t << tick_bits) ^ sign_bit)));
}

void timer_queue::insert(timed& t) noexcept {
    const tick when = tick_of(t.time_);
    if (when <= current_) {
        insert_into_heap(t);
    } else {
        insert_into_slot(slot_of(when), t);
    }
}

void timer_queue::remove(timed& t) noexcept {
    const tick when = tick_of(t.time_);
    if (t.heap_position_ != timed::not_in_heap) {
        remove_from_heap(t);
    } else if (when <= current_) {
        due_.erase(due_.iterator_to(t));
    } else {
        remove_from_slot(slot_of(when), t);
    }
}

/// The heap has room for everything, so that only `set` can fail for want of memory.
void timer_queue::make_room() {
    if (heap_.capacity() == size_) {
        constexpr std::size_t at_first = 16;
        heap_.reserve(std::max(at_first, 2 * size_));
    }
}

/// Moves on what is in the slots that begin until then.
void timer_queue::advance(tick to) noexcept {
    list begun;
    for (tick start = first_slot_start(); start <= to; start = first_slot_start()) {
        const std::size_t slot = slot_of(start);
        begun.splice(begun.end(), slots_[slot]);
        mark_empty(slot);
    }
    current_ = std::max(current_, to);
    while (!begun.empty()) {
        timed& t = begun.front();
        begun.pop_front();
        insert(t);
    }
}

/// For ticks after the current one.
std::size_t timer_queue::slot_of(tick t) const noexcept {
    const int highest_difference = 63 - std::countl_zero(t ^ current_);
    const int level = highest_difference / digit_bits;
    const tick digit = (t >> (level * digit_bits)) % slots_per_level;
    return static_cast<std::size_t>(level) * slots_per_level + digit;
}

timer_queue::tick timer_queue::first_slot_start() const noexcept {
    for (std::size_t level = 0; level != levels; ++level) {
        if (occupied_[level] != 0) {
            const auto digit = static_cast<tick>(std::countr_zero(occupied_[level]));
            const std::size_t shift = level * digit_bits;
            const tick higher_digits = current_ >> shift >> digit_bits << digit_bits;
            return (higher_digits | digit) << shift;
        }
    }
    return no_tick;
}

void timer_queue::insert_into_slot(std::size_t slot, timed& t) noexcept {
    slots_[slot].push_front(t);
    occupied_[slot / slots_per_level] |= std::uint64_t{1} << slot % slots_per_level;
}

void timer_queue::remove_from_slot(std::size_t slot, timed& t) noexcept {
    slots_[slot].erase(list::s_iterator_to(t));
    if (slots_[slot].empty()) {
        mark_empty(slot);
    }
}

void timer_queue::mark_empty(std::size_t slot) noexcept {
    occupied_[slot / slots_per_level] &= ~(std::uint64_t{1} << slot % slots_per_level);
}

void timer_queue::insert_into_heap(timed& t) noexcept {
    const heap_entry entry{t.time_, &t};
    heap_.push_back(entry);
    settle(heap_.size() - 1, entry);
}

void timer_queue::remove_from_heap(timed& t) noexcept {
    const std::size_t hole = std::exchange(t.heap_position_, timed::not_in_heap);
    const heap_entry last = heap_.back();
    heap_.pop_back();
    if (hole != heap_.size()) {
        settle(hole, last);
    }
}

/// Moves the hole up or down until the entry may fill it.
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
    entry.owner->heap_position_ = position;
}

}  // namespace colock::runtime
