#ifndef COLOCK_LEASE_HPP
#define COLOCK_LEASE_HPP

#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {

/// How a release ended.
enum class release_result {
    /// A quorum of instances deleted our key; or the client handed the lease off to its next waiter, or its other readers
    /// go on with it.
    released,
    /// The lease had run out: the keys were gone when the release came. (Or somebody else's: a server that
    /// compares and deletes in one command of its own, as Valkey 9 does, does not tell one from the other.)
    /// Or it had ended by itself before, as by `lock_options::max_hold`: see `lease::loss`.
    expired,
    /// The keys were gone or somebody else's although the lease should still have been valid, or
    /// somebody else was seen to hold the lock by then. What was done under the lease may have been overlapped.
    lost,
};

/// "released", "expired" or "lost".
std::string_view to_string(release_result result) noexcept;

/// Ownership of a lock, until it is released or lost. Move-only. A watchdog in the client renews it.
///
/// Letting go, the best way first: `with_lock`, which awaits the release on every path;
/// `co_await lease.release()`; or the destructor, which hands the release to the client and returns
/// at once (`co_await client.close()` waits for all of those). Move-assignment over a held lease
/// hands the old one over likewise.
///
/// A lease may outlive its mutex and its client.
///
/// Thread-safety: distinct objects safe; shared objects unsafe, but that `valid()` and
/// `valid_until()` may be called at any time by any thread. Starting an operation and destroying a
/// held lease count as use of the client: see `config::thread_safe`.
class lease {
public:
    using executor_type = boost::asio::any_io_executor;
    using time_point = std::chrono::steady_clock::time_point;

    /// An empty lease, which holds nothing.
    lease() noexcept = default;
    lease(lease&& other) noexcept;
    lease& operator=(lease&& other) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    /// Hands the release to the client, unless it was released already. Never blocks nor throws.
    ~lease() {
        if (held_.state) {
            let_go();
        }
    }

    /// The client's executor; of a lease that was moved from too, as long as the client lives. Else the system executor.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// The name that was locked, without the key prefix. Empty for an empty lease.
    [[nodiscard]] std::string_view resource() const noexcept;

    /// The random value by which the instances know this lease, and others to whom it was or will be
    /// handed off inside the client. That of a lease that was taken as a reader's begins with `reader:`. One that
    /// `shared_mutex::downgrade` made a reader's keeps its token here, and the instances have it with `reader:` in front. Empty for an
    /// empty lease.
    [[nodiscard]] std::string_view token() const noexcept;

    /// The fencing token (`lock_options::fencing`): a number below 2^53 that is larger than the fence
    /// of every lease on this name that was granted before. Send it along with what is written under
    /// the lease, and let the resource refuse what comes with a smaller one than it has seen: then a
    /// holder that was stopped, and does not know that it has lost the lock, cannot overwrite what
    /// its successors have done. Fixed when the lease is granted; stays after its end. (A reader's: see `shared_mutex`.)
    ///
    /// Holds for as long as no server forgets its counter or sets it back: any two majorities share
    /// a server that knows. If servers do lose counters, fences still grow as long as the servers'
    /// wall clocks are not set back, and show later times than any of them did when earlier fences
    /// were granted: see "Fencing" in README.md.
    ///
    /// Throws `lock_error`: `not_fenced` if the lock was made without fencing, `not_held` for an
    /// empty lease.
    [[nodiscard]] std::uint64_t fence() const;

    /// Until when the lock is ours at least, on this machine's steady clock; moves on with every
    /// renewal, but never beyond `lock_options::max_hold`. In the past once the lease was released or
    /// lost: then nobody else has the lock before the time that was told last, unless we let go. The
    /// steady clock stands still while the machine is suspended, and the servers do not: so after a
    /// suspend this time is earlier than it was.
    [[nodiscard]] time_point valid_until() const noexcept;

    /// Whether the lock is ours now; false, too, if the machine was suspended for so long that the validity
    /// ended meanwhile. A check, not a guard: the answer ages. To be safe against a
    /// pause after the check, let the resource itself refuse what comes too late: see `fence`.
    [[nodiscard]] bool valid() const noexcept;

    /// Why the lease ended by itself; no error while it is held, or after its release. If something has blocked the event
    /// loop, so that the lease was not renewed in time, the details say for how long.
    [[nodiscard]] error loss() const;

