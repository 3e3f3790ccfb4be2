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

namespace colock::kinds {

struct instant;
class table;

// What the scripts in the servers and the kinds in memory have in common.
//
// A fence counter is a hybrid clock: it counts acquisitions, and is never behind the server's own
// TIME in seconds. A counter that is there moves to a whole second, so that instances whose clocks
// agree on the second agree on the value, too; one that is not there (never was, lost, or idle for
// long) begins at the microsecond, which is no less than what it can have been before, or any other
// whose clock agrees. Instances count 2^20 acquisitions a second of one lock at most.

/// A fence is the seconds since 1970, shifted by so many bits, and a count.
inline constexpr unsigned fence_second_bits = 20;

/// For how long a counter is kept that nobody counts with. Longer than any ttl (24 h at most); a
/// lease that is held for longer than this needs it no more than any other: what is counted next
/// begins with a time that is later by as much.
inline constexpr std::chrono::hours fence_idle{24 * 7};

/// The counter of the key's fences.
inline std::string fence_key(std::string_view key) {
    return auxiliary_key(key, "fence");
}

/// What a fence counter is moved on for.
enum class fence_use : std::uint8_t {
    count,  ///< a writer: to more than it was, and to the current second at least
    read,  ///< a reader: to the current second at least. Older data may have come back, with a counter that is behind
           ///< the last writer's
};

/// The part of a step that moves the fence counter on for the holder of the key, without a look at the key.
inline constexpr std::uint8_t counter_part = 1;
void write_count(const kinds::command& command, fence_use use, script_form form,
                 resp::command_writer& to);

/// Moves the fence counter of the command's key on, as fence_counter.lua does. It moves to `command::value` at least. If that is 0,
/// it moves as `use` says. The vote has the counter.
core::vote move_fence(const kinds::command& command, fence_use use, table& keys, const instant& at);

}  // namespace colock::kinds

#endif
