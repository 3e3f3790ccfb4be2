#ifndef COLOCK_SHARED_MUTEX_HPP
#define COLOCK_SHARED_MUTEX_HPP

#include <colock/client.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/detail/lock_side.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/lock_options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {

/// A read-write lock on a name, over a quorum of instances: any number of readers, or one writer. It is a name and options;
/// what is held is the `lease`, a reader's or a writer's. Cheap to make and to copy; may outlive its client, as a `mutex`.
///
/// On the servers, readers and the writer share the one key of the name, and a writer holds it as a `mutex` does. So a quorum
/// of readers and one of a writer share an instance that knows of both; and a `mutex` on the same name, or a Redlock of another
/// library, excludes readers and writers and is excluded by them. (A waiting `mutex` lets readers of other clients in, and
/// overlapping ones can starve it. A waiting writer does not let them in: see below.) Each reader's lease has a ttl of its own
/// there, so that one that has died keeps a writer out no longer than its own ttl, whatever other readers do.
///
/// The readers of one client share a lease on the servers: a reader that comes while others of its client hold one gets a
/// share in it without a round trip, within `lock_options::handoff_time` of its grant. (Not if the lease was extended to another
/// ttl, if the options differ, or if they set `max_hold`, `renew` to 0, or `handoff_limit` to 0.) With fencing only
/// readers that wait together share one, since the fence of each is counted after it has come.
///
/// Fairness: inside a client, readers and writers wait in the order in which they came, so that a waiting writer lets in no
/// reader that comes after it. Between clients, those that wait come in the order in which they joined the name's queue, and
/// readers do not wait for each other there. A reader that has waited there for 5 s attempts, whoever comes before it, and again
/// every 5 s. So a `mutex` that waits for other readers does not keep it waiting. A writer that is the first in the queue, or has
/// waited there for 5 s, leaves a mark at the servers, at which they let in no further reader; so does each writer that attempts
/// and joins no queue, since it has `retry.attempts` or the servers tell of no changes. A writer behind readers of its own client
/// leaves none until they have let go. The mark ends when the writer waits no more; that of a writer that has died lasts for a
/// second at most. A mark keeps readers out, and, once the readers have left, a `mutex` and a writer's `try_acquire`, too. So
/// neither side starves. (Among writers that join no queue, and poll, one that comes anew may be quicker than one that has waited
/// for long.)
///
/// A reader's lease cannot be made a writer's: see `upgrade`. A task that reads, and reads again while a writer waits, is to
/// use `share`: `acquire_shared` would wait for the writer, which waits for the task.
///
/// Thread-safety: distinct objects safe; shared objects: const members safe. Starting an operation
/// counts as use of the client: see `config::thread_safe`.
class shared_mutex {
public:
    using executor_type = client::executor_type;
    using duration = std::chrono::steady_clock::duration;
    using time_point = std::chrono::steady_clock::time_point;

    /// Names a lock; asks no server. Throws as the constructor of `mutex` does.
    ///
    /// With `lock_options::fencing` each lease has a fence. A reader's `lease::fence()` is no smaller than that of the last
    /// writer before it, and smaller than that of the next writer. Readers that come at the same time may have different
    /// fences, in any order. A resource therefore compares a reader's fence with those of writers only.
    shared_mutex(client& client, std::string_view resource, lock_options options = {});

    /// The client's.
    [[nodiscard]] executor_type get_executor() const noexcept { return writer_.get_executor(); }

    /// As `mutex::body_executor`.
    [[nodiscard]] executor_type body_executor() const { return writer_.body_executor(); }

    [[nodiscard]] std::string_view resource() const noexcept { return writer_.resource(); }
    [[nodiscard]] const lock_options& options() const noexcept { return options_; }

