// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/expiry.hpp"
#include "support/small_redis/number_text.hpp"
#include "support/small_redis/positions.hpp"
#include "support/small_redis/server.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace colock::small_redis {
namespace {

using text = std::string;

void get(execution& e) {
    const auto found = e.read_as<text>(e.key());
    if (found.value != nullptr) {
        e.out.bulk(*found.value);
    } else if (!found.is_wrong) {
        e.out.null();
    }
}

/// Unlike LRANGE, GETRANGE treats an end before the text as the first byte.
void getrange(execution& e) {
    if (const auto given = e.read_interval<text>()) {
        const auto [value, first, last] = *given;
        const std::string_view all = value == nullptr ? std::string_view() : *value;
        const auto size = static_cast<std::int64_t>(all.size());
        const bool is_backwards = first < 0 && last < 0 && first > last;
        const std::int64_t end = last < 0 ? std::max<std::int64_t>(last + size, 0) : last;
        const positions range(first, is_backwards ? -size - 1 : end, all.size());
        e.out.bulk(all.substr(range.begin, range.size()));
    }
}

void mget(execution& e) {
    e.out.array(e.arguments.size() - 1);
    for (const std::string_view key : e.arguments.subspan(1)) {
        const record* const found = e.read(key);
        const text* const value = found == nullptr ? nullptr : std::get_if<text>(&found->content);
        value == nullptr ? e.out.null() : e.out.bulk(*value);
    }
}

/// The options of SET and MSETEX.
struct set_options {
    bool if_absent = false;
    bool if_present = false;
    std::optional<std::string_view> if_equal{};
    std::optional<std::string_view> if_different{};
    bool gets = false;
    bool keeps_ttl = false;
    std::optional<time_form> form{};
    std::size_t time_at = 0;

    /// Options that exclude each other. A repeated option is valid.
    [[nodiscard]] bool has_comparison() const { return if_equal || if_different; }
    [[nodiscard]] bool allows(time_form other) const {
        return !keeps_ttl && (!form || (form->in_seconds == other.in_seconds &&
                                        form->is_absolute == other.is_absolute));
    }

    /// Reads the words from `i` on. Returns false and writes an error if they are invalid.
    bool read(execution& e, std::size_t i, bool is_set) {
        const dialect& speaks = e.host.dialect();
        for (; i < e.arguments.size(); ++i) {
            const std::string_view option = e.word(i);
            const bool has_more = i + 1 < e.arguments.size();
            const auto time = time_form_of(option);
            if (is_word(option, "nx") && !if_present && !has_comparison()) {
                if_absent = true;
            } else if (is_word(option, "xx") && !if_absent && !has_comparison()) {
                if_present = true;
            } else if (is_set && speaks.has(dialect::set_ifeq) && is_word(option, "ifeq") &&
                       has_more && !if_absent && !if_present && !has_comparison()) {
                if_equal = e.word(++i);
            } else if (is_set && speaks.has(dialect::set_ifne) && is_word(option, "ifne") &&
                       has_more && !if_absent && !if_present && !has_comparison()) {
                if_different = e.word(++i);
            } else if (is_set && is_word(option, "get")) {
                gets = true;
            } else if (is_word(option, "keepttl") && !form) {
                keeps_ttl = true;
            } else if (time && has_more && allows(*time)) {
                form = time;
                time_at = ++i;
            } else {
                e.out.syntax_error();
                return false;
            }
        }
        return true;
    }

    /// Returns the expiry time of a written key. Writes an error if it is invalid.
    std::optional<wall_milliseconds> expiry(execution& e, std::string_view command) const {
        return form ? read_expiry(e, time_at, *form, command, true) : no_expiry;
    }

