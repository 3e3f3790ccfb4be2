// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// How many commands waiting clients send to the servers while nothing changes.

#include "integration/locks.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <deque>
#include <map>
#include <sstream>
#include <string>

namespace {

BOOST_AUTO_TEST_SUITE(idle_waiter_test)

using namespace colock;
using namespace colock::test;

/// Returns how often the servers have executed each command, including calls from scripts. The commands that
/// an idle connection sends are left out.
std::map<std::string, std::size_t> calls(servers& instances) {
    std::map<std::string, std::size_t> result;
    for (const redis_server& server : instances) {
        std::istringstream text(server.command({"INFO", "commandstats"}).value());
        for (std::string line; std::getline(text, line);) {
            const auto colon = line.find(":calls=");
            if (line.starts_with("cmdstat_") && colon != std::string::npos) {
                result[line.substr(8, colon - 8)] += std::stoul(line.substr(colon + 7));
            }
        }
    }
    result.erase("info");
    result.erase("ping");
    return result;
}

struct waiting_client {
    client locks;
    pending_acquire waiting;

    waiting_client(const asio::any_io_executor& executor, const config& configuration)
        : locks(executor, configuration) {}
};

/// Checks that the waiting clients stay below a number of commands a second each, over all servers. The
/// clients have waited for five seconds before.
template <std::size_t N, typename Lock>
asio::awaitable<void> cost_little(std::size_t waiters, double most) {
    shared_servers<N> scene;
    const auto executor = co_await asio::this_coro::executor;
    client other(executor, scene.instances.config());
    co_await all_ready(other);
    lease held = co_await Lock(other, "x", without_watchdog(1min)).acquire();
    std::deque<waiting_client> all;
    for (std::size_t i = 0; i != waiters; ++i) {
        waiting_client& one = all.emplace_back(executor, scene.instances.config());
        co_await all_ready(one.locks);
        one.waiting.start(Lock(one.locks, "x"));
    }
    const stopwatch since_start;
    co_await async_wait_until([&] { return since_start.elapsed() >= 5s; });
    double rate = most + 1;
    std::string which;
    // A program that stalls during the measurement loses its place in the queue, and sends more commands for
    // a while.
    for (const stopwatch all_time; rate > most && all_time.elapsed() < 40s;) {
        const auto before = calls(scene.instances);
        const stopwatch watch;
        co_await async_wait_until([&] { return watch.elapsed() >= 8s; }, 30s);
        const double seconds = static_cast<double>(watch.elapsed().count()) / 1000;
        std::size_t sum = 0;
        which.clear();
        for (const auto& [name, count] : calls(scene.instances)) {
            const auto former = before.find(name);
            const std::size_t more = count - (former == before.end() ? 0 : former->second);
            sum += more;
            which += more == 0 ? "" : " " + std::to_string(more) + " " + name;
        }
        rate = static_cast<double>(sum) / seconds / static_cast<double>(waiters);
        BOOST_TEST_MESSAGE(N << " servers, " << waiters << " waiters: " << rate
                             << " commands a second each:" << which);
    }
    BOOST_TEST(rate <= most, rate << " commands a second:" << which);
    for (waiting_client& one : all) {
        one.waiting.signal.emit(asio::cancellation_type::terminal);
        co_await async_wait_until([&] { return one.waiting.result.has_value(); });
    }
    co_await held.release();
}

BOOST_AUTO_TEST_CASE(mutex_waiters_send_few_commands_to_one_server) {
    run_test(cost_little<1, mutex>(4, 2.5), 100s);
}

BOOST_AUTO_TEST_CASE(mutex_waiters_send_few_commands_to_three_servers) {
    run_test(cost_little<3, mutex>(4, 4), 100s);
}

/// A writer must refresh its writer mark, which keeps new readers out. The mark expires after only a second,
/// because the mark of a dead writer keeps readers out too.
BOOST_AUTO_TEST_CASE(waiting_writers_send_commands_at_a_bounded_rate) {
    run_test(cost_little<1, shared_mutex>(4, 30), 100s);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
