// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "integration/locks.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <thread>

// Waiters that compete with a program without a queue. That program polls, and re-acquires the lock
// immediately after each release.

namespace {

BOOST_AUTO_TEST_SUITE(poller_test)

using namespace colock;
using namespace colock::test;

/// A lock library that only polls, on a blocking connection of its own.
class poller {
public:
    explicit poller(const redis_server& server) {
        socket_.connect({asio::ip::address_v4::loopback(), server.port()});
        socket_.set_option(asio::ip::tcp::no_delay(true));
    }

    [[nodiscard]] bool take() { return ask("SET x poller NX PX 10000\r\n") == "+OK"; }
    void release() { ask("DEL x\r\n"); }

    /// Waits after a failed attempt.
    void wait() { std::this_thread::sleep_for(std::chrono::microseconds(pause_(random_))); }

private:
    /// Returns the first line of the reply.
    std::string ask(std::string_view command) {
        asio::write(socket_, asio::buffer(command));
        const std::size_t size = asio::read_until(socket_, asio::dynamic_buffer(read_), "\r\n");
        std::string line = read_.substr(0, size - 2);
        read_.erase(0, size);
        return line;
    }

    asio::io_context context_;
    asio::ip::tcp::socket socket_{context_};
    std::string read_;
    std::minstd_rand random_{std::random_device{}()};
    std::uniform_int_distribution<int> pause_{1000, 3000};
};

constexpr milliseconds hold_time{2};

/// Acquires the lock in a loop, on a separate thread.
class greedy_poller {
public:
    explicit greedy_poller(const redis_server& server)
        : poller_(server), thread_([this] { run(); }) {}
    ~greedy_poller() {
        enough_ = true;
        thread_.join();
    }
    greedy_poller(const greedy_poller&) = delete;
    greedy_poller& operator=(const greedy_poller&) = delete;

    [[nodiscard]] std::size_t turns() const noexcept { return turns_; }

private:
    void run() {
        while (!enough_) {
            if (poller_.take()) {
                ++turns_;
                std::this_thread::sleep_for(hold_time);
                poller_.release();
            } else {
                poller_.wait();
            }
        }
    }

    poller poller_;
    std::atomic<bool> enough_{false};
    std::atomic<std::size_t> turns_{0};
    std::thread thread_;  // The last member, because it uses the others.
};

/// The result of a competition.
struct result {
    std::size_t turns = 0;
    std::size_t others = 0;
    milliseconds longest{};

    [[nodiscard]] double share() const {
        return static_cast<double>(turns) / static_cast<double>(std::max<std::size_t>(1, others));
    }
    void add(const result& more) {
        turns += more.turns;
        others += more.others;
        longest = std::max(longest, more.longest);
    }
    friend std::ostream& operator<<(std::ostream& to, const result& r) {
        return to << r.turns << " turns beside " << r.others << ", the longest wait "
                  << r.longest.count() << " ms";
    }
};

constexpr milliseconds slice{750};
constexpr milliseconds rest{5};  // Long enough for the greedy one to re-acquire.

/// Competes as a modest poller.
result poll_beside(const greedy_poller& greedy, poller& modest) {
    result r;
    const std::size_t before = greedy.turns();
    const stopwatch all;
    while (all.elapsed() < slice) {
        const stopwatch waited;
        while (!modest.take()) {
            modest.wait();
        }
        ++r.turns;
        r.longest = std::max(r.longest, waited.elapsed());
        modest.release();
        std::this_thread::sleep_for(rest);
    }
    r.others = greedy.turns() - before;
    return r;
}

asio::awaitable<result> wait_beside(const greedy_poller& greedy, client& locks) {
    result r;
    const std::size_t before = greedy.turns();
    const mutex lock(locks, "x");
    asio::steady_timer timer(co_await asio::this_coro::executor);
    const stopwatch all;
    while (all.elapsed() < slice) {
        const stopwatch waited;
        lease held = co_await lock.acquire();
        ++r.turns;
        r.longest = std::max(r.longest, waited.elapsed());
        co_await held.release();
        timer.expires_after(rest);
        co_await timer.async_wait(asio::use_awaitable);
    }
    r.others = greedy.turns() - before;
    co_return r;
}

/// A waiter usually acquires once or twice as often as a poller. On a busy machine the factor falls to 0.8,
/// because a client needs more processor time than a blocking poller. A waiter that backs off without a
/// remote queue reaches 0.2.
BOOST_AUTO_TEST_CASE(a_waiter_acquires_at_least_half_as_often_as_a_poller) {
    run_test(
        []() -> asio::awaitable<void> {
            servers one(1);
            client locks(co_await asio::this_coro::executor, one.config());
            co_await all_ready(locks);
            poller modest(one[0]);
            const greedy_poller greedy(one[0]);
            result polling;
            result waiting;
            // On a busy or slow machine, the measurement needs more time.
            constexpr int least = 4;
            constexpr int most = 24;
            const auto is_enough = [&] { return waiting.share() >= polling.share() / 2; };
            for (int i = 0; i != most && (i < least || !is_enough()); ++i) {
                polling.add(poll_beside(greedy, modest));
                waiting.add(co_await wait_beside(greedy, locks));
            }
            BOOST_TEST_MESSAGE("polling: " << polling << "; waiting: " << waiting);
            BOOST_TEST(is_enough(), polling << " (polling), " << waiting << " (waiting)");
            BOOST_TEST((waiting.longest < 10s));
        }(),
        100s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
