// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_TEST_HTTP_CONNECTION_HPP
#define LIKE_COUNTER_TEST_HTTP_CONNECTION_HPP

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace like_counter::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using response = http::response<http::string_body>;

/// A connection that sends any text, HTTP or not. Every step ends within 30 seconds. A step throws
/// `boost::system::system_error` if the connection is closed.
class http_connection {
public:
    /// Its receive buffer is small, so that a slow reader has an effect.
    explicit http_connection(const asio::ip::tcp::endpoint& server) {
        stream_.socket().open(server.protocol());
        stream_.socket().set_option(asio::socket_base::receive_buffer_size(16 * 1024));
        run([&] { return stream_.async_connect(server, asio::use_future); });
    }

    void send(std::string_view text) {
        run([&] { return asio::async_write(stream_, asio::buffer(text), asio::use_future); });
    }

    /// Returns the next answer.
    response receive() {
        response answer;
        auto buffer = asio::dynamic_buffer(received_);
        run([&] { return http::async_read(stream_, buffer, answer, asio::use_future); });
        return answer;
    }

    /// Returns the text up to the next `end`, with it.
    std::string receive_until(std::string_view end) {
        const std::size_t size = run([&] {
            return asio::async_read_until(stream_, asio::dynamic_buffer(received_), end,
                                          asio::use_future);
        });
        const std::string text = received_.substr(0, size);
        received_.erase(0, size);
        return text;
    }

    /// Reads until the server closes the connection.
    void receive_rest() {
        try {
            for (;;) {
                receive_until("\n");
            }
        } catch (const boost::system::system_error& end) {
            if (end.code() == boost::beast::error::timeout) {
                throw;
            }
        }
    }

    response exchange(std::string_view text) {
        send(text);
        return receive();
    }

private:
    template <typename Step>
    auto run(Step step) -> decltype(step().get()) {
        stream_.expires_after(std::chrono::seconds(30));
        auto result = step();
        context_.restart();
        context_.run();
        return result.get();
    }

    asio::io_context context_{1};
    boost::beast::tcp_stream stream_{context_};
    std::string received_;
};

/// Returns the text of a request, with a JSON body if that is not empty. `sender` has the fields about the sender.
inline std::string request_text(const std::string& method, const std::string& target,
                                const std::string& body = {},
                                const std::string& type = "application/json",
                                const std::string& sender = "Host: localhost\r\n") {
    std::string text = method + " " + target + " HTTP/1.1\r\n" + sender;
    if (!body.empty()) {
        text += type.empty() ? "" : "Content-Type: " + type + "\r\n";
        text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    }
    return text + "\r\n" + body;
}

}  // namespace like_counter::test

#endif
