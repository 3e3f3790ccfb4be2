// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_INFO_FIELD_HPP
#define COLOCK_INSTANCE_REDIS_INFO_FIELD_HPP

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <system_error>

namespace colock::instance::redis {

/// Returns the value after `name:` in the text of INFO or CLUSTER INFO. Empty if it is missing.
inline std::string_view find_field(std::string_view info, std::string_view name) {
    while (!info.empty()) {
        const std::string_view line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
            std::string_view value = line.substr(name.size() + 1);
            if (value.ends_with('\r')) {
                value.remove_suffix(1);
            }
            return value;
        }
    }
    return {};
}

/// A server that reports a longer time has a wrong clock or is hostile.
inline constexpr std::chrono::hours longest_credible_time{24 * 365 * 10};

/// Returns the time that a server reports as a number of units. Returns none if the text is not a number, or
/// the time is negative or not credible. Computations with the result therefore do not overflow.
template <typename Duration>
std::optional<Duration> read_time(std::string_view text) noexcept {
    typename Duration::rep count = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, count);
    const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
    constexpr Duration longest = longest_credible_time;
    return is_number && count >= 0 && count <= longest.count() ? std::optional(Duration(count))
                                                               : std::nullopt;
}

}  // namespace colock::instance::redis

#endif
