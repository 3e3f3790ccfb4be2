// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DRIVER_STAGE_HPP
#define LIKE_COUNTER_DRIVER_STAGE_HPP

#include "child.hpp"
#include "together.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
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
    using endpoint = asio::ip::tcp::endpoint;

    struct server {
        std::string name;
        std::uint16_t port = 0;
        std::unique_ptr<child> process{};
        bool is_up = false;

        [[nodiscard]] bool is_starting() const { return !is_up && !process->is_ended(); }
        [[nodiscard]] std::string uri() const {
            return "redis://127.0.0.1:" + std::to_string(port);
        }
    };

    struct service {
        std::string name;
        endpoint address{};
        std::unique_ptr<child> process{};
    };

    stage(asio::any_io_executor executor, stage_options options)
        : executor_(std::move(executor)), options_(std::move(options)) {}

    /// Starts everything, and waits until it answers. Throws if that takes too long.
    asio::awaitable<void> start() {
        co_await start_server(data_server_, true);
        for (std::size_t number = 1; number <= options_.lock_servers; ++number) {
            lock_servers_.push_back({"lock " + std::to_string(number)});
            co_await start_server(lock_servers_.back(), true);
        }
        for (std::size_t number = 1; number <= options_.services; ++number) {
            services_.push_back({"service " + std::to_string(number)});
            co_await start_service(services_.back());
        }
    }

    /// Starts a lock server again that has ended, at the address that it had. Throws if it does not start.
    asio::awaitable<void> restart(server& which) { return start_server(which, false); }

    /// Lets the services end by themselves, for some seconds. Then ends everything.
    asio::awaitable<void> end() {
        const auto deadline = clock::now() + std::chrono::seconds(6);
        for (service& one : services_) {
            if (one.process) {
                one.process->ask_to_end();
            }
        }
        for (service& one : services_) {
            while (one.process && !one.process->is_ended() && clock::now() < deadline) {
                co_await pause(poll_interval);
            }
        }
        services_.clear();
        lock_servers_.clear();
        data_server_.process.reset();
    }

    [[nodiscard]] std::vector<server>& lock_servers() noexcept { return lock_servers_; }
    [[nodiscard]] std::vector<service>& services() noexcept { return services_; }
    [[nodiscard]] const stage_options& options() const noexcept { return options_; }

private:
    using clock = std::chrono::steady_clock;

    static constexpr auto longest_start = std::chrono::seconds(20);
    static constexpr auto poll_interval = std::chrono::milliseconds(20);

    // Another program may take the port in the meantime. Then the server ends, and is started again.
    asio::awaitable<void> start_server(server& which, bool has_new_port) {
        for (int tries = 0; tries != 5; ++tries) {
            if (has_new_port) {
                which.port = free_port();
            }
            which.is_up = co_await try_server(which);
            if (which.is_up) {
                co_return;
            }
        }
        throw std::runtime_error(options_.redis_server + " (" + which.name +
                                 ") does not start on port " + std::to_string(which.port));
    }

    asio::awaitable<bool> try_server(server& which) {
        const std::string port = std::to_string(which.port);
        const std::string folder = options_.folder + "/" + port;
        std::filesystem::create_directories(folder);
        std::vector<std::string> command{options_.redis_server, "--port", port, "--bind",
                                         "127.0.0.1"};
        command.insert(command.end(), {"--save", "", "--appendonly", "no", "--daemonize", "no"});
        which.is_up = false;
        which.process =
            std::make_unique<child>(std::move(command), folder, options_.folder + "/servers.log");
        const auto deadline = clock::now() + longest_start;
        while (which.process->is_running() && clock::now() < deadline) {
            const bool has_answered = co_await answers(which.port);
            if (has_answered && which.process->is_running()) {
                co_return true;
            }
            co_await pause(poll_interval);
        }
        which.process->kill();
        co_return false;
    }

    asio::awaitable<bool> answers(std::uint16_t port) {
        constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
        boost::beast::tcp_stream stream(executor_);
        stream.expires_after(std::chrono::seconds(1));
        const auto [no_connection] = co_await stream.async_connect(local(port), as_result);
        if (no_connection) {
            co_return false;
        }
        const std::string_view question = "PING\r\n";
        const auto [not_sent, sent] =
            co_await asio::async_write(stream, asio::buffer(question), as_result);
        if (not_sent) {
            co_return false;
        }
        std::string reply(7, ' ');
        const auto [no_reply, size] =
            co_await asio::async_read(stream, asio::buffer(reply), as_result);
        co_return !no_reply && reply == "+PONG\r\n";
    }

    asio::awaitable<void> start_service(service& which) {
        const std::string log = options_.folder + "/" + which.name + ".log";
        which.process = std::make_unique<child>(service_command(), options_.folder, log);
        const auto deadline = clock::now() + longest_start;
        while (which.process->is_running() && clock::now() < deadline) {
            if (const auto address = address_in(log)) {
                which.address = *address;
                co_return;
            }
            co_await pause(poll_interval);
        }
        std::ifstream file(log);
        throw std::runtime_error(which.name + " does not start: " +
                                 std::string(std::istreambuf_iterator<char>(file), {}));
    }

    [[nodiscard]] std::vector<std::string> service_command() const {
        const std::string ttl = std::to_string(options_.ttl.count());
        // A request must be able to wait for a lock whose holder is frozen.
        const std::string patience = std::to_string(3 * options_.ttl.count());
        std::vector<std::string> command{options_.service, "--experiments", "--listen",
                                         "127.0.0.1:0"};
        command.insert(command.end(), {"--data", data_server_.uri(), "--ttl-ms", ttl});
        command.insert(command.end(), {"--patience-ms", patience, "--stop-patience-ms", "2000"});
        for (const server& one : lock_servers_) {
            command.insert(command.end(), {"--lock", one.uri()});
        }
        return command;
    }

    static endpoint local(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

    // The port is below those of outgoing connections. Such a connection could take the port of a server that
    // has been killed.
    [[nodiscard]] std::uint16_t free_port() const {
        std::random_device random;
        std::uniform_int_distribution<std::uint16_t> ports(10'000, 29'999);
        for (int tries = 0; tries != 100; ++tries) {
            const std::uint16_t port = ports(random);
            asio::ip::tcp::acceptor probe(executor_, asio::ip::tcp::v4());
            boost::system::error_code failure;
            probe.bind(local(port), failure);
            if (!failure) {
                return port;
            }
        }
        throw std::runtime_error("no free port found");
    }

    /// Returns the address that a service reports in its output.
    static std::optional<endpoint> address_in(const std::string& log) {
        const std::string_view beginning = "listening on http://127.0.0.1:";
        std::ifstream file(log);
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with(beginning) && !file.eof()) {
                return local(static_cast<std::uint16_t>(std::stoi(line.substr(beginning.size()))));
            }
        }
        return std::nullopt;
    }

    asio::any_io_executor executor_;
    stage_options options_;
    server data_server_{"data"};
    std::vector<server> lock_servers_;
    std::vector<service> services_;
};

}  // namespace like_counter::driver

#endif
