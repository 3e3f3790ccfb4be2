// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "stage.hpp"

#include "together.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::steady_clock;

namespace like_counter::driver {
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr auto longest_start = std::chrono::seconds(20);
constexpr auto longest_end = std::chrono::seconds(6);
constexpr auto poll_interval = std::chrono::milliseconds(20);

tcp::endpoint local(std::uint16_t port) {
    return {asio::ip::address_v4::loopback(), port};
}

// Below the ports that the system gives to outgoing connections. One of these could take the port of a
// server that has been killed.
std::uint16_t free_port(const asio::any_io_executor& executor) {
    std::random_device random;
    std::uniform_int_distribution<std::uint16_t> ports(10'000, 29'999);
    for (int tries = 0; tries != 100; ++tries) {
        const std::uint16_t port = ports(random);
        tcp::acceptor probe(executor);
        boost::system::error_code failure;
        probe.open(tcp::v4(), failure);
        probe.bind(local(port), failure);
        if (!failure) {
            return port;
        }
    }
    throw std::runtime_error("no free port found");
}

// The address that a service reports in its output.
std::optional<tcp::endpoint> address_in(const std::string& log) {
    const std::string_view beginning = "listening on http://127.0.0.1:";
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(beginning) && !file.eof()) {
            return local(static_cast<std::uint16_t>(std::stoi(line.substr(beginning.size()))));
        }
    }
    return std::nullopt;
}

std::string text_of(const std::string& log) {
    std::ifstream file(log);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

asio::awaitable<void> stage::start() {
    co_await start_server(data_server_);
    for (std::size_t number = 1; number <= options_.lock_servers; ++number) {
        lock_servers_.push_back({"lock " + std::to_string(number), 0, nullptr});
        co_await start_server(lock_servers_.back());
    }
    for (std::size_t number = 1; number <= options_.services; ++number) {
        services_.push_back({"service " + std::to_string(number), {}, nullptr});
        co_await start_service(services_.back());
    }
}

asio::awaitable<void> stage::restart(server& which) {
    for (int tries = 0; tries != 5; ++tries) {
        const bool came_up = co_await try_server(which);
        if (came_up) {
            co_return;
        }
    }
    throw std::runtime_error(which.name + " does not start again on port " +
                             std::to_string(which.port));
}

asio::awaitable<void> stage::end() {
    const auto deadline = steady_clock::now() + longest_end;
    for (service& one : services_) {
        if (one.process) {
            one.process->ask_to_end();
        }
    }
    for (service& one : services_) {
        while (one.process && one.process->state() != child_state::ended &&
               steady_clock::now() < deadline) {
            co_await pause(poll_interval);
        }
    }
    services_.clear();
    lock_servers_.clear();
    data_server_.process.reset();
}

asio::awaitable<void> stage::start_server(server& which) {
    for (int tries = 0; tries != 5; ++tries) {
        which.port = free_port(executor_);
        const bool came_up = co_await try_server(which);
        if (came_up) {
            co_return;
        }
    }
    throw std::runtime_error(options_.redis_server + " (" + which.name + ") does not start");
}

// Another program may have taken the port in the meantime. Then the server ends.
asio::awaitable<bool> stage::try_server(server& which) {
    struct starting {
        bool& is_starting;
        explicit starting(server& of) : is_starting(of.is_starting) { is_starting = true; }
        ~starting() { is_starting = false; }
    } const mark(which);
    const std::string folder = options_.folder + "/" + std::to_string(which.port);
    std::filesystem::create_directories(folder);
    std::vector<std::string> command{options_.redis_server,
                                     "--port",
                                     std::to_string(which.port),
                                     "--bind",
                                     "127.0.0.1",
                                     "--save",
                                     "",
                                     "--appendonly",
                                     "no",
                                     "--daemonize",
                                     "no"};
    which.process =
        std::make_unique<child>(std::move(command), folder, options_.folder + "/servers.log");
    const auto deadline = steady_clock::now() + longest_start;
    while (which.process->state() == child_state::running && steady_clock::now() < deadline) {
        const bool is_up = co_await answers(which.port);
        if (is_up && which.process->state() == child_state::running) {
            co_return true;
        }
        co_await pause(poll_interval);
    }
    which.process->kill();
    co_return false;
}

asio::awaitable<bool> stage::answers(std::uint16_t port) {
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
    const auto [no_reply, size] = co_await asio::async_read(stream, asio::buffer(reply), as_result);
    co_return !no_reply && reply == "+PONG\r\n";
}

asio::awaitable<void> stage::start_service(service& which) {
    const std::string log = options_.folder + "/" + which.name + ".log";
    which.process = std::make_unique<child>(service_command(), options_.folder, log);
    const auto deadline = steady_clock::now() + longest_start;
    while (which.process->state() == child_state::running && steady_clock::now() < deadline) {
        if (const auto address = address_in(log)) {
            which.address = *address;
            co_return;
        }
        co_await pause(poll_interval);
    }
    throw std::runtime_error(which.name + " does not start: " + text_of(log));
}

std::vector<std::string> stage::service_command() const {
    // A request must be able to wait for a lock whose holder is frozen.
    const auto patience = 3 * options_.ttl;
    std::vector<std::string> command{options_.service,
                                     "--listen",
                                     "127.0.0.1:0",
                                     "--experiments",
                                     "--data",
                                     data_server_.uri(),
                                     "--ttl-ms",
                                     std::to_string(options_.ttl.count()),
                                     "--patience-ms",
                                     std::to_string(patience.count()),
                                     "--stop-patience-ms",
                                     "2000"};
    for (const server& one : lock_servers_) {
        command.insert(command.end(), {"--lock", one.uri()});
    }
    return command;
}

}  // namespace like_counter::driver
