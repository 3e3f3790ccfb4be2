// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/agreed_master.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace colock::instance::redis {

std::optional<named_master> agreed_master(master_opinions opinions) {
    // mutant: minority_of_the_sentinels
    const std::size_t majority = opinions.size() / 2 + 1;
    for (const auto& candidate : opinions) {
        if (!candidate) {
            continue;
        }
        std::vector<core::time_point> agreeing;
        for (const auto& other : opinions) {
            if (other && other->same_place(*candidate)) {
                agreeing.push_back(other->since);
            }
        }
        if (agreeing.size() >= majority) {
            std::ranges::sort(agreeing);
            return named_master{candidate->host, candidate->port, agreeing[majority - 1]};
        }
    }
    return std::nullopt;
}

bool is_contradicted(const named_master& master, master_opinions opinions) {
    // mutant: contradiction_is_ignored
    return std::ranges::any_of(
        opinions, [&](const auto& other) { return other && !other->same_place(master); });
}

}  // namespace colock::instance::redis
