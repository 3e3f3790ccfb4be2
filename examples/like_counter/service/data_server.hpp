// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DATA_SERVER_HPP
#define LIKE_COUNTER_DATA_SERVER_HPP

#include "data_commands.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace like_counter {

/// Executes the store's commands: one server, or a cluster of them.
class data_server {
public:
    virtual ~data_server() = default;

    /// "redis" or "redis+cluster".
    [[nodiscard]] virtual std::string kind() const = 0;

    /// How its commands are to be grouped.
    [[nodiscard]] virtual data_commands::grouping grouping() const noexcept = 0;

    /// Throws `store_error`, also if that takes longer than `timeout`.
    virtual boost::asio::awaitable<data_replies> execute(data_commands commands,
                                                         std::chrono::milliseconds timeout) = 0;

    /// Whether all of it answers now.
    virtual boost::asio::awaitable<bool> reachable(std::chrono::milliseconds timeout) = 0;

    /// Ends all background work.
    virtual void close() = 0;
};

/// `uri`: `redis://[user[:password]@]host[:port][/database]`, or
/// `redis+cluster://[user[:password]@]host[:port],host[:port],...` with some nodes of a cluster. Throws
/// `std::invalid_argument`.
std::unique_ptr<data_server> make_data_server(boost::asio::any_io_executor executor,
                                              std::string_view uri);

/// Throws as `make_data_server` would.
void check_data_uri(std::string_view uri);

}  // namespace like_counter

#endif
