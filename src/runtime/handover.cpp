// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/handover.hpp"

#include "core/command.hpp"
#include "core/stable_hash.hpp"
#include "core/time.hpp"
#include "kinds/label.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace colock::runtime {
namespace {

constexpr std::string_view version = "colock-lease/1";
constexpr std::string_view no_values = "-";
constexpr std::uint64_t longest_ttl = 86'400'000;  // In milliseconds, see `lock_options::ttl`.
constexpr std::size_t fields_before_keys = 7;
constexpr std::string_view hexadecimal_digits = "0123456789abcdef";
constexpr std::string_view plain_signs = "-._:/{}";

constexpr bool is_alphanumeric(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Returns whether the text has this byte of a key as it is.
constexpr bool is_plain(char c) noexcept {
    return is_alphanumeric(c) || plain_signs.find(c) != std::string_view::npos;
}

constexpr bool is_hexadecimal(char c) noexcept {
    return hexadecimal_digits.find(c) != std::string_view::npos;
}

std::string encoded(std::string_view key) {
    std::string result;
    for (const char c : key) {
        if (is_plain(c)) {
            result += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            result += '%';
            result += hexadecimal_digits[byte / 16U];
            result += hexadecimal_digits[byte % 16U];
        }
    }
    return result;
}

std::optional<std::string> decoded(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        if (is_plain(text.front())) {
            result += text.front();
            text.remove_prefix(1);
        } else if (text.size() >= 3 && text[0] == '%' && is_hexadecimal(text[1]) &&
                   is_hexadecimal(text[2])) {
            result += static_cast<char>(hexadecimal_digits.find(text[1]) * 16U +
                                        hexadecimal_digits.find(text[2]));
            text.remove_prefix(3);
        } else {
            return std::nullopt;
        }
    }
    return result.empty() ? std::nullopt : std::optional(std::move(result));
}

std::string replaced(std::string_view text, char from, char to) {
    std::string result(text);
    std::replace(result.begin(), result.end(), from, to);
    return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> result;
    for (std::size_t at = 0; at != std::string_view::npos;) {
        const std::size_t end = text.find(separator, at);
        result.push_back(text.substr(at, end - at));
        at = end == std::string_view::npos ? end : end + 1;
    }
    return result;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t result = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), result);
    const bool is_number = failure == std::errc() && end == text.data() + text.size();
    return is_number && result < core::value_limit ? std::optional(result) : std::nullopt;
}

/// Returns whether the text contains `core::command::values`: increasing numbers that start with `first`.
/// Commas separate them here.
bool are_values(std::string_view text, std::uint64_t first) {
    std::uint64_t before = 0;
    for (const std::string_view one : split(text, ',')) {
        const auto number = number_in(one);
        if (!number || *number <= before || (before == 0 && *number != first)) {
            return false;
        }
        before = *number;
    }
    return true;
}

std::string checksum_of(std::string_view text) {
    std::uint64_t rest = core::stable_hash(text);
    std::string result(16, '0');
    for (std::size_t i = result.size(); i-- != 0; rest /= 16U) {
        result[i] = hexadecimal_digits[rest % 16U];
    }
    return result;
}

std::string wrong(std::string_view field, std::string_view value, std::string_view wanted) {
    constexpr std::size_t longest = 40;
    std::string result = "its ";
    result.append(field).append(" is '");
    for (const char c : value.substr(0, longest)) {
        result += kinds::is_label_character(c) ? c : '?';
    }
    return result.append(value.size() > longest ? "...'" : "'").append(", not ").append(wanted);
}

}  // namespace

token_parts token_parts::of(std::string_view token) noexcept {
    const std::size_t mark = token.find(kinds::label_mark);
    const std::string_view front = token.substr(0, mark);
    const bool has_label = mark != std::string_view::npos;
    const std::string_view label = has_label ? token.substr(mark + 1) : std::string_view();
    if (front.size() < kinds::token_digits || has_label == label.empty() ||
        label.size() > kinds::longest_label ||
        !std::ranges::all_of(token, kinds::is_label_character)) {
        return {};
    }
    const std::size_t prefix = front.size() - kinds::token_digits;
    const std::string_view digits = front.substr(prefix);
    return std::ranges::all_of(digits, is_hexadecimal)
               ? token_parts{front.substr(0, prefix), digits, label}
               : token_parts();
}

std::string to_text(const handover& lease) {
    std::string rest = replaced(lease.kind, ' ', '_');
    rest.append(1, ' ').append(lease.token);
    rest.append(1, ' ').append(
        std::to_string(std::chrono::ceil<core::milliseconds>(lease.has.ttl).count()));
    rest.append(1, ' ').append(std::to_string(lease.has.value));
    const std::string_view values = lease.has.values;
    rest.append(1, ' ').append(values.empty()
                                   ? std::string(no_values)
                                   : replaced(values.substr(0, values.size() - 1), ' ', ','));
    for (const std::string& key : lease.keys) {
        rest.append(1, ' ').append(encoded(key));
    }
    std::string result(version);
    return result.append(1, ' ').append(checksum_of(rest)).append(1, ' ').append(rest);
}

std::variant<handover, std::string> parse_handover(std::string_view text) {
    if (const auto first = text.substr(0, text.find(' ')); first != version) {
        return wrong("first field", first, version);
    }
    const auto count = static_cast<std::size_t>(std::ranges::count(text, ' ')) + 1;
    constexpr std::size_t most = fields_before_keys + most_keys_in_text;
    if (count <= fields_before_keys || count > most) {
        return "it has " + std::to_string(count) + " fields, not " +
               std::to_string(fields_before_keys + 1) + " to " + std::to_string(most);
    }
    const std::vector<std::string_view> fields = split(text, ' ');
    const std::string_view rest = text.substr(version.size() + fields[1].size() + 2);
    if (fields[1] != checksum_of(rest)) {
        return wrong("checksum", fields[1],
                     checksum_of(rest) + ". The text was changed, or a part of it is missing");
    }
    handover result;
    result.kind = replaced(fields[2], '_', ' ');
    if (token_parts::of(fields[3]).digits.empty()) {
        return wrong("token", fields[3], "a token");
    }
    result.token = fields[3];
    const auto ttl = number_in(fields[4]);
    if (!ttl || *ttl == 0 || *ttl > longest_ttl) {
        return wrong("ttl", fields[4], "1 to " + std::to_string(longest_ttl) + " ms");
    }
    result.has.ttl = core::milliseconds(static_cast<core::milliseconds::rep>(*ttl));
    const auto value = number_in(fields[5]);
    if (!value) {
        return wrong("value", fields[5], "a number below 2^53");
    }
    result.has.value = *value;
    if (fields[6] != no_values) {
        if (!are_values(fields[6], *value)) {
            return wrong("list of values", fields[6],
                         "increasing numbers that begin with the value");
        }
        result.has.values = replaced(fields[6], ',', ' ') + ' ';
    }
    for (std::size_t i = fields_before_keys; i != fields.size(); ++i) {
        auto key = decoded(fields[i]);
        if (!key) {
            return wrong("name", fields[i], "a name as lease::detach writes it");
        }
        result.keys.push_back(std::move(*key));
    }
    return result;
}

}  // namespace colock::runtime
