// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The scripts of an instance on a server that may have lost them.

#include "integration/instance_rig.hpp"
#include "integration/locks.hpp"
#include "integration/redis_instance.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"
#include "support/redis_server.hpp"
#include "support/run.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>
#include <colock/lease.hpp>
#include <colock/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;

BOOST_AUTO_TEST_SUITE(scripts)

/// A key that no lock wrote leads to a denial and is left unchanged. If a script reads the key, the vote
/// reports its type.
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
                const bool is_readers = kind->traits().admission.shares_lease();
                const std::string token = is_readers ? reader : "ann";
                check({step::extend, *kind}, token);
                if (!kind->traits().released_natively) {
                    check({step::release, *kind}, token);
                }
                if (kind->traits().value_per_holder) {
                    check({step::acquire, *kind}, token);
                    check({step::confirm, *kind}, token);
                }
                if (kind->announces()) {
                    const auto vote = check({step::remaining, *kind}, token);
                    BOOST_TEST((vote.remaining > 50s && vote.remaining <= 100s));
                }
            }
            // SET does not return the key's value.
            BOOST_TEST(rig.acquire("k", "ann") == "denied: another");
            // Many releases are one script call.
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
    BOOST_TEST(rig.status().reason.empty());  // The connection was not lost.
}

// After one full transmission, the server has the scripts again.
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
    instance_rig all({other.uri(), forgetful.uri(), local_uri(other, "", "/1")});
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

/// These commands follow a release whose script was lost. They were executed before the release deleted the
/// key.
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
        const strings expected{"granted",          // Release of ann.
                               "granted",          // Acquire of bob.
                               "granted",          // Extend of bob.
                               "denied: another",  // The holder of l is ann.
                               "granted",          // Release of bob.
                               "denied: nobody",   // No lock is held by eve.
                               "granted",          // Acquire of cid.
                               "denied: another",  // Fenced acquire of eve.
                               "granted",          // Release of cid.
                               "denied: nobody",   // Remaining.
                               "granted",          // Acquire of dan.
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

/// The same case through the public interface.
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
            BOOST_REQUIRE(held.owns_lock());
            one.command({"SCRIPT", "FLUSH"});
            held.release([](const colock::error&, colock::release_result) {});
            auto again = co_await mutex.try_acquire();
            BOOST_REQUIRE(again.owns_lock());
            co_await again.release();
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
