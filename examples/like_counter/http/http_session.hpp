// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_SESSION_HPP
#define LIKE_COUNTER_HTTP_SESSION_HPP

#include "http_message.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/error_code.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace like_counter {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

/// One connection: its requests, one after the other.
class http_session {
    using error_code = boost::system::error_code;
    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

public:
    http_session(asio::ip::tcp::socket socket, const http_limits& limits,
                 const http_handler& handler)
        : stream_(std::move(socket)),
          limits_(limits),
          handler_(handler),
          pause_(stream_.get_executor()) {
        error_code ignored;  // a matter of speed only
        stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
    }

    /// Serves until the peer leaves, a limit is exceeded, or `finish`. To be spawned with
    /// `abort_slot()`.
    asio::awaitable<void> run() {
        bool open = true;
        while (open && !finishing_) {
            const error_code problem = co_await read_request();
            if (problem) {
                co_await refuse(problem);
                co_return;
            }
            open = co_await answer();
        }
        co_await close();
    }

    /// Ends after the request that has begun; at once, if none has.
    void finish() {
        finishing_ = true;
        if (between_requests_ && !(parser_ && parser_->got_some())) {
            stream_.cancel();
        }
        pause_.cancel();
    }

    /// Ends at once, cancelling whatever answers the request.
    void abort() {
        abort_.emit(asio::cancellation_type::terminal);
        stream_.close();
    }

    [[nodiscard]] asio::cancellation_slot abort_slot() noexcept { return abort_.slot(); }

private:
    using parser = http::request_parser<http::string_body>;

    asio::awaitable<error_code> read_request() {
        const bool may_pause = parser_ && buffer_.size() == 0;  // after an answer
        parser_.emplace();
        parser_->header_limit(limits_.header_bytes);
        parser_->body_limit(limits_.body_bytes);

        between_requests_ = true;
        if (may_pause) {
            stream_.expires_after(limits_.idle_timeout);
            const auto [problem, size] =
                co_await stream_.async_read_some(buffer_.prepare(4096), as_result);
            if (problem) {
                co_return problem;
            }
            buffer_.commit(size);
        }
        stream_.expires_after(limits_.header_timeout);
        const auto [header_error, header_size] =
            co_await http::async_read_header(stream_, buffer_, *parser_, as_result);
        between_requests_ = false;
        if (header_error) {
            co_return header_error;
        }

        stream_.expires_after(limits_.transfer_timeout);
        co_await allow_body();
        const auto [body_error, body_size] =
            co_await http::async_read(stream_, buffer_, *parser_, as_result);
        stream_.expires_never();
        co_return body_error;
    }

    asio::awaitable<void> allow_body() {
        if (!beast::iequals(parser_->get()[http::field::expect], "100-continue")) {
            co_return;
        }
        http::response<http::empty_body> go_on(http::status::continue_, 11);
        // If it cannot be sent, reading the body fails next.
        co_await http::async_write(stream_, go_on, as_result);
    }

    asio::awaitable<bool> answer() {
        http_request request = parser_->release();
        const bool wants_more = request.keep_alive();
        const bool wants_body = request.method() != http::verb::head;
        if (handler_.stream) {
            if (auto events = handler_.stream(request)) {
                co_await send_events(std::move(*events));
                co_return false;
            }
        }
        http_response response = co_await handler_.answer(std::move(request));
        if (!wants_body) {
            response.body().clear();
        }
        co_return co_await send(std::move(response), wants_more && !finishing_);
    }

    // A socket's send buffer grows to megabytes for a reader that does not read. Here it stays small. The reader
    // has `transfer_timeout` to take an event, or it is left.
    asio::awaitable<void> send_events(event_stream events) {
        error_code ignored;
        stream_.socket().set_option(asio::socket_base::send_buffer_size(64 * 1024), ignored);
        std::string text =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
            "Connection: close\r\n\r\nretry: 1000\n\n";
        bool open = co_await send_text(std::move(text));
        auto sent = std::chrono::steady_clock::now();
        while (open && !finishing_) {
            const std::string data = co_await events.next();
            const auto now = std::chrono::steady_clock::now();
            if (!data.empty() || now - sent >= events.heartbeat) {
                text = data.empty() ? ": heartbeat\n\n" : "data: " + data + "\n\n";
                open = co_await send_text(std::move(text));
                sent = now;
            }
            if (open && !finishing_) {
                pause_.expires_after(events.interval);
                co_await pause_.async_wait(as_result);
            }
        }
    }

    asio::awaitable<bool> send_text(std::string text) {
        stream_.expires_after(limits_.transfer_timeout);
        const auto [failure, size] =
            co_await asio::async_write(stream_, asio::buffer(text), as_result);
        stream_.expires_never();
        co_return !failure;
    }

    asio::awaitable<void> refuse(error_code problem) {
        const auto status = parser_->got_some() ? status_for(problem) : std::nullopt;
        if (status && co_await send(handler_.refuse(*status, problem.message()), false)) {
            co_return;
        }
        co_await close();
    }

    // Whether the connection may go on.
    asio::awaitable<bool> send(http_response response, bool keep_alive) {
        response.version(11);
        response.keep_alive(keep_alive);
        response.prepare_payload();
        if (response.result() == http::status::no_content) {
            response.erase(http::field::content_length);  // RFC 9110, section 8.6
        }
        stream_.expires_after(limits_.transfer_timeout);
        const auto [failure, size] = co_await http::async_write(stream_, response, as_result);
        stream_.expires_never();
        co_return !failure && keep_alive;
    }

    // Closing a socket that has unread input resets the connection, and the peer may lose the answer
    // that it has not read yet. So what is still coming is read first, for a moment.
    asio::awaitable<void> close() {
        error_code ignored;
        stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
        if (ignored) {
            co_return;
        }
        stream_.expires_after(std::chrono::seconds(1));
        std::array<char, 4096> discarded;
        error_code ended;
        while (!ended) {
            const auto [failure, size] =
                co_await stream_.async_read_some(asio::buffer(discarded), as_result);
            ended = failure;
        }
    }

    // The status that tells the peer what was wrong; none where nobody is left to be told. A timeout closes the stream.
    static std::optional<http::status> status_for(error_code problem) {
        if (problem == http::error::header_limit || problem == http::error::buffer_overflow) {
            return http::status::request_header_fields_too_large;
        }
        if (problem == http::error::body_limit) {
            return http::status::payload_too_large;
        }
        if (problem == http::error::end_of_stream || problem == http::error::partial_message) {
            return std::nullopt;
        }
        if (problem.category() == http::make_error_code(http::error::bad_method).category()) {
            return http::status::bad_request;
        }
        return std::nullopt;
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    std::optional<parser> parser_;
    const http_limits& limits_;
    const http_handler& handler_;
    asio::cancellation_signal abort_;
    asio::steady_timer pause_;  // between two events of a stream
    bool between_requests_ = true;
    bool finishing_ = false;
};

}  // namespace like_counter

#endif
