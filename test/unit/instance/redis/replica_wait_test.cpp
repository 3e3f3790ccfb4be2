// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// When a connection asks whether its grants have reached the replicas.

#include "instance/redis/replica_wait.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace colock::instance::redis::test {
namespace {

using boost::unit_test::label;
using namespace std::chrono_literals;

constexpr core::time_point start{1h};

BOOST_AUTO_TEST_SUITE(replica_wait_test)

BOOST_AUTO_TEST_CASE(without_replicas_there_is_no_wait) {
    const replica_wait none(0, 10ms);
    BOOST_TEST(!none.needed());
    BOOST_TEST(!none.follows_acquires());
    BOOST_TEST(!none.follows_grants());
    BOOST_TEST((none.wake_at() == core::never));
}

BOOST_AUTO_TEST_CASE(the_wait_timeout_is_at_least_one_millisecond) {
    BOOST_TEST(replica_wait(2, 10ms).text() == "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$2\r\n10\r\n");
    // A timeout of 0 would mean no limit.
    BOOST_TEST(replica_wait(1, 0ms).text() == "*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n1\r\n");
}

BOOST_AUTO_TEST_CASE(at_most_one_wait_is_in_flight, *label("fault-98")) {
    replica_wait wait(1, 10ms);
    BOOST_TEST(wait.follows_acquires());
    wait.on_sent(start);
    BOOST_TEST(!wait.follows_acquires());
    BOOST_TEST(!wait.follows_grants());
    wait.on_answered(true);
    BOOST_TEST(wait.follows_acquires());
}

BOOST_AUTO_TEST_CASE(after_a_failed_wait_only_grants_are_waited_for, *label("fault-98")) {
    replica_wait wait(1, 10ms);
    wait.on_sent(start);
    wait.on_answered(false);
    BOOST_TEST(!wait.follows_acquires());
    BOOST_TEST(wait.follows_grants());
    wait.on_sent(start);
    wait.on_answered(true);
    BOOST_TEST(wait.follows_acquires());
}

BOOST_AUTO_TEST_CASE(a_new_connection_resets_the_wait, *label("fault-98")) {
    replica_wait wait(1, 10ms);
    wait.on_sent(start);
    wait.on_answered(false);
    wait.on_sent(start);
    wait.on_ended();
    BOOST_TEST(wait.follows_acquires());
    BOOST_TEST((wait.wake_at() == core::never));
}

BOOST_AUTO_TEST_CASE(an_overdue_wait_wakes_the_server_with_growing_pauses, *label("fault-98")) {
    replica_wait wait(1, 10ms);
    for (int i = 0; i != 2; ++i) {
        wait.on_sent(start);
        BOOST_TEST((wait.wake_at() == start + 11ms));
        wait.on_woken(start + 12ms);
        BOOST_TEST((wait.wake_at() == start + 13ms));
        wait.on_woken(start + 13ms);
        BOOST_TEST((wait.wake_at() == start + 15ms));
        wait.on_woken(start + 15ms);
        BOOST_TEST((wait.wake_at() == start + 19ms));
        wait.on_answered(false);
        BOOST_TEST((wait.wake_at() == core::never));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
