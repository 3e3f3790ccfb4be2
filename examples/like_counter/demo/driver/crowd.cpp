// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "crowd.hpp"

#include "together.hpp"

#include <boost/system/system_error.hpp>

#include <list>
#include <optional>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using std::chrono::steady_clock;

namespace like_counter::driver {
namespace {

constexpr std::size_t people_at_a_time = 24;
constexpr auto pause_after_refusal = std::chrono::milliseconds(50);

std::string text_in(const http_reply& reply, const char* field) {
    const nlohmann::json::json_pointer pointer(std::string("/error/") + field);
    return reply.body.is_object() ? reply.body.value(pointer, std::string("unknown")) : "unknown";
}

}  // namespace

void crowd::begin(std::string post) {
    post_ = std::move(post);
    accepted_ = 0;
    unknown_ = refused_ = ended_ = 0;
    people_ = 0;
}

asio::awaitable<std::string> crowd::like(asio::ip::tcp::endpoint service, std::string user,
                                         bool liked) {
    http_client client(executor_, std::move(service));
    const answer result = co_await ask(client, std::move(user), liked);
    co_return result.text;
}

asio::awaitable<std::string> crowd::burst(std::vector<asio::ip::tcp::endpoint> services,
                                          std::size_t people, std::chrono::milliseconds patience) {
    const auto begin = steady_clock::now();
    succeeded_at_ = begin;
    const std::int64_t accepted_before = accepted_;
    std::size_t left = people;
    std::vector<asio::awaitable<void>> all;
    for (std::size_t i = 0; i != people_at_a_time; ++i) {
        all.push_back(person_by_person(services, left, patience));
    }
    co_await together(executor_, std::move(all));
    const auto took = std::chrono::duration<double>(steady_clock::now() - begin).count();
    std::string text = std::to_string(people - left) + " people liked the post in " +
                       std::to_string(took).substr(0, 4) + " s. The services accepted " +
                       std::to_string(accepted_ - accepted_before) + " likes.";
    if (left > 0) {
        text += " Then no request succeeded for " +
                std::to_string(std::chrono::duration_cast<std::chrono::seconds>(patience).count()) +
                " s, so the other " + std::to_string(left) + " gave up.";
    }
    co_return text;
}

asio::awaitable<void> crowd::person_by_person(std::vector<asio::ip::tcp::endpoint> services,
                                              std::size_t& left,
                                              std::chrono::milliseconds patience) {
    std::list<http_client> clients;
    for (const auto& service : services) {
        clients.emplace_back(executor_, service);
    }
    while (left > 0 && !is_stuck(patience)) {
        --left;
        const std::string user = "person " + std::to_string(++people_);
        std::vector<asio::awaitable<void>> clicks;
        for (http_client& client : clients) {
            clicks.push_back(click(client, user, patience));
        }
        co_await together(executor_, std::move(clicks));
    }
}

asio::awaitable<void> crowd::click(http_client& client, std::string user,
                                   std::chrono::milliseconds patience) {
    for (;;) {
        const answer result = co_await ask(client, user, true);
        if (!result.refused || is_stuck(patience)) {
            co_return;
        }
        co_await pause(pause_after_refusal);
    }
}

asio::awaitable<crowd::answer> crowd::ask(http_client& client, std::string user, bool liked) {
    nlohmann::json body{{"user", user}};
    const auto method = liked ? http::verb::post : http::verb::delete_;
    ++in_flight_;
    std::optional<http_reply> reply;
    std::string failure;
    try {
        reply = co_await client.request(method, target(), std::move(body));
    } catch (const boost::system::system_error& error) {
        failure = error.what();
    }
    --in_flight_;
    ++ended_;
    if (reply) {
        co_return account(*reply, liked);
    }
    ++unknown_;
    co_return answer{false, false, "No answer: " + failure};
}

crowd::answer crowd::account(const http_reply& reply, bool liked) {
    if (reply.status == 200 && reply.body.is_object()) {
        succeeded_at_ = steady_clock::now();
        const bool changed = reply.body.value("changed", false);
        accepted_ += !changed ? 0 : liked ? 1 : -1;
        return {false, changed, changed ? "Accepted." : "Accepted, but it changed nothing."};
    }
    // The service says whether it may have written; see service/api_error.hpp.
    const std::string code = text_in(reply, "code");
    const bool is_unknown =
        reply.status >= 500 && code != "busy" && code != "stale" && code != "locks_unavailable";
    unknown_ += is_unknown ? 1 : 0;
    refused_ += is_unknown ? 0 : 1;
    return {!is_unknown, false,
            (is_unknown ? "Outcome unknown (" : "Refused (") + code +
                "): " + text_in(reply, "message")};
}

}  // namespace like_counter::driver
