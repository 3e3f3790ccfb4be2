// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BASIC_LOCK_HPP
#define COLOCK_BASIC_LOCK_HPP

#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/deferred.hpp>

#include <chrono>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// What `mutex`, `shared_mutex`, `semaphore` and `multi_mutex` have in common: a name, options, and the operations that
/// acquire the lock. The comment of `mutex` says which rules hold for these operations.
///
/// - A `shared_mutex` is acquired as a writer by these operations.
/// - Of a `semaphore`, they acquire one permit. Of a `multi_mutex`, they acquire all names.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT basic_lock {
public:
    /// The type of the executor.
    using executor_type = client::executor_type;
    /// The type of every duration in colock: that of the options, of `lease::extend`, and of timeouts.
    using duration = std::chrono::milliseconds;
    /// A time for `try_acquire_until`, on this machine's steady clock.
    using time_point = std::chrono::steady_clock::time_point;

    /// Returns the client's executor.
    [[nodiscard]] executor_type get_executor() const noexcept { return handle_.get_executor(); }

    /// Returns the executor on which a coroutine that acquires this lock should run. This is the client's
    /// executor, or a new strand over it with `config::thread_safe`.
    [[nodiscard]] executor_type body_executor() const { return handle_.body_executor(); }

    /// Returns the name, without the key prefix. The names of a `multi_mutex` are one text for people: "a, b, c".
    /// `lease::resource` returns the same.
    [[nodiscard]] std::string_view resource() const noexcept { return handle_.resource(); }
    /// Returns the options.
    [[nodiscard]] const lock_options& options() const noexcept { return options_; }

    /// Acquires the lock. Waits as long as other holders leave no room for it.
    ///
    /// It also waits indefinitely on a key without a ttl. Such a key was left by `SETNX` without `EXPIRE`, or
    /// is no lock at all. Only a deletion ends the wait. The details of an error or a cancellation report
    /// such a key, and `counters::keys_without_ttl` counts it.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: Those of the class. Also `contended`, but only with `retry_options::attempts`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}) const {
        return handle_.acquire(std::forward<CompletionToken>(token));
    }

    /// Acquires the lock if it is free now. Otherwise the result is an empty lease. This takes one round
    /// trip, or none if other holders or waiters of this client come first. If the client is connecting
    /// for the first time, it waits until a quorum is connected, or all instances have been tried. It
    /// waits no longer than `lock_options::unavailable_timeout`.
    ///
    /// Name the result: `if (auto lease = co_await mutex.try_acquire())`. A lease without a name would be released
    /// before the block, so such an `if` does not compile.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: Those of the class, but immediately, even in a quarantine. Another holder is not an error.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire(CompletionToken&& token = {}) const {
        return handle_.try_acquire_until(time_point::min(), std::forward<CompletionToken>(token));
    }

    /// Acquires the lock, and waits for at most `timeout`, counted from this call. If others have the lock
    /// until then, the result is an empty lease. This means that an instance has denied an attempt, or
    /// that other holders or waiters come first. With `timeout <= 0` it is the same as `try_acquire`.
    ///
    /// At least one attempt is made, unless other holders or waiters of this client come first. It starts
    /// when the timeout expires if none could start in time. The reason may be that the client was
    /// connecting, or was in its cool-down (see `lock_options::handoff_limit`). The operation may then take
    /// one round trip longer.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: Those of the class. Also `no_quorum` if the time is over, no instance has denied, and too
    ///   few have answered.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_for(detail::timeout timeout, CompletionToken&& token = {}) const {
        return handle_.try_acquire_until(detail::lock_handle::deadline_after(timeout.value),
                                         std::forward<CompletionToken>(token));
    }

    /// Acquires the lock, and waits until `deadline` at most. Otherwise the same as `try_acquire_for`. With a
    /// time in the past it is the same as `try_acquire`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_until(detail::deadline deadline, CompletionToken&& token = {}) const {
        return handle_.try_acquire_until(deadline.value, std::forward<CompletionToken>(token));
    }

protected:
    /// @cond
    basic_lock(detail::lock_handle handle, const lock_options& options)
        : handle_(std::move(handle)), options_(options) {}
    basic_lock(const basic_lock&) = default;
    basic_lock(basic_lock&&) = default;
    basic_lock& operator=(const basic_lock&) = default;
    basic_lock& operator=(basic_lock&&) = default;
    ~basic_lock() = default;

    [[nodiscard]] const detail::lock_handle& handle() const noexcept { return handle_; }
    /// @endcond

private:
    detail::lock_handle handle_;
    lock_options options_;
};

}  // namespace v1
}  // namespace colock

#endif
