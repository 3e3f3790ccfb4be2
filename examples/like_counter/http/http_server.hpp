// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_SERVER_HPP
#define LIKE_COUNTER_HTTP_SERVER_HPP

#include "http_message.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <list>

namespace like_counter {

class http_session;

/// HTTP/1.1 with keep-alive, one coroutine per connection, all on one executor.
///
/// Lifetime: must stay until `stop` has completed.
class http_server {
public:
    /// Binds and listens. Throws `boost::system::system_error`.
    http_server(boost::asio::any_io_executor executor,
                const boost::asio::ip::tcp::endpoint& endpoint, http_limits limits,
                http_handler handler);
    ~http_server();

    [[nodiscard]] boost::asio::ip::tcp::endpoint local_endpoint() const;

    /// Accepts connections until `stop`.
    boost::asio::awaitable<void> run();

    /// Stops accepting, closes idle connections, lets requests that have begun finish, and after
    /// `patience` cancels and closes what is left. Completes when no connection is.
    boost::asio::awaitable<void> stop(std::chrono::milliseconds patience);

private:
    boost::asio::awaitable<void> until_room();
    boost::asio::awaitable<void> until_empty(std::chrono::steady_clock::time_point deadline);
    void start_session(boost::asio::ip::tcp::socket socket);

    boost::asio::ip::tcp::acceptor acceptor_;
    boost::asio::steady_timer session_ended_;  // a condition variable: cancelled at each end
    http_limits limits_;
    http_handler handler_;
    std::list<http_session> sessions_;
    bool stopping_ = false;
};

}  // namespace like_counter

#endif
