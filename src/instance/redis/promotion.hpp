// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_PROMOTION_HPP
#define COLOCK_INSTANCE_REDIS_PROMOTION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <map>
#include <string>

// Replication is asynchronous: a replica that is promoted may lack the last locks of its former master. These are the
// decisions about that, without any I/O.

namespace colock::instance::redis {

/// When the last client has left the former master, if a majority of the Sentinels has named the new one since `named`,
/// and clients notice that within `noticed_within`. From then on nobody takes a lock there. It may be in the future:
/// others may still use the former master, if it is alive.
constexpr core::time_point left_by_all(core::time_point named,
                                       core::duration noticed_within) noexcept {
    return named + noticed_within;
}

/// When this client first saw each promoted master of a cluster, where nobody tells when it was promoted.
class seen_promotions {
public:
    /// `term` is the server's replication ID, which is another after each promotion. Forgets terms that are so old that
    /// a quarantine of `length` has ended, once there are more than `most` of them.
    core::time_point first_seen(const std::string& term, core::time_point now,
                                core::duration length, std::size_t most) {
        std::erase_if(terms_, [&](const auto& one) {
            return terms_.size() > most && now - one.second > 2 * length;
        });
        return terms_.try_emplace(term, now).first->second;
    }

private:
    std::map<std::string, core::time_point> terms_;
};

/// What becomes of a grant that waits for `wanted` replicas, when `acked` of them have acknowledged it.
constexpr core::failure failure_to_replicate(unsigned acked, unsigned wanted) noexcept {
    return acked >= wanted ? core::failure::none : core::failure::not_replicated;
}

}  // namespace colock::instance::redis

#endif
