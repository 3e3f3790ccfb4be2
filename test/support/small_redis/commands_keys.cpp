// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/expiry.hpp"
#include "support/small_redis/server.hpp"

#include <algorithm>
#include <string>

namespace colock::small_redis {
namespace {

void del(execution& e) {
    std::int64_t count = 0;
    for (const std::string_view key : e.arguments.subspan(1)) {
        count += e.erase(key) ? 1 : 0;
    }
    e.out.integer(count);
}

void exists(execution& e) {
    std::int64_t count = 0;
    for (const std::string_view key : e.arguments.subspan(1)) {
        count += e.read(key) != nullptr ? 1 : 0;
    }
    e.out.integer(count);
}

void type(execution& e) {
    const record* const found = e.read(e.key());
    e.out.status(found == nullptr ? "none" : type_name(found->content));
}

/// Returns the remaining ttl in milliseconds. Returns -1 if the key has no ttl, and -2 if there is no key.
std::int64_t time_left(execution& e) {
    const record* const found = e.read(e.key());
    if (found == nullptr) {
        return -2;
    }
    return found->expires == no_expiry
               ? -1
               : std::max<std::int64_t>(0, found->expires - e.now_in_milliseconds());
}

void pttl(execution& e) {
    e.out.integer(time_left(e));
}

void ttl(execution& e) {
    const std::int64_t left = time_left(e);
    e.out.integer(left < 0 ? left : (left + 500) / 1000);
}

void persist(execution& e) {
    record* const found = e.change(e.key());
    const bool had_ttl = found != nullptr && found->expires != no_expiry;
    if (had_ttl) {
        found->expires = no_expiry;
        e.has_changed(e.key());
    }
    e.out.integer(had_ttl ? 1 : 0);
}

/// The condition under which a new ttl is set.
struct expiry_condition {
    bool if_none = false;
    bool if_any = false;
    bool if_later = false;
    bool if_sooner = false;

    /// Reads the options. Returns false and writes an error if they are invalid.
    bool read(execution& e) {
        for (const std::string_view option : e.arguments.subspan(3)) {
            if (is_word(option, "nx")) {
                if_none = true;
            } else if (is_word(option, "xx")) {
                if_any = true;
            } else if (is_word(option, "gt")) {
                if_later = true;
            } else if (is_word(option, "lt")) {
                if_sooner = true;
            } else {
                e.out.error("ERR Unsupported option " + std::string(option));
                return false;
            }
        }
        if (if_none && (if_any || if_later || if_sooner)) {
            e.out.error("ERR NX and XX, GT or LT options at the same time are not compatible");
            return false;
        }
        if (if_later && if_sooner) {
            e.out.error("ERR GT and LT options at the same time are not compatible");
            return false;
        }
        return true;
    }

    /// Returns true if the condition holds. A key without ttl counts as later than any other.
    [[nodiscard]] bool allows(wall_milliseconds before, wall_milliseconds after) const {
        return !(if_none && before != no_expiry) && !(if_any && before == no_expiry) &&
               !(if_later && (before == no_expiry || after <= before)) &&
               !(if_sooner && before != no_expiry && after >= before);
    }
};

void set_expiry(execution& e, time_form form, std::string_view name) {
    expiry_condition condition;
    if (!condition.read(e)) {
        return;
    }
    const auto expires = read_expiry(e, 2, form, name, false);
    if (!expires) {
        return;
    }
    const record* const found = e.read(e.key());
    if (found == nullptr || !condition.allows(found->expires, *expires)) {
        e.out.integer(0);
        return;
    }
    if (*expires <= e.now_in_milliseconds()) {
        e.erase(e.key());
    } else {
        e.change(e.key())->expires = *expires;
        e.has_changed(e.key());
    }
    e.out.integer(1);
}

void pexpire(execution& e) {
    set_expiry(e, {}, "pexpire");
}

void pexpireat(execution& e) {
    set_expiry(e, {.is_absolute = true}, "pexpireat");
}

void expire(execution& e) {
    set_expiry(e, {.in_seconds = true}, "expire");
}

void pexpiretime(execution& e) {
    const record* const found = e.read(e.key());
    e.out.integer(found == nullptr ? -2 : found->expires == no_expiry ? -1 : found->expires);
}

void rename(execution& e) {
    if (e.read(e.key()) == nullptr) {
        e.out.error("ERR no such key");
        return;
    }
    if (e.word(2) != e.key()) {
        static_cast<void>(e.read(e.word(2)));  // The read removes it if it has expired.
        e.rename(e.key(), e.word(2));
    }
    e.out.ok();
}

void dbsize(execution& e) {
    e.out.integer(static_cast<std::int64_t>(e.host.keys().size()));
}

void flushall(execution& e) {
    const std::size_t count = e.arguments.size();
    if (count > 2 || (count == 2 && !is_word(e.word(1), "sync") && !is_word(e.word(1), "async"))) {
        e.out.syntax_error();
        return;
    }
    e.host.flush();
    e.out.ok();
}

constexpr key_positions two_keys{.first = 1, .last = 2};

constexpr command commands[] = {
    {"del", -2, writes, all_keys, del},
    {"unlink", -2, writes, all_keys, del},
    {"exists", -2, reads, all_keys, exists},
    {"type", 2, reads, one_key, type},
    {"pttl", 2, reads, one_key, pttl},
    {"ttl", 2, reads, one_key, ttl},
    {"pexpiretime", 2, reads, one_key, pexpiretime},
    {"persist", 2, writes, one_key, persist},
    {"pexpire", -3, writes, one_key, pexpire},
    {"pexpireat", -3, writes, one_key, pexpireat},
    {"expire", -3, writes, one_key, expire},
    {"rename", 3, writes, two_keys, rename},
    {"dbsize", 1, reads, {}, dbsize},
    {"flushall", -1, writes, {}, flushall},
};

}  // namespace

const std::span<const command> key_commands = commands;

}  // namespace colock::small_redis
