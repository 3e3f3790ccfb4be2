// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/map_selection.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace colock::instance::redis {
namespace {

using ids = std::set<std::string>;

/// Returns whether the ids can belong to one cluster: they have an id in common, or one set is empty.
bool can_be_one_cluster(const ids& a, const ids& b) {
    return a.empty() || b.empty() ||
           std::ranges::any_of(a, [&](const std::string& id) { return b.contains(id); });
}

/// Returns the id of one of its nodes.
std::string name_of(const cluster_map& map) {
    return map.ids.empty() ? "without an id" : *map.ids.begin();
}

std::size_t count_slots(const cluster_map& of) {
    std::size_t result = 0;
    for (const slot_range& one : of.ranges) {
        result += one.last - one.first + 1;
    }
    return result;
}

bool is_better(const cluster_map& a, const cluster_map& b) {
    if (a.is_ok != b.is_ok) {
        return a.is_ok;
    }
    return a.epoch != b.epoch ? a.epoch > b.epoch : count_slots(a) > count_slots(b);
}

/// Returns a text with the number of slots without an owner. Empty if every slot has one.
std::string describe_holes(const cluster_map& in) {
    const std::size_t missing = slot_count - count_slots(in);
    std::size_t first = 0;
    for (const slot_range& one : in.ranges) {
        if (one.first != first) {
            break;
        }
        first = one.last + 1;
    }
    return missing == 0 ? std::string()
                        : "no node reports the owner of " + std::to_string(missing) +
                              " slots, of which " + std::to_string(first) + " is the first";
}

void append(std::string& to, std::string_view sentence) {
    if (!sentence.empty()) {
        to += to.empty() ? "" : ". ";
        to += sentence;
    }
}

}  // namespace

void map_selection::begin() {
    answers_.clear();
    failures_.clear();
    enough_ = false;
}

map_selection::relation map_selection::add(const std::string& who, cluster_map map) {
    relation is = relation::ours;
    if (map.ranges.empty()) {
        is = relation::empty;
        // mutant: another_cluster_is_believed
    } else if (has_map_ && !can_be_one_cluster(ids_, map.ids)) {
        is = relation::foreign;
    } else if (has_map_ && map.epoch < epoch_) {
        is = relation::older;
    }
    enough_ = enough_ || (is == relation::ours && map.is_ok && map.is_complete());
    answers_.push_back({who, std::move(map), is});
    return is;
}

void map_selection::add_failure(const std::string& who, const std::string& why) {
    failures_.push_back(who + " " + why);
}

map_decision map_selection::decide(core::time_point now) {
    map_decision result;
    answers usable = answers_that_are(relation::ours);
    const answers others = usable.empty() ? others_that_agree() : answers();
    result.is_another = !others.empty() && has_persisted(others.front()->map, now);
    if (result.is_another) {
        usable = others;
    } else if (!has_map_ && !are_of_one_cluster(usable)) {
        usable.clear();
    }
    if (others.empty() || result.is_another) {
        successor_.reset();
    }
    result.is_undecided = successor_.has_value();
    std::ranges::stable_sort(
        usable, [](const answer* a, const answer* b) { return is_better(a->map, b->map); });
    for (const answer* const one : usable) {
        if (!result.map) {
            result.map = one->map;
        } else if (can_be_one_cluster(result.map->ids, one->map.ids)) {
            fill_holes(*result.map, one->map);
        }
    }
    result.reason = explain(result);
    if (result.map) {
        use(result);
    }
    append(result.reason, followed_);
    return result;
}

bool map_selection::move(std::size_t slot, const std::string& host, const std::string& port) {
    auto found = std::ranges::find_if(
        owners_, [&](const owner& one) { return one.host == host && one.port == port; });
    if (found == owners_.end()) {
        if (owners_.size() >= most_owners_) {
            forget_unused_owners();
        }
        found = owners_.insert(owners_.end(), {host, port, {}});
    }
    const std::size_t former =
        std::exchange(owner_of_[slot], static_cast<std::size_t>(found - owners_.begin()) + 1);
    return former != 0 && !owners_[former - 1].is_same(*found);
}

/// Limits the memory, because nodes may name any number of other nodes over time.
void map_selection::forget_unused_owners() {
    const std::vector<owner> all = std::exchange(owners_, {});
    std::vector<std::size_t> numbers(all.size() + 1);  // 0, or the new index plus one.
    for (std::size_t& number : owner_of_) {
        if (number != 0 && numbers[number] == 0) {
            owners_.push_back(all[number - 1]);
            numbers[number] = owners_.size();
        }
        number = numbers[number];
    }
    constexpr std::size_t least = 64;
    most_owners_ = 2 * owners_.size() + least;
}

bool map_selection::owner::operator<(const owner& other) const {
    return std::tie(host, port, id) < std::tie(other.host, other.port, other.id);
}

bool map_selection::owner::is_same(const owner& other) const {
    return id.empty() || other.id.empty() ? host == other.host && port == other.port
                                          : id == other.id;
}

map_selection::answers map_selection::answers_that_are(relation what) const {
    answers result;
    for (const answer& one : answers_) {
        if (one.is == what) {
            result.push_back(&one);
        }
    }
    return result;
}

