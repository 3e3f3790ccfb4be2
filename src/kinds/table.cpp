// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/table.hpp"

#include "kinds/fence.hpp"
#include "kinds/kind.hpp"
#include "kinds/label.hpp"
#include "kinds/replies.hpp"
#include "kinds/shared.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

namespace colock::kinds {

using core::vote;

namespace {

vote used_up() {
    return vote::failed(core::failure::server_error,
                        std::make_shared<const std::string>(
                            "FENCE the fence counter holds no number below 2^53 to go on with"));
}

}  // namespace

vote table::execute(const kinds::command& command, core::time_point now, wall_time wall) {
    changes_.clear();
    collect_expired(now);
    return command.kind->execute(command, *this, {now, wall});
}

bool table::entry::is_held_by(std::string_view holder) const noexcept {
    if (is_exclusive()) {
        return token == holder || token == as_writers(holder);
    }
    return std::ranges::find(readers, holder, &reader::token) != readers.end();
}

core::time_point table::entry::last_reader_until() const noexcept {
    core::time_point last = core::time_point::min();
    for (const reader& one : readers) {
        last = std::max(last, one.expires);
    }
    return last;
}

vote table::entry::denial(core::milliseconds remaining) const {
    const auto last = std::ranges::max_element(
        readers, {}, [](const reader& one) { return std::tie(one.expires, one.token); });
    const std::string_view label = label_in(last != readers.end() ? last->token : token);
    return label.empty() ? vote::denied(core::key_state::foreign, remaining)
                         : denied_by_label(label, remaining);
}

void table::entry::share(std::string_view holder, core::time_point until) {
    token.clear();  // if it was a writer's, that is a reader now
    const auto found = std::ranges::find(readers, holder, &reader::token);
    if (found == readers.end()) {
        readers.push_back({std::string(holder), until});
    } else {
        found->expires = std::max(found->expires, until);
    }
    set_expiry();
}

void table::entry::unshare(std::string_view holder) {
    std::erase_if(readers, [holder](const reader& one) { return one.token == holder; });
    set_expiry();
}

core::time_point table::entry::marked_until() const noexcept {
    core::time_point last = core::time_point::min();
    for (const mark& one : marks) {
        last = std::max(last, one.expires);
    }
    return last;
}

void table::entry::leave_mark(std::uint64_t client, core::time_point now, core::milliseconds life) {
    unmark(client);
    marks.push_back({client, now + life});
    set_expiry();
}

bool table::entry::unmark(std::uint64_t client) {
    const bool was_marked =
        std::erase_if(marks, [client](const mark& one) { return one.client == client; }) != 0;
    if (was_marked) {
        set_expiry();
    }
    return was_marked;
}

bool table::entry::drop_expired(core::time_point now) {
    if (is_exclusive()) {
        return true;
    }
    const core::time_point latest = now + writer_mark_ttl;
    std::erase_if(readers, [now](const reader& one) { return one.expires <= now; });
    std::erase_if(marks,
                  [=](const mark& one) { return one.expires <= now || one.expires > latest; });
    set_expiry();
    return !readers.empty() || !marks.empty();
}

/// It lives as long as the last of its readers, and of its marks.
void table::entry::set_expiry() {
    expires = std::max(marked_until(), last_reader_until());
}

table::entry* table::find(std::string_view key, core::time_point now) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) {
        return nullptr;
    }
    if (found->second.expires <= now || !found->second.drop_expired(now)) {
        keys_.erase(found);
        return nullptr;
    }
    return &found->second;
}

table::entry& table::put(std::string_view key, std::string_view token, core::time_point expires) {
    changes_.emplace_back(key);
    return keys_.insert_or_assign(std::string(key), entry{std::string(token), expires})
        .first->second;
}

void table::erase(std::string_view key) {
    changes_.emplace_back(key);
    keys_.erase(std::string(key));
}

vote table::move_fence(std::string_view key, std::uint64_t least, fence_use use,
                       const instant& at) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at.wall);
    const auto second = static_cast<std::uint64_t>(seconds.count()) << fence_second_bits;
    const auto found = counters_.find(key);
    std::uint64_t value = 0;
    if (found == counters_.end() || found->second.expires <= at.now) {
        value = std::max(second | static_cast<std::uint64_t>((at.wall - seconds).count()), least);
    } else {
        value = std::max(found->second.value, least);
        if (least == 0) {
            value = std::max(value + (use == fence_use::count ? 1 : 0), second);
        }
    }
    // A reader must leave a number for the next writer.
    if (value >= (use == fence_use::count ? core::value_limit : core::value_limit - 1)) {
        return used_up();
    }
    counters_.insert_or_assign(std::string(key), counter{value, at.now + fence_idle});
    return vote::granted(value);
}

table::queue& table::queue_of(std::string_view key, core::time_point now) {
    queue& result = queues_[std::string(key)];
    if (result.expires <= now) {
        result.tickets.clear();
    }
    return result;
}

void table::close_queue(std::string_view key) {
    queues_.erase(std::string(key));
}

void table::forget_counter(std::string_view key) {
    counters_.erase(std::string(key));
}

/// Whenever the number of keys has doubled since the last time: amortised constant work.
void table::collect_expired(core::time_point now) {
    if (keys_.size() + counters_.size() + queues_.size() >= collect_at_) {
        const auto is_over = [now](const auto& item) { return item.second.expires <= now; };
        std::erase_if(keys_, is_over);
        std::erase_if(counters_, is_over);
        std::erase_if(queues_, is_over);
        collect_at_ =
            std::max<std::size_t>(1024, 2 * (keys_.size() + counters_.size() + queues_.size()));
    }
}

}  // namespace colock::kinds
