// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_TOGETHER_HPP
#define LIKE_COUNTER_DRIVER_TOGETHER_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <exception>
#include <utility>
#include <vector>

namespace like_counter::driver {

namespace asio = boost::asio;

inline asio::awaitable<void> pause(std::chrono::milliseconds time) {
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// Runs coroutines side by side until all have ended. Then it rethrows what one of them threw.
inline asio::awaitable<void> together(std::vector<asio::awaitable<void>> coroutines) {
    const auto executor = co_await asio::this_coro::executor;
    using started =
        decltype(asio::co_spawn(executor, std::declval<asio::awaitable<void>>(), asio::deferred));
    std::vector<started> all;
    for (auto& coroutine : coroutines) {
        all.push_back(asio::co_spawn(executor, std::move(coroutine), asio::deferred));
    }
    auto group = asio::experimental::make_parallel_group(std::move(all));
    const auto [order, failures] =
        co_await group.async_wait(asio::experimental::wait_for_one_error(), asio::use_awaitable);
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

}  // namespace like_counter::driver

#endif
