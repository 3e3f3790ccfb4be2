// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_LOCK_OPTIONS_HPP
#define COLOCK_LOCK_OPTIONS_HPP

#include <colock/detail/advice.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/temporaries.hpp>

#include <chrono>
#include <cstddef>
#include <optional>

namespace colock {
inline namespace v1 {

/// How a waiting `acquire` polls. Before the n-th repetition it waits for a random time from the upper
/// half of `min(maximum, initial * 2^n)`. This jitter follows M. Brooker, "Exponential Backoff And
/// Jitter".
struct retry_options {
    /// The first wait. Allowed: 1 ms to `maximum`.
    std::chrono::milliseconds initial{4};
    /// The longest wait. Allowed: `initial` to 1 min. A polling writer of a `shared_mutex` waits for half a
    /// second at most, so that its writer mark stays on the servers.
    std::chrono::milliseconds maximum{250};
    /// Fails after this many attempts, with the result of the last one: `errc::contended`, `errc::no_quorum`
    /// or `errc::too_slow`. 0 means no limit. A lock with a limit does
    /// not join the remote queue. A waiter that is queued behind others of the same client gives up after
    /// the time that this many attempts would have taken. An attempt does not count if the waiter then
    /// waits for the end of a quarantine.
    std::size_t attempts = 0;
};

/// The order in which the waiters of a name get a lock.
enum class queue_order {
    /// Each client keeps the order of its own waiters. Between clients it is a hint: a client that asks at the right
    /// moment may go past others that wait. This is the fastest.
    hint,
    /// First in, first out: nobody goes past a live waiter, from any client. See `lock_options::order`.
    fifo,
};

/// The options of a lock. It is an aggregate: set the fields that differ, and keep the others.
///
/// docs/configuration.md has the same fields as a table, with recommendations.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct COLOCK_EXPORT lock_options {
    /// The time for which the servers keep the lock after the last renewal. If the holder dies, the lock
    /// is free after at most this time. Allowed: 10 ms to 24 h. It must also not exceed a quarantine of
    /// the client that is not 0:
    /// - `config::restart_quarantine`, which is on by default with three or more instances
    /// - `config::failover_quarantine`, with Sentinels or a cluster, where it is on by default
    std::chrono::milliseconds ttl = std::chrono::seconds(10);

    /// The interval at which the watchdog renews. If it is not set, it is a third of the ttl. With 0 there
    /// is no renewal, and the lease ends with its validity. Otherwise allowed: 1 ms to half of the ttl.
    ///
    /// Jitter shortens the interval: by up to 1/2 for the first renewal, and by up to 1/256 for the
    /// following ones. This spreads the renewals of leases that were acquired together, and still allows
    /// batching.
    std::optional<std::chrono::milliseconds> renew{};

    /// The longest life of a lease, counted from the grant. When it is over, the client releases the lock.
    /// The loss is reported to the holder earlier, by the `loss_margin`, as `errc::max_hold_exceeded`. 0 means no
    /// limit. Allowed: 0 to 365 days.
    std::chrono::milliseconds max_hold{0};

    /// How long before the end of its validity a loss is reported. `lease::wait_lost` completes at that time, and
    /// `with_lock` cancels its body. From then on `lease::valid` returns false. No other client can acquire the lock
    /// before the margin has passed. If the event loop is blocked, the report comes later, and `lease::valid` is false
    /// from the end of the validity at the latest. A program that has to stop a child process, or to roll back for long, needs
    /// a larger margin. If it is not set, it is 1/20 of the ttl or of `max_hold`, whichever is shorter, and at most
    /// 500 ms.
    ///
    /// Allowed: 0 to half of the ttl. The watchdog needs the time before, so `renew_interval()` and the margin
    /// must not exceed 3/4 of the ttl together. The margin is at most half of `max_hold`, and at most half of a
    /// shorter ttl that `lease::extend` sets.
    std::optional<std::chrono::milliseconds> loss_margin{};

    /// How a waiting `acquire` polls. It polls only if no server notifies it that the name may be free, and
    /// if it is the first waiter of its client.
    ///
    /// If the servers support client tracking, the clients that wait for a name queue at one of them. Each
    /// client renews its place there every `maximum`, which is limited to 50 ms to 1 s. After a longer
    /// wait, the interval grows up to 4 s. If a client dies, its place expires after four such intervals,
    /// and then the next client continues. The first client polls if others acquire the lock again and
    /// again, right after its release. It does so every 1 to 2 ms, or every `initial` if that is less. See
    /// docs/mutex.md.
    retry_options retry{};

    /// The time without a quorum of answers after which a waiting `acquire` fails with `errc::no_quorum`.
    /// With 0 it fails at the first such attempt. Allowed: 0 to 1 h.
    ///
    /// This also limits the wait for a client that is connecting for the first time, counted from the
    /// call. With 0 the wait ends when all instances have been tried. It holds for `try_acquire` and its
    /// variants, too.
    ///
    /// The end of a quarantine is known. An `acquire` that needs a quarantined instance waits for this end
    /// if its deadline is later. The time of this option then counts from there.
    std::chrono::milliseconds unavailable_timeout{2000};

    /// The number of times that a lease may go to the next waiter of the same client without a release on
    /// the servers. 0 means never.
    ///
    /// The waiters of one client for the same name queue in the client. A released lease is handed off to
    /// the first of them, within this limit and `handoff_time`. When either limit is reached, the lease is
    /// released on the servers, and the next local waiter queues behind the other clients. If no other
    /// client is known to wait, it first pauses for a cool-down. The cool-down is the longer of two round
    /// trips and 1/16 of the time for which the client held the lock. It is at most 10 ms.
    ///
    /// A lease is not handed off in these cases:
    /// - The next waiter uses other options.
    /// - The lease was extended to another ttl.
    /// - No watchdog renews it (`renew` is 0).
    /// - Less than half of its ttl is left, or less than a quarter before the `loss_margin`.
    /// - The order binds, and a waiter of another client comes first.
    ///
    /// With fencing, each holder has its own fence. A hand-off then takes a round trip, which checks
    /// the lock and counts a fence. It takes two if the servers' counters differ. A release and a new
    /// acquire would take one more.
    std::size_t handoff_limit = 64;
    /// The time after the servers' grant within which a lease may be handed off: see `handoff_limit`. 0
    /// means never. Allowed: 0 to 1 h.
    std::chrono::milliseconds handoff_time{50};

    /// Gives each lease a fence, which `lease::fence()` returns. The protected resource can then refuse the
    /// writes of an old holder. All programs that write to the resource should use fencing. Locks without
    /// it exclude others as usual, but their holders have no fence.
    ///
    /// An acquire takes a second round trip if the servers' counters differ. This happens at the first use
    /// of a name, after failures, and when the servers disagree on the second.
    ///
    /// Each server keeps a counter for each name, for a week after its last use. Its key is
    /// `{key}:colock:fence`, or `key:colock::fence` for a key with a hash tag. In a Redis Cluster it is
    /// thus in the slot of the key. If a counter holds no number below 2^53, the vote of its server fails.
    /// See docs/fencing.md.
    bool fencing = false;

    /// The order of the waiters. `queue_order::fifo` is possible for `mutex` and `reentrant_mutex`, on one
    /// instance: a single server, Sentinel, or a Redis Cluster. Independent instances may order waiters
    /// differently.
    ///
    /// All programs that use the name should give the same order. A lock without `fifo` takes the name as soon
    /// as it is free. The order is that in which the first commands of the waiters reach the server.
    /// `try_acquire` fails if a live waiter is there.
    ///
    /// A waiter that is cancelled or times out leaves immediately. The waiters of a client that has died are
    /// skipped after four times `retry.maximum`, which is limited to 50 ms to 1 s here. A client that stands
    /// still for as long loses its places, and gets new ones at the end.
    ///
    /// A lease is handed off in the client only to a waiter that has nobody of another client before it. See
    /// docs/fifo.md.
    queue_order order = queue_order::hint;

    /// Returns the interval of the watchdog: `renew`, or a third of the ttl.
    [[nodiscard]] std::chrono::milliseconds renew_interval() const noexcept {
        return renew.value_or(ttl / 3);
    }

    /// Checks the options without a client. The constructor of a lock also checks the ttl against its
    /// client's quarantines and drift.
    ///
    /// - Exception safety: Throws `config_error`, which names the field, its value, the limit and the cure.
    void validate() const;
};

static_assert(detail::safe_as_temporary<lock_options>);

namespace detail {

struct any_option {
    any_option() = default;
    template <typename T>
    any_option(const T& /*given*/) {}  // NOLINT(*-explicit-*)
};
/// The fields of `lock_options`, each of any type.
struct times_in_options_have_a_unit_such_as_10s {
    any_option ttl{}, renew{}, max_hold{}, loss_margin{};
    retry_options retry{};
    any_option unavailable_timeout{}, handoff_limit{}, handoff_time{}, fencing{}, order{};
};
struct semaphore_has_a_number_of_permits {
    lock_options in_place_of_it{};
};

}  // namespace detail

}  // namespace v1
}  // namespace colock

#endif
