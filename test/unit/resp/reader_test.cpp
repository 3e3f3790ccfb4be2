// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// RESP3 in pieces of any size, and invalid bytes.

#include "resp/reader.hpp"
#include "resp/value.hpp"
#include "support/resp_text.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::resp::test {
namespace {

using colock::test::to_text;
using status = reader::status;

constexpr std::size_t plenty = 1U << 20U;

struct sample {
    std::string bytes;
    std::string meaning;  // In the format of `to_text`.
};

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string nested(std::size_t depth) {
    std::string result;
    for (std::size_t i = 0; i != depth; ++i) {
        result += "*1\r\n";
    }
    return result + ":1\r\n";
}

const std::vector<sample> samples{
    {"+OK\r\n", "+OK"},
    {"+\r\n", "+"},
    {"-ERR no such thing\r\n", "-ERR no such thing"},
    {":0\r\n", ":0"},
    {":-12\r\n", ":-12"},
    {":+9223372036854775807\r\n", ":+9223372036854775807"},
    {"_\r\n", "_"},
    {"$-1\r\n", "_"},
    {"*-1\r\n", "_"},
    {"#t\r\n", "#t"},
    {"#f\r\n", "#f"},
    {",3.14\r\n", ",3.14"},
    {",-inf\r\n", ",-inf"},
    {"(3492890328409238509324850943850943825024385\r\n",
     "(3492890328409238509324850943850943825024385"},
    {"$0\r\n\r\n", "$"},
    {"$5\r\nhello\r\n", "$hello"},
    {"$6\r\n\r\n+\r\n:\r\n", "$\r\n+\r\n:"},
    {"!10\r\nERR a long\r\n", "!ERR a long"},
    {"=7\r\ntxt:abc\r\n", "=abc"},
    {"=4\r\nmkd:\r\n", "="},
    {"*0\r\n", "*[]"},
    {"*3\r\n:1\r\n$2\r\nab\r\n_\r\n", "*[:1 $ab _]"},
    {"~2\r\n+a\r\n+b\r\n", "~[+a +b]"},
    {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "%[+a :1 +b *[:2]]"},
    {"%0\r\n", "%[]"},
    {">2\r\n$10\r\ninvalidate\r\n*1\r\n$3\r\nkey\r\n", ">[$invalidate *[$key]]"},
    {">2\r\n$10\r\ninvalidate\r\n_\r\n", ">[$invalidate _]"},
    {"|1\r\n+ttl\r\n:3600\r\n+OK\r\n", "+OK"},
    {"|0\r\n:1\r\n", ":1"},
    {"|1\r\n+a\r\n*2\r\n:1\r\n:2\r\n|1\r\n+b\r\n_\r\n*1\r\n:7\r\n", "*[:7]"},
    {"*2\r\n|1\r\n+a\r\n%1\r\n+b\r\n+c\r\n:1\r\n:2\r\n", "*[:1 :2]"},
    {"*2\r\n*2\r\n*0\r\n*1\r\n*0\r\n:9\r\n", "*[*[*[] *[*[]]] :9]"},
    {nested(reader::max_depth), std::string("*[*[*[*[*[*[*[*[*[*[*[*[*[*[*[*[:1]]]]]]]]]]]]]]]]")},
};

/// Passes the first `size` bytes to the reader, from memory that ends right behind them.
status read_part(reader& by, std::string_view bytes, std::size_t size) {
    const auto exact = std::make_unique<char[]>(size);  // NOLINT(*-c-arrays): for AddressSanitizer
    bytes.copy(exact.get(), size);
    return by.read({exact.get(), size});
}

void check(reader& by, const sample& expected, std::string_view bytes) {
    BOOST_TEST((by.read(bytes) == status::complete));
    BOOST_TEST(by.size() == expected.bytes.size());
    BOOST_TEST(to_text(by.root()).front() == expected.meaning.front());
    cursor values(bytes.substr(0, by.size()));
    BOOST_TEST(to_text(values) == expected.meaning);
}

void check_refused(const std::string& bytes, status expected, std::size_t limit = plenty) {
    BOOST_TEST_CONTEXT("bytes " << bytes) {
        reader whole(limit);
        BOOST_TEST((whole.read(bytes) == expected));
        reader split(limit);
        status last = status::incomplete;
        for (std::size_t size = 0; size != bytes.size() + 1 && last == status::incomplete; ++size) {
            last = read_part(split, bytes, size);
        }
        BOOST_TEST((last == expected));
    }
}

BOOST_AUTO_TEST_SUITE(resp_reader)

BOOST_AUTO_TEST_CASE(every_type_is_read_at_once) {
    for (const sample& one : samples) {
        BOOST_TEST_CONTEXT("bytes " << one.bytes) {
            reader r(plenty);
            check(r, one, one.bytes);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_reply_is_read_when_split_at_any_byte) {
    for (const sample& one : samples) {
        for (std::size_t cut = 0; cut != one.bytes.size(); ++cut) {
            BOOST_TEST_CONTEXT("bytes " << one.bytes << ", cut at " << cut) {
                reader r(plenty);
                BOOST_TEST((read_part(r, one.bytes, cut) == status::incomplete));
                check(r, one, one.bytes);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(every_reply_is_read_byte_by_byte) {
    reader r(plenty);  // One reader for all samples.
    for (const sample& one : samples) {
        BOOST_TEST_CONTEXT("bytes " << one.bytes) {
            for (std::size_t size = 0; size != one.bytes.size(); ++size) {
                BOOST_TEST((read_part(r, one.bytes, size) == status::incomplete));
            }
            check(r, one, one.bytes);
        }
    }
}

BOOST_AUTO_TEST_CASE(consecutive_replies_are_read) {
    std::string all;
    for (const sample& one : samples) {
        all += one.bytes;
    }
    reader r(plenty);
    std::string_view rest = all;
    for (const sample& one : samples) {
        check(r, one, rest);
        rest.remove_prefix(r.size());
    }
    BOOST_TEST((r.read(rest) == status::incomplete));
}

BOOST_AUTO_TEST_CASE(malformed_input_is_rejected) {
    for (const char* const bytes : {"HTTP/1.1 400 Bad Request\r\n",
                                    "\x15\x03\x01",
                                    "\r\n",
                                    "OK\r\n",
                                    "+O\rK\r\n",
                                    ":\r\n",
                                    ":one\r\n",
                                    ":1.5\r\n",
                                    ":--1\r\n",
                                    "_x\r\n",
                                    "#\r\n",
                                    "#true\r\n",
                                    ",\r\n",
                                    "(x\r\n",
                                    "$\r\n",
                                    "$-2\r\n",
                                    "$+1\r\n",
                                    "$1x\r\n",
                                    "$?\r\n",
                                    "$1\r\nab\r\n",
                                    "$1\r\na\n\n",
                                    "!-1\r\n",
                                    "=3\r\nabc\r\n",
                                    "=4\r\nabcd\r\n",
                                    "*\r\n",
                                    "*-2\r\n",
                                    "*?\r\n",
                                    "~-1\r\n",
                                    "%-1\r\n",
                                    ">x\r\n",
                                    "|-1\r\n",
                                    "*2\r\n:1\r\nx",
                                    ";4\r\nabcd\r\n",
                                    ".\r\n"}) {
        check_refused(bytes, status::malformed);
    }
    check_refused(nested(reader::max_depth + 1), status::malformed);
}

BOOST_AUTO_TEST_CASE(too_large_replies_are_rejected) {
    check_refused("$100\r\n", status::too_large, 100);
    check_refused("$99999999999999999999999\r\n", status::too_large);
    check_refused("$18446744073709551615\r\n", status::too_large);
    check_refused("$18446744073709551614\r\n", status::too_large);
    check_refused("*34\r\n", status::too_large, 100);
    check_refused("%17\r\n", status::too_large, 100);
    check_refused("*99999999999999999999999\r\n", status::too_large);
    check_refused("*9223372036854775808\r\n", status::too_large);
    check_refused("+" + std::string(101, 'x'), status::too_large, 100);
    check_refused("*2\r\n$40\r\n" + std::string(40, 'x') + "\r\n$40\r\n", status::too_large, 60);
    check_refused("*20\r\n*20\r\n*20\r\n", status::too_large, 60);
}

BOOST_AUTO_TEST_CASE(replies_of_the_largest_size_are_accepted) {
    for (const auto& bytes : {bulk(std::string(94, 'x')), "+" + std::string(97, 'x') + "\r\n"}) {
        reader exact(bytes.size());
        BOOST_TEST((exact.read(bytes) == status::complete));
        reader less(bytes.size() - 1);
        BOOST_TEST((less.read(bytes) == status::too_large));
    }
}

BOOST_AUTO_TEST_CASE(the_position_of_an_error_is_reported) {
    reader r(plenty);
    BOOST_TEST((r.read("*2\r\n:1\r\nwhat?") == status::malformed));
    BOOST_TEST(r.position() == 8U);
}

/// A cursor can skip values that the caller does not need.
BOOST_AUTO_TEST_CASE(skip_children_skips_nested_values) {
    const std::string bytes = "*3\r\n%1\r\n+a\r\n*1\r\n+b\r\n|1\r\n+x\r\n+y\r\n*1\r\n:1\r\n:2\r\n";
    reader r(plenty);
    BOOST_REQUIRE((r.read(bytes) == status::complete));
    cursor values(bytes);
    BOOST_TEST(values.next().children == 3U);
    const value map = values.next();
    BOOST_TEST((map.type == type::map));
    values.skip_children(map);
    const value array = values.next();
    BOOST_TEST((array.type == type::array));
    values.skip_children(array);
    BOOST_TEST(values.next().text == "2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::resp::test
