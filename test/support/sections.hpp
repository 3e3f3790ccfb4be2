// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SECTIONS_HPP
#define COLOCK_TEST_SUPPORT_SECTIONS_HPP

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace colock::test {

/// A critical section of a process. Its times are from the monotonic clock, which all processes of a machine
/// share.
struct section {
    std::string name;
    std::string kind;
    std::chrono::nanoseconds asked{};
    std::chrono::nanoseconds entered{};
    std::chrono::nanoseconds left{};
    std::string token{};  ///< The token of the lock, or empty if it was not recorded.
};

/// Reads the sections that a process of this kind has recorded. Each line is
/// `NAME ASKED_NS ENTERED_NS LEFT_NS [TOKEN]`. Throws `std::runtime_error` for any other line.
std::vector<section> read_sections(const std::filesystem::path& file, const std::string& kind);

/// Returns a line for each section that began before another section of the same name ended.
std::vector<std::string> find_overlaps(std::vector<section> sections);

/// Counts how often a lock passed from one kind of process to another.
std::size_t count_changes(std::vector<section> sections);

}  // namespace colock::test

#endif
