#ifndef COLOCK_INTEROP_SECTIONS_HPP
#define COLOCK_INTEROP_SECTIONS_HPP

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace colock::interop {

/// A critical section that a worker has been through.
struct section {
    std::string name;
    std::string kind;
    std::chrono::nanoseconds asked{};
    std::chrono::nanoseconds entered{};
    std::chrono::nanoseconds left{};
};

/// Reads what a worker has written, see `worker`. Throws `std::runtime_error` for a line that is
/// none.
std::vector<section> read_sections(const std::filesystem::path& file, const std::string& kind);

/// A line for each section that began while another one of the same name was not over.
std::vector<std::string> find_overlaps(std::vector<section> sections);

/// How often a lock passed from one kind to another.
std::size_t count_changes(std::vector<section> sections);

}  // namespace colock::interop

#endif
