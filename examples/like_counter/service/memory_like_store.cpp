// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "like_store.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace like_counter {
namespace {

std::int64_t size_of(const std::set<std::string>& set) {
    return static_cast<std::int64_t>(set.size());
}

/// Likes in the memory of this process. Other coroutines run between the commands, as they do while a server
/// answers. So it needs the lock like a server.
class memory_like_store final : public like_store {
public:
    explicit memory_like_store(boost::asio::any_io_executor executor)
        : executor_(std::move(executor)) {}

    [[nodiscard]] std::string kind() const override { return "memory"; }

    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override {
        return std::chrono::milliseconds(50);
    }

    boost::asio::awaitable<entry> enter(wish the_wish, visit_id visit, std::chrono::milliseconds,
                                        std::optional<std::uint64_t> fence) override {
        // The guard needs no expiry, because it ends with the process.
        co_await others_turn();
        record& entity = entities_[the_wish.entity.value()];
        section& covered = entity.sections[visit.section];
        see(fence, covered, the_wish.entity);
        covered.guard.insert(visit.value);
        const entry found{size_of(covered.guard), entity.likers.contains(the_wish.user.value())};
        co_await others_turn();
        co_return found;
    }

    boost::asio::awaitable<departure> write_and_leave(wish the_wish, visit_id visit,
                                                      std::optional<std::uint64_t> fence) override {
        const std::int64_t step = the_wish.liked ? 1 : -1;
        record& entity = entities_[the_wish.entity.value()];
        see(fence, entity.sections[visit.section], the_wish.entity);
        const std::size_t affected = the_wish.liked
                                         ? entity.likers.insert(the_wish.user.value()).second
                                         : entity.likers.erase(the_wish.user.value());
        co_await others_turn();
        entity.counted += step;
        co_await others_turn();
        authors_[the_wish.entity.author().value()] += step;
        departure left = co_await leave(the_wish.entity, std::move(visit));
        left.set_changed = affected == 1;
        co_return left;
    }

    boost::asio::awaitable<departure> leave(entity_id entity, visit_id visit) override {
        co_await others_turn();
        record& found = entities_[entity.value()];
        section& covered = found.sections[visit.section];
        covered.guard.erase(visit.value);
        co_return departure{true, size_of(covered.guard), size_of(found.likers)};
    }

    boost::asio::awaitable<entity_record> read(entity_id entity, std::optional<user_name> user,
                                               std::size_t most_users) override {
        co_await others_turn();
        const auto found = entities_.find(entity.value());
        const record nothing;
        const record& known = found == entities_.end() ? nothing : found->second;
        co_return record_of(known.likers, known.counted, user, most_users);
    }

    boost::asio::awaitable<std::int64_t> author_total(author_name author) override {
        co_await others_turn();
        const auto found = authors_.find(author.value());
        co_return found == authors_.end() ? 0 : found->second;
    }

    boost::asio::awaitable<bool> reachable() override { co_return true; }

    void close() override {}

private:
    /// What one lock covers.
    struct section {
        std::set<std::string> guard;
        std::uint64_t largest_fence = 0;
    };
    struct record {
        std::set<std::string> likers;
        std::map<std::string, section> sections;
        std::int64_t counted = 0;
    };

    static void see(std::optional<std::uint64_t> fence, section& of, const entity_id& name) {
        if (fence && *fence < of.largest_fence) {
            throw stale_write("somebody else has had the lock on " + name.value());
        }
        of.largest_fence = fence.value_or(of.largest_fence);
    }

    boost::asio::awaitable<void> others_turn() const {
        co_await boost::asio::post(executor_, boost::asio::use_awaitable);
    }

    boost::asio::any_io_executor executor_;
    std::map<std::string, record> entities_;
    std::map<std::string, std::int64_t> authors_;
};

}  // namespace

std::unique_ptr<like_store> make_memory_store(boost::asio::any_io_executor executor) {
    return std::make_unique<memory_like_store>(std::move(executor));
}

entity_record record_of(const std::set<std::string>& likers, std::int64_t counted,
                        const std::optional<user_name>& user, std::size_t most_users) {
    entity_record result;
    result.likes = size_of(likers);
    result.counted = counted;
    if (user) {
        result.liked = likers.contains(user->value());
    }
    for (const std::string& liker : likers) {
        if (result.users.size() == most_users) {
            break;
        }
        result.users.push_back(liker);
    }
    return result;
}

}  // namespace like_counter
