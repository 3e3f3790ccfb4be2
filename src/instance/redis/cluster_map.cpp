// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/cluster_map.hpp"

#include "instance/redis/address.hpp"
#include "instance/redis/info_field.hpp"
#include "instance/redis/key_slot.hpp"
#include "resp/reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <functional>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

namespace colock::instance::redis {
namespace {

using resp::type;
using resp::value;

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
    Number result{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), result);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
    return whole ? std::optional(result) : std::nullopt;
}

/// A value and its children.
struct tree {
    value self;
    std::vector<tree> children;

    /// Returns the value of the field with that name, in a list of alternating names and values. Returns null
    /// if it is missing.
    [[nodiscard]] const tree* field(std::string_view name) const {
        for (std::size_t i = 0; i + 1 < children.size(); i += 2) {
            if (children[i].self.text == name) {
                return &children[i + 1];
            }
        }
        return nullptr;
    }

    /// Returns the text of the field. Empty if it is missing.
    [[nodiscard]] std::string text_of(std::string_view name) const {
        const tree* const found = field(name);
        return found == nullptr ? std::string() : std::string(found->self.text);
    }
};

/// The reader has bounded the depth.
tree read_tree(resp::cursor& values) {  // NOLINT(misc-no-recursion)
    tree result{values.next(), {}};
    for (std::size_t i = 0; i != result.self.children; ++i) {
        result.children.push_back(read_tree(values));
    }
    return result;
}

/// The reported health of a master that claims slots, from the best to the worst.
enum class health : std::uint8_t { online, not_reported, loading, failed };

health to_health(std::string_view reported) {
    return reported == "online"    ? health::online
           : reported.empty()      ? health::not_reported
           : reported == "loading" ? health::loading
                                   : health::failed;
}

struct master {
    std::string host;
    std::string port;
    std::string id;
    redis::health health = redis::health::online;
    std::string reported_health{};

    [[nodiscard]] bool is_at_place_of(const master& other) const {
        return host == other.host && port == other.port;
    }
};

std::string slots_text(std::size_t first, std::size_t last) {
    return "slots " + std::to_string(first) + " to " + std::to_string(last);
}

/// Writes slots one after the other, and merges them into ranges.
class range_writer {
public:
    explicit range_writer(std::vector<slot_range>& to) : to_(to) {}

    template <typename Owner>
    void add(std::size_t slot, const Owner& owner) {
        if (last_owner_ != &owner || to_.back().last + 1 != slot) {
            last_owner_ = &owner;
            if (to_.empty() || to_.back().last + 1 != slot || to_.back().host != owner.host ||
                to_.back().port != owner.port || to_.back().id != owner.id) {
                to_.push_back({slot, slot, owner.host, owner.port, owner.id});
            }
        }
        to_.back().last = slot;
    }

private:
    std::vector<slot_range>& to_;
    const void* last_owner_ = nullptr;
};

/// The masters that claim slots, and the owner of each slot. The order of the claims has no effect.
class claims {
public:
    void add(std::size_t first, std::size_t last, const master& claimed_by) {
        if (last - first >= budget_) {
            ignore("it claims each slot far too often");
            return;
        }
        budget_ -= last - first + 1;
        const std::size_t number = all_.size();
        all_.push_back({first, last, claimed_by});
        for (std::size_t slot = first; slot <= last; ++slot) {
            claim(slots_[slot], number);
        }
    }

    /// Records why a part of the reply is ignored.
    void ignore(std::string why) { ignored_.insert(std::move(why)); }

    [[nodiscard]] cluster_map settle(std::set<std::string> ids) {
        cluster_map result;
        result.is_certain = true;
        range_writer writer(result.ranges);
        for (std::size_t slot = 0; slot != slot_count; ++slot) {
            if (const master* const owner = owner_of(slot)) {
                result.is_certain = result.is_certain && owner->health <= health::not_reported;
                writer.add(slot, *owner);
            } else {
                result.is_certain = false;
            }
        }
        explain_disputes();
        explain_failed_masters();
        result.ids = std::move(ids);
        constexpr std::size_t most = 16;
        for (const std::string& why : ignored_) {
            if (result.ignored.size() < most) {
                result.ignored.push_back(why);
            }
        }
        return result;
    }

private:
    struct state {
        std::optional<std::size_t> best;
        bool is_disputed = false;
    };
    struct one_claim {
        std::size_t first;
        std::size_t last;
        master by;
    };

    void claim(state& at, std::size_t number) {
        const master& next = all_[number].by;
        if (!at.best || next.health < all_[*at.best].by.health) {
            at = {number, false};
            return;
        }
        const master& known = all_[*at.best].by;
        if (next.is_at_place_of(known)) {
            if (next.health == known.health && known.id < next.id) {
                at.best = number;
            }
        } else if (next.health == known.health) {
            at.is_disputed = true;
        }
    }

