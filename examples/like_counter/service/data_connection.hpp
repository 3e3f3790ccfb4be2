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
#include <boost/redis/logger.hpp>
#include <boost/redis/request.hpp>
#include <boost/system/error_code.hpp>
#include <boost/version.hpp>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <string_view>
#include <utility>

namespace like_counter {

/// Connects to one server. Boost.Redis connects again by itself until it is cancelled. Its own run loop shares the
/// connection, and may outlive the other owners by one turn.
///
/// What Boost.Redis logs repeats the text of the server, and a server that does not support HELLO repeats the password.
/// So only the beginning of a message is logged. Before Boost 1.89 this is not possible, so nothing is logged.
inline std::shared_ptr<boost::redis::connection> connect_to_data(
    boost::asio::any_io_executor executor, const boost::redis::config& config) {
#if BOOST_VERSION >= 108900  // A connection is made with its logger. Before, it is run with it.
    auto print = [](boost::redis::logger::level, std::string_view text) {
        std::cerr << "the data server: " << text.substr(0, text.find(": ")) << '\n';
    };
    auto connection = std::make_shared<boost::redis::connection>(
        std::move(executor),
        boost::redis::logger(boost::redis::logger::level::err, std::move(print)));
    connection->async_run(config, [connection](boost::system::error_code) {});
#else
    auto connection = std::make_shared<boost::redis::connection>(std::move(executor));
    connection->async_run(config, boost::redis::logger(boost::redis::logger::level::disabled),
                          [connection](boost::system::error_code) {});
#endif
    return connection;
}

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
