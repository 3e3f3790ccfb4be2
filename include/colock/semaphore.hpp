// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_SEMAPHORE_HPP
#define COLOCK_SEMAPHORE_HPP

#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// A lock on a name that up to a fixed number of holders have at the same time, in all programs together. Each
/// holder has a *permit*, which a quorum of instances has granted. A semaphore is a name, a number and
/// options. The `lease` is the ownership of one permit or of several. A semaphore is cheap to create and to
/// copy, and may outlive its client as a `mutex` may.
///
/// Prefer `with_lock` to the operations of this class. docs/semaphore.md explains them.
///
/// @code{.cpp}
/// // A large job takes several permits, all at once or none.
/// colock::lease lease = co_await erp.acquire(15);
/// std::cout << "calling with 15 permits\n";
/// @endcode
///
/// **The limit is exact.** There are never more permits out than `permits()`. The permits are numbered, and a
/// quorum agrees on the number of each lease. So this holds with one server and with any number of independent
/// servers, while a minority is down, slow or late. The rules for restarts and failovers are those of a
/// `mutex`: see docs/guarantees.md. If fewer permits are out and nobody else tries, an acquire succeeds. A
/// permit of a program that has died returns after its ttl. A server that lost the permit of a live holder
/// gets it back at the next renewal.
///
/// **One number for all.** All programs must give the same number of permits. An acquire with another number
/// fails with `errc::limit_mismatch` while any permit is out. To change the number, let all leases end, or use
/// another name. If a `mutex` or a `shared_mutex` has the name, an acquire fails with `errc::wrong_kind`.
/// They exclude each other in any case. An acquire that takes the short way for a free name notices this one
/// round trip later.
///
/// **Fairness.** As for a `mutex`: first come, first served in a client, and mostly so between clients. A
/// waiter for several permits is not overtaken by later waiters of its client. A lease that is released goes
/// to the first waiter of its client that wants as many permits, mostly without a round trip.
///
/// Permits have no order, so they have no fences. A semaphore with `lock_options::fencing` cannot be created.
///
/// **Operations.** The comments of `client` and `mutex` say which rules hold for all operations. In addition,
/// each operation may fail with `limit_mismatch` and `wrong_kind`. If nobody has a permit, an acquire takes one round
/// trip. Otherwise it mostly takes a second one.
///
/// Algorithm: Redlock on numbered slots, so that two quorums share an instance, which gives a slot to one
/// holder only. Known semaphores on several servers count holders at each server instead, and can have more
/// holders than permits: see docs/semaphore.md.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT semaphore : public basic_lock {
public:
    /// The largest number of permits.
    static constexpr std::uint32_t max_permits = 1024;

    /// Creates a semaphore on a name. Sends nothing. The name has 1 to 65,536 bytes of any value. There are
    /// 1 to `max_permits` permits.
    ///
    /// - Exception safety: Throws `config_error` for a name, a number or options that cannot work.
    semaphore(client& client, std::string_view resource, std::uint32_t permits,
              lock_options options = {});
    /// @cond
    template <int = 0>
    semaphore(client&, std::string_view, std::uint32_t,
              detail::times_in_options_have_a_unit_such_as_10s) = delete;
    semaphore(client&, std::string_view, detail::semaphore_has_a_number_of_permits = {}) = delete;
    /// @endcond

    /// Returns the number of permits in all.
    [[nodiscard]] std::uint32_t permits() const noexcept { return permits_; }

    using basic_lock::acquire;
    using basic_lock::try_acquire;
    using basic_lock::try_acquire_for;
    using basic_lock::try_acquire_until;

    /// Acquires that many permits as one lease: all of them or none. Waits until so many are free at the same
    /// time. It holds none while it waits, so two that want several cannot deadlock.
    ///
    /// - Handler signature and Errors: as for `mutex::acquire`, and those of the class. Also `invalid_argument`
    ///   if `count` is 0 or more than `permits()`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire(std::uint32_t count, CompletionToken&& token = {}) const {
        return several(count).acquire(std::forward<CompletionToken>(token));
    }

    /// Acquires that many permits if they are free now. Otherwise the same as `acquire` of several and
    /// `mutex::try_acquire`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire(std::uint32_t count, CompletionToken&& token = {}) const {
        return several(count).try_acquire_until(time_point::min(),
                                                std::forward<CompletionToken>(token));
    }

    /// Acquires that many permits, and waits for at most `timeout`. Otherwise the same as `acquire` of several
    /// and `mutex::try_acquire_for`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_for(std::uint32_t count, detail::timeout timeout,
                         CompletionToken&& token = {}) const {
        return several(count).try_acquire_until(detail::lock_handle::deadline_after(timeout.value),
                                                std::forward<CompletionToken>(token));
    }

    /// Acquires that many permits, and waits until `deadline` at most. Otherwise the same as `acquire` of
    /// several and `mutex::try_acquire_until`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_until(std::uint32_t count, detail::deadline deadline,
                           CompletionToken&& token = {}) const {
        return several(count).try_acquire_until(deadline.value,
                                                std::forward<CompletionToken>(token));
    }

private:
    /// The lock that acquires so many permits at once.
    [[nodiscard]] detail::lock_handle several(std::uint32_t count) const;

    std::uint32_t permits_;
};

}  // namespace v1
}  // namespace colock

#endif
