// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "http_client.hpp"

#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>

#include <chrono>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace like_counter {
namespace {

// Longer than the service makes anyone wait for a lock.
constexpr auto longest_exchange = std::chrono::seconds(15);

}  // namespace

http_client::http_client(asio::any_io_executor executor, asio::ip::tcp::endpoint server)
    : executor_(std::move(executor)), server_(std::move(server)) {}

asio::awaitable<http_reply> http_client::request(http::verb method, std::string target,
                                                 nlohmann::json body) {
    try {
        co_return co_await exchange(method, std::move(target), std::move(body));
    } catch (const boost::system::system_error&) {
        stream_.reset();
        throw;
    }
}

asio::awaitable<http_reply> http_client::get(std::string target) {
    return request(http::verb::get, std::move(target));
}

void http_client::move_to(asio::ip::tcp::endpoint server) {
    server_ = std::move(server);
    stream_.reset();
}

asio::awaitable<http_reply> http_client::exchange(http::verb method, std::string target,
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

}  // namespace like_counter
