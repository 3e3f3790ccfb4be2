// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_SHARED_MUTEX_HPP
#define COLOCK_SHARED_MUTEX_HPP

#include <colock/basic_lock.hpp>
#include <colock/client.hpp>
#include <colock/detail/export.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/detail/lock_handle.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v1 {

/// A lock on a name for any number of readers or one writer, granted by a quorum of instances. It is a
/// name and options. The `lease` is the ownership, as a reader or as a writer. A shared_mutex is cheap to
/// create and to copy, and may outlive its client as a `mutex` may.
///
/// Prefer `with_lock` and `with_shared_lock` to the operations of this class. docs/shared_mutex.md explains
/// them.
///
/// @code{.cpp}
/// // The writer is alone. Then it becomes a reader: others may read too, and nobody writes in between.
/// colock::lease lease = co_await prices.acquire();
/// price = "12";
/// co_await prices.downgrade(lease);
/// std::cout << "the price is still " << price << '\n';
/// co_await lease.release();
/// @endcode
///
/// A task that already holds a reader's lease must call `share`, not `acquire_shared`, to get another one.
/// With `acquire_shared` it would wait behind a waiting writer, which waits for the task: a deadlock.
///
/// A reader's lease cannot become a writer's. Two readers that both upgraded would wait for each other
/// indefinitely. If an upgrade released the lock first, another writer could change what the reader has
/// read. So release the lease, acquire as a writer, and read again.
///
/// **Other locks on the name.** Readers and the writer share the one key of the name, and a writer holds
/// it as a `mutex` does. A quorum of readers and one of a writer share an instance, which has both. So a
/// `mutex` on the same name excludes readers and writers, and they exclude it. The same holds for another
/// Redlock library. A waiting `mutex` does not keep out new readers of other clients, so overlapping
/// readers can starve it. A waiting writer keeps them out.
///
/// **Readers.** Each entry of a reader on the servers has its own ttl. A reader that has died keeps a
/// writer out for no longer than this ttl. The readers of one client share an entry on the servers, so a
/// new reader may need no round trip. This holds for `lock_options::handoff_time` after the grant, under
/// these conditions:
/// - The options are equal, without `max_hold`, and `renew` and `handoff_limit` are not 0.
/// - The lease was not extended to another ttl.
/// - No writer of another client has set its writer mark.
/// - With fencing, the readers wait together, because each fence is counted after its reader has come.
///
/// **Fairness.** Neither side starves. Inside a client, readers and writers wait first come, first served,
/// so a waiting writer stops the readers behind it. Between clients, waiters use the order of the remote
/// queue, but readers do not wait for each other there. After a wait of 5 s, a reader attempts regardless of
/// its place, and again every 5 s. So a `mutex` that is before it and waits for other readers delays it for
/// a limited time only.
///
/// A waiting writer sets a *writer mark* on the servers, which keeps new readers out. It does so when it is
/// the first in the remote queue, or has waited there for 5 s. A writer that does not use the remote queue
/// sets the mark on each attempt. The reason is `retry_options::attempts`, or a server that does not support
/// client tracking. A writer behind readers of its own client sets no mark until these have released.
///
/// The mark ends when the writer stops waiting. If the writer has died, the mark ends after at most 1 s.
/// After the readers have left, the mark also keeps out a `mutex` and a writer's `try_acquire`. Writers
/// that only poll are not ordered among themselves. A new one may overtake a writer that has waited longer.
///
/// **Operations.** The comments of `client` and `mutex` say which rules hold for all operations. A writer uses `acquire`
/// and the operations beside it. If the lock is free, an `acquire` takes one round trip. Otherwise a second one follows
/// immediately, which sets the writer mark. With `retry_options::attempts` equal to 1, there is no second one.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe. Starting an operation counts
/// as use of the client: see `config::thread_safe`.
class COLOCK_EXPORT shared_mutex : public basic_lock {
public:
    /// Creates a lock on a name. Sends nothing. The name has 1 to 65,536 bytes of any value.
    ///
    /// With `lock_options::fencing`, each lease has a fence. A reader's `lease::fence()` is no smaller than
    /// that of the last writer before it, and smaller than that of the next writer. Readers that come at
    /// the same time may have different fences, in any order. So let the resource compare a reader's
    /// fence with those of writers only.
    ///
    /// - Exception safety: Throws `config_error` for a name or options that cannot work.
    shared_mutex(client& client, std::string_view resource, lock_options options = {});
    /// @cond
    template <int = 0>
    shared_mutex(client&, std::string_view,
                 detail::times_in_options_have_a_unit_such_as_10s) = delete;
    template <detail::chrono_time options_have_names_such_as_ttl_10s>
    shared_mutex(client&, std::string_view, options_have_names_such_as_ttl_10s) = delete;
    /// @endcond

