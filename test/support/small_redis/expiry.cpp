// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/expiry.hpp"

#include <limits>
#include <string>

namespace colock::small_redis {

std::optional<time_form> time_form_of(std::string_view option) noexcept {
    if (is_word(option, "px")) {
        return time_form{};
    }
    if (is_word(option, "ex")) {
        return time_form{.in_seconds = true};
    }
    if (is_word(option, "pxat")) {
        return time_form{.is_absolute = true};
    }
    if (is_word(option, "exat")) {
        return time_form{.in_seconds = true, .is_absolute = true};
    }
    return std::nullopt;
}

std::optional<wall_milliseconds> read_expiry(execution& e, std::size_t i, time_form form,
                                             std::string_view command, bool must_be_positive) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t per_second = 1000;
    const auto given = e.integer(i);
    if (!given) {
        return std::nullopt;
    }
    const wall_milliseconds origin = form.is_absolute ? 0 : e.now_in_milliseconds();
    const std::int64_t unit = form.in_seconds ? per_second : 1;
    if ((must_be_positive && *given <= 0) || *given > most / unit || *given < -(most / unit) ||
        *given * unit > most - origin) {
        e.out.error("ERR invalid expire time in '" + std::string(command) + "' command");
        return std::nullopt;
    }
    return *given * unit + origin;
}

}  // namespace colock::small_redis
