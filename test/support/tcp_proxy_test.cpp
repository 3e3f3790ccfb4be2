// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests that the faulty network applies exactly the ordered faults.

#include "support/tcp_proxy.hpp"
#include "support/deadline.hpp"
#include "support/proxies.hpp"
#include "support/redis_server.hpp"
#include "support/run.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::system::error_code;
using std::chrono::steady_clock;
using way = tcp_proxy::way;

namespace {

redis_server& shared_server() {
    static redis_server server;
    server.flush();
    return server;
}

/// A connection that sends and receives lines.
class talk {
public:
    explicit talk(const asio::any_io_executor& executor) : socket_(executor) {}

    asio::awaitable<error_code> connect(std::uint16_t port) {
        const asio::ip::tcp::endpoint to(asio::ip::address_v4::loopback(), port);
        const auto [failure] =
            co_await socket_.async_connect(to, asio::as_tuple(asio::use_awaitable));
        co_return failure;
    }

    asio::awaitable<void> say(std::string line) {
        line += "\r\n";
        co_await asio::async_write(socket_, asio::buffer(line),
                                   asio::as_tuple(asio::use_awaitable));
    }

    /// Returns the next line. Returns "eof" or "reset" if the connection has ended, and "silence" if no line
    /// comes in time.
    asio::awaitable<std::string> hear(std::chrono::milliseconds timeout = default_timeout) {
        const auto [failure, size] = co_await asio::async_read_until(
            socket_, asio::dynamic_buffer(received_), "\r\n",
            asio::cancel_after(timeout, asio::as_tuple(asio::use_awaitable)));
        if (failure == asio::error::operation_aborted) {
            co_return "silence";
        }
        if (failure) {
            co_return failure == asio::error::eof ? "eof" : "reset";
        }
        const std::string line = received_.substr(0, size - 2);
        received_.erase(0, size);
        co_return line;
    }

    asio::awaitable<std::string> ask(std::string line) {
        co_await say(std::move(line));
        co_return co_await hear();
    }

    void close() { socket_.close(); }

private:
    asio::ip::tcp::socket socket_;
    std::string received_;
};

/// Runs a test with a connection through its own proxy.
template <typename Test>
void with_proxy(redis_server& server, Test test) {
    tcp_proxy proxy(server.port());
    run_test([&]() -> asio::awaitable<void> {
        talk line(co_await asio::this_coro::executor);
        const auto failure = co_await line.connect(proxy.port());
        BOOST_TEST(failure == error_code());
        const std::string pong = co_await line.ask("PING");
        BOOST_TEST(pong == "+PONG");
        co_await test(proxy, line);
    }());
}

/// Expects that the SET command is cut off, and no other command.
asio::awaitable<void> check_one_cut(tcp_proxy& proxy, talk& line) {
    std::string reply = co_await line.ask("PING");
    BOOST_TEST(reply == "+PONG");
    reply = co_await line.ask("SET x 1");
    BOOST_TEST(reply == "reset");
    BOOST_TEST(proxy.cuts() == 1U);
}

asio::awaitable<void> check_set_on_new_connection(tcp_proxy& proxy) {
    talk line(co_await asio::this_coro::executor);
    co_await line.connect(proxy.port());
    const std::string reply = co_await line.ask("SET x 1");
    BOOST_TEST(reply == "+OK");
}

constexpr auto long_enough = 50ms;  // A time in which an unwanted event would have happened.

}  // namespace

BOOST_AUTO_TEST_SUITE(tcp_proxy_test)

BOOST_AUTO_TEST_CASE(forwards_both_ways_and_closes_with_either_side) {
    redis_server server;
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        BOOST_TEST(proxy.connections() == 1U);
        BOOST_TEST(proxy.uri() == "redis://127.0.0.1:" + std::to_string(proxy.port()));
        talk other(co_await asio::this_coro::executor);
        co_await other.connect(proxy.port());
        const std::string set = co_await other.ask("SET x 1");
        BOOST_TEST(set == "+OK");
        BOOST_TEST(server.has("x"));
        BOOST_TEST(proxy.connections() == 2U);
        other.close();
        co_await async_wait_until([&] { return proxy.connections() == 1; });
        server.kill();
        const std::string end = co_await line.hear();
        BOOST_TEST(end != "silence");
        co_await async_wait_until([&] { return proxy.connections() == 0; });
        // No server listens: the connection is made and ends.
        co_await other.connect(proxy.port());
        const std::string nobody = co_await other.ask("PING");
        BOOST_TEST((nobody == "eof" || nobody == "reset"));
        server.restart();
        co_await line.connect(proxy.port());
    });
}

BOOST_AUTO_TEST_CASE(delay_postpones_delivery) {
    with_proxy(shared_server(), [](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.delay(20ms);
        auto begin = steady_clock::now();
        std::string pong = co_await line.ask("PING");
        BOOST_TEST(pong == "+PONG");
        BOOST_TEST((steady_clock::now() - begin >= 40ms));
        proxy.resume();
        proxy.delay(1min, way::to_client);
        co_await line.say("PING");
        pong = co_await line.hear(long_enough);
        BOOST_TEST(pong == "silence");
        BOOST_TEST(proxy.waiting(way::to_server) == 0U);
        BOOST_TEST(proxy.waiting(way::to_client) == 7U);
        proxy.resume();
        pong = co_await line.hear();
        BOOST_TEST(pong == "+PONG");
    });
}

