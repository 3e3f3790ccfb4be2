// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_LABEL_HPP
#define COLOCK_KINDS_LABEL_HPP

#include <cstddef>
#include <string_view>

// What a token is: the prefix of its kind, 40 hexadecimal digits, and perhaps `@` and a label. The label says who holds the key.
// Locks compare tokens as a whole. Only texts for people use the label.

namespace colock::kinds {

inline constexpr std::size_t token_digits = 40;
/// What stands before a label.
inline constexpr char label_mark = '@';
inline constexpr std::size_t longest_label = 64;

/// A label is one word of printable ASCII.
[[nodiscard]] constexpr bool is_label_character(char c) noexcept {
    return c > ' ' && c < '\x7f';
}

/// Returns the label in a token, as label_at in lock_key.lua. Returns an empty text if there is none, or if the value is no
/// token.
[[nodiscard]] std::string_view label_in(std::string_view token) noexcept;

}  // namespace colock::kinds

#endif
