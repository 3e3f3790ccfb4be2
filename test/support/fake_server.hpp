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

/// What a `fake_server` sends: `bytes`, and then `more`, `times` over.
struct fake_reply {
    fake_reply(std::string text) : bytes(std::move(text)) {}  // NOLINT(*-explicit-*)
    fake_reply(const char* text) : bytes(text) {}             // NOLINT(*-explicit-*)
    fake_reply(std::string text, std::string again, std::size_t count)
        : bytes(std::move(text)), more(std::move(again)), times(count) {}

    std::string bytes;
    std::string more{};
    std::size_t times = 0;
};

/// A server on the loopback that answers each command with what a function gives. It can answer as no real
/// server would. It has a thread for each connection, which calls the function; calls do not overlap.
///
/// All members may be called by any thread.
class fake_server {
public:
    using words = std::vector<std::string>;
    /// Gives the reply to a command, as RESP; it may be no bytes at all, or more than one reply.
    using answer_function = std::function<fake_reply(const words&)>;

    /// With `port` it listens there: where somebody has reserved a port, and nobody listens. `host` is a numeric address.
    explicit fake_server(answer_function answer, std::uint16_t port = 0,
                         const std::string& host = "127.0.0.1");
    ~fake_server();
    fake_server(fake_server&& other) noexcept;
    fake_server& operator=(fake_server&&) = delete;

    [[nodiscard]] std::uint16_t port() const noexcept;

    /// `redis://127.0.0.1:port`.
    [[nodiscard]] std::string uri() const;

    /// How many connections it has accepted so far.
    [[nodiscard]] std::size_t accepted() const;

    /// How many bytes its clients have taken so far. (The kernels between them have room for some.)
    [[nodiscard]] std::size_t bytes_sent() const;

    /// Sends it to all connections, unasked.
    void say(const std::string& bytes);

private:
    class service;
    std::unique_ptr<service> service_;
};

/// What a server says that it is.
struct server_identity {
    std::string run_id = std::string(40, 'a');
    std::chrono::seconds uptime = std::chrono::hours(24);
};

/// What a server of this identity answers to the questions of a new connection, and to PING; OK to anything
/// else. It knows no scripts, and has no command of its own to release locks.
std::string answer_as_server(const fake_server::words& command, const server_identity& who = {});

/// A string as RESP.
std::string bulk_string(const std::string& text);

}  // namespace colock::test

#endif
