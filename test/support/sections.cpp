// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/sections.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace colock::test {
namespace {

void sort(std::vector<section>& sections) {
    std::ranges::sort(sections, {}, [](const section& s) { return std::tie(s.name, s.entered); });
}

std::string describe(const section& s) {
    return s.kind + (s.token.empty() ? "" : " (" + s.token + ")") + " from " +
           std::to_string(s.entered.count()) + " to " + std::to_string(s.left.count());
}

}  // namespace

std::vector<section> read_sections(const std::filesystem::path& file, const std::string& kind) {
    std::vector<section> sections;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        section s;
        s.kind = kind;
        std::chrono::nanoseconds::rep asked = 0;
        std::chrono::nanoseconds::rep entered = 0;
        std::chrono::nanoseconds::rep left = 0;
        if (!(words >> s.name >> asked >> entered >> left) || asked > entered || entered > left) {
            throw std::runtime_error(file.string() + ": not a section: " + line);
        }
        words >> s.token;
        s.asked = std::chrono::nanoseconds(asked);
        s.entered = std::chrono::nanoseconds(entered);
        s.left = std::chrono::nanoseconds(left);
        sections.push_back(std::move(s));
    }
    return sections;
}

std::vector<std::string> find_overlaps(std::vector<section> sections) {
    sort(sections);
    std::vector<std::string> overlaps;
    const section* last = nullptr;  // The section of this name that ends last so far.
    for (const section& s : sections) {
        const bool same_name = last != nullptr && last->name == s.name;
        if (same_name && s.entered < last->left) {
            overlaps.push_back(s.name + ": " + describe(*last) + ", " + describe(s));
        }
        if (!same_name || last->left < s.left) {
            last = &s;
        }
    }
    return overlaps;
}

std::size_t count_changes(std::vector<section> sections) {
    sort(sections);
    std::size_t changes = 0;
    for (std::size_t i = 1; i < sections.size(); ++i) {
        changes +=
            sections[i - 1].name == sections[i].name && sections[i - 1].kind != sections[i].kind
                ? 1
                : 0;
    }
    return changes;
}

}  // namespace colock::test