    /// Sets a new ttl on a quorum of instances, counted from now. The watchdog keeps to it, and
    /// renews at the same fraction of it as before. If it is shorter than what was left, so is the
    /// lease; but the keys live on, so that after a crash the name is free only when the longer time
    /// has run out. A reader's lease, which others may share, is never made shorter.
    ///
    /// - Parameters: `ttl`, 10 ms to 24 h, and as in `lock_options::ttl`; else throws `config_error`.
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `not_held` for an empty or released lease, `lease_lost` and its like for a lost
    ///   one; `no_quorum` if too few answered: the lease goes on as it was, and the watchdog too.
    /// - Cancellation: terminal, partial, total: completes at once with `operation_aborted`; the
    ///   round goes on and may still take effect.
    /// - Object lifetimes: the lease may be moved or destroyed meanwhile; destroyed, it is released.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto extend(std::chrono::milliseconds ttl, CompletionToken&& token = {}) {
        check_ttl(ttl);
        return boost::asio::async_initiate<CompletionToken, void(error)>(extend_initiation{{held_}},
                                                                         token, ttl);
    }

    /// Of a lease that other readers of this client share, gives up this share, and completes; the others go on. Else
    /// hands the lease off to the next waiter of this client, if it may, and completes
    /// (`lock_options::handoff_limit`). Else deletes the key on every instance where it still holds our
    /// token: the watchdog stops first, and it completes when a quorum has answered; the instances
    /// that have not are seen to in the background. Idempotent: once more gives the same result.
    ///
    /// If the instances have no room for it, the release waits in the client, before all acquires, and no longer than until the
    /// next renewal. The lease stays valid until the release is sent, but other operations on it fail with `not_held`. A
    /// cancelled release is sent immediately. The release of a reader's lease never waits.
    ///
    /// - Handler signature: `void(colock::error, colock::release_result)`.
    /// - Errors: `no_quorum` if too few instances answered (the client keeps trying until the ttl
    ///   has ended the lock anyway), `not_held` for an empty lease. An expired or lost lease is no
    ///   error, but a result.
    /// - Cancellation: terminal, partial, total: completes at once with `operation_aborted`. The
    ///   release itself is not cancelled.
    /// - Object lifetimes: the lease may be moved or destroyed meanwhile.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto release(CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error, release_result)>(
            release_initiation{{held_}}, token);
    }

    /// Completes, without error, when the lease is lost, expired or held for too long, a little
    /// before its validity ends (a twentieth of the ttl, 500 ms at most), or when the client is closed.
    /// `loss()` then tells why. Until that end the lock stays ours, so that what is under way can be
    /// stopped or rolled back; let go of the lease as soon as it is.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `not_held` for an empty lease, or when the lease was released instead.
    /// - Cancellation: terminal, partial, total: completes with `operation_aborted`, no other effect.
    /// - Object lifetimes: the lease may be moved or destroyed meanwhile.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto wait_lost(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            wait_lost_initiation{{held_}}, token);
    }

private:
    friend struct detail::lease_access;

    /// What the client knows of a lease, and which of its holders we are: the client may hand it off.
    struct holding {
        std::shared_ptr<runtime::lease_state> state;
        std::uint32_t holder = 0;
        std::uint64_t fence = 0;                        // 0 without fencing
        std::weak_ptr<runtime::shared_parts> former{};  // the client, if the lease was moved from
    };

    struct initiation {
        using executor_type = lease::executor_type;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(held); }
        holding held;
    };
    struct extend_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler, std::chrono::milliseconds ttl) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), executor_of(this->held));
            start_extend(std::move(this->held), ttl, std::move(to));
        }
    };
    struct release_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), executor_of(this->held));
            start_release(std::move(this->held), std::move(to));
        }
    };
    struct wait_lost_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), executor_of(this->held));
            start_wait_lost(std::move(this->held), std::move(to));
        }
    };

    explicit lease(holding held) noexcept : held_(std::move(held)) {}

    static executor_type executor_of(const holding& held) noexcept;
    void check_ttl(std::chrono::milliseconds ttl) const;
    static void start_extend(holding held, std::chrono::milliseconds ttl,
                             detail::handler<> handler);
    static void start_release(holding held, detail::handler<release_result> handler);
    static void start_wait_lost(holding held, detail::handler<> handler);
    void let_go() noexcept;

    holding held_;
};

}  // namespace colock

#endif
