// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_SERVER_HPP
#define LIKE_COUNTER_HTTP_SERVER_HPP

#include "http_message.hpp"
#include "http_session.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <exception>
#include <iterator>
#include <list>
#include <utility>

namespace like_counter {

/// HTTP/1.1 with keep-alive, one coroutine per connection, all on one executor.
///
/// Lifetime: must stay until `stop` has completed.
class http_server {
    using tcp = asio::ip::tcp;
    using steady_clock = std::chrono::steady_clock;

public:
    /// Binds and listens. Throws `boost::system::system_error`.
    http_server(asio::any_io_executor executor, const tcp::endpoint& endpoint, http_limits limits,
                http_handler handler)
        : acceptor_(executor, endpoint),
          session_ended_(executor, steady_clock::time_point::max()),
          limits_(limits),
          handler_(std::move(handler)) {}

    [[nodiscard]] tcp::endpoint local_endpoint() const { return acceptor_.local_endpoint(); }

    /// Accepts connections until `stop`.
    asio::awaitable<void> run() {
        while (!stopping_) {
            auto [failure, socket] =
                co_await acceptor_.async_accept(asio::as_tuple(asio::use_awaitable));
            if (!failure) {
                start_session(std::move(socket));
            }
            // A failure is a lack of sockets or memory: the end of a session helps.
            if (!stopping_ && failure) {
                co_await until_room();
            }
            while (!stopping_ && sessions_.size() >= limits_.connections) {
                co_await until_room();
            }
        }
    }

    /// Stops accepting, closes idle connections, lets requests that have begun finish, and after
    /// `patience` cancels and closes what is left. Completes when no connection is.
    asio::awaitable<void> stop(std::chrono::milliseconds patience) {
        stopping_ = true;
        boost::system::error_code ignored;
        acceptor_.close(ignored);
        for (http_session& session : sessions_) {
            session.finish();
        }
        co_await until_empty(steady_clock::now() + patience);
        for (http_session& session : sessions_) {
            session.abort();
        }
        co_await until_empty(steady_clock::time_point::max());
    }

private:
    // Until a session has ended, or a moment has passed.
    asio::awaitable<void> until_room() {
        session_ended_.expires_after(std::chrono::milliseconds(100));
        co_await session_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
    }

    asio::awaitable<void> until_empty(steady_clock::time_point deadline) {
        session_ended_.expires_at(deadline);
        while (!sessions_.empty() && steady_clock::now() < deadline) {
            co_await session_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

    void start_session(tcp::socket socket) {
        sessions_.emplace_back(std::move(socket), limits_, handler_);
        const auto position = std::prev(sessions_.end());
        auto executor = acceptor_.get_executor();
        auto forget = [this, position] {
            sessions_.erase(position);
            session_ended_.cancel();
        };
        // Posted, because the coroutine still refers to the session's slot while it tells that it
        // ended. It throws only when it was aborted.
        auto ended = [executor, forget](std::exception_ptr) { asio::post(executor, forget); };
        asio::co_spawn(executor, position->run(),
                       asio::bind_cancellation_slot(position->abort_slot(), std::move(ended)));
    }

    tcp::acceptor acceptor_;
    asio::steady_timer session_ended_;  // a condition variable: cancelled at each end
    http_limits limits_;
    http_handler handler_;
    std::list<http_session> sessions_;
    bool stopping_ = false;
};

}  // namespace like_counter

#endif
