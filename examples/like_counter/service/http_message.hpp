// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_MESSAGE_HPP
#define LIKE_COUNTER_HTTP_MESSAGE_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace like_counter {

using http_request = boost::beast::http::request<boost::beast::http::string_body>;
using http_response = boost::beast::http::response<boost::beast::http::string_body>;

struct http_limits {
    std::uint32_t header_bytes = 8 * 1024;
    std::uint64_t body_bytes = 16 * 1024;
    std::size_t connections = 4096;
    /// For the next request's header to arrive.
    std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);
    /// For a request's body to arrive, and for its answer to be taken.
    std::chrono::milliseconds transfer_timeout = std::chrono::seconds(10);
};

/// What the server asks of the program above it. Neither may throw.
struct http_handler {
    /// Answers one request.
    std::function<boost::asio::awaitable<http_response>(http_request)> answer;
    /// Words an answer to what is no proper request: the status, and what was wrong.
    std::function<http_response(boost::beast::http::status, const std::string&)> refuse;
};

}  // namespace like_counter

#endif
