// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The states of an instance: connecting, probing, quarantined, ready, down and closed.

#include "integration/redis_instance.hpp"
#include "support/deadline.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;
using colock::instance::state;

BOOST_AUTO_TEST_SUITE(states)

BOOST_AUTO_TEST_CASE(an_instance_goes_from_connecting_to_ready_to_closed) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    BOOST_TEST((rig.status().state == state::connecting));
    BOOST_TEST(rig.subject().starting());
    BOOST_TEST(rig.status().version.empty());
    // Until the instance is ready, it queues nothing for later.
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");

    bool probing = false;
    rig.run_until([&] {
        probing |= rig.status().state == state::probing;
        return rig.subject().ready();
    });
    BOOST_TEST(probing);
    const auto status = rig.status();
    BOOST_TEST((status.state == state::ready));
    BOOST_TEST(!rig.subject().starting());
    BOOST_TEST(status.reason.empty());
    BOOST_TEST(status.address == local_uri(server));
    const std::string info = server.command({"INFO", "server"}).value();
    BOOST_TEST(!status.version.empty());
    BOOST_TEST(contains(info, status.version));
    BOOST_TEST(status.run_id.size() == 40U);
    BOOST_TEST(contains(info, "run_id:" + status.run_id));
    BOOST_TEST(status.uptime.count() >= 0);
    BOOST_TEST(!server.has("k"));

    rig.subject().stop();
    BOOST_TEST((rig.status().state == state::closed));
}

BOOST_AUTO_TEST_CASE(a_connection_is_named_colock_and_uses_resp3) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const std::string clients = server.command({"CLIENT", "LIST"}).value();
    BOOST_TEST(contains(clients, "name=colock"), clients);
    BOOST_TEST(contains(clients, "resp=3"), clients);
}

BOOST_AUTO_TEST_CASE(an_instance_is_down_if_the_connection_is_refused) {
    std::string uri;
    {
        const redis_server server;
        uri = server.uri();
    }
    instance_rig rig(uri);
    const std::string reason = rig.run_until_down();
    BOOST_TEST(!reason.empty());
    BOOST_TEST(!rig.subject().starting());
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    BOOST_TEST(rig.status().reason == reason);
    BOOST_TEST_MESSAGE("connection refused: " << reason);
}

namespace {

/// A server that sends a text to each client and disconnects without reading anything.
class rude_server {
public:
    explicit rude_server(std::string words) : words_(std::move(words)) {}
    ~rude_server() {
        context_.stop();
        thread_.join();
    }
    rude_server(const rude_server&) = delete;
    rude_server& operator=(const rude_server&) = delete;

    [[nodiscard]] std::string uri() const {
        return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

private:
    void accept() {
        acceptor_.async_accept([this](boost::system::error_code, asio::ip::tcp::socket client) {
            boost::system::error_code ignored;
            asio::write(client, asio::buffer(words_), ignored);
            client.close(ignored);
            accept();
        });
    }

    const std::string words_;
    asio::io_context context_{1};
    asio::ip::tcp::acceptor acceptor_{context_, {asio::ip::address_v4::loopback(), 0}};
    std::thread thread_{[this] {
        accept();
        context_.run();
    }};
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_error_before_a_disconnect_becomes_the_reason, *label("fault-112")) {
    const redis_server server({"--maxclients", "1"});
    instance_rig first(local_uri(server));
    first.run_until_ready();
    instance_rig second(local_uri(server));
    BOOST_TEST(second.run_until_down() == "HELLO was refused: ERR max number of clients reached");

    const rude_server denies("-DENIED Redis is running in protected mode because ...\r\n");
    const std::string denial =
        "HELLO was refused: DENIED Redis is running in protected mode because ...";
    instance_rig denied(denies.uri());
    BOOST_TEST(denied.run_until_down() == denial);

    // The same for a Sentinel, and for a node that is asked for its cluster map.
    for (const std::string& uri : {"redis+sentinel" + denies.uri().substr(5) + "/mymaster",
                                   "redis+cluster" + denies.uri().substr(5)}) {
        instance_rig asks(uri);
        asks.run_until([&] {
            const auto status = asks.status();
            return contains(status.reason, denial) ||
                   std::ranges::any_of(
                       status.nodes, [&](const auto& one) { return contains(one.reason, denial); });
        });
    }

    const rude_server silent({});
    instance_rig unanswered(silent.uri());
    const std::string reason = unanswered.run_until_down();
    BOOST_TEST(contains(reason, "before it answered"), reason);
}

BOOST_AUTO_TEST_CASE(an_instance_is_down_without_its_unix_socket) {
    const temporary_folder folder;
    instance_rig rig("unix://" + (folder.path() / "none").string());
    BOOST_TEST_MESSAGE("no such socket: " << rig.run_until_down());
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

BOOST_AUTO_TEST_CASE(an_unresolvable_host_is_reported) {
    instance_rig rig("redis://no-such-host.invalid");
    const std::string reason = rig.run_until_down();
    BOOST_TEST(contains(reason, "cannot resolve no-such-host.invalid: "), reason);
}

// The name of this machine has addresses at which no server listens.
BOOST_AUTO_TEST_CASE(all_addresses_of_a_name_are_tried_before_it_is_down) {
    redis_server& server = shared_server();
    instance_rig rig("redis://localhost:" + std::to_string(server.port()));
    rig.run_until_ready();
    BOOST_TEST(rig.status().reason.empty());
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(connections_use_tcp_no_delay) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    // The only socket of this process that leads to the server's port.
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int descriptor = std::stoi(entry.path().filename().string());
        sockaddr_in peer{};
        socklen_t size = sizeof peer;
        if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
            peer.sin_family != AF_INET || ntohs(peer.sin_port) != server.port()) {
            continue;
        }
        int no_delay = 0;
        size = sizeof no_delay;
        BOOST_TEST(::getsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) == 0);
        BOOST_TEST(no_delay != 0);
        ++found;
    }
    BOOST_TEST(found == 1U);
}

