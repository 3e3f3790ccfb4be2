// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The errors that a server may return instead of a vote.

#include "integration/redis_instance.hpp"
#include "support/fake_server.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

using namespace colock::test;
using boost::unit_test::label;
using colock::core::step;

BOOST_AUTO_TEST_SUITE(server_errors)

namespace {

/// Checks that a vote fails with the server's message and that the connection is kept.
void check_server_error(instance_rig& rig, step v, const std::string& key, const std::string& token,
                        std::string_view text) {
    const auto vote = rig.ask(v, key, token);
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(contains(detail_of(vote), text), detail_of(vote));
    BOOST_TEST(rig.subject().ready());
    BOOST_TEST(rig.status().reason.empty());
}

/// Makes the server a replica of an unreachable primary, so it keeps its keys.
void demote(const redis_server& server) {
    const reserved_port nobody;
    server.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
}

/// Demotes a connected server. The instance must be down until the server is a master again.
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

// A wrong scheme is reported immediately, with the right one.
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

// The node behaves as if it were behind a proxy that hides the mode.
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
    // The same happens if the server has also lost the script.
    server.command({"SCRIPT", "FLUSH"});
    BOOST_TEST(rig.release("l", "ann") == "granted");
    BOOST_TEST(server.keys().empty());
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST(rig.acquire("m", "ann") == "granted");
}

// A client can connect to a server that is out of memory, because there may be locks to release.
BOOST_AUTO_TEST_CASE(a_server_out_of_memory_can_be_connected_to, *label("fault-27")) {
    redis_server server({"--maxmemory-policy", "noeviction"});
    server.command({"SET", "k", "ann"});
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.release("k", "ann") == "granted");
    check_server_error(rig, step::acquire, "k", "ann", "OOM");
}

// While a script runs for too long, the server replies to every command with BUSY.
BOOST_AUTO_TEST_CASE(a_busy_server_is_a_failed_vote, *label("fault-28")) {
    redis_server server({"--lua-time-limit", "1"});
    instance_rig rig(server.uri());
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    const std::jthread caller([&server] {
        try {
            server.command({"EVAL", "while true do end", "0"});
        } catch (const std::runtime_error&) {  // The script is killed below.
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

// Another program deletes the key, or all keys.
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
