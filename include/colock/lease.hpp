// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_LEASE_HPP
#define COLOCK_LEASE_HPP

#include <colock/detail/export.hpp>
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
inline namespace v1 {

/// How a release ended.
enum class release_result {
    /// A quorum of instances deleted the key. Or the client handed the lease off to its next waiter, or
    /// other readers of the client still use the lease.
    released,
    /// The lease had already ended. Its keys had expired, it had reached `lock_options::max_hold`, or the client
    /// was closed: see `lease::loss`. With the native compare-and-delete commands of Valkey 9 and Redis 8.4, the key may
    /// also belong to another holder.
    expired,
    /// The keys were missing or belonged to another holder, though the lease should still have been
    /// valid. Or another holder was seen by then. Its work may have overlapped with yours.
    lost,
};

/// Returns "released", "expired" or "lost".
COLOCK_EXPORT std::string_view to_string(release_result result) noexcept;

/// Ownership of a lock for a limited time, until it is released or lost. A watchdog in the client renews
/// it. A lease is move-only, and may outlive its lock and its client.
///
/// Prefer `with_lock`, which waits for the release on every path. Without it, use
/// `co_await lease.release()`. As a last choice, the destructor hands the release to the client and
/// returns immediately. `co_await client.close()` waits for these releases.
///
/// @code{.cpp}
/// colock::mutex mutex{locks, "invoice:" + invoice};
/// colock::lease lease = co_await mutex.try_acquire();
/// if (!lease)
///     co_return false;
/// // ... here it pays
/// co_await lease.release();
/// co_return true;
/// @endcode
///
/// **Empty.** A lease is empty if it was default constructed, moved from or abandoned, or if `try_acquire` was not granted
/// the lock. It holds nothing. Its destructor does nothing, `valid` and `owns_lock` return false, and `loss` returns no
/// error.
///
/// **Operations.** The comment of `client` says which rules hold for all operations. In addition, they all
/// fail with `errc::not_held` if the lease is empty.
///
/// Thread-safety: distinct objects safe. Shared objects unsafe, except `valid()`, `valid_until()`,
/// `owns_lock()` and `is_shared()`, which any thread may call at any time. Starting an operation and destroying a held
/// lease count as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT lease {
public:
    /// The type of the executor.
    using executor_type = boost::asio::any_io_executor;
    /// The type of every duration in colock: see `mutex::duration`.
    using duration = std::chrono::milliseconds;
    /// A time on this machine's steady clock.
    using time_point = std::chrono::steady_clock::time_point;

    /// Creates an empty lease, which holds nothing.
    lease() noexcept = default;
    /// Moves the lease. `other` is empty afterwards.
    lease(lease&& other) noexcept = default;
    /// Releases the lease that this object held, as the destructor does. Then moves `other` into it.
    lease& operator=(lease&& other) noexcept;
    /// A lease cannot be copied.
    lease(const lease&) = delete;
    /// A lease cannot be copied.
    lease& operator=(const lease&) = delete;

    /// Hands the release to the client, unless the lease was released already. Never blocks or throws.
    ~lease() {
        if (held_.state) {
            let_go();
        }
    }

    /// Returns the client's executor. If this lease was moved from, or was not granted, that holds as long as the client
    /// lives. Otherwise returns the system executor.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// Returns the name that was locked, without the key prefix. Empty for an empty lease.
    [[nodiscard]] std::string_view resource() const noexcept;

    /// Returns the random token that the servers store: 40 hexadecimal digits. If the client has a
    /// `config::label`, `@` and the label follow. Holders in the same client that receive the lease by
    /// hand-off share the token. The token of a lease of permits begins with `permit:<limit>*<count>:`, for the
    /// number of permits that the semaphore has, and the number that the lease has. The token of a lease that
    /// was acquired as a reader begins with `reader:`. After `shared_mutex::downgrade`, the servers store
    /// `reader:` before the token, but this function returns it unchanged. Empty for an empty lease.
    [[nodiscard]] std::string_view token() const noexcept;

    /// Returns whether the lease is a reader's. It is a reader's if it was acquired as one, or is the result
    /// of `shared_mutex::share`. A writer's lease becomes a reader's when `shared_mutex::downgrade` begins.
    /// This remains so if the downgrade finds no quorum, because some instances may already treat it as a
    /// reader's. A released or lost lease keeps its last answer. Returns false for an empty lease, and for
    /// the lease of a `mutex`.
    [[nodiscard]] bool is_shared() const noexcept;

    /// Returns the fence of the lease: see `lock_options::fencing`. It is a number below 2^53, and larger
    /// than the fence of every earlier lease on this name. It is fixed at the grant, and stays after the
    /// end of the lease. For a reader's fence, see the constructor of `shared_mutex`.
    ///
    /// Send it with every write, and let the resource refuse a write whose fence is smaller than the
    /// largest that it has seen. A holder that was paused, and has not detected its loss, then cannot overwrite the
    /// work of its successors.
    ///
    /// Fences grow as long as no server loses its counter or sets it back. The reason is that any two
    /// majorities share a server. If servers lose counters, fences still grow on two conditions. No
    /// server's wall clock was set back, and the clocks show later times than any of them did when earlier
    /// fences were granted. See docs/fencing.md.
    ///
    /// - Exception safety: Throws `lock_error`. Its code is `not_fenced` for a lock without fencing, and
    ///   `not_held` for an empty lease.
    [[nodiscard]] std::uint64_t fence() const;

    /// Returns whether this object owns a lock: it is not empty, and the lease was neither released nor reported
    /// as lost. The name is that of `std::unique_lock`. To know whether the lease is still good at this moment,
    /// use `valid`. It may be called as `if (lease)`, too.
    [[nodiscard]] bool owns_lock() const& noexcept;
    /// A temporary lease would be released before the answer is of use: give the lease a name.
    bool owns_lock() const&& = delete;
    /// The same as `owns_lock`.
    explicit operator bool() const& noexcept { return owns_lock(); }
    /// A temporary lease would be released before the block: write `if (auto lease = co_await mutex.try_acquire())`.
    explicit operator bool() const&& = delete;

    /// Returns the time until which you hold the lock at least. It moves with each renewal, but never beyond
    /// `lock_options::max_hold`. It is in the past after the lease has been released or lost. After a
    /// loss, no other holder can acquire the lock before the last time that was returned earlier, unless
    /// this lease is released. A loss is reported before this time, by `lock_options::loss_margin`.
    ///
    /// The steady clock stands still while the machine is suspended, but the servers do not. After a
    /// suspension, this time is therefore earlier than before.
    [[nodiscard]] time_point valid_until() const noexcept;

    /// Returns whether you hold the lock now. It is also false if the validity ended while the machine was
    /// suspended. The answer ages: the program may be paused after the check. To be safe against a pause,
    /// let the resource refuse late writes: see `fence`.
    [[nodiscard]] bool valid() const& noexcept;
    /// A temporary lease would be released before the answer is of use: give the lease a name.
    bool valid() const&& = delete;

    /// Returns why the lease was lost. Returns no error while it is held, and after its release. If a blocked
    /// event loop prevented the renewal, the details say how long it was blocked.
    [[nodiscard]] error loss() const;

    /// Sets a new ttl on a quorum of instances, counted from now. The watchdog keeps to it, and renews at the
    /// same fraction of it as before. A shorter ttl shortens the lease, but the keys keep their old ttl.
    /// After a crash, the name is then free only when the longer time has ended. A reader's lease, which other
    /// readers may share, never becomes shorter. Neither does a lease of a `reentrant_mutex`.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors:
    ///   - `invalid_argument` if `ttl` is not within the limits of `lock_options::ttl`. Nothing changes.
    ///   - `not_held` if the lease was released.
    ///   - The error of `loss()` if the lease was lost.
    ///   - `no_quorum` if too few instances answered. The lease and its watchdog continue as before.
    /// - Cancellation: The extension continues, and may still take effect.
    /// - Object lifetimes: If the lease is destroyed before the completion, it is released.
    template <detail::token_for<> CompletionToken = boost::asio::deferred_t>
    auto extend(duration ttl, CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            starts<&lease::start_extend>{held_}, token, ttl);
    }

    /// Releases the lease, in one of three ways:
    /// 1. If other readers of this client share it, only this share is released. The same holds if there are other
    ///    entries of a `reentrant_mutex`.
    /// 2. Otherwise, if the next local waiter is eligible, the lease is handed off to it. See
    ///    `lock_options::handoff_limit`.
    /// 3. Otherwise the watchdog stops, and the key is deleted on every instance that still stores this
    ///    token. The operation completes when a quorum has answered. The client handles the other
    ///    instances in the background.
    ///
    /// A second release has the same result.
    ///
    /// If the instances have no room for it, the release waits in the client, before all acquires. It waits
    /// no longer than until the next renewal. The lease stays valid until the release is sent, but other
    /// operations on it fail with `not_held`. The release of a reader's lease never waits, nor that of a lease
    /// that its owner has entered again.
    ///
    /// - Handler signature: `void(colock::error, colock::release_result)`.
    /// - Errors: `no_quorum` if too few instances answered. The client tries again until the ttl has ended
    ///   the lock. `client_closed` if the client was closed before the release was sent. An expired or lost lease is a result, not an error.
    /// - Cancellation: The release continues. If it was waiting in the client, it is sent immediately.
    template <detail::token_for<release_result> CompletionToken = boost::asio::deferred_t>
    auto release(CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error, release_result)>(
            starts<&lease::start_release>{held_}, token);
    }

    /// Gives up the lease without a release. The watchdog stops, nothing is sent, and the keys stay on the
    /// servers until their ttl ends. So nobody acquires the lock before that time, the waiters of this client
    /// included. This lease is empty afterwards. `client::close` does not wait for the keys.
    ///
    /// Use it for work that may start only once in a few seconds, whatever becomes of the process. For an hour or a
    /// day, use `once` with the period in its key. With `renew` equal to 0 the ttl counts from the grant. Otherwise it
    /// counts from the last renewal. To let it count from now, call `extend` first. docs/mutex.md has a recipe.
    ///
    /// If other holders of this client share the lease, only this share is released. It has no effect if the
    /// lease is empty, or was released. It ends the other operations on the lease with `not_held`. Never blocks.
    ///
    /// - Exception safety: Does not throw. If there is no memory, the lease may stay held.
    void abandon() noexcept;

    /// Gives up the lease, so that another process can go on with it. The watchdog stops, nothing is sent, and the
    /// keys stay on the servers. The result is one line of text with the name, the token, the kind, the ttl and
    /// the fence. Pass it to the other process, which calls `adopt`. docs/handover.md shows how.
    ///
    /// The other process has as long as `valid_until()` said at this moment. To give it a full ttl, call `extend`
    /// first. If nobody adopts the lease, the keys expire, and the lock is free.
    ///
    /// Afterwards this lease is not held, and its other operations end with `not_held`.
    ///
    /// - Handler signature: `void(colock::error, std::string)`.
    /// - Errors:
    ///   - `not_held` if the lease was released.
    ///   - The error of `loss()` if the lease was lost.
    ///   - `wrong_lease` if other holders of this client share the lease: readers, or entries of a
    ///     `reentrant_mutex`.
    /// - Cancellation: No effect, because the operation waits for nothing.
    template <detail::token_for<std::string> CompletionToken = boost::asio::deferred_t>
    auto detach(CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error, std::string)>(
            starts<&lease::start_detach>{held_}, token);
    }

    /// Waits until the lease is lost, expires, reaches `max_hold`, or the client is closed. It then completes
    /// without error, and `loss()` returns the reason. This happens before the validity ends, by
    /// `lock_options::loss_margin`. `valid` is false from then on, but no other client can acquire the lock
    /// before the margin has passed. Use this time to stop or roll back your work, and then release the
    /// lease. A loss that the client cannot foresee, such as a deleted key, is reported
    /// afterwards.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `not_held` if the lease was released instead.
    /// - Cancellation: No other effect.
    template <detail::token_for<> CompletionToken = boost::asio::deferred_t>
    auto wait_lost(CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            starts<&lease::start_wait_lost>{held_}, token);
    }

private:
    friend struct detail::lease_access;

    /// The client's state of a lease, and which of its holders this is. The client may hand it off.
    struct holding {
        std::shared_ptr<runtime::lease_driver> state;
        std::uint32_t holder = 0;
        std::uint64_t fence = 0;   // 0 without fencing
        std::uint64_t client = 0;  // its number, which stays after a move
    };

    explicit lease(holding held) noexcept : held_(std::move(held)) {}

    static executor_type executor_of(const holding& held) noexcept;
    template <auto Start>
    using starts = detail::initiation<Start, &executor_of, holding>;
    static void start_extend(holding held, duration ttl, detail::handler<> handler);
    static void start_release(holding held, detail::handler<release_result> handler);
    static void start_detach(holding held, detail::handler<std::string> handler);
    static void start_wait_lost(holding held, detail::handler<> handler);
    void let_go() noexcept;

    holding held_;
};

}  // namespace v1
}  // namespace colock

#endif