BOOST_AUTO_TEST_CASE(a_server_that_has_just_started_is_quarantined) {
    const redis_server server;
    server.command({"SET", "held", "ann", "PX", "60000"});
    auto settings = quick_settings();
    settings.quarantine = {2s, {0.0, 0ms}};
    const auto before = std::chrono::steady_clock::now();
    instance_rig rig(server.uri(), settings);
    rig.run_until([&] { return rig.status().state == state::quarantined; });
    const auto end = rig.status().quarantined_until;
    BOOST_TEST((end > before));
    BOOST_TEST((end <= std::chrono::steady_clock::now() + 2s));
    BOOST_TEST(!rig.subject().ready());
    BOOST_TEST(!rig.subject().starting());
    BOOST_TEST(rig.acquire("k", "ann") == "failed: quarantined");
    BOOST_TEST(contains(rig.status().why_quarantined,
                        " s before this client connected, grants locks in "));
    BOOST_TEST(!server.has("k"));
    // Existing keys can be extended and released.
    BOOST_TEST(rig.extend("held", "ann") == "granted");
    // The counter of a quarantined server may have been lost, so it issues no fence.
    rig.submit(step::confirm, "held", "ann");
    BOOST_TEST(rig.votes().back() == "failed: quarantined");
    BOOST_TEST(rig.release("held", "ann") == "granted");
    rig.run_until_ready();
    BOOST_TEST((std::chrono::steady_clock::now() >= end));
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST((rig.status().quarantined_until == end));
}

BOOST_AUTO_TEST_CASE(a_server_that_has_been_up_for_long_enough_is_not_quarantined) {
    const redis_server server;
    wait_until([&] { return info_number(server, "uptime_in_seconds") >= 2; });
    auto settings = quick_settings();
    settings.quarantine = {1s, {0.0, 0ms}};
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    BOOST_TEST((rig.status().quarantined_until == std::chrono::steady_clock::time_point::min()));
}

BOOST_AUTO_TEST_CASE(a_server_without_uptime_is_quarantined_on_each_connect) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-info"});
    auto settings = quick_settings();
    settings.quarantine = {300ms, {0.0, 0ms}};
    instance_rig rig(local_uri(server, "ann:x@"), settings);
    auto last = std::chrono::steady_clock::time_point::min();
    for (int connection = 0; connection != 2; ++connection) {
        rig.run_until([&] { return rig.status().quarantined_until > last; });
        last = rig.status().quarantined_until;
        rig.run_until_ready();
        BOOST_TEST((std::chrono::steady_clock::now() >= last));
        server.command({"CLIENT", "KILL", "TYPE", "normal"});
    }
}

BOOST_AUTO_TEST_CASE(an_instance_reconnects_into_quarantine_after_a_restart) {
    redis_server server;
    auto settings = quick_settings();
    settings.quarantine = {1min, {0.0, 0ms}};
    instance_rig rig(server.uri(), settings);
    rig.run_until([&] { return rig.status().state == state::quarantined; });
    server.kill();
    rig.run_until_down();
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    server.restart();
    rig.run_until([&] { return rig.status().state == state::quarantined; });
    rig.subject().stop();
    BOOST_TEST((rig.status().state == state::closed));
}

BOOST_AUTO_TEST_SUITE_END()
