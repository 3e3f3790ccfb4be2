// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/table.hpp"
#include "kinds/exclusive/exclusive.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace colock::kinds {
namespace {

using namespace std::chrono_literals;
using core::step;

BOOST_AUTO_TEST_SUITE(store_of_memory)

BOOST_AUTO_TEST_CASE(a_name_holds_a_value_of_one_type_until_its_end) {
    table keys;
    const core::time_point now{std::chrono::hours(1000)};
    BOOST_TEST((keys.find("k", now) == nullptr));
    keys.put("k", "text", now + 2ms);
    BOOST_TEST_REQUIRE((keys.find("k", now) != nullptr));
    BOOST_TEST(*keys.find("k", now)->as<std::string>() == "text");
    BOOST_TEST((keys.find("k", now)->as<int>() == nullptr));
    keys.put("k", 7, now + 1ms);
    BOOST_TEST((keys.find("k", now)->as<std::string>() == nullptr));
    BOOST_TEST((keys.find("k", now)->as<unsigned>() == nullptr));
    BOOST_TEST(*keys.find("k", now)->as<int>() == 7);
    const table copy = keys;
    BOOST_TEST((keys.find("k", now + 1ms) == nullptr));
    BOOST_TEST(keys.size() == 0U);
    BOOST_TEST(copy.size() == 1U);
    keys.put("k", std::string("text"), now + 1ms);
    keys.erase("k");
    keys.erase("k");
    BOOST_TEST(keys.size() == 0U);
}

BOOST_AUTO_TEST_CASE(expired_keys_are_collected) {
    table keys;
    kinds::command c;
    c.step = step::acquire;
    c.kind = &exclusive;
    c.token = "ann";
    c.ttl = 1ms;
    core::time_point now{std::chrono::hours(1000)};
    for (int i = 0; i != 5000; ++i) {
        const std::string key = std::to_string(i);
        c.key = key;
        keys.execute(c, now, std::chrono::seconds(1000));
        now += 2ms;
    }
    BOOST_TEST(keys.size() < 5000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
