// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DATA_CONNECTION_HPP
#define LIKE_COUNTER_DATA_CONNECTION_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/config.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/request.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

namespace like_counter {

/// A connection to one server, which Boost.Redis keeps up by itself until it is cancelled. Shared with its own run
/// loop, which may outlive the other owners by one turn.
std::shared_ptr<boost::redis::connection> connect_to_data(boost::asio::any_io_executor executor,
                                                          const boost::redis::config& config);

/// Executes a request, until the deadline.
template <typename Response>
boost::asio::awaitable<boost::system::error_code> execute_until(
    std::shared_ptr<boost::redis::connection> connection, const boost::redis::request& request,
    Response& response, std::chrono::steady_clock::time_point deadline) {
    namespace asio = boost::asio;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto left =
        std::max(deadline - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
    const auto [failure, size] = co_await connection->async_exec(
        request, response, asio::cancel_after(timer, left, asio::as_tuple(asio::use_awaitable)));
    co_return failure;
}

}  // namespace like_counter

#endif
