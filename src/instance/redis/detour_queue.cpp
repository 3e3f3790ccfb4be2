// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/detour_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock::instance::redis {

detour_queue::~detour_queue() {
    ends_.clear();
    due_.clear();
    for (rounds& one : rounds_) {
        one.slots.clear();
    }
    for (auto& [key, one] : lines_) {
        one.waiting.clear();
    }
    for (auto& [number, one] : slots_) {
        one.waiting.clear();
    }
}

bool detour_queue::holds_up(std::size_t slot, std::string_view key) const {
    return is_known_[slot] && (slots_.find(slot)->second.is_shut || lines_.contains(key));
}

detour_queue::slot_state& detour_queue::state_of(std::size_t slot) {
    slot_state& result = slots_.try_emplace(slot).first->second;
    result.number = slot;
    is_known_.set(slot);
    return result;
}

void detour_queue::add(entry& one) {
    auto found = lines_.find(one.key);
    if (found == lines_.end()) {
        found = lines_.try_emplace(std::string(one.key)).first;
        line& made = found->second;
        try {
            made.slot = &state_of(key_slot(one.key));
        } catch (...) {
            lines_.erase(found);
            throw;
        }
        made.key = found->first;
        made.slot->waiting.push_back(made);
    }
    line& in = found->second;
    if (one.number_ == 0) {
        one.number_ = ++last_number_;
    }
    auto place = in.waiting.end();
    while (place != in.waiting.begin() && std::prev(place)->number_ > one.number_) {
        --place;
    }
    in.waiting.insert(place, one);
    one.in_ = &in;
    ends_.insert(one);
    end_probe(one);
    if (in.slot->is_shut) {
        line_up(*in.slot);
    } else {
        schedule(in);
    }
}

void detour_queue::remove(entry& one) noexcept {
    line& in = *std::exchange(one.in_, nullptr);
    in.waiting.erase(in.waiting.iterator_to(one));
    ends_.erase(ends_.iterator_to(one));
    unschedule(in);
    if (!in.waiting.empty()) {
        if (!in.slot->is_shut) {
            schedule(in);
        }
        return;
    }
    slot_state& slot = *in.slot;
    slot.waiting.erase(slot.waiting.iterator_to(in));
    lines_.erase(lines_.find(in.key));
    if (slot.waiting.empty()) {
        leave_rounds(slot);
    }
    forget_if_idle(slot);
}

void detour_queue::ended(entry& one, bool executed, core::time_point now) noexcept {
    if (!one.is_probe_) {
        return;
    }
    const auto found = slots_.find(key_slot(one.key));
    if (executed && found != slots_.end() && found->second.is_shut) {
        rounds& of = rounds_of(found->second);
        of.left += 2;
        of.in_vain = 0;
        of.next = std::min(of.next, now);
    }
    end_probe(one);
    if (executed) {
        open(key_slot(one.key));
    }
}

/// The slot's next probe takes over this place in the round.
void detour_queue::skip(entry& one) noexcept {
    const auto found = one.is_probe_ ? slots_.find(key_slot(one.key)) : slots_.end();
    if (found != slots_.end()) {
        ++rounds_of(found->second).left;
        found->second.round = 0;
    }
    end_probe(one);
}

/// A shut slot becomes eligible for its next probe.
void detour_queue::end_probe(entry& one) noexcept {
    if (!std::exchange(one.is_probe_, false)) {
        return;
    }
    if (const auto found = slots_.find(key_slot(one.key)); found != slots_.end()) {
        found->second.is_probing = false;
        line_up(found->second);
    }
}

void detour_queue::shut(std::size_t slot, reason why) {
    slot_state& one = state_of(slot);
    if (one.is_shut && one.why == why) {
        return;
    }
    leave_rounds(one);
    one.is_shut = true;
    one.why = why;
    rounds& of = rounds_of(one);
    of.left = std::min(of.left, round_size);
    one.round = of.number;
    for (line& waiting : one.waiting) {
        unschedule(waiting);
    }
    line_up(one);
}

