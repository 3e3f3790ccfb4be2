// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_DETAIL_TOKENS_HPP
#define COLOCK_DETAIL_TOKENS_HPP

// Which completion tokens an operation accepts. Also how those tokens of Asio handle a `colock::error` that support only
// `error_code` and `exception_ptr`.

#include <colock/error.hpp>

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/disposition.hpp>
#include <boost/asio/redirect_error.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace colock {
inline namespace v1 {
class lock_owner;
}  // namespace v1
}  // namespace colock

namespace colock {
inline namespace v1 {
namespace detail {

template <typename Token, typename Signature>
#if defined(BOOST_ASIO_HAS_CONCEPTS)
concept accepts = boost::asio::completion_token_for<Token, Signature>;
#else
concept accepts = !std::integral<std::remove_cvref_t<Token>> &&
                  !std::same_as<std::remove_cvref_t<Token>, lock_owner>;
#endif

/// A completion token of an operation with the handler signature `void(error, Results...)`.
template <typename Token, typename... Results>
concept token_for = accepts<Token, void(error, Results...)>;

template <typename Result>
struct body_signature {
    using type = void(std::exception_ptr, Result);
};
template <>
struct body_signature<void> {
    using type = void(std::exception_ptr);
};

/// A completion token of an operation that completes with the exception or the result of a function of the caller.
template <typename Token, typename Result>
concept body_token_for = accepts<Token, typename body_signature<Result>::type>;

/// Stores the code where the caller wants it.
template <typename Handler>
struct redirecting_handler {
    template <typename... Results>
    void operator()(const error& e, Results&&... results) {
        *to = e.code();
        std::move(handler)(std::forward<Results>(results)...);
    }

    boost::system::error_code* to;
    Handler handler;
};

/// For tokens that throw an exception that they are given.
template <typename Handler>
struct throwing_handler {
    template <typename... Results>
    void operator()(const error& e, Results&&... results) {
        std::move(handler)(boost::asio::disposition_traits<error>::to_exception_ptr(e),
                           std::forward<Results>(results)...);
    }

    Handler handler;
};

/// Starts the operation with another handler. Has the executor of the initiation, if that has one.
template <typename Initiation>
struct redirecting_initiation : Initiation {
    template <typename Handler, typename... Arguments>
    void operator()(Handler&& handler, boost::system::error_code* to, Arguments&&... arguments) && {
        static_cast<Initiation&&> (*this)(
            redirecting_handler<std::decay_t<Handler>>{to, std::forward<Handler>(handler)},
            std::forward<Arguments>(arguments)...);
    }
};
template <typename Initiation>
struct throwing_initiation : Initiation {
    template <typename Handler, typename... Arguments>
    void operator()(Handler&& handler, Arguments&&... arguments) && {
        static_cast<Initiation&&> (*this)(
            throwing_handler<std::decay_t<Handler>>{std::forward<Handler>(handler)},
            std::forward<Arguments>(arguments)...);
    }
};

}  // namespace detail
}  // namespace v1
}  // namespace colock

