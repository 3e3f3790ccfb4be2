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

// Which of the maps that the nodes of a cluster report is used, and which slots get a quarantine for it. These are
// decisions, without any I/O.

namespace colock::instance::redis {

/// What comes out of a sweep, in which one node after the other was asked for its map.
struct map_decision {
    /// The map to use from now on. None: what was used before.
    std::optional<cluster_map> map;
    /// That map is one of another cluster, or of an older state of this one.
    bool is_another = false;
    /// Slots whose owner is another than before; all of them, if `is_another`.
    std::bitset<slot_count> changed;
    /// Nodes report another cluster, or an older state. It may be followed soon, so ask again.
    bool is_undecided = false;
    /// What was ignored, what is missing, and what was followed in place of the first cluster, for people. It may be empty.
    std::string reason;
};

/// The map in use, and the rule by which another one takes its place:
///
/// 1. A map is *ours* if it has a node or shard in common with the map in use, and no lower epoch. If nodes report no ids,
///    only the epoch counts. The first map is ours whatever it is.
/// 2. Of our maps, those of nodes in a cluster that is ok come first. Of these, the highest epoch comes first. A slot that has
///    no owner in this map gets that of the next one.
/// 3. A map that is not ours is ignored as long as a node reports one that is.
/// 4. If all nodes that answer report the same other cluster, or the same lower epoch, and say that it is ok, and go on to
///    do so for `patience`, then their map is followed, and each slot has changed.
/// 5. A slot without an owner in the new map keeps the last one. It has changed only if another owner is found for it. The
///    owner is the same if its id is, or without ids, its address.
/// 6. Each map, and each entry, that is ignored leaves a reason.
///
/// A node that is cut off from the majority says that its cluster is not ok, so rule 4 does not follow it.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class map_selection {
public:
    /// The time in which a node that lags behind, or a short outage, is over.
    static constexpr core::milliseconds patience{2000};

    /// How a map stands to the one in use.
    enum class relation : std::uint8_t { ours, older, foreign, empty };

    /// A sweep begins.
    void begin();
    /// A node has answered. `who` is for people.
    relation add(const std::string& who, cluster_map map);
    /// A node has not answered.
    void add_failure(const std::string& who, const std::string& why);
    /// Nothing is missing: the other nodes need not be asked.
    [[nodiscard]] bool is_enough() const noexcept { return enough_; }
    /// The sweep ends.
    [[nodiscard]] map_decision decide(core::time_point now);

    /// A node says that the slot is at that place from now on. Gives whether its owner is another than before.
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
    /// What may be followed by rule 4.
    struct successor {
        std::set<std::string> ids;
        std::uint64_t epoch;
        core::time_point since;
    };
    using answers = std::vector<const answer*>;

    [[nodiscard]] answers answers_that_are(relation what) const;
    [[nodiscard]] answers others_that_agree() const;
    [[nodiscard]] bool has_persisted(const cluster_map& other, core::time_point now);
    void use(map_decision& decided);
    void forget_unused_owners();
    [[nodiscard]] std::string why_ignored(const answer& one) const;
    [[nodiscard]] std::string explain(const map_decision& decided) const;

    std::vector<answer> answers_;
    std::string failures_;
    bool enough_ = false;

    bool has_map_ = false;
    std::uint64_t epoch_ = 0;
    std::set<std::string> ids_;
    std::vector<owner> owners_;
    std::size_t most_owners_ = 0;  // at which those without slots are forgotten
    std::vector<std::size_t> owner_of_ =
        std::vector<std::size_t>(slot_count);  // one more than its number, or 0
    std::optional<successor> successor_;
    std::string followed_;  // why, and what, by rule 4
};

}  // namespace colock::instance::redis

#endif
