// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/fake_server.hpp"

#include "support/close_on_exec.hpp"
#include "support/reserved_port.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>

#include <sys/socket.h>

#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace colock::test {
namespace asio = boost::asio;
using asio::ip::tcp;

class fake_server::service {
public:
    service(answer_function answer, std::uint16_t port, const std::string& host)
        : answer_(std::move(answer)) {
        if (port == 0) {
            port = reserved_.emplace().number();
        }
        acceptor_.open(tcp::v4());
        close_on_exec(acceptor_);
        acceptor_.set_option(asio::socket_base::reuse_address(true));
        acceptor_.bind({asio::ip::make_address_v4(host), port});
        acceptor_.listen();
        port_ = port;
        thread_ = std::thread([this] { accept(); });
    }

    ~service() {
        ::shutdown(acceptor_.native_handle(), SHUT_RDWR);  // This ends the `accept` of the thread.
        thread_.join();
        for (connection& one : connections_) {
            ::shutdown(one.socket.native_handle(), SHUT_RDWR);
        }
        for (connection& one : connections_) {
            one.thread.join();
        }
    }

    service(const service&) = delete;
    service& operator=(const service&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::size_t sent() const noexcept { return sent_; }

    [[nodiscard]] std::size_t accepted() const {
        const std::lock_guard lock(mutex_);
        return connections_.size();
    }

    void say(const std::string& bytes) {
        const std::lock_guard lock(mutex_);
        for (connection& one : connections_) {
            boost::system::error_code ignored;  // The connection may be closed.
            asio::write(one.socket, asio::buffer(bytes), ignored);
        }
    }

private:
    struct connection {
        explicit connection(tcp::socket from) : socket(std::move(from)) {}
        tcp::socket socket;
        std::string received{};
        std::thread thread{};
    };

    void accept() {
        for (;;) {
            boost::system::error_code failure;
            tcp::socket from(context_);
            acceptor_.accept(from, failure);
            if (failure) {
                return;
            }
            close_on_exec(from);
            from.set_option(tcp::no_delay(true), failure);
            const std::lock_guard lock(mutex_);
            connection& made = connections_.emplace_back(std::move(from));
            made.thread = std::thread([this, &made] { serve(made); });
        }
    }

    void serve(connection& with) {
        try {
            for (;;) {
                const fake_reply reply = call(read_command(with));
                write(with, reply.bytes);
                for (std::size_t i = 0; i != reply.times; ++i) {
                    write(with, reply.more);
                }
            }
        } catch (const boost::system::system_error&) {
            ::shutdown(with.socket.native_handle(), SHUT_RDWR);
        }
    }

    fake_reply call(const words& command) {
        const std::lock_guard lock(answering_);
        return answer_(command);
    }

    void write(connection& to, std::string_view bytes) {
        while (!bytes.empty()) {
            const std::size_t count = to.socket.write_some(asio::buffer(bytes));
            sent_ += count;
            bytes.remove_prefix(count);
        }
    }

    static std::string read_line(connection& from) {
        const std::size_t size =
            asio::read_until(from.socket, asio::dynamic_buffer(from.received), "\r\n");
        std::string line = from.received.substr(0, size - 2);
        from.received.erase(0, size);
        return line;
    }

    /// Reads the number after the type byte of an array or a string.
    static std::size_t read_size(connection& from, char type) {
        const std::string line = read_line(from);
        if (line.empty() || line.front() != type) {
            throw std::runtime_error("a client sends what is no command: " + line);
        }
        return std::stoul(line.substr(1));
    }

    static words read_command(connection& from) {
        words result(read_size(from, '*'));
        for (std::string& word : result) {
            const std::size_t size = read_size(from, '$');
            if (from.received.size() < size + 2) {
                asio::read(from.socket, asio::dynamic_buffer(from.received),
                           asio::transfer_at_least(size + 2 - from.received.size()));
            }
            word = from.received.substr(0, size);
            from.received.erase(0, size + 2);
        }
        return result;
    }

    answer_function answer_;
    std::mutex answering_;
    std::optional<reserved_port> reserved_;
    std::uint16_t port_ = 0;
    asio::io_context context_{1};
    tcp::acceptor acceptor_{context_};
    std::atomic<std::size_t> sent_{0};
    mutable std::mutex mutex_;
    std::list<connection> connections_;
    std::thread thread_;
};

fake_server::fake_server(answer_function answer, std::uint16_t port, const std::string& host)
    : service_(std::make_unique<service>(std::move(answer), port, host)) {}
fake_server::~fake_server() = default;
fake_server::fake_server(fake_server&& other) noexcept = default;

std::uint16_t fake_server::port() const noexcept {
    return service_->port();
}

std::string fake_server::uri() const {
    return "redis://127.0.0.1:" + std::to_string(port());
}

std::size_t fake_server::accepted() const {
    return service_->accepted();
}

std::size_t fake_server::bytes_sent() const {
    return service_->sent();
}

void fake_server::say(const std::string& bytes) {
    service_->say(bytes);
}

std::string bulk_string(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

std::string answer_as_server(const fake_server::words& command, const server_identity& who) {
    const std::string& name = command.at(0);
    if (name == "HELLO") {
        return "%1\r\n$5\r\nproto\r\n:3\r\n";
    }
    if (name == "INFO") {
        return bulk_string("# Server\r\nredis_version:7.0.0\r\nrun_id:" + who.run_id +
                           "\r\nuptime_in_seconds:" + std::to_string(who.uptime.count()) + "\r\n");
    }
    if (name == "SCRIPT") {
        return bulk_string(std::string(40, 'd'));
    }
    if (name == "EVALSHA") {
        return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    }
    if (name == "DELIFEQ" || name == "DELEX") {
        return "-ERR unknown command '" + name + "', with args beginning with: \r\n";
    }
    if (name == "PING") {
        return command.size() > 1 ? bulk_string(command[1]) : "+PONG\r\n";
    }
    return "+OK\r\n";
}

}  // namespace colock::test
