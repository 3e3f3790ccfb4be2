// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "like_store.hpp"

#include "data_commands.hpp"
#include "data_server.hpp"
#include "fenced_store.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace asio = boost::asio;

namespace like_counter {
namespace {

std::string likers_of(const entity_id& entity) {
    return "likers:{" + entity.value() + "}";
}
std::string count_of(const entity_id& entity) {
    return "count:{" + entity.value() + "}";
}
// With stripes, each lock has a guard and a fence of its own.
std::string guard_of(const entity_id& entity, const visit_id& visit) {
    return "guard:{" + entity.value() + "}" + visit.section;
}
std::string fence_of(const entity_id& entity, const visit_id& visit) {
    return "fence:{" + entity.value() + "}" + visit.section;
}
/// The same in the slot of the author's total, which is written under the locks of many entities.
std::string fence_beside_total(const entity_id& entity, const visit_id& visit) {
    return "fence:{" + entity.author().value() + "}:" + entity.value() + visit.section;
}
std::string total_of(const author_name& author) {
    return "total:{" + author.value() + "}";
}

void push_leave(data_commands& commands, const entity_id& entity, const visit_id& visit) {
    const std::string guard = guard_of(entity, visit);
    commands.on(guard).push("SREM", guard, visit.value);
    commands.on(guard).push("SCARD", guard);
    const std::string likers = likers_of(entity);
    commands.on(likers).push("SCARD", likers);
}

/// Likes on a Redis server or a Redis Cluster. The keys of an entity are in one slot of a cluster, and those of its
/// author in another. Each slot has the fence that protects its keys.
///
/// | key                 | type    | what                                              |
/// |---------------------|---------|---------------------------------------------------|
/// | `likers:{<entity>}` | set     | users who like it                                 |
/// | `count:{<entity>}`  | integer | its running total                                 |
/// | `guard:{<entity>}`  | set     | visits in its critical section; expires           |
/// | `fence:{<entity>}`  | integer | the largest fence that was used for this entity   |
/// | `total:{<author>}`  | integer | the running total over all entities of the author |
/// | `fence:{<author>}:<entity>` | integer | the same, in the slot of the author       |
///
/// On a cluster, the keys of one slot are written in one transaction, and the two slots one after the other. The lock
/// keeps them consistent. No fence covers both slots. So if a stale writer resumes while the next holder enters, it
/// may be refused in one slot only.
class redis_like_store final : public like_store {
public:
    /// `uri`: as of `make_data_server`. Throws `std::invalid_argument`.
    redis_like_store(asio::any_io_executor executor, std::string_view uri,
                     std::chrono::milliseconds command_timeout)
        : server_(make_data_server(std::move(executor), uri)), command_timeout_(command_timeout) {}

    [[nodiscard]] std::string kind() const override { return server_->kind(); }
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override {
        return command_timeout_;
    }

    asio::awaitable<entry> enter(wish the_wish, visit_id visit,
                                 std::chrono::milliseconds guard_expiry,
                                 std::optional<std::uint64_t> fence) override {
        const std::string guard = guard_of(the_wish.entity, visit);
        const std::string likers = likers_of(the_wish.entity);
        data_commands all = commands();
        if (fence) {
            for (const std::string& seen :
                 {fence_of(the_wish.entity, visit), fence_beside_total(the_wish.entity, visit)}) {
                fenced_store::push_seen(all.on(seen), seen, *fence);
            }
        }
        all.on(guard).push("SADD", guard, visit.value);
        all.on(guard).push("SCARD", guard);
        all.on(guard).push("PEXPIRE", guard, guard_expiry.count());
        all.on(likers).push("SISMEMBER", likers, the_wish.user.value());
        data_replies answer = co_await execute(std::move(all));
        for (int seen = 0; fence && seen != 2; ++seen) {
            answer.refuse_stale(the_wish.entity);
            answer.integer();
        }
        answer.integer();
        const std::int64_t present = answer.integer();
        answer.integer();
        co_return entry{present, answer.integer() != 0};
    }

    // The author's total comes first, so that the visit leaves the guard last on a cluster.
    asio::awaitable<departure> write_and_leave(wish the_wish, visit_id visit,
                                               std::optional<std::uint64_t> fence) override {
        const entity_id& entity = the_wish.entity;
        const std::string step = the_wish.liked ? "1" : "-1";
        const std::string_view change = the_wish.liked ? "SADD" : "SREM";
        const std::string total = total_of(entity.author());
        const std::string likers = likers_of(entity);
        const std::string count = count_of(entity);
        data_commands all = commands();
        if (fence) {
            const std::string seen_beside_total = fence_beside_total(entity, visit);
            const std::string seen = fence_of(entity, visit);
            fenced_store::push(all.on(total), seen_beside_total, *fence, "INCRBY", total, step);
            fenced_store::push(all.on(likers), seen, *fence, change, likers, the_wish.user.value());
            fenced_store::push(all.on(count), seen, *fence, "INCRBY", count, step);
        } else {
            all.on(total).push("INCRBY", total, step);
            all.on(likers).push(change, likers, the_wish.user.value());
            all.on(count).push("INCRBY", count, step);
        }
        push_leave(all, entity, visit);
        data_replies answer = co_await execute(std::move(all));
        answer.refuse_stale(entity);
        answer.integer();
        answer.refuse_stale(entity);
        const bool set_changed = answer.integer() == 1;
        answer.integer();
        answer.integer();
        const std::int64_t present = answer.integer();
        co_return departure{set_changed, present, answer.integer()};
    }

    asio::awaitable<departure> leave(entity_id entity, visit_id visit) override {
        data_commands all = commands();
        push_leave(all, entity, visit);
        data_replies answer = co_await execute(std::move(all));
        answer.integer();
        const std::int64_t present = answer.integer();
        co_return departure{true, present, answer.integer()};
    }

    asio::awaitable<entity_record> read(entity_id entity, std::optional<user_name> user,
                                        std::size_t most_users) override {
        const std::string likers = likers_of(entity);
        const std::string count = count_of(entity);
        data_commands all = commands();
        all.on(likers).push("SCARD", likers);
        all.on(count).push("GET", count);
        if (user) {
            all.on(likers).push("SISMEMBER", likers, user->value());
        }
        if (most_users > 0) {
            all.on(likers).push("SRANDMEMBER", likers, most_users);
        }
        data_replies answer = co_await execute(std::move(all));
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

    asio::awaitable<std::int64_t> author_total(author_name author) override {
        const std::string total = total_of(author);
        data_commands all = commands();
        all.on(total).push("GET", total);
        data_replies answer = co_await execute(std::move(all));
        co_return answer.integer();
    }

    asio::awaitable<bool> reachable() override {
        co_return co_await server_->reachable(command_timeout_);
    }

    void close() override { server_->close(); }

private:
    [[nodiscard]] data_commands commands() const { return data_commands(server_->grouping()); }

    asio::awaitable<data_replies> execute(data_commands commands) {
        co_return co_await server_->execute(std::move(commands), command_timeout_);
    }

    std::unique_ptr<data_server> server_;
    std::chrono::milliseconds command_timeout_;
};

}  // namespace

std::unique_ptr<like_store> make_redis_store(asio::any_io_executor executor, std::string_view uri,
                                             std::chrono::milliseconds command_timeout) {
    return std::make_unique<redis_like_store>(std::move(executor), uri, command_timeout);
}

}  // namespace like_counter
