// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SECTIONS_HPP
#define COLOCK_TEST_SUPPORT_SECTIONS_HPP

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace colock::test {

/// A critical section that a process has been through. Its times are of the monotonic clock, which all
/// processes of a machine share.
struct section {
    std::string name;
    std::string kind;
    std::chrono::nanoseconds asked{};
    std::chrono::nanoseconds entered{};
    std::chrono::nanoseconds left{};
    std::string token{};  ///< of the lock; empty if it was not written down
};

/// Reads what a process of this kind has written, a line `NAME ASKED_NS ENTERED_NS LEFT_NS [TOKEN]` for
/// each section. Throws `std::runtime_error` for a line that is none.
std::vector<section> read_sections(const std::filesystem::path& file, const std::string& kind);

/// A line for each section that began while another one of the same name was not over.
std::vector<std::string> find_overlaps(std::vector<section> sections);

/// How often a lock passed from one kind to another.
std::size_t count_changes(std::vector<section> sections);

}  // namespace colock::test

#endif
