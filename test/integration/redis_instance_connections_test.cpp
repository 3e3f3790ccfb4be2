// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Connections that break, stall or end, and servers that are killed, stopped or slow.

#include "integration/instance_rig.hpp"
#include "integration/redis_instance.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <sstream>
#include <string>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;
using colock::instance::state;
using std::chrono::steady_clock;

namespace {

/// Comparisons of times allow for a busy machine.
constexpr auto slack = 5s;

/// Returns settings under which silence is detected soon.
colock::instance::redis::redis_settings impatient_settings() {
    auto settings = quick_settings();
    settings.connection.silence_timeout = 300ms;
    return settings;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(broken_connections)

BOOST_AUTO_TEST_CASE(an_instance_is_down_on_a_kill_and_reconnects_on_restart) {
    redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    const std::string first_run = rig.status().run_id;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    server.pause();  // Later commands stay unanswered.
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.flush();
    BOOST_TEST(rig.status().in_flight == 10U);
    server.kill();
    const std::string reason = rig.run_until_down();
    BOOST_TEST(!contains(reason, "nothing heard"), reason);  // No timeout was needed.
    BOOST_TEST(rig.votes() == strings(10, "failed: connection lost"),
               boost::test_tools::per_element());
    BOOST_TEST(!detail_of(rig.vote_on(5)).empty());
    BOOST_TEST(rig.status().in_flight == 0U);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");

    server.restart();
    rig.run_until_ready();
    BOOST_TEST(rig.status().run_id != first_run);
    BOOST_TEST(!rig.status().reason.empty());
    BOOST_TEST(server.keys().empty());  // Nothing was replayed.
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
    BOOST_TEST(rig.status().in_flight == 100U);  // The others already have their votes.
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
        if (calls == 0) {  // Nothing was refused or lost.
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

// A quarantined instance accepts releases.
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

// The kernel accepts the connection, but the server does not reply.
BOOST_AUTO_TEST_CASE(a_stopped_server_never_becomes_ready) {
    redis_server server;
    server.pause();
    auto settings = impatient_settings();
    instance_rig rig(server.uri(), settings);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    const std::string reason = rig.run_until_down();
    BOOST_TEST_MESSAGE("never answered: " << reason);
    BOOST_TEST(rig.state_changes() == 1U);  // From connecting to down.
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

// After a bounded stall, everything continues on the same connection.
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
    const auto release = rig.submit(step::release, "held", "ann");  // Acquires nothing.
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

// The first batch may be written to a slow server long after the others have received it, and after many
// other batches.
BOOST_AUTO_TEST_CASE(a_slow_server_receives_all_batches_unchanged) {
    constexpr int rounds = 300;
    redis_server slow;
    redis_server fast;
    instance_rig all({fast.uri(), slow.uri()});
    all.run_until_ready();
    slow.pause();
    const std::string long_text(64 * 1024, 'x');  // The total exceeds the kernel's buffers.
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
    instance_rig all({a.uri(), b.uri(), a.uri() + "/1"});
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

// Many pushes arrive about keys that this instance does not track, because another connection redirects its
// pushes to it.
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
