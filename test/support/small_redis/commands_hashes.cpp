// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/number_text.hpp"
#include "support/small_redis/server.hpp"

#include <algorithm>
#include <string>

namespace colock::small_redis {
namespace {

using field = hash::value_type;

const field* find(const hash* all, std::string_view name) {
    if (all == nullptr) {
        return nullptr;
    }
    const auto at = std::ranges::find(*all, name, &field::first);
    return at == all->end() ? nullptr : &*at;
}

/// Returns true if the field is new.
bool put(hash& all, std::string_view name, std::string_view value) {
    const auto at = std::ranges::find(all, name, &field::first);
    if (at != all.end()) {
        at->second = value;
        return false;
    }
    all.emplace_back(name, value);
    return true;
}

/// Returns the hash, and creates it if the key is missing. Returns null if the key has another type.
hash* find_or_make(execution& e) {
    const auto found = e.change_as<hash>(e.key());
    if (found.value == nullptr && !found.is_wrong) {
        return &e.replace(e.key()).content.emplace<hash>();
    }
    return found.value;
}

void hset(execution& e) {
    if (e.arguments.size() % 2 != 0) {
        e.out.error("ERR wrong number of arguments for 'hset' command");
        return;
    }
    hash* const all = find_or_make(e);
    if (all == nullptr) {
        return;
    }
    std::int64_t added = 0;
    for (std::size_t i = 2; i != e.arguments.size(); i += 2) {
        added += put(*all, e.word(i), e.word(i + 1)) ? 1 : 0;
    }
    e.out.integer(added);
    e.has_changed(e.key());
}

void hget(execution& e) {
    const auto found = e.read_as<hash>(e.key());
    if (!found.is_wrong) {
        const field* const one = find(found.value, e.word(2));
        one == nullptr ? e.out.null() : e.out.bulk(one->second);
    }
}

void hmget(execution& e) {
    const auto found = e.read_as<hash>(e.key());
    if (found.is_wrong) {
        return;
    }
    const auto names = e.arguments.subspan(2);
    e.out.array(names.size());
    for (const std::string_view name : names) {
        const field* const one = find(found.value, name);
        one == nullptr ? e.out.null() : e.out.bulk(one->second);
    }
}

void hexists(execution& e) {
    const auto found = e.read_as<hash>(e.key());
    if (!found.is_wrong) {
        e.out.integer(find(found.value, e.word(2)) == nullptr ? 0 : 1);
    }
}

void hlen(execution& e) {
    e.report_size<hash>();
}

void hgetall(execution& e) {
    const auto found = e.read_as<hash>(e.key());
    if (found.is_wrong) {
        return;
    }
    e.out.map(found.value == nullptr ? 0 : found.value->size());
    if (found.value != nullptr) {
        for (const auto& [name, value] : *found.value) {
            e.out.bulk(name);
            e.out.bulk(value);
        }
    }
}

void hdel(execution& e) {
    e.remove_elements<hash>([](hash& all, std::string_view name) {
        return std::erase_if(all, [&](const field& one) { return one.first == name; });
    });
}

void hincrby(execution& e) {
    const auto more = e.integer(3);
    if (!more) {
        return;
    }
    const auto found = e.read_as<hash>(e.key());
    if (found.is_wrong) {
        return;
    }
    const field* const old = find(found.value, e.word(2));
    const auto number = old == nullptr ? 0 : to_integer(old->second);
    std::int64_t sum = 0;
    if (!number) {
        e.out.error("ERR hash value is not an integer");
    } else if (__builtin_add_overflow(*number, *more, &sum)) {
        e.out.error("ERR increment or decrement would overflow");
    } else {
        put(*find_or_make(e), e.word(2), number_text(sum).text());
        e.out.integer(sum);
        e.has_changed(e.key());
    }
}

constexpr command commands[] = {
    {"hset", -4, grows, one_key, hset},   {"hget", 3, reads, one_key, hget},
    {"hmget", -3, reads, one_key, hmget}, {"hexists", 3, reads, one_key, hexists},
    {"hlen", 2, reads, one_key, hlen},    {"hgetall", 2, reads, one_key, hgetall},
    {"hdel", -3, writes, one_key, hdel},  {"hincrby", 4, grows, one_key, hincrby},
};

}  // namespace

const std::span<const command> hash_commands = commands;

}  // namespace colock::small_redis
