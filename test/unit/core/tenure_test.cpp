#include "core/tenure.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace colock::core;
using namespace std::chrono_literals;

namespace {

constexpr time_point start{1000h};

BOOST_AUTO_TEST_SUITE(tenure_test)

BOOST_AUTO_TEST_CASE(so_many_times) {
    for (const std::size_t limit : {0U, 1U, 64U}) {
        const tenure t(start - 1ms, start);
        for (std::size_t i = 0; i != limit; ++i) {
            BOOST_TEST(t.may_hand_over(i, {limit, 50ms}, start + 1ms));
        }
        BOOST_TEST(!t.may_hand_over(limit, {limit, 50ms}, start + 1ms));
    }
}

BOOST_AUTO_TEST_CASE(for_so_long) {
    const tenure t(start - 10ms, start);
    BOOST_TEST(t.may_hand_over(0, {1, 50ms}, start));
    BOOST_TEST(t.may_hand_over(0, {1, 50ms}, start + 50ms - 1ns));
    BOOST_TEST(!t.may_hand_over(0, {1, 50ms}, start + 50ms));
    BOOST_TEST(!t.may_hand_over(0, {1, 0ms}, start));
}

BOOST_AUTO_TEST_CASE(two_round_trips_or_a_sixteenth_but_never_long) {
    BOOST_TEST((tenure(start - 100us, start).pause(start) == 200us));
    BOOST_TEST((tenure(start - 100us, start).pause(start + 3200us) == 200us));
    BOOST_TEST((tenure(start - 100us, start).pause(start + 32ms) == 2ms));
    BOOST_TEST((tenure(start - 100us, start).pause(start + 1h) == 10ms));
    BOOST_TEST((tenure(start - 50ms, start).pause(start) == 10ms));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
