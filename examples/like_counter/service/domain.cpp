// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "domain.hpp"

#include <algorithm>
#include <cstddef>

namespace like_counter {
namespace {

constexpr std::size_t longest_author = 64;
constexpr std::size_t longest_name = 128;
constexpr std::size_t longest_user = 128;

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

std::string checked_author(std::string value) {
    if (value.empty() || value.size() > longest_author ||
        !std::all_of(value.begin(), value.end(), is_word)) {
        throw invalid_input("author", "expected 1 to 64 of the characters A-Z a-z 0-9 _ -");
    }
    return value;
}

std::string checked_entity(std::string value) {
    const auto is_part_of_name = [](char c) { return is_word(c) || c == '.'; };
    const auto dot = value.find('.');
    const auto name_size = dot == std::string::npos ? 0 : value.size() - dot - 1;
    if (dot == 0 || dot > longest_author || name_size == 0 || name_size > longest_name ||
        !std::all_of(value.begin(), value.end(), is_part_of_name)) {
        throw invalid_input("entity",
                            "expected <author>.<name>, the author of 1 to 64 and the name of 1 to "
                            "128 of the characters A-Z a-z 0-9 _ - (the name also .)");
    }
    return value;
}

std::string checked_user(std::string value) {
    if (value.empty()) {
        throw invalid_input("user", "must not be empty");
    }
    if (value.size() > longest_user) {
        throw invalid_input("user", "must not be longer than 128 bytes");
    }
    if (std::any_of(value.begin(), value.end(), is_control)) {
        throw invalid_input("user", "must not contain control characters");
    }
    return value;
}

}  // namespace

author_name::author_name(std::string value) : value_(checked_author(std::move(value))) {}

entity_id::entity_id(std::string value)
    : value_(checked_entity(std::move(value))), author_(value_.substr(0, value_.find('.'))) {}

user_name::user_name(std::string value) : value_(checked_user(std::move(value))) {}

}  // namespace like_counter