/// Returns all answers whose map is not ours, if they agree with each other. Otherwise returns none.
map_selection::answers map_selection::others_that_agree() const {
    answers result = answers_that_are(relation::foreign);
    const answers older = answers_that_are(relation::older);
    result.insert(result.end(), older.begin(), older.end());
    const bool agree = std::ranges::all_of(result, [&](const answer* one) {
        return one->map.is_ok && one->map.epoch == result.front()->map.epoch;
    });
    const bool is_majority = 2 * result.size() > answers_.size() + failures_.size();
    return agree && is_majority && are_of_one_cluster(result) ? result : answers();
}

bool map_selection::are_of_one_cluster(const answers& all) {
    return std::ranges::all_of(all, [&](const answer* one) {
        return can_be_one_cluster(one->map.ids, all.front()->map.ids);
    });
}

/// Returns whether that cluster and epoch have been reported long enough.
bool map_selection::has_persisted(const cluster_map& other, core::time_point now) {
    if (!successor_ || successor_->epoch != other.epoch ||
        !can_be_one_cluster(successor_->ids, other.ids)) {
        successor_ = {other.ids, other.epoch, now};
    }
    return now - successor_->since >= patience;
}

/// Makes the map the current one, and records which slots have a new owner.
void map_selection::use(map_decision& decided) {
    const cluster_map& map = *decided.map;
    if (decided.is_another) {
        followed_ = (can_be_one_cluster(ids_, map.ids) ? "an older map of the cluster"
                                                       : "the map of another cluster");
        followed_ += " is in use, of epoch " + std::to_string(map.epoch) +
                     ", since no node reports the former one, of epoch " + std::to_string(epoch_);
        decided.changed.set();
        std::ranges::fill(owner_of_, 0);
    }
    const std::vector<owner> former_owners = std::exchange(owners_, {});
    std::map<owner, std::size_t> numbers;
    const auto number_of = [&](const owner& one) {
        const auto [at, is_new] = numbers.try_emplace(one, owners_.size() + 1);
        if (is_new) {
            owners_.push_back(one);
        }
        return at->second;
    };
    std::vector<bool> has_owner(slot_count);
    for (const slot_range& range : map.ranges) {
        owner next{range.host, range.port, range.id};
        if (next.id.empty()) {
            const auto known = std::ranges::find_if(
                former_owners, [&](const owner& one) { return one.is_same(next); });
            next.id = known == former_owners.end() ? std::string() : known->id;
        }
        const std::size_t number = number_of(next);
        for (std::size_t slot = range.first; slot <= range.last; ++slot) {
            const std::size_t former = std::exchange(owner_of_[slot], number);
            has_owner[slot] = true;
            if (former != 0 && !former_owners[former - 1].is_same(next)) {
                decided.changed.set(slot);
            }
        }
    }
    for (std::size_t slot = 0; slot != slot_count; ++slot) {
        if (const std::size_t former = owner_of_[slot]; !has_owner[slot] && former != 0) {
            owner_of_[slot] = number_of(former_owners[former - 1]);
        }
    }
    if (decided.is_another) {
        epoch_ = map.epoch;
    } else if (map.is_ok) {
        epoch_ = std::max(epoch_, map.epoch);
    }
    if (!map.ids.empty()) {
        ids_ = map.ids;
    }
    has_map_ = true;
}

std::string map_selection::why_ignored(const answer& one) const {
    switch (one.is) {
        case relation::ours:
            return one.who + " reports the cluster of node " + name_of(one.map) +
                   ", and other nodes report another one";
        case relation::older:
            return one.who + " reports an older map, of epoch " + std::to_string(one.map.epoch) +
                   ", and epoch " + std::to_string(epoch_) + " is in use";
        case relation::foreign:
            return one.who + " reports another cluster, that of node " + name_of(one.map) +
                   ", whose map has no node in common with the one in use";
        case relation::empty:
            break;
    }
    return one.who + " reports a map without slots";
}

std::string map_selection::explain(const map_decision& decided) const {
    std::string result;
    for (const answer& one : answers_) {
        const bool is_used =
            decided.map && can_be_one_cluster(decided.map->ids, one.map.ids) &&
            (decided.is_another ? one.is != relation::empty : one.is == relation::ours);
        if (!is_used) {
            append(result, why_ignored(one));
        } else if (!one.map.is_ok) {
            append(result, one.who + " reports that its cluster is not ok");
        }
        for (const std::string& entry : one.map.ignored) {
            append(result, one.who + ": " + entry);
        }
    }
    if (decided.map) {
        append(result, describe_holes(*decided.map));
    } else if (decided.is_undecided) {
        append(result, "that map is used if all nodes go on to report it for " +
                           std::to_string(patience.count()) + " ms");
    } else if (!answers_that_are(relation::ours).empty()) {
        append(result, "Give nodes of one cluster only");
    } else if (answers_that_are(relation::empty).size() == answers_.size()) {
        std::ranges::for_each(failures_, [&](const auto& one) { append(result, one); });
        result.insert(0, "no node reports the map of the cluster: ");
    }
    return result;
}

}  // namespace colock::instance::redis
