// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_DIFFERENTIAL_TWINS_HPP
#define COLOCK_TEST_INTEGRATION_DIFFERENTIAL_TWINS_HPP

#include "support/redis_server.hpp"
#include "support/small_redis/server.hpp"
#include "support/small_redis/session.hpp"
#include "support/stopped_clock.hpp"

#include "resp/reader.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// Thrown if the real server and the small one reply differently. The text lists the commands that led to it.
class difference : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Replies and pushes, separately, as bytes.
struct received {
    std::vector<std::string> replies{};
    std::vector<std::string> pushes{};
};

/// A blocking connection to a real server.
class raw_connection {
public:
    explicit raw_connection(std::uint16_t port);
    ~raw_connection();
    raw_connection(const raw_connection&) = delete;
    raw_connection& operator=(const raw_connection&) = delete;

    void send(std::string_view bytes) const;
    /// Waits for `replies` replies, for ten seconds at most. Appends them, and the pushes between them, to
    /// `to`.
    void receive(std::size_t replies, received& to);

private:
    int socket_;
    std::string buffer_;
    resp::reader reader_;
};

/// Returns the command in RESP.
std::string encoded(const std::vector<std::string>& command);

/// Returns the replies and pushes in the bytes.
received split_replies(std::string_view bytes);

/// Returns the dialect that matches a real server. Throws `std::runtime_error` if none does.
const small_redis::dialect& dialect_of(const redis_server& server);

/// A real server and a small one. Both get the same commands while their clocks show the same time.
class twins {
public:
    using command = std::vector<std::string>;

    /// The real server must have been started with the launcher of the clock. `seed` appears in the texts of
    /// differences.
    twins(const redis_server& real, stopped_clock& clock, std::uint64_t seed,
          std::int64_t now = 1'800'000'000'000'000);

    /// Adds a client.
    void connect();

    /// Sends commands from this client and compares the replies. Throws `difference`.
    void play(std::size_t client, const std::vector<command>& commands);
    /// Compares the pushes that the clients have received since, in any order. Throws `difference`.
    void compare_pushes();

    /// Returns the wall clock of both servers, in microseconds.
    [[nodiscard]] std::int64_t now() const noexcept { return now_; }
    void set_now(std::int64_t now);

    [[nodiscard]] small_redis::server& small() noexcept { return small_; }

private:
    struct client {
        client(std::uint16_t port, small_redis::server& host) : real(port), small(host) {}
        raw_connection real;
        small_redis::session small;
        std::vector<std::string> real_pushes{};
        std::vector<std::string> small_pushes{};
    };
    struct played {
        std::int64_t now;
        std::size_t client;
        command words;
        std::string reply;
    };

    [[nodiscard]] std::string history(const command& last) const;

    const redis_server& real_;
    stopped_clock& clock_;
    std::uint64_t seed_;
    std::int64_t now_;
    small_redis::server small_;
    std::vector<std::unique_ptr<client>> clients_;
    std::deque<played> played_;
    std::size_t count_ = 0;
};

}  // namespace colock::test

#endif