void detour_queue::open(std::size_t slot) noexcept {
    if (is_known_[slot]) {
        open(slots_.find(slot)->second);
    }
}

void detour_queue::open(slot_state& one) noexcept {
    if (!one.is_shut) {
        return;
    }
    leave_rounds(one);
    one.is_shut = one.is_probing = false;
    rounds_of(one).in_vain = 0;
    for (line& waiting : one.waiting) {
        schedule(waiting);
    }
    forget_if_idle(one);
}

void detour_queue::hurry(core::time_point now) noexcept {
    for (rounds& one : rounds_) {
        one.in_vain = 0;
        one.next = std::min(one.next, now);
    }
}

detour_queue::entry* detour_queue::next_over(core::time_point now) noexcept {
    if (now < next_end()) {
        return nullptr;
    }
    entry& result = *ends_.begin();
    remove(result);
    return &result;
}

detour_queue::entry* detour_queue::next(core::time_point now) noexcept {
    if (!due_.empty() && due_.begin()->due <= now) {
        entry& result = due_.begin()->waiting.front();
        remove(result);
        return &result;
    }
    for (rounds& of : rounds_) {
        if (slot_state* const slot = next_to_be_probed(of, now)) {
            entry& result = slot->waiting.front().waiting.front();
            slot->waiting.splice(slot->waiting.end(), slot->waiting, slot->waiting.begin());
            slot->is_probing = result.is_probe_ = true;
            remove(result);
            return &result;
        }
    }
    return nullptr;
}

detour_queue::entry* detour_queue::any() noexcept {
    if (ends_.empty()) {
        return nullptr;
    }
    entry& result = *ends_.begin();
    remove(result);
    return &result;
}

core::time_point detour_queue::next_time(core::time_point now) const noexcept {
    core::time_point result = due_.empty() ? core::never : due_.begin()->due;
    for (const rounds& of : rounds_) {
        result = std::min(result, next_probe(of, now));
    }
    return result;
}

// --- Open slots -----------------------------------------------------------------------------------

/// Schedules the first entry of the line for its time.
void detour_queue::schedule(line& one) noexcept {
    unschedule(one);
    one.due = one.waiting.front().not_before;
    due_.insert(one);
}

void detour_queue::unschedule(line& one) noexcept {
    if (one.line_when_due::is_linked()) {
        due_.erase(due_.iterator_to(one));
    }
}

void detour_queue::forget_if_idle(slot_state& one) noexcept {
    if (!one.is_shut && one.waiting.empty()) {
        is_known_.reset(one.number);
        slots_.erase(slots_.find(one.number));
    }
}

// --- Shut slots -----------------------------------------------------------------------------------

void detour_queue::line_up(slot_state& one) noexcept {
    if (!one.is_shut || one.is_probing || one.waiting.empty() || one.is_linked()) {
        return;
    }
    auto& slots = rounds_of(one).slots;
    if (one.round == 0) {
        slots.push_front(one);
    } else {
        slots.push_back(one);
    }
}

void detour_queue::leave_rounds(slot_state& one) noexcept {
    if (one.is_linked()) {
        auto& slots = rounds_of(one).slots;
        slots.erase(slots.iterator_to(one));
    }
}

detour_queue::slot_state* detour_queue::next_to_be_probed(rounds& of,
                                                          core::time_point now) noexcept {
    if (now < next_probe(of, now)) {
        return nullptr;
    }
    if (of.left == 0 || of.slots.front().round == of.number) {
        ++of.number;
        of.left = round_size;
        of.next = now + between_rounds_.delay(of.in_vain++, core::next_random(random_));
    }
    slot_state& result = of.slots.front();
    leave_rounds(result);
    result.round = of.number;
    --of.left;
    return &result;
}

/// Each slot has at most one probe per round.
core::time_point detour_queue::next_probe(const rounds& of, core::time_point now) noexcept {
    if (of.slots.empty()) {
        return core::never;
    }
    return of.left != 0 && of.slots.front().round != of.number ? now : std::max(of.next, now);
}

}  // namespace colock::instance::redis
