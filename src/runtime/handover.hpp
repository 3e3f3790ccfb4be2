// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_HANDOVER_HPP
#define COLOCK_RUNTIME_HANDOVER_HPP

#include "core/lease.hpp"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock::runtime {

/// Of a token of any kind.
struct token_parts {
    std::string_view prefix;
    std::string_view digits;
    std::string_view label;  ///< empty without one

    /// Empty if that is no token.
    static token_parts of(std::string_view token) noexcept;
};

/// A lease on its way to another process: what that has to know of it.
struct handover {
    std::string kind;               ///< its name: see `kinds::kind_traits`
    std::string token;              ///< as the instances have it
    core::adopted_values has;       ///< a fence, or the numbers of permits
    std::vector<std::string> keys;  ///< its names at the instances, at least one

    friend bool operator==(const handover&, const handover&) = default;
};

/// One line of printable ASCII:
///
///     colock-lease/1 <kind> <token> <value> <values, or -> <key> [<key>...]
///
/// The fields are separated by single spaces. In a kind, `_` stands for a space. Values are separated by commas. In a key, bytes other
/// than letters, digits and some signs are written as `%` and two hexadecimal digits.
[[nodiscard]] std::string to_text(const handover& lease);

/// The lease of such a text. If it is none, says why not: the field, its value, and what it has to be.
[[nodiscard]] std::variant<handover, std::string> parse_handover(std::string_view text);

}  // namespace colock::runtime

#endif
