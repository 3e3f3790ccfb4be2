// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "like_store.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/versioned.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
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

/// Keeps all entities of an author in one `colock::versioned` value, as JSON. So a like changes its set and both totals by one
/// write, and needs no lock, guard or fence. The price is that likes for one author are in each other's way.
class versioned_like_store final : public like_store {
public:
    /// `uri` is one instance of colock: a server, a cluster, or memory.
    versioned_like_store(asio::any_io_executor executor, const std::string& uri,
                         std::chrono::milliseconds command_timeout)
        : client_(std::move(executor), configuration_for(uri)), command_timeout_(command_timeout) {}

    [[nodiscard]] std::string kind() const override { return "versioned"; }
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override {
        return command_timeout_;
    }
    [[nodiscard]] bool needs_lock() const noexcept override { return false; }

    asio::awaitable<outcome> change(wish the_wish) override {
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

    asio::awaitable<entity_record> read(entity_id entity, std::optional<user_name> user,
                                        std::size_t most_users) override {
        const author_record record = co_await read(entity.author());
        const auto found = record.entities.find(entity.value());
        const likers none;
        const likers& of_entity = found == record.entities.end() ? none : found->second;
        co_return record_of(of_entity, record.likes_of(entity), user, most_users);
    }

    asio::awaitable<std::int64_t> author_total(author_name author) override {
        const author_record record = co_await read(std::move(author));
        co_return record.total;
    }

    asio::awaitable<bool> reachable() override {
        const auto instances = client_.instances();
        co_return std::ranges::all_of(instances, [](const colock::instance_info& one) {
            return one.state == colock::instance_state::ready;
        });
    }

    void close() override { client_.close(asio::detached); }

private:
    asio::awaitable<author_record> read(author_name author) {
        const colock::versioned value = value_of(author);
        try {
            const colock::versioned_state state = co_await value.read(asio::use_awaitable);
            co_return author_record(state);
        } catch (const colock::lock_error& failure) {
            rethrow_as_store_error(failure);
        }
    }

    [[nodiscard]] colock::versioned value_of(const author_name& author) {
        colock::versioned_options options;
        options.unavailable_timeout = command_timeout_;
        options.retry.initial = std::chrono::milliseconds(1);
        options.retry.maximum = std::chrono::milliseconds(50);
        return {client_, "author:" + author.value(), options};
    }

    colock::client client_;
    std::chrono::milliseconds command_timeout_;
};

}  // namespace

std::unique_ptr<like_store> make_versioned_store(asio::any_io_executor executor,
                                                 const std::string& uri,
                                                 std::chrono::milliseconds command_timeout) {
    return std::make_unique<versioned_like_store>(std::move(executor), uri, command_timeout);
}

}  // namespace like_counter
