// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/cluster_slots.hpp"

#include "instance/redis/key_slot.hpp"

#include <algorithm>

namespace colock::small_redis {

cluster_slots::cluster_slots() : slots_(instance::redis::slot_count) {}

void cluster_slots::give(std::size_t first, std::size_t last, std::uint16_t owner) {
    std::fill(slots_.begin() + static_cast<std::ptrdiff_t>(first),
              slots_.begin() + static_cast<std::ptrdiff_t>(last) + 1, entry{owner});
}

void cluster_slots::serve(std::size_t first, std::size_t last) {
    give(first, last, us);
}

void cluster_slots::assign(std::size_t first, std::size_t last, std::string_view address) {
    give(first, last, number_of(address));
}

void cluster_slots::leave_unserved(std::size_t first, std::size_t last) {
    give(first, last, nobody);
}

void cluster_slots::migrate(std::size_t slot, std::string_view to) {
    slots_[slot].peer = number_of(to);
    slots_[slot].moves = movement::migrating;
}

void cluster_slots::import(std::size_t slot, std::string_view from) {
    slots_[slot].peer = number_of(from);
    slots_[slot].moves = movement::importing;
}

void cluster_slots::settle(std::size_t slot) {
    slots_[slot].peer = nobody;
    slots_[slot].moves = movement::none;
}

std::uint16_t cluster_slots::number_of(std::string_view address) {
    auto found = std::ranges::find(addresses_, address);
    if (found == addresses_.end()) {
        found = addresses_.emplace(found, address);
    }
    return static_cast<std::uint16_t>(found - addresses_.begin() + first_address);
}

}  // namespace colock::small_redis
