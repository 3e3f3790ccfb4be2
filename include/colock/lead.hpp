// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_LEAD_HPP
#define COLOCK_LEAD_HPP

#include <colock/detail/export.hpp>
#include <colock/detail/tokens.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v1 {
namespace detail {

/// What one caller of `lead` has been through.
class COLOCK_EXPORT candidacy {
public:
    /// The body begins.
    void begin_term() noexcept;
    /// The body has returned or thrown. This ends the candidacy, unless the lease was lost before.
    void end_term(const lease& held) noexcept;
    /// Whether it campaigns again after this error of the acquire, or this loss.
    [[nodiscard]] bool goes_on_after(const boost::system::error_code& why) const noexcept;
    /// How long it waits before that.
    [[nodiscard]] std::chrono::steady_clock::duration next_delay();

private:
    std::size_t failures_ = 0;  // since the last long term
    std::chrono::steady_clock::time_point began_{};
    bool has_led_ = false;  // since the last failure
    bool has_resigned_ = false;
};

/// The body of `lead`, for `with_lock`.
template <lock_body Function>
class term {
public:
    term(Function& body, candidacy& of) noexcept : body_(&body), candidacy_(&of) {}

    boost::asio::awaitable<body_result<Function>> operator()(lease& held) const {
        candidacy_->begin_term();
        const struct end_of_term {
            candidacy* of;
            const lease* held;
            ~end_of_term() { of->end_term(*held); }
        } end{candidacy_, &held};
        co_return co_await std::invoke(*body_, held);
    }

private:
    Function* body_;
    candidacy* candidacy_;
};

template <typename Lock, typename Function>
boost::asio::awaitable<body_result<Function>> run_lead(Lock lock, Function body) {
    namespace asio = boost::asio;
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    const auto executor = co_await asio::this_coro::executor;
    const auto caller = co_await asio::this_coro::cancellation_state;
    const auto stop = std::make_shared<asio::cancellation_signal>();  // what is awaited now
    // Asio takes the handler out of the caller's slot when an operation completes.
    const auto pass_cancellation_on = [&caller, &stop] {
        if (caller.slot().is_connected()) {
            caller.slot().assign(pass_on{stop});
        }
    };
    candidacy ours;
    const term<Function> lead_once(body, ours);
    asio::steady_timer pause(executor);
    std::string last;
    for (;;) {
        pass_cancellation_on();
        try {
            co_return co_await asio::co_spawn(
                executor, run_with_lock(lock, lead_once),
                asio::bind_cancellation_slot(stop->slot(), asio::use_awaitable));
        } catch (const lock_error& failure) {
            if (!ours.goes_on_after(failure.code())) {
                throw;
            }
            last = std::string("the last campaign: ") + failure.what();
        }
        if (caller.cancelled() == asio::cancellation_type::none) {
            pause.expires_after(ours.next_delay());
            pass_cancellation_on();
            co_await pause.async_wait(
                asio::bind_cancellation_slot(stop->slot(), asio::as_tuple(asio::use_awaitable)));
        }
        if (caller.cancelled() != asio::cancellation_type::none) {
            throw lock_error({asio::error::operation_aborted, last});
        }
    }
}

template <typename Lock, typename Function, typename CompletionToken>
auto start_lead(const Lock& lock, Function&& body, CompletionToken&& token) {
    return boost::asio::co_spawn(
        body_executor_of(lock),
        run_lead<Lock, std::decay_t<Function>>(lock, std::forward<Function>(body)),
        std::forward<CompletionToken>(token));
}

}  // namespace detail

/// Runs a coroutine as the leader among all callers with the same lock. It waits until it holds the lock, and
/// then runs `body(lease&)`. If the lease is lost, the body is cancelled, and `lead` campaigns again. So the
/// body may run several times, one after the other. It ends in one of these ways:
/// - If the body returns, `lead` resigns: it releases the lock, and completes with the value.
/// - If the body throws, `lead` releases the lock, and completes with the exception.
/// - If it is cancelled, it stops the acquire or the body, and releases the lock. Instead of a further campaign, it
///   completes with `operation_aborted`. Between two campaigns, the details tell how the last one failed.
/// - If an error cannot be cured, it completes with this error: see below.
///
/// @code{.cpp}
/// // Several of these may run, one after the other: if the lease is lost, this one is cancelled.
/// // GCC 12 needs a variable for a lambda that captures by value.
/// auto body = [name](colock::lease& lease) -> asio::awaitable<void> {
///     asio::steady_timer timer{co_await asio::this_coro::executor};
///     for (int job = 1; job <= 2; ++job) {
///         std::cout << name << " leads and does job " << job << std::endl;
///         timer.expires_after(10ms);
///         co_await timer.async_wait(asio::deferred);  // throws if the lease is lost
///     }
///     std::cout << name << " resigns as " << lease.resource() << std::endl;
/// };
/// co_await colock::lead(mutex, body);  // waits until nobody else leads
/// @endcode
///
/// There is at most one leader whose lease is `valid()`. A paused leader may still write late: see
/// docs/guarantees.md. Let the resource check `lease::fence()`, which grows with each term.
///
/// `lock_options::max_hold` limits a term. Afterwards another candidate leads, if there is one.
///
/// After a failed campaign or a lost lease, it waits before it campaigns again. The wait is a random time of 50 to
/// 100 ms, which doubles with each further failure, to 2.5 to 5 s. A term of more than 5 s resets it.
///
/// - Preconditions, handler signature, executor: as for `with_lock`. The body is called again for each term.
/// - Errors:
///   - `colock::lock_error` with an error of the lock's `acquire` for which a further campaign has no use,
///     such as `client_closed`. After `no_quorum`, `too_slow` and `contended` it campaigns again.
///   - `colock::lease_lost` if the client was closed, which loses the lease. Also if the body has returned, and the
///     release finds that the keys are gone.
///   - Otherwise the exception of the body, also if it is a `lock_error`.
/// - Cancellation: as for `with_lock`. It may come at any time.
/// - Object lifetimes: The lock and the client may be destroyed before the completion.
template <
    acquirable Lock, detail::passed_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
auto lead(const Lock& lock, Function&& body, CompletionToken&& token = {}) {
    return detail::start_lead(lock, std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}

/// @cond
template <
    acquirable Lock, detail::temporary_body Function,
    detail::body_token_for<detail::body_result<Function>> CompletionToken = boost::asio::deferred_t>
COLOCK_TEMPORARY_BODY auto lead(const Lock& lock, Function&& body, CompletionToken&& token = {}) {
    return detail::start_lead(lock, std::forward<Function>(body),
                              std::forward<CompletionToken>(token));
}
/// @endcond

}  // namespace v1
}  // namespace colock

#endif
