// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The text of a report, and the step that removes a token.

#include "kinds/inspection/report.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace {

using namespace colock::kinds;
using namespace std::chrono_literals;
using namespace std::string_literals;
using colock::core::step;

const std::string digits(40, 'a');

/// A report in which every field differs from its default.
key_report full_report() {
    key_report report;
    report.content = "readers";
    report.ttl = 12345ms;
    report.size = 6;
    report.limit = 7;
    report.in_use = 5;
    report.version = (1ULL << 53U) - 1;
    report.has_value = true;
    report.holder_count = 1000;
    report.holders = {{"5:\n\0x"s, 1, 10ms}, {std::string(1024, '\xff'), 3, -1ms}, {"", 1, 0ms}};
    report.writer_count = 1;
    report.writers = {{99, 5ms}};
    report.fence = (1ULL << 53U) - 2;
    report.waiter_count = 2;
    report.waiters = {{8, 0}, {9, 4}};
    return report;
}

BOOST_AUTO_TEST_SUITE(report_test)

BOOST_AUTO_TEST_CASE(a_text_keeps_every_field) {
    for (const key_report& report : {key_report(), full_report()}) {
        const auto parsed = parse_report(to_text(report));
        BOOST_TEST_REQUIRE(parsed.has_value());
        BOOST_TEST((*parsed == report));
    }
}

BOOST_AUTO_TEST_CASE(a_text_that_was_cut_or_prolonged_is_no_report) {
    const std::string text = to_text(full_report());
    for (std::size_t size = 0; size != text.size(); ++size) {
        BOOST_TEST(!parse_report(text.substr(0, size)), size);
    }
    BOOST_TEST(!parse_report(text + "0:"));
    BOOST_TEST(!parse_report(text + "x"));
}

/// A reply may be of any size, so a wrong count of items must cost nothing.
BOOST_AUTO_TEST_CASE(a_wrong_number_is_no_report) {
    const std::string text = to_text(key_report());
    const std::string end = "1:0";
    for (const std::string& other : {"1:5"s, "20:18446744073709551615"s, "20:99999999999999999999"s,
                                     "2:-1"s, "1:x"s, "0:"s, "9:1"s, "1:01:0"s, "-1:0"s, "1"s}) {
        const std::string wrong = text.substr(0, text.size() - end.size()) + other;
        BOOST_TEST(!parse_report(wrong), other);
    }
}

BOOST_AUTO_TEST_CASE(the_form_of_a_token_decides_how_it_is_removed) {
    for (const std::string& token :
         {digits, digits + "@web-1", "reader:" + digits, "anything"s, "permit:"s,
          "permit:8*9:" + digits, "permit:8*0:" + digits, "permit:1025*1:" + digits,
          "permit:8*1:" + digits + "a", "permit:8*1:" + digits + "@",
          "permit:99999999999*1:" + digits, "writer:"s, "writer:x"s, "writer:9007199254740992"s}) {
        const auto how = removal_of(token);
        BOOST_TEST_REQUIRE(how.has_value(), token);
        BOOST_TEST(how->kind == &shared, token);
        BOOST_TEST((how->step == step::release), token);
    }
    BOOST_TEST(removal_of("permit:8*2:" + digits).value().kind == &semaphore(8, 2));
    BOOST_TEST(removal_of("permit:8*2:" + digits + "@web-1").value().kind == &semaphore(8, 2));
    const auto of_mark = removal_of("writer:9007199254740991").value();
    BOOST_TEST(of_mark.kind == &writer);
    BOOST_TEST((of_mark.step == step::withdraw));
    BOOST_TEST(of_mark.ticket == 9007199254740991U);
    BOOST_TEST(!removal_of(""));
    BOOST_TEST(!removal_of("done:0:" + digits));
}

BOOST_AUTO_TEST_CASE(a_token_of_any_kind_may_have_a_label) {
    for (const std::string& prefix : {""s, "reader:"s, "permit:8*2:"s}) {
        BOOST_TEST(label_of_holder(prefix + digits) == "");
        BOOST_TEST(label_of_holder(prefix + digits + "@web-1/2") == "web-1/2");
        BOOST_TEST(label_of_holder(prefix + digits + "@a b") == "");
    }
    BOOST_TEST(label_of_holder("permit:2*8:" + digits + "@web-1") == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
