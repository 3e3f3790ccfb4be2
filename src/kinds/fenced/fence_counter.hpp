// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_FENCED_FENCE_COUNTER_HPP
#define COLOCK_KINDS_FENCED_FENCE_COUNTER_HPP

#include "core/vote.hpp"
#include "kinds/auxiliary_key.hpp"
#include "kinds/capabilities.hpp"
#include "kinds/command.hpp"
#include "resp/writer.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::kinds {

struct instant;
class table;

// The scripts on the servers and the kinds in memory share these definitions.
//
// A fence counter is a hybrid clock. It counts acquisitions, and is never behind the server's own TIME in
// seconds. An existing counter moves at least to the current whole second. Instances whose clocks agree on
// the second therefore agree on the value. A counter is missing if it never existed, was lost, or was idle
// for long. It then begins at the microsecond. That is not behind its earlier values, nor behind any other
// counter whose clock agrees. Instances count at most 2^20 acquisitions of one lock per second.

/// A fence is the seconds since 1970, shifted by this number of bits, plus a count.
inline constexpr unsigned fence_second_bits = 20;

/// How long an unused counter is kept. This is longer than any ttl, which is at most 24 h. Even a lease that
/// is held for longer does not need the counter. The next fence begins with a time that is later by as much.
inline constexpr std::chrono::hours fence_idle{24 * 7};

/// Returns the name of the counter of a key's fences.
inline std::string fence_key(std::string_view key) {
    return auxiliary_key(key, "fence");
}

/// The purpose for which a fence counter is advanced.
enum class fence_use : std::uint8_t {
    count,  ///< A writer: to more than before, and at least to the current second.
    /// A reader: at least to the current second. Older data may have come back, with a counter behind
    /// the last writer's.
    read,
};

/// The part of a step that advances the fence counter for the holder of the key, without a look at the key.
inline constexpr std::uint8_t counter_part = 1;

/// Divides a step that needs the key and its counter: first the key's part, then the counter's part. `take` is
/// the command that acquires the key alone. A step that confirms a value first checks that the token still holds
/// the key, by an extend with a ttl of 0. Returns no parts for another step. See `lock_kind::apart`.
std::vector<kinds::command> key_and_counter(const kinds::command& command, kinds::command take);

/// Writes the counter's part of a step.
void write_count(const kinds::command& command, fence_use use, script_form form,
                 resp::command_writer& to);

/// Advances the fence counter of the command's key, as fence_counter.lua does. The counter moves at least to
/// `command::value`. If that is 0, it moves as `use` defines. The vote has the counter.
core::vote move_fence(const kinds::command& command, fence_use use, table& keys, const instant& at);

}  // namespace colock::kinds

#endif
