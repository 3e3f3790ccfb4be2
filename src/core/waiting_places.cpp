// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/waiting_places.hpp"

#include <algorithm>
#include <utility>

namespace colock::core {

const waiting_places::waiter* waiting_places::find(std::uint64_t number) const noexcept {
    const auto found = std::ranges::lower_bound(all_, number, {}, &waiter::number);
    return found != all_.end() && found->number == number ? &*found : nullptr;
}

waiting_places::waiter* waiting_places::find(std::uint64_t number) noexcept {
    return const_cast<waiter*>(std::as_const(*this).find(number));
}

bool waiting_places::contains(std::uint64_t number) const noexcept {
    return find(number) != nullptr;
}

void waiting_places::add(std::uint64_t number) {
    if (!contains(number)) {
        all_.insert(std::ranges::upper_bound(all_, number, {}, &waiter::number), {number});
    }
}

void waiting_places::note_entered(waiter& one) noexcept {
    one.is_late = one.is_late || (!one.has_entered && one.number < latest_entered_);
    one.has_entered = true;
    latest_entered_ = std::max(latest_entered_, one.number);
}

void waiting_places::on_entered(std::uint64_t number, std::uint64_t before) {
    waiter* const one = find(number);
    if (one == nullptr) {
        return;
    }
    note_entered(*one);
    one->behind = before == number || contains(before) ? before : 0;
}

void waiting_places::on_denied(std::uint64_t number) {
    add(number);
    note_entered(*find(number));
}

void waiting_places::forget(waiter& one) noexcept {
    one.behind = 0;
    one.is_late = true;
}

void waiting_places::on_attempt_lost(std::uint64_t number) noexcept {
    // mutant: fifo_lost_attempt_keeps_its_place
    if (waiter* const one = find(number)) {
        forget(*one);
    }
}

void waiting_places::forget() noexcept {
    std::ranges::for_each(all_, [](waiter& one) { forget(one); });
}

void waiting_places::on_granted(std::uint64_t number) noexcept {
    const waiter* const one = find(number);
    pass_turn(number, one != nullptr && one->has_entered && !one->is_late);
}

void waiting_places::on_handed_off(std::uint64_t number) noexcept {
    pass_turn(number, true);
}

void waiting_places::pass_turn(std::uint64_t number, bool was_first) noexcept {
    for (waiter& other : all_) {
        if (other.behind == number) {
            other.behind = was_first ? other.number : 0;
        }
    }
}

/// Removes a waiter. The waiter ahead of it is now directly ahead of the waiter behind it.
void waiting_places::remove(std::uint64_t number) noexcept {
    const waiter* const found = find(number);
    if (found == nullptr) {
        return;
    }
    const waiter one = *found;
    all_.erase(all_.begin() + (found - all_.data()));
    for (waiter& other : all_) {
        if (other.behind == number) {
            // mutant: fifo_leave_counts_as_a_turn
            other.behind = one.behind == number ? other.number : one.behind;
        }
    }
}

bool waiting_places::may_be_handed_off(std::uint64_t number) const noexcept {
    const waiter* const one = find(number);
    // mutant: fifo_hand_off_past_a_waiter
    return one != nullptr && one->behind == number;
}

}  // namespace colock::core
