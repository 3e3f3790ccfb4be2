// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/validity.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(validity)

BOOST_AUTO_TEST_CASE(drift_is_a_fraction_of_the_ttl_plus_a_minimum) {
    struct row {
        duration ttl;
        drift_bound bound;
        duration expected;
    };
    const row rows[] = {
        {10s, {}, 102ms},          {1000ms, {}, 12ms},
        {1ms, {}, 2010us},         {0ms, {}, 2ms},
        {10s, {0.0, 0ms}, 0ms},    {10s, {0.0, 7ms}, 7ms},
        {10s, {0.5, 1ms}, 5001ms}, {100h, {}, 1h + 2ms},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("ttl " << in_ms(r.ttl)) {
            BOOST_TEST(in_ms(r.bound.of(r.ttl)) == in_ms(r.expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(drift_shortens_the_validity_and_delays_gone_at) {
    BOOST_TEST(in_ms(valid_until(at(100ms), 1s, {})) == "1088");
    BOOST_TEST(in_ms(gone_at(at(100ms), 1s, {})) == "1112");
    BOOST_TEST(in_ms(valid_until(at(0ms), 10s, {0.0, 0ms})) == "10000");
}

BOOST_AUTO_TEST_CASE(a_ttl_below_the_drift_gives_no_validity) {
    BOOST_TEST((valid_until(at(0ms), 1ms, {}) < at(0ms)));
}

BOOST_AUTO_TEST_CASE(a_ttl_of_a_century_does_not_overflow) {
    constexpr auto century = std::chrono::hours(24 * 365 * 100);
    BOOST_TEST((valid_until(at(0ms), century, {}) > at(century - century / 50)));
    BOOST_TEST((gone_at(at(0ms), century, {}) > at(century)));
}

BOOST_AUTO_TEST_CASE(a_reported_uptime_is_reduced_by_one_second) {
    const drift_bound none{0.0, 0ms};
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, 0s, none)) == "15000");
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, 1s, none)) == "15000");
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, 4s, none)) == "12000");
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, 11s, none)) == "5000");
    BOOST_TEST((quarantine_end(at(5s), 10s, std::chrono::hours(10000), none) < at(5s)));
    // The clock of the server was set back.
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, -3s, none)) == "15000");
    BOOST_TEST(in_ms(quarantine_end(at(5s), 10s, 4s, {})) == "12072");
}

BOOST_AUTO_TEST_CASE(the_loss_notice_is_a_twentieth_of_the_ttl_up_to_500_ms) {
    BOOST_TEST(in_ms(loss_notice(1s)) == "50");
    BOOST_TEST(in_ms(loss_notice(10s)) == "500");
    BOOST_TEST(in_ms(loss_notice(10h)) == "500");
    BOOST_TEST(in_ms(loss_notice(20ms)) == "1");
}

BOOST_AUTO_TEST_CASE(a_loss_margin_replaces_the_loss_notice_up_to_half_of_the_ttl) {
    BOOST_TEST(in_ms(loss_notice(10s, 3s)) == "3000");
    BOOST_TEST(in_ms(loss_notice(10s, 0ms)) == "0");
    BOOST_TEST(in_ms(loss_notice(4s, 3s)) == "2000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
