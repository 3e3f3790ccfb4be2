// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_CROWD_HPP
#define LIKE_COUNTER_DRIVER_CROWD_HPP

#include "http_client.hpp"
#include "together.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::driver {

/// The people who like a post, and the driver's account of what the services have answered.
class crowd {
public:
    using endpoint = asio::ip::tcp::endpoint;

    explicit crowd(asio::any_io_executor executor) : executor_(std::move(executor)) {}

    /// Likes the post through a service, or takes the like back. Returns what came of it, as text.
    asio::awaitable<std::string> like(endpoint service, std::string user, bool liked) {
        http_client client(executor_, std::move(service));
        const outcome result = co_await ask(client, std::move(user), liked);
        co_return result.text;
    }

    /// So many new people like the post. Each of them clicks once, but the click reaches all services at the
    /// same time, as it does when a client repeats a request. A request that was refused is repeated. The burst
    /// ends early if no request has succeeded for as long as `patience`.
    asio::awaitable<std::string> burst(std::vector<endpoint> services, std::size_t people,
                                       std::chrono::seconds patience) {
        constexpr int people_at_a_time = 24;
        const auto begin = clock::now();
        succeeded_at_ = begin;
        patience_ = patience;
        const std::int64_t accepted_before = accepted_;
        std::size_t left = people;
        std::vector<asio::awaitable<void>> all;
        for (int i = 0; i != people_at_a_time; ++i) {
            all.push_back(person_by_person(services, left));
        }
        co_await together(std::move(all));
        const std::chrono::duration<double> took = clock::now() - begin;
        std::string text = std::to_string(people - left) + " people liked the post in " +
                           std::to_string(took.count()).substr(0, 4) +
                           " s. The services accepted " +
                           std::to_string(accepted_ - accepted_before) + " likes.";
        if (left > 0) {
            text += " Then no request succeeded for " + std::to_string(patience.count()) +
                    " s, so the other " + std::to_string(left) + " gave up.";
        }
        co_return text;
    }

    [[nodiscard]] const std::string& post() const noexcept { return post_; }

    /// Starts a new account for a new post. To be called when nothing is under way.
    void begin(std::string post) {
        post_ = std::move(post);
        accepted_ = 0;
        unknown_ = refused_ = ended_ = people_ = 0;
    }

    /// Likes minus those that were taken back, by the answers "changed".
    [[nodiscard]] std::int64_t accepted() const noexcept { return accepted_; }
    /// Requests whose effect is not known, because no answer came or the answer says so.
    [[nodiscard]] std::uint64_t unknown() const noexcept { return unknown_; }
    /// Requests that were refused. They wrote nothing.
    [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
    /// Requests that are under way.
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_flight_; }
    /// All requests that have ended.
    [[nodiscard]] std::uint64_t ended() const noexcept { return ended_; }

private:
    using clock = std::chrono::steady_clock;

    struct outcome {
        bool refused = false;  // and nothing was written
        std::string text;
    };

    asio::awaitable<void> person_by_person(std::vector<endpoint> services, std::size_t& left) {
        std::list<http_client> clients;
        for (const auto& service : services) {
            clients.emplace_back(executor_, service);
        }
        while (left > 0 && !is_stuck()) {
            --left;
            const std::string user = "person " + std::to_string(++people_);
            std::vector<asio::awaitable<void>> clicks;
            for (http_client& client : clients) {
                clicks.push_back(click(client, user));
            }
            co_await together(std::move(clicks));
        }
    }

    asio::awaitable<void> click(http_client& client, std::string user) {
        for (;;) {
            const outcome result = co_await ask(client, user, true);
            if (!result.refused || is_stuck()) {
                co_return;
            }
            co_await pause(std::chrono::milliseconds(50));
        }
    }

    [[nodiscard]] bool is_stuck() const { return clock::now() - succeeded_at_ >= patience_; }

    asio::awaitable<outcome> ask(http_client& client, std::string user, bool liked) {
        nlohmann::json body{{"user", user}};
        outcome result;
        ++in_flight_;
        try {
            const http_reply reply =
                co_await client.request(liked ? http::verb::post : http::verb::delete_,
                                        likes_target(post_), std::move(body));
            result = account(reply, liked);
        } catch (const boost::system::system_error& error) {
            ++unknown_;
            result.text = std::string("No answer: ") + error.what();
        }
        --in_flight_;
        ++ended_;
        co_return result;
    }

    outcome account(const http_reply& reply, bool liked) {
        if (reply.status == 200) {
            succeeded_at_ = clock::now();
            const bool changed = reply.body.value("changed", false);
            accepted_ += !changed ? 0 : liked ? 1 : -1;
            return {false, changed ? "Accepted." : "Accepted, but it changed nothing."};
        }
        const std::string code = reply.error("code");
        const bool refused = reply.wrote_nothing() || code == "stale";
        ++(refused ? refused_ : unknown_);
        return {refused, (refused ? "Refused (" : "Outcome unknown (") + code +
                             "): " + reply.error("message")};
    }

    asio::any_io_executor executor_;
    std::string post_;
    std::int64_t accepted_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t in_flight_ = 0;
    std::uint64_t people_ = 0;
    clock::time_point succeeded_at_{};  // The latest request, or the begin of a burst.
    std::chrono::seconds patience_{};   // of the burst
};

}  // namespace like_counter::driver

#endif
