// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "data_connection.hpp"

#include <boost/redis/logger.hpp>
#include <boost/version.hpp>

#include <iostream>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace like_counter {
namespace {

// Since Boost 1.89 a connection is made with its logger; before, it is run with it.
//
// What Boost.Redis logs repeats what the server says, and a server that does not know HELLO repeats the password: the
// log has none of that. Before 1.89 that cannot be told apart, so there is no log.

std::shared_ptr<redis::connection> make_connection(asio::any_io_executor executor) {
#if BOOST_VERSION >= 108900
    auto print = [](redis::logger::level, std::string_view text) {
        std::cerr << "the data server: " << text.substr(0, text.find(": ")) << '\n';
    };
    return std::make_shared<redis::connection>(
        std::move(executor), redis::logger(redis::logger::level::err, std::move(print)));
#else
    return std::make_shared<redis::connection>(std::move(executor));
#endif
}

void run(const std::shared_ptr<redis::connection>& connection, const redis::config& config) {
    auto ended = [connection](boost::system::error_code) {};
#if BOOST_VERSION >= 108900
    connection->async_run(config, std::move(ended));
#else
    connection->async_run(config, redis::logger(redis::logger::level::disabled), std::move(ended));
#endif
}

}  // namespace

std::shared_ptr<redis::connection> connect_to_data(asio::any_io_executor executor,
                                                   const redis::config& config) {
    auto connection = make_connection(std::move(executor));
    run(connection, config);
    return connection;
}

}  // namespace like_counter
