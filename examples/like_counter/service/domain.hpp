// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DOMAIN_HPP
#define LIKE_COUNTER_DOMAIN_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace like_counter {

/// Input that is not a valid name. `field()` is the field of the request.
class invalid_input : public std::runtime_error {
public:
    invalid_input(std::string field, const std::string& message)
        : std::runtime_error(message), field_(std::move(field)) {}
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    std::string field_;
};

constexpr std::size_t longest_author = 64;
constexpr std::size_t longest_name = 128;  // of an entity, and of a user

inline bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/// The author of an entity: 1 to 64 letters, digits, '_' and '-'.
class author_name {
public:
    explicit author_name(std::string value) : value_(std::move(value)) {
        if (value_.empty() || value_.size() > longest_author ||
            !std::ranges::all_of(value_, is_word)) {
            throw invalid_input("author", "expected 1 to 64 of the characters A-Z a-z 0-9 _ -");
        }
    }
    [[nodiscard]] const std::string& value() const noexcept { return value_; }

private:
    std::string value_;
};

/// A post or another thing that users like: `<author>.<name>`. So its author is known without a lookup. The name has
/// 1 to 128 letters, digits, '_', '-' and '.'.
class entity_id {
public:
    explicit entity_id(std::string value)
        : value_(checked(std::move(value))), author_(value_.substr(0, value_.find('.'))) {}
    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    [[nodiscard]] const author_name& author() const noexcept { return author_; }

private:
    static std::string checked(std::string value) {
        const auto is_part_of_name = [](char c) { return is_word(c) || c == '.'; };
        const auto dot = value.find('.');
        const auto name_size = dot == std::string::npos ? 0 : value.size() - dot - 1;
        if (dot == 0 || dot > longest_author || name_size == 0 || name_size > longest_name ||
            !std::ranges::all_of(value, is_part_of_name)) {
            throw invalid_input(
                "entity", "expected <author>.<name>, the author of 1 to 64 and the name of 1 to "
                          "128 of the characters A-Z a-z 0-9 _ - (the name also .)");
        }
        return value;
    }

    std::string value_;
    author_name author_;
};

/// A user: 1 to 128 bytes without control characters.
class user_name {
public:
    explicit user_name(std::string value) : value_(std::move(value)) {
        const auto is_control = [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        };
        if (value_.empty()) {
            throw invalid_input("user", "must not be empty");
        }
        if (value_.size() > longest_name) {
            throw invalid_input("user", "must not be longer than 128 bytes");
        }
        if (std::ranges::any_of(value_, is_control)) {
            throw invalid_input("user", "must not contain control characters");
        }
    }
    [[nodiscard]] const std::string& value() const noexcept { return value_; }

private:
    std::string value_;
};

/// A user wants to like an entity, or to withdraw the like. To repeat a wish changes nothing.
struct wish {
    entity_id entity;
    user_name user;
    bool liked;  ///< false if the like is withdrawn
};

/// How a wish ended.
struct outcome {
    bool changed;        ///< whether this wish made a difference
    std::int64_t likes;  ///< of the entity, afterwards
};

/// The state of an entity. Separate commands write `likes` and `counted`. The lock keeps them equal.
struct entity_record {
    std::int64_t likes = 0;     ///< the size of the set of likers
    std::int64_t counted = 0;   ///< the running total
    std::optional<bool> liked;  ///< by the user asked for, if there was one
    std::vector<std::string> users;
};

}  // namespace like_counter

#endif
