// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "versioned_like_store.hpp"

#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace asio = boost::asio;

namespace like_counter {
namespace {

using likers = std::set<std::string>;

/// What an author's value has: the likers of each entity, and the total of all.
struct author_record {
    std::map<std::string, likers> entities;
    std::int64_t total = 0;

    explicit author_record(const colock::versioned_state& state) {
        if (state.value) {
            const nlohmann::json text = nlohmann::json::parse(*state.value);
            text.at("entities").get_to(entities);
            text.at("total").get_to(total);
        }
    }

    [[nodiscard]] std::string text() const {
        return nlohmann::json{{"entities", entities}, {"total", total}}.dump();
    }

    [[nodiscard]] std::int64_t likes_of(const entity_id& entity) const {
        const auto found = entities.find(entity.value());
        return found == entities.end() ? 0 : static_cast<std::int64_t>(found->second.size());
    }
};

/// An error of the value's server. Only a write that is refused for certain is none.
[[noreturn]] void rethrow_as_store_error(const colock::lock_error& failure) {
    throw store_error(failure.what());
}

colock::config configuration_for(const std::string& uri) {
    return colock::config::from_uris({uri == "memory" ? "memory://likes" : uri});
}

}  // namespace

versioned_like_store::versioned_like_store(asio::any_io_executor executor, const std::string& uri,
                                           std::chrono::milliseconds command_timeout)
    : client_(std::move(executor), configuration_for(uri)), command_timeout_(command_timeout) {}

colock::versioned versioned_like_store::value_of(const author_name& author) {
    colock::versioned_options options;
    options.unavailable_timeout = command_timeout_;
    options.retry.initial = std::chrono::milliseconds(1);
    options.retry.maximum = std::chrono::milliseconds(50);
    return {client_, "author:" + author.value(), options};
}

asio::awaitable<outcome> versioned_like_store::change(wish the_wish) {
    const colock::versioned author = value_of(the_wish.entity.author());
    outcome result{};
    const auto apply = [&](const colock::versioned_state& now) -> std::optional<std::string> {
        author_record record(now);
        likers& of_entity = record.entities[the_wish.entity.value()];
        result.changed = the_wish.liked ? of_entity.insert(the_wish.user.value()).second
                                        : of_entity.erase(the_wish.user.value()) != 0;
        result.likes = record.likes_of(the_wish.entity);
        if (!result.changed) {
            return std::nullopt;
        }
        record.total += the_wish.liked ? 1 : -1;
        return record.text();
    };
    try {
        co_await author.update(apply, asio::use_awaitable);
    } catch (const colock::lock_error& failure) {
        rethrow_as_store_error(failure);
    }
    co_return result;
}

asio::awaitable<entry> versioned_like_store::enter(wish /*the_wish*/, visit_id /*visit*/,
                                                   std::chrono::milliseconds /*guard_expiry*/,
                                                   std::optional<std::uint64_t> /*fence*/) {
    throw std::logic_error("a versioned store has no critical section");
}

asio::awaitable<departure> versioned_like_store::write_and_leave(
    wish /*the_wish*/, visit_id /*visit*/, std::optional<std::uint64_t> /*fence*/) {
    throw std::logic_error("a versioned store has no critical section");
}

asio::awaitable<departure> versioned_like_store::leave(entity_id /*entity*/, visit_id /*visit*/) {
    throw std::logic_error("a versioned store has no critical section");
}

asio::awaitable<entity_record> versioned_like_store::read(entity_id entity,
                                                          std::optional<user_name> user,
                                                          std::size_t most_users) {
    const colock::versioned author = value_of(entity.author());
    colock::versioned_state state;
    try {
        state = co_await author.read(asio::use_awaitable);
    } catch (const colock::lock_error& failure) {
        rethrow_as_store_error(failure);
    }
    const author_record record(state);
    entity_record result;
    result.likes = result.counted = record.likes_of(entity);
    const auto found = record.entities.find(entity.value());
    const likers none;
    const likers& of_entity = found == record.entities.end() ? none : found->second;
    if (user) {
        result.liked = of_entity.contains(user->value());
    }
    for (const std::string& liker : of_entity) {
        if (result.users.size() == most_users) {
            break;
        }
        result.users.push_back(liker);
    }
    co_return result;
}

asio::awaitable<std::int64_t> versioned_like_store::author_total(author_name author) {
    const colock::versioned value = value_of(author);
    colock::versioned_state state;
    try {
        state = co_await value.read(asio::use_awaitable);
    } catch (const colock::lock_error& failure) {
        rethrow_as_store_error(failure);
    }
    co_return author_record(state).total;
}

asio::awaitable<bool> versioned_like_store::reachable() {
    const auto instances = client_.instances();
    co_return std::ranges::all_of(instances, [](const colock::instance_info& one) {
        return one.state == colock::instance_state::ready;
    });
}

void versioned_like_store::close() {
    client_.close(asio::detached);
}

}  // namespace like_counter
