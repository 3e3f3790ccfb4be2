// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_COUNTERS_HPP
#define COLOCK_COUNTERS_HPP

#include <cstdint>

namespace colock {
inline namespace v1 {

/// What a client has done since it was created. The last five are gauges: `held`, `acquiring`, `queued`,
/// `waiting_to_send` and `releasing`. All others only grow. docs/operations.md has alert rules for them.
struct counters {
    /// Rounds that were sent to acquire a lock. A share of a reader's lease needs none. If the first round
    /// of a `shared_mutex` is denied, a second one may follow immediately. Each round counts here. Each
    /// denied round counts in `contended`, too.
    std::uint64_t attempts = 0;
    /// Leases that were acquired. Each share of a lease and each entry of a `reentrant_mutex` counts.
    std::uint64_t acquired = 0;
    /// Attempts that were denied because another holder had the lock.
    std::uint64_t contended = 0;
    /// Attempts that failed, or wait, because too few instances answered. One does not count if the waiter
    /// then waits for the end of a quarantine.
    std::uint64_t unavailable = 0;
    /// Attempts that were rolled back, because some instance had granted the lock or might have.
    std::uint64_t undone = 0;
    /// Acquire operations that their caller cancelled.
    std::uint64_t cancelled = 0;
    /// Renewals that succeeded: by watchdog, `extend` or `downgrade`.
    std::uint64_t renewed = 0;
    /// Rounds of renewal that found no quorum.
    std::uint64_t renewals_failed = 0;
    /// Keys that were restored on an instance that had lost them.
    std::uint64_t healed = 0;
    /// Leases that a quorum released, hand-offs, and released shares.
    std::uint64_t released = 0;
    /// Those of them that went to another waiter of this client.
    std::uint64_t handed_off = 0;
    /// Leases that were abandoned: see `lease::abandon`.
    std::uint64_t abandoned = 0;
    /// Leases that were detached, so that another process can adopt them: see `lease::detach`.
    std::uint64_t detached = 0;
    /// Leases that were adopted from another process: see `adopt`. They count as acquired, too.
    std::uint64_t adopted = 0;
    /// Leases that were lost, expired, were held for `max_hold`, or were held when the client was closed.
    std::uint64_t lost = 0;
    /// Holders that still had the lease when its validity ended: they had not begun to release, abandon or
    /// detach it. Each may have worked next to another holder. A holder counts once. It counts when the
    /// client's timer notices the end, or when the holder releases late, whichever comes first. A blocked
    /// event loop delays both. A holder does not count if the client was closed completely before the end.
    std::uint64_t overstays = 0;
    /// How often an instance reported to a waiting acquire that the key has no ttl. Only a deletion ends
    /// this wait. The key is a lock that was left by `SETNX` without `EXPIRE`, or data that is no lock.
    std::uint64_t keys_without_ttl = 0;
    /// Reads of a `versioned` value.
    std::uint64_t records_read = 0;
    /// Writes of a `versioned` value, also erases, that were carried out.
    std::uint64_t writes_applied = 0;
    /// Those that were refused, because the value had another version.
    std::uint64_t writes_refused = 0;
    /// Those that ended with `errc::outcome_unknown`.
    std::uint64_t writes_unknown = 0;
    /// Calls of `once` that have run their body and recorded its result.
    std::uint64_t once_ran = 0;
    /// Calls of `once` that found a result.
    std::uint64_t once_found = 0;
    /// Leases that are held now.
    std::uint64_t held = 0;
    /// Acquire operations that are running now.
    std::uint64_t acquiring = 0;
    /// Those of them that wait for others of this client.
    std::uint64_t queued = 0;
    /// Releases and attempts to acquire that wait until the instances have room for them. If it stays above
    /// 0, the client is overloaded. Releases go before attempts.
    std::uint64_t waiting_to_send = 0;
    /// Releases and rollbacks that some instance has not answered, and lost leases that are not released
    /// yet.
    std::uint64_t releasing = 0;
};

}  // namespace v1
}  // namespace colock

#endif
