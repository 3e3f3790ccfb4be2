#ifndef COLOCK_LOCK_OPTIONS_HPP
#define COLOCK_LOCK_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <optional>

namespace colock {

/// How long to wait between two attempts: the n-th wait is drawn at random from the upper half of
/// `min(maximum, initial * 2^n)`. (Jitter after M. Brooker, "Exponential Backoff And Jitter".)
struct retry_options {
    /// The first wait. Allowed: 1 ms to `maximum`.
    std::chrono::milliseconds initial{4};
    /// The longest wait. Allowed: `initial` to 1 minute. The writer of a `shared_mutex` that attempts waits for half a second at
    /// most, so that the servers know that it waits.
    std::chrono::milliseconds maximum{250};
    /// Give up with `errc::contended` after so many attempts; 0 = never. A waiter that has others of this client before
    /// it gives up when it might have made so many attempts meanwhile. A lock with this set does not queue with other
    /// clients. An attempt after which it waits for the end of a quarantine does not count.
    std::size_t attempts = 0;
};

/// What a lock does with its leases. An aggregate: set what differs, keep the rest.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct lock_options {
    /// How long the servers keep the lock after the last renewal. When the holder dies, the lock is
    /// free after at most this time. Allowed: 10 ms to 24 h, and no more than the client's quarantines:
    /// - `config::restart_quarantine`, which three servers have by default
    /// - with Sentinels or a cluster, also `config::failover_quarantine`, which they have by default
    std::chrono::milliseconds ttl = std::chrono::seconds(10);

    /// How often the watchdog renews. Unset: a third of the ttl. 0: never, the lease ends with its
    /// validity. Otherwise 1 ms to half of the ttl. The first time comes up to half of that sooner, the
    /// others up to a 256th: so leases that were taken together are not renewed all at once, and many
    /// are renewed by one batch.
    std::optional<std::chrono::milliseconds> renew{};

    /// The longest time that a lease may last, counted from the grant. A holder that has not let go
    /// shortly before it is over (a twentieth of it or of the ttl, 500 ms at most) is told of the loss
    /// (`errc::max_hold_exceeded`); when it is over, the lock is released. 0: no limit. Allowed: 0 to a
    /// year.
    std::chrono::milliseconds max_hold{0};

    /// How a waiting `acquire` polls, if it is the first of its client and no server notifies it that the name may be free.
    ///
    /// Where servers notify, the clients that wait for a name queue at one of them. Each renews its place there every
    /// `maximum`, but at least every second. A client that has waited for longer does so less often, up to every 4 s. It
    /// never lets more time pass than it has waited. So a client that dies is skipped after about as long. The first
    /// in the queue polls every 1 to 2 ms (or every `initial`, if that is less) while others take the lock again and again
    /// right after its release.
    retry_options retry{};

    /// A waiting `acquire` fails with `errc::no_quorum` when for so long no quorum of instances has
    /// answered. 0: at the first such attempt. A client that is connecting for the first time is waited for
    /// no longer than this, counted from the call (0: until all instances have been tried); so are a
    /// `try_acquire` and its kin. An instance in quarantine will grant at a time that is known. So an acquire that needs it
    /// waits until then, if its deadline is later, and this time counts from there. Allowed: 0 to 1 h.
    std::chrono::milliseconds unavailable_timeout{2000};

    /// The waiters of one client for the same name queue inside it, and a lease that is let go is
    /// handed off to the first of them without asking a server: so many times, and within so much
    /// time after the servers granted it. Then it is really released, and the next waiter asks for
    /// it behind the other clients that wait; if none is known of, after a cool-down (two round trips, or a
    /// sixteenth of the time for which the client had it; 10 ms at most).
    ///
    /// A lease is not handed off to a lock with other options, nor if it was extended to another ttl,
    /// is not renewed by a watchdog (`renew`), or has less than half of its ttl left. With fencing
    /// every holder has a fence of its own, so a hand-off takes one round at the servers, which
    /// checks that the lock is still ours and counts: one round trip less than to release and acquire it.
    ///
    /// 0 of either: never. `handoff_time`: 0 to 1 h.
    std::size_t handoff_limit = 64;
    std::chrono::milliseconds handoff_time{50};

    /// Gives every lease a fence: `lease::fence()`, by which a resource can tell who is behind the
    /// times. Costs a second round trip when the servers' counters differ: at the first use of a
    /// name, after failures, and as often as servers disagree on the second. All who write to the
    /// resource should take the lock with fencing; those who do not are excluded as ever, and
    /// not ordered.
    ///
    /// Each server keeps a counter for each name, for a week after its last use: `{key}:colock:fence`,
    /// or `key:colock::fence` for a key that has a hash tag, so that in a Redis Cluster it lies where
    /// the key does. A counter that holds no number below 2^53 makes that server's vote fail.
    bool fencing = false;

    /// The renewal interval in force: `renew`, or a third of the ttl.
    [[nodiscard]] std::chrono::milliseconds renew_interval() const noexcept {
        return renew.value_or(ttl / 3);
    }

    /// Throws `config_error`, which names the field, its value and what is allowed.
    void validate() const;
};

}  // namespace colock

#endif
