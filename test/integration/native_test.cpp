// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Servers with a native compare-and-delete command.

#include "instance_rig.hpp"
#include "locks.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(native_test)

using namespace colock::test;
using namespace std::chrono_literals;
using colock::core::step;
using strings = std::vector<std::string>;

namespace {

std::string uri_of_ann(const redis_server& server) {
    return "redis://ann:x@127.0.0.1:" + std::to_string(server.port());
}

}  // namespace

BOOST_AUTO_TEST_CASE(releases_run_no_script) {
    const redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"CONFIG", "RESETSTAT"});
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "bob") == "denied: not ours");
    BOOST_TEST(server.has("k"));
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(!server.has("k"));
    BOOST_TEST(rig.release("k", "ann") == "denied: not ours");
    BOOST_TEST(executed(server, "delifeq") == 3U);
    BOOST_TEST(executed(server, "evalsha") == 0U);
    // There is no native command for this step.
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(executed(server, "evalsha") == 1U);
}

// An error may be caused by the command and not by the request. The client then uses the script.
BOOST_AUTO_TEST_CASE(a_script_answers_if_the_native_command_fails) {
    const redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"RPUSH", "list", "ann"});
    BOOST_TEST(rig.release("list", "ann") == "denied: another");
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("list", "ann") == "denied: another");
    BOOST_TEST(server.has("list"));
    rig.acquire("k", "ann");
    server.command({"CONFIG", "RESETSTAT"});
    BOOST_TEST(rig.release("k", "ann") == "granted");  // The next release is fast again.
    BOOST_TEST(executed(server, "delifeq") == 1U);
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(scripts_answer_many_failed_native_releases_at_once) {
    constexpr int keys = 200;
    const redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    strings expected;
    for (int i = 0; i != keys; ++i) {
        if (i % 3 == 0) {
            server.command({"RPUSH", std::to_string(i), "ann"});
        }
        rig.submit(step::acquire, std::to_string(i), "ann");
        rig.submit(step::release, std::to_string(i), "ann");
        const std::string vote = i % 3 == 0 ? "denied: another" : "granted";
        expected.insert(expected.end(), {vote, vote});
    }
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_pending_resend_fails_when_the_instance_stops) {
    const redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    server.command({"RPUSH", "list", "ann"});
    const auto list = rig.submit(step::release, "list", "ann");
    const auto last = rig.submit(step::acquire, "k", "ann");
    rig.after_vote = [&](colock::instance::command_tag tag) {
        if (tag == last) {  // By then the other command waits to be sent again.
            rig.subject().stop();
        }
    };
    rig.run_until_voted();
    BOOST_TEST(to_text(rig.vote_on(last)) == "granted");
    BOOST_TEST(to_text(rig.vote_on(list)) == "failed: down");
}

BOOST_AUTO_TEST_CASE(a_user_without_the_native_command_uses_the_script) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-delifeq"});
    instance_rig rig(uri_of_ann(server));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    server.command({"CONFIG", "RESETSTAT"});
    for (int i = 0; i != 5; ++i) {  // The client does not try it again.
        BOOST_TEST(rig.acquire("k", "ann") == "granted");
        BOOST_TEST(rig.release("k", "bob") == "denied: another");
        BOOST_TEST(rig.release("k", "ann") == "granted");
    }
    BOOST_TEST(executed(server, "delifeq") == 0U);
    BOOST_TEST(executed(server, "evalsha") == 10U);
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(releases_fall_back_to_scripts_if_the_command_is_forbidden) {
    constexpr int keys = 100;
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all"});
    instance_rig rig(uri_of_ann(server));
    rig.run_until_ready();
    for (int i = 0; i != keys; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    rig.votes();
    BOOST_TEST(rig.release("0", "ann") == "granted");
    server.command({"ACL", "SETUSER", "ann", "-delifeq"});
    for (int i = 1; i != keys; ++i) {
        rig.submit(step::release, std::to_string(i), "ann");
        if (i % 7 == 0) {
            rig.flush();  // Some commands are refused before others have been sent.
        }
    }
    BOOST_TEST(rig.votes() == strings(keys - 1, "granted"), boost::test_tools::per_element());
    BOOST_TEST(server.keys().empty());
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(a_forbidden_key_does_not_disable_the_native_command) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    instance_rig rig(uri_of_ann(server));
    rig.run_until_ready();
    const auto vote = rig.ask(step::release, "yours:k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(vote.detail->starts_with("NOPERM"), *vote.detail);
    rig.acquire("mine:k", "ann");
    server.command({"CONFIG", "RESETSTAT"});
    BOOST_TEST(rig.release("mine:k", "ann") == "granted");
    BOOST_TEST(executed(server, "delifeq") == 1U);
}

BOOST_AUTO_TEST_CASE(servers_with_and_without_the_command_share_a_batch) {
    const redis_server with;
    const redis_server without({"--rename-command", "DELIFEQ", ""});
    instance_rig all({with.uri(), without.uri(), with.uri() + "/1"});
    all.run_until_ready();
    with.command({"CONFIG", "RESETSTAT"});
    without.command({"CONFIG", "RESETSTAT"});
    const auto as_one = [](const std::string& vote) { return vote + ", " + vote + ", " + vote; };
    for (int i = 0; i != 5; ++i) {
        all.submit(step::acquire, "k", "ann");
        all.submit(step::release, "k", "bob");
        all.submit(step::release, "k", "ann");
        const strings expected{as_one("granted"),
                               "denied: not ours, denied: another, denied: not ours",
                               as_one("granted")};
        BOOST_TEST(all.votes() == expected, boost::test_tools::per_element());
    }
    BOOST_TEST(executed(with, "evalsha") == 0U);
    BOOST_TEST(executed(without, "evalsha") == 5U);  // One script call covers both releases.
}

// A server is replaced by an older one, and no operation fails.
BOOST_AUTO_TEST_CASE(native_releases_follow_a_change_of_the_server_version) {
    const char* const newer = std::getenv("COLOCK_REDIS_SERVER");
    BOOST_TEST_REQUIRE(newer != nullptr);
    const std::string valkey = newer;
    redis_server server;
    instance_rig rig(server.uri());
    rig.run_until_ready();
    for (const char* const program : {"redis-server", valkey.c_str()}) {
        ::setenv("COLOCK_REDIS_SERVER", program, 1);
        server.restart();
        rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
        const bool older = std::string_view(program) == "redis-server";
        BOOST_TEST(rig.release("k", "bob") == (older ? "denied: another" : "denied: not ours"));
        BOOST_TEST(rig.release("k", "ann") == "granted");
        BOOST_TEST(executed(server, "delifeq") == (older ? 0U : 2U));
    }
}

BOOST_AUTO_TEST_SUITE_END()
