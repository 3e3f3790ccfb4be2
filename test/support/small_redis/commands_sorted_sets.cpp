// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "support/small_redis/commands.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/number_text.hpp"
#include "support/small_redis/positions.hpp"
#include "support/small_redis/server.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::small_redis {
namespace {

/// The options of ZADD.
struct add_options {
    enum flag : unsigned {
        if_absent = 1,
        if_present = 2,
        if_greater = 4,
        if_less = 8,
        counts_changes = 16,
        increments = 32,
    };

    unsigned flags = 0;
    std::size_t first_pair = 2;

    [[nodiscard]] bool has(flag one) const { return (flags & one) != 0; }

    /// Reads the options. Returns false and writes an error if they are invalid.
    bool read(execution& e) {
        static constexpr std::pair<std::string_view, flag> names[] = {
            {"nx", if_absent}, {"xx", if_present},     {"gt", if_greater},
            {"lt", if_less},   {"ch", counts_changes}, {"incr", increments},
        };
        for (; first_pair < e.arguments.size(); ++first_pair) {
            const auto* const known = std::ranges::find_if(
                names, [&](const auto& one) { return is_word(e.word(first_pair), one.first); });
            if (known == std::end(names)) {
                break;
            }
            flags |= known->second;
        }
        const std::size_t rest = e.arguments.size() - first_pair;
        if (rest == 0 || rest % 2 != 0) {
            e.out.syntax_error();
        } else if (has(if_absent) && has(if_present)) {
            e.out.error("ERR XX and NX options at the same time are not compatible");
        } else if (has(if_absent) + has(if_greater) + has(if_less) > 1) {
            e.out.error("ERR GT, LT, and/or NX options at the same time are not compatible");
        } else if (has(increments) && rest > 2) {
            e.out.error("ERR INCR option supports a single increment-element pair");
        } else {
            return true;
        }
        return false;
    }

    /// Returns the new score of a member, or nothing if the score does not change.
    [[nodiscard]] std::optional<double> new_score(std::optional<double> old, double given) const {
        if (!old) {
            return has(if_present) ? std::nullopt : std::optional(given);
        }
        const double score = has(increments) ? *old + given : given;
        if (has(if_absent) || (has(if_less) && score >= *old) ||
            (has(if_greater) && score <= *old)) {
            return std::nullopt;
        }
        return score;
    }
};

void zadd(execution& e) {
    add_options options;
    if (!options.read(e)) {
        return;
    }
    std::vector<double> scores;
    for (std::size_t i = options.first_pair; i < e.arguments.size(); i += 2) {
        const auto score = to_double(e.word(i));
        if (!score) {
            e.out.error("ERR value is not a valid float");
            return;
        }
        scores.push_back(*score);
    }
    const auto found = e.read_as<sorted_set>(e.key());
    if (found.is_wrong) {
        return;
    }
    sorted_set all = found.value == nullptr ? sorted_set() : *found.value;
    std::int64_t added = 0;
    std::int64_t updated = 0;
    std::optional<double> last;  // The score that was set last.
    for (std::size_t i = 0; i != scores.size(); ++i) {
        const std::string_view member = e.word(options.first_pair + 2 * i + 1);
        const auto old = all.score(member);
        last = options.new_score(old, scores[i]);
        if (last && std::isnan(*last)) {
            e.out.error("ERR resulting score is not a number (NaN)");
            return;
        }
        if (last && last != old) {
            all.put(member, *last);
            ++(old ? updated : added);
        }
    }
    if (added + updated != 0) {
        (found.value == nullptr ? e.replace(e.key()) : *e.change(e.key())).content = std::move(all);
        e.has_changed(e.key());
    }
    if (options.has(add_options::increments)) {
        last ? e.out.real(*last) : e.out.null();
    } else {
        e.out.integer(added + (options.has(add_options::counts_changes) ? updated : 0));
    }
}

void zrem(execution& e) {
    e.remove_elements<sorted_set>(
        [](sorted_set& all, std::string_view member) { return all.erase(member) ? 1U : 0U; });
}

/// Reads an end of an interval: a score, with a leading `(` if the end is excluded.
bool read_end(std::string_view text, double& score, bool& is_excluded) {
    is_excluded = text.starts_with('(');
    text.remove_prefix(is_excluded ? 1 : 0);
    const auto given = text.empty() ? 0 : to_double(text);
    score = given.value_or(0);
    return given.has_value();
}

/// Reads an interval. Writes an error if it is invalid.
std::optional<score_range> read_range(execution& e, std::size_t first, std::size_t last) {
    score_range result;
    if (read_end(e.word(first), result.first, result.is_first_excluded) &&
        read_end(e.word(last), result.last, result.is_last_excluded)) {
        return result;
    }
    e.out.error("ERR min or max is not a float");
    return std::nullopt;
}

void zremrangebyscore(execution& e) {
    const auto range = read_range(e, 2, 3);
    if (!range) {
        return;
    }
    if (sorted_set* const all = e.change_or_report_0<sorted_set>()) {
        const std::size_t removed = all->erase(*range);
        e.out.integer(static_cast<std::int64_t>(removed));
        if (removed != 0) {
            e.finish_removal(all->size() == 0);
        }
    }
}

void zcount(execution& e) {
    const auto range = read_range(e, 2, 3);
    if (!range) {
        return;
    }
    const auto found = e.read_as<sorted_set>(e.key());
    if (!found.is_wrong) {
        e.out.integer(found.value == nullptr
                          ? 0
                          : std::ranges::count_if(found.value->members(), [&](const auto& one) {
                                return range->contains(one.score);
                            }));
    }
}

void zcard(execution& e) {
    e.report_size<sorted_set>();
}

void zscore(execution& e) {
    const auto found = e.read_as<sorted_set>(e.key());
    if (!found.is_wrong) {
        const auto score = found.value == nullptr ? std::nullopt : found.value->score(e.word(2));
        score ? e.out.real(*score) : e.out.null();
    }
}

void zrank(execution& e) {
    constexpr std::size_t with_option = 4;
    if (e.arguments.size() > with_option) {
        e.out.error("ERR wrong number of arguments for 'zrank' command");
        return;
    }
    const bool with_score = e.arguments.size() == with_option;
    if (with_score && !is_word(e.word(3), "withscore")) {
        e.out.syntax_error();
        return;
    }
    const auto found = e.read_as<sorted_set>(e.key());
    if (found.is_wrong) {
        return;
    }
    std::int64_t rank = 0;
    if (found.value != nullptr) {
        for (const sorted_set::member& one : found.value->members()) {
            if (one.name == e.word(2)) {
                if (with_score) {
                    e.out.array(2);
                }
                e.out.integer(rank);
                if (with_score) {
                    e.out.real(one.score);
                }
                return;
            }
            ++rank;
        }
    }
    e.out.null();
}

/// The options of ZRANGE and ZRANGEBYSCORE.
struct range_options {
    bool by_score = false;
    bool is_reverse = false;
    bool with_scores = false;
    std::int64_t offset = 0;
    std::int64_t limit = -1;

