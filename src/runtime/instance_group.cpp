// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/instance_group.hpp"

#include "core/backoff.hpp"
#include "core/round.hpp"
#include "core/stable_hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace colock::runtime {

void instance_group::start() {
    for (const auto& one : instances_) {
        one->start();
    }
}

void instance_group::stop() {
    for (const auto& one : instances_) {
        one->stop();
    }
}

std::vector<instance::status> instance_group::states() const {
    std::vector<instance::status> result;
    result.reserve(instances_.size());
    for (const auto& one : instances_) {
        result.push_back(one->snapshot());
    }
    return result;
}

template <typename Predicate>
bool instance_group::is_quorum(const Predicate& is_so) const {
    std::size_t missing = core::quorum_of(instances_.size());
    for (auto one = instances_.begin(); missing != 0 && one != instances_.end(); ++one) {
        missing -= is_so(*one) ? 1 : 0;
    }
    return missing == 0;
}

instance_group::change instance_group::update(std::size_t index) noexcept {
    const change before{ready_.contains(index), has_quorum_};
    ready_.remove(index);
    if (instances_[index]->ready()) {
        ready_.add(index);
    }
    // Memory instances report no change, so all are counted.
    has_quorum_ = is_quorum([](const auto& one) { return one->ready(); });
    return {ready_.contains(index) && !before.is_ready, has_quorum_ && !before.is_quorum};
}

bool instance_group::starting() const {
    return !has_quorum_ && std::any_of(instances_.begin(), instances_.end(),
                                       [](const auto& one) { return one->starting(); });
}

bool instance_group::starting(std::size_t index) const noexcept {
    return instances_[index]->starting();
}

bool instance_group::take_commands(core::time_point now) const {
    return is_quorum([now](const auto& one) { return one->takes_commands(now); });
}

bool instance_group::answer_since(core::time_point then) const {
    return is_quorum([then](const auto& one) { return one->answers_since(then); });
}

std::size_t instance_group::room(core::time_point now) {
    constexpr core::duration patience = core::milliseconds(2);
    full_since_.resize(instances_.size(), core::never);
    std::size_t slow = 0;
    std::size_t result = instance::instance::unlimited;
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        const std::size_t room = instances_[i]->room();
        if (room != 0) {
            full_since_[i] = core::never;
        } else if (full_since_[i] == core::never) {
            full_since_[i] = now;
        }
        if (room == 0 && now - full_since_[i] >= patience) {
            ++slow;
        } else {
            result = std::min(result, room);
        }
    }
    return slow > core::spare_of(instances_.size()) ? 0 : result;
}

/// Selects the keeper by rendezvous hashing. All clients agree, and each server gets its share of the keys.
/// See D. G. Thaler, C. V. Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996.
std::optional<std::size_t> instance_group::keeper_of(std::string_view key) const noexcept {
    const std::uint64_t key_hash = core::stable_hash(key);
    std::optional<std::size_t> result;
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        std::uint64_t state = key_hash ^ instances_[i]->keeper_id();
        const std::uint64_t weight = core::next_random(state);
        if (can_keep_queue(i) && (!result || weight > highest)) {
            result = i;
            highest = weight;
        }
    }
    return result;
}

bool instance_group::can_keep_queue(std::size_t index) const noexcept {
    return has_quorum_ && tells_changes(index);
}

bool instance_group::tells_changes(std::size_t index) const noexcept {
    return instances_[index]->keeper_id() != 0;
}

void instance_group::send(const std::shared_ptr<const instance::batch>& commands, std::size_t first,
                          core::time_point now) {
    for (std::size_t i = 0; i != instances_.size(); ++i) {
        instances_[(first + i) % instances_.size()]->send(commands, now);
    }
}

}  // namespace colock::runtime
