// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_REDIS_LIKE_STORE_HPP
#define LIKE_COUNTER_REDIS_LIKE_STORE_HPP

#include "data_commands.hpp"
#include "data_server.hpp"
#include "like_store.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace like_counter {

/// Likes on a Redis server or a Redis Cluster. Keys, all of an entity's in one slot of a cluster, the
/// author's in another, each with the fence that protects it:
///
/// | key                 | type    | what                                              |
/// |---------------------|---------|---------------------------------------------------|
/// | `likers:{<entity>}` | set     | users who like it                                 |
/// | `count:{<entity>}`  | integer | its running total                                 |
/// | `guard:{<entity>}`  | set     | visits in its critical section; expires           |
/// | `fence:{<entity>}`  | integer | the largest fence with which it was read to be written, or written |
/// | `total:{<author>}`  | integer | the running total over all entities of the author |
/// | `fence:{<author>}:<entity>` | integer | the same of that, for the sake of the entity |
///
/// On a cluster, what is written in one slot is written at once, but the two slots come one after the other. The lock
/// keeps them together. A stale writer that wakes while the next holder is just coming in may be refused at one slot
/// and not at the other: no fence spans both.
class redis_like_store final : public like_store {
public:
    /// `uri`: as of `make_data_server`. Throws `std::invalid_argument`.
    redis_like_store(boost::asio::any_io_executor executor, std::string_view uri,
                     std::chrono::milliseconds command_timeout);

    [[nodiscard]] std::string kind() const override { return server_->kind(); }
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override {
        return command_timeout_;
    }
    boost::asio::awaitable<entry> enter(wish the_wish, visit_id visit,
                                        std::chrono::milliseconds guard_expiry,
                                        std::optional<std::uint64_t> fence) override;
    boost::asio::awaitable<departure> write_and_leave(wish the_wish, visit_id visit,
                                                      std::optional<std::uint64_t> fence) override;
    boost::asio::awaitable<departure> leave(entity_id entity, visit_id visit) override;
    boost::asio::awaitable<entity_record> read(entity_id entity, std::optional<user_name> user,
                                               std::size_t most_users) override;
    boost::asio::awaitable<std::int64_t> author_total(author_name author) override;
    boost::asio::awaitable<bool> reachable() override;
    void close() override;

private:
    [[nodiscard]] data_commands commands() const;
    boost::asio::awaitable<data_replies> execute(data_commands commands);

    std::unique_ptr<data_server> server_;
    std::chrono::milliseconds command_timeout_;
};

}  // namespace like_counter

#endif