    [[nodiscard]] const master* owner_of(std::size_t slot) const {
        const state& at = slots_[slot];
        return at.best && !at.is_disputed ? &all_[*at.best].by : nullptr;
    }

    void explain_disputes() {
        for (std::size_t slot = 0; slot != slot_count; ++slot) {
            const std::size_t first = slot;
            while (slot != slot_count && slots_[slot].is_disputed) {
                ++slot;
            }
            if (slot != first) {
                ignore("several masters claim " + slots_text(first, slot - 1));
                --slot;
            }
        }
    }

    /// A failed master without a successor keeps its slots.
    void explain_failed_masters() {
        for (const one_claim& one : all_) {
            if (one.by.health <= health::not_reported) {
                continue;
            }
            for (std::size_t slot = one.first; slot <= one.last; ++slot) {
                const master* const owner = owner_of(slot);
                if (owner != nullptr && !owner->is_at_place_of(one.by)) {
                    ignore("the master at " + endpoint_text(one.by.host, one.by.port) +
                           " is reported as '" + one.by.reported_health +
                           "', and another one has its slots");
                    break;
                }
            }
        }
    }

    // Maximum number of claimed slots. It limits the work for one reply.
    std::size_t budget_ = 64 * slot_count;
    std::vector<one_claim> all_;
    std::vector<state> slots_{slot_count};
    std::set<std::string> ignored_;
};

/// Returns the range if both texts are slot numbers in order.
std::optional<std::pair<std::size_t, std::size_t>> to_range(std::string_view first,
                                                            std::string_view last) {
    const auto from = to_number<std::size_t>(first);
    const auto to = to_number<std::size_t>(last);
    if (!from || !to || *from > *to || *to >= slot_count) {
        return std::nullopt;
    }
    return std::pair(*from, *to);
}

std::string nonsense_range(std::string_view first, std::string_view last) {
    return "slots '" + std::string(first) + "' to '" + std::string(last) + "' do not exist";
}

/// Returns the announced host of a node. Null and the empty string mean the host that was queried.
std::optional<std::string> to_host(const value& announced, const std::string& asked) {
    if (announced.type == type::null || announced.text.empty()) {
        return asked;
    }
    if (announced.text == "?") {
        return std::nullopt;  // The queried node does not know the host.
    }
    return std::string(announced.text);
}

bool is_port(std::string_view text) {
    return to_number<std::uint16_t>(text).value_or(0) != 0;
}

/// Returns a node of a shard if it is a reachable master. Otherwise `why` gives the reason, except for a
/// replica.
std::optional<master> read_master(const tree& node, const std::string& asked, bool tls,
                                  std::string& why) {
    const std::string role = node.text_of("role");
    const tree* const endpoint = node.field("endpoint");
    const auto host =
        endpoint == nullptr ? std::optional<std::string>() : to_host(endpoint->self, asked);
    std::string port = node.text_of(tls ? "tls-port" : "port");
    if (role != "master") {
        why = role.empty() ? "its role is not reported" : "";
    } else if (!host) {
        why = "its address is not known";
    } else if (!is_port(port)) {
        why = tls ? "it has no port for TLS" : "it has no port without TLS";
    } else {
        const std::string reported = node.text_of("health");
        return master{*host, std::move(port), node.text_of("id"), to_health(reported), reported};
    }
    return std::nullopt;
}

void read_shard(const tree& shard, const std::string& asked, bool tls, claims& to,
                std::set<std::string>& ids) {
    std::vector<master> masters;
    if (const std::string id = shard.text_of("id"); !id.empty()) {
        ids.insert(id);
    }
    if (const tree* const nodes = shard.field("nodes")) {
        for (const tree& node : nodes->children) {
            const std::string id = node.text_of("id");
            if (!id.empty()) {
                ids.insert(id);
            }
            std::string why;
            if (const auto found = read_master(node, asked, tls, why)) {
                masters.push_back(*found);
            } else if (!why.empty()) {
                to.ignore("node " + (id.empty() ? "without an id" : id) + ": " + why);
            }
        }
    }
    const tree* const slots = shard.field("slots");
    for (std::size_t i = 0; slots != nullptr && i < slots->children.size(); i += 2) {
        const std::string_view first = slots->children[i].self.text;
        const std::string_view last =
            i + 1 < slots->children.size() ? slots->children[i + 1].self.text : "";
        const auto range = to_range(first, last);
        if (!range) {
            to.ignore(nonsense_range(first, last));
        } else if (masters.empty()) {
            to.ignore(slots_text(range->first, range->second) +
                      " are in a shard without a usable master");
        }
        for (const master& one : masters) {
            if (range) {
                to.add(range->first, range->second, one);
            }
        }
    }
    if (slots == nullptr) {
        to.ignore("a shard has no field 'slots'");
    }
}

}  // namespace

