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

// What Boost.Redis logs repeats what the server says, and a server that does not support HELLO repeats the password.
// So only the beginning of a message is logged. Before Boost 1.89 this is not possible, so nothing is logged.
std::shared_ptr<redis::connection> connect_to_data(asio::any_io_executor executor,
                                                   const redis::config& config) {
#if BOOST_VERSION >= 108900  // A connection is made with its logger. Before, it is run with it.
    auto print = [](redis::logger::level, std::string_view text) {
        std::cerr << "the data server: " << text.substr(0, text.find(": ")) << '\n';
    };
    auto connection = std::make_shared<redis::connection>(
        std::move(executor), redis::logger(redis::logger::level::err, std::move(print)));
    connection->async_run(config, [connection](boost::system::error_code) {});
#else
    auto connection = std::make_shared<redis::connection>(std::move(executor));
    connection->async_run(config, redis::logger(redis::logger::level::disabled),
                          [connection](boost::system::error_code) {});
#endif
    return connection;
}

}  // namespace like_counter
