// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/sorted_set.hpp"

#include <algorithm>
#include <tuple>

namespace colock::small_redis {

std::optional<double> sorted_set::score(std::string_view name) const noexcept {
    const auto found = std::ranges::find(members_, name, &member::name);
    return found == members_.end() ? std::nullopt : std::optional(found->score);
}

void sorted_set::put(std::string_view name, double score) {
    erase(name);
    score += 0.0;  // Servers store -0 as 0.
    const auto at = std::ranges::find_if(members_, [&](const member& one) {
        return std::tuple(one.score, std::string_view(one.name)) > std::tuple(score, name);
    });
    members_.insert(at, {score, std::string(name)});
}

bool sorted_set::erase(std::string_view name) {
    const auto found = std::ranges::find(members_, name, &member::name);
    if (found == members_.end()) {
        return false;
    }
    members_.erase(found);
    return true;
}

std::size_t sorted_set::erase(const score_range& range) {
    return std::erase_if(members_, [&](const member& one) { return range.contains(one.score); });
}

}  // namespace colock::small_redis
