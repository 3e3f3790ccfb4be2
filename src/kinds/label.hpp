// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_LABEL_HPP
#define COLOCK_KINDS_LABEL_HPP

#include <cstddef>
#include <string_view>

// A token is the prefix of its kind, 40 hexadecimal digits, and optionally `@` and a label. The label says
// which holder has the key. Locks compare tokens as a whole. Only texts for people use the label.

namespace colock::kinds {

inline constexpr std::size_t token_digits = 40;
/// Separates the digits from the label.
inline constexpr char label_mark = '@';
inline constexpr std::size_t longest_label = 64;

/// Returns whether a label may contain this character. A label is one word of printable ASCII.
[[nodiscard]] constexpr bool is_label_character(char c) noexcept {
    return c > ' ' && c < '\x7f';
}

/// Returns the label in a token, as label_at in lock_key.lua does. Returns an empty text if there is no
/// label, or if the value is not a token.
[[nodiscard]] std::string_view label_in(std::string_view token) noexcept;

}  // namespace colock::kinds

#endif
