// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_NUMBER_TEXT_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_NUMBER_TEXT_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

// Conversion between numbers and text, like in Redis.

namespace colock::small_redis {

/// Parses an integer with the rules of Redis: no `+`, no spaces and no leading zeros.
std::optional<std::int64_t> to_integer(std::string_view text) noexcept;

/// Parses a floating-point number, which may be infinite. Rejects "nan".
std::optional<double> to_double(std::string_view text) noexcept;

/// The text of a number.
class number_text {
public:
    explicit number_text(std::int64_t value) noexcept;
    /// If `is_shortest`, uses the shortest text of this number, otherwise 17 digits.
    number_text(double value, bool is_shortest) noexcept;
    [[nodiscard]] std::string_view text() const noexcept { return {buffer_.data(), size_}; }

private:
    void write_shortest(double value) noexcept;

    std::array<char, 40> buffer_{};
    std::size_t size_ = 0;
};

}  // namespace colock::small_redis

#endif
