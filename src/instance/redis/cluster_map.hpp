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

/// A range of slots and its master.
struct slot_range {
    std::size_t first = 0;
    std::size_t last = 0;
    std::string host;
    std::string port;
    std::string id;  ///< Id of the node. Empty if it is not reported.

    friend bool operator==(const slot_range& a, const slot_range& b) = default;
};

/// The assignment of slots to masters, as one node of a cluster reports it.
///
/// The order of the nodes and of the fields in a reply has no effect on the map. If several masters claim a
/// slot, the healthiest is its owner. If two of them are equally healthy, the slot has no owner here.
struct cluster_map {
    std::vector<slot_range> ranges;  ///< In slot order, without overlaps.
    std::set<std::string> ids;       ///< Ids of all nodes and shards.
    /// Which parts of the reply were ignored, and why, for display.
    std::vector<std::string> ignored;
    /// Grows with each failover. A node that is cut off reports an old one.
    std::uint64_t epoch = 0;
    bool is_ok = false;  ///< The node can reach a majority, and all slots are served.
    /// Every slot has a master that is not reported as failed or loading.
    bool is_certain = false;

    friend bool operator==(const cluster_map& a, const cluster_map& b) = default;

    /// Returns whether every slot has an owner.
    [[nodiscard]] bool is_complete() const;
};

/// Reads the reply to CLUSTER SHARDS of a node that was reached at `asked`. See
/// https://redis.io/docs/latest/commands/cluster-shards/
cluster_map read_shards(std::string_view reply, const std::string& asked, bool tls);

/// Reads the reply to CLUSTER SLOTS of a node that was reached at `asked`. See
/// https://redis.io/docs/latest/commands/cluster-slots/
cluster_map read_slots(std::string_view reply, const std::string& asked);

/// Reads the state and the epoch from the reply to CLUSTER INFO.
void read_cluster_info(std::string_view text, cluster_map& to);

/// Merges both replies of a node. CLUSTER SLOTS is the node's own table of slots and takes precedence.
cluster_map combine(cluster_map slots, const cluster_map& shards);

/// Fills slots without an owner in `to` with the owner in `from`. Adds the ids of `from`.
void fill_holes(cluster_map& to, const cluster_map& from);

/// Where a node redirects a command that it has not executed.
struct redirection {
    enum class kind_type : std::uint8_t {
        moved,  ///< The slot now belongs to another node.
        ask,    ///< This key is on the node that imports the slot, or belongs there.
        again,  ///< TRYAGAIN: the keys are on different nodes.
        down,   ///< CLUSTERDOWN: the cluster cannot serve the slot now.
    };
    kind_type kind = kind_type::again;
    std::size_t slot = 0;
    std::string host{};  ///< Empty = the redirecting node's own host.
    std::string port{};
};

/// Reads an error for which `is_redirection` is true.
redirection read_redirection(std::string_view error);

}  // namespace colock::instance::redis

#endif
