// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_REPLICATION_HPP
#define COLOCK_TEST_INTEGRATION_REPLICATION_HPP

#include "support/deadline.hpp"
#include "support/redis_server.hpp"

#include <string>
#include <vector>

// Helpers for masters with replicas.

namespace colock::test {

/// The arguments of a master that synchronizes the first replica without waiting for more replicas.
inline const std::vector<std::string> at_once{"--repl-diskless-sync-delay", "0"};

/// Returns the arguments of a replica.
inline std::vector<std::string> replica_of(const redis_server& master) {
    return {"--replicaof", "127.0.0.1", std::to_string(master.port())};
}

/// Waits until the replica receives new writes of the master. The state "up" alone means only that it has a
/// copy.
inline void wait_until_streaming(const redis_server& master, const redis_server& replica) {
    wait_until([&] {
        return replica.command({"INFO", "replication"})->find("link_status:up") !=
               std::string::npos;
    });
    master.command({"SET", "streaming", "yes"});
    wait_until([&] { return replica.has("streaming"); });
}

}  // namespace colock::test

#endif
