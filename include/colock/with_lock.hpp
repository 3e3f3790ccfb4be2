#ifndef COLOCK_WITH_LOCK_HPP
#define COLOCK_WITH_LOCK_HPP

#include <colock/lease.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace colock {
namespace detail {

template <typename Awaitable>
struct awaited;
template <typename T, typename Executor>
struct awaited<boost::asio::awaitable<T, Executor>> {
    using type = T;
};

/// What the body `Function` gives back from under the lock.
template <typename Function>
using body_result = typename awaited<std::invoke_result_t<Function&, lease&>>::type;

/// Holds the body's value, if it has one, on its way past the release.
template <typename T>
struct outcome {
    boost::asio::awaitable<void> fill(boost::asio::awaitable<T> body) {
        value.emplace(co_await std::move(body));
    }
    T take() { return std::move(*value); }
    std::optional<T> value;
};
template <>
struct outcome<void> {
    boost::asio::awaitable<void> fill(boost::asio::awaitable<void> body) {
        co_await std::move(body);
    }
    void take() noexcept {}
};

/// Tells the group of body and `wait_lost` when to cancel the other: when the body has ended, or the
/// lease is lost; not when the body has merely released the lease early.
struct body_ended_or_lease_lost {
    boost::asio::cancellation_type_t operator()(const std::exception_ptr&) const noexcept {
        return boost::asio::cancellation_type::all;
    }
    boost::asio::cancellation_type_t operator()(const error& not_lost) const noexcept {
        return not_lost ? boost::asio::cancellation_type::none : boost::asio::cancellation_type::all;
    }
};

template <typename Function>
boost::asio::awaitable<body_result<Function>> run_with_lock(mutex lock, Function body) {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());

    lease held = co_await lock.acquire(asio::use_awaitable);

    outcome<body_result<Function>> result;
    auto [order, failure, lost] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(co_await asio::this_coro::executor,
                           result.fill(std::invoke(body, held)), asio::deferred),
            held.wait_lost(asio::deferred))
            .async_wait(body_ended_or_lease_lost{}, asio::use_awaitable);

    // From here on the caller's cancellation must not stop us: the release is awaited on every path.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    error loss = held.loss();
    auto [release_error, released] = co_await held.release(asio::as_tuple(asio::use_awaitable));
    if (!loss && !release_error && released != release_result::released) {
        loss = error(errc::lease_lost);
    }

    if (loss) {
        throw lease_lost(loss);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    co_return result.take();
}

}  // namespace detail

/// Runs a coroutine under a lock: acquires, runs `body(lease&)`, and awaits the release on every
/// path, be it a return, an exception, a cancellation or the loss of the lease.
///
/// - Parameters: `body`, a callable kept by value, from `lease&` to `asio::awaitable<T>`. The lease
///   is there until the body has ended; the body may let go of it early.
/// - Handler signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` for `void`.
/// - Errors: what `mutex::acquire` throws; `lease_lost` if the lease was lost while the body ran,
///   even though the body returned or threw; else what the body throws. A release that could not
///   reach a quorum is no error: the client keeps trying, and the ttl ends the lock.
/// - Cancellation: terminal, partial, total reach the acquire; after that the body, with its own
///   filter (a coroutine's default is terminal only). The release is not cancelled. When the lease is
///   lost, the body is cancelled with all three.
/// - Executor: the body runs on `mutex::body_executor()`.
/// - Object lifetimes: mutex and client may be destroyed meanwhile.
template <typename Function, typename CompletionToken = boost::asio::deferred_t>
    requires std::invocable<Function&, lease&>
auto with_lock(const mutex& lock, Function body, CompletionToken&& token = {}) {
    return boost::asio::co_spawn(lock.body_executor(),
                                 detail::run_with_lock(lock, std::move(body)),
                                 std::forward<CompletionToken>(token));
}

}  // namespace colock

#endif
