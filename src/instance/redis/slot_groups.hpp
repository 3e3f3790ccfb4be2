// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_SLOT_GROUPS_HPP
#define COLOCK_INSTANCE_REDIS_SLOT_GROUPS_HPP

#include "core/vote.hpp"
#include "kinds/command.hpp"

#include <string_view>
#include <vector>

// A lock with several names on a cluster. No node executes a command for keys in several slots, so the names
// are divided by slot. The commands for these groups are sent one after the other, and their votes are
// combined into one.

namespace colock::instance::redis {

/// Returns whether the names of a command are in several slots.
[[nodiscard]] bool spans_slots(const kinds::command& command) noexcept;

/// Divides a command into one per slot, in slot order. The commands refer to `names`, which must outlive
/// them.
///
/// All clients acquire the slots in this order. Among clients with common names, the client with the highest
/// acquired slot finds its remaining slots free. So one client always makes progress.
[[nodiscard]] std::vector<kinds::command> divide_by_slot(const kinds::command& command,
                                                         std::vector<std::string_view>& names);

/// Combines the votes on the groups of one command.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class group_votes {
public:
    /// Adds the vote on the next group. Returns whether the remaining groups must be sent. An acquire or
    /// extend ends with the first group that is not granted.
    bool add(core::step what, const core::vote& vote);

    /// Returns the combined vote. If an acquire was denied after a group was granted, its key is
    /// `key_state::partial`.
    [[nodiscard]] const core::vote& result() const noexcept { return result_; }

    /// Ends the command: the remaining groups will not be executed, for this reason. Granted groups still
    /// hold their keys.
    void end(const core::vote& failed);

private:
    void add_remaining(const core::vote& vote);

    core::vote result_ = core::vote::granted();
    bool has_granted_ = false;  // At least one group.
    bool is_first_ = true;
};

}  // namespace colock::instance::redis

#endif
