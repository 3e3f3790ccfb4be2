// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_MEMORY_LIKE_STORE_HPP
#define LIKE_COUNTER_MEMORY_LIKE_STORE_HPP

#include "like_store.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace like_counter {

/// Likes in this process, gone with it. Between the commands other coroutines get their turn, as
/// they would while a server is asked; so it needs the lock as much as a server does.
class memory_like_store final : public like_store {
public:
    explicit memory_like_store(boost::asio::any_io_executor executor);

    [[nodiscard]] std::string kind() const override { return "memory"; }
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override;
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

    static void see(std::optional<std::uint64_t> fence, section& of, const entity_id& name);
    boost::asio::awaitable<void> others_turn() const;

    boost::asio::any_io_executor executor_;
    std::map<std::string, record> entities_;
    std::map<std::string, std::int64_t> authors_;
};

}  // namespace like_counter

#endif
