// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_CLUSTER_REPLIES_HPP
#define COLOCK_TEST_SUPPORT_CLUSTER_REPLIES_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// The replies of cluster nodes, as RESP: CLUSTER INFO, CLUSTER SHARDS and CLUSTER SLOTS.

namespace colock::test {

inline std::string resp_bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

inline std::string resp_number(std::size_t value) {
    return ":" + std::to_string(value) + "\r\n";
}

inline std::string resp_array(const std::vector<std::string>& of) {
    std::string result = "*" + std::to_string(of.size()) + "\r\n";
    for (const std::string& one : of) {
        result += one;
    }
    return result;
}

/// Returns a RESP map. The names and values alternate in `of`.
inline std::string resp_map(const std::vector<std::string>& of) {
    const std::string array = resp_array(of);
    return "%" + std::to_string(of.size() / 2) + array.substr(array.find('\r'));
}

/// A node as CLUSTER SHARDS and CLUSTER SLOTS report it.
struct reported_node {
    std::size_t port = 0;
    std::string id{};
    std::string role = "master";
    std::string health = "online";
    std::string endpoint = resp_bulk("127.0.0.1");  ///< Encoded as RESP, because it may be null.
    std::size_t tls_port = 0;                       ///< 0 means none.
};

/// One shard of CLUSTER SHARDS: the first and last slots of its ranges, and its nodes.
struct reported_shard {
    std::vector<std::size_t> slots;
    std::vector<reported_node> nodes;
};

inline std::string shards_reply(const std::vector<reported_shard>& shards) {
    std::vector<std::string> all;
    for (const reported_shard& one : shards) {
        std::vector<std::string> slots;
        for (const std::size_t slot : one.slots) {
            slots.push_back(resp_number(slot));
        }
        std::vector<std::string> nodes;
        for (const reported_node& node : one.nodes) {
            std::vector<std::string> fields{
                resp_bulk("id"),        resp_bulk(node.id),  resp_bulk("port"),
                resp_number(node.port), resp_bulk("ip"),     resp_bulk("10.9.9.9"),
                resp_bulk("endpoint"),  node.endpoint,       resp_bulk("role"),
                resp_bulk(node.role),   resp_bulk("health"), resp_bulk(node.health)};
            if (node.tls_port != 0) {
                fields.push_back(resp_bulk("tls-port"));
                fields.push_back(resp_number(node.tls_port));
            }
            nodes.push_back(resp_map(fields));
        }
        all.push_back(resp_map(
            {resp_bulk("slots"), resp_array(slots), resp_bulk("nodes"), resp_array(nodes)}));
    }
    return resp_array(all);
}

/// One entry of CLUSTER SLOTS. The first node is the master.
struct reported_range {
    std::size_t first = 0;
    std::size_t last = 0;
    std::vector<reported_node> nodes;
};

inline std::string slots_reply(const std::vector<reported_range>& ranges) {
    std::vector<std::string> all;
    for (const reported_range& one : ranges) {
        std::vector<std::string> entry{resp_number(one.first), resp_number(one.last)};
        for (const reported_node& node : one.nodes) {
            entry.push_back(
                resp_array({node.endpoint, resp_number(node.port), resp_bulk(node.id)}));
        }
        all.push_back(resp_array(entry));
    }
    return resp_array(all);
}

inline std::string cluster_info_reply(bool is_ok, std::size_t epoch) {
    return resp_bulk(std::string("cluster_state:") + (is_ok ? "ok" : "fail") +
                     "\r\ncluster_current_epoch:" + std::to_string(epoch) + "\r\n");
}

}  // namespace colock::test

#endif
