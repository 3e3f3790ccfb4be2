// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What a real server can do to an instance: refuse, forget, stall, die, come back.

#include "instance_group.hpp"
#include "instance_rig.hpp"
#include "kinds/script_commands.hpp"
#include "kinds/shared.hpp"
#include "locks.hpp"
#include "support/fake_server.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include "support/run.hpp"

#include <colock/client.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <openssl/ssl.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;
using colock::instance::state;
using colock::kinds::needed_by;
using colock::kinds::script_command;
using colock::kinds::script_commands;
using std::chrono::steady_clock;
using strings = std::vector<std::string>;

namespace {

/// One server for the tests that leave it as it was. Each test empties it first.
redis_server& shared_server() {
    static redis_server server;
    server.flush();
    return server;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

std::string local_uri(const redis_server& server, const std::string& before = {},
                      const std::string& after = {}) {
    return "redis://" + before + "127.0.0.1:" + std::to_string(server.port()) + after;
}

std::string detail_of(const colock::core::vote& vote) {
    return vote.detail ? *vote.detail : std::string();
}

/// The number behind `name:` in INFO.
long info_number(const redis_server& server, const std::string& name) {
    const std::string info = server.command({"INFO", "all"}).value_or("");
    const auto position = info.find("\n" + name + ":");
    return position == std::string::npos ? -1 : std::stol(info.substr(position + name.size() + 2));
}

/// Comparisons of times allow for a busy machine.
constexpr auto slack = 5s;

/// Settings with which silence is noticed soon.
colock::instance::redis::redis_settings impatient_settings() {
    auto settings = quick_settings();
    settings.connection.silence_timeout = 300ms;
    return settings;
}

/// Takes this many locks, and releases them in one batch.
void release_many(instance_rig& rig, int keys, const std::string& prefix = {}) {
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, prefix + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(static_cast<std::size_t>(keys), "granted"),
               boost::test_tools::per_element());
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::release, prefix + std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(static_cast<std::size_t>(keys), "granted"),
               boost::test_tools::per_element());
}

/// Checks that releases are sent one by one to this server, and that the other way is not tried a second time.
void check_releases_one_by_one(const redis_server& server, const std::string& uri) {
    instance_rig rig(uri);
    rig.run_until_ready();
    release_many(rig, 20);
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 20);
    BOOST_TEST(executed(server, "evalsha") == 20U);
    BOOST_TEST(server.keys().empty());
    BOOST_TEST(rig.status().reason.empty());
}

std::string error_of_client(const std::string& uri) {
    asio::io_context context;
    try {
        colock::client client(context, colock::config::from_uris({"memory://tls", uri}));
    } catch (const colock::config_error& e) {
        BOOST_TEST(e.field() == "instances[1]");
        return e.what();
    }
    return "no error";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts)

/// What no lock wrote is denied, and left as it is. Where a script looks at the key, the vote says what it holds.
BOOST_AUTO_TEST_CASE(a_vote_reports_the_type_of_a_foreign_key, *label("fault-34")) {
    namespace kinds = colock::kinds;
    const std::string reader = "reader:" + std::string(40, 'a');
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-type"});
    for (const bool may_use_type : {true, false}) {
        instance_rig rig(may_use_type ? server.uri() : local_uri(server, "ann:x@"));
        rig.run_until_ready();
        for (const auto& [command, name] :
             std::vector<std::pair<std::vector<std::string>, std::string>>{
                 {{"RPUSH", "k", "1"}, "a list"},
                 {{"ZADD", "k", "1", "reader:x"}, "a sorted set"}}) {
            server.command({"DEL", "k"});
            server.command(command);
            server.command({"PEXPIRE", "k", "100000"});
            const auto check = [&, what = name](const step_of_kind& asked,
                                                const std::string& token) {
                const auto vote = rig.ask(asked, "k", token);
                BOOST_TEST(to_text(vote) == "denied: another");
                BOOST_TEST(detail_of(vote) == (may_use_type ? what : ""));
                return vote;
            };
            for (const auto* kind :
                 {&kinds::exclusive, &kinds::writer, &kinds::fenced, &kinds::fenced_writer,
                  &kinds::shared, &kinds::fenced_shared}) {
                const bool is_readers = kind->traits().admission == kinds::admission::shared;
                const std::string token = is_readers ? reader : "ann";
                check({step::extend, *kind}, token);
                if (!kind->traits().released_natively) {
                    check({step::release, *kind}, token);
                }
                if (kind->traits().fenced) {
                    check({step::acquire, *kind}, token);
                    check({step::confirm, *kind}, token);
                }
                if (kind->traits().clears_the_way) {
                    const auto vote = check({step::remaining, *kind}, token);
                    BOOST_TEST((vote.remaining > 50s && vote.remaining <= 100s));
                }
            }
            // SET tells nothing of the key.
            BOOST_TEST(rig.acquire("k", "ann") == "denied: another");
            // Many releases are one call.
            const auto first = rig.submit({step::release, kinds::shared}, "k", reader);
            const auto second = rig.submit({step::release, kinds::shared}, "none", reader);
            rig.run_until_voted();
            BOOST_TEST(to_text(rig.vote_on(first)) == "denied: another");
            BOOST_TEST(detail_of(rig.vote_on(first)) == (may_use_type ? "a value" : ""));
            BOOST_TEST(to_text(rig.vote_on(second)) == "denied: nobody");
            BOOST_TEST(server.command({"TYPE", "k"}).value() ==
                       (name == "a list" ? "list" : "zset"));
        }
    }
}

BOOST_AUTO_TEST_CASE(flushed_scripts_are_resent_within_the_operation, *label("fault-26")) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");

    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.extend("k", "ann", 1h) == "granted");
    BOOST_TEST((rig.ask(step::remaining, "k").remaining > 30min));

    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.extend("k", "bob") == "denied: another");
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.extend("no", "bob") == "denied: nobody");
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("k", "bob") == "denied: another");
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(!server.has("k"));
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("k", "ann") == "denied: nobody");
    BOOST_TEST(rig.status().reason.empty());  // the connection was not lost
}

// Sent in full once, the server knows them again.
BOOST_AUTO_TEST_CASE(evalsha_is_used_again_after_a_script_flush) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    rig.acquire("k", "ann");
    server.command({"SCRIPT", "FLUSH"});
    rig.extend("k", "ann");
    server.command({"CONFIG", "RESETSTAT"});
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    const std::string statistics = server.command({"INFO", "commandstats"}).value();
    BOOST_TEST(contains(statistics, "cmdstat_evalsha:calls=2,"), statistics);
    BOOST_TEST(!contains(statistics, "cmdstat_eval:"), statistics);
}

BOOST_AUTO_TEST_CASE(many_commands_are_resent_after_a_script_flush) {
    constexpr int keys = 200;
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.votes();
    server.command({"SCRIPT", "FLUSH"});
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::extend, std::to_string(i), "ann");
        rig.submit(step::release, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == strings(2 * keys, "granted"), boost::test_tools::per_element());
    BOOST_TEST(server.keys().empty());
}

