// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_SESSION_HPP
#define LIKE_COUNTER_HTTP_SESSION_HPP

#include "http_message.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/system/error_code.hpp>

#include <optional>
#include <string>

namespace like_counter {

/// One connection: its requests, one after the other.
class http_session {
public:
    http_session(boost::asio::ip::tcp::socket socket, const http_limits& limits,
                 const http_handler& handler);

    /// Serves until the peer leaves, a limit is exceeded, or `finish`. To be spawned with
    /// `abort_slot()`.
    boost::asio::awaitable<void> run();

    /// Ends after the request that has begun; at once, if none has.
    void finish();

    /// Ends at once, cancelling whatever answers the request.
    void abort();
    [[nodiscard]] boost::asio::cancellation_slot abort_slot() noexcept { return abort_.slot(); }

private:
    using parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

    boost::asio::awaitable<boost::system::error_code> read_request();
    boost::asio::awaitable<void> allow_body();
    boost::asio::awaitable<bool> answer();
    boost::asio::awaitable<void> send_events(event_stream events);
    boost::asio::awaitable<bool> send_text(std::string text);
    boost::asio::awaitable<void> refuse(boost::system::error_code problem);
    boost::asio::awaitable<bool> send(http_response response, bool keep_alive);
    boost::asio::awaitable<void> close();

    boost::beast::tcp_stream stream_;
    boost::beast::flat_buffer buffer_;
    std::optional<parser> parser_;
    const http_limits& limits_;
    const http_handler& handler_;
    boost::asio::cancellation_signal abort_;
    boost::asio::steady_timer pause_;  // between two events of a stream
    bool between_requests_ = true;
    bool finishing_ = false;
};

}  // namespace like_counter

#endif