bool cluster_map::is_complete() const {
    std::size_t next = 0;
    for (const slot_range& one : ranges) {
        if (one.first != next) {
            return false;
        }
        next = one.last + 1;
    }
    return next == slot_count;
}

cluster_map read_shards(std::string_view reply, const std::string& asked, bool tls) {
    resp::cursor values(reply);
    const tree shards = read_tree(values);
    claims all;
    std::set<std::string> ids;
    if (shards.self.type != type::array) {
        all.ignore("the reply to CLUSTER SHARDS is no array");
    }
    for (const tree& shard : shards.children) {
        read_shard(shard, asked, tls, all, ids);
    }
    return all.settle(std::move(ids));
}

cluster_map read_slots(std::string_view reply, const std::string& asked) {
    resp::cursor values(reply);
    const tree entries = read_tree(values);
    claims all;
    std::set<std::string> ids;
    if (entries.self.type != type::array) {
        all.ignore("the reply to CLUSTER SLOTS is no array");
    }
    for (const tree& entry : entries.children) {
        constexpr std::size_t fields_before_nodes = 2;
        for (std::size_t i = fields_before_nodes; i < entry.children.size(); ++i) {
            const tree& node = entry.children[i];
            if (node.children.size() > 2 && !node.children[2].self.text.empty()) {
                ids.emplace(node.children[2].self.text);
            }
        }
        if (entry.children.size() < fields_before_nodes) {
            all.ignore("an entry of CLUSTER SLOTS has no slots");
            continue;
        }
        const std::string_view first = entry.children[0].self.text;
        const std::string_view last = entry.children[1].self.text;
        const auto range = to_range(first, last);
        if (!range) {
            all.ignore(nonsense_range(first, last));
            continue;
        }
        // The master is the first node. Its replicas follow.
        const tree* const node = entry.children.size() > fields_before_nodes
                                     ? &entry.children[fields_before_nodes]
                                     : nullptr;
        const bool has_place = node != nullptr && node->children.size() >= 2;
        const auto host = has_place ? to_host(node->children[0].self, asked) : std::nullopt;
        if (!host || !is_port(node->children[1].self.text)) {
            all.ignore(slots_text(range->first, range->second) +
                       " have no master whose address is known");
            continue;
        }
        all.add(range->first, range->second,
                {*host, std::string(node->children[1].self.text),
                 node->children.size() > 2 ? std::string(node->children[2].self.text) : ""});
    }
    return all.settle(std::move(ids));
}

cluster_map combine(cluster_map slots, const cluster_map& shards) {
    fill_holes(slots, shards);
    slots.ignored.insert(slots.ignored.end(), shards.ignored.begin(), shards.ignored.end());
    return slots;
}

void fill_holes(cluster_map& to, const cluster_map& from) {
    std::vector<const slot_range*> owners(slot_count);
    for (const auto& ranges : {std::cref(from.ranges), std::cref(to.ranges)}) {
        for (const slot_range& one : ranges.get()) {
            for (std::size_t slot = one.first; slot <= one.last; ++slot) {
                owners[slot] = &one;
            }
        }
    }
    std::vector<slot_range> filled;
    range_writer writer(filled);
    for (std::size_t slot = 0; slot != slot_count; ++slot) {
        if (const slot_range* const owner = owners[slot]) {
            writer.add(slot, *owner);
        }
    }
    to.ranges = std::move(filled);
    to.ids.insert(from.ids.begin(), from.ids.end());
}

void read_cluster_info(std::string_view text, cluster_map& to) {
    to.is_ok = find_field(text, "cluster_state") == "ok";
    to.epoch = to_number<std::uint64_t>(find_field(text, "cluster_current_epoch")).value_or(0);
}

redirection read_redirection(std::string_view error) {
    redirection result;
    const auto next_word = [&error] {
        const std::string_view word = error.substr(0, error.find(' '));
        error.remove_prefix(std::min(error.size(), word.size() + 1));
        return word;
    };
    const std::string_view code = next_word();
    if (code == "CLUSTERDOWN") {
        result.kind = redirection::kind_type::down;
        return result;
    }
    if (code != "MOVED" && code != "ASK") {
        return result;
    }
    const auto slot = to_number<std::size_t>(next_word());
    const std::string_view endpoint = next_word();
    const std::size_t colon = endpoint.rfind(':');
    if (!slot || *slot >= slot_count || colon == std::string_view::npos ||
        !is_port(endpoint.substr(colon + 1)) || endpoint.starts_with('?')) {
        return result;  // Malformed, or usable only later.
    }
    result.kind = code == "MOVED" ? redirection::kind_type::moved : redirection::kind_type::ask;
    result.slot = *slot;
    result.host = endpoint.substr(0, colon);
    result.port = endpoint.substr(colon + 1);
    if (result.host.starts_with('[') && result.host.ends_with(']')) {
        result.host = result.host.substr(1, result.host.size() - 2);
    }
    return result;
}

}  // namespace colock::instance::redis
