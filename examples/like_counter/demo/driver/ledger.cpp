// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "ledger.hpp"

namespace like_counter::driver {

void ledger::unknown(like_key key, bool liked) {
    account& found = book_[key];
    ++(liked ? found.perhaps_added : found.perhaps_removed);
    ++unknown_requests_;
}

std::vector<like_key> ledger::unsettled() const {
    std::vector<like_key> keys;
    for (const auto& [key, found] : book_) {
        if (found.perhaps_added + found.perhaps_removed > 0) {
            keys.push_back(key);
        }
    }
    return keys;
}

bool ledger::settle(like_key key, bool there) {
    account& found = book_[key];
    const std::int64_t unexplained = (there ? 1 : 0) - found.known;
    const bool possible =
        unexplained <= found.perhaps_added && unexplained >= -found.perhaps_removed;
    if (possible) {
        found.known += unexplained;
    }
    found.perhaps_added = found.perhaps_removed = 0;
    return possible;
}

std::int64_t ledger::likes_of(std::size_t entity) const {
    std::int64_t sum = 0;
    for (auto position = book_.lower_bound({entity, 0});
         position != book_.end() && position->first.entity == entity; ++position) {
        sum += position->second.known;
    }
    return sum;
}

}  // namespace like_counter::driver
