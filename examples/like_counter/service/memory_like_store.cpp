// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "memory_like_store.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstddef>
#include <utility>

namespace like_counter {
namespace {

std::int64_t size_of(const std::set<std::string>& set) {
    return static_cast<std::int64_t>(set.size());
}

}  // namespace

memory_like_store::memory_like_store(boost::asio::any_io_executor executor)
    : executor_(std::move(executor)) {}

std::chrono::milliseconds memory_like_store::command_timeout() const noexcept {
    return std::chrono::milliseconds(50);
}

boost::asio::awaitable<void> memory_like_store::others_turn() const {
    co_await boost::asio::post(executor_, boost::asio::use_awaitable);
}

boost::asio::awaitable<entry> memory_like_store::enter(wish the_wish, visit_id visit,
                                                       std::chrono::milliseconds,
                                                       std::optional<std::uint64_t> fence) {
    // The guard of one process needs no expiry: it ends with the process that may leave it behind.
    co_await others_turn();
    record& entity = entities_[the_wish.entity.value()];
    section& covered = entity.sections[visit.section];
    see(fence, covered, the_wish.entity);
    covered.guard.insert(visit.value);
    const entry found{size_of(covered.guard), entity.likers.contains(the_wish.user.value())};
    co_await others_turn();
    co_return found;
}

void memory_like_store::see(std::optional<std::uint64_t> fence, section& of,
                            const entity_id& name) {
    if (fence && *fence < of.largest_fence) {
        throw stale_write("somebody else has had the lock on " + name.value());
    }
    of.largest_fence = fence.value_or(of.largest_fence);
}

boost::asio::awaitable<departure> memory_like_store::write_and_leave(
    wish the_wish, visit_id visit, std::optional<std::uint64_t> fence) {
    const std::int64_t step = the_wish.liked ? 1 : -1;
    record& entity = entities_[the_wish.entity.value()];
    see(fence, entity.sections[visit.section], the_wish.entity);
    const std::size_t affected = the_wish.liked ? entity.likers.insert(the_wish.user.value()).second
                                                : entity.likers.erase(the_wish.user.value());
    co_await others_turn();
    entity.counted += step;
    co_await others_turn();
    authors_[the_wish.entity.author().value()] += step;
    departure left = co_await leave(the_wish.entity, std::move(visit));
    left.set_changed = affected == 1;
    co_return left;
}

boost::asio::awaitable<departure> memory_like_store::leave(entity_id entity, visit_id visit) {
    co_await others_turn();
    record& found = entities_[entity.value()];
    section& covered = found.sections[visit.section];
    covered.guard.erase(visit.value);
    co_return departure{true, size_of(covered.guard), size_of(found.likers)};
}

boost::asio::awaitable<entity_record> memory_like_store::read(entity_id entity,
                                                              std::optional<user_name> user,
                                                              std::size_t most_users) {
    co_await others_turn();
    entity_record result;
    const auto found = entities_.find(entity.value());
    const record nothing;
    const record& known = found == entities_.end() ? nothing : found->second;
    result.likes = size_of(known.likers);
    result.counted = known.counted;
    if (user) {
        result.liked = known.likers.contains(user->value());
    }
    for (const std::string& liker : known.likers) {
        if (result.users.size() == most_users) {
            break;
        }
        result.users.push_back(liker);
    }
    co_return result;
}

boost::asio::awaitable<std::int64_t> memory_like_store::author_total(author_name author) {
    co_await others_turn();
    const auto found = authors_.find(author.value());
    co_return found == authors_.end() ? 0 : found->second;
}

boost::asio::awaitable<bool> memory_like_store::reachable() {
    co_return true;
}

}  // namespace like_counter
