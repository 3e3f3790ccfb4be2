// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_FAKE_SERVER_HPP
#define COLOCK_TEST_SUPPORT_FAKE_SERVER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// A reply of a `fake_server`: `bytes`, followed by `times` copies of `more`.
struct fake_reply {
    fake_reply(std::string text) : bytes(std::move(text)) {}  // NOLINT(*-explicit-*)
    fake_reply(const char* text) : bytes(text) {}             // NOLINT(*-explicit-*)
    fake_reply(std::string text, std::string again, std::size_t count)
        : bytes(std::move(text)), more(std::move(again)), times(count) {}

    std::string bytes;
    std::string more{};
    std::size_t times = 0;
};

/// A server on the loopback that answers each command with the result of a function. It can give replies that
/// no real server would give. Each connection has a thread, which calls the function. Calls do not overlap.
///
/// Thread-safety: any thread may call any member.
class fake_server {
public:
    using words = std::vector<std::string>;
    /// Returns the reply to a command, as RESP. The reply may be empty, or may contain several replies.
    using answer_function = std::function<fake_reply(const words&)>;

    /// Listens on `port`, or on any free port if it is 0. A `reserved_port` may hold the port. `host` is a
    /// numeric address.
    explicit fake_server(answer_function answer, std::uint16_t port = 0,
                         const std::string& host = "127.0.0.1");
    ~fake_server();
    fake_server(fake_server&& other) noexcept;
    fake_server& operator=(fake_server&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// Returns `redis://127.0.0.1:port`.
    [[nodiscard]] std::string uri() const;

    /// Returns the number of connections accepted so far.
    [[nodiscard]] std::size_t accepted() const;

    /// Returns the number of bytes that the kernel has accepted for all clients so far. Socket buffers may
    /// still hold some of them.
    [[nodiscard]] std::size_t bytes_sent() const;

    /// Sends these bytes to all connections, without a request.
    void say(const std::string& bytes);

private:
    class service;
    std::unique_ptr<service> service_;
};

/// The identity that a server reports.
struct server_identity {
    std::string run_id = std::string(40, 'a');
    std::chrono::seconds uptime = std::chrono::hours(24);
};

/// Answers the handshake of a new connection, and PING, as a server with this identity. Answers OK to
/// anything else. The server does not support scripts or a native release command.
std::string answer_as_server(const fake_server::words& command, const server_identity& who = {});

/// Returns a string as RESP.
std::string bulk_string(const std::string& text);

}  // namespace colock::test

#endif
