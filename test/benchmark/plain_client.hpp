// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_BENCHMARK_PLAIN_CLIENT_HPP
#define COLOCK_BENCHMARK_PLAIN_CLIENT_HPP

#include "benchmark/measurement.hpp"

#include <boost/asio/io_context.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace colock::benchmark {

/// Compare-and-delete in its usual form.
inline constexpr std::string_view release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
    "else return 0 end";

/// 20 random bytes as hexadecimal digits.
using token = std::array<char, 40>;

/// Identifies the count that a reply belongs to. A task sends each command to all servers.
struct ballot {
    std::uint32_t task;
    std::uint32_t round;
};

/// The base of a client whose tasks take and release locks of their own by counting grants. It has no
/// timeouts, no renewal, no reconnection and no cancellation. Every error ends the program. Derived classes
/// implement the communication with the servers.
class plain_client {
public:
    plain_client(const plain_client&) = delete;
    plain_client& operator=(const plain_client&) = delete;

protected:
    explicit plain_client(const orders& work);
    virtual ~plain_client() = default;

    /// Sends the command to all servers.
    virtual void send_take(ballot to_count, const token& t) = 0;
    virtual void send_release(ballot to_count) = 0;

    /// Starts the tasks. All servers must be connected.
    void start();
    void granted(ballot counted);

    /// Returns whether there is nothing more to send. A quorum has answered the last releases. The other
    /// servers may still have to execute theirs.
    [[nodiscard]] bool all_done() const noexcept { return all_done_; }

    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }
    [[nodiscard]] measured run();

private:
    struct task {
        std::uint32_t round = 0;
        std::uint32_t votes = 0;
        bool releasing = false;
        measurement::clock::time_point started;
    };

    void take(std::uint32_t number, measurement::clock::time_point now);
    void release(std::uint32_t number);
    void on_released(std::uint32_t number);
    void draw(token& result);
    /// Calls the function immediately, or after the pause that the orders set.
    template <typename Function>
    void go_on(Function function);

    boost::asio::io_context context_{1};
    orders work_;
    measurement measurement_;
    std::mt19937_64 random_{std::random_device{}()};
    std::vector<task> tasks_;
    std::size_t running_ = 0;
    bool all_done_ = false;
};

}  // namespace colock::benchmark

#endif