BOOST_AUTO_TEST_CASE(hold_stops_delivery_until_resume) {
    redis_server& server = shared_server();
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.hold(way::to_server);
        co_await line.say("SET x 1");
        co_await async_wait_until([&] { return proxy.waiting(way::to_server) == 9; });
        BOOST_TEST(!server.has("x"));
        proxy.resume();
        std::string reply = co_await line.hear();
        BOOST_TEST(reply == "+OK");

        proxy.hold(way::to_client);
        co_await line.say("SET y 1");
        co_await async_wait_until([&] { return proxy.waiting() == 5; });
        BOOST_TEST(server.has("y"));
        reply = co_await line.hear(long_enough);
        BOOST_TEST(reply == "silence");
        proxy.resume();
        reply = co_await line.hear();
        BOOST_TEST(reply == "+OK");
        BOOST_TEST(proxy.waiting() == 0U);
    });
}

BOOST_AUTO_TEST_CASE(hold_from_request_starts_with_that_request) {
    redis_server& server = shared_server();
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.hold_from_request("SET");
        const std::string pong = co_await line.ask("PING");
        BOOST_TEST(pong == "+PONG");
        co_await line.say("SET x 1");
        co_await async_wait_until([&] { return proxy.waiting() == 9; });
        co_await line.say("GET x");
        co_await async_wait_until([&] { return proxy.waiting() == 16; });
        BOOST_TEST(!server.has("x"));
        proxy.resume();
        const std::string reply = co_await line.hear();
        BOOST_TEST(reply == "+OK");
    });
}

/// If the network holds a connection, its end is also held. It arrives with the next `resume`.
BOOST_AUTO_TEST_CASE(hold_postpones_the_end_of_a_connection) {
    redis_server server;
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.hold();
        server.kill();
        std::string end = co_await line.hear(long_enough);
        BOOST_TEST(end == "silence");
        proxy.resume();
        end = co_await line.hear();
        BOOST_TEST(end == "eof");
    });
}

BOOST_AUTO_TEST_CASE(drop_discards_data_and_resume_resets) {
    redis_server& server = shared_server();
    for (const way which : {way::both, way::to_server, way::to_client}) {
        server.flush();
        with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
            proxy.drop(which);
            co_await line.say("SET x 1");
            std::string reply = co_await line.hear(long_enough);
            BOOST_TEST(reply == "silence");
            BOOST_TEST(server.has("x") == (which == way::to_client));
            talk another(co_await asio::this_coro::executor);
            const auto failure = co_await another.connect(proxy.port());
            BOOST_TEST(failure == error_code());
            co_await another.say("PING");
            reply = co_await another.hear(long_enough);
            BOOST_TEST(reply == "silence");
            proxy.resume();  // A connection that has lost bytes is unusable.
            reply = co_await line.hear();
            BOOST_TEST(reply == "reset");
            reply = co_await another.hear();
            BOOST_TEST(reply == "reset");
            co_await another.connect(proxy.port());
        });
    }
}

BOOST_AUTO_TEST_CASE(drop_hides_the_end_of_a_connection) {
    redis_server server;
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.drop();
        server.kill();
        const std::string end = co_await line.hear(long_enough);
        BOOST_TEST(end == "silence");
        BOOST_TEST(proxy.connections() == 1U);
    });
}

BOOST_AUTO_TEST_CASE(cut_resets_all_connections) {
    redis_server& server = shared_server();
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.cut();
        const std::string end = co_await line.hear();
        BOOST_TEST(end == "reset");
        BOOST_TEST(proxy.connections() == 0U);
        co_await async_wait_until([&] {  // The server side ends too. Only the query remains.
            return server.command({"CLIENT", "LIST"}).value().find("127.0.0.1:") ==
                   std::string::npos;
        });
    });
}

BOOST_AUTO_TEST_CASE(cut_before_request_prevents_its_execution) {
    redis_server& server = shared_server();
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.cut_before_request("SET");
        co_await check_one_cut(proxy, line);
        BOOST_TEST(!server.has("x"));
        co_await check_set_on_new_connection(proxy);
        BOOST_TEST(proxy.cuts() == 1U);
    });
}

BOOST_AUTO_TEST_CASE(cut_before_reply_hides_an_executed_request) {
    redis_server& server = shared_server();
    with_proxy(server, [&](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.cut_before_reply("SET");
        co_await check_one_cut(proxy, line);
        BOOST_TEST(server.has("x"));
        co_await check_set_on_new_connection(proxy);
    });
}

BOOST_AUTO_TEST_CASE(refuse_rejects_new_connections_until_accept) {
    with_proxy(shared_server(), [](tcp_proxy& proxy, talk& line) -> asio::awaitable<void> {
        proxy.refuse();
        const std::string pong = co_await line.ask("PING");
        BOOST_TEST(pong == "+PONG");
        talk another(co_await asio::this_coro::executor);
        auto failure = co_await another.connect(proxy.port());
        BOOST_TEST(failure == asio::error::connection_refused);
        another.close();
        proxy.accept();
        failure = co_await another.connect(proxy.port());
        BOOST_TEST(failure == error_code());
    });
}

BOOST_AUTO_TEST_CASE(proxies_provide_one_proxy_per_server) {
    servers two(2);
    proxies network(two);
    BOOST_TEST(network.size() == 2U);
    BOOST_TEST(network.config().instances.size() == 2U);
    BOOST_TEST(network.config().instances[1] == network[1].uri());
    network[0].cut();
}

BOOST_AUTO_TEST_SUITE_END()
