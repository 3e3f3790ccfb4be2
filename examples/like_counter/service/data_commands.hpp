// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DATA_COMMANDS_HPP
#define LIKE_COUNTER_DATA_COMMANDS_HPP

#include "domain.hpp"

#include <boost/redis/request.hpp>
#include <boost/redis/response.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace like_counter {

using reply_nodes = boost::redis::generic_response::value_type;

/// Commands for the data server, in their order. On a cluster those of one slot form a transaction.
class data_commands {
public:
    /// The commands for one slot. Without a cluster there is one group.
    struct group {
        std::uint16_t slot = 0;
        boost::redis::request request;
    };
    enum class grouping { together, by_slot };

    explicit data_commands(grouping how) : how_(how) {}

    /// Where the next command is to be pushed, which is one for this key.
    boost::redis::request& on(std::string_view key);

    /// By slot, in the order of their first commands.
    [[nodiscard]] const std::vector<group>& groups() const noexcept { return groups_; }

    /// Of each command its group.
    [[nodiscard]] const std::vector<std::size_t>& order() const noexcept { return order_; }

private:
    grouping how_;
    std::vector<group> groups_;
    std::vector<std::size_t> order_;
};

/// The replies to `data_commands`, taken one after the other. Throws `store_error` if they make no sense.
class data_replies {
public:
    /// `order`: as of the commands. The replies of each group, one after the other.
    data_replies(std::vector<std::size_t> order, std::vector<reply_nodes> groups);

    /// Throws if the next is null, as for what came with too small a fence; takes nothing.
    void refuse_stale(const entity_id& entity) const;

    /// An integer, be it sent as such, as text, or not there (0).
    std::int64_t integer();

    /// An array or set of strings.
    std::vector<std::string> strings();

private:
    /// The group whose turn it is.
    [[nodiscard]] std::size_t current() const;
    const reply_nodes::value_type& take_from(std::size_t group);

    std::vector<std::size_t> order_;
    std::vector<reply_nodes> groups_;
    std::vector<std::size_t> positions_;
    std::size_t turn_ = 0;
};

}  // namespace like_counter

#endif
