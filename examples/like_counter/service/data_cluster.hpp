// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DATA_CLUSTER_HPP
#define LIKE_COUNTER_DATA_CLUSTER_HPP

#include "data_server.hpp"
#include "key_slot.hpp"

#include <boost/redis/config.hpp>
#include <boost/redis/connection.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace like_counter {

/// A Redis Cluster. Boost.Redis does not support clusters, so this keeps a map of the slots and a connection to each
/// master.
///
/// The commands of one slot are one transaction (MULTI). If the slot has moved or is moving, the node executes none of
/// them, so they can be sent again. After MOVED, they are sent with a new map. After ASK and TRYAGAIN, they are sent a
/// little later, until the slot has arrived or the timeout has passed. The slots are written one after the other. If
/// one fails, the next ones are not sent.
class data_cluster final : public data_server {
public:
    /// `seeds`: some of its nodes. The user is the same on all others.
    data_cluster(boost::asio::any_io_executor executor, std::vector<boost::redis::config> seeds);

    [[nodiscard]] std::string kind() const override { return "redis+cluster"; }
    [[nodiscard]] data_commands::grouping grouping() const noexcept override {
        return data_commands::grouping::by_slot;
    }
    boost::asio::awaitable<data_replies> execute(data_commands commands,
                                                 std::chrono::milliseconds timeout) override;
    /// Returns whether all masters answer, and each slot has a master.
    boost::asio::awaitable<bool> reachable(std::chrono::milliseconds timeout) override;
    void close() override;

private:
    using time_point = std::chrono::steady_clock::time_point;
    using connection_ptr = std::shared_ptr<boost::redis::connection>;
    struct node {
        std::string host;
        connection_ptr connection;
    };

    boost::asio::awaitable<reply_nodes> execute_transaction(data_commands::group commands,
                                                            time_point deadline);
    /// Waits for a new map. If another request asks for one already, this waits for the same answer.
    boost::asio::awaitable<void> renew_map(time_point deadline);
    boost::asio::awaitable<void> ask_for_map(const node& whom, time_point deadline);
    void read_map(const reply_nodes& ranges, const std::string& host_of_asked);
    node* node_at(const std::string& host, const std::string& port);
    [[nodiscard]] std::vector<node*> masters() const;

    boost::asio::any_io_executor executor_;
    boost::redis::config settings_;
    std::map<std::string, node> nodes_;  // by host and port; none is ever removed
    std::vector<node*> owners_;
    bool map_is_old_ = true;
    bool renewing_ = false;
    std::size_t next_to_ask_ = 0;
};

}  // namespace like_counter

#endif
