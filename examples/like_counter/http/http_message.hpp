// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_HTTP_MESSAGE_HPP
#define LIKE_COUNTER_HTTP_MESSAGE_HPP

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/beast/http/string_body.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace like_counter {

using http_request = boost::beast::http::request<boost::beast::http::string_body>;
using http_response = boost::beast::http::response<boost::beast::http::string_body>;

/// Returns JSON as text. Bytes that are not UTF-8 are replaced.
inline std::string json_text(const nlohmann::json& value) {
    return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline http_response json_response(boost::beast::http::status status, const nlohmann::json& body) {
    using boost::beast::http::field;
    http_response response(status, 11);
    response.set(field::content_type, "application/json");
    response.set(field::cache_control, "no-store");
    response.body() = json_text(body) + "\n";
    return response;
}

struct http_limits {
    std::uint32_t header_bytes = 8 * 1024;
    std::uint64_t body_bytes = 16 * 1024;
    std::size_t connections = 4096;
    /// From an answer to the beginning of the next request.
    std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);
    /// For a request's header to arrive. On a new connection, it counts from the beginning.
    std::chrono::milliseconds header_timeout = std::chrono::seconds(5);
    /// For a request's body to arrive, and for its answer to be taken.
    std::chrono::milliseconds transfer_timeout = std::chrono::seconds(10);
};

/// A stream of server-sent events. The server asks for an event only when it has sent the one before, so a
/// slow reader misses events instead of making them queue up.
struct event_stream {
    /// Returns the data of the next event, or an empty text if nothing has changed. Must not throw.
    std::function<boost::asio::awaitable<std::string>()> next;
    /// The time between two calls of `next`.
    std::chrono::milliseconds interval = std::chrono::milliseconds(500);
    /// After this time without an event, the server sends a comment. This shows that the reader is still
    /// there.
    std::chrono::milliseconds heartbeat = std::chrono::seconds(1);
};

/// What the server asks of the program above it. None of these may throw.
struct http_handler {
    /// Answers one request.
    std::function<boost::asio::awaitable<http_response>(http_request)> answer;
    /// Words an answer to what is no proper request: the status, and what was wrong.
    std::function<http_response(boost::beast::http::status, const std::string&)> refuse;
    /// Optional. Returns a stream if the request asks for one and may have it. Otherwise `answer` is asked.
    std::function<std::optional<event_stream>(const http_request&)> stream{};
};

}  // namespace like_counter

#endif
