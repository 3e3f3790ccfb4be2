// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_ACTIVITY_HPP
#define COLOCK_ACTIVITY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace colock {
inline namespace v1 {

/// A lease that a client holds. A lost lease is listed until its holders release it, or its validity ends. See
/// `client::leases`.
struct lease_info {
    /// The name that is locked. The names of a `multi_mutex` are separated by commas.
    std::string resource;
    /// The token that the servers store: see `lease::token`.
    std::string token;
    /// The label in the token: see `config::label`. Empty without a label.
    std::string label;
    /// The fence of the latest holder. 0 without `lock_options::fencing`.
    std::uint64_t fence = 0;
    /// The number of holders: readers that share the lease, or entries of a `reentrant_mutex`. Otherwise 1.
    std::size_t holders = 1;
    /// Whether the lease is a reader's.
    bool is_shared = false;
    /// Whether the lease is lost.
    bool is_lost = false;
    /// When this client got the lease. A hand-off inside the client does not change it. A downgrade does.
    std::chrono::steady_clock::time_point since;
    /// See `lease::valid_until`. The smallest time if the lease is lost, or is on its way to the next holder.
    std::chrono::steady_clock::time_point valid_until;
    /// What the instances answered to the last renewal, if some of them did not confirm it. For a lost lease, why it
    /// was lost. Empty if all instances have confirmed, if there was no renewal yet, or while one is in progress.
    std::string answers;
};

/// An acquire that waits, or whose attempt is in progress. See `client::waiters`.
struct waiter_info {
    /// The name that it waits for. The names of a `multi_mutex` are separated by commas.
    std::string resource;
    /// The label of the client: see `config::label`.
    std::string label;
    /// Whether other holders or waiters of this client come first. Such a waiter sends nothing.
    bool is_queued = false;
    /// When the acquire was started.
    std::chrono::steady_clock::time_point since;
    /// What the instances answered to its last attempt, or why there was no attempt. This is the text that an error
    /// would have now.
    std::string answers;
};

}  // namespace v1
}  // namespace colock

#endif
