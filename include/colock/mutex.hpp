// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_MUTEX_HPP
#define COLOCK_MUTEX_HPP

#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>
#include <colock/lock_owner.hpp>

#include <boost/asio/deferred.hpp>

#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// An exclusive lock on a name, granted by a quorum of instances. The algorithm is Redlock:
/// https://redis.io/docs/latest/develop/use/patterns/distributed-locks/. A mutex is a name and options.
/// The `lease` is the ownership. A mutex is cheap to create and to copy.
///
/// Prefer `with_lock` to the operations of this class. docs/mutex.md explains both.
///
/// @code{.cpp}
/// asio::awaitable<void> work(colock::client& locks) {
///     colock::mutex mutex{locks, "invoice:42"};
///     co_await colock::with_lock(mutex, pay);  // waits until a majority of the servers grants it
///     co_await locks.close();
/// }
/// @endcode
///
/// A mutex is not recursive. A task that acquires a lock which it already holds waits indefinitely. If the
/// task says who it is, by a `lock_owner`, the acquire fails with `would_deadlock` instead. To enter again, use
/// a `reentrant_mutex`.
///
/// A mutex may outlive its client. Its operations then fail with `errc::client_closed`. The same holds for
/// a mutex that was moved from, or that was created from a client that was moved from.
///
/// **Fairness.** The waiters of one client are served first come, first served, and mostly without a round
/// trip: see `lock_options::handoff_limit`. Clients queue at one of the instances in the same way. This
/// remote queue is not guaranteed. Without it, the first waiter of each client polls with jittered
/// backoff.
///
/// **Operations.** The comment of `client` says which rules hold for all operations. This is in addition:
/// - Errors:
///   - `no_quorum` or `too_slow` after `lock_options::unavailable_timeout` without a quorum of answers.
///     The operation waits for the end of a quarantine, unless its deadline is earlier. This wait does
///     not count.
///   - `client_closed` if the client is closed.
/// - Cancellation: If the client has not sent anything yet, there is no other effect. Otherwise it rolls
///   back all grants in the background, including late ones. The error's details contain the last
///   answers of the instances, or the queue in which the operation was waiting.
/// - Object lifetimes: If the handler that receives a lease is never called, the lease is released.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT mutex : public basic_lock {
public:
    /// Creates a lock on a name. Sends nothing. The name has 1 to 65,536 bytes of any value.
    ///
    /// - Exception safety: Throws `config_error` for a name or options that cannot work.
    mutex(client& client, std::string_view resource, lock_options options = {});
    /// @cond
    template <int = 0>
    mutex(client&, std::string_view, detail::times_in_options_have_a_unit_such_as_10s) = delete;
    template <detail::chrono_time options_have_names_such_as_ttl_10s>
    mutex(client&, std::string_view, options_have_names_such_as_ttl_10s) = delete;
    template <detail::chrono_time try_acquire_for_limits_the_wait>
    void acquire(try_acquire_for_limits_the_wait) const = delete;
    /// @endcond

    using basic_lock::acquire;

    /// Acquires the lock for this owner. If the owner holds it in this client, by this function or by a
    /// `reentrant_mutex`, it fails immediately, because it would wait for itself. Otherwise the same as
    /// `acquire` without an owner.
    ///
    /// Only this direct case is detected. Two owners that wait for each other wait on. Tasks that run at the
    /// same time should have different owners. Otherwise one of them may be refused because of another.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: Those of `acquire`. Also `would_deadlock`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire(const lock_owner& owner, CompletionToken&& token = {}) const {
        return handle().acquire(std::forward<CompletionToken>(token), owner.number());
    }
};

}  // namespace v1
}  // namespace colock

#endif
