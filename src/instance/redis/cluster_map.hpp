#ifndef COLOCK_INSTANCE_REDIS_CLUSTER_MAP_HPP
#define COLOCK_INSTANCE_REDIS_CLUSTER_MAP_HPP

#include <cstddef>
#include <cstdint>
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

    friend bool operator==(const slot_range& a, const slot_range& b) = default;
};

/// Which node serves which slots, as one node of a cluster says.
struct cluster_map {
    std::vector<slot_range> ranges;
    std::uint64_t epoch = 0;  ///< grows with each failover; a node that is cut off has an old one
    bool is_ok = false;       ///< that node can reach a majority, and all slots are served
};

/// Reads the reply to CLUSTER SHARDS, of a node that was reached at `asked`. Leaves out what it does not understand,
/// and nodes whose address is unknown. (https://redis.io/docs/latest/commands/cluster-shards/)
std::vector<slot_range> read_shards(std::string_view reply, const std::string& asked, bool tls);

/// Reads the reply to CLUSTER SLOTS, likewise: what servers before 7.0 know instead.
/// (https://redis.io/docs/latest/commands/cluster-slots/)
std::vector<slot_range> read_slots(std::string_view reply, const std::string& asked);

/// Reads the state and the epoch from the text of CLUSTER INFO.
void read_cluster_info(std::string_view text, cluster_map& to);

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
