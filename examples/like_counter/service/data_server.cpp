// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "data_server.hpp"

#include "data_cluster.hpp"
#include "data_connection.hpp"
#include "like_store.hpp"

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

#include <charconv>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace like_counter {
namespace {

constexpr std::string_view cluster_scheme = "redis+cluster://";

[[noreturn]] void refuse(std::string_view uri) {
    throw std::invalid_argument("the data server's address: expected memory, redis://host[:port]"
                                "[/database] or redis+cluster://host[:port],..., not " +
                                std::string(uri));
}

/// The number behind the host and a slash; nothing if there is none.
std::optional<int> database_in(const boost::urls::url_view& url, std::string_view uri) {
    const auto path = url.segments();
    if (path.empty() || path.front().empty()) {
        return std::nullopt;
    }
    const std::string text = path.front();
    int number = 0;
    const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (path.size() > 1 || problem != std::errc() || stop != text.data() + text.size()) {
        refuse(uri);
    }
    return number;
}

redis::config parse(std::string_view uri) {
    const auto url = boost::urls::parse_uri(uri);
    if (!url || url->scheme() != "redis" || url->host().empty()) {
        refuse(uri);
    }
    redis::config config;
    config.addr.host = url->host_address();
    config.addr.port = url->has_port() ? std::string(url->port()) : "6379";
    if (url->has_userinfo()) {
        config.username = url->user().empty() ? "default" : url->user();
        config.password = url->password();
    }
    config.database_index = database_in(*url, uri);
    config.connect_timeout = config.resolve_timeout = std::chrono::seconds(1);
    config.health_check_interval = std::chrono::seconds(1);
    config.reconnect_wait_interval = std::chrono::milliseconds(100);
    return config;
}

/// One for each node that is named, all with the same user.
std::vector<redis::config> parse_cluster(std::string_view uri) {
    std::string_view hosts = uri.substr(cluster_scheme.size());
    const std::size_t at = hosts.rfind('@');
    const std::size_t user_size = at == std::string_view::npos ? 0 : at + 1;
    const std::string beginning = "redis://" + std::string(hosts.substr(0, user_size));
    hosts.remove_prefix(user_size);
    std::vector<redis::config> nodes;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
        comma = hosts.find(',');
        nodes.push_back(parse(beginning + std::string(hosts.substr(0, comma))));
        if (nodes.back().database_index) {  // a cluster has no others than the first
            refuse(uri);
        }
        hosts.remove_prefix(comma == std::string_view::npos ? hosts.size() : comma + 1);
    }
    return nodes;
}

/// One connection; the commands of all coroutines are pipelined on it.
class single_data_server final : public data_server {
public:
    single_data_server(asio::any_io_executor executor, const redis::config& config)
        : connection_(connect_to_data(std::move(executor), config)) {}

    [[nodiscard]] std::string kind() const override { return "redis"; }

    [[nodiscard]] data_commands::grouping grouping() const noexcept override {
        return data_commands::grouping::together;
    }

    asio::awaitable<data_replies> execute(data_commands commands,
                                          std::chrono::milliseconds timeout) override {
        std::vector<reply_nodes> replies;
        for (const data_commands::group& all : commands.groups()) {  // there is one
            replies.push_back(co_await execute(all.request, timeout));
        }
        co_return data_replies(commands.order(), std::move(replies));
    }

    asio::awaitable<bool> reachable(std::chrono::milliseconds timeout) override {
        redis::request ping;
        ping.push("PING");
        try {
            co_await execute(ping, timeout);
            co_return true;
        } catch (const store_error&) {
            co_return false;
        }
    }

    void close() override { connection_->cancel(); }

private:
    asio::awaitable<reply_nodes> execute(const redis::request& request,
                                         std::chrono::milliseconds timeout) {
        redis::generic_response response;
        const auto deadline = std::chrono::steady_clock::now() + timeout;
        const auto failure = co_await execute_until(connection_, request, response, deadline);
        if (failure) {
            throw store_error("the data server did not answer: " + failure.message());
        }
        if (response.has_error()) {
            throw store_error("the data server refused: " + response.error().diagnostic);
        }
        co_return std::move(response.value());
    }

    std::shared_ptr<redis::connection> connection_;
};

}  // namespace

std::unique_ptr<data_server> make_data_server(asio::any_io_executor executor,
                                              std::string_view uri) {
    if (uri.starts_with(cluster_scheme)) {
        return std::make_unique<data_cluster>(std::move(executor), parse_cluster(uri));
    }
    return std::make_unique<single_data_server>(std::move(executor), parse(uri));
}

void check_data_uri(std::string_view uri) {
    if (uri.starts_with(cluster_scheme)) {
        parse_cluster(uri);
    } else {
        parse(uri);
    }
}

}  // namespace like_counter
