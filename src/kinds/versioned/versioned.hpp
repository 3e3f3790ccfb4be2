// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_VERSIONED_VERSIONED_HPP
#define COLOCK_KINDS_VERSIONED_VERSIONED_HPP

#include "core/time.hpp"
#include "kinds/kind.hpp"
#include "kinds/table.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

// A record is a value with a version. A write names the version that it expects, and is denied if the record
// has another one. There is therefore no holder, and a read is not followed by a release.
//
// Versions never recur. They are a hybrid clock, as fences are, and a key outlives its value by
// `tombstone_life`. Fences move to whole seconds, so that several instances agree. A record is on one
// instance, so its versions have microseconds too. A server that takes over within the same second therefore
// continues after the last version.
//
// The record remembers its last writes, so that a repeated write is carried out once. See record.lua.

namespace colock::kinds {

/// The kind of a record. Its steps are `read` and `write`. A token is the id of a write.
///
/// Algorithm: optimistic concurrency control with hybrid logical clocks.
/// - H. T. Kung, J. T. Robinson, "On Optimistic Methods for Concurrency Control", ACM TODS 6(2), 1981.
/// - S. Kulkarni et al., "Logical Physical Clocks", OPODIS 2014.
extern const lock_kind& versioned;

/// How long a key outlives its value. No write that expects an earlier version is under way for this long.
inline constexpr std::chrono::hours tombstone_life{24 * 7};

/// The number of writes that a record remembers.
inline constexpr std::size_t remembered_writes = 16;

/// The state of a record in memory, without its value.
struct record_summary {
    std::uint64_t version = 0;
    bool has_value = false;
};

/// Returns the state of the record in an entry. Returns nothing if the entry has no record.
[[nodiscard]] std::optional<record_summary> record_in(table::entry& entry, core::time_point now);

}  // namespace colock::kinds

#endif
