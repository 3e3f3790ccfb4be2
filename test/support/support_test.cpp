// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests of the servers that other tests rely on.

#include "support/deadline.hpp"
#include "support/meter.hpp"
#include "support/reserved_port.hpp"
#include "support/run.hpp"
#include "support/servers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace colock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(support)

BOOST_AUTO_TEST_CASE(a_server_answers_commands) {
    redis_server server;
    BOOST_TEST(server.command({"SET", "x", "1"}).value() == "OK");
    BOOST_TEST(server.command({"INCR", "x"}).value() == "2");
    BOOST_TEST(server.command({"GET", "x"}).value() == "2");
    BOOST_TEST(!server.command({"GET", "y"}).has_value());
    BOOST_TEST(server.has("x"));
    BOOST_TEST(server.keys().size() == 1U);
    BOOST_TEST(!server.command({"GET", "x"}, 1).has_value());
    BOOST_CHECK_THROW(server.command({"NO-SUCH-COMMAND"}), redis_error);
    server.flush();
    BOOST_TEST(!server.has("x"));
}

BOOST_AUTO_TEST_CASE(a_server_is_stopped_with_its_object) {
    pid_t pid = 0;
    std::filesystem::path folder;
    {
        redis_server server;
        redis_server moved = std::move(server);
        pid = moved.pid();
        folder = moved.folder();
        BOOST_TEST(::kill(pid, 0) == 0);
    }
    BOOST_TEST(::kill(pid, 0) == -1);
    BOOST_TEST(!std::filesystem::exists(folder));
}

BOOST_AUTO_TEST_CASE(a_restart_keeps_the_port_and_loses_the_data) {
    redis_server server;
    const auto port = server.port();
    server.command({"SET", "x", "1"});
    server.kill();
    BOOST_TEST(server.pid() == 0);
    BOOST_CHECK_THROW(server.command({"PING"}), std::runtime_error);
    server.restart();
    BOOST_TEST(server.port() == port);
    BOOST_TEST(!server.has("x"));
}

BOOST_AUTO_TEST_CASE(replies_have_the_order_of_their_commands) {
    const redis_server server;
    const std::vector<std::string> expected{
        "OK", "error: ERR value is not an integer or out of range", "x", "nil", "2"};
    BOOST_TEST(server.replies({{"SET", "a", "x"},
                               {"INCR", "a"},
                               {"GET", "a"},
                               {"GET", "b"},
                               {"EVAL", "return 2", "0"}}) == expected,
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_port_of_a_stopped_server_stays_reserved) {
    const reserved_port port;
    const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port.number());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_TEST(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof address) == -1);
    ::close(other);
}

BOOST_AUTO_TEST_CASE(data_survives_a_restart_with_appendonly) {
    redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
    server.command({"SET", "x", "1"});
    server.restart();
    BOOST_TEST(server.has("x"));
}

BOOST_AUTO_TEST_CASE(a_paused_server_answers_after_resume) {
    redis_server server;
    server.pause();
    server.resume();
    BOOST_TEST(server.command({"PING"}).value() == "PONG");
    server.pause();
    server.restart();
    BOOST_TEST(server.command({"PING"}).value() == "PONG");
}

BOOST_AUTO_TEST_CASE(a_server_may_require_a_password) {
    redis_server server({"--requirepass", "secret"});
    BOOST_TEST(server.command({"PING"}).value() == "PONG");
    BOOST_TEST(server.uri() == "redis://:secret@127.0.0.1:" + std::to_string(server.port()));
}

BOOST_AUTO_TEST_CASE(a_server_that_cannot_start_reports_the_reason) {
    BOOST_CHECK_EXCEPTION(redis_server({"--no-such-option", "1"}), std::runtime_error,
                          [](const std::runtime_error& e) {
                              return std::string_view(e.what()).find("no-such-option") !=
                                     std::string_view::npos;
                          });
}

BOOST_AUTO_TEST_CASE(several_servers_are_managed_together) {
    servers three(3);
    BOOST_TEST(three.uris().size() == 3U);
    BOOST_TEST(three.config().instances.size() == 3U);
    three[1].command({"SET", "x", "1"});
    BOOST_TEST(three.holding("x") == 1U);
    BOOST_TEST(three.keys() == 1U);
    three.flush();
    BOOST_TEST(three.holding("x") == 0U);
}

BOOST_AUTO_TEST_CASE(wait_until_throws_at_its_deadline) {
    int calls = 0;
    wait_until([&] { return ++calls == 3; });
    BOOST_TEST(calls == 3);
    BOOST_CHECK_THROW(wait_until([] { return false; }, 5ms), deadline_passed);
}

BOOST_AUTO_TEST_CASE(a_meter_measures_threads_and_descriptors) {
    run_test([]() -> boost::asio::awaitable<void> {
        const meter costs(co_await boost::asio::this_coro::executor);
        BOOST_TEST(costs.now().threads == 0U);
        BOOST_TEST(costs.now().descriptors == 0U);
        const int inherited = ::socket(AF_INET, SOCK_STREAM, 0);
        const int other = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        std::jthread more([](const std::stop_token& end) {
            while (!end.stop_requested()) {
                std::this_thread::sleep_for(poll_interval);
            }
        });
        co_await async_wait_until([&] { return costs.now().threads == 1; });
        BOOST_TEST(costs.now().descriptors == 2U);
        BOOST_TEST(costs.now().inheritable.size() == 1U);
        more.request_stop();
        more.join();
        ::close(inherited);
        ::close(other);
        BOOST_TEST(costs.now().threads == 1U);  // At most.
        BOOST_TEST(costs.now().inheritable.empty());
    }());
}

namespace {

/// Uses so much CPU time in this thread, however long that takes.
void compute_for(std::chrono::nanoseconds time) {
    const auto used = [] {
        timespec result{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &result);
        return std::chrono::seconds(result.tv_sec) + std::chrono::nanoseconds(result.tv_nsec);
    };
    const auto end = used() + time;
    while (used() < end) {
    }
}

/// Runs a handler on an event loop with a meter. Returns the stall.
std::chrono::milliseconds stall_of(const std::function<void()>& handler) {
    boost::asio::io_context loop;
    const meter costs(loop.get_executor());
    boost::asio::steady_timer late(loop, 50ms);
    late.async_wait([&](const auto&) { boost::asio::post(loop, handler); });
    boost::asio::steady_timer end(loop, 100ms);
    end.async_wait([&](const auto&) { loop.stop(); });
    loop.run();
    return costs.now().stall;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_meter_finds_a_handler_that_computes_too_long) {
    BOOST_TEST((stall_of([] { compute_for(400ms); }) >= 390ms));
}

// The thread does not run for a second. To the meter, this is like a machine that stalls.
BOOST_AUTO_TEST_CASE(a_meter_does_not_count_a_stall_of_the_machine) {
    BOOST_TEST((stall_of([] { std::this_thread::sleep_for(1s); }) < 390ms));
}

BOOST_AUTO_TEST_CASE(coroutine_tests_end_at_their_deadline) {
    run_test([]() -> boost::asio::awaitable<void> {
        int calls = 0;
        co_await async_wait_until([&] { return ++calls == 3; });
        BOOST_TEST(calls == 3);
    }());
    BOOST_CHECK_THROW(run_test(async_wait_until([] { return false; }, 5ms)), deadline_passed);
    BOOST_CHECK_THROW(run_test(async_wait_until([] { return false; }, 5s), 5ms), deadline_passed);
}

BOOST_AUTO_TEST_SUITE_END()
