// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "watch.hpp"

#include "together.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/system_error.hpp>

#include <cstddef>
#include <utility>

namespace asio = boost::asio;
using std::chrono::steady_clock;

namespace like_counter::driver {
namespace {

constexpr std::size_t longest_event = 1 << 20;
constexpr auto longest_silence = std::chrono::seconds(60);  // a service may be stopped for as long
constexpr auto pause_before_connecting = std::chrono::milliseconds(200);

}  // namespace

asio::awaitable<void> event_reader::connect(asio::ip::tcp::endpoint service, std::string target) {
    stream_.expires_after(std::chrono::seconds(2));
    co_await stream_.async_connect(service, asio::use_awaitable);
    const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    co_await asio::async_write(stream_, asio::buffer(request), asio::use_awaitable);
    const std::size_t size = co_await asio::async_read_until(
        stream_, asio::dynamic_buffer(buffer_, longest_event), "\r\n\r\n", asio::use_awaitable);
    const bool is_ok = buffer_.starts_with("HTTP/1.1 200 ");
    buffer_.erase(0, size);
    if (!is_ok) {
        throw boost::system::system_error(asio::error::connection_refused);
    }
}

asio::awaitable<nlohmann::json> event_reader::next(std::chrono::milliseconds patience) {
    const std::string field = "data: ";
    stream_.expires_after(patience);
    for (;;) {
        const std::size_t size = co_await asio::async_read_until(
            stream_, asio::dynamic_buffer(buffer_, longest_event), "\n\n", asio::use_awaitable);
        const std::string event = buffer_.substr(0, size);
        buffer_.erase(0, size);
        if (event.starts_with(": ")) {
            co_return nlohmann::json();
        }
        if (!event.starts_with(field)) {
            continue;
        }
        nlohmann::json data = nlohmann::json::parse(event.substr(field.size()), nullptr, false);
        if (data.is_object()) {
            co_return data;
        }
    }
}

watch::watch(asio::any_io_executor executor, asio::ip::tcp::endpoint service)
    : executor_(std::move(executor)), service_(std::move(service)) {}

asio::awaitable<void> watch::run() {
    while (!stopped_) {
        try {
            co_await follow();
        } catch (const boost::system::system_error&) {
            // It connects again.
        }
        reader_ = nullptr;
        co_await pause(pause_before_connecting);
    }
}

void watch::stop() {
    stopped_ = true;
    if (reader_ != nullptr) {
        reader_->close();
    }
}

std::chrono::milliseconds watch::silent() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - heard_);
}

asio::awaitable<void> watch::follow() {
    event_reader reader(executor_);
    reader_ = &reader;
    co_await reader.connect(service_, "/v1/events");
    while (!stopped_) {
        nlohmann::json event = co_await reader.next(longest_silence);
        heard_ = steady_clock::now();
        if (event.is_object()) {
            report_ = std::move(event);
        }
    }
}

}  // namespace like_counter::driver
