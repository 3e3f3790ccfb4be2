// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/number_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <system_error>

namespace colock::small_redis {
namespace {

constexpr std::size_t longest_integer = 20;
/// Redis never converts a larger number to an integer.
constexpr double largest_exact = 4'611'686'018'427'387'904.0;
constexpr double largest_of_17_digits = 99'999'999'999'999'984.0;

bool is_canonical(std::string_view digits) noexcept {
    return !digits.empty() && (digits.front() != '0' || digits.size() == 1);
}

/// Returns true if the value is an integer of at most this size.
bool is_integer(double value, double limit) noexcept {
    return std::abs(value) <= limit && std::trunc(value) == value;
}

}  // namespace

std::optional<std::int64_t> to_integer(std::string_view text) noexcept {
    const bool is_negative = text.starts_with('-');
    if (text.size() > longest_integer || !is_canonical(text.substr(is_negative ? 1 : 0)) ||
        text == "-0") {
        return std::nullopt;
    }
    std::int64_t result = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()
               ? std::optional(result)
               : std::nullopt;
}

std::optional<double> to_double(std::string_view text) noexcept {
    if (text.starts_with('+') && !text.starts_with("+-")) {
        text.remove_prefix(1);
    }
    double result = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() &&
                   !std::isnan(result)
               ? std::optional(result)
               : std::nullopt;
}

number_text::number_text(std::int64_t value) noexcept
    : size_(static_cast<std::size_t>(
          std::to_chars(buffer_.data(), buffer_.data() + buffer_.size(), value).ptr -
          buffer_.data())) {}

number_text::number_text(double value, bool is_shortest) noexcept {
    if (!std::isfinite(value)) {
        const std::string_view text = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
        size_ = static_cast<std::size_t>(std::ranges::copy(text, buffer_.begin()).out -
                                         buffer_.begin());
    } else if (is_integer(value, is_shortest ? largest_exact : largest_of_17_digits)) {
        *this = number_text(static_cast<std::int64_t>(value));
    } else if (!is_shortest) {
        size_ =
            static_cast<std::size_t>(std::snprintf(buffer_.data(), buffer_.size(), "%.17g", value));
    } else {
        write_shortest(value);
    }
}

/// Writes the digits and the point like fpconv, which Redis uses.
void number_text::write_shortest(double value) noexcept {
    std::array<char, 40> scientific{};
    const char* const end = std::to_chars(scientific.data(), scientific.data() + scientific.size(),
                                          std::abs(value), std::chars_format::scientific)
                                .ptr;
    const std::string_view all(scientific.data(),
                               static_cast<std::size_t>(end - scientific.data()));
    const std::size_t mark = all.find('e');
    std::string digits;
    std::ranges::copy_if(all.substr(0, mark), std::back_inserter(digits),
                         [](char c) { return c != '.'; });
    int exponent = 0;  // The exponent of the first digit.
    std::from_chars(all.data() + mark + (all[mark + 1] == '+' ? 2 : 1), end, exponent);
    const int count = static_cast<int>(digits.size());
    const int last = exponent - count + 1;  // The exponent of the last digit.

    std::string text = value < 0 ? "-" : "";
    if (last >= 0 && std::abs(exponent) < count + 7) {
        text += digits + std::string(static_cast<std::size_t>(last), '0');
    } else if (last < 0 && (last > -7 || std::abs(exponent) < 4)) {
        const int whole = count + last;
        text += whole <= 0 ? "0." + std::string(static_cast<std::size_t>(-whole), '0') + digits
                           : digits.substr(0, static_cast<std::size_t>(whole)) + "." +
                                 digits.substr(static_cast<std::size_t>(whole));
    } else {
        text += digits.substr(0, 1) + (count > 1 ? "." + digits.substr(1) : "") + "e" +
                (exponent < 0 ? "-" : "+") + std::to_string(std::abs(exponent));
    }
    size_ =
        static_cast<std::size_t>(std::ranges::copy(text, buffer_.begin()).out - buffer_.begin());
}

}  // namespace colock::small_redis
