// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/lock_key.hpp"

#include "kinds/label.hpp"
#include "kinds/replies.hpp"

#include <algorithm>
#include <tuple>

namespace colock::kinds {

using core::vote;

core::time_point reader_set::shared_until() const noexcept {
    core::time_point last = core::time_point::min();
    for (const share& one : shares) {
        last = std::max(last, one.expires);
    }
    return last;
}

core::time_point reader_set::marked_until() const noexcept {
    core::time_point last = core::time_point::min();
    for (const mark& one : marks) {
        last = std::max(last, one.expires);
    }
    return last;
}

core::time_point reader_set::ends() const noexcept {
    return std::max(marked_until(), shared_until());
}

void reader_set::drop_expired(core::time_point now) {
    const core::time_point latest = now + writer_mark_ttl;
    std::erase_if(shares, [now](const share& one) { return one.expires <= now; });
    std::erase_if(marks,
                  [=](const mark& one) { return one.expires <= now || one.expires > latest; });
}

lock_key::lock_key(table& keys, std::string_view name, core::time_point now)
    : keys_(keys), name_(name), now_(now), entry_(keys.find(name, now)) {
    set_ = exists() ? entry_->as<reader_set>() : nullptr;
    if (set_ != nullptr) {
        set_->drop_expired(now);
        entry_->expires = set_->ends();
        if (set_->is_empty()) {
            set_ = nullptr;
            entry_ = keys.find(name, now);  // Erases it and returns null.
        }
    }
}

bool lock_key::is_held_by(std::string_view holder) const noexcept {
    if (set_ != nullptr) {
        return std::ranges::find(set_->shares, holder, &reader_set::share::token) !=
               set_->shares.end();
    }
    const std::string* const held = token();
    return held != nullptr && (*held == holder || *held == as_writers(holder));
}

vote lock_key::denial(core::milliseconds remaining) const {
    std::string_view label;
    if (set_ != nullptr) {
        const auto last = std::ranges::max_element(
            set_->shares, {}, [](const auto& one) { return std::tie(one.expires, one.token); });
        label = last != set_->shares.end() ? label_in(last->token) : std::string_view();
    } else if (const std::string* const held = token()) {
        label = label_in(*held);
    } else {
        const std::string lock = entry_->lock_name();
        return lock.empty() ? denied_by_value({}, remaining) : denied_by_kind(lock, remaining);
    }
    return label.empty() ? vote::denied(core::key_state::foreign, remaining)
                         : denied_by_label(label, remaining);
}

void lock_key::prolong(core::time_point until) {
    entry_->expires = until;
    keys_.changed(name_);
}

void lock_key::share(std::string_view reader, core::time_point until) {
    if (set_ == nullptr) {
        entry_ = &keys_.put(name_, reader_set(), until);
        set_ = entry_->as<reader_set>();
    } else {
        keys_.changed(name_);
    }
    const auto found = std::ranges::find(set_->shares, reader, &reader_set::share::token);
    if (found == set_->shares.end()) {
        set_->shares.push_back({std::string(reader), until});
    } else {
        found->expires = std::max(found->expires, until);
    }
    entry_->expires = set_->ends();
}

void lock_key::release(std::string_view holder) {
    if (set_ == nullptr) {
        erase();
        return;
    }
    std::erase_if(set_->shares,
                  [holder](const reader_set::share& one) { return one.token == holder; });
    keep_rest();
}

void lock_key::mark(std::uint64_t client) {
    std::erase_if(set_->marks,
                  [client](const reader_set::mark& one) { return one.client == client; });
    set_->marks.push_back({client, now_ + writer_mark_ttl});
    keep_rest();
}

bool lock_key::unmark(std::uint64_t client) {
    const bool was_marked =
        set_ != nullptr && std::erase_if(set_->marks, [client](const reader_set::mark& one) {
                               return one.client == client;
                           }) != 0;
    if (was_marked) {
        keep_rest();
    }
    return was_marked;
}

void lock_key::erase() {
    keys_.erase(name_);
    entry_ = nullptr;
    set_ = nullptr;
}

void lock_key::keep_rest() {
    if (set_->is_empty()) {
        erase();
    } else {
        entry_->expires = set_->ends();
        keys_.changed(name_);
    }
}

}  // namespace colock::kinds
