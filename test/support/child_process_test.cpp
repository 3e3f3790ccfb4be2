// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/child_process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>

namespace {

using namespace colock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(child_process_test)

BOOST_AUTO_TEST_CASE(lines_are_sent_and_received) {
    child_process echo("echo", {"cat"});
    BOOST_TEST(!echo.line().has_value());
    echo.tell("one");
    echo.tell("two");
    BOOST_TEST(echo.wait_for_line() == "one");
    child_process moved = std::move(echo);
    BOOST_TEST(moved.wait_for_line() == "two");
}

BOOST_AUTO_TEST_CASE(a_paused_process_sends_nothing) {
    child_process echo("echo", {"cat"});
    for (int i = 0; i != 2; ++i) {
        echo.pause();
        echo.tell("late");
        BOOST_CHECK_THROW(echo.wait_for_line(50ms), std::runtime_error);
        echo.resume();
        BOOST_TEST(echo.wait_for_line() == "late");
    }
}

BOOST_AUTO_TEST_CASE(the_end_of_a_process_is_reported) {
    child_process none("none", {"colock-has-no-such-program"});
    BOOST_CHECK_THROW(none.wait_for_line(), std::runtime_error);
    child_process last_words("last words", {"sh", "-c", "echo good; echo bye"});
    BOOST_TEST(last_words.wait_for_line() == "good");
    BOOST_TEST(last_words.wait_for_line() == "bye");
    BOOST_CHECK_THROW(last_words.wait_for_line(), std::runtime_error);
    child_process echo("echo", {"cat"});
    echo.kill();
    BOOST_CHECK_THROW(echo.tell("x"), std::runtime_error);
    BOOST_CHECK_THROW(echo.pause(), std::runtime_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
