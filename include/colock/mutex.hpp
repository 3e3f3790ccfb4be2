#ifndef COLOCK_MUTEX_HPP
#define COLOCK_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/lock_side.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/deferred.hpp>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

namespace colock {

/// An exclusive lock on a name, over a quorum of instances (the Redlock algorithm:
/// https://redis.io/docs/latest/develop/use/patterns/distributed-locks/). It is a name and options;
/// what is held is the `lease`. Not reentrant. Cheap to make and to copy; may outlive its client,
/// and then fails with `client_closed`. So does one that was moved from, or made from a client that was.
///
/// Fairness: the waiters of one client are served in the order in which they came, and mostly without asking
/// a server: see `lock_options::handoff_limit`. So are clients among each other, by a queue that one of the
/// instances keeps, but that is no promise: without it, the first waiter of each polls with jittered backoff.
///
/// Thread-safety: distinct objects safe; shared objects: const members safe. Starting an operation
/// counts as use of the client: see `config::thread_safe`.
class mutex {
public:
    using executor_type = client::executor_type;
    using duration = std::chrono::steady_clock::duration;
    using time_point = std::chrono::steady_clock::time_point;

    /// Names a lock; asks no server. Throws `config_error` for a resource that is empty or longer
    /// than 64 KiB (any bytes are allowed), or options that cannot work.
    mutex(client& client, std::string_view resource, lock_options options = {});

    /// The client's.
    [[nodiscard]] executor_type get_executor() const noexcept { return side_.get_executor(); }

    /// Where a coroutine that takes this lock is best run: the client's executor; with
    /// `config::thread_safe` a new strand over it.
    [[nodiscard]] executor_type body_executor() const { return side_.body_executor(); }

    [[nodiscard]] std::string_view resource() const noexcept { return side_.resource(); }
    [[nodiscard]] const lock_options& options() const noexcept { return options_; }

    /// Takes the lock, waiting for as long as somebody else has it. A task that holds the lock and acquires it
    /// once more, without letting go, waits for ever. So does a waiter for a key without ttl that nobody deletes:
    /// one that was left by `SETNX` without `EXPIRE`, or that is no lock at all; the details of an error or a
    /// cancellation, and `counters::keys_without_ttl`, tell of it.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: `no_quorum` or `too_slow` after `lock_options::unavailable_timeout` without a
    ///   quorum of answers, not counting a quarantine, whose end is waited for; `contended` only with `retry.attempts`; `client_closed`; `forked` in a
    ///   child of the process that made the client.
    /// - Cancellation: terminal, partial, total. Before anything was sent: no effect. After:
    ///   completes at once with `operation_aborted`, and the client takes back in the background
    ///   whatever was or will be granted. The error's details tell what the instances answered last,
    ///   or in which queue it still waited.
    /// - Completion: never inside the call; on the handler's executor, by default the client's.
    /// - Object lifetimes: mutex and client may be destroyed meanwhile. A lease that reaches a
    ///   handler that is never called is released.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}) const {
        return side_.acquire(std::forward<CompletionToken>(token));
    }

    /// One round: the lock if it is free now, else an empty optional. If others of this client have it
    /// or wait for it, that is known without a round. A client that is connecting for the first time is
    /// waited for, until a quorum is connected or all have been tried, but no longer than
    /// `lock_options::unavailable_timeout`.
    ///
    /// - Handler signature: `void(colock::error, std::optional<colock::lease>)`.
    /// - Errors: as `acquire`, but at once, also in a quarantine. It is no error if somebody else has the lock.
    /// - Cancellation, completion, object lifetimes: as `acquire`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire(CompletionToken&& token = {}) const {
        return side_.try_acquire_until(time_point::min(), std::forward<CompletionToken>(token));
    }

    /// Waits for the lock at most for a time, counted from this call. Returns an empty optional if others have the lock until
    /// then: an instance has denied an attempt, or other waiters or holders come first. `timeout <= 0` is `try_acquire`. If no
    /// attempt could begin before, since the client was connecting or in its cool-down (see `lock_options::handoff_limit`),
    /// one is made when the time is over, and may take a round longer.
    ///
    /// - Handler signature: `void(colock::error, std::optional<colock::lease>)`.
    /// - Errors, cancellation, completion, object lifetimes: as `acquire`. The error is also `no_quorum` if the time is over, no
    ///   instance has denied, and too few have answered.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_for(duration timeout, CompletionToken&& token = {}) const {
        return side_.try_acquire_until(detail::lock_side::deadline_after(timeout),
                                       std::forward<CompletionToken>(token));
    }

    /// Waits for the lock until a time at most; else an empty optional. As `try_acquire_for`; a time that has
    /// passed is `try_acquire`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_until(time_point deadline, CompletionToken&& token = {}) const {
        return side_.try_acquire_until(deadline, std::forward<CompletionToken>(token));
    }

private:
    detail::lock_side side_;
    lock_options options_;
};

}  // namespace colock

#endif
