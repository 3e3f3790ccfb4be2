// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_REENTRANT_MUTEX_HPP
#define COLOCK_REENTRANT_MUTEX_HPP

#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/lock_owner.hpp>

#include <boost/asio/deferred.hpp>

#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// An exclusive lock on a name that its owner may enter again while holding it. It is a name and options. The
/// `lease` is the ownership. Each entry has its own lease. The lock is released with the last of them, in
/// any order. A reentrant_mutex is cheap to create and to copy, and may outlive its client as a `mutex` may.
///
/// On the servers it is a `mutex`, with the same keys. The client counts the entries, so no failure there can
/// count one twice. It excludes a `mutex` on the same name, and is excluded by it, in this client and elsewhere.
///
/// Prefer `with_lock` with `owned` to the operations of this class. docs/reentrant_mutex.md explains them.
///
/// @code{.cpp}
/// asio::awaitable<void> deposit(account& to, colock::lock_owner owner, int amount) {
///     auto body = [&to, amount](colock::lease&) -> asio::awaitable<void> {
///         to.balance += amount;
///         co_return;
///     };
///     co_await colock::with_lock(colock::owned{to.lock, owner}, body);
/// }
///
/// // No other task sees the account before all amounts are there.
/// asio::awaitable<void> deposit_all(account& to, colock::lock_owner owner, std::vector<int> amounts) {
///     colock::lease lease = co_await to.lock.acquire(owner);
///     for (int amount : amounts)
///         co_await deposit(to, owner, amount);  // enters again, without a round trip
///     co_await lease.release();
/// }
/// @endcode
///
/// **Entering again.** If the owner holds the lock by a reentrant_mutex, it enters without a round trip, past
/// all waiters, and for any time. The following holds for the leases of an owner on one name:
/// - They share the token, the fence, the validity and the loss. The options of the first one apply.
/// - `lease::extend` of one of them never shortens the lease.
/// - `lock_options::max_hold` counts from the first entry.
/// - If the lease is lost, all of them report it. Until all of them are released, a further `acquire` of this
///   owner fails with `lease_lost`. It never acquires the lock again, because the outer work may go on.
/// - `lease::abandon` of the last one leaves the lock to its ttl. Of another one, it only ends this entry.
///
/// If several acquires of one owner wait, and one of them is granted, the others enter with it.
///
/// **Operations.** The comments of `client` and `mutex` say which rules hold for all operations. In addition:
/// - Errors:
///   - `lease_lost` if this owner has lost its lease, and has not released it. It comes immediately.
///   - `would_deadlock` if this owner holds the lock by `mutex::acquire`. Also if only one of the two locks
///     has `lock_options::fencing`. It comes immediately.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT reentrant_mutex : private basic_lock {
public:
    using basic_lock::duration;
    using basic_lock::executor_type;
    using basic_lock::time_point;

    using basic_lock::body_executor;
    using basic_lock::get_executor;
    using basic_lock::options;
    using basic_lock::resource;

    /// Creates a lock on a name. Sends nothing. The name has 1 to 65,536 bytes of any value.
    ///
    /// - Exception safety: Throws `config_error` for a name or options that cannot work.
    reentrant_mutex(client& client, std::string_view resource, lock_options options = {});

    /// Acquires the lock for this owner, or enters it again. Waits as long as another holder has it.
    ///
    /// - Handler signature and Errors: as for `mutex::acquire`, and those of the class.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire(const lock_owner& owner, CompletionToken&& token = {}) const {
        return handle().acquire(std::forward<CompletionToken>(token), owner.number());
    }

    /// Acquires the lock for this owner if it is free now, or enters it again. Otherwise the same as
    /// `mutex::try_acquire`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire(const lock_owner& owner, CompletionToken&& token = {}) const {
        return handle().try_acquire_until(time_point::min(), std::forward<CompletionToken>(token),
                                          owner.number());
    }

    /// Acquires the lock for this owner, or enters it again. Waits for at most `timeout`. Otherwise the same as
    /// `mutex::try_acquire_for`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_for(const lock_owner& owner, detail::timeout timeout,
                         CompletionToken&& token = {}) const {
        return handle().try_acquire_until(detail::lock_handle::deadline_after(timeout.value),
                                          std::forward<CompletionToken>(token), owner.number());
    }

    /// Acquires the lock for this owner, or enters it again. Waits until `deadline` at most. Otherwise the same
    /// as `mutex::try_acquire_until`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_until(const lock_owner& owner, detail::deadline deadline,
                           CompletionToken&& token = {}) const {
        return handle().try_acquire_until(deadline.value, std::forward<CompletionToken>(token),
                                          owner.number());
    }

    /// Enters the lock again if this owner holds it. The result is there immediately, without a completion.
    /// It is empty if the owner does not hold the lock, or has lost it, or if `acquire` would fail with
    /// `would_deadlock`. Call it on the client's executor. Prefer it in inner loops: it takes well below a
    /// microsecond.
    ///
    /// With `config::thread_safe`, the result is always empty, because the client works on a strand of its own.
    /// So an empty result does not say that the lock is free: call `acquire` then.
    [[nodiscard]] lease try_reenter(const lock_owner& owner) const {
        return handle().try_reenter(owner.number());
    }
};

}  // namespace v1
}  // namespace colock

#endif
