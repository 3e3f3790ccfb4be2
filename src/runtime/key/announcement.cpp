// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/announcement.hpp"

#include "runtime/client_context.hpp"

namespace colock::runtime {

/// Readers next to a downgraded writer withdraw nothing, because their kind does not announce. They cannot
/// tell where the writer's announcement stands. The writer's lease withdraws it.
///
/// The deadline counts from the end of the announcement. While the announcement stands, the withdrawal is in
/// time, even if the program was busy.
void withdrawals::withdraw(announcement& what, const std::shared_ptr<const lock_spec>& of,
                           core::instance_set where, core::time_point now) {
    const core::time_point until = what.until();
    if (now >= until || !of->policy->kind().announces()) {
        return;
    }
    what.withdrawn();
    const std::size_t votes = where.count(parts_.instances.size());
    if (votes == 0) {
        return;
    }
    const instance::command_tag tag = next_++;
    pending_.emplace(tag, pending{of, votes});
    kinds::command& command =
        parts_.out.submit(*this, tag, where, until + parts_.settings.instance_timeout);
    command.kind = &of->policy->kind();
    command.step = core::step::withdraw;
    command.key = of->key;
    command.more_keys = of->more_keys;
    command.ticket = parts_.client_number;
}

void withdrawals::on_vote(std::size_t /*index*/, instance::command_tag tag, const core::vote& vote,
                          core::time_point now) {
    parts_.note_vote(vote, now);
    const auto answered = pending_.find(tag);
    if (--answered->second.votes == 0) {
        pending_.erase(answered);
    }
}

}  // namespace colock::runtime