BOOST_AUTO_TEST_CASE(many_releases_are_batched_before_and_after_a_script_flush) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 200);
    BOOST_TEST(executed(server, "evalsha") == 4U);
    server.command({"SCRIPT", "FLUSH"});
    release_many(rig, 200);
    BOOST_TEST(executed(server, "eval") == 4U);
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 200);
    BOOST_TEST(executed(server, "evalsha") == 4U);
    BOOST_TEST(executed(server, "eval") == 0U);
    BOOST_TEST(server.keys().empty());
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(resends_command_after_script_flush_with_empty_batch) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    rig.acquire("k", "ann");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.pending_calls() == 0U);
    for (std::size_t times = 1; times != 4; ++times) {
        server.command({"SCRIPT", "FLUSH"});
        BOOST_TEST(rig.extend("k", "ann") == "granted");
        BOOST_TEST(rig.pending_calls() == times);
    }
}

BOOST_AUTO_TEST_CASE(only_the_server_with_flushed_scripts_is_sent_them) {
    redis_server forgetful;
    redis_server& other = shared_server();
    instance_group all({other.uri(), forgetful.uri(), local_uri(other, "", "/1")});
    all.run_until_ready();
    other.command({"CONFIG", "RESETSTAT"});
    strings expected;
    for (const std::string vote : {"granted", "granted", "granted", "denied: another", "granted",
                                   "granted", "denied: another", "granted"}) {
        expected.push_back(vote + ", " + vote + ", " + vote);
    }
    for (int i = 0; i != 10; ++i) {
        forgetful.command({"SCRIPT", "FLUSH"});
        for (const char* key : {"k", "l"}) {
            all.submit(step::acquire, key, "ann");
        }
        all.flush();
        for (const char* key : {"k", "l"}) {
            all.submit(step::extend, key, "ann");
            all.submit(step::extend, key, "bob");
            all.submit(step::release, key, "ann");
        }
        BOOST_TEST(all.votes() == expected, boost::test_tools::per_element());
    }
    BOOST_TEST(forgetful.keys().empty());
    BOOST_TEST(other.keys().empty());
    const std::string statistics = other.command({"INFO", "commandstats"}).value();
    BOOST_TEST(!contains(statistics, "cmdstat_eval:"), statistics);
}

/// Commands behind a release whose script was forgotten have met the key that this release deletes.
BOOST_AUTO_TEST_CASE(a_command_that_overtook_a_release_is_resent_after_it) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (const bool at_once : {true, false}) {
        rig.acquire("k", "ann");
        server.command({"SCRIPT", "FLUSH"});
        rig.submit(step::release, "k", "ann");
        if (!at_once) {
            rig.flush();
        }
        rig.submit(step::acquire, "k", "bob");
        BOOST_TEST(rig.votes() == (strings{"granted", "granted"}),
                   boost::test_tools::per_element());
        BOOST_TEST(server.command({"GET", "k"}).value() == "bob");
        BOOST_TEST(rig.release("k", "bob") == "granted");
    }
}

BOOST_AUTO_TEST_CASE(commands_that_overtook_a_release_keep_their_order) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (const bool at_once : {true, false}) {
        rig.acquire("k", "ann");
        rig.acquire("l", "ann");
        server.command({"SCRIPT", "FLUSH"});
        const auto submit = [&](const step_of_kind& v, const char* key, const char* token) {
            rig.submit(v, key, token);
            if (!at_once) {
                rig.flush();
            }
        };
        submit(step::release, "k", "ann");
        submit(step::acquire, "k", "bob");
        submit(step::extend, "k", "bob");
        submit(step::acquire, "l", "bob");
        submit(step::release, "k", "bob");
        submit(step::release, "k", "eve");
        submit(step::acquire, "k", "cid");
        submit(fenced_acquire, "k", "eve");
        submit(step::release, "k", "cid");
        submit(step::remaining, "k", "");
        submit(step::acquire, "k", "dan");
        submit(step::remaining, "k", "");
        const strings expected{"granted",          // release of ann
                               "granted",          // bob
                               "granted",          // extend
                               "denied: another",  // l is ann's
                               "granted",          // release of bob
                               "denied: nobody",   // eve had nothing
                               "granted",          // cid
                               "denied: another",  // eve, with a fence
                               "granted",          // release of cid
                               "denied: nobody",   // remaining
                               "granted",          // dan
                               "denied: another"};
        BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
        BOOST_TEST(server.command({"GET", "k"}).value() == "dan");
        rig.release("k", "dan");
        rig.release("l", "ann");
    }
}

BOOST_AUTO_TEST_CASE(resends_for_the_key_of_another_holder_end_with_a_denial) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    hold_by_hand(server, "k", 1min);
    for (int i = 0; i != 3; ++i) {
        server.command({"SCRIPT", "FLUSH"});
        rig.submit(step::release, "k", "ann");
        rig.submit(step::acquire, "k", "bob");
        rig.submit(step::release, "k", "bob");
        rig.submit(step::acquire, "k", "cid");
        BOOST_TEST(rig.votes() == strings(4, "denied: another"), boost::test_tools::per_element());
    }
}

/// The same seen by the user.
BOOST_AUTO_TEST_CASE(a_lock_is_free_after_a_release_with_a_flushed_script) {
    redis_server& server = shared_server();
    run_test([](redis_server& one) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        colock::config configuration;
        configuration.instances.push_back(one.uri());
        colock::client locks(executor, configuration);
        co_await all_ready(locks);
        const colock::mutex mutex(locks, "k");
        for (int i = 0; i != 20; ++i) {
            auto held = co_await mutex.try_acquire();
            BOOST_REQUIRE(held.has_value());
            one.command({"SCRIPT", "FLUSH"});
            held->release([](const colock::error&, colock::release_result) {});
            auto again = co_await mutex.try_acquire();
            BOOST_REQUIRE(again.has_value());
            co_await again->release();
        }
        co_await locks.close();
    }(server));
}

BOOST_AUTO_TEST_CASE(a_withdrawn_command_is_not_resent) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    rig.acquire("k", "ann", 10min);
    server.command({"SCRIPT", "FLUSH"});
    const auto tag = rig.submit(step::extend, "k", "ann", 1h);
    rig.flush();
    rig.withdraw(tag);
    BOOST_TEST(rig.votes() == strings{"failed: withdrawn"}, boost::test_tools::per_element());
    BOOST_TEST((rig.ask(step::remaining, "k").remaining <= 10min));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(states)

BOOST_AUTO_TEST_CASE(an_instance_goes_from_connecting_to_ready_to_closed) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    BOOST_TEST((rig.status().state == state::connecting));
    BOOST_TEST(rig.subject().starting());
    BOOST_TEST(rig.status().version.empty());
    // Before it is ready, nothing is queued for later.
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

/// A server that says something to each client and hangs up, before it has read anything.
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

    // A Sentinel, and a node that is asked for the map of its cluster.
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

// The name of this machine has addresses where no server listens.
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
    // The one socket of this process that leads to the server's port.
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

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(refusals)