    /// Acquires the lock as a reader. Waits as long as a writer has it, or a waiting writer keeps readers out.
    /// If it is free, this takes one round trip. If other clients read, a second one follows, which joins
    /// them. It takes none if this client may share a lease.
    ///
    /// - Handler signature and Errors: as for `mutex::acquire`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto acquire_shared(CompletionToken&& token = {}) const {
        return reader_.acquire(std::forward<CompletionToken>(token));
    }

    /// Acquires the lock as a reader if no writer has it, and no writer mark keeps readers out. Otherwise the
    /// same as `mutex::try_acquire`. If other clients have the lock, it may take two round trips. If
    /// another reader of this client is about to acquire the lock, this one waits for that attempt. It
    /// waits for at most `config::instance_timeout`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared(CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(time_point::min(), std::forward<CompletionToken>(token));
    }

    /// Acquires the lock as a reader, and waits for at most `timeout`. Otherwise the same as
    /// `mutex::try_acquire_for`. A reader that has only waited for its turn makes an attempt when the time
    /// is over.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared_for(detail::timeout timeout, CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(detail::lock_handle::deadline_after(timeout.value),
                                         std::forward<CompletionToken>(token));
    }

    /// Acquires the lock as a reader, and waits until `deadline` at most. Otherwise the same as
    /// `try_acquire_shared_for` and `mutex::try_acquire_until`.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared_until(detail::deadline deadline, CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(deadline.value, std::forward<CompletionToken>(token));
    }

    /// Makes a writer's lease a reader's lease. The lock is free at no moment, because each instance does it
    /// in one step. The readers that wait in this client then enter. Where it is possible, they share the
    /// lease. `lease::is_shared` returns true from the start of this step. On a reader's lease this has no
    /// effect.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors:
    ///   - `not_held` if the lease is empty or was released.
    ///   - The error of `lease::loss()` if the lease was lost, or if a quorum reports its loss.
    ///   - `wrong_lease` if the lease has another name or client, or belongs to a `mutex`. Also if only one
    ///     of lease and lock has fencing. Other options do not matter.
    ///   - `no_quorum` if too few instances answered. The lease is still held, but some instances may
    ///     already treat it as a reader's. Do not write any more: release the lease, or continue as a
    ///     reader.
    /// - Cancellation: The step continues.
    template <detail::token_for<> CompletionToken = boost::asio::deferred_t>
    auto downgrade(lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            starts<&shared_mutex::start_downgrade>{of(held)}, token);
    }

    /// Returns one more lease to a reader that already holds one, even if a writer waits. Each lease is
    /// released separately. This takes no round trip. With `lock_options::fencing` it takes one, or two if
    /// the servers' counters differ, and the new lease has a fence of its own.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors:
    ///   - `not_held` if the lease is empty or was released.
    ///   - The error of `lease::loss()` if the lease was lost.
    ///   - `wrong_lease` if the lease is a writer's or a `mutex`'s, or has another name or client.
    ///   - `no_quorum`, only with fencing, if too few servers confirmed the lease.
    /// - Cancellation: There is no new lease.
    template <detail::token_for<lease> CompletionToken = boost::asio::deferred_t>
    auto share(lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, lease)>(
            starts<&shared_mutex::start_share>{of(held)}, token);
    }

private:
    /// A lease, and the readers' side of this lock.
    struct operand {
        std::shared_ptr<runtime::lease_driver> state;  // null for an empty lease
        std::uint32_t holder = 0;
        std::shared_ptr<const runtime::lock_spec> reader;
    };
    static const executor_type& executor_of(const operand& on) noexcept {
        return detail::lock_handle::executor_of(on.reader);
    }
    template <auto Start>
    using starts = detail::initiation<Start, &executor_of, operand>;
    [[nodiscard]] operand of(const lease& held) const;
    template <typename Call, typename... Results>
    static void start(operand on, detail::handler<Results...> handler);
    static void start_downgrade(operand on, detail::handler<> handler);
    static void start_share(operand on, detail::handler<lease> handler);

    detail::lock_handle reader_;
};

}  // namespace v1
}  // namespace colock

#endif
