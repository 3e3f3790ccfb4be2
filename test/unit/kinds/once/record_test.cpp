// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The text of a record: it keeps its parts separate, and is not confused with other texts.

#include "kinds/once/once.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

namespace {

using namespace colock::kinds;
using namespace std::string_literals;

BOOST_AUTO_TEST_SUITE(once_record_test)

BOOST_AUTO_TEST_CASE(a_record_keeps_fingerprint_and_result_apart) {
    const std::string all_bytes("\0:\r\n@ 7\xff", 8);
    for (const std::string& fingerprint : {""s, "1:"s, all_bytes, std::string(256, ':')}) {
        for (const std::string& result : {""s, "5"s, ":"s, all_bytes, std::string(65536, 'x')}) {
            const std::string text = make_record({fingerprint, result});
            const auto parsed = parse_record(text);
            BOOST_TEST_REQUIRE(parsed.has_value());
            BOOST_TEST((parsed->fingerprint == fingerprint));
            BOOST_TEST((parsed->result == result));
        }
    }
}

BOOST_AUTO_TEST_CASE(other_texts_are_no_records) {
    for (const std::string& text :
         {""s, "done"s, "done:"s, "done:0"s, "done::"s, "done:1:"s, "done:-1:"s, "done:--1:x"s,
          "done:x:"s, "done:257:" + std::string(300, 'a'), "done:0:" + std::string(65537, 'a'),
          "done:99999999999999999999:x"s, std::string(40, 'd'), "DONE:0:"s}) {
        BOOST_TEST(!parse_record(text), text.substr(0, 20));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