namespace {

/// The instance never becomes ready in ten attempts to connect, and writes nothing in any database.
void check_refused(const redis_server& server, const std::string& uri,
                   const strings& parts_of_reason) {
    instance_rig rig(uri);
    const std::string reason = rig.run_until_down();
    for (const std::string& part : parts_of_reason) {
        BOOST_TEST(contains(reason, part), reason);
    }
    const auto connections = [&] { return info_number(server, "total_connections_received"); };
    const long enough = connections() + 10;  // the instance's and those of this question
    bool was_ready = false;
    for (int i = 0; connections() < enough; ++i) {
        rig.submit(step::acquire, "k" + std::to_string(i), "ann");
        rig.submit(step::release, "k" + std::to_string(i), "ann");
        rig.run_until_voted();
        rig.run_until([&, turns = 0]() mutable {
            was_ready |= rig.subject().ready() || rig.status().state == state::ready;
            return ++turns == 10;
        });
    }
    BOOST_TEST(!was_ready);
    for (const std::string& vote : rig.votes()) {
        BOOST_TEST(vote == "failed: down");
    }
    BOOST_TEST(server.command({"INFO", "keyspace"}).value().find("db") == std::string::npos);
    BOOST_TEST(info_number(server, "expired_keys") == 0);
    BOOST_TEST(info_number(server, "rdb_changes_since_last_save") == 0);
}

}  // namespace

/// The file is read for each connection.
BOOST_AUTO_TEST_CASE(a_password_file_is_read_for_each_connection) {
    redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">first", "allkeys", "allchannels", "+@all"});
    const temporary_folder folder;
    const std::string file = (folder.path() / "password").string();
    std::ofstream(file) << "first\n";
    instance_rig rig(local_uri(server, "ann@", "?password_file=" + file));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "a") == "granted");
    server.command({"ACL", "SETUSER", "ann", "resetpass", ">second"});
    std::ofstream(file) << "second\r\nnot this";
    const auto changes = rig.state_changes();
    server.command({"CLIENT", "KILL", "USER", "ann"});
    rig.run_until([&] { return rig.state_changes() > changes; });
    rig.run_until_ready();
    BOOST_TEST(rig.release("k", "a") == "granted");
    std::filesystem::remove(file);
    server.command({"CLIENT", "KILL", "USER", "ann"});
    const std::string gone = "password_file " + file + " cannot be read";
    rig.run_until([&] { return contains(rig.status().reason, gone); });
}

BOOST_AUTO_TEST_CASE(a_password_from_the_environment_is_used) {
    const redis_server server({"--requirepass", "secret"});
    ::setenv("COLOCK_TEST_PASSWORD", "secret", 1);
    instance_rig rig(local_uri(server, "", "?password_env=COLOCK_TEST_PASSWORD"));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "a") == "granted");
    ::setenv("COLOCK_TEST_PASSWORD", "hunter2", 1);
    const redis_server other({"--requirepass", "secret"});
    check_refused(other, local_uri(other, "", "?password_env=COLOCK_TEST_PASSWORD"),
                  {"HELLO with AUTH was refused: WRONGPASS"});
    ::unsetenv("COLOCK_TEST_PASSWORD");
}

BOOST_AUTO_TEST_CASE(an_unreadable_password_is_a_configuration_error) {
    const temporary_folder folder;
    const std::string empty = (folder.path() / "empty").string();
    std::ofstream{empty};
    const std::vector<std::pair<std::string, std::string>> bad{
        {"?password_file=/none", "password_file /none cannot be read (No such file"},
        {"?password_file=" + folder.path().string(),
         " cannot be read (Is a directory). Check its path"},
        {"?password_file=" + empty, "the first line of password_file " + empty + " is empty"},
        {"?password_env=COLOCK_NO_SUCH", "password_env COLOCK_NO_SUCH is not set. Set this"},
    };
    for (const auto& [parameters, reason] : bad) {
        const std::string text = error_of_client("redis://127.0.0.1:1" + parameters);
        BOOST_TEST(contains(text, reason), text);
    }
}

BOOST_AUTO_TEST_CASE(a_user_without_script_load_is_rejected) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-script"});
    check_refused(server, local_uri(server, "ann:x@"), {"SCRIPT LOAD was refused: NOPERM"});
}

BOOST_AUTO_TEST_CASE(a_user_without_evalsha_is_rejected) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-evalsha"});
    check_refused(server, local_uri(server, "ann:x@"), {"EVALSHA was refused: NOPERM"});
}

/// A server that scripts load on, and that refuses a command inside them, would grant what it cannot renew or release.
BOOST_AUTO_TEST_CASE(a_server_without_a_command_every_lock_needs_is_rejected, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        if (one.whom != needed_by::every_lock) {
            continue;
        }
        const std::string name(one.name);
        BOOST_TEST_CONTEXT("without " << name) {
            std::string upper;
            std::ranges::transform(name, std::back_inserter(upper), [](char c) {
                return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
            });
            const std::string reason = "scripts may not use " + upper + " (ERR ";
            const redis_server by_acl;
            by_acl.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-" + name});
            check_refused(by_acl, local_uri(by_acl, "ann:x@"), {reason, "which every lock needs"});
            const redis_server renamed({"--rename-command", upper, ""});
            check_refused(renamed, renamed.uri(), {reason, "which every lock needs"});
        }
    }
}

/// Where scripts have been forgotten, they are sent in full.
BOOST_AUTO_TEST_CASE(a_user_without_eval_is_rejected, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-eval"});
    check_refused(server, local_uri(server, "ann:x@"), {"EVAL was refused: NOPERM"});
}

