// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_WITH_LOCK_HPP
#define COLOCK_WITH_LOCK_HPP

#include <colock/detail/temporaries.hpp>
#include <colock/detail/tokens.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>

#include <boost/asio/any_io_executor.hpp>
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
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v1 {
namespace detail {

template <typename T>
struct awaited;
template <typename T>
struct awaited<boost::asio::awaitable<T>> {
    using type = T;
};

template <typename T>
concept is_awaitable = requires {
    typename awaited<T>::type;
};

/// A body: a callable from `lease&` to `asio::awaitable<T>`.
template <typename Function>
concept lock_body =
    std::invocable<Function&, lease&> && is_awaitable<std::invoke_result_t<Function&, lease&>>;

/// The type of a parameter `Function&&` for a body.
template <typename Function>
concept passed_body = lock_body<std::decay_t<Function>> && !destroyed_twice<Function>;
template <typename Function>
concept temporary_body = lock_body<Function> && destroyed_twice<Function>;

/// The type of the value that the body `Function` returns.
template <typename Function>
using body_result = typename awaited<std::invoke_result_t<std::decay_t<Function>&, lease&>>::type;

/// A lock without `body_executor` may belong to a client with `config::thread_safe`, so its body gets a strand.
template <typename Lock>
boost::asio::any_io_executor body_executor_of(const Lock& lock) {
    if constexpr (requires { lock.body_executor(); }) {
        return lock.body_executor();
    } else {
        return boost::asio::make_strand(boost::asio::any_io_executor(lock.get_executor()));
    }
}

/// Holds the body's value, if it has one, until the lease has been released.
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

/// Stops the watch for the loss when the body has ended. Stops the body when the lease is lost, but not
/// when the body has only released the lease early.
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

/// Passes a cancellation on to a coroutine. The coroutine may be destroyed before the caller's slot, together with its
/// execution context.
struct pass_on {
    std::weak_ptr<boost::asio::cancellation_signal> to;

    void operator()(boost::asio::cancellation_type_t type) const {
        if (const auto signal = to.lock()) {
            signal->emit(type);
        }
    }
};

/// The readers' side of a lock.
template <typename Lock>
struct readers_of {
    Lock lock;

    template <typename CompletionToken>
    auto acquire(CompletionToken&& token) const {
        return lock.acquire_shared(std::forward<CompletionToken>(token));
    }
};

/// The error of a body that has moved its lease out.
inline error moved_out() {
    return {make_error_code(errc::not_held),
            "the body has moved its lease out, so the lock is not released here. Use acquire for a "
            "lease that outlives a scope"};
}

template <typename Lock, typename Function>
boost::asio::awaitable<body_result<Function>> run_with_lock(Lock lock, Function body) {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());

    const auto stop_body = std::make_shared<asio::cancellation_signal>();
    lease held = co_await std::as_const(lock).acquire(asio::use_awaitable);
    if (held.token().empty()) {
        throw lock_error(error(make_error_code(errc::not_held), "acquire returned an empty lease"));
    }

    outcome<body_result<Function>> result;
    std::exception_ptr failure;
    bool is_moved_out = false;
    asio::cancellation_signal stop_watching;
    const auto executor = co_await asio::this_coro::executor;
    const auto caller = co_await asio::this_coro::cancellation_state;
    if (caller.cancelled() == asio::cancellation_type::none) {
        // The caller's cancellation goes to the body alone. If the body ignores it, the lease must
        // still be watched.
        if (caller.slot().is_connected()) {
            caller.slot().assign(pass_on{stop_body});
        }
        auto [order, lost, thrown] =
            co_await asio::experimental::make_parallel_group(
                held.wait_lost(asio::bind_executor(
                    executor, asio::bind_cancellation_slot(stop_watching.slot(), asio::deferred))),
                asio::co_spawn(executor, result.fill_from(body, held),
                               asio::bind_cancellation_slot(stop_body->slot(), asio::deferred)))
                .async_wait(
                    stop_the_other{stop_body.get(), &stop_watching},
                    asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
        failure = thrown;
        // The watch would have ended with a release or a detach.
        is_moved_out = held.token().empty() && lost == asio::error::operation_aborted;
    } else {  // it was cancelled at the moment of the grant
        failure =
            std::make_exception_ptr(boost::system::system_error(asio::error::operation_aborted));
    }

    // From here on, the caller's cancellation must not stop this coroutine. It waits for the release on
    // every path.
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    error loss = held.loss();
    auto [release_error, released] = co_await held.release(asio::as_tuple(asio::use_awaitable));
    if (!loss && !release_error && released != release_result::released) {
        loss = error(make_error_code(errc::lease_lost),
                     "'" + std::string(held.resource()) +
                         "': its keys were gone when it was to be released");
    }

    if (loss) {
        throw lease_lost(loss);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (is_moved_out) {
        throw lock_error(moved_out());
    }
    co_return result.take();
}

template <typename Lock, typename Function, typename CompletionToken>
auto start_with_lock(const boost::asio::any_io_executor& executor, const Lock& lock,
                     Function&& body, CompletionToken&& token) {
    return boost::asio::co_spawn(
        executor, run_with_lock<Lock, std::decay_t<Function>>(lock, std::forward<Function>(body)),
        std::forward<CompletionToken>(token));
}

}  // namespace detail

/// A lock that `with_lock` can acquire. Examples are `mutex`, `shared_mutex`, and any copyable class of your
/// own with the members below. The function `with_lock` keeps a copy of the lock until it completes.
///
/// @code{.cpp}
/// // A mutex that reports how long each caller has waited for it.
/// class timed_mutex {
/// public:
///     explicit timed_mutex(colock::mutex mutex) : mutex_{std::move(mutex)} {}
///
///     asio::awaitable<colock::lease> acquire(asio::use_awaitable_t<> token) const {
///         const auto start = steady_clock::now();
///         colock::lease lease = co_await mutex_.acquire(token);
///         const auto waited = duration_cast<milliseconds>(steady_clock::now() - start);
///         std::cout << "waited " << waited.count() << " ms for " << lease.resource() << '\n';
///         co_return lease;
///     }
///
///     auto get_executor() const { return mutex_.get_executor(); }
///     auto body_executor() const { return mutex_.body_executor(); }
///
/// private:
///     colock::mutex mutex_;
/// };
/// @endcode
///
/// - `acquire(token) const` acquires the lock. Called with `asio::use_awaitable`, it returns
///   `asio::awaitable<colock::lease>`. Any operation with the handler signature
///   `void(colock::error, colock::lease)` does so. A coroutine does so too, as in the sample. It must not
///   change its cancellation state, because Asio shares this state with `with_lock`.
/// - `get_executor() const` returns the client's executor.
/// - `body_executor() const` is optional. It returns the executor on which the body runs. Without it,
///   `with_lock` runs the body on a new strand over `get_executor()`. This is correct with and without
///   `config::thread_safe`. To save the strand where none is needed, return `mutex::body_executor()`.
template <typename Lock>
concept acquirable = requires(const Lock& lock) {
    { lock.acquire(boost::asio::use_awaitable) } -> std::same_as<boost::asio::awaitable<lease>>;
    { lock.get_executor() } -> std::convertible_to<boost::asio::any_io_executor>;
    requires std::copy_constructible<Lock>;
};

/// A lock that `with_shared_lock` can acquire. It has `acquire_shared(token) const`, which acquires the lock
/// as a reader. Otherwise the requirements are the same as those of `acquirable`. `shared_mutex` is such a
/// lock.
template <typename Lock>
concept shared_acquirable = requires(const Lock& lock) {
    {
        lock.acquire_shared(boost::asio::use_awaitable)
        } -> std::same_as<boost::asio::awaitable<lease>>;
    { lock.get_executor() } -> std::convertible_to<boost::asio::any_io_executor>;
    requires std::copy_constructible<Lock>;
};

/// A lock for which `with_lock` waits at most for a given time. The body may take longer.
///
/// @code{.cpp}
/// co_await colock::with_lock(colock::within{mutex, 200ms}, body);
/// @endcode
///
/// If the lock is not free in time, `with_lock` throws a `lock_error` with the code `contended`, and its text
/// says that the body has not run.
///
/// Thread-safety: distinct objects safe. Shared objects: const members safe.
template <typename Lock>
class within {
public:
    /// Creates a copy of the lock, which has `try_acquire_for`.
    within(Lock lock, std::chrono::milliseconds wait) : lock_(std::move(lock)), wait_(wait) {}

    /// Returns the client's executor.
    [[nodiscard]] auto get_executor() const noexcept { return lock_.get_executor(); }
    /// Returns the executor on which the body runs: see `mutex::body_executor`.
    [[nodiscard]] auto body_executor() const { return detail::body_executor_of(lock_); }

    /// Acquires the lock, or fails with `contended` when the time is over. Otherwise as `try_acquire_for` of
    /// the lock.
    boost::asio::awaitable<lease> acquire(boost::asio::use_awaitable_t<> token = {}) const {
        lease held = co_await lock_.try_acquire_for(wait_, token);
        if (held.token().empty()) {
            throw lock_error(error(make_error_code(errc::contended),
                                   "'" + std::string(lock_.resource()) + "': not free within " +
                                       std::to_string(wait_.count()) +
                                       " ms, so the body has not run"));
        }
        co_return held;
    }

private:
    Lock lock_;
    std::chrono::milliseconds wait_;
};

/// Runs a coroutine under a lock. It acquires the lock, runs `body(lease&)`, and waits for the release on
/// every path: return, exception, cancellation, and loss of the lease. The lock is a `mutex`, a
/// `shared_mutex` that it acquires as a writer, or any other `acquirable` class.
///
/// @code{.cpp}
/// // GCC 12 needs a variable for a lambda that captures by value. A temporary one is destroyed twice.
/// auto body = [invoice](colock::lease&) -> asio::awaitable<int> {
///     std::cout << "only we touch invoice " << invoice << " now\n";
///     co_return 100;
/// };
/// const int amount = co_await colock::with_lock(mutex, body);  // the lock is released here
/// std::cout << "paid " << amount << '\n';
/// @endcode
///
/// @note GCC 12: name the lambda. A temporary lambda with by-value captures is destroyed twice. So is a
/// temporary lock whose class is an aggregate. `co_spawn` has the same problem. The compiler warns of such a body,
/// and also of a body that is moved from a variable. Define `COLOCK_ALLOW_TEMPORARY_BODIES` to switch that off.
///
/// - Preconditions: `body` is a callable from `lease&` to `asio::awaitable<T>`. It is kept by value. The
///   lease lives until the body has ended. The body may release it early.
/// - Handler signature: `void(std::exception_ptr, T)`, or `void(std::exception_ptr)` if `T` is `void`.
/// - Executor: The body runs on the lock's `body_executor()`: see `mutex::body_executor`. For a lock without
///   this function, see `acquirable`.
/// - Errors:
///   - The exceptions of the lock's `acquire`: see `mutex::acquire`. To limit the wait alone, see `within`.
///   - `lock_error` with the code `not_held` if a lock of your own returned an empty lease. The body does
///     not run. Also if the body has moved its lease out, and has not released it. It is still held then.
///   - `colock::lease_lost` if the lease was lost while the body ran, even if the body returned or threw.
///     It is also thrown if the release finds that the keys are gone.
///   - Otherwise the exception of the body.
///   - A release without a quorum is not an error. The client tries again until the ttl has ended the lock.
/// - Cancellation: The types terminal, partial and total reach the acquire, then the body. The body has
///   its own filter, and by default a coroutine accepts only terminal. The release is not cancelled. If
///   the lease is lost, the body is cancelled with all three types. With `config::thread_safe`, a callback
///   that another thread can cancel needs a bound executor. Otherwise Asio cancels the body outside its
///   strand.
/// - Object lifetimes: The lock and the client may be destroyed before the completion.
template <
    acquirable Lock, detail::passed_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
auto with_lock(const Lock& lock, Function&& body, CompletionToken&& token = {}) {
    return detail::start_with_lock(detail::body_executor_of(lock), lock,
                                   std::forward<Function>(body),
                                   std::forward<CompletionToken>(token));
}

/// @cond
template <
    acquirable Lock, detail::temporary_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
COLOCK_TEMPORARY_BODY auto with_lock(const Lock& lock, Function&& body,
                                     CompletionToken&& token = {}) {
    return detail::start_with_lock(detail::body_executor_of(lock), lock,
                                   std::forward<Function>(body),
                                   std::forward<CompletionToken>(token));
}
template <typename lock_is_acquirable_or_comes_in_owned,
          typename body_takes_lease_reference_and_returns_awaitable, typename... Token>
    requires(!acquirable<lock_is_acquirable_or_comes_in_owned> ||
             !detail::lock_body<body_takes_lease_reference_and_returns_awaitable>)
void with_lock(const lock_is_acquirable_or_comes_in_owned&,
               const body_takes_lease_reference_and_returns_awaitable&, const Token&...) = delete;
/// @endcond

/// Runs a coroutine under a lock that it acquires as a reader. Otherwise the same as `with_lock`.
template <
    shared_acquirable Lock, detail::passed_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
auto with_shared_lock(const Lock& lock, Function&& body, CompletionToken&& token = {}) {
    return detail::start_with_lock(detail::body_executor_of(lock), detail::readers_of<Lock>{lock},
                                   std::forward<Function>(body),
                                   std::forward<CompletionToken>(token));
}

/// @cond
template <
    shared_acquirable Lock, detail::temporary_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
COLOCK_TEMPORARY_BODY auto with_shared_lock(const Lock& lock, Function&& body,
                                            CompletionToken&& token = {}) {
    return detail::start_with_lock(detail::body_executor_of(lock), detail::readers_of<Lock>{lock},
                                   std::forward<Function>(body),
                                   std::forward<CompletionToken>(token));
}
template <typename lock_has_acquire_shared,
          typename body_takes_lease_reference_and_returns_awaitable, typename... Token>
    requires(!shared_acquirable<lock_has_acquire_shared> ||
             !detail::lock_body<body_takes_lease_reference_and_returns_awaitable>)
void with_shared_lock(const lock_has_acquire_shared&,
                      const body_takes_lease_reference_and_returns_awaitable&,
                      const Token&...) = delete;
/// @endcond

}  // namespace v1
}  // namespace colock

#endif
