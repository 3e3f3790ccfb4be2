// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/positions.hpp"
#include "support/small_redis/server.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

namespace colock::small_redis {
namespace {

void push(execution& e, bool at_front) {
    const auto found = e.read_as<list>(e.key());
    if (found.is_wrong) {
        return;
    }
    record& one = found.value == nullptr ? e.replace(e.key()) : *e.change(e.key());
    if (found.value == nullptr) {
        one.content = list();
    }
    list& all = std::get<list>(one.content);
    for (const std::string_view element : e.arguments.subspan(2)) {
        all.emplace(at_front ? all.begin() : all.end(), element);
    }
    e.out.integer(static_cast<std::int64_t>(all.size()));
    e.has_changed(e.key());
}

void lpush(execution& e) {
    push(e, true);
}

void rpush(execution& e) {
    push(e, false);
}

void lpop(execution& e) {
    constexpr std::size_t with_count = 3;
    if (e.arguments.size() > with_count) {
        e.out.error("ERR wrong number of arguments for 'lpop' command");
        return;
    }
    std::int64_t count = 1;
    if (e.arguments.size() == with_count) {
        constexpr std::string_view negative = "ERR value is out of range, must be positive";
        const auto given = e.integer(2, negative);
        if (given && *given < 0) {
            e.out.error(negative);
        }
        if (!given || *given < 0) {
            return;
        }
        count = *given;
    }
    const auto found = e.change_as<list>(e.key());
    if (found.value == nullptr) {
        if (!found.is_wrong) {
            e.out.null();
        }
        return;
    }
    const std::size_t taken = std::min(found.value->size(), static_cast<std::size_t>(count));
    if (e.arguments.size() == with_count) {
        e.out.array(taken);
    }
    for (std::size_t i = 0; i != taken; ++i) {
        e.out.bulk((*found.value)[i]);
    }
    if (taken != 0) {
        found.value->erase(found.value->begin(),
                           found.value->begin() + static_cast<std::ptrdiff_t>(taken));
        e.finish_removal(found.value->empty());
    }
}

void llen(execution& e) {
    e.report_size<list>();
}

void lindex(execution& e) {
    const auto found = e.read_as<list>(e.key());
    if (found.value == nullptr) {
        if (!found.is_wrong) {
            e.out.null();
        }
        return;
    }
    if (const auto index = e.integer(2)) {
        const auto size = static_cast<std::int64_t>(found.value->size());
        const std::int64_t at = *index < 0 ? *index + size : *index;
        at < 0 || at >= size ? e.out.null()
                             : e.out.bulk((*found.value)[static_cast<std::size_t>(at)]);
    }
}

void lrange(execution& e) {
    if (const auto given = e.read_interval<list>()) {
        const list* const all = given->value;
        const positions range(given->first, given->last, all == nullptr ? 0 : all->size());
        e.out.array(range.size());
        for (std::size_t i = range.begin; i != range.end; ++i) {
            e.out.bulk((*all)[i]);
        }
    }
}

void lrem(execution& e) {
    const auto count = e.integer(2);
    if (!count) {
        return;
    }
    list* const found = e.change_or_report_0<list>();
    if (found == nullptr) {
        return;
    }
    list& all = *found;
    const std::string_view element = e.word(3);
    std::int64_t removed = 0;
    const std::int64_t most =
        *count == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(*count);
    const auto matches = [&](const std::string& one) {
        return one == element && removed < most && ++removed != 0;
    };
    if (*count < 0) {
        const auto kept = std::remove_if(all.rbegin(), all.rend(), matches);
        all.erase(all.begin(), kept.base());
    } else {
        all.erase(std::remove_if(all.begin(), all.end(), matches), all.end());
    }
    e.out.integer(removed);
    if (removed != 0) {
        e.finish_removal(all.empty());
    }
}

/// The options of LPOS.
struct search {
    std::int64_t rank = 1;
    std::optional<std::int64_t> count{};
    std::int64_t most_compared = 0;

    /// Reads the options. Returns false and writes an error if they are invalid.
    bool read(execution& e) {
        for (std::size_t i = 3; i < e.arguments.size(); i += 2) {
            const std::string_view option = e.word(i);
            if (i + 1 == e.arguments.size()) {
                e.out.syntax_error();
                return false;
            }
            if (is_word(option, "rank")) {
                const auto given = e.integer(i + 1);
                if (!given) {
                    return false;
                }
                if (*given == 0) {
                    e.out.error(
                        "ERR RANK can't be zero: use 1 to start from the first match, 2 from the "
                        "second ... or use negative to start from the end of the list");
                    return false;
                }
                rank = *given;
            } else if (is_word(option, "count") || is_word(option, "maxlen")) {
                const bool is_count = is_word(option, "count");
                const std::string_view error =
                    is_count ? "ERR COUNT can't be negative" : "ERR MAXLEN can't be negative";
                const auto given = e.integer(i + 1, error);
                if (given && *given < 0) {
                    e.out.error(error);
                }
                if (!given || *given < 0) {
                    return false;
                }
                is_count ? void(count = *given) : void(most_compared = *given);
            } else {
                e.out.syntax_error();
                return false;
            }
        }
        return true;
    }

    [[nodiscard]] std::vector<std::size_t> find(const list& all, std::string_view element) const {
        std::vector<std::size_t> result;
        std::int64_t to_skip = std::abs(rank) - 1;
        std::int64_t wanted = count.value_or(1);
        wanted = wanted == 0 ? std::numeric_limits<std::int64_t>::max() : wanted;
        for (std::size_t i = 0;
             i != all.size() && static_cast<std::int64_t>(result.size()) < wanted &&
             (most_compared == 0 || static_cast<std::int64_t>(i) < most_compared);
             ++i) {
            const std::size_t at = rank > 0 ? i : all.size() - 1 - i;
            if (all[at] == element && to_skip-- <= 0) {
                result.push_back(at);
            }
        }
        return result;
    }
};

void lpos(execution& e) {
    search options;
    if (!options.read(e)) {
        return;
    }
    const auto found = e.read_as<list>(e.key());
    if (found.is_wrong) {
        return;
    }
    const auto places =
        found.value == nullptr ? std::vector<std::size_t>() : options.find(*found.value, e.word(2));
    if (options.count) {
        e.out.array(places.size());
    } else if (places.empty()) {
        e.out.null();
    }
    for (const std::size_t place : places) {
        e.out.integer(static_cast<std::int64_t>(place));
    }
}

constexpr command commands[] = {
    {"lpush", -3, grows, one_key, lpush},  {"rpush", -3, grows, one_key, rpush},
    {"lpop", -2, writes, one_key, lpop},   {"llen", 2, reads, one_key, llen},
    {"lindex", 3, reads, one_key, lindex}, {"lrange", 4, reads, one_key, lrange},
    {"lrem", 4, writes, one_key, lrem},    {"lpos", -3, reads, one_key, lpos},
};

}  // namespace

const std::span<const command> list_commands = commands;

}  // namespace colock::small_redis
