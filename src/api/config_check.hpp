// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_API_CONFIG_CHECK_HPP
#define COLOCK_API_CONFIG_CHECK_HPP

#include <colock/config.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace colock {
inline namespace v1 {
namespace detail {

/// Returns the name of a field in an error: as in the struct, or as in the JSON text that it came from.
using field_namer = std::function<std::string(const std::string&)>;

/// A member that is a duration, or an optional one.
using duration_member = std::variant<std::chrono::milliseconds config::*,
                                     std::optional<std::chrono::milliseconds> config::*>;

struct duration_field {
    const char* name;
    duration_member member;
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
};

/// Returns all members that are durations, with their limits.
const std::array<duration_field, 10>& duration_fields();

/// Throws `config_error` if a value is out of range. `item_name` returns the name of an instance.
void check_config(const config& c, const field_namer& name,
                  const std::function<std::string(std::size_t)>& item_name);

}  // namespace detail
}  // namespace v1
}  // namespace colock

#endif
