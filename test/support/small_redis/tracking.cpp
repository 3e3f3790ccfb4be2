// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/tracking.hpp"

#include <algorithm>
#include <utility>

namespace colock::small_redis {

void tracking::remember(std::string_view key, session& who) {
    auto at = by_key_.find(key);
    if (at == by_key_.end()) {
        at = by_key_.emplace(std::string(key), std::vector<session*>()).first;
    }
    if (std::ranges::find(at->second, &who) == at->second.end()) {
        at->second.push_back(&who);
    }
}

std::vector<session*> tracking::take(std::string_view key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) {
        return {};
    }
    return std::move(by_key_.extract(found).mapped());
}

void tracking::forget(const session& who) {
    for (auto& [key, sessions] : by_key_) {
        std::erase(sessions, &who);
    }
    std::erase_if(by_key_, [](const auto& one) { return one.second.empty(); });
}

}  // namespace colock::small_redis
