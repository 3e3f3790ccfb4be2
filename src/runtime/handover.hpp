// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_HANDOVER_HPP
#define COLOCK_RUNTIME_HANDOVER_HPP

#include "core/lease.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace colock::runtime {

/// The parts of a token.
struct token_parts {
    std::string_view prefix;
    std::string_view digits;
    std::string_view label;  ///< Empty if there is none.

    /// Returns empty parts if the text is not a token.
    static token_parts of(std::string_view token) noexcept;
};

/// A lease that is handed over to another process, with everything that the process needs.
struct handover {
    std::string kind;               ///< The name of its kind: see `kinds::kind_traits`.
    std::string token;              ///< As stored on the instances.
    core::adopted_values has;       ///< The longest ttl, and a fence, or the numbers of permits.
    std::vector<std::string> keys;  ///< Its keys on the instances, at least one.

    friend bool operator==(const handover&, const handover&) = default;
};

/// The largest number of keys in a text.
inline constexpr std::size_t most_keys_in_text = 64;

/// Returns one line of printable ASCII:
///
///     colock-lease/1 <checksum> <kind> <token> <ttl> <value> <values, or -> <key> [<key>...]
///
/// The fields are separated by single spaces. The checksum is the FNV-1a hash of the text after it, in 16
/// hexadecimal digits. It finds a text that is damaged or incomplete. In a kind, `_` stands for a space. The ttl
/// is in milliseconds. Values are separated by commas. In a key, bytes other than letters, digits and some signs
/// are written as `%` and two hexadecimal digits.
[[nodiscard]] std::string to_text(const handover& lease);

/// Parses the text of a lease. If it is invalid, returns the reason: the field, its value and the expected
/// value.
[[nodiscard]] std::variant<handover, std::string> parse_handover(std::string_view text);

}  // namespace colock::runtime

#endif
