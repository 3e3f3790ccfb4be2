// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_MAP_SELECTION_HPP
#define COLOCK_INSTANCE_REDIS_MAP_SELECTION_HPP

#include "core/time.hpp"
#include "instance/redis/cluster_map.hpp"
#include "instance/redis/key_slot.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

// Decides which of the maps that cluster nodes report is used, and which slots are quarantined as a result.
// Does no I/O.

namespace colock::instance::redis {

/// The result of a sweep, in which the nodes were queried for their maps one after the other.
struct map_decision {
    /// The map to use from now on. None = the current map stays.
    std::optional<cluster_map> map;
    /// The map belongs to another cluster, or to an older state of this one.
    bool is_another = false;
    /// Slots with a new owner. All slots, if `is_another`.
    std::bitset<slot_count> changed;
    /// Nodes report another cluster or an older state. It may be followed soon, so ask again.
    bool is_undecided = false;
    /// Which reports were ignored, which slots lack an owner, and whether another cluster was followed, for
    /// display. May be empty.
    std::string reason;
};

/// The current map, and the rules that replace it:
///
/// 1. A map is *ours* if it has a node or shard in common with the current map, and no lower epoch. If nodes
///    report no ids, only the epoch counts. The first map is always ours.
/// 2. Among our maps, those of nodes in a healthy cluster come first. Among these, the highest epoch comes
///    first. A slot without an owner in this map gets the owner of the next map. If the first maps
///    are of several clusters, none is used.
/// 3. A map that is not ours is ignored while any node reports one of ours.
/// 4. All nodes that answer may report the same other cluster, or the same lower epoch. If they are a majority of
///    the nodes that were queried, and report it as healthy for `patience`, their map is followed. Every slot
///    has changed then.
/// 5. A slot without an owner in the new map keeps its last owner. It has changed only when another owner is
///    found. Owners are the same if their ids are equal, or without ids, their addresses.
/// 6. Each ignored map and each ignored entry leaves a reason.
///
/// A node that is cut off from the majority reports that its cluster is not ok, so rule 4 does not follow it.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class map_selection {
public:
    /// Long enough for a node that lags behind, or a short outage, to recover.
    static constexpr core::milliseconds patience{2000};

    /// The relation of a reported map to the current one.
    enum class relation : std::uint8_t { ours, older, foreign, empty };

    /// Starts a sweep.
    void begin();
    /// Adds the map of a node. `who` is for display.
    relation add(const std::string& who, cluster_map map);
    /// Records that a node has not answered.
    void add_failure(const std::string& who, const std::string& why);
    /// Returns whether the map is complete, so that the other nodes need not be queried.
    [[nodiscard]] bool is_enough() const noexcept { return enough_; }
    /// Ends the sweep.
    [[nodiscard]] map_decision decide(core::time_point now);

    /// Records that a node has reported a new place of the slot. Returns whether its owner has changed.
    bool move(std::size_t slot, const std::string& host, const std::string& port);

private:
    struct answer {
        std::string who;
        cluster_map map;
        relation is;
    };
    struct owner {
        std::string host;
        std::string port;
        std::string id;

        [[nodiscard]] bool operator<(const owner& other) const;
        [[nodiscard]] bool is_same(const owner& other) const;
    };
    /// The candidate for rule 4.
    struct successor {
        std::set<std::string> ids;
        std::uint64_t epoch;
        core::time_point since;
    };
    using answers = std::vector<const answer*>;

    [[nodiscard]] answers answers_that_are(relation what) const;
    [[nodiscard]] answers others_that_agree() const;
    [[nodiscard]] static bool are_of_one_cluster(const answers& all);
    [[nodiscard]] bool has_persisted(const cluster_map& other, core::time_point now);
    void use(map_decision& decided);
    void forget_unused_owners();
    [[nodiscard]] std::string why_ignored(const answer& one) const;
    [[nodiscard]] std::string explain(const map_decision& decided) const;

    std::vector<answer> answers_;
    std::vector<std::string> failures_;
    bool enough_ = false;

    bool has_map_ = false;
    std::uint64_t epoch_ = 0;
    std::set<std::string> ids_;
    std::vector<owner> owners_;
    std::size_t most_owners_ = 0;  // Limit at which owners without slots are dropped.
    // The owner's index plus one, or 0.
    std::vector<std::size_t> owner_of_ = std::vector<std::size_t>(slot_count);
    std::optional<successor> successor_;
    std::string followed_;  // Which map was followed by rule 4, and why.
};

}  // namespace colock::instance::redis

#endif
