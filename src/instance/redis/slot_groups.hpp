// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_SLOT_GROUPS_HPP
#define COLOCK_INSTANCE_REDIS_SLOT_GROUPS_HPP

#include "core/vote.hpp"
#include "kinds/command.hpp"

#include <string_view>
#include <vector>

// A lock with several names on a cluster, where a node executes no command for keys in several slots. So the names are divided by
// their slots. The commands for these groups are sent one after the other, and their answers come to one vote.

namespace colock::instance::redis {

/// Whether the names of a command are in several slots.
[[nodiscard]] bool spans_slots(const kinds::command& command) noexcept;

/// Divides a command into one for each slot, in the order of the slots. The commands refer to `names`, which has to outlive them.
///
/// All clients take the slots in this order. So of all that want common names, the one that has come furthest finds nothing taken by
/// the others, and somebody always gets on.
[[nodiscard]] std::vector<kinds::command> divide_by_slot(const kinds::command& command,
                                                         std::vector<std::string_view>& names);

/// What the votes on the groups of one command come to.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class group_votes {
public:
    /// Adds the vote on the next group. Returns whether the rest is to be asked: a command that takes or prolongs is done with the
    /// first group that is not granted.
    bool add(core::step what, const core::vote& vote);

    /// The vote on all groups so far. Of an acquire that was denied after a group was granted, the key is `key_state::partial`.
    [[nodiscard]] const core::vote& result() const noexcept { return result_; }

    /// The rest will not be executed, for this reason. What was granted is still there.
    void end(const core::vote& failed);

private:
    void add_remaining(const core::vote& vote);

    core::vote result_ = core::vote::granted();
    bool has_granted_ = false;  // a group
    bool is_first_ = true;
};

}  // namespace colock::instance::redis

#endif
