// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The order in which commands are sent again, and the other commands that have to wait.

#include "instance/redis/resend_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace colock::instance::redis::test {
namespace {

submission command_for(std::string_view key, command_tag tag = 0) {
    submission result;
    result.tag = tag;
    result.command.key = key;
    return result;
}

/// Returns the tags of the commands to send now, such as "1 2".
std::string taken(resend_queue& queue) {
    std::string result;
    for (const resend_queue::entry& one : queue.take()) {
        result += (result.empty() ? "" : " ") + std::to_string(one.command.tag);
    }
    return result;
}

BOOST_AUTO_TEST_SUITE(resend_queue_test)

BOOST_AUTO_TEST_CASE(idle_queue_delays_no_command) {
    const resend_queue queue;
    BOOST_TEST(queue.empty());
    BOOST_TEST(queue.idle());
    BOOST_TEST(!queue.has_overtaken("k", 7));
}

BOOST_AUTO_TEST_CASE(commands_sent_before_a_resend_count_as_overtaking) {
    resend_queue queue;
    queue.add(command_for("k", 1), script_form::in_full, 10);
    BOOST_TEST(!queue.empty());
    BOOST_TEST(queue.has_overtaken("k", 11));
    BOOST_TEST(!queue.has_overtaken("l", 11));
    BOOST_TEST(taken(queue) == "1");
    BOOST_TEST(queue.empty());
    BOOST_TEST(queue.has_overtaken("k", 11));  // Until the number of the resend is known.
    queue.sent("k", 15);
    BOOST_TEST(queue.has_overtaken("k", 14));
    BOOST_TEST(!queue.has_overtaken("k", 15));
    BOOST_TEST(!queue.has_overtaken("k", 16));
    queue.answered("k", 14);
    BOOST_TEST(!queue.idle());
    queue.answered("k", 15);
    BOOST_TEST(queue.idle());
    BOOST_TEST(!queue.has_overtaken("k", 14));
}

BOOST_AUTO_TEST_CASE(a_dropped_command_does_not_keep_the_queue_busy) {
    resend_queue queue;
    queue.add(command_for("k", 1), script_form::in_full, 10);
    queue.add(command_for("k", 2), script_form::in_full, 11);
    BOOST_TEST(taken(queue) == "1 2");
    queue.drop("k");
    queue.sent("k", 20);
    BOOST_TEST(!queue.has_overtaken("k", 20));
    BOOST_TEST(queue.has_overtaken("k", 19));
    queue.answered("k", 20);
    BOOST_TEST(queue.idle());
}

BOOST_AUTO_TEST_CASE(later_resends_do_not_delay_earlier_ones) {
    resend_queue queue;
    queue.add(command_for("k", 1), script_form::in_full, 10);
    queue.add(command_for("k", 2), script_form::shortest, 11);
    queue.add(command_for("k", 3), script_form::in_full, 12);
    BOOST_TEST(taken(queue) == "1 2 3");
    for (const resend_queue::number as : {20U, 21U, 22U}) {
        queue.sent("k", as);
    }
    queue.answered("k", 20);
    BOOST_TEST(!queue.has_overtaken("k", 21));
    BOOST_TEST(queue.has_overtaken("k", 13));
    queue.answered("k", 21);
    queue.answered("k", 22);
    BOOST_TEST(queue.idle());
}

BOOST_AUTO_TEST_CASE(a_command_sent_a_third_time_keeps_its_place) {
    resend_queue queue;
    queue.add(command_for("k", 1), script_form::digest, 10);
    queue.add(command_for("k", 2), script_form::shortest, 11);
    BOOST_TEST(taken(queue) == "1 2");
    queue.sent("k", 20);
    queue.sent("k", 21);
    queue.add(command_for("k", 1), script_form::in_full, 20);
    BOOST_TEST(queue.has_overtaken("k", 21));
    queue.add(command_for("k", 2), script_form::shortest, 21);
    BOOST_TEST(taken(queue) == "1 2");
    queue.sent("k", 30);
    queue.sent("k", 31);
    BOOST_TEST(!queue.has_overtaken("k", 31));
    queue.answered("k", 30);
    queue.answered("k", 31);
    BOOST_TEST(queue.idle());
}

BOOST_AUTO_TEST_CASE(clearing_the_queue_makes_it_idle) {
    resend_queue queue;
    queue.add(command_for("k"), script_form::digest, 10);
    queue.clear();
    BOOST_TEST(queue.empty());
    BOOST_TEST(queue.idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
