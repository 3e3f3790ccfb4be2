// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_CROWD_HPP
#define LIKE_COUNTER_DRIVER_CROWD_HPP

#include "http_client.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace like_counter::driver {

/// The people who like a post, and the driver's account of what the services have told them.
class crowd {
public:
    crowd(boost::asio::any_io_executor executor, std::string post)
        : executor_(std::move(executor)), post_(std::move(post)) {}

    /// Likes the post through a service, or takes the like back. Returns what came of it, as text.
    boost::asio::awaitable<std::string> like(boost::asio::ip::tcp::endpoint service,
                                             std::string user, bool liked);

    /// So many new people like the post. Each of them clicks once, but the click reaches all services at the
    /// same time, as it does when a client repeats a request. A request that was refused is repeated. The burst
    /// ends early if no request has succeeded for as long as `patience`.
    boost::asio::awaitable<std::string> burst(std::vector<boost::asio::ip::tcp::endpoint> services,
                                              std::size_t people,
                                              std::chrono::milliseconds patience);

    [[nodiscard]] const std::string& post() const noexcept { return post_; }
    [[nodiscard]] std::string target() const { return "/v1/entities/" + post_ + "/likes"; }

    /// Starts a new account for a new post. To be called when nothing is under way.
    void begin(std::string post);

    /// Likes minus those that were taken back, by the answers "changed".
    [[nodiscard]] std::int64_t accepted() const noexcept { return accepted_; }
    /// Requests whose effect is not known, because no answer came or the answer says so.
    [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }
    /// Requests that were refused. They wrote nothing.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
    /// Requests that are under way.
    [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
    /// All requests that have ended.
    [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }

private:
    struct answer {
        bool refused = false;  // and nothing was written
        bool changed = false;
        std::string text;
    };

    boost::asio::awaitable<answer> ask(http_client& client, std::string user, bool liked);
    boost::asio::awaitable<void> click(http_client& client, std::string user,
                                       std::chrono::milliseconds patience);
    boost::asio::awaitable<void> person_by_person(
        std::vector<boost::asio::ip::tcp::endpoint> services, std::size_t& left,
        std::chrono::milliseconds patience);
    [[nodiscard]] bool is_stuck(std::chrono::milliseconds patience) const {
        return std::chrono::steady_clock::now() - succeeded_at_ >= patience;
    }
    answer account(const http_reply& reply, bool liked);

    boost::asio::any_io_executor executor_;
    std::string post_;
    std::int64_t accepted_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t ended_ = 0;
    std::size_t in_flight_ = 0;
    std::size_t people_ = 0;
    std::chrono::steady_clock::time_point
        succeeded_at_{};  // The latest request, or the begin of a burst.
};

}  // namespace like_counter::driver

#endif
