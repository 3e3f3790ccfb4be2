// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_WATCH_HPP
#define LIKE_COUNTER_DRIVER_WATCH_HPP

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>

namespace like_counter::driver {

/// One connection to the events of a service. What it reads is not counted by the service.
class event_reader {
public:
    explicit event_reader(boost::asio::any_io_executor executor) : stream_(std::move(executor)) {}

    /// `target` is the path with its query. Throws `boost::system::system_error`.
    boost::asio::awaitable<void> connect(boost::asio::ip::tcp::endpoint service,
                                         std::string target);

    /// Waits for the next event, or for a heartbeat, which is null. Throws `boost::system::system_error`,
    /// also after `patience`.
    boost::asio::awaitable<nlohmann::json> next(std::chrono::milliseconds patience);

    /// Ends what is under way.
    void close() { stream_.close(); }

private:
    boost::beast::tcp_stream stream_;
    std::string buffer_;
};

/// Follows the events of a service, and connects again when the connection breaks.
class watch {
public:
    watch(boost::asio::any_io_executor executor, boost::asio::ip::tcp::endpoint service);

    /// Runs until `stop`.
    boost::asio::awaitable<void> run();
    void stop();

    /// The last event. Null if there was none.
    [[nodiscard]] const nlohmann::json& report() const noexcept { return report_; }
    /// The time since the last event or heartbeat.
    [[nodiscard]] std::chrono::milliseconds silent() const;

private:
    boost::asio::awaitable<void> follow();

    boost::asio::any_io_executor executor_;
    boost::asio::ip::tcp::endpoint service_;
    nlohmann::json report_;
    std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now();
    event_reader* reader_ = nullptr;
    bool stopped_ = false;
};

}  // namespace like_counter::driver

#endif
