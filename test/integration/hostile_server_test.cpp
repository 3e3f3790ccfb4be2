// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// An instance whose server behaves as no healthy server does. It sends too much, too little, or wrong data.

#include "instance/redis/dialog.hpp"
#include "instance_rig.hpp"
#include "locks.hpp"
#include "support/contains.hpp"
#include "support/fake_sentinel.hpp"
#include "support/fake_server.hpp"
#include "support/meter.hpp"
#include "support/redis_server.hpp"
#include "support/tcp_proxy.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(hostile_server_test)

namespace {

using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;
using std::chrono::steady_clock;
using strings = std::vector<std::string>;

/// Settings under which silence is not detected.
colock::instance::redis::redis_settings patient_settings() {
    auto settings = quick_settings();
    settings.connection.silence_timeout = 1h;
    return settings;
}

colock::instance::redis::redis_settings impatient_settings() {
    auto settings = quick_settings();
    settings.connection.silence_timeout = 400ms;
    return settings;
}

/// Returns a server that gives this reply to one command, and ordinary replies to all others.
fake_server answering(const std::string& name, fake_reply with) {
    return fake_server([name, with = std::move(with)](const fake_server::words& command) {
        return command[0] == name ? with : fake_reply(answer_as_server(command));
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(too_much)

namespace {

constexpr std::size_t limit = std::size_t{1} << 20U;
constexpr std::size_t piece = 64 * 1024;
constexpr std::size_t pieces = (std::size_t{1} << 30U) / piece;

/// Returns a reply of a gigabyte in total.
fake_reply endless(const std::string& begin, const std::string& more) {
    std::string text;
    while (text.size() < piece) {
        text += more;
    }
    return {begin, text, pieces};
}

colock::instance::redis::redis_settings limited_settings() {
    auto settings = patient_settings();
    settings.connection.max_reply_size = limit;
    return settings;
}

void check_too_large(const std::string& command, const fake_reply& reply) {
    // The size of the kernel buffers of both sides.
    constexpr std::size_t on_the_way = std::size_t{32} << 20U;
    const fake_server server = answering(command, reply);
    const redis_server other;
    instance_rig all({server.uri(), other.uri()}, limited_settings());
    all.run_until([&] { return all.subject(1).ready(); });
    if (command == "SET") {
        all.run_until([&] { return all.subject(0).ready(); });
        all.submit(step::acquire, "k", "ann");
        BOOST_TEST(all.votes() == strings{"failed: connection lost, granted"},
                   boost::test_tools::per_element());
    }
    all.run_until([&] { return !all.status(0).reason.empty(); });
    const std::string reason = all.status(0).reason;
    if (command == "SET") {
        // The next connection may already exist, and end for a different reason.
        all.submit(step::release, "k", "ann");
        BOOST_TEST(contains(all.votes()[0], ", granted"));
    }
    BOOST_TEST(contains(reason, "a reply is larger than 1048576 bytes (max_reply_size)"), reason);
    BOOST_TEST(server.bytes_sent() < (limit + on_the_way) * server.accepted());
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_oversized_string_ends_the_connection) {
    check_too_large("SET", endless("$10000000000\r\n", "x"));
}

BOOST_AUTO_TEST_CASE(an_endless_line_ends_the_connection) {
    check_too_large("SET", endless("+", "x"));
}

BOOST_AUTO_TEST_CASE(an_oversized_push_ends_the_connection) {
    check_too_large("SET", endless(">1000000000\r\n", ":1\r\n"));
}

BOOST_AUTO_TEST_CASE(an_oversized_probe_reply_ends_the_connection) {
    check_too_large("HELLO", endless("%1000000000\r\n", ":1\r\n"));
    check_too_large("INFO", endless("$10000000000\r\n", "x"));
}

BOOST_AUTO_TEST_CASE(an_oversized_array_ends_the_connection) {
    check_too_large("SET", endless("*1000000000\r\n", ":1\r\n"));
}

/// The length of the push could be within the limit, but the size of its elements is not.
BOOST_AUTO_TEST_CASE(a_push_that_grows_past_the_limit_ends_the_connection) {
    check_too_large("SET", endless(">300000\r\n", ":1\r\n"));
}

BOOST_AUTO_TEST_CASE(a_large_reply_within_the_limit_is_accepted) {
    const fake_server server =
        answering("INFO", bulk_string("redis_version:7.0.0\r\nuptime_in_seconds:1000\r\nother:" +
                                      std::string(limit / 2, 'x') + "\r\n"));
    instance_rig rig(server.uri(), limited_settings());
    rig.run_until_ready();
    BOOST_TEST(rig.status().version == "7.0.0");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(out_of_step)

/// One reply was lost. The server continues to send, but the command stays unanswered.
BOOST_AUTO_TEST_CASE(a_command_that_is_never_answered_ends_the_connection) {
    std::atomic<bool> silent{false};
    fake_server server([&silent](const fake_server::words& command) -> std::string {
        silent = silent || command[0] == "SET";
        return silent ? "" : answer_as_server(command);
    });
    const auto settings = impatient_settings();
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    const auto begin = steady_clock::now();
    rig.submit(step::acquire, "k", "ann");
    auto next_push = begin;
    rig.run_until([&] {
        if (steady_clock::now() >= next_push) {
            server.say(">2\r\n+message\r\n+nothing\r\n");
            next_push = steady_clock::now() + 20ms;
        }
        return !rig.subject().ready();
    });
    BOOST_TEST((steady_clock::now() - begin >= settings.connection.silence_timeout));
    BOOST_TEST(contains(rig.status().reason, "a command was not answered within 400 ms"),
               rig.status().reason);
    BOOST_TEST(rig.votes() == strings{"failed: connection lost"}, boost::test_tools::per_element());
}

/// Each command gets the reply to the next one, until a reply does not fit or none arrives.
BOOST_AUTO_TEST_CASE(a_dropped_reply_ends_the_connection) {
    std::atomic<int> sets{0};
    const fake_server server([&sets](const fake_server::words& command) -> std::string {
        if (command[0] == "SET" && sets++ == 0) {
            return "";
        }
        return command[0] == "EVAL" ? ":1\r\n" : answer_as_server(command);
    });
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    for (int i = 0; i != 3; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.submit(step::remaining, "k");
    rig.run_until([&] { return rig.state_changes() != changes; });
    BOOST_TEST(!rig.status().reason.empty());
}

// The reply to a withdrawn command still belongs to this command.
BOOST_AUTO_TEST_CASE(a_withdrawn_command_keeps_its_reply, *label("fault-79")) {
    const redis_server server;
    tcp_proxy network(server.port());
    instance_rig rig(network.uri());
    rig.run_until_ready();
    rig.acquire("taken", "somebody");
    network.hold(tcp_proxy::way::to_client);
    const auto given_up = rig.submit(step::acquire, "free", "ann");
    rig.flush();
    rig.withdraw_silently(given_up);
    const auto next = rig.submit(step::acquire, "taken", "ann");
    rig.flush();
    rig.run_until([&] { return network.waiting(tcp_proxy::way::to_client) > 0; });
    network.resume();
    BOOST_TEST(rig.votes() == (strings{"granted", "denied: another"}),
               boost::test_tools::per_element());
    BOOST_TEST(to_text(rig.vote_on(next)) == "denied: another");
}

BOOST_AUTO_TEST_CASE(an_unexpected_reply_ends_the_connection) {
    fake_server server([](const fake_server::words& command) { return answer_as_server(command); });
    instance_rig rig(server.uri(), patient_settings());
    for (const char* reply : {"+OK\r\n", ":1\r\n", "_\r\n", "-ERR no\r\n", "*1\r\n:1\r\n"}) {
        rig.run_until_ready();
        const std::size_t changes = rig.state_changes();
        server.say(reply);
        rig.run_until([&] { return rig.state_changes() != changes; });
        BOOST_TEST(contains(rig.status().reason, "a reply that no command waits for"),
                   rig.status().reason);
        BOOST_TEST(contains(rig.status().reason, ": ERR no") ==
                   (std::string_view(reply)[0] == '-'));
    }
}

BOOST_AUTO_TEST_CASE(two_replies_to_one_command_end_the_connection) {
    const fake_server server = answering("SET", "+OK\r\n+OK\r\n");
    instance_rig rig(server.uri(), patient_settings());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(contains(rig.run_until_down(), "a reply that no command waits for"));
}

BOOST_AUTO_TEST_CASE(a_reply_of_the_wrong_type_ends_the_connection) {
    const fake_server server = answering("SET", ":1\r\n");
    instance_rig rig(server.uri(), patient_settings());
    rig.run_until_ready();
    for (int i = 0; i != 3; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes() == (strings{"failed: unexpected reply", "failed: connection lost",
                                       "failed: connection lost"}),
               boost::test_tools::per_element());
    BOOST_TEST(contains(rig.status().reason, "no answer to the command"), rig.status().reason);
}

BOOST_AUTO_TEST_CASE(bytes_that_are_not_resp3_end_the_connection) {
    for (const char* reply :
         {"HTTP/1.1 400 Bad Request\r\n\r\n", "$\r\n", ":x\r\n", "$1\r\nab\r\n", "*?\r\n"}) {
        const fake_server server = answering("SET", reply);
        instance_rig rig(server.uri(), patient_settings());
        rig.run_until_ready();
        BOOST_TEST(rig.acquire("k", "ann") == "failed: connection lost");
        const std::string reason = rig.run_until_down();
        BOOST_TEST(contains(reason, "it sent what is not RESP3: \"" + std::string(reply, 1)),
                   reason);
    }
}

BOOST_AUTO_TEST_CASE(an_incomplete_reply_ends_the_connection_in_time) {
    const fake_server server = answering("SET", "$5\r\nhel");
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "failed: connection lost");
    BOOST_TEST(contains(rig.status().reason, "a command was not answered within 400 ms"),
               rig.status().reason);
}

BOOST_AUTO_TEST_CASE(an_incomplete_push_ends_the_connection_in_time) {
    fake_server server([](const fake_server::words& command) { return answer_as_server(command); });
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    server.say(">2\r\n+message\r\n");
    rig.run_until([&] { return rig.state_changes() != changes; });
    BOOST_TEST(contains(rig.status().reason, "nothing heard from it for 400 ms"),
               rig.status().reason);
}

namespace {

/// Returns a reply that begins with `begin` and never ends.
fake_reply flood(const std::string& begin = {}) {
    std::string pushes;
    for (int i = 0; i != 100; ++i) {
        pushes += ">2\r\n+message\r\n+x\r\n";
    }
    return {begin, pushes, std::size_t(-1)};
}

}  // namespace

/// A defect let each message postpone the timer.
BOOST_AUTO_TEST_CASE(a_dialog_ends_in_time_in_a_flood_of_pushes, *label("fault-105")) {
    const fake_server from_the_beginning([](const fake_server::words&) { return flood(); });
    const fake_server later([](const fake_server::words& command) {
        return command[0] == "HELLO" ? fake_reply(answer_as_server(command)) : flood();
    });
    for (const fake_server* const server : {&from_the_beginning, &later}) {
        run_test([](const fake_server& with) -> asio::awaitable<void> {
            const auto executor = co_await asio::this_coro::executor;
            const meter costs(executor);
            colock::instance::redis::connection_settings settings;
            settings.connect_timeout = 500ms;
            colock::instance::redis::address to;
            to.host = "127.0.0.1";
            to.port = std::to_string(with.port());
            const auto one =
                std::make_shared<colock::instance::redis::dialog>(executor, to, settings);
            const std::vector<std::string_view> question{"SENTINEL", "MYID"};
            std::string reason = co_await one->open();
            if (reason.empty()) {
                reason = (co_await one->ask(question)).problem();
            }
            BOOST_TEST(reason == "it did not answer in time (connect_timeout, 500 ms)");
            one->close();
        }(*server));
    }
}

BOOST_AUTO_TEST_CASE(a_flood_of_pushes_does_not_count_as_an_answer, *label("fault-105")) {
    const fake_server to_probe([](const fake_server::words&) { return flood(); });
    auto settings = impatient_settings();
    settings.connection.connect_timeout = 500ms;
    instance_rig probing(to_probe.uri(), settings);
    BOOST_TEST(contains(probing.run_until_down(), "the probe was not answered in time"));
    const fake_server to_set = answering("SET", flood());
    instance_rig acquiring(to_set.uri(), impatient_settings());
    const meter costs(acquiring.executor());
    acquiring.run_until_ready();
    BOOST_TEST(acquiring.acquire("k", "ann") == "failed: connection lost");
}

/// Messages of one Sentinel make the client query the other Sentinels.
BOOST_AUTO_TEST_CASE(a_flood_of_messages_causes_no_flood_of_queries, *label("fault-105")) {
    const redis_server master;
    fake_sentinel loud;
    fake_sentinel other;
    loud.name(master.port());
    other.name(master.port());
    instance_rig rig("redis+sentinel://" + loud.host_and_port() + "," + other.host_and_port() +
                     "/mymaster");
    rig.run_until_ready();
    const std::size_t before = other.asked();
    const stopwatch since;
    rig.run_until([&] {
        loud.announce("x");
        return other.asked() >= before + 30;
    });
    BOOST_TEST((since.elapsed() >= 400ms));
}

/// Computations with the largest numbers overflowed.
BOOST_AUTO_TEST_CASE(an_implausible_uptime_counts_as_not_reported, *label("fault-105")) {
    for (const std::chrono::seconds uptime :
         {std::chrono::seconds::max(), std::chrono::seconds::min(), std::chrono::seconds(-1)}) {
        const fake_server server([&](const fake_server::words& command) {
            return answer_as_server(command, {.uptime = uptime});
        });
        auto settings = quick_settings();
        settings.quarantine.length = 1h;
        instance_rig rig(server.uri(), settings);
        rig.run_until([&] { return rig.status().state == colock::instance::state::quarantined; });
        BOOST_TEST(
            contains(rig.status().why_quarantined, "does not report its uptime, grants locks in "));
    }
}

BOOST_AUTO_TEST_CASE(pushes_of_any_kind_are_ignored) {
    fake_server server([](const fake_server::words& command) { return answer_as_server(command); });
    instance_rig rig(server.uri(), patient_settings());
    rig.run_until_ready();
    for (const char* push : {">0\r\n", ">1\r\n+x\r\n", ">2\r\n-ERR x\r\n*1\r\n-ERR y\r\n"}) {
        server.say(push);
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
    }
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_SUITE_END()

// The event loop is blocked, so the replies remain unread.
BOOST_AUTO_TEST_SUITE(blocked_event_loop)

BOOST_AUTO_TEST_CASE(replies_received_while_blocked_are_read_before_timeouts) {
    const redis_server server;
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    for (int i = 0; i != 2000; ++i) {  // More than one read returns.
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.run_until([&] { return rig.voted(0); });
    for (int i = 0; i != 2000; ++i) {
        rig.submit(step::remaining, std::to_string(i));
    }
    rig.flush();
    rig.run_until([&] { return rig.voted(2000); });
    std::this_thread::sleep_for(1s);
    for (const std::string& vote : rig.votes()) {
        BOOST_TEST((vote == "granted" || vote == "denied: another"), vote);
    }
    BOOST_TEST(rig.state_changes() == changes);
    BOOST_TEST(rig.status().reason.empty(), rig.status().reason);
}

/// The loop is blocked for longer than `stall_timeout`. The next command is sent before the answer is read.
BOOST_AUTO_TEST_CASE(a_server_whose_answers_are_unread_has_not_stalled, *label("fault-124")) {
    const redis_server server;
    auto settings = impatient_settings();
    settings.stall_timeout = 100ms;
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    rig.submit(step::acquire, "a", "ann");
    rig.flush();
    std::this_thread::sleep_for(500ms);
    rig.submit(step::acquire, "b", "ann");
    rig.flush();
    rig.run_until_voted();
    BOOST_TEST(rig.votes().back() == "granted");
}

BOOST_AUTO_TEST_CASE(an_idle_connection_survives_a_blocked_event_loop) {
    const redis_server server;
    auto settings = impatient_settings();
    settings.connection.silence_timeout = 1500ms;  // The ping uses half. The server may stall.
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    std::this_thread::sleep_for(2s);
    const auto end = steady_clock::now() + 1s;
    rig.run_until([&] { return steady_clock::now() > end; });
    BOOST_TEST(rig.state_changes() == changes);
    BOOST_TEST(rig.status().reason.empty(), rig.status().reason);
}

BOOST_AUTO_TEST_CASE(a_lost_connection_reports_a_blocked_event_loop) {
    redis_server server;
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    server.pause();
    std::this_thread::sleep_for(2s);
    rig.run_until([&] { return rig.state_changes() != changes; });
    const std::string reason = rig.status().reason;
    const std::string text = ", the event loop was blocked for ";
    const auto found = reason.find(text);
    BOOST_REQUIRE_MESSAGE(found != std::string::npos, reason);
    const int blocked = std::stoi(reason.substr(found + text.size()));
    BOOST_TEST(blocked > 1500, reason);
    BOOST_TEST(contains(reason, " ms"), reason);
    server.resume();
    rig.run_until_ready();
}

BOOST_AUTO_TEST_CASE(a_silent_server_is_given_up_although_the_event_loop_is_often_blocked) {
    redis_server server;
    const auto settings = impatient_settings();
    instance_rig rig(server.uri(), settings);
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    server.pause();
    rig.submit(step::acquire, "k", "ann");
    const auto silence = settings.connection.silence_timeout;
    wait_until([&] {
        std::this_thread::sleep_for(silence * 6 / 10);
        const auto end = steady_clock::now() + silence * 3 / 10;
        rig.run_until([&] { return steady_clock::now() > end; });
        return rig.state_changes() != changes;
    });
    server.resume();
    rig.run_until_ready();
}

BOOST_AUTO_TEST_CASE(no_blocked_event_loop_is_reported_for_a_silent_server) {
    redis_server server;
    instance_rig rig(server.uri(), impatient_settings());
    rig.run_until_ready();
    server.pause();
    rig.submit(step::acquire, "k", "ann");
    auto last = steady_clock::now();
    steady_clock::duration longest{};  // The longest time during which this process did not run.
    rig.run_until([&] {
        longest = std::max(longest, steady_clock::now() - last);
        last = steady_clock::now();
        return !rig.subject().ready();
    });
    const std::string reason = rig.status().reason;
    BOOST_TEST((!contains(reason, "blocked") || longest > 50ms), reason);
    server.resume();
}

BOOST_AUTO_TEST_SUITE_END()

// A proxy that replies with an error may have forwarded the command.
BOOST_AUTO_TEST_SUITE(errors_after_the_execution)

namespace {

/// Returns a proxy that forwards commands which create or delete a key. It replies to an acquire with an
/// error after the server has executed it.
fake_server timing_out(redis_server& behind) {
    return fake_server([&behind](const fake_server::words& command) -> std::string {
        const bool acquires =
            command[0] == "SET" || (command[0] == "EVAL" && contains(command[1], "FENCE"));
        if (acquires) {
            behind.command(command);
            return "-ERR upstream timed out\r\n";
        }
        const bool is_of_probe = command[0] == "EVAL" && command[2] == "0";
        return command[0] == "EVAL" && !is_of_probe ? ":" + behind.command(command).value() + "\r\n"
                                                    : answer_as_server(command);
    });
}

void check_undone(const colock::lock_options& options) {
    redis_server server;
    const fake_server proxy = timing_out(server);
    run_test([](redis_server& behind, std::string uri,
                colock::lock_options how) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        colock::config configuration;
        configuration.instances.push_back(uri);
        colock::client locks(executor, configuration);
        co_await all_ready(locks);
        const auto [e, nothing] =
            co_await colock::mutex(locks, "k", how).try_acquire(asio::as_tuple);
        BOOST_TEST((e == colock::errc::no_quorum));
        BOOST_TEST(!nothing.owns_lock());
        BOOST_TEST(contains(e.details(),
                            "possibly after the command was executed: ERR upstream timed out"),
                   e.details());
        co_await settled(locks);
        BOOST_TEST(executed(behind, "eval") > 0U);
        BOOST_TEST(!behind.has("k"));
        BOOST_TEST(locks.counters().undone == 1U);
        co_await locks.close();
    }(server, proxy.uri(), options));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_key_set_by_a_failed_acquire_is_deleted) {
    check_undone({});
}

BOOST_AUTO_TEST_CASE(a_key_set_by_a_failed_fenced_acquire_is_deleted) {
    check_undone({.fencing = true});
}

BOOST_AUTO_TEST_SUITE_END()

// The server accepts connections and never replies.
BOOST_AUTO_TEST_SUITE(silent_from_the_beginning)

namespace {

fake_server silent_server() {
    return fake_server([](const fake_server::words&) { return ""; });
}

/// Three such servers, and a configuration that keeps connecting until the test ends.
struct silent_servers {
    fake_server a = silent_server();
    fake_server b = silent_server();
    fake_server c = silent_server();

    [[nodiscard]] colock::config config() const {
        colock::config result;
        result.instances = {a.uri(), b.uri(), c.uri()};
        result.connect_timeout = 1min;
        result.silence_timeout = 1min;
        return result;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_first_call_ends_after_the_unavailable_timeout) {
    const silent_servers three;
    run_test([](colock::config configuration) -> asio::awaitable<void> {
        colock::client locks(co_await asio::this_coro::executor, std::move(configuration));
        colock::lock_options options;
        options.unavailable_timeout = 400ms;
        const colock::mutex mutex(locks, "k", options);
        for (int i = 0; i != 2; ++i) {
            const stopwatch time;
            const auto [e, nothing] = co_await mutex.acquire(asio::as_tuple);
            BOOST_TEST((e == colock::errc::no_quorum));
            BOOST_TEST(contains(e.details(), ": down, not connected yet]"), e.details());
            BOOST_TEST((time.elapsed() >= 400ms));
            BOOST_TEST((time.elapsed() < 20s));
        }
        const auto [e, nothing] = co_await mutex.try_acquire(asio::as_tuple);
        BOOST_TEST((e == colock::errc::no_quorum));
        const auto [timed, none] = co_await mutex.try_acquire_for(1h, asio::as_tuple);
        BOOST_TEST((timed == colock::errc::no_quorum));
        co_await locks.close();
    }(three.config()));
}

BOOST_AUTO_TEST_CASE(queued_calls_fail_after_their_unavailable_timeout) {
    const silent_servers three;
    run_test([](colock::config configuration) -> asio::awaitable<void> {
        colock::client locks(co_await asio::this_coro::executor, std::move(configuration));
        colock::lock_options options;
        options.unavailable_timeout = 300ms;
        const colock::mutex mutex(locks, "k", options);
        int failed = 0;
        for (int i = 0; i != 5; ++i) {
            mutex.acquire([&](const colock::error& e, const colock::lease&) {
                BOOST_TEST((e == colock::errc::no_quorum));
                ++failed;
            });
        }
        const stopwatch time;
        co_await async_wait_until([&] { return failed == 5; });
        BOOST_TEST((time.elapsed() >= 300ms));
        co_await locks.close();
    }(three.config()));
}

BOOST_AUTO_TEST_CASE(connect_timeout_bounds_connecting_and_the_probe) {
    const fake_server server = silent_server();
    auto settings = patient_settings();
    settings.connection.connect_timeout = 2s;
    const auto begin = steady_clock::now();
    instance_rig rig(server.uri(), settings);
    const std::string reason = rig.run_until_down();
    const auto waited = steady_clock::now() - begin;
    BOOST_TEST((waited >= 2s));
    BOOST_TEST((waited < 5s));
    BOOST_TEST(reason == "the probe was not answered in time (connect_timeout, 2000 ms)");
}

/// The first call waits for a server that replies, whichever call it is.
BOOST_AUTO_TEST_CASE(the_first_call_waits_for_a_healthy_server) {
    const redis_server server;
    run_test([](std::string uri) -> asio::awaitable<void> {
        const auto executor = co_await asio::this_coro::executor;
        colock::config configuration;
        configuration.instances.push_back(uri);
        colock::lock_options at_once;
        at_once.unavailable_timeout = 0ms;
        for (const auto& options : std::vector<colock::lock_options>{{}, at_once}) {
            for (const auto ago : {0ms, 1ms, 1000ms}) {
                colock::client locks(executor, configuration);
                auto held = co_await colock::mutex(locks, "k", options)
                                .try_acquire_until(steady_clock::now() - ago);
                BOOST_REQUIRE(held.owns_lock());
                co_await held.release();
                co_await locks.close();
            }
            colock::client locks(executor, configuration);
            colock::lease held = co_await colock::mutex(locks, "k", options).acquire();
            BOOST_TEST(held.valid());
            co_await held.release();
            co_await locks.close();
        }
    }(server.uri()));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
