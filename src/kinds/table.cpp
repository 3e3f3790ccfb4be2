// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/table.hpp"

#include "kinds/kind.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace colock::kinds {

core::vote table::execute(const kinds::command& command, core::time_point now, wall_time wall) {
    changes_.clear();
    collect_expired(now);
    return command.kind->execute(command, *this, {now, wall});
}

table::entry* table::find(std::string_view name, core::time_point now) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
        return nullptr;
    }
    if (found->second.expires <= now) {
        entries_.erase(found);
        return nullptr;
    }
    return &found->second;
}

table::entry& table::put(std::string_view name, std::string_view text, core::time_point expires) {
    std::string made(text);  // Before the write, because there may be no memory.
    entry& written = write(name, expires);
    written.text_ = std::move(made);
    return written;
}

table::entry& table::write(std::string_view name, core::time_point expires) {
    changes_.emplace_back(name);
    entry& written = entries_[std::string(name)];
    written.text_.clear();
    written.other_.reset();
    written.name_of_ = nullptr;
    written.expires = expires;
    return written;
}

void table::erase(std::string_view name) {
    changes_.emplace_back(name);
    if (const auto found = entries_.find(name); found != entries_.end()) {
        entries_.erase(found);
    }
}

/// Collects only if the number of names has doubled since the last time. The amortized cost is constant.
void table::collect_expired(core::time_point now) {
    if (entries_.size() >= collect_at_) {
        std::erase_if(entries_, [now](const auto& item) { return item.second.expires <= now; });
        collect_at_ = std::max<std::size_t>(1024, 2 * entries_.size());
    }
}

}  // namespace colock::kinds
