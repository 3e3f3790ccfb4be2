// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/sections.hpp"
#include "support/redis_server.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <stdexcept>

namespace colock::test {
namespace {

section make(std::string name, std::string kind, int entered, int left) {
    using std::chrono::nanoseconds;
    return {std::move(name), std::move(kind), nanoseconds(entered), nanoseconds(entered),
            nanoseconds(left)};
}

BOOST_AUTO_TEST_CASE(consecutive_sections_do_not_overlap) {
    BOOST_TEST(find_overlaps({}).empty());
    BOOST_TEST(find_overlaps({make("a", "x", 30, 40), make("a", "y", 10, 30)}).empty());
    BOOST_TEST(find_overlaps({make("a", "x", 10, 30), make("b", "y", 20, 40)}).empty());
}

BOOST_AUTO_TEST_CASE(overlaps_are_found) {
    BOOST_TEST(find_overlaps({make("a", "x", 10, 30), make("a", "y", 29, 40)}).size() == 1U);
    // A section may also overlap with one before its predecessor.
    BOOST_TEST(find_overlaps({make("a", "x", 10, 90), make("a", "y", 20, 30),
                              make("a", "z", 40, 50), make("b", "z", 0, 100)})
                   .size() == 2U);
}

BOOST_AUTO_TEST_CASE(changes_of_the_holder_are_counted_per_name) {
    BOOST_TEST(count_changes({make("a", "x", 10, 20), make("a", "x", 30, 40),
                              make("a", "y", 50, 60), make("b", "x", 55, 60)}) == 1U);
}

BOOST_AUTO_TEST_CASE(malformed_sections_are_rejected) {
    const temporary_folder folder;
    const auto file = folder.path() / "sections";
    std::ofstream(file) << "a 1 2 3\nb 4 4 4\n";
    BOOST_TEST(read_sections(file, "x").size() == 2U);
    std::ofstream(file) << "a 1 2 3 abc\n";
    BOOST_TEST(read_sections(file, "x").at(0).token == "abc");
    std::ofstream(file) << "a 1 2\n";
    BOOST_CHECK_THROW(read_sections(file, "x"), std::runtime_error);
    std::ofstream(file) << "a 1 3 2\n";
    BOOST_CHECK_THROW(read_sections(file, "x"), std::runtime_error);
}

}  // namespace
}  // namespace colock::test
