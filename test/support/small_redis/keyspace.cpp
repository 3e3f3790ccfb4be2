// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/keyspace.hpp"

#include <algorithm>
#include <iterator>

namespace colock::small_redis {

std::string_view type_name(const key_value& v) noexcept {
    constexpr std::string_view names[] = {"string", "list", "zset", "hash"};
    return names[v.index()];
}

keyspace::records::const_iterator keyspace::lower_bound(std::string_view name) const noexcept {
    return std::ranges::lower_bound(records_, name, {},
                                    [](const auto& one) { return std::string_view(one->name); });
}

const record* keyspace::find(std::string_view name) const noexcept {
    const auto at = lower_bound(name);
    return at != records_.end() && (*at)->name == name ? at->get() : nullptr;
}

/// Returns a key that no other keyspace shares. Copies the key if necessary.
record& keyspace::own(std::size_t at) {
    std::shared_ptr<record>& one = records_[at];
    if (one.use_count() != 1) {
        one = std::make_shared<record>(*one);
    }
    return *one;
}

record* keyspace::find_to_change(std::string_view name) {
    const auto at = lower_bound(name);
    return at != records_.end() && (*at)->name == name
               ? &own(static_cast<std::size_t>(at - records_.begin()))
               : nullptr;
}

record& keyspace::make(std::string_view name) {
    const auto at = lower_bound(name);
    if (at != records_.end() && (*at)->name == name) {
        return own(static_cast<std::size_t>(at - records_.begin()));
    }
    return **records_.insert(at, std::make_shared<record>(record{std::string(name)}));
}

bool keyspace::erase(std::string_view name) noexcept {
    const auto at = lower_bound(name);
    if (at == records_.end() || (*at)->name != name) {
        return false;
    }
    records_.erase(at);
    return true;
}

void keyspace::rename(std::string_view from, std::string_view to) {
    record moved = *find(from);
    moved.name = to;
    erase(from);
    make(to) = std::move(moved);
}

bool operator==(const keyspace& a, const keyspace& b) {
    return std::ranges::equal(a.records_, b.records_,
                              [](const auto& x, const auto& y) { return *x == *y; });
}

}  // namespace colock::small_redis