    void write(execution& e, std::string_view key, std::string_view value,
               wall_milliseconds expires) const {
        const record* const old = keeps_ttl ? e.read(key) : nullptr;
        const wall_milliseconds kept = old == nullptr ? no_expiry : old->expires;
        record& one = e.replace(key);
        one.content = text(value);
        one.expires = keeps_ttl ? kept : expires;
        e.has_changed(key);
    }
};

void set(execution& e) {
    set_options options;
    if (!options.read(e, 3, true)) {
        return;
    }
    const auto expires = options.expiry(e, "set");
    if (!expires) {
        return;
    }
    const record* const found = e.read(e.key());
    const bool needs_text = options.gets || options.if_equal || options.if_different;
    const text* const old = found == nullptr ? nullptr : std::get_if<text>(&found->content);
    if (needs_text && found != nullptr && old == nullptr) {
        e.out.wrong_type();
        return;
    }
    if (options.gets) {
        old == nullptr ? e.out.null() : e.out.bulk(*old);
    }
    const bool is_refused =
        (options.if_absent && found != nullptr) || (options.if_present && found == nullptr) ||
        (options.if_equal && (old == nullptr || *old != *options.if_equal)) ||
        (options.if_different && old != nullptr && *old == *options.if_different);
    const bool is_past =
        e.host.dialect().set_deletes_in_past && *expires <= e.now_in_milliseconds();
    if (!is_refused && is_past) {
        e.erase(e.key());
    } else if (!is_refused) {
        options.write(e, e.key(), e.word(2), *expires);
    }
    if (!options.gets) {
        is_refused ? e.out.null() : e.out.ok();
    }
}

/// Writes all keys or none.
void msetex(execution& e) {
    constexpr std::size_t first_key = 2;
    const auto count = to_integer(e.word(1));
    if (!count || *count <= 0 || *count > std::numeric_limits<std::int32_t>::max()) {
        e.out.error("ERR invalid numkeys value or out of range");
        return;
    }
    const std::size_t end = first_key + 2 * static_cast<std::size_t>(*count);
    if (end > e.arguments.size()) {
        e.out.syntax_error();
        return;
    }
    set_options options;
    if (!options.read(e, end, false)) {
        return;
    }
    const auto expires = options.expiry(e, "msetex");
    if (!expires) {
        return;
    }
    for (std::size_t i = first_key; i != end; i += 2) {
        const bool is_there = e.read(e.word(i)) != nullptr;
        if ((options.if_absent && is_there) || (options.if_present && !is_there)) {
            e.out.integer(0);
            return;
        }
    }
    for (std::size_t i = first_key; i != end; i += 2) {
        options.write(e, e.word(i), e.word(i + 1), *expires);
    }
    e.out.integer(1);
}

void delete_if(execution& e, std::string_view expected, bool if_equal) {
    const auto found = e.read_as<text>(e.key());
    if (found.is_wrong) {
        return;
    }
    const bool matches = found.value != nullptr && (*found.value == expected) == if_equal;
    e.out.integer(matches && e.erase(e.key()) ? 1 : 0);
}

void delifeq(execution& e) {
    delete_if(e, e.word(2), true);
}

/// Follows the documentation of Redis 8.4. Conditions on digests are not supported.
void delex(execution& e) {
    constexpr std::size_t with_condition = 4;
    const std::size_t count = e.arguments.size();
    if (count == 2) {
        e.out.integer(e.erase(e.key()) ? 1 : 0);
    } else if (count == with_condition && is_word(e.word(2), "ifeq")) {
        delete_if(e, e.word(3), true);
    } else if (count == with_condition && is_word(e.word(2), "ifne")) {
        delete_if(e, e.word(3), false);
    } else if (count == with_condition) {
        e.out.syntax_error();
    } else {
        e.out.error("ERR wrong number of arguments for 'delex' command");
    }
}

void add(execution& e, std::int64_t more) {
    const auto found = e.read_as<text>(e.key());
    if (found.is_wrong) {
        return;
    }
    const auto old = found.value == nullptr ? 0 : to_integer(*found.value);
    std::int64_t sum = 0;
    if (!old) {
        e.out.not_an_integer();
    } else if (__builtin_add_overflow(*old, more, &sum)) {
        e.out.error("ERR increment or decrement would overflow");
    } else {
        set_options options;
        options.keeps_ttl = true;
        options.write(e, e.key(), number_text(sum).text(), no_expiry);
        e.out.integer(sum);
    }
}

void incr(execution& e) {
    add(e, 1);
}

void incrby(execution& e) {
    if (const auto more = e.integer(2)) {
        add(e, *more);
    }
}

constexpr key_positions counted_pairs{.first = 2, .last = -1, .step = 2, .count_at = 1};

constexpr command commands[] = {
    {"get", 2, reads, one_key, get},
    {"getrange", 4, reads, one_key, getrange},
    {"mget", -2, reads, all_keys, mget},
    {"set", -3, grows, one_key, set},
    {"msetex", -4, grows, counted_pairs, msetex, dialect::msetex},
    {"delifeq", 3, writes, one_key, delifeq, dialect::delifeq},
    {"delex", -2, writes, one_key, delex, dialect::delex},
    {"incr", 2, grows, one_key, incr},
    {"incrby", 3, grows, one_key, incrby},
};

}  // namespace

const std::span<const command> string_commands = commands;

}  // namespace colock::small_redis
