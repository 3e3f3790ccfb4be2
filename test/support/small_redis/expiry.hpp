// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_EXPIRY_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_EXPIRY_HPP

#include "support/small_redis/execution.hpp"

#include <optional>
#include <string_view>

namespace colock::small_redis {

/// The unit and the origin of a time argument.
struct time_form {
    bool in_seconds = false;
    bool is_absolute = false;
};

/// Returns the form that an option such as PX stands for.
std::optional<time_form> time_form_of(std::string_view option) noexcept;

/// Returns the expiry time from the word at `i`, or writes an error. With `must_be_positive`, as for SET, the
/// word must be positive.
std::optional<wall_milliseconds> read_expiry(execution& e, std::size_t i, time_form form,
                                             std::string_view command, bool must_be_positive);

}  // namespace colock::small_redis

#endif