    /// Reads the options. Returns false and writes an error if they are invalid.
    bool read(execution& e) {
        constexpr std::size_t first_option = 4;
        const bool is_zrange = !by_score;
        for (std::size_t i = first_option; i < e.arguments.size(); ++i) {
            const std::string_view option = e.word(i);
            if (is_word(option, "withscores")) {
                with_scores = true;
            } else if (is_word(option, "limit") && i + 2 < e.arguments.size()) {
                const auto first = e.integer(i + 1);
                const auto count = first ? e.integer(i + 2) : std::nullopt;
                if (!count) {
                    return false;
                }
                offset = *first;
                limit = *count;
                i += 2;
            } else if (is_zrange && is_word(option, "rev")) {
                is_reverse = true;
            } else if (is_zrange && is_word(option, "byscore")) {
                by_score = true;
            } else {
                e.out.syntax_error();
                return false;
            }
        }
        if (limit != -1 && !by_score) {
            e.out.error(
                "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or "
                "BYLEX");
            return false;
        }
        return true;
    }
};

using chosen = std::vector<const sorted_set::member*>;

void write_members(execution& e, const chosen& members, bool with_scores) {
    const bool has_pairs = with_scores && e.out.has_pairs();
    e.out.array(members.size() * (with_scores && !has_pairs ? 2 : 1));
    for (const sorted_set::member* const one : members) {
        if (has_pairs) {
            e.out.array(2);
        }
        e.out.bulk(one->name);
        if (with_scores) {
            e.out.real(one->score);
        }
    }
}

chosen in_order(const sorted_set* all, bool is_reverse) {
    chosen result;
    if (all != nullptr) {
        for (const sorted_set::member& one : all->members()) {
            result.push_back(&one);
        }
    }
    if (is_reverse) {
        std::ranges::reverse(result);
    }
    return result;
}

void write_by_score(execution& e, const range_options& options) {
    const auto range = options.is_reverse ? read_range(e, 3, 2) : read_range(e, 2, 3);
    if (!range) {
        return;
    }
    const auto found = e.read_as<sorted_set>(e.key());
    if (found.is_wrong) {
        return;
    }
    chosen members = in_order(found.value, options.is_reverse);
    std::erase_if(members, [&](const auto* one) { return !range->contains(one->score); });
    const auto size = static_cast<std::int64_t>(members.size());
    const std::int64_t begin = options.offset < 0 ? size : std::min(options.offset, size);
    const std::int64_t count =
        options.limit < 0 ? size - begin : std::min(options.limit, size - begin);
    write_members(e, chosen(members.begin() + begin, members.begin() + begin + count),
                  options.with_scores);
}

void write_by_position(execution& e, const range_options& options) {
    if (const auto given = e.read_interval<sorted_set>()) {
        const chosen members = in_order(given->value, options.is_reverse);
        const positions range(given->first, given->last, members.size());
        write_members(e,
                      chosen(members.begin() + static_cast<std::ptrdiff_t>(range.begin),
                             members.begin() + static_cast<std::ptrdiff_t>(range.end)),
                      options.with_scores);
    }
}

void zrange(execution& e) {
    range_options options;
    if (options.read(e)) {
        options.by_score ? write_by_score(e, options) : write_by_position(e, options);
    }
}

void zrangebyscore(execution& e) {
    range_options options{.by_score = true};
    if (options.read(e)) {
        write_by_score(e, options);
    }
}

constexpr command commands[] = {
    {"zadd", -4, grows, one_key, zadd},
    {"zrem", -3, writes, one_key, zrem},
    {"zremrangebyscore", 4, writes, one_key, zremrangebyscore},
    {"zcount", 4, reads, one_key, zcount},
    {"zcard", 2, reads, one_key, zcard},
    {"zscore", 3, reads, one_key, zscore},
    {"zrank", -3, reads, one_key, zrank, dialect::rank_with_score},
    {"zrank", 3, reads, one_key, zrank},
    {"zrange", -4, reads, one_key, zrange},
    {"zrangebyscore", -4, reads, one_key, zrangebyscore},
};

}  // namespace

const std::span<const command> sorted_set_commands = commands;

}  // namespace colock::small_redis
