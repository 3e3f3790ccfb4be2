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

/// Compare-and-delete, as everybody writes it.
inline constexpr std::string_view release_script =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
    "else return 0 end";

/// 20 random bytes as hexadecimal digits.
using token = std::array<char, 40>;

/// What a reply is counted for: a command that a task has sent to all servers.
struct ballot {
    std::uint32_t task;
    std::uint32_t round;
};

/// A client that has tasks which take and release locks of their own by counting grants, and does nothing
/// else: no timeouts, no renewal, no reconnection, no cancellation, no error but the end of the program. How it
/// speaks to the servers is its descendants' business.
class plain_client {
public:
    plain_client(const plain_client&) = delete;
    plain_client& operator=(const plain_client&) = delete;

protected:
    explicit plain_client(const orders& work);
    virtual ~plain_client() = default;

    /// To all servers.
    virtual void send_take(ballot to_count, const token& t) = 0;
    virtual void send_release(ballot to_count) = 0;
    /// Nothing more will be sent.
    virtual void on_all_done() = 0;

    /// All servers are connected.
    void start();
    void granted(ballot counted);

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
    /// Now, or after the pause that is ordered.
    template <typename Function>
    void go_on(Function function);

    boost::asio::io_context context_{1};
    orders work_;
    measurement measurement_;
    std::mt19937_64 random_{std::random_device{}()};
    std::vector<task> tasks_;
    std::size_t running_ = 0;
};

}  // namespace colock::benchmark

#endif
