// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_HTTP_CLIENT_HPP
#define LIKE_COUNTER_DRIVER_HTTP_CLIENT_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace like_counter::driver {

namespace asio = boost::asio;
namespace http = boost::beast::http;

struct http_reply {
    unsigned status = 0;
    nlohmann::json body;  ///< Empty if the answer is no JSON object.

    /// Returns a field of the error in the body.
    [[nodiscard]] std::string error(const std::string& field) const {
        return body.value(nlohmann::json::json_pointer("/error/" + field), "unknown");
    }

    /// Whether the service says that it wrote nothing: see service/api_error.hpp. On a cluster, a stale writer may
    /// be refused in one of two slots.
    [[nodiscard]] bool wrote_nothing() const {
        const std::string code = error("code");
        return (status >= 400 && status < 500) || code == "busy" || code == "locks_unavailable";
    }
};

/// Where the likes of an entity are.
inline std::string likes_target(const std::string& entity) {
    return "/v1/entities/" + entity + "/likes";
}

/// One keep-alive connection to a service, made when it is needed.
class http_client {
public:
    http_client(asio::any_io_executor executor, asio::ip::tcp::endpoint server)
        : executor_(std::move(executor)), server_(std::move(server)) {}

    /// Sends a request, with a JSON body unless that is null, and waits for the answer. Throws
    /// `boost::system::system_error`. Then it is not known whether the request took effect.
    asio::awaitable<http_reply> request(http::verb method, std::string target,
                                        nlohmann::json body = nullptr) {
        try {
            co_return co_await exchange(method, std::move(target), std::move(body));
        } catch (const boost::system::system_error&) {
            stream_.reset();
            throw;
        }
    }

    asio::awaitable<http_reply> get(std::string target) {
        return request(http::verb::get, std::move(target));
    }

    /// Uses another server from now on.
    void move_to(asio::ip::tcp::endpoint server) {
        server_ = std::move(server);
        stream_.reset();
    }

private:
    // Longer than the service makes anyone wait for a lock.
    static constexpr auto longest_exchange = std::chrono::seconds(15);

    asio::awaitable<http_reply> exchange(http::verb method, std::string target,
                                         nlohmann::json body) {
        if (!stream_) {
            buffer_.clear();
            stream_.emplace(executor_);
            stream_->expires_after(std::chrono::seconds(2));
            co_await stream_->async_connect(server_, asio::use_awaitable);
            stream_->socket().set_option(asio::ip::tcp::no_delay(true));
        }
        stream_->expires_after(longest_exchange);

        http::request<http::string_body> request(method, target, 11);
        request.set(http::field::host, "localhost");
        if (!body.is_null()) {
            request.set(http::field::content_type, "application/json");
            request.body() = body.dump();
        }
        request.prepare_payload();
        co_await http::async_write(*stream_, request, asio::use_awaitable);

        http::response<http::string_body> response;
        co_await http::async_read(*stream_, buffer_, response, asio::use_awaitable);
        if (!response.keep_alive()) {
            stream_.reset();
        }
        nlohmann::json parsed = nlohmann::json::parse(response.body(), nullptr, false);
        co_return http_reply{response.result_int(),
                             parsed.is_object() ? std::move(parsed) : nlohmann::json::object()};
    }

    asio::any_io_executor executor_;
    asio::ip::tcp::endpoint server_;
    std::optional<boost::beast::tcp_stream> stream_;
    boost::beast::flat_buffer buffer_;
};

}  // namespace like_counter::driver

#endif
