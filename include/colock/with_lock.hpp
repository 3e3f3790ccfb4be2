#ifndef COLOCK_WITH_LOCK_HPP
#define COLOCK_WITH_LOCK_HPP

#include <colock/lease.hpp>
#include <colock/mutex.hpp>
#include <colock/shared_mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <concepts>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
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
    template <typename Function>
    boost::asio::awaitable<void> fill_from(Function& body, lease& held) {
        value.emplace(co_await std::invoke(body, held));
    }
    T take() { return std::move(*value); }
    std::optional<T> value;
};
template <>
struct outcome<void> {
    template <typename Function>
    boost::asio::awaitable<void> fill_from(Function& body, lease& held) {
        co_await std::invoke(body, held);
    }
    void take() noexcept {}
};

/// Stops the watch for the loss when the body has ended, and the body when the lease is lost; not
/// when the body has merely released the lease early.
struct stop_the_other {
    boost::asio::cancellation_signal* stop_body;
    boost::asio::cancellation_signal* stop_watching;

    boost::asio::cancellation_type_t operator()(const error& not_lost) const {
        if (!not_lost) {
            stop_body->emit(boost::asio::cancellation_type::all);
        }
        return boost::asio::cancellation_type::none;
    }
    boost::asio::cancellation_type_t operator()(const std::exception_ptr&) const {
        stop_watching->emit(boost::asio::cancellation_type::all);
        return boost::asio::cancellation_type::none;
    }
};

template <typename Lock>
concept exclusive_lock = std::same_as<Lock, mutex> || std::same_as<Lock, shared_mutex>;

/// The readers' side of a lock.
struct readers_of {
    shared_mutex lock;

    [[nodiscard]] std::string_view resource() const noexcept { return lock.resource(); }
    template <typename CompletionToken>
    auto acquire(CompletionToken&& token) const {
        return lock.acquire_shared(std::forward<CompletionToken>(token));
    }
};

template <typename Lock, typename Function>
boost::asio::awaitable<body_result<Function>> run_with_lock(Lock lock, Function body) {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());

    lease held = co_await lock.acquire(asio::use_awaitable);

    outcome<body_result<Function>> result;
    std::exception_ptr failure;
    asio::cancellation_signal stop_body;
    asio::cancellation_signal stop_watching;
    const auto executor = co_await asio::this_coro::executor;
    const auto caller = co_await asio::this_coro::cancellation_state;
    if (caller.cancelled() == asio::cancellation_type::none) {
        // The caller's cancellation goes to the body alone: should the body not heed it, then the
        // lease is to be watched all the same.
        if (caller.slot().is_connected()) {
            caller.slot().assign(
                [&stop_body](asio::cancellation_type_t type) { stop_body.emit(type); });
        }
        auto [order, lost, thrown] =
            co_await asio::experimental::make_parallel_group(
                held.wait_lost(asio::bind_executor(
                    executor, asio::bind_cancellation_slot(stop_watching.slot(), asio::deferred))),
                asio::co_spawn(executor, result.fill_from(body, held),
                               asio::bind_cancellation_slot(stop_body.slot(), asio::deferred)))
                .async_wait(
                    stop_the_other{&stop_body, &stop_watching},
                    asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
        failure = thrown;
    } else {  // just when it was granted
        failure =
            std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
    }

    // From here on the caller's cancellation must not stop us: the release is awaited on every path.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    error loss = held.loss();
    auto [release_error, released] = co_await held.release(asio::as_tuple(asio::use_awaitable));
    if (!loss && !release_error && released != release_result::released) {
        loss = error(make_error_code(errc::lease_lost),
                     "'" + std::string(lock.resource()) +
                         "': its keys were gone when it was to be released");
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

/// Runs a coroutine under a lock, a `mutex`, or a `shared_mutex` as its writer: acquires, runs `body(lease&)`, and awaits
/// the release on every path, be it a return, an exception, a cancellation or the loss of the lease.
///
/// - Parameters: `body`, a callable kept by value, from `lease&` to `asio::awaitable<T>`. The lease
///   is there until the body has ended; the body may let go of it early. (With g++ 12, give a lambda
///   that captures by value a name, `co_await with_lock(lock, body)`: it destroys such captures twice if the
///   lambda is a temporary of the co_await expression. So it does with `co_spawn`.)
/// - Handler signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` for `void`.
/// - Errors: what `mutex::acquire` throws; `lease_lost` if the lease was lost while the body ran,
///   even though the body returned or threw; else what the body throws. A release that could not
///   reach a quorum is no error: the client keeps trying, and the ttl ends the lock.
/// - Cancellation: terminal, partial, total reach the acquire; after that the body, with its own
///   filter (a coroutine's default is terminal only). The release is not cancelled. When the lease is
///   lost, the body is cancelled with all three. (With `config::thread_safe`, a callback that is to be
///   cancelled from another thread needs an executor bound to it: without one, Asio cancels the body
///   in place, beside its strand.)
/// - Executor: the body runs on `mutex::body_executor()`.
/// - Object lifetimes: mutex and client may be destroyed meanwhile.
template <detail::exclusive_lock Lock, typename Function,
          typename CompletionToken = boost::asio::deferred_t>
    requires std::invocable<Function&, lease&>
auto with_lock(const Lock& lock, Function body, CompletionToken&& token = {}) {
    return boost::asio::co_spawn(lock.body_executor(), detail::run_with_lock(lock, std::move(body)),
                                 std::forward<CompletionToken>(token));
}

/// As `with_lock`, as a reader.
template <typename Function, typename CompletionToken = boost::asio::deferred_t>
    requires std::invocable<Function&, lease&>
auto with_shared_lock(const shared_mutex& lock, Function body, CompletionToken&& token = {}) {
    return boost::asio::co_spawn(lock.body_executor(),
                                 detail::run_with_lock(detail::readers_of{lock}, std::move(body)),
                                 std::forward<CompletionToken>(token));
}

}  // namespace colock

#endif
