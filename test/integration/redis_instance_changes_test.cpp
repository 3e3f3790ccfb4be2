// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Notifications about the keys that the instance has subscribed to.

#include "integration/redis_instance.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

using namespace colock::test;
using namespace std::chrono_literals;
using colock::core::step;

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
    // The instance has subscribed again.
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
    // Not reported either: its own write has ended the subscription.
    server.command({"SET", "k", "bob"});
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
