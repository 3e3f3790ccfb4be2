// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The master on which a majority of Sentinels agrees.

#include "instance/redis/agreed_master.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace {

using colock::instance::redis::agreed_master;
using colock::instance::redis::is_contradicted;
using colock::instance::redis::named_master;
using namespace std::chrono_literals;

using opinions = std::vector<std::optional<named_master>>;

named_master at(std::string port, std::chrono::seconds since = 0s, std::string host = "h") {
    return {std::move(host), std::move(port), colock::core::time_point(since)};
}

/// Returns the port of the agreed master, or "" if there is none.
std::string agreed(const opinions& said) {
    const auto result = agreed_master(said);
    return result ? result->port : "";
}

BOOST_AUTO_TEST_SUITE(agreed_master_test)

BOOST_AUTO_TEST_CASE(agreement_needs_a_majority_of_all_sentinels) {
    BOOST_TEST(agreed({}) == "");
    BOOST_TEST(agreed({at("1")}) == "1");
    BOOST_TEST(agreed({at("1"), std::nullopt}) == "");
    BOOST_TEST(agreed({at("1"), at("1")}) == "1");
    BOOST_TEST(agreed({at("1"), std::nullopt, std::nullopt}) == "");
    BOOST_TEST(agreed({std::nullopt, at("1"), at("1")}) == "1");
    BOOST_TEST(agreed({at("1"), at("2"), at("2")}) == "2");
    BOOST_TEST(agreed({at("1"), at("2"), at("3")}) == "");
    BOOST_TEST(agreed({at("1"), at("1"), at("2"), at("2")}) == "");
    BOOST_TEST(agreed({at("2"), at("1"), at("1"), at("2"), at("1")}) == "1");
}

BOOST_AUTO_TEST_CASE(hosts_with_the_same_port_are_different_masters) {
    BOOST_TEST(agreed({at("1", 0s, "a"), at("1", 0s, "b")}) == "");
}

// A single Sentinel does not decide, whether it noticed the failover early or has lost the time of the
// change.
BOOST_AUTO_TEST_CASE(agreement_dates_from_the_report_that_makes_a_majority) {
    const auto result = agreed_master(opinions{at("1", 7s), at("1", 3s), at("1", 5s)});
    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((result->since == colock::core::time_point(5s)));
}

BOOST_AUTO_TEST_CASE(one_different_report_contradicts_a_master) {
    BOOST_TEST(!is_contradicted(at("1"), opinions{}));
    BOOST_TEST(!is_contradicted(at("1"), opinions{std::nullopt, at("1", 9s)}));
    BOOST_TEST(is_contradicted(at("1"), opinions{at("1"), at("2"), std::nullopt}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
