// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_LOCK_OWNER_HPP
#define COLOCK_LOCK_OWNER_HPP

#include <colock/detail/export.hpp>
#include <colock/detail/tokens.hpp>

#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <utility>

namespace colock {
inline namespace v1 {

class lease;

/// An identity for which locks are acquired. A task creates an owner, and hands it to the functions that it
/// calls. A `reentrant_mutex` then lets them enter again, and `mutex::acquire` refuses them with
/// `errc::would_deadlock`.
///
/// An owner is a value, and never a thread or a coroutine. So a task may resume on another thread, and several
/// tasks may share an owner. They are then on their own: nothing excludes them from each other.
///
/// Owners count inside one client. For another client, and for other processes, the locks of an owner are
/// locks as any others.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe.
class COLOCK_EXPORT lock_owner {
public:
    /// Creates a new identity, which differs from all others of the process. Copies have the same identity.
    lock_owner() noexcept;

    /// Returns the number of the identity, for a log. It is not 0.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    /// Returns whether both are the same identity.
    friend bool operator==(const lock_owner& a, const lock_owner& b) noexcept = default;

private:
    std::uint64_t number_;
};

/// A lock together with an owner. `with_lock` and `lead` accept it, because its `acquire` needs no owner.
///
/// @code{.cpp}
/// co_await colock::with_lock(colock::owned{to.lock, owner}, body);
/// @endcode
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe.
template <typename Lock>
class owned {
public:
    /// Creates a copy of the lock for that owner. The lock is a `reentrant_mutex` or a `mutex`.
    owned(Lock lock, lock_owner owner) : lock_(std::move(lock)), owner_(owner) {}

    /// Returns the client's executor.
    [[nodiscard]] auto get_executor() const noexcept { return lock_.get_executor(); }
    /// Returns the executor on which a coroutine that acquires this lock should run: see
    /// `mutex::body_executor`.
    [[nodiscard]] auto body_executor() const { return lock_.body_executor(); }

    /// Acquires the lock for the owner. The same as `acquire(owner, token)` of the lock.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}) const {
        return lock_.acquire(owner_, std::forward<CompletionToken>(token));
    }

private:
    Lock lock_;
    lock_owner owner_;
};

}  // namespace v1
}  // namespace colock

#endif
