// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_DOMAIN_HPP
#define LIKE_COUNTER_DOMAIN_HPP

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace like_counter {

/// Input that names no possible thing. `field()` says where it was found.
class invalid_input : public std::runtime_error {
public:
    invalid_input(std::string field, const std::string& message)
        : std::runtime_error(message), field_(std::move(field)) {}
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    std::string field_;
};

/// The author of what is liked: letters, digits, '_' and '-', 1 to 64 of them.
class author_name {
public:
    explicit author_name(std::string value);
    [[nodiscard]] const std::string& value() const noexcept { return value_; }

private:
    std::string value_;
};

/// What is liked: `<author>.<name>`, so that the author of an entity is known without a lookup that
/// could itself race. The name: letters, digits, '_', '-' and '.', 1 to 128 of them.
class entity_id {
public:
    explicit entity_id(std::string value);
    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    [[nodiscard]] const author_name& author() const noexcept { return author_; }

private:
    std::string value_;
    author_name author_;
};

/// The user that likes: 1 to 128 bytes, none of them a control character.
class user_name {
public:
    explicit user_name(std::string value);
    [[nodiscard]] const std::string& value() const noexcept { return value_; }

private:
    std::string value_;
};

/// What a user wants to be true of an entity. Saying it twice changes nothing.
struct wish {
    entity_id entity;
    user_name user;
    bool liked;  ///< true: a like; false: taken back
};

/// How a wish ended.
struct outcome {
    bool changed;        ///< whether this wish made a difference
    std::int64_t likes;  ///< of the entity, afterwards
};

/// What the data server says of an entity. `likes` and `counted` are kept by separate commands;
/// they agree as long as the lock does its work.
struct entity_record {
    std::int64_t likes = 0;     ///< the size of the set of likers
    std::int64_t counted = 0;   ///< the running total
    std::optional<bool> liked;  ///< by the user asked for, if there was one
    std::vector<std::string> users;
};

}  // namespace like_counter

#endif
