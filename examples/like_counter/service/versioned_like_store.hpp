// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_VERSIONED_LIKE_STORE_HPP
#define LIKE_COUNTER_VERSIONED_LIKE_STORE_HPP

#include "like_store.hpp"

#include <colock/client.hpp>
#include <colock/versioned.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace like_counter {

/// Keeps all entities of an author in one `colock::versioned` value, as JSON. So a like changes its set and both totals by one
/// write, and needs no lock, guard or fence. The price is that likes for one author are in each other's way.
class versioned_like_store final : public like_store {
public:
    /// `uri` is one instance of colock: a server, a cluster, or memory.
    versioned_like_store(boost::asio::any_io_executor executor, const std::string& uri,
                         std::chrono::milliseconds command_timeout);

    [[nodiscard]] std::string kind() const override { return "versioned"; }
    [[nodiscard]] std::chrono::milliseconds command_timeout() const noexcept override {
        return command_timeout_;
    }
    [[nodiscard]] bool needs_lock() const noexcept override { return false; }
    boost::asio::awaitable<outcome> change(wish the_wish) override;

    // There is no critical section:
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
    [[nodiscard]] colock::versioned value_of(const author_name& author);

    colock::client client_;
    std::chrono::milliseconds command_timeout_;
};

}  // namespace like_counter

#endif
