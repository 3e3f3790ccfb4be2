// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "http_server.hpp"

#include "http_session.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include <exception>
#include <iterator>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace like_counter {

http_server::http_server(asio::any_io_executor executor, const tcp::endpoint& endpoint,
                         http_limits limits, http_handler handler)
    : acceptor_(executor, endpoint),
      session_ended_(executor, steady_clock::time_point::max()),
      limits_(limits),
      handler_(std::move(handler)) {}

http_server::~http_server() = default;

tcp::endpoint http_server::local_endpoint() const {
    return acceptor_.local_endpoint();
}

asio::awaitable<void> http_server::run() {
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

asio::awaitable<void> http_server::stop(std::chrono::milliseconds patience) {
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

// Until a session has ended, or a moment has passed.
asio::awaitable<void> http_server::until_room() {
    session_ended_.expires_after(std::chrono::milliseconds(100));
    co_await session_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<void> http_server::until_empty(steady_clock::time_point deadline) {
    session_ended_.expires_at(deadline);
    while (!sessions_.empty() && steady_clock::now() < deadline) {
        co_await session_ended_.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

void http_server::start_session(tcp::socket socket) {
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

}  // namespace like_counter
