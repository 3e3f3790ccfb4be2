// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The remote queue of a key on the server. test/integration/remote_queue_test.cpp tests how clients use it.

#include "conformance.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(remote_queue_test)

using namespace colock::test;

namespace {

/// Sends a join or leave with that number to the remote queue of "k".
vote ask_queue(instance_rig& rig, step v, std::uint64_t number) {
    return rig.ask_fence(v, "k", "", number);
}

/// A foreign key that colock did not write, under a name that colock uses.
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
        BOOST_TEST(left.value == 0U);
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
    BOOST_TEST(ask_queue(rig, step::join, 11).value == 0U);
    BOOST_TEST(ask_queue(rig, step::join, 12).value == 11U);
    BOOST_TEST(ask_queue(rig, step::join, 13).value == 12U);
    BOOST_TEST(ask_queue(rig, step::join, 12).value == 11U);
    server.command({"DEL", "{k}:colock:ticket:12"});  // Its client has died.
    BOOST_TEST(ask_queue(rig, step::join, 13).value == 11U);
    BOOST_TEST(server.command({"LRANGE", "{k}:colock:queue", "0", "-1"}).value() ==
               "ticket:11\nticket:13");
    BOOST_TEST(ask_queue(rig, step::leave, 11).value == 1U);
    BOOST_TEST(ask_queue(rig, step::join, 13).value == 0U);
    BOOST_TEST(ask_queue(rig, step::leave, 13).value == 0U);
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
    BOOST_TEST(ask_queue(rig, step::join, 3).value == 1U);
    BOOST_TEST(server.command({"LRANGE", "{k}:colock:queue", "0", "-1"}).value() ==
               "ticket:1\njob\nticket:3");
}

BOOST_AUTO_TEST_SUITE_END()
