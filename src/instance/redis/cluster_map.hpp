// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_CLUSTER_MAP_HPP
#define COLOCK_INSTANCE_REDIS_CLUSTER_MAP_HPP

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// Slots in a row, and their master.
struct slot_range {
    std::size_t first = 0;
    std::size_t last = 0;
    std::string host;
    std::string port;
    std::string id;  ///< of the node; empty if it is not reported

    friend bool operator==(const slot_range& a, const slot_range& b) = default;
};

/// Which master serves which slots, as one node of a cluster reports it.
///
/// The order of the nodes and of the fields in a reply has no effect on the map. If several masters claim a slot, the
/// healthiest has it. If two of them are equally healthy, the slot has no owner here.
struct cluster_map {
    std::vector<slot_range> ranges;    ///< in the order of the slots; no slot is in two of them
    std::set<std::string> ids;         ///< of all nodes and shards
    std::vector<std::string> ignored;  ///< what was left out of the map, and why, for people
    std::uint64_t epoch = 0;  ///< grows with each failover; a node that is cut off has an old one
    bool is_ok = false;       ///< that node can reach a majority, and all slots are served
    /// Every slot is at a master that is not reported as failed or loading.
    bool is_certain = false;

    friend bool operator==(const cluster_map& a, const cluster_map& b) = default;

    /// Whether each slot has an owner.
    [[nodiscard]] bool is_complete() const;
};

/// Reads the reply to CLUSTER SHARDS, of a node that was reached at `asked`.
/// (https://redis.io/docs/latest/commands/cluster-shards/)
cluster_map read_shards(std::string_view reply, const std::string& asked, bool tls);

/// Reads the reply to CLUSTER SLOTS, likewise. (https://redis.io/docs/latest/commands/cluster-slots/)
cluster_map read_slots(std::string_view reply, const std::string& asked);

/// Reads the state and the epoch from the text of CLUSTER INFO.
void read_cluster_info(std::string_view text, cluster_map& to);

/// The map of a node that has answered both. CLUSTER SLOTS is the node's own table of slots, and comes first.
cluster_map combine(cluster_map slots, const cluster_map& shards);

/// Gives slots that have no owner in `to` the owner that they have in `from`. Adds the ids of `from`.
void fill_holes(cluster_map& to, const cluster_map& from);

/// Where a node sends a command that it has not executed.
struct redirection {
    enum class kind_type : std::uint8_t {
        moved,  ///< the slot belongs to another node: it does from now on
        ask,    ///< this key is at, or belongs to, the node that is about to take the slot over
        again,  ///< TRYAGAIN: some of the keys are here, some there
        down,   ///< CLUSTERDOWN: the cluster cannot serve the slot now
    };
    kind_type kind = kind_type::again;
    std::size_t slot = 0;
    std::string host{};  ///< empty: that of the node that says so
    std::string port{};
};

/// Reads an error for which `is_redirection` holds.
redirection read_redirection(std::string_view error);

}  // namespace colock::instance::redis

#endif
