// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/handover.hpp"

#include "core/stable_hash.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock::runtime {
namespace {

BOOST_AUTO_TEST_SUITE(handover_text)

using namespace std::chrono_literals;

const std::string digits = "0123456789abcdef0123456789abcdef01234567";

handover lease_of(std::string kind, std::string token, core::adopted_values has,
                  std::vector<std::string> keys) {
    return {std::move(kind), std::move(token), std::move(has), std::move(keys)};
}

/// Returns the text with these fields after a correct checksum.
std::string text_with(std::string_view fields) {
    std::ostringstream text;
    text << "colock-lease/1 " << std::hex << std::setw(16) << std::setfill('0')
         << core::stable_hash(fields) << ' ' << fields;
    return text.str();
}

std::string problem_of(std::string_view text) {
    const auto parsed = parse_handover(text);
    const auto* const problem = std::get_if<std::string>(&parsed);
    return problem != nullptr ? *problem : "none";
}

BOOST_AUTO_TEST_CASE(a_text_is_one_line_of_fields) {
    const handover lease =
        lease_of("fenced writer", digits + "@web-7", {42, "", 10s}, {"app:x y", "{k}%\n"});
    const std::string text = to_text(lease);
    BOOST_TEST(text ==
               text_with("fenced_writer " + digits + "@web-7 10000 42 - app:x%20y {k}%25%0a"));
    BOOST_TEST((std::get<handover>(parse_handover(text)) == lease));
}

BOOST_AUTO_TEST_CASE(each_lease_comes_back_from_its_text) {
    std::string all_bytes;
    for (int byte = 0; byte != 256; ++byte) {
        all_bytes += static_cast<char>(byte);
    }
    for (const handover& lease :
         {lease_of("exclusive", digits, {0, "", 1ms}, {"x"}),
          lease_of("shared", "reader:" + digits, {7, "", 24h}, {all_bytes}),
          lease_of("semaphore", "permit:8*3:" + digits, {1, "1 4 7 ", 1s}, {"x"}),
          lease_of("multi", digits + "@a@b", {0, "", 1s}, {"x", "", "z"}),
          lease_of("fenced", digits, {(1ULL << 53U) - 1, "", 1s}, {"x"})}) {
        const std::string text = to_text(lease);
        const auto parsed = parse_handover(text);
        if (lease.keys.size() > 1 && lease.keys[1].empty()) {
            BOOST_TEST(std::holds_alternative<std::string>(parsed));  // No lock has an empty name.
        } else {
            BOOST_TEST_REQUIRE(std::holds_alternative<handover>(parsed), text);
            BOOST_TEST((std::get<handover>(parsed) == lease), text);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_text_with_a_wrong_field_is_refused) {
    const std::string front = "exclusive " + digits;
    BOOST_TEST(problem_of("") == "its first field is '', not colock-lease/1");
    BOOST_TEST(problem_of("colock-lease/2 x") ==
               "its first field is 'colock-lease/2', not colock-lease/1");
    BOOST_TEST(problem_of(text_with(front + " 10 0 -")) == "it has 7 fields, not 8 to 71");
    BOOST_TEST(problem_of(text_with("exclusive 12 10 0 - x")) == "its token is '12', not a token");
    for (const std::string& token :
         {digits.substr(1), digits + "@", digits + "@" + std::string(65, 'a'),
          "G" + digits.substr(1), digits + "@a\x01"}) {
        BOOST_TEST(
            problem_of(text_with("exclusive " + token + " 10 0 - x")).find("its token is ") == 0U);
    }
    for (const char* const ttl : {"", "0", "-1", "86400001", "1x"}) {
        BOOST_TEST(problem_of(text_with(front + " " + ttl + " 0 - x")) ==
                   "its ttl is '" + std::string(ttl) + "', not 1 to 86400000 ms");
    }
    for (const char* const value : {"", "-1", "x", "1.0", "9007199254740992", "1x"}) {
        BOOST_TEST(problem_of(text_with(front + " 10 " + value + " - x")) ==
                   "its value is '" + std::string(value) + "', not a number below 2^53");
    }
    for (const char* const values : {"", "1", "2,1", "2,2", "2,", ",2", "2,x"}) {
        BOOST_TEST(problem_of(text_with(front + " 10 2 " + values + " x")) ==
                   "its list of values is '" + std::string(values) +
                       "', not increasing numbers that begin with the value");
    }
    for (const char* const name : {"%", "%1", "%zz", "a%2", "", "a+b"}) {
        BOOST_TEST(problem_of(text_with(front + " 10 0 - " + name)) ==
                   "its name is '" + std::string(name) +
                       "', not a name as lease::detach writes it");
    }
    BOOST_TEST(problem_of(text_with(front + " 10 0 - a\n")) ==
               "its name is 'a?', not a name as lease::detach writes it");
    BOOST_TEST(problem_of(std::string(100, '\n')) ==
               "its first field is '" + std::string(40, '?') + "...', not colock-lease/1");
}

BOOST_AUTO_TEST_CASE(a_damaged_text_is_refused) {
    const std::string text =
        to_text(lease_of("multi", digits, {0, "", 10s}, {"orders", "stock", "invoices"}));
    for (std::size_t size = 0; size != text.size(); ++size) {
        BOOST_TEST(problem_of(text.substr(0, size)) != "none");
        for (const char c : {' ', '0', 'x', '\n'}) {
            std::string other = text;
            other[size] = c;
            BOOST_TEST((other == text || problem_of(other) != "none"), other);
        }
    }
    const std::string problem = problem_of(text + '\n');
    BOOST_TEST(problem.ends_with(". The text was changed, or a part of it is missing"), problem);
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_token) {
    const std::string token = "permit:8*3:" + digits + "@web-7";
    const auto parts = token_parts::of(token);
    BOOST_TEST(parts.prefix == "permit:8*3:");
    BOOST_TEST(parts.digits == digits);
    BOOST_TEST(parts.label == "web-7");
    BOOST_TEST(token_parts::of("somebody else").digits.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::runtime
