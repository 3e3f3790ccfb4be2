// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_ONCE_ONCE_HPP
#define COLOCK_KINDS_ONCE_ONCE_HPP

#include "kinds/kind.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// A name is run once, and its result is kept. One key has both. While the name runs, the key has the token of
// its holder, like the key of a mutex. A mutex on that name therefore excludes it. Afterwards the key has a
// record with the result. The holder writes the record in one step that checks the token. Each instance
// therefore has either the token or the record. A quorum of records and a quorum of tokens share an instance.

namespace colock::kinds {

/// The kind of a name that is run once. If an acquire finds a record, it is denied, and the
/// vote has the record.
extern const lock_kind& once;

inline constexpr std::size_t longest_fingerprint = 256;
inline constexpr std::size_t longest_result = std::size_t{64} << 10U;

/// The content of a record.
struct once_record {
    std::string_view fingerprint;
    std::string_view result;
    /// The result was too long to be recorded, and `result` is its number of bytes.
    bool is_refusal = false;
};

/// Returns the record as text. See record.lua for the format.
[[nodiscard]] std::string make_record(const once_record& of);

/// Returns the content of a record, or nothing if the text is not a record. The views refer to the text.
[[nodiscard]] std::optional<once_record> parse_record(std::string_view text) noexcept;

}  // namespace colock::kinds

#endif