    /// Takes the lock as its writer, waiting for as long as others have it. If it is free that takes one round at the servers. If
    /// not, a second one follows at once, which tells the servers that a writer waits (unless `retry.attempts` is 1).
    ///
    /// - Handler signature, errors, cancellation, completion, object lifetimes: as `mutex::acquire`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto acquire(CompletionToken&& token = {}) const {
        return writer_.acquire(std::forward<CompletionToken>(token));
    }

    /// The lock as its writer if it is free now, else an empty optional. As `mutex::try_acquire`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire(CompletionToken&& token = {}) const {
        return writer_.try_acquire_until(time_point::min(), std::forward<CompletionToken>(token));
    }

    /// Waits for it at most for a time, counted from this call. As `mutex::try_acquire_for`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_for(duration timeout, CompletionToken&& token = {}) const {
        return writer_.try_acquire_until(detail::lock_side::deadline_after(timeout),
                                         std::forward<CompletionToken>(token));
    }

    /// Waits for it until a time at most. As `mutex::try_acquire_until`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_until(time_point deadline, CompletionToken&& token = {}) const {
        return writer_.try_acquire_until(deadline, std::forward<CompletionToken>(token));
    }

    /// Takes the lock as a reader, waiting for as long as a writer has it, or waits for it. If it is free that takes one
    /// round at the servers; if other clients read, a second, which joins them; and none if this client may share a lease.
    ///
    /// - Handler signature, errors, cancellation, completion, object lifetimes: as `mutex::acquire`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto acquire_shared(CompletionToken&& token = {}) const {
        return reader_.acquire(std::forward<CompletionToken>(token));
    }

    /// The lock as a reader if no writer has it, or waits for it with a mark (see above), else an empty optional. As
    /// `mutex::try_acquire`; but if others have it, it may take two rounds; and if another reader of this client is about to
    /// take the lock, this one waits for that, at most for `config::instance_timeout`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared(CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(time_point::min(), std::forward<CompletionToken>(token));
    }

    /// Waits for it at most for a time, counted from this call. As `mutex::try_acquire_for`. A reader that has only waited for
    /// its turn makes an attempt when the time is over.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared_for(duration timeout, CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(detail::lock_side::deadline_after(timeout),
                                         std::forward<CompletionToken>(token));
    }

    /// Waits for it until a time at most. As `mutex::try_acquire_until`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto try_acquire_shared_until(time_point deadline, CompletionToken&& token = {}) const {
        return reader_.try_acquire_until(deadline, std::forward<CompletionToken>(token));
    }

    /// Makes a writer's lease a reader's, without a moment in which nobody holds the lock: on each instance it is one step.
    /// The readers that wait in this client then enter, with a share in it where that is possible (see above). No effect on a
    /// reader's lease.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `not_held` for an empty or released lease, `lease_lost` and its like for a lost one, and if a quorum says that
    ///   it is; `wrong_lease` for one of another name or client, of a `mutex`, or if only one of lease and lock has fencing (other
    ///   options do not matter); `no_quorum` if too few answered. After that the lease is still held, but
    ///   as a reader's where an instance did the step: let go of it, or go on reading.
    /// - Cancellation: terminal, partial, total: completes at once with `operation_aborted`; the step goes on.
    /// - Object lifetimes: the lease may be moved or destroyed meanwhile.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto downgrade(const lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            downgrade_initiation{of(held)}, token);
    }

    /// Is refused: completes with `upgrade_refused`, for a reader's lease. Two readers that both upgraded would wait for each
    /// other for ever; and one that let go first would not know what others have written meanwhile. Release, acquire as a
    /// writer, and read again. (Completes without error for a writer's lease, which is exclusive already.)
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `upgrade_refused`; `not_held` for an empty or released lease, `lease_lost` and its like for a lost one;
    ///   `wrong_lease` for one of another name or client, or of a `mutex`.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto upgrade(const lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error)>(
            upgrade_initiation{of(held)}, token);
    }

    /// One more lease for a reader that has one, even if a writer waits. Each of them is released by itself.
    ///
    /// - Handler signature: `void(colock::error, colock::lease)`.
    /// - Errors: `not_held` for an empty or released lease, `lease_lost` and its like for a lost one; `wrong_lease` for a
    ///   writer's or a `mutex`'s, or for one of another name or client. With fencing `no_quorum` if too few servers have
    ///   confirmed that they still have the lease.
    /// - Rounds: none; one with `lock_options::fencing`, or two, which give the new lease a fence of its own.
    /// - Cancellation: terminal, partial, total: completes at once with `operation_aborted`, and shares nothing.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto share(const lease& held, CompletionToken&& token = {}) const {
        return boost::asio::async_initiate<CompletionToken, void(error, lease)>(
            share_initiation{of(held)}, token);
    }

private:
    /// A lease, and the readers' side of this lock.
    struct operand {
        std::shared_ptr<runtime::lease_state> state;  // null for an empty lease
        std::uint32_t holder = 0;
        std::shared_ptr<const runtime::lock_spec> reader;
    };
    struct initiation {
        using executor_type = shared_mutex::executor_type;
        [[nodiscard]] executor_type get_executor() const noexcept {
            return detail::lock_side::executor_of(on.reader);
        }
        operand on;
    };
    struct downgrade_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), this->get_executor());
            start_downgrade(std::move(this->on), std::move(to));
        }
    };
    struct upgrade_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), this->get_executor());
            start_upgrade(std::move(this->on), std::move(to));
        }
    };
    struct share_initiation : initiation {
        template <typename Handler>
        void operator()(Handler&& handler) && {
            auto to = detail::deliver_to(std::forward<Handler>(handler), this->get_executor());
            start_share(std::move(this->on), std::move(to));
        }
    };

    [[nodiscard]] operand of(const lease& held) const;
    template <typename Call, typename... Results>
    static void start(operand on, detail::handler<Results...> handler);
    static void start_downgrade(operand on, detail::handler<> handler);
    static void start_upgrade(operand on, detail::handler<> handler);
    static void start_share(operand on, detail::handler<lease> handler);

    detail::lock_side writer_;
    detail::lock_side reader_;
    lock_options options_;
};

}  // namespace colock

#endif
