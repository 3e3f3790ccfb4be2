// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/label.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::kinds {
namespace {

BOOST_AUTO_TEST_SUITE(labels)

BOOST_AUTO_TEST_CASE(only_a_token_has_a_label) {
    const std::string digits(40, 'a');
    const std::string longest(64, '~');
    for (const std::string& prefix : {std::string(), std::string("reader:")}) {
        BOOST_TEST(label_in(prefix + digits + "@web-1:4711") == "web-1:4711");
        BOOST_TEST(label_in(prefix + digits + "@@") == "@");
        BOOST_TEST(label_in(prefix + digits + "@" + longest) == longest);
        for (const std::string& other :
             {digits, digits + "@", digits + "@a b", digits + "@" + longest + "x",
              digits + "@\xc3\xa9", digits.substr(1) + "@a", digits + "a@a",
              std::string(40, 'A') + "@a", std::string(40, 'g') + "@a", std::string("@a"),
              std::string("somebody@else"), std::string()}) {
            BOOST_TEST(label_in(prefix + other).empty(), other);
        }
    }
    BOOST_TEST(label_in("reader:reader:" + digits + "@a").empty());
    BOOST_TEST(label_in("writer:" + digits + "@a").empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