namespace boost::asio {

template <template <typename, typename> class Associator, typename Handler, typename Default>
struct associator<Associator, colock::detail::redirecting_handler<Handler>, Default>
    : Associator<Handler, Default> {
    static typename Associator<Handler, Default>::type get(
        const colock::detail::redirecting_handler<Handler>& h) noexcept {
        return Associator<Handler, Default>::get(h.handler);
    }
    static auto get(const colock::detail::redirecting_handler<Handler>& h,
                    const Default& otherwise) noexcept
        -> decltype(Associator<Handler, Default>::get(h.handler, otherwise)) {
        return Associator<Handler, Default>::get(h.handler, otherwise);
    }
};

template <template <typename, typename> class Associator, typename Handler, typename Default>
struct associator<Associator, colock::detail::throwing_handler<Handler>, Default>
    : Associator<Handler, Default> {
    static typename Associator<Handler, Default>::type get(
        const colock::detail::throwing_handler<Handler>& h) noexcept {
        return Associator<Handler, Default>::get(h.handler);
    }
    static auto get(const colock::detail::throwing_handler<Handler>& h,
                    const Default& otherwise) noexcept
        -> decltype(Associator<Handler, Default>::get(h.handler, otherwise)) {
        return Associator<Handler, Default>::get(h.handler, otherwise);
    }
};

/// `redirect_error` stores the code. Without this it would leave the error to the token inside, which throws.
///
/// The result is declared, and not deduced. Asio's concept `completion_token_for` would otherwise compile the body with
/// an archetype, which adapters such as `cancel_after` cannot start.
template <typename Token, typename R, typename... Results>
struct async_result<redirect_error_t<Token>, R(colock::error, Results...)>
    : async_result<Token, R(Results...)> {
    template <typename Redirect>
    using inner =
        std::conditional_t<std::is_const_v<std::remove_reference_t<Redirect>>, const Token, Token>;

    template <typename Initiation, typename Redirect, typename... Arguments>
    static auto initiate(Initiation&& initiation, Redirect&& token, Arguments&&... arguments)
        -> decltype(async_initiate<inner<Redirect>, R(Results...)>(
            std::declval<colock::detail::redirecting_initiation<std::decay_t<Initiation>>>(),
            token.token_, &token.ec_, std::forward<Arguments>(arguments)...)) {
        return async_initiate<inner<Redirect>, R(Results...)>(
            colock::detail::redirecting_initiation<std::decay_t<Initiation>>{
                std::forward<Initiation>(initiation)},
            token.token_, &token.ec_, std::forward<Arguments>(arguments)...);
    }
};

namespace experimental {
template <typename Allocator>
struct use_coro_t;
}  // namespace experimental

/// `use_coro` throws as `use_awaitable` does. Asio's concept `completion_token_for` starts it with an archetype, of which
/// `use_coro` accepts only its own.
template <typename Allocator, typename R>
struct async_result<experimental::use_coro_t<Allocator>, R(colock::error)> {
    template <typename Initiation, typename... Arguments>
    static auto initiate(Initiation initiation, experimental::use_coro_t<Allocator> token,
                         Arguments&&... arguments) {
        return async_result<experimental::use_coro_t<Allocator>, R(std::exception_ptr)>::initiate(
            colock::detail::throwing_initiation<Initiation>{std::move(initiation)}, token,
            std::forward<Arguments>(arguments)...);
    }
    template <typename... Arguments>
    static auto initiate(detail::initiation_archetype<R(colock::error)> /*archetype*/,
                         experimental::use_coro_t<Allocator> token, Arguments&&... arguments) {
        return async_result<experimental::use_coro_t<Allocator>, R(std::exception_ptr)>::initiate(
            detail::initiation_archetype<R(std::exception_ptr)>(), token,
            std::forward<Arguments>(arguments)...);
    }
};
template <typename Allocator, typename R, typename Result>
struct async_result<experimental::use_coro_t<Allocator>, R(colock::error, Result)> {
    template <typename Initiation, typename... Arguments>
    static auto initiate(Initiation initiation, experimental::use_coro_t<Allocator> token,
                         Arguments&&... arguments) {
        return async_result<experimental::use_coro_t<Allocator>, R(std::exception_ptr, Result)>::
            initiate(colock::detail::throwing_initiation<Initiation>{std::move(initiation)}, token,
                     std::forward<Arguments>(arguments)...);
    }
    template <typename... Arguments>
    static auto initiate(detail::initiation_archetype<R(colock::error, Result)> /*archetype*/,
                         experimental::use_coro_t<Allocator> token, Arguments&&... arguments) {
        return async_result<experimental::use_coro_t<Allocator>, R(std::exception_ptr, Result)>::
            initiate(detail::initiation_archetype<R(std::exception_ptr, Result)>(), token,
                     std::forward<Arguments>(arguments)...);
    }
};

}  // namespace boost::asio

#endif