/// A mutex goes without these. A reader could join and not leave again.
BOOST_AUTO_TEST_CASE(a_missing_command_disables_only_the_locks_that_need_it, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        if (one.whom == needed_by::every_lock || one.whom == needed_by::no_lock) {
            continue;
        }
        BOOST_TEST_CONTEXT("without " << one.name) {
            const redis_server server;
            server.command(
                {"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-" + std::string(one.name)});
            instance_rig rig(local_uri(server, "ann:x@"));
            rig.run_until_ready();
            BOOST_TEST(rig.acquire("k", "ann") == "granted");
            BOOST_TEST(rig.extend("k", "ann") == "granted");
            BOOST_TEST(rig.release("k", "ann") == "granted");
            const bool no_readers = one.whom != needed_by::fencing;
            const bool no_fences = one.whom != needed_by::readers;
            const auto read = rig.ask({step::acquire, colock::kinds::shared}, "s", "reader:a");
            BOOST_TEST(to_text(read) == (no_readers ? "failed: server error" : "granted"));
            BOOST_TEST(
                contains(detail_of(read), no_readers ? "a reader of a shared_mutex needs" : ""));
            const auto fenced = rig.ask(fenced_acquire, "f", "ann");
            BOOST_TEST(to_text(fenced) == (no_fences ? "failed: server error" : "granted"));
            BOOST_TEST(contains(detail_of(fenced), no_fences ? "a lock with fencing needs" : ""));
            BOOST_TEST(rig.acquire("k", "bob") == "granted");  // and the connection stays
            BOOST_TEST(rig.status().reason.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_right_granted_later_is_detected, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-zrem"});
    auto settings = quick_settings();
    settings.connection.silence_timeout = 200ms;
    instance_rig rig(local_uri(server, "ann:x@"), settings);
    rig.run_until_ready();
    const auto read = [&] {
        return to_text(rig.ask({step::acquire, colock::kinds::shared}, "s", "reader:a"));
    };
    BOOST_TEST(read() == "failed: server error");
    server.command({"ACL", "SETUSER", "ann", "+zrem"});
    rig.run_until([&] { return read() == "granted"; });
    BOOST_TEST(contains(rig.status().reason, "it is asked again for the commands"));
}

/// None of these is a missing right, and the trial of each command changes nothing.
BOOST_AUTO_TEST_CASE(the_probe_tries_commands_without_changing_data, *label("fault-100")) {
    const redis_server full({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
    const redis_server alone({"--min-replicas-to-write", "1"});
    const redis_server usual;
    const redis_server limited;
    limited.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    for (const auto& [server, uri] : {std::pair{&full, full.uri()},
                                      {&alone, alone.uri()},
                                      {&usual, usual.uri()},
                                      {&limited, local_uri(limited, "ann:x@")}}) {
        server->command({"CONFIG", "RESETSTAT"});
        instance_rig rig(uri);
        rig.run_until_ready();
        BOOST_TEST(contains(server->command({"INFO", "commandstats"}).value(), "cmdstat_zadd:"));
        BOOST_TEST(info_number(*server, "rdb_changes_since_last_save") == 0);
        BOOST_TEST(!contains(server->command({"INFO", "keyspace"}).value(), "db"));
        const auto read = rig.ask({step::acquire, colock::kinds::shared}, "mine:s", "reader:a");
        BOOST_TEST(!contains(detail_of(read), "scripts may not use"));
    }
}

/// The key that they are tried on begins like those of the locks, so that an ACL by prefix allows it, and logs nothing.
BOOST_AUTO_TEST_CASE(the_probe_uses_a_key_with_the_clients_prefix, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    auto settings = quick_settings();
    settings.connection.key_prefix = "mine:";
    instance_rig rig(local_uri(server, "ann:x@"), settings);
    rig.run_until_ready();
    BOOST_TEST(server.command({"ACL", "LOG"}).value_or("") == "");
}

/// The rights that docs/permissions.md lists, and PING, which checks an idle connection.
BOOST_AUTO_TEST_CASE(the_documented_rights_suffice_for_a_mutex) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "-@all", "+hello", "+auth",
                    "+select", "+ping", "+set", "+pttl", "+eval", "+evalsha", "+script|load",
                    "+get", "+del", "+pexpire"});
    auto settings = quick_settings();
    settings.connection.silence_timeout = 1s;
    instance_rig rig(local_uri(server, "ann:x@", "/1"), settings);
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    rig.run_until([&] {
        return contains(server.command({"INFO", "commandstats"}).value(), "cmdstat_ping:calls=2");
    });
    BOOST_TEST(rig.state_changes() == changes);
}

BOOST_AUTO_TEST_CASE(a_user_without_info_is_accepted) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-info"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    BOOST_TEST(rig.status().version.empty());
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
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
    // But a fence that is counted now may have been granted before.
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

// The instance logs in again as soon as the server accepts it.
BOOST_AUTO_TEST_CASE(an_instance_logs_in_once_the_server_accepts_the_password) {
    const redis_server server({"--requirepass", "secret"});
    instance_rig rig(local_uri(server, ":other@"));
    rig.run_until_down();
    server.command({"ACL", "SETUSER", "default", ">other"});
    rig.run_until_ready();
    BOOST_TEST(contains(rig.status().reason, "WRONGPASS"));  // why it last was down
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_refused_release_does_not_fail_the_others_of_its_batch) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    for (int times = 0; times != 2; ++times) {
        for (int i = 0; i != 9; ++i) {
            rig.submit(step::acquire, "mine:" + std::to_string(i), "ann");
        }
        BOOST_TEST(rig.votes() == strings(9, "granted"), boost::test_tools::per_element());
        strings expected;
        for (int i = 0; i != 9; ++i) {
            rig.submit(step::release, (i == 5 ? "yours:" : "mine:") + std::to_string(i), "ann");
            expected.emplace_back(i == 5 ? "failed: server error" : "granted");
        }
        server.command({"SCRIPT", "FLUSH"});
        BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
        BOOST_TEST(rig.release("mine:5", "ann") == "granted");
    }
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 20, "mine:");  // the next ones go as one again
    BOOST_TEST(executed(server, "evalsha") == 1U);
}

BOOST_AUTO_TEST_CASE(a_user_without_mget_releases_keys_one_by_one) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-mget"});
    check_releases_one_by_one(server, local_uri(server, "ann:x@"));
}

BOOST_AUTO_TEST_CASE(a_server_without_mget_releases_keys_one_by_one) {
    const redis_server server({"--rename-command", "MGET", ""});
    check_releases_one_by_one(server, server.uri());
}

// Nothing is published, so a user without channels can do everything, and a waiter is still notified of a release.
BOOST_AUTO_TEST_CASE(a_user_without_channels_is_notified_of_releases, *label("fault-80")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "resetchannels"});
    instance_rig rig(local_uri(server, "ann:x@"));
    instance_rig other(server.uri());
    rig.run_until_ready();
    other.run_until_ready();
    BOOST_TEST(other.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.remaining("k") == "denied: another");
    BOOST_TEST(other.release("k", "bob") == "granted");
    rig.run_until([&] { return !rig.changed.empty(); });
    BOOST_TEST(rig.changed == strings{"k"}, boost::test_tools::per_element());
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(a_key_outside_the_users_pattern_is_a_failed_vote) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("mine:k", "ann") == "granted");
    for (const step v : {step::acquire, step::extend, step::release, step::remaining}) {
        const auto vote = rig.ask(v, "yours:k", "ann");
        BOOST_TEST(to_text(vote) == "failed: server error");
        BOOST_TEST(contains(detail_of(vote), "NOPERM"), detail_of(vote));
    }
    BOOST_TEST(rig.release("mine:k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(server_errors)

namespace {

/// A failed vote, with the server's words, that has not cost the connection.
void check_server_error(instance_rig& rig, step v, const std::string& key, const std::string& token,
                        std::string_view text) {
    const auto vote = rig.ask(v, key, token);
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(detail_of(vote), text), detail_of(vote));
    BOOST_TEST(rig.subject().ready());
    BOOST_TEST(rig.status().reason.empty());
}

/// Makes the server a replica of a primary that cannot be reached, so that it keeps its keys.
void demote(const redis_server& server) {
    const reserved_port nobody;
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
}

/// A connected server is demoted. The instance is down until the server is a master again.
void check_demotion(const redis_server& server, step first, std::string_view error) {
    instance_rig rig(server.uri());
    rig.run_until_ready();
    rig.acquire("k", "ann");
    demote(server);
    const auto vote = rig.ask(first, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(detail_of(vote), error), detail_of(vote));
    rig.run_until([&] { return contains(rig.status().reason, "it is a replica"); });
    BOOST_TEST(rig.acquire("l", "ann") == "failed: down");
    server.command({"REPLICAOF", "NO", "ONE"});
    rig.run_until_ready();
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_demoted_server_is_down_until_it_is_a_master_again, *label("fault-27")) {
    const redis_server server;
    check_demotion(server, step::acquire, "READONLY");
    check_demotion(server, step::release, "READONLY");
}

BOOST_AUTO_TEST_CASE(a_masterdown_error_is_treated_as_a_demotion) {
    const redis_server server({"--replica-serve-stale-data", "no"});
    check_demotion(server, step::extend, "MASTERDOWN");
    check_demotion(server, step::remaining, "MASTERDOWN");
}

// A wrong scheme is reported at once, together with the right one.
BOOST_AUTO_TEST_CASE(a_server_of_another_deployment_is_rejected_with_a_reason) {
    const reserved_port bus;
    const redis_server node(
        {"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())});
    instance_rig at_node(node.uri());
    BOOST_TEST(contains(at_node.run_until_down(), "redis+cluster://"));
    const redis_server sentinel({"--sentinel"});
    instance_rig at_sentinel(sentinel.uri());
    BOOST_TEST(contains(at_sentinel.run_until_down(), "redis+sentinel://"));
    const redis_server replica;
    demote(replica);
    instance_rig at_replica(replica.uri());
    BOOST_TEST(contains(at_replica.run_until_down(), "it is a replica"));
}

// As behind a proxy that hides the mode.
BOOST_AUTO_TEST_CASE(a_moved_reply_reports_that_the_server_is_a_cluster_node, *label("fault-27")) {
    const fake_server node([](const fake_server::words& command) -> fake_reply {
        return command[0] == "SET" ? "-MOVED 1 127.0.0.1:1\r\n" : answer_as_server(command);
    });
    instance_rig rig(node.uri());
    rig.run_until_ready();
    const auto vote = rig.ask(step::acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(detail_of(vote), "MOVED"), detail_of(vote));
    BOOST_TEST(contains(rig.run_until_down(), "redis+cluster://"));
}

BOOST_AUTO_TEST_CASE(only_acquires_fail_on_a_server_out_of_memory, *label("fault-27")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("l", "ann") == "granted");
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    check_server_error(rig, step::acquire, "m", "ann", "OOM");
    BOOST_TEST(rig.remaining("k") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "bob") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "denied: nobody");
    // And when the server has forgotten the script as well.
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("l", "ann") == "granted");
    BOOST_TEST(server.keys().empty());
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST(rig.acquire("m", "ann") == "granted");
}

// A server that is out of memory can be connected to, since there may be locks to release.
BOOST_AUTO_TEST_CASE(a_server_out_of_memory_can_be_connected_to, *label("fault-27")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    server.command({"SET", "k", "ann"});
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.release("k", "ann") == "granted");
    check_server_error(rig, step::acquire, "k", "ann", "OOM");
}

