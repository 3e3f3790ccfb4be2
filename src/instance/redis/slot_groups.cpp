// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/slot_groups.hpp"

#include "instance/redis/key_slot.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace colock::instance::redis {
namespace {

using core::key_state;
using core::vote;
using core::vote_kind;

/// Returns the rank of a vote on a release. A group with a higher rank decides the result.
int weight_of(const vote& one) noexcept {
    switch (one.kind) {
        case vote_kind::granted:
            return 0;
        case vote_kind::denied:
            return one.key == key_state::absent ? 1 : 2;
        case vote_kind::failed:
            break;
    }
    return 3;
}

}  // namespace

bool spans_slots(const kinds::command& command) noexcept {
    return std::ranges::any_of(command.more_keys, [&](std::string_view one) {
        return key_slot(one) != key_slot(command.key);
    });
}

std::vector<kinds::command> divide_by_slot(const kinds::command& command,
                                           std::vector<std::string_view>& names) {
    names.assign(command.more_keys.begin(), command.more_keys.end());
    names.push_back(command.key);
    std::ranges::sort(names, {},
                      [](std::string_view one) { return std::pair(key_slot(one), one); });
    std::vector<kinds::command> result;
    const std::span<const std::string_view> all(names);
    for (std::size_t first = 0; first != all.size();) {
        std::size_t end = first + 1;
        while (end != all.size() && key_slot(all[end]) == key_slot(all[first])) {
            ++end;
        }
        kinds::command& group = result.emplace_back(command);
        group.key = all[first];
        group.more_keys = all.subspan(first + 1, end - first - 1);
        first = end;
    }
    return result;
}

bool group_votes::add(core::step what, const vote& vote) {
    switch (what) {
        case core::step::release:
            // mutant: multi_undo_stops_at_an_error
            if (weight_of(vote) > weight_of(result_)) {
                result_ = vote;
            }
            return true;
        case core::step::remaining:
            add_remaining(vote);
            return vote.kind != vote_kind::failed;
        default:
            break;
    }
    if (vote.kind == vote_kind::granted) {
        has_granted_ = true;
        return true;
    }
    if (what == core::step::acquire) {
        end(vote);
    } else {
        result_ = vote;
    }
    return false;
}

void group_votes::end(const vote& failed) {
    const bool is_known = !core::outcome_unknown(failed.reason);
    // mutant: multi_partial_is_granted
    if (has_granted_ && failed.kind == vote_kind::failed && is_known) {
        result_ = vote::failed(core::failure::unclear_error, failed.detail);
    } else {
        result_ = failed;
        if (has_granted_ && failed.kind == vote_kind::denied) {
            result_.key = key_state::partial;
        }
    }
}

/// Adds the vote on the remaining lifetime of a group. The result names the first obstacle and the longest
/// lifetime.
void group_votes::add_remaining(const vote& vote) {
    if (std::exchange(is_first_, false) || vote.kind == vote_kind::failed) {
        result_ = vote;
        return;
    }
    const core::milliseconds longest = std::max(result_.remaining, vote.remaining);
    if (core::is_absent(result_)) {
        result_ = vote;
    }
    result_.remaining = longest;
}

}  // namespace colock::instance::redis
