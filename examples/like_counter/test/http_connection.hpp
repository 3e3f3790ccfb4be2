// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_TEST_HTTP_CONNECTION_HPP
#define LIKE_COUNTER_TEST_HTTP_CONNECTION_HPP

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace like_counter::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using response = http::response<http::string_body>;

/// A connection that sends what it is given, be it HTTP or not. Every step ends within 30 seconds.
class http_connection {
public:
    explicit http_connection(const asio::ip::tcp::endpoint& server) {
        run([&]() -> asio::awaitable<void> {
            co_await stream_.async_connect(server, asio::use_awaitable);
        });
    }

    void send(std::string_view text) {
        run([&]() -> asio::awaitable<void> {
            co_await asio::async_write(stream_, asio::buffer(text), asio::use_awaitable);
        });
    }

    /// The next answer. Throws `boost::system::system_error` if the connection is closed instead.
    response receive() {
        http::response_parser<http::string_body> parser;
        run([&]() -> asio::awaitable<void> {
            co_await http::async_read(stream_, buffer_, parser, asio::use_awaitable);
        });
        return parser.release();
    }

    /// The next line of anything, with its end. Throws as `receive` does.
    std::string receive_line() {
        std::size_t size = 0;
        run([&]() -> asio::awaitable<void> {
            size = co_await asio::async_read_until(stream_, text_, '\n', asio::use_awaitable);
        });
        std::string line(asio::buffers_begin(text_.data()),
                         asio::buffers_begin(text_.data()) + static_cast<std::ptrdiff_t>(size));
        text_.consume(size);
        return line;
    }

    response exchange(std::string_view text) {
        send(text);
        return receive();
    }

private:
    template <typename Step>
    void run(Step step) {
        std::exception_ptr failure;
        stream_.expires_after(std::chrono::seconds(30));
        asio::co_spawn(context_, step(),
                       [&failure](std::exception_ptr thrown) { failure = std::move(thrown); });
        context_.restart();
        context_.run();
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    asio::io_context context_{1};
    boost::beast::tcp_stream stream_{context_};
    boost::beast::flat_buffer buffer_;
    asio::streambuf text_;  // of `receive_line`
};

/// The text of a request, with a JSON body if that is not empty.
inline std::string request_text(std::string_view method, std::string_view target,
                                std::string_view body = {},
                                std::string_view type = "application/json") {
    std::string text;
    text.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: localhost\r\n");
    if (!body.empty()) {
        text.append("Content-Type: ").append(type).append("\r\n");
        text.append("Content-Length: ").append(std::to_string(body.size())).append("\r\n");
    }
    return text.append("\r\n").append(body);
}

}  // namespace like_counter::test

#endif
