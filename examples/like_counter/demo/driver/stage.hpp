// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_STAGE_HPP
#define LIKE_COUNTER_DRIVER_STAGE_HPP

#include "child.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace like_counter::driver {

struct stage_options {
    std::string service;  ///< the program of the service
    std::string redis_server =
        "redis-server";  ///< the program of the lock servers and the data server
    std::string folder;  ///< for logs, and for the servers
    std::size_t lock_servers = 5;
    std::size_t services = 2;
    std::chrono::milliseconds ttl = std::chrono::seconds(3);
};

/// The processes that the page shows: lock servers, a data server and services. All end with it.
class stage {
public:
    struct server {
        std::string name;
        std::uint16_t port = 0;
        std::unique_ptr<child> process;
        bool is_starting = false;

        [[nodiscard]] std::string uri() const {
            return "redis://127.0.0.1:" + std::to_string(port);
        }
    };

    struct service {
        std::string name;
        boost::asio::ip::tcp::endpoint address;
        std::unique_ptr<child> process;
    };

    stage(boost::asio::any_io_executor executor, stage_options options)
        : executor_(std::move(executor)), options_(std::move(options)) {}

    /// Starts everything, and waits until it answers. Throws if that takes too long.
    boost::asio::awaitable<void> start();

    /// Starts a lock server again that has ended, at the address that it had. Throws if it does not start.
    boost::asio::awaitable<void> restart(server& which);

    /// Lets the services end by themselves, for some seconds. Then ends everything.
    boost::asio::awaitable<void> end();

    [[nodiscard]] std::vector<server>& lock_servers() noexcept { return lock_servers_; }
    [[nodiscard]] std::vector<service>& services() noexcept { return services_; }
    [[nodiscard]] const stage_options& options() const noexcept { return options_; }

private:
    boost::asio::awaitable<void> start_server(server& which);
    boost::asio::awaitable<bool> try_server(server& which);
    boost::asio::awaitable<bool> answers(std::uint16_t port);
    boost::asio::awaitable<void> start_service(service& which);
    [[nodiscard]] std::vector<std::string> service_command() const;

    boost::asio::any_io_executor executor_;
    stage_options options_;
    server data_server_{"data", 0, nullptr};
    std::vector<server> lock_servers_;
    std::vector<service> services_;
};

}  // namespace like_counter::driver

#endif
