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

/// Input that is not a valid name. `field()` is the field of the request.
class invalid_input : public std::runtime_error {
public:
    invalid_input(std::string field, const std::string& message)
        : std::runtime_error(message), field_(std::move(field)) {}
    [[nodiscard]] const std::string& field() const noexcept { return field_; }

private:
    std::string field_;
};

/// The author of an entity: 1 to 64 letters, digits, '_' and '-'.
class author_name {
public:
    explicit author_name(std::string value);
    [[nodiscard]] const std::string& value() const noexcept { return value_; }

private:
    std::string value_;
};

/// A post or another thing that users like: `<author>.<name>`. So its author is known without a lookup. The name has
/// 1 to 128 letters, digits, '_', '-' and '.'.
class entity_id {
public:
    explicit entity_id(std::string value);
    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    [[nodiscard]] const author_name& author() const noexcept { return author_; }

private:
    std::string value_;
    author_name author_;
};

/// A user: 1 to 128 bytes without control characters.
class user_name {
public:
    explicit user_name(std::string value);
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
