#ifndef COLOCK_METRICS_HPP
#define COLOCK_METRICS_HPP

#include <cstdint>

namespace colock {

/// What a client has done since it was made. All but the last four only ever grow.
struct counters {
    /// Rounds sent to acquire a lock. A share of a reader's lease needs none. An acquire of a `shared_mutex` whose first round is
    /// denied may send a second at once. Each counts here, and each that is denied counts in `contended`.
    std::uint64_t attempts = 0;
    std::uint64_t acquired = 0;   ///< leases handed out; each share is one
    std::uint64_t contended = 0;  ///< attempts refused because somebody else held the lock
    /// Attempts that failed for lack of answering instances. One after which a quarantine is waited for does not count.
    std::uint64_t unavailable = 0;
    /// Attempts that were given back, as some instance had granted them or might have.
    std::uint64_t undone = 0;
    std::uint64_t cancelled = 0;        ///< acquire operations cancelled by their caller
    std::uint64_t renewed = 0;          ///< renewals won, by the watchdog, `extend` or `downgrade`
    std::uint64_t renewals_failed = 0;  ///< renewal rounds that found no quorum
    std::uint64_t healed = 0;           ///< keys put back on an instance that had lost them
    /// Leases released by a quorum or handed off, and shares let go.
    std::uint64_t released = 0;
    std::uint64_t handed_off = 0;  ///< of those: handed off to another waiter of this client
    std::uint64_t lost = 0;        ///< leases announced lost, expired or held too long
    /// Times that an instance told a waiting acquire that the key in its way has no ttl, so that only a deletion
    /// ends the wait: a lock that was left by `SETNX` without `EXPIRE`, or data that is no lock at all.
    std::uint64_t keys_without_ttl = 0;
    std::uint64_t held = 0;       ///< leases held now
    std::uint64_t acquiring = 0;  ///< acquire operations running now
    std::uint64_t queued = 0;     ///< of those: waiting for others of this client
    /// Releases, and attempts to acquire, that wait until the instances have room for them. The client is overloaded. Releases
    /// go before attempts.
    std::uint64_t waiting_to_send = 0;
    /// Releases and undone attempts that some instance has yet to answer, and leases that were lost and
    /// are not released yet.
    std::uint64_t releasing = 0;
};

}  // namespace colock

#endif
