// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_ONCE_ONCE_HPP
#define COLOCK_KINDS_ONCE_ONCE_HPP

#include "kinds/kind.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// A name is run once, and its result is kept. One key tells both: while it runs, the key has the token of its holder, as a mutex's.
// So a mutex on that name excludes it. Afterwards it has a record, with the result. The holder writes that in one step that checks
// the token. So each instance has one of the two, and a quorum of records and a quorum of tokens share an instance.

namespace colock::kinds {

/// The kind of a name that is run once. An acquire that finds a record is denied, and the vote has the record.
extern const lock_kind& once;

inline constexpr std::size_t longest_fingerprint = 256;
inline constexpr std::size_t longest_result = std::size_t{64} << 10U;

/// What a record tells.
struct once_record {
    std::string_view fingerprint;
    std::string_view result;
};

/// As record.lua describes it.
[[nodiscard]] std::string make_record(const once_record& of);

/// The views refer to the text. Returns nothing if it is no record.
[[nodiscard]] std::optional<once_record> parse_record(std::string_view text) noexcept;

}  // namespace colock::kinds

#endif
