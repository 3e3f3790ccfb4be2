// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/stored_key.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <variant>

namespace colock::simulation {
namespace {

constexpr std::string_view reader_prefix = "reader:";
constexpr std::string_view mark_prefix = "writer:";
constexpr std::string_view clock_prefix = "semaphore:";
constexpr std::string_view result_prefix = "done:";
constexpr wall_milliseconds no_mark = std::numeric_limits<wall_milliseconds>::min();

std::uint64_t number_behind(std::string_view prefix, std::string_view text) {
    std::uint64_t result = 0;
    std::from_chars(text.data() + prefix.size(), text.data() + text.size(), result);
    return result;
}

/// Returns null if there is no such key, or if it has expired.
const small_redis::record* live(const small_redis::keyspace& keys, std::string_view name,
                                wall_milliseconds now) {
    const small_redis::record* const found = keys.find(name);
    return found == nullptr || now > found->expires ? nullptr : found;
}

/// Returns whether the text is a token: 40 digits, with an optional prefix and label. No foreign value looks
/// like this.
bool is_token(std::string_view text) {
    constexpr std::size_t digits = 40;
    return text.size() >= digits;
}

void read_text(const std::string& text, stored_key& to) {
    to.is_foreign = !is_token(text) || text.starts_with(result_prefix);
    const permit_wish wish = wish_of(text);
    to.limit = wish.limit;
    to.holders.push_back({text, to.expires, wish.limit != 0 ? wish.slot_of(1) : slot_set{0}});
}

/// Reads the permits. A score is slot * 2^42 plus a time. The clock of the set is the key's expiry time minus
/// its remaining ttl.
void read_permits(const small_redis::sorted_set& all, wall_milliseconds now, stored_key& to) {
    const double width = std::ldexp(1, 42);
    const auto shift = to.expires + static_cast<wall_milliseconds>(all.members().front().score);
    for (const small_redis::sorted_set::member& one : all.members()) {
        if (one.name.starts_with(clock_prefix)) {
            continue;
        }
        const double slot = std::floor(one.score / width);
        const auto ends = static_cast<wall_milliseconds>(one.score - slot * width) + shift;
        if (ends <= now) {
            continue;
        }
        const std::string_view token = std::string_view(one.name).substr(0, one.name.find('/'));
        auto found = std::ranges::find(to.holders, token, &stored_holder::token);
        if (found == to.holders.end()) {
            found = to.holders.insert(found, {token, to.expires});
        }
        found->expires = std::min(found->expires, ends);
        found->slots |= slot_set{1} << static_cast<unsigned>(slot);
    }
}

/// Reads the readers. A reader's score is the end of its share. The score of a writer mark is the negative of
/// its end. The key ends with the last of them.
void read_readers(const small_redis::sorted_set& all, wall_milliseconds now, stored_key& to) {
    double last = 0;
    for (const small_redis::sorted_set::member& one : all.members()) {
        last = std::max(last, std::abs(one.score));
    }
    const wall_milliseconds shift = to.expires - static_cast<wall_milliseconds>(last);
    for (const small_redis::sorted_set::member& one : all.members()) {
        const bool is_mark = one.name.starts_with(mark_prefix);
        const auto ends = static_cast<wall_milliseconds>(is_mark ? -one.score : one.score) + shift;
        to.is_foreign = to.is_foreign || !(is_mark || is_token(one.name));
        if (ends <= now) {
            continue;
        }
        if (!is_mark) {
            to.holders.push_back({one.name, ends});
        } else if (ends <= now + longest_mark) {
            to.marks.push_back({number_behind(mark_prefix, one.name), ends});
        }
    }
}

}  // namespace

const stored_holder* stored_key::find(std::string_view token) const {
    const auto found = std::ranges::find(holders, token, &stored_holder::token);
    return found == holders.end() ? nullptr : &*found;
}

bool stored_key::is_held_by(std::string_view token) const {
    return find(token) != nullptr || (token.starts_with(reader_prefix) &&
                                      find(token.substr(reader_prefix.size())) != nullptr);
}

slot_set stored_key::taken(std::string_view but) const {
    slot_set result = 0;
    for (const stored_holder& one : holders) {
        result |= one.token == but ? 0 : one.slots;
    }
    return result;
}

wall_milliseconds stored_key::mark_of(std::uint64_t client) const {
    const auto found = std::ranges::find(marks, client, &stored_mark::client);
    return found == marks.end() ? no_mark : found->expires;
}

wall_milliseconds stored_key::marked_until() const {
    wall_milliseconds result = no_mark;
    for (const stored_mark& one : marks) {
        result = std::max(result, one.expires);
    }
    return result;
}

stored_key read_key(const small_redis::keyspace& keys, std::string_view name,
                    wall_milliseconds now) {
    stored_key result;
    const small_redis::record* const found = live(keys, name, now);
    if (found == nullptr) {
        return result;
    }
    result.exists = true;
    result.expires = found->expires;
    if (const auto* const text = std::get_if<std::string>(&found->content)) {
        read_text(*text, result);
    } else if (const auto* const set = std::get_if<small_redis::sorted_set>(&found->content)) {
        const std::string_view first = set->members().front().name;
        if (first.starts_with(clock_prefix)) {
            result.limit = static_cast<std::uint32_t>(number_behind(clock_prefix, first));
            read_permits(*set, now, result);
        } else {
            read_readers(*set, now, result);
        }
    } else {
        result.is_foreign = true;
    }
    if (result.is_foreign) {
        result.limit = 0;
        result.holders.clear();
        result.marks.clear();
    }
    return result;
}

stored_record read_record(const small_redis::keyspace& keys, std::string_view name,
                          wall_milliseconds now) {
    constexpr core::milliseconds week = std::chrono::hours(24 * 7);
    stored_record result;
    const small_redis::record* const found = live(keys, name, now);
    if (found == nullptr) {
        return result;
    }
    const auto* const fields = std::get_if<small_redis::hash>(&found->content);
    const auto field = [&](std::string_view of) -> const std::string* {
        const auto at = std::ranges::find(*fields, of, [](const auto& one) { return one.first; });
        return at == fields->end() ? nullptr : &at->second;
    };
    if (fields == nullptr || field("v") == nullptr || field("e") == nullptr) {
        result.is_foreign = true;
        return result;
    }
    result.version = number_behind("", *field("v"));
    if (found->expires != small_redis::no_expiry) {
        result.left = core::milliseconds(found->expires - now);
    }
    if (*field("e") == "0" && result.left && *result.left <= week) {
        ++result.version;
    } else if (*field("e") == "0") {
        result.value = *field("d");
    }
    return result;
}

stored_result read_result(const small_redis::keyspace& keys, std::string_view key,
                          wall_milliseconds now) {
    stored_result result;
    if (const small_redis::record* const found = live(keys, key, now)) {
        result.exists = true;
        result.left = core::milliseconds(found->expires - now);
        if (const auto* const text = std::get_if<std::string>(&found->content)) {
            (text->starts_with(result_prefix) ? result.record : result.token) = *text;
        }
    }
    return result;
}

const stored_waiter* stored_waiters::find(const stored_waiter& one) const {
    const auto found =
        std::ranges::find_if(members, [&](const auto& other) { return other.is_same(one); });
    return found == members.end() ? nullptr : &*found;
}

/// Earlier places of the same client may be left over.
bool stored_waiters::is_turn_of(const stored_waiter& one) const {
    for (const stored_waiter& other : members) {
        if (other.client == one.client && other.place >= one.place) {
            return true;
        }
        if (other.client != one.client && other.lives) {
            return false;
        }
    }
    return true;
}

std::string waiters_of(std::string_view key) {
    return "{" + std::string(key) + "}:colock:waiters";
}

bool has_ticket(const small_redis::keyspace& keys, std::string_view key, std::uint64_t client,
                wall_milliseconds now) {
    return live(keys, waiters_of(key) + ":" + std::to_string(client), now) != nullptr;
}

stored_waiters read_waiters(const small_redis::keyspace& keys, std::string_view key,
                            wall_milliseconds now) {
    stored_waiters result;
    const small_redis::record* const found = live(keys, waiters_of(key), now);
    if (found == nullptr) {
        return result;
    }
    const auto* const set = std::get_if<small_redis::sorted_set>(&found->content);
    result.is_foreign =
        set == nullptr || set->members().front().name.find('.') == std::string::npos;
    if (result.is_foreign) {
        return result;
    }
    result.remaining = found->expires - now;
    for (const small_redis::sorted_set::member& one : set->members()) {
        stored_waiter waiter;
        waiter.client = number_behind("", one.name);
        waiter.place = number_behind(std::to_string(waiter.client) + ".", one.name);
        waiter.lives = has_ticket(keys, key, waiter.client, now);
        result.members.push_back(waiter);
    }
    return result;
}

}  // namespace colock::simulation
