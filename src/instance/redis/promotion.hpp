// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_PROMOTION_HPP
#define COLOCK_INSTANCE_REDIS_PROMOTION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <map>
#include <string>

// Replication is asynchronous: a promoted replica may lack the latest locks of its former master. The rules
// for this case, without any I/O.

namespace colock::instance::redis {

/// Returns when the last client has left the former master. A majority of the Sentinels has reported the new
/// one since `named`. Clients notice that within `noticed_within`. No client acquires a lock on the former
/// master after that. The result may be in the future, because other clients may still use a former master
/// that is alive.
constexpr core::time_point left_by_all(core::time_point named,
                                       core::duration noticed_within) noexcept {
    // mutant: all_notice_at_once
    return named + noticed_within;
}

/// Records when this client first saw each promoted master of a cluster. A cluster does not report the time
/// of a promotion.
class seen_promotions {
public:
    /// Returns the first time. `term` is the server's replication ID, which changes with each promotion. If
    /// there are more than `most` terms, removes those whose quarantine of `length` ended long ago.
    core::time_point first_seen(const std::string& term, core::time_point now,
                                core::duration length, std::size_t most) {
        std::erase_if(terms_, [&](const auto& one) {
            return terms_.size() > most && now - one.second > 2 * length;
        });
        // mutant: first_seen_long_ago
        return terms_.try_emplace(term, now).first->second;
    }

private:
    std::map<std::string, core::time_point> terms_;
};

/// Returns the result of a grant that needs `wanted` replicas, when `acked` of them have acknowledged it.
constexpr core::failure failure_to_replicate(unsigned acked, unsigned wanted) noexcept {
    // mutant: wait_is_ignored
    return acked >= wanted ? core::failure::none : core::failure::not_replicated;
}

}  // namespace colock::instance::redis

#endif