// While a script runs for too long, the server answers everything with BUSY.
BOOST_AUTO_TEST_CASE(a_busy_server_is_a_failed_vote, *label("fault-28")) {
    redis_server server({"--lua-time-limit", "1"});
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    const std::jthread caller([&server] {
        try {
            server.command({"EVAL", "while true do end", "0"});
        } catch (const std::runtime_error&) {  // the script is killed below
        }
    });
    colock::core::vote vote;
    rig.run_until([&] {
        vote = rig.ask(step::acquire, "l", "ann");
        return contains(detail_of(vote), "BUSY");
    });
    BOOST_TEST(to_text(vote) == "failed: server error");
    check_server_error(rig, step::release, "k", "ann", "BUSY");
    server.command({"SCRIPT", "KILL"});
    rig.run_until([&] { return rig.release("k", "ann") == "granted"; });
}

BOOST_AUTO_TEST_CASE(a_key_of_any_other_type_counts_as_another_holder, *label("fault-34")) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"RPUSH", "list", "ann"});
    server.command({"SADD", "set", "ann"});
    server.command({"HSET", "hash", "ann", "ann"});
    server.command({"ZADD", "sorted", "1", "ann"});
    server.command({"XADD", "stream", "*", "ann", "ann"});
    server.command({"SET", "eternal", "bob"});
    for (const std::string key : {"list", "set", "hash", "sorted", "stream", "eternal"}) {
        BOOST_TEST_CONTEXT(key) {
            BOOST_TEST(rig.acquire(key, "ann") == "denied: another");
            BOOST_TEST(rig.extend(key, "ann") == "denied: another");
            BOOST_TEST(rig.release(key, "ann") == "denied: another");
            const auto vote = rig.ask(step::remaining, key);
            BOOST_TEST(to_text(vote) == "denied: another");
            BOOST_TEST((vote.remaining == std::chrono::milliseconds::max()));
            BOOST_TEST(server.command({"PTTL", key}).value() == "-1");
        }
    }
}

// Another program deletes the key, or everything.
BOOST_AUTO_TEST_CASE(keys_deleted_by_others_are_reported_as_absent, *label("fault-25")) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    rig.acquire("k", "ann");
    server.command({"DEL", "k"});
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(!server.has("k"));
    rig.acquire("k", "ann");
    server.command({"FLUSHALL"});
    BOOST_TEST(rig.release("k", "ann") == "denied: nobody");
    rig.acquire("k", "ann");
    server.command({"SET", "k", "ann", "KEEPTTL"});
    BOOST_TEST(rig.release("k", "ann") == "granted");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(remote_queue)

