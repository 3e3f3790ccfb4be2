// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_INFO_HPP
#define COLOCK_INSTANCE_INFO_HPP

#include <colock/detail/export.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v1 {

/// The state of the connection to an instance. Only a `ready` instance grants locks.
enum class instance_state {
    /// The client resolves the name, connects, or waits for the server's first answer. This includes
    /// the TLS handshake.
    connecting,
    /// The client logs in, selects the database, and loads its scripts.
    probing,
    /// The server may have lost locks, so the client ignores its grants. Renewals and releases still
    /// work, and renewals restore missing keys. The cause is a restart, a failover that promoted it, or
    /// another server at the address. See `config::restart_quarantine` and `config::failover_quarantine`.
    quarantined,
    /// The server executes commands.
    ready,
    /// There is no connection. The client will try to connect again.
    down,
    /// The client is closed.
    closed,
};

/// Returns "connecting", "probing", "quarantined", "ready", "down" or "closed".
COLOCK_EXPORT std::string_view to_string(instance_state state) noexcept;

/// One server process of an instance.
struct node_info {
    /// The address of the server.
    std::string address;
    /// "master" for a server, or for a master of some slots of a cluster. "sentinel" for a Sentinel.
    std::string role;
    /// The state of the connection to it.
    instance_state state = instance_state::connecting;
    /// Why it is quarantined. Otherwise why it is, or last was, down. Empty if it never was.
    std::string reason;
};

/// One instance as the client sees it. docs/operations.md says how to use it.
struct instance_info {
    /// Its URI without user, password and query.
    std::string address;
    /// The state of the connection to it.
    instance_state state = instance_state::connecting;
    /// Why it is quarantined, by which setting, and for how many more seconds. Otherwise why it is,
    /// or last was, down. For a cluster, it also reports the maps and entries that the client ignores,
    /// and why. Empty if there is nothing to report.
    std::string reason;
    /// The version that the server reports. Empty before the probe.
    std::string version;
    /// The id of the server process. Empty before the probe.
    std::string run_id;
    /// The uptime of the server at the time of the probe.
    std::chrono::seconds uptime{};
    /// The number of commands without an answer: sent, or about to be sent.
    std::size_t in_flight = 0;
    /// How many commands the client allows in flight. Beyond this, releases and attempts wait in the
    /// client: see `counters::waiting_to_send`. 0 before the probe and for an instance in memory.
    std::size_t window = 0;
    /// The time from sending the latest answered batch of commands to its last answer.
    std::chrono::nanoseconds delay{};
    /// The end of its last quarantine, or `time_point::min()` if there was none. See
    /// `config::restart_quarantine`.
    std::chrono::steady_clock::time_point quarantined_until =
        std::chrono::steady_clock::time_point::min();
    /// The servers of the instance with which the client communicates. Empty for an instance in memory.
    std::vector<node_info> nodes{};
};

}  // namespace v1
}  // namespace colock

#endif
