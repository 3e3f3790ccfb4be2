// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Streams of server-sent events: their form, and what a slow reader costs.

#include "http_connection.hpp"

#include "http_message.hpp"
#include "http_server.hpp"

#include "support/deadline.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace like_counter::test {
namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;

/// A server, in a thread of its own, whose only resource is a stream of events.
class event_server {
public:
    struct event_source {
        std::string data;
        milliseconds interval = milliseconds(1);
        milliseconds heartbeat = std::chrono::seconds(60);
        milliseconds transfer_timeout = std::chrono::seconds(10);
    };

    explicit event_server(const event_source& source)
        : server_(context_.get_executor(), tcp::endpoint(asio::ip::address_v4::loopback(), 0),
                  {.transfer_timeout = source.transfer_timeout},
                  {{}, {}, [this, source](const http_request&) { return stream(source); }}) {
        address_ = server_.local_endpoint();
        asio::co_spawn(context_, server_.run(), asio::detached);
        thread_ = std::thread([this] { context_.run(); });
    }

    ~event_server() {
        asio::co_spawn(context_, server_.stop(std::chrono::seconds(10)), asio::detached);
        thread_.join();
    }
    event_server(const event_server&) = delete;
    event_server& operator=(const event_server&) = delete;

    [[nodiscard]] const tcp::endpoint& address() const noexcept { return address_; }
    /// How many events were asked for.
    [[nodiscard]] int asked() const noexcept { return asked_; }
    /// How many streams there are.
    [[nodiscard]] int streams() const noexcept { return streams_; }

private:
    std::optional<event_stream> stream(const event_source& source) {
        ++streams_;
        const std::shared_ptr<void> reader(nullptr, [this](void*) { --streams_; });
        auto next = [this, reader, data = source.data]() -> asio::awaitable<std::string> {
            ++asked_;
            co_return data;
        };
        return event_stream{next, source.interval, source.heartbeat};
    }

    asio::io_context context_{1};
    std::atomic<int> asked_ = 0;
    std::atomic<int> streams_ = 0;
    http_server server_;
    tcp::endpoint address_;
    std::thread thread_;
};

/// A reader that reads only when it is told to.
struct reader : http_connection {
    explicit reader(const event_server& server) : http_connection(server.address()) {
        send(request_text("GET", "/events"));
    }
};

BOOST_AUTO_TEST_SUITE(like_counter_event_stream)

BOOST_AUTO_TEST_CASE(stream_begins_with_its_type_and_sends_each_event_as_data) {
    const event_server server({.data = R"({"likes": 1})"});
    reader one(server);
    const std::string head = one.receive_until("\r\n\r\n");
    BOOST_TEST(head.starts_with("HTTP/1.1 200 OK\r\n"));
    BOOST_TEST(head.find("Content-Type: text/event-stream\r\n") != std::string::npos);
    BOOST_TEST(one.receive_until("\n\n") == "retry: 1000\n\n");
    BOOST_TEST(one.receive_until("\n\n") == "data: {\"likes\": 1}\n\n");
    BOOST_TEST(one.receive_until("\n\n") == "data: {\"likes\": 1}\n\n");
}

BOOST_AUTO_TEST_CASE(stream_without_news_sends_heartbeats) {
    const event_server server({.data = "", .heartbeat = milliseconds(20)});
    reader one(server);
    one.receive_until("retry: 1000\n\n");
    BOOST_TEST(one.receive_until("\n\n") == ": heartbeat\n\n");
    BOOST_TEST(one.receive_until("\n\n") == ": heartbeat\n\n");
}

BOOST_AUTO_TEST_CASE(slow_reader_makes_no_events_queue_up_and_is_left) {
    // An event is larger than all buffers between the two. So no second one is asked for.
    const event_server server(
        {.data = std::string(16'000'000, 'x'), .transfer_timeout = std::chrono::seconds(1)});
    reader slow(server);
    slow.receive_until("retry: 1000\n\n");
    colock::test::wait_until([&] { return server.asked() == 1; });
    colock::test::wait_until([&] { return server.streams() == 0; });
    BOOST_TEST(server.asked() == 1);
    slow.receive_rest();
}

BOOST_AUTO_TEST_CASE(stream_ends_when_its_reader_leaves) {
    const event_server server({.data = "x"});
    {
        reader one(server);
        one.receive_until("data: x\n\n");
        BOOST_TEST(server.streams() == 1);
    }
    colock::test::wait_until([&] { return server.streams() == 0; });
}

BOOST_AUTO_TEST_CASE(stopping_the_server_ends_a_stream_that_pauses) {
    std::optional<event_server> server;
    server.emplace(event_server::event_source{.data = "x", .interval = std::chrono::seconds(600)});
    reader one(*server);
    one.receive_until("data: x\n\n");
    server.reset();  // Waits until the server has stopped.
    one.receive_rest();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::test