namespace {

/// Joins the remote queue of "k" with that number, or leaves it.
colock::core::vote ask_queue(instance_rig& rig, step v, std::uint64_t number) {
    return rig.ask_fence(v, "k", "", number);
}

/// A key that colock has not written, at a name of its own.
struct foreign_key {
    std::vector<std::string> writing;
    std::vector<std::string> reading;
};

void check_left_alone(const foreign_key& key) {
    redis_server& server = shared_server();
    server.flush();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command(key.writing);
    const auto before = server.command(key.reading);
    const std::string& name = key.writing.at(1);
    BOOST_TEST_CONTEXT(key.writing.front() << ' ' << name) {
        const auto vote = ask_queue(rig, step::join, 1);
        BOOST_TEST(to_text(vote) == "failed: server error");
        const auto left = ask_queue(rig, step::leave, 1);
        BOOST_TEST(to_text(left) == "granted");
        BOOST_TEST(left.fence == 0U);
        BOOST_TEST((server.command(key.reading) == before));
        BOOST_TEST(server.command({"PTTL", name}).value() == "-1");
        BOOST_TEST(server.keys().size() == 1U);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(joining_a_remote_queue_returns_the_previous_waiter) {
    redis_server& server = shared_server();
    server.flush();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(ask_queue(rig, step::join, 11).fence == 0U);
    BOOST_TEST(ask_queue(rig, step::join, 12).fence == 11U);
    BOOST_TEST(ask_queue(rig, step::join, 13).fence == 12U);
    BOOST_TEST(ask_queue(rig, step::join, 12).fence == 11U);
    server.command({"DEL", "{k}:colock:ticket:12"});  // it has died
    BOOST_TEST(ask_queue(rig, step::join, 13).fence == 11U);
    BOOST_TEST(server.command({"LRANGE", "{k}:colock:queue", "0", "-1"}).value() ==
               "ticket:11\nticket:13");
    BOOST_TEST(ask_queue(rig, step::leave, 11).fence == 1U);
    BOOST_TEST(ask_queue(rig, step::join, 13).fence == 0U);
    BOOST_TEST(ask_queue(rig, step::leave, 13).fence == 0U);
    BOOST_TEST(server.keys().empty());
}

BOOST_AUTO_TEST_CASE(foreign_keys_at_the_names_of_a_queue_are_left_alone) {
    const std::string queue = "{k}:colock:queue";
    const std::string ticket = "{k}:colock:ticket:1";
    for (const std::string& name : {queue, ticket}) {
        check_left_alone({{"SET", name, "text"}, {"GET", name}});
        check_left_alone({{"HSET", name, "1", "text"}, {"HGETALL", name}});
        check_left_alone({{"RPUSH", name, "1", "2", "1"}, {"LRANGE", name, "0", "-1"}});
        check_left_alone({{"RPUSH", name, "ticket:", "job"}, {"LRANGE", name, "0", "-1"}});
    }
    check_left_alone({{"RPUSH", queue, "ticket:5", "job"}, {"LRANGE", queue, "0", "-1"}});
}

BOOST_AUTO_TEST_CASE(an_entry_of_others_in_a_queue_is_left_alone) {
    redis_server& server = shared_server();
    server.flush();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    ask_queue(rig, step::join, 1);
    server.command({"RPUSH", "{k}:colock:queue", "job", "ticket:2"});
    BOOST_TEST(ask_queue(rig, step::join, 3).fence == 1U);
    BOOST_TEST(server.command({"LRANGE", "{k}:colock:queue", "0", "-1"}).value() ==
               "ticket:1\njob\nticket:3");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(broken_connections)

BOOST_AUTO_TEST_CASE(an_instance_is_down_on_a_kill_and_reconnects_on_restart) {
    redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const std::string first_run = rig.status().run_id;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    server.pause();  // so that what is sent now stays unanswered
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.flush();
    BOOST_TEST(rig.status().in_flight == 10U);
    server.kill();
    const std::string reason = rig.run_until_down();
    BOOST_TEST(!contains(reason, "nothing heard"), reason);  // no timeout was needed
    BOOST_TEST(rig.votes() == strings(10, "failed: connection lost"),
               boost::test_tools::per_element());
    BOOST_TEST(!detail_of(rig.vote_on(5)).empty());
    BOOST_TEST(rig.status().in_flight == 0U);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");

    server.restart();
    rig.run_until_ready();
    BOOST_TEST(rig.status().run_id != first_run);
    BOOST_TEST(!rig.status().reason.empty());
    BOOST_TEST(server.keys().empty());  // nothing was replayed
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(an_instance_survives_repeated_kills_of_its_server) {
    redis_server server;
    instance_rig rig(server.uri());
    for (int round = 0; round != 5; ++round) {
        rig.run_until_ready();
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
        server.kill();
        rig.run_until([&] { return !rig.subject().ready(); });
        server.restart();
    }
    rig.run_until_ready();
}

BOOST_AUTO_TEST_CASE(an_instance_reconnects_after_client_kill) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    for (int round = 0; round != 5; ++round) {
        rig.run_until_ready();
        BOOST_TEST(rig.acquire("k", "ann") == (round == 0 ? "granted" : "denied: another"));
        const auto changes = rig.state_changes();
        BOOST_TEST(server.command({"CLIENT", "KILL", "TYPE", "normal"}).value() == "1");
        rig.run_until([&] { return rig.state_changes() > changes; });
    }
}

// Every command that is in flight when the connection breaks gets a vote.
BOOST_AUTO_TEST_CASE(every_command_gets_a_vote_after_client_kill_under_load) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    std::size_t lost = 0;
    for (int round = 0; round != 10; ++round) {
        rig.run_until_ready();
        const auto first = rig.submit(step::remaining, "k");
        for (int i = 0; i != 10000; ++i) {
            rig.submit(i % 2 == 0 ? step::acquire : step::release, "k", "ann");
            if (i % 500 == 0) {
                rig.flush();
            }
        }
        rig.run_until([&] { return rig.voted(first); });
        server.command({"CLIENT", "KILL", "TYPE", "normal"});
        for (const std::string& vote : rig.votes()) {
            lost += vote == "failed: connection lost" ? 1 : 0;
            BOOST_TEST(
                (vote == "failed: connection lost" || vote == "granted" ||
                 vote == "denied: another" || vote == "denied: nobody" || vote == "failed: down"),
                vote);
        }
    }
    BOOST_TEST_MESSAGE(lost << " votes lost");
}

BOOST_AUTO_TEST_CASE(a_stopped_server_is_detected_in_time, *label("fault-29")) {
    redis_server server;
    auto settings = impatient_settings();
    settings.max_in_flight = 100;
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    server.pause();
    const auto begin = steady_clock::now();
    for (int i = 0; i != 1000; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.flush();
    BOOST_TEST(rig.status().in_flight == 100U);  // the others have their votes
    BOOST_TEST(to_text(rig.vote_on(100)) == "failed: overloaded");
    const std::string reason = rig.run_until_down();
    const auto waited = steady_clock::now() - begin;
    BOOST_TEST((contains(reason, "nothing heard") || contains(reason, "was not answered")), reason);
    BOOST_TEST((waited > settings.connection.silence_timeout / 2));
    BOOST_TEST((waited < settings.connection.silence_timeout + slack));
    const strings votes = rig.votes();
    for (std::size_t i = 0; i != 100; ++i) {
        BOOST_TEST(votes[i] == "failed: connection lost");
    }
    BOOST_TEST(rig.status().in_flight == 0U);
    server.resume();
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("new", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_refused_sender_is_notified_when_the_server_is_back) {
    redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (std::size_t calls = 0; calls != 3; ++calls) {
        server.kill();
        rig.run_until([&] { return !rig.subject().ready(); });
        server.restart();
        if (calls == 0) {  // nobody was refused, nor was anything lost
            rig.run_until_ready();
            BOOST_TEST(rig.accepting_calls() == 0U);
            continue;
        }
        BOOST_TEST(rig.release("k", "ann") == "failed: down");
        BOOST_TEST(rig.accepting_calls() == calls - 1);
        rig.run_until([&] { return rig.accepting_calls() == calls; });
        BOOST_TEST(rig.subject().ready());
        BOOST_TEST(rig.release("k", "ann") == "denied: nobody");
        BOOST_TEST(rig.accepting_calls() == calls);
    }
}

// An instance in quarantine accepts releases.
BOOST_AUTO_TEST_CASE(a_refused_sender_is_notified_when_the_quarantine_begins) {
    redis_server server;
    auto settings = quick_settings();
    settings.quarantine = {1min, {0.0, 0ms}};
    instance_rig rig(server.uri(), settings);
    BOOST_TEST(rig.release("k", "ann") == "failed: down");
    rig.run_until([&] { return rig.accepting_calls() == 1; });
    BOOST_TEST((rig.status().state == state::quarantined));
    BOOST_TEST(rig.release("k", "ann") == "denied: nobody");
}

BOOST_AUTO_TEST_CASE(a_stopped_server_is_detected_on_an_idle_connection) {
    redis_server server;
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    server.pause();
    BOOST_TEST(contains(rig.run_until_down(), "nothing heard"));
    server.resume();
    rig.run_until_ready();
}

BOOST_AUTO_TEST_CASE(an_idle_connection_to_a_healthy_server_stays) {
    redis_server& server = shared_server();
    auto settings = quick_settings();
    settings.connection.silence_timeout = 1s;
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    const auto end = steady_clock::now() + 2500ms;
    rig.run_until([&] { return steady_clock::now() >= end; });
    BOOST_TEST(rig.subject().ready());
    BOOST_TEST(rig.status().reason.empty());
}

// The kernel accepts the connection, and the server answers nothing.
BOOST_AUTO_TEST_CASE(a_stopped_server_never_becomes_ready) {
    redis_server server;
    server.pause();
    auto settings = impatient_settings();
    instance_rig rig(server.uri(), settings);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    const std::string reason = rig.run_until_down();
    BOOST_TEST_MESSAGE("never answered: " << reason);
    BOOST_TEST(rig.state_changes() == 1U);  // from connecting to down
    server.resume();
    rig.run_until_ready();
    BOOST_TEST(rig.status().reason == reason);
}

BOOST_AUTO_TEST_CASE(a_probe_has_its_own_timeout) {
    redis_server server;
    server.pause();
    auto settings = quick_settings();
    settings.connection.connect_timeout = 50ms;
    settings.connection.silence_timeout = 1h;
    instance_rig rig(server.uri(), settings);
    BOOST_TEST(contains(rig.run_until_down(), "the probe was not answered in time"));
}

// A bounded stall: afterwards everything goes on, on the same connection.
BOOST_AUTO_TEST_CASE(an_instance_survives_client_pause) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"CLIENT", "PAUSE", "100", "ALL"});
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(a_stalled_server_is_sent_no_acquires_or_extends, *label("fault-29")) {
    redis_server server;
    auto settings = quick_settings();
    settings.stall_timeout = 50ms;
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    rig.acquire("held", "ann");
    server.pause();
    const auto first = rig.submit(step::acquire, "k", "ann");
    rig.flush();
    rig.run_until([&] {
        const auto tag = rig.submit(step::acquire, "l", "ann");
        rig.flush();
        return rig.voted(tag) && to_text(rig.vote_on(tag)) == "failed: stalled";
    });
    BOOST_TEST(rig.extend("held", "ann") == "failed: stalled");
    const auto acquire = rig.submit(step::acquire, "n", "ann");
    const auto release = rig.submit(step::release, "held", "ann");  // takes nothing
    const auto extend = rig.submit(step::extend, "held", "ann");
    rig.flush();
    BOOST_TEST(to_text(rig.vote_on(acquire)) == "failed: stalled");
    BOOST_TEST(to_text(rig.vote_on(extend)) == "failed: stalled");
    BOOST_TEST(!rig.voted(release));
    BOOST_TEST(!rig.voted(first));
    server.resume();
    rig.votes();
    BOOST_TEST(to_text(rig.vote_on(release)) == "granted");
    BOOST_TEST(to_text(rig.vote_on(first)) == "granted");
    BOOST_TEST(rig.acquire("m", "ann") == "granted");
}

// The first batch may be written to a slow server long after the others have received it, and after many other batches.
BOOST_AUTO_TEST_CASE(a_slow_server_receives_all_batches_unchanged) {
    constexpr int rounds = 300;
    redis_server slow;
    redis_server fast;
    instance_group all({fast.uri(), slow.uri()});
    all.run_until_ready();
    slow.pause();
    const std::string long_text(64 * 1024, 'x');  // more in all than the kernel keeps for it
    std::size_t keys = 0;
    for (int i = 0; i != rounds; ++i) {
        const std::string token = std::to_string(i) + long_text;
        const auto first = all.submit(step::acquire, "k", token);
        if (i % 3 == 0) {
            all.submit(step::acquire, std::to_string(i), token);
            ++keys;
        }
        all.submit(step::release, "k", token);
        all.flush();
        all.run_until([&] { return all.voted(first, 0); });
        BOOST_TEST(!all.voted(first, 1));
    }
    slow.resume();
    const strings votes = all.votes();
    BOOST_TEST(votes == strings(votes.size(), "granted, granted"),
               boost::test_tools::per_element());
    BOOST_TEST(votes.size() == 2 * rounds + keys);
    BOOST_TEST(slow.keys().size() == keys);
    BOOST_TEST(slow.keys() == fast.keys(), boost::test_tools::per_element());
    for (const std::string& key : slow.keys()) {
        BOOST_TEST((slow.command({"GET", key}).value() == key + long_text));
    }
}

BOOST_AUTO_TEST_CASE(a_killed_server_does_not_disturb_the_others) {
    redis_server a;
    redis_server b;
    instance_group all({a.uri(), b.uri(), a.uri() + "/1"});
    for (int round = 0; round != 3; ++round) {
        all.run_until_ready();
        b.pause();
        for (int i = 0; i != 100; ++i) {
            all.submit(step::acquire, "k", "ann");
            all.submit(step::release, "k", "ann");
            if (i % 7 == 0) {
                all.flush();
            }
        }
        all.flush();
        b.kill();
        BOOST_TEST(all.votes() == strings(200, "granted, failed: connection lost, granted"),
                   boost::test_tools::per_element());
        all.submit(step::acquire, "k", "ann");
        all.submit(step::release, "k", "ann");
        BOOST_TEST(all.votes() == strings(2, "granted, failed: down, granted"),
                   boost::test_tools::per_element());
        b.restart();
    }
    all.run_until_ready();
    BOOST_TEST(b.keys().empty());
}

// Many pushes about keys that this instance has not asked for, since another connection may redirect its pushes to ours.
BOOST_AUTO_TEST_CASE(pushes_are_read_and_ignored) {
    constexpr int pushes = 1000;
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const std::string clients = server.command({"CLIENT", "LIST", "TYPE", "normal"}).value();
    std::string our_id;
    std::istringstream lines(clients);
    for (std::string line; std::getline(lines, line);) {
        if (contains(line, "name=colock")) {
            our_id = line.substr(3, line.find(' ') - 3);
        }
    }
    asio::io_context context;
    asio::ip::tcp::socket other(context);
    other.connect({asio::ip::address_v4::loopback(), server.port()});
    std::string script = "CLIENT TRACKING ON REDIRECT " + our_id + "\r\n";
    for (int i = 0; i != pushes; ++i) {
        script += "GET key" + std::to_string(i) + "\r\n";
    }
    script += "PING done\r\n";
    asio::write(other, asio::buffer(script));
    std::string replies;
    asio::read_until(other, asio::dynamic_buffer(replies), "done\r\n");
    BOOST_TEST(replies.starts_with("+OK"), replies.substr(0, 100));
    server.command(
        {"EVAL",
         "for i = 0, " + std::to_string(pushes - 1) + " do redis.call('set', 'key' .. i, 'x') end",
         "0"});
    for (int i = 0; i != 10; ++i) {
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
        BOOST_TEST(rig.release("k", "ann") == "granted");
    }
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_SUITE_END()

// Notifications about the keys that the instance has asked for.
BOOST_AUTO_TEST_SUITE(changes)

BOOST_AUTO_TEST_CASE(client_tracking_reports_a_change_of_a_tracked_key_once) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (const char* key : {"asked for", "not asked for", "last"}) {
        server.command({"SET", key, "somebody", "PX", "60000"});
    }
    rig.ask(step::remaining, "asked for");
    rig.ask(step::remaining, "last");
    server.command({"DEL", "not asked for"});
    server.command({"PEXPIRE", "asked for", "50000"});
    rig.run_until([&] { return rig.changed == strings{"asked for"}; });
    server.command({"DEL", "asked for"});
    server.command({"DEL", "last"});
    rig.run_until([&] { return rig.changed == strings{"asked for", "last"}; });
    // Once it was asked for again.
    server.command({"SET", "asked for", "somebody", "PX", "60000"});
    rig.ask(step::remaining, "asked for");
    server.command({"DEL", "asked for"});
    rig.run_until([&] { return rig.changed == strings{"asked for", "last", "asked for"}; });
}

BOOST_AUTO_TEST_CASE(client_tracking_reports_an_expired_key) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"SET", "k", "somebody", "PX", "50"});
    rig.ask(step::remaining, "k");
    rig.run_until([&] { return rig.changed == strings{"k"}; });
}

