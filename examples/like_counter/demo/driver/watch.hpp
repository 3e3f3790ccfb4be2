// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_WATCH_HPP
#define LIKE_COUNTER_DRIVER_WATCH_HPP

#include "together.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/system/system_error.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace like_counter::driver {

/// One connection to the events of a service. What it reads is not counted by the service.
class event_reader {
public:
    explicit event_reader(asio::any_io_executor executor) : stream_(std::move(executor)) {}

    /// `target` is the path with its query. Throws `boost::system::system_error`.
    asio::awaitable<void> connect(asio::ip::tcp::endpoint service, std::string target) {
        stream_.expires_after(std::chrono::seconds(2));
        co_await stream_.async_connect(service, asio::use_awaitable);
        const std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
        co_await asio::async_write(stream_, asio::buffer(request), asio::use_awaitable);
        const std::string head = co_await until("\r\n\r\n");
        if (!head.starts_with("HTTP/1.1 200 ")) {
            throw boost::system::system_error(asio::error::connection_refused);
        }
    }

    /// Waits for the next event, or for a heartbeat, which is null. Throws `boost::system::system_error`,
    /// also after `patience`.
    asio::awaitable<nlohmann::json> next(std::chrono::milliseconds patience) {
        const std::string field = "data: ";
        stream_.expires_after(patience);
        for (;;) {
            const std::string event = co_await until("\n\n");
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

    /// Ends what is under way.
    void close() { stream_.close(); }

private:
    asio::awaitable<std::string> until(std::string end) {
        constexpr std::size_t longest = 1 << 20;
        const std::size_t size = co_await asio::async_read_until(
            stream_, asio::dynamic_buffer(buffer_, longest), end, asio::use_awaitable);
        std::string text = buffer_.substr(0, size);
        buffer_.erase(0, size);
        co_return text;
    }

    boost::beast::tcp_stream stream_;
    std::string buffer_;
};

/// Follows the events of a service, and connects again when the connection breaks.
class watch {
public:
    watch(asio::any_io_executor executor, asio::ip::tcp::endpoint service)
        : executor_(std::move(executor)), service_(std::move(service)) {}

    /// Runs until `stop`.
    asio::awaitable<void> run() {
        while (!stopped_) {
            try {
                co_await follow();
            } catch (const boost::system::system_error&) {
                // It connects again.
            }
            reader_ = nullptr;
            co_await pause(std::chrono::milliseconds(200));
        }
    }

    void stop() {
        stopped_ = true;
        if (reader_ != nullptr) {
            reader_->close();
        }
    }

    /// The last event. Null if there was none.
    [[nodiscard]] const nlohmann::json& report() const noexcept { return report_; }
    /// The time since the last event or heartbeat.
    [[nodiscard]] std::chrono::milliseconds silent() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - heard_);
    }

private:
    using clock = std::chrono::steady_clock;

    asio::awaitable<void> follow() {
        // A service may be stopped for as long as this.
        constexpr auto longest_silence = std::chrono::seconds(60);
        event_reader reader(executor_);
        reader_ = &reader;
        co_await reader.connect(service_, "/v1/events");
        while (!stopped_) {
            nlohmann::json event = co_await reader.next(longest_silence);
            heard_ = clock::now();
            if (event.is_object()) {
                report_ = std::move(event);
            }
        }
    }

    asio::any_io_executor executor_;
    asio::ip::tcp::endpoint service_;
    nlohmann::json report_;
    clock::time_point heard_ = clock::now();
    event_reader* reader_ = nullptr;
    bool stopped_ = false;
};

}  // namespace like_counter::driver

#endif
