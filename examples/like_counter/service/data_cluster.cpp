// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "data_cluster.hpp"

#include "data_connection.hpp"
#include "like_store.hpp"

#include <boost/redis/resp3/type.hpp>
#include <boost/redis/response.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

namespace asio = boost::asio;
namespace redis = boost::redis;
using std::chrono::steady_clock;

namespace like_counter {
namespace {

/// The pause before a command is sent again, or another node is asked for the map.
constexpr auto retry_interval = std::chrono::milliseconds(5);

/// MULTI, up to six commands, and EXEC. Each has a result of its own. If a transaction is refused, the results of
/// the commands have the reason, and EXEC has none.
using transaction_replies =
    std::tuple<redis::generic_response, redis::generic_response, redis::generic_response,
               redis::generic_response, redis::generic_response, redis::generic_response,
               redis::generic_response, redis::generic_response>;

/// Returns the first error, or an empty text.
std::string first_error(const transaction_replies& replies) {
    std::string text;
    const auto look = [&text](const redis::generic_response& one) {
        if (text.empty() && one.has_error()) {
            text = one.error().diagnostic;
        }
    };
    std::apply([&](const auto&... one) { (look(one), ...); }, replies);
    return text;
}

/// Returns the last reply, which is that of EXEC.
reply_nodes last_reply(transaction_replies& replies) {
    reply_nodes last;
    const auto look = [&last](redis::generic_response& one) {
        if (!one.value().empty()) {
            last = std::move(one.value());
        }
    };
    std::apply([&](auto&... one) { (look(one), ...); }, replies);
    return last;
}

bool has_moved(std::string_view error) {
    return error.starts_with("MOVED ");
}

/// The slot is on its way.
bool is_moving(std::string_view error) {
    return error.starts_with("ASK ") || error.starts_with("TRYAGAIN");
}

asio::awaitable<void> pause() {
    asio::steady_timer timer(co_await asio::this_coro::executor, retry_interval);
    co_await timer.async_wait(asio::use_awaitable);
}

std::size_t number_in(const std::string& text) {
    std::size_t number = slot_count;
    std::from_chars(text.data(), text.data() + text.size(), number);
    if (number >= slot_count) {
        throw store_error("the data server told a map with a slot " + text);
    }
    return number;
}

}  // namespace

data_cluster::data_cluster(asio::any_io_executor executor, std::vector<redis::config> seeds)
    : executor_(std::move(executor)), settings_(seeds.front()), owners_(slot_count) {
    for (const redis::config& seed : seeds) {
        node_at(seed.addr.host, seed.addr.port);
    }
}

data_cluster::node* data_cluster::node_at(const std::string& host, const std::string& port) {
    auto found = nodes_.find(host + ":" + port);
    if (found == nodes_.end()) {
        redis::config config = settings_;
        config.addr = {host, port};
        found =
            nodes_.emplace(host + ":" + port, node{host, connect_to_data(executor_, config)}).first;
    }
    return &found->second;
}

asio::awaitable<data_replies> data_cluster::execute(data_commands commands,
                                                    std::chrono::milliseconds timeout) {
    const time_point deadline = steady_clock::now() + timeout;
    std::vector<reply_nodes> replies;
    for (const data_commands::group& one : commands.groups()) {
        replies.push_back(co_await execute_transaction(one, deadline));
    }
    co_return data_replies(commands.order(), std::move(replies));
}

asio::awaitable<reply_nodes> data_cluster::execute_transaction(data_commands::group commands,
                                                               time_point deadline) {
    commands.request.push("EXEC");
    if (commands.request.get_commands() > std::tuple_size_v<transaction_replies>) {
        throw store_error("a transaction has too many commands");
    }
    std::string why;
    for (; steady_clock::now() < deadline; co_await pause()) {
        if (map_is_old_) {
            co_await renew_map(deadline);
        }
        const node* const owner = owners_[commands.slot];
        if (owner == nullptr) {
            why = "no server has the slot " + std::to_string(commands.slot);
            map_is_old_ = true;
            continue;
        }
        transaction_replies replies;
        const auto failure =
            co_await execute_until(owner->connection, commands.request, replies, deadline);
        if (failure) {
            map_is_old_ = true;  // perhaps another server has taken over
            throw store_error("the data server did not answer: " + failure.message() +
                              (why.empty() ? "" : "; before, it refused: " + why));
        }
        why = first_error(replies);
        if (why.empty()) {
            reply_nodes result = last_reply(replies);
            result.erase(result.begin());  // the array itself
            co_return result;
        }
        if (!has_moved(why) && !is_moving(why)) {
            break;
        }
        map_is_old_ = map_is_old_ || has_moved(why);
    }
    throw store_error(why.empty() ? "the data server did not answer in time"
                                  : "the data server refused: " + why);
}

asio::awaitable<void> data_cluster::renew_map(time_point deadline) {
    while (renewing_ && steady_clock::now() < deadline) {
        co_await pause();
    }
    if (renewing_ || !map_is_old_) {
        co_return;
    }
    renewing_ = true;
    map_is_old_ = false;  // MOVED after this moment asks for the next one
    try {
        // Another node each time, because one may be down or have an old map.
        const auto whom =
            std::next(nodes_.begin(), static_cast<std::ptrdiff_t>(next_to_ask_++ % nodes_.size()));
        co_await ask_for_map(whom->second, deadline);
    } catch (...) {
        map_is_old_ = true;
        renewing_ = false;
        throw;
    }
    renewing_ = false;
}

asio::awaitable<void> data_cluster::ask_for_map(const node& whom, time_point deadline) {
    redis::request question;
    question.push("CLUSTER", "SLOTS");
    redis::generic_response ranges;
    const auto failure = co_await execute_until(whom.connection, question, ranges, deadline);
    if (failure) {
        throw store_error("the data server did not answer: " + failure.message());
    }
    if (ranges.has_error()) {
        throw store_error("the data server refused: " + ranges.error().diagnostic);
    }
    read_map(ranges.value(), whom.host);
}

// The reply is an array of ranges. A range is an array: its first slot, its last slot, and its nodes, the master first.
// A node is an array: its host (empty or null if it is the node that was asked), its port, and more.
void data_cluster::read_map(const reply_nodes& ranges, const std::string& host_of_asked) {
    std::vector<node*> owners(slot_count);
    for (std::size_t i = 0; i + 5 < ranges.size(); ++i) {
        if (ranges[i].depth != 1) {
            continue;
        }
        const std::size_t first = number_in(ranges[i + 1].value);
        const std::size_t last = number_in(ranges[i + 2].value);
        const std::string& host = ranges[i + 4].value;
        node* const master = node_at(host.empty() ? host_of_asked : host, ranges[i + 5].value);
        for (std::size_t slot = first; slot <= last; ++slot) {
            owners[slot] = master;
        }
    }
    owners_ = std::move(owners);
}

std::vector<data_cluster::node*> data_cluster::masters() const {
    std::vector<node*> result = owners_;
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
}

asio::awaitable<bool> data_cluster::reachable(std::chrono::milliseconds timeout) {
    const time_point deadline = steady_clock::now() + timeout;
    redis::request ping;
    ping.push("PING");
    try {
        if (map_is_old_) {
            co_await renew_map(deadline);
        }
    } catch (const store_error&) {
        co_return false;
    }
    for (const node* const master : masters()) {
        redis::generic_response pong;
        if (master == nullptr || co_await execute_until(master->connection, ping, pong, deadline) ||
            pong.has_error()) {
            co_return false;
        }
    }
    co_return true;
}

void data_cluster::close() {
    for (auto& [address, one] : nodes_) {
        one.connection->cancel();
    }
}

}  // namespace like_counter
