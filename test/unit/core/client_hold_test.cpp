// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/client_hold.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace colock::core;
using namespace std::chrono_literals;

namespace {

BOOST_AUTO_TEST_SUITE(client_hold_test)

constexpr time_point start{1000h};

BOOST_AUTO_TEST_CASE(allows_handoff_limit_handoffs) {
    for (const std::size_t limit : {0U, 1U, 64U}) {
        const client_hold t(start - 1ms, start);
        for (std::size_t i = 0; i != limit; ++i) {
            BOOST_TEST(t.may_hand_off(i, {limit, 50ms}, start + 1ms));
        }
        BOOST_TEST(!t.may_hand_off(limit, {limit, 50ms}, start + 1ms));
    }
}

BOOST_AUTO_TEST_CASE(forbids_handoff_after_handoff_time) {
    const client_hold t(start - 10ms, start);
    BOOST_TEST(t.may_hand_off(0, {1, 50ms}, start));
    BOOST_TEST(t.may_hand_off(0, {1, 50ms}, start + 50ms - 1ns));
    BOOST_TEST(!t.may_hand_off(0, {1, 50ms}, start + 50ms));
    BOOST_TEST(!t.may_hand_off(0, {1, 0ms}, start));
}

BOOST_AUTO_TEST_CASE(cool_down_is_two_round_trips_or_a_sixteenth_of_the_hold) {
    BOOST_TEST((client_hold(start - 100us, start).cool_down(start) == 200us));
    BOOST_TEST((client_hold(start - 100us, start).cool_down(start + 3200us) == 200us));
    BOOST_TEST((client_hold(start - 100us, start).cool_down(start + 32ms) == 2ms));
    BOOST_TEST((client_hold(start - 100us, start).cool_down(start + 1h) == 10ms));
    BOOST_TEST((client_hold(start - 50ms, start).cool_down(start) == 10ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