BOOST_AUTO_TEST_CASE(client_tracking_reports_a_flush) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"SET", "k", "somebody", "PX", "60000"});
    rig.ask(step::remaining, "k");
    server.flush();
    rig.run_until([&] { return rig.changed == strings{"*"}; });
}

BOOST_AUTO_TEST_CASE(client_tracking_does_not_report_own_changes) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"SET", "mark", "somebody", "PX", "60000"});
    rig.acquire("k", "ann");
    rig.ask(step::remaining, "k");
    rig.extend("k", "ann", 1h);
    rig.release("k", "ann");
    server.command({"SET", "k", "bob"});  // nor of this, as our own writing has ended the watch
    rig.ask(step::remaining, "mark");
    server.command({"DEL", "mark"});
    rig.run_until([&] { return !rig.changed.empty(); });
    BOOST_TEST(rig.changed == strings{"mark"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_user_without_client_tracking_can_query_the_remaining_ttl) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-client|tracking"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    server.command({"SET", "k", "somebody", "PX", "60000"});
    BOOST_TEST((rig.ask(step::remaining, "k").remaining > 30s));
    server.command({"DEL", "k"});
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.changed.empty());
}

// Each of these commands has two replies.
BOOST_AUTO_TEST_CASE(votes_match_commands_in_a_batch_with_many_queries) {
    redis_server& server = shared_server();
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (int i = 0; i != 50; ++i) {
        const std::string key = "k" + std::to_string(i);
        rig.submit(step::acquire, key, "ann");
        rig.submit(step::remaining, key);
        rig.submit(step::remaining, "no such key");
        rig.submit(step::acquire, key, "bob");
        rig.submit(step::remaining, key);
        rig.submit(step::release, key, "ann");
    }
    strings expected;
    for (int i = 0; i != 50; ++i) {
        for (const char* vote : {"granted", "denied: another", "denied: nobody", "denied: another",
                                 "denied: another", "granted"}) {
            expected.emplace_back(vote);
        }
    }
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(beside_others)

namespace {

std::size_t ready_count(const colock::client& client) {
    const auto all = client.instances();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& one) {
        return one.state == colock::instance_state::ready;
    }));
}

}  // namespace

