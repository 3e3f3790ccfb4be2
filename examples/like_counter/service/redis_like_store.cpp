#include "redis_like_store.hpp"

#include "fenced_store.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/redis/logger.hpp>
#include <boost/redis/resp3/type.hpp>
#include <boost/redis/response.hpp>
#include <boost/system/error_code.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <boost/version.hpp>

#include <charconv>
#include <iostream>
#include <system_error>
#include <utility>

namespace asio = boost::asio;
namespace redis = boost::redis;

namespace like_counter {
namespace {

std::string likers_of(const entity_id& entity) {
    return "likers:{" + entity.value() + "}";
}
std::string count_of(const entity_id& entity) {
    return "count:{" + entity.value() + "}";
}
std::string guard_of(const entity_id& entity) {
    return "guard:{" + entity.value() + "}";
}
std::string fence_of(const entity_id& entity) {
    return "fence:{" + entity.value() + "}";
}
/// The same beside the author's total, which is written under the locks of many entities.
std::string fence_beside_total(const entity_id& entity) {
    return "fence:{" + entity.author().value() + "}:" + entity.value();
}
std::string total_of(const author_name& author) {
    return "total:{" + author.value() + "}";
}

[[noreturn]] void refuse(std::string_view uri) {
    throw std::invalid_argument("the data server's address: expected memory or redis://host[:port]"
                                "[/database], not " +
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

// Since Boost 1.89 a connection is made with its logger; before, it is run with it.
//
// What Boost.Redis logs repeats what the server says, and a server that does not know HELLO repeats the password: the
// log has none of that. Before 1.89 that cannot be told apart, so there is no log.

std::shared_ptr<redis::connection> make_connection(asio::any_io_executor executor) {
#if BOOST_VERSION >= 108900
    auto print = [](redis::logger::level, std::string_view text) {
        std::cerr << "the data server: " << text.substr(0, text.find(": ")) << '\n';
    };
    return std::make_shared<redis::connection>(
        std::move(executor), redis::logger(redis::logger::level::err, std::move(print)));
#else
    return std::make_shared<redis::connection>(std::move(executor));
#endif
}

void run(const std::shared_ptr<redis::connection>& connection, const redis::config& config) {
    auto ended = [connection](boost::system::error_code) {};
#if BOOST_VERSION >= 108900
    connection->async_run(config, std::move(ended));
#else
    connection->async_run(config, redis::logger(redis::logger::level::disabled), std::move(ended));
#endif
}

void push_leave(redis::request& commands, const entity_id& entity, const visit_id& visit) {
    commands.push("SREM", guard_of(entity), visit.value);
    commands.push("SCARD", guard_of(entity));
    commands.push("SCARD", likers_of(entity));
}

}  // namespace

/// The replies to one request, taken one after the other.
class redis_like_store::replies {
public:
    explicit replies(redis::generic_response response) : response_(std::move(response)) {
        if (response_.has_error()) {
            throw store_error("the data server refused: " + response_.error().diagnostic);
        }
    }

    /// Throws if the next is null, as for what came with too small a fence; takes nothing.
    void refuse_stale(const entity_id& entity) const {
        if (position_ != response_.value().size() &&
            response_.value()[position_].data_type == redis::resp3::type::null) {
            throw stale_write("somebody else has had the lock on " + entity.value());
        }
    }

    /// An integer, be it sent as such, as text, or not there (0).
    std::int64_t integer() {
        const auto& node = next();
        if (node.data_type == redis::resp3::type::null) {
            return 0;
        }
        std::int64_t value = 0;
        const char* const end = node.value.data() + node.value.size();
        const auto [stop, problem] = std::from_chars(node.value.data(), end, value);
        if (problem != std::errc() || stop != end) {
            throw store_error("the data server answered something that is no number");
        }
        return value;
    }

    /// An array or set of strings.
    std::vector<std::string> strings() {
        const std::size_t size = next().aggregate_size;
        std::vector<std::string> values;
        for (std::size_t i = 0; i != size; ++i) {
            values.push_back(next().value);
        }
        return values;
    }

private:
    const redis::resp3::node& next() {
        if (position_ == response_.value().size()) {
            throw store_error("the data server answered too little");
        }
        return response_.value()[position_++];
    }

    redis::generic_response response_;
    std::size_t position_ = 0;
};

redis::config redis_like_store::parse(std::string_view uri) {
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

redis_like_store::redis_like_store(asio::any_io_executor executor, std::string_view uri,
                                   std::chrono::milliseconds command_timeout)
    : connection_(make_connection(std::move(executor))), command_timeout_(command_timeout) {
    run(connection_, parse(uri));
}

asio::awaitable<redis_like_store::replies> redis_like_store::execute(
    const redis::request& commands) {
    redis::generic_response response;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const auto [failure, size] = co_await connection_->async_exec(
        commands, response,
        asio::cancel_after(timer, command_timeout_, asio::as_tuple(asio::use_awaitable)));
    if (failure) {
        throw store_error("the data server did not answer: " + failure.message());
    }
    co_return replies(std::move(response));
}

asio::awaitable<entry> redis_like_store::enter(wish the_wish, visit_id visit,
                                               std::chrono::milliseconds guard_expiry,
                                               std::optional<std::uint64_t> fence) {
    const std::string guard = guard_of(the_wish.entity);
    redis::request commands;
    if (fence) {
        fenced_store::push_seen(commands, fence_of(the_wish.entity), *fence);
        fenced_store::push_seen(commands, fence_beside_total(the_wish.entity), *fence);
    }
    commands.push("SADD", guard, visit.value);
    commands.push("SCARD", guard);
    commands.push("PEXPIRE", guard, guard_expiry.count());
    commands.push("SISMEMBER", likers_of(the_wish.entity), the_wish.user.value());
    replies answer = co_await execute(commands);
    for (int seen = 0; fence && seen != 2; ++seen) {
        answer.refuse_stale(the_wish.entity);
        answer.integer();
    }
    answer.integer();
    const std::int64_t present = answer.integer();
    answer.integer();
    co_return entry{present, answer.integer() != 0};
}

asio::awaitable<departure> redis_like_store::write_and_leave(wish the_wish, visit_id visit,
                                                             std::optional<std::uint64_t> fence) {
    const entity_id& entity = the_wish.entity;
    const std::string step = the_wish.liked ? "1" : "-1";
    const std::string_view change = the_wish.liked ? "SADD" : "SREM";
    const std::string total = total_of(entity.author());
    redis::request commands;
    if (fence) {
        const std::string seen = fence_of(entity);
        fenced_store::push(commands, seen, *fence, change, likers_of(entity),
                           the_wish.user.value());
        fenced_store::push(commands, seen, *fence, "INCRBY", count_of(entity), step);
        fenced_store::push(commands, fence_beside_total(entity), *fence, "INCRBY", total, step);
    } else {
        commands.push(change, likers_of(entity), the_wish.user.value());
        commands.push("INCRBY", count_of(entity), step);
        commands.push("INCRBY", total, step);
    }
    push_leave(commands, entity, visit);
    replies answer = co_await execute(commands);
    answer.refuse_stale(entity);
    const bool set_changed = answer.integer() == 1;
    answer.integer();
    answer.integer();
    answer.integer();
    const std::int64_t present = answer.integer();
    co_return departure{set_changed, present, answer.integer()};
}

asio::awaitable<departure> redis_like_store::leave(entity_id entity, visit_id visit) {
    redis::request commands;
    push_leave(commands, entity, visit);
    replies answer = co_await execute(commands);
    answer.integer();
    const std::int64_t present = answer.integer();
    co_return departure{true, present, answer.integer()};
}

asio::awaitable<entity_record> redis_like_store::read(entity_id entity,
                                                      std::optional<user_name> user,
                                                      std::size_t most_users) {
    redis::request commands;
    commands.push("SCARD", likers_of(entity));
    commands.push("GET", count_of(entity));
    if (user) {
        commands.push("SISMEMBER", likers_of(entity), user->value());
    }
    if (most_users > 0) {
        commands.push("SRANDMEMBER", likers_of(entity), most_users);
    }
    replies answer = co_await execute(commands);
    entity_record result;
    result.likes = answer.integer();
    result.counted = answer.integer();
    if (user) {
        result.liked = answer.integer() != 0;
    }
    if (most_users > 0) {
        result.users = answer.strings();
    }
    co_return result;
}

asio::awaitable<std::int64_t> redis_like_store::author_total(author_name author) {
    redis::request commands;
    commands.push("GET", total_of(author));
    replies answer = co_await execute(commands);
    co_return answer.integer();
}

asio::awaitable<bool> redis_like_store::reachable() {
    redis::request commands;
    commands.push("PING");
    try {
        co_await execute(commands);
        co_return true;
    } catch (const store_error&) {
        co_return false;
    }
}

void redis_like_store::close() {
    connection_->cancel();
}

}  // namespace like_counter