// The timeouts are so long that the test fails if anybody waits for the bad addresses.
BOOST_AUTO_TEST_CASE(bad_names_and_addresses_do_not_delay_the_others, *label("fault-31")) {
    const redis_server a;
    const redis_server b;
    redis_server c;
    c.pause();
    run_test([](std::string one, std::string two, std::string stopped) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {"redis://no-such-host.invalid", stopped, one, two};
        configuration.instances.push_back("memory://beside_others");
        configuration.connect_timeout = 5min;
        configuration.silence_timeout = 1h;
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] { return ready_count(client) == 3; });
        colock::mutex mutex(client, "k");
        colock::lease lease = co_await mutex.acquire(asio::use_awaitable);
        BOOST_TEST(lease.valid());
        co_await lease.release(asio::use_awaitable);
        co_await client.close(asio::use_awaitable);
        const auto states = client.instances();
        for (const auto& s : states) {
            BOOST_TEST((s.state == colock::instance_state::closed));
        }
    }(a.uri(), b.uri(), c.uri()));
}

/// Which other names of a server a client may be given. The configuration cannot know that they mean one server.
BOOST_AUTO_TEST_CASE(a_server_under_two_names_votes_once, *label("fault-89")) {
    redis_server a;
    const redis_server b;
    run_test([](redis_server& twice, std::string other) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        const std::string by_name = "redis://localhost:" + std::to_string(twice.port());
        for (const std::string& second :
             {by_name, by_name + "/1", twice.unix_uri(), twice.unix_uri() + "?db=2"}) {
            colock::config configuration;
            configuration.restart_quarantine = 0ms;
            configuration.instances = {twice.uri(), second, other};
            colock::client client(executor, configuration);
            co_await async_wait_until([&] {
                const auto all = client.instances();
                return ready_count(client) == 2 &&
                       (!all[0].reason.empty() || !all[1].reason.empty());
            });
            const auto all = client.instances();
            const std::size_t refused = all[0].reason.empty() ? 1 : 0;
            BOOST_TEST(
                all[refused].reason ==
                "it is the same server as " + all[1 - refused].address + " (run_id " +
                    all[1 - refused].run_id +
                    "). Every instance must be a different server, so remove one of the two");
            BOOST_TEST((all[1 - refused].state == colock::instance_state::ready));
            colock::mutex mutex(client, "k");
            colock::lease lease = co_await mutex.acquire();
            BOOST_TEST(lease.valid());
            co_await lease.release();
            // The other name will do as well, once this one's connection has ended.
            twice.restart();
            co_await async_wait_until([&] { return ready_count(client) == 2; });
            co_await client.close();
        }
    }(a, b.uri()));
}

/// With three votes of one server, which loses its data when it restarts, two clients held the name.
BOOST_AUTO_TEST_CASE(one_server_is_no_quorum_of_three, *label("fault-89")) {
    redis_server server;
    run_test([](redis_server& only) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {only.uri() + "/0",
                                   "redis://localhost:" + std::to_string(only.port()) + "/1",
                                   only.unix_uri() + "?db=2"};
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] {
            const auto all = client.instances();
            const auto refused = std::count_if(all.begin(), all.end(), [](const auto& one) {
                return contains(one.reason, "it is the same server as");
            });
            return ready_count(client) == 1 && refused == 2;
        });
        colock::mutex mutex(client, "k");
        const auto [failure, lease] =
            co_await mutex.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failure == colock::errc::no_quorum));
        BOOST_TEST(contains(failure.details(), "it is the same server as"), failure.details());
        co_await client.close();
    }(server));
}

BOOST_AUTO_TEST_CASE(states_and_reasons_reach_the_user) {
    redis_server a;
    const redis_server b({"--requirepass", "secret"});
    run_test([](redis_server& server, std::string refused) -> asio::awaitable<void> {
        colock::config configuration;
        configuration.restart_quarantine = 0ms;
        configuration.instances = {server.uri(), refused};
        colock::client client(co_await asio::this_coro::executor, configuration);
        co_await async_wait_until([&] {
            const auto all = client.instances();
            return all[0].state == colock::instance_state::ready && !all[1].reason.empty();
        });
        BOOST_TEST(client.instances()[0].reason.empty());
        BOOST_TEST(!client.instances()[0].version.empty());
        BOOST_TEST(client.instances()[0].run_id.size() == 40U);
        BOOST_TEST(contains(client.instances()[1].reason, "NOAUTH"));
        server.kill();
        co_await async_wait_until(
            [&] { return client.instances()[0].state == colock::instance_state::down; });

        colock::mutex mutex(client, "k");
        auto [failure, lease] = co_await mutex.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((failure == colock::errc::no_quorum));
        BOOST_TEST(contains(failure.details(), "0 of 2 instances granted the lock, 2 required"),
                   failure.details());
        BOOST_TEST(contains(failure.details(), ":" + std::to_string(server.port()) + ": down, "),
                   failure.details());
        co_await client.close(asio::use_awaitable);
    }(a, local_uri(b)));
}

BOOST_AUTO_TEST_SUITE_END()
