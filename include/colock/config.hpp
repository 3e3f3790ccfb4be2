#ifndef COLOCK_CONFIG_HPP
#define COLOCK_CONFIG_HPP

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// Which instances vote, and how a client talks to them. An aggregate.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct config {
    /// The instances that vote, one URI each. 1 to 64 of them, each a different server:
    /// - `redis://[user[:password]@]host[:port][/database]` (port 6379, database 0 by default)
    /// - `rediss://...`, the same over TLS; query parameters `ca_file`, `cert_file`, `key_file`
    ///   (paths of PEM files), `verify=peer|none` (default `peer`, with the host's name) and `tls_host` (the name to
    ///   be found in the certificate, if that is not the host)
    /// - `valkey://` and `valkeys://` mean the same as `redis://` and `rediss://`
    /// - `redis+sentinel://[user[:password]@]host[:port],host[:port],.../master-name[/database]`: the master that a
    ///   majority of these Sentinels names (port 26379 by default; give all of them), followed through failovers.
    ///   A name with several addresses counts as one Sentinel for each address. One IPv4 and one IPv6 address are one
    ///   Sentinel.
    ///   A later look-up with fewer addresses does not make the majority smaller.
    ///   User and password are those of the master; query parameters `sentinel_user`, and `sentinel_password`,
    ///   `sentinel_password_file` or `sentinel_password_env`, are those of the Sentinels
    /// - `rediss+sentinel://...`, the same over TLS; `sentinel_tls=no` if only the servers speak it
    /// - `redis+cluster://[user[:password]@]host[:port],host[:port],...`: a Redis Cluster of which these are some nodes
    ///   (give several), and `rediss+cluster://...`. Each lock is taken at the master of its key's slot. Locks whose
    ///   names have the same hash tag are at the same master. The remote queue, fencing and several readers of a
    ///   `shared_mutex` need a name without a `}`, or with a hash tag
    /// - `unix:///path/of/socket?db=0&user=...&password=...`
    /// - instead of the password, in any of these, a query parameter `password_file` (the path of a file with
    ///   the password in its first line) or `password_env` (an environment variable); read anew for each connection
    /// - a query parameter `replicas_acked=K`: a lock counts as granted only once K replicas of the server have
    ///   acknowledged it (`WAIT`), within a third of `instance_timeout`, or of `silence_timeout` if that is shorter.
    ///   If fewer do, it is released again.
    ///   That makes it less likely that a failover loses a lock, and cannot rule it out: a replica that
    ///   has not acknowledged may be promoted
    /// - `memory://name`: a lock server inside this process, for tests and development; clients of
    ///   one process that use the same name share it
    ///
    /// A lock is held when a quorum, `size()/2 + 1` of them, has granted it. All programs that are to exclude one
    /// another need the same instances, in any order: else two quorums may have none in common. One server
    /// has one vote, under whatever names, addresses, sockets, users and database numbers it is given.
    /// If two URIs differ in nothing else, `validate` refuses them. If only the servers show it, the instance that connects
    /// later is down, and its `instance_info::reason` says so. A server is recognized by the `run_id` that it reports
    /// by `INFO`. A user who may not use `INFO` leaves only the address to compare.
    std::vector<std::string> instances{};

    /// Put in front of every resource to make its key. Empty by default, which is what other
    /// Redlock implementations use; all that shall exclude each other need the same.
    std::string key_prefix{};

    /// A vote that takes longer counts as failed. It also bounds what one silent instance can cost
    /// an attempt that needs its vote. Allowed: 1 ms to 1 min.
    std::chrono::milliseconds instance_timeout{250};

    /// Bound for looking up an instance's name, and then, at each of its addresses, for all that it takes until
    /// a connection can be used: connecting, the TLS handshake, and the first questions to the server.
    /// Allowed: 1 ms to 5 min.
    std::chrono::milliseconds connect_timeout{1000};

    /// A connection on which nothing was heard for this long is closed and made anew; so is one with a
    /// command that was not answered for this long, whatever else is heard (counted from the end of the last
    /// time for which the event loop was blocked). Idle ones are kept alive by pings at half of this interval.
    /// Allowed: 10 ms to 1 h.
    std::chrono::milliseconds silence_timeout{2000};

    /// First and longest wait between two tries to connect (doubling, jittered).
    /// Allowed: 1 ms <= first <= longest <= 1 h.
    std::chrono::milliseconds reconnect_initial{20};
    std::chrono::milliseconds reconnect_maximum{500};

    /// Clock drift allowed for: `ttl * drift_factor + drift_minimum` is taken off every validity.
    /// (As in the Redlock algorithm.) A lock with a ttl of which this leaves nothing is refused.
    /// Allowed: 0 to 0.5, and 0 to 1 s.
    double drift_factor = 0.01;
    std::chrono::milliseconds drift_minimum{2};

    /// A server that restarts may have forgotten the locks that it had granted. So one that has been
    /// up for less than this grants none: it is `instance_state::quarantined` until every lock that
    /// it can have granted before has ended. To be no shorter than the longest ttl that anybody uses
    /// on these instances; locks of this client with a longer one are refused. How long it has been up
    /// is what its wall clock says, in whole seconds, less one; if that clock is set forward meanwhile,
    /// the quarantine ends too early. A server that does not tell is quarantined after each connection.
    ///
    /// An address may also come to mean another server (DNS, a replaced machine), which knows nothing of
    /// these locks. So a server whose `run_id` is not the one that this client last saw at the address
    /// grants none for this long from then on, however long it has been up. A client that is made after
    /// the change cannot notice it: let a server that replaces another one start after the other one has
    /// stopped. Behind a proxy that hides restarts (it answers `INFO` itself), or one that balances between
    /// several servers, this protects nothing, or the instance is quarantined at every change: give
    /// the servers themselves as instances.
    ///
    /// 0 = never; unset = 10 s (the default ttl) for three instances and more, 0 for less, where it
    /// cannot help. Allowed: 0 to 24 h. With
    /// fencing, a second at least: for so long a server that has lost its last writes may repeat a fence.
    std::optional<std::chrono::milliseconds> restart_quarantine{};

    /// A replica that is promoted may lack the last locks that its former master had granted, since replication is
    /// asynchronous. So a server that was a replica before, and is now named by Sentinels or is the master of some
    /// slots of a cluster, grants no lock until every lock that the former master can have granted has ended:
    /// for this long, counted from the time when the last client can have noticed the failover. It extends and
    /// releases meanwhile. To be no shorter than the longest ttl that anybody uses on these instances; locks of this
    /// client with a longer one are refused.
    ///
    /// Sentinels tell since when a server is the master. In a cluster nobody does: there the time counts from when this
    /// client first sees the promoted master, so a new client waits for this long before its first lock there,
    /// until that server is restarted.
    ///
    /// What remains: a client that is cut off from the Sentinels, together with the old master, can go on taking
    /// locks there. Set `min-replicas-to-write 1` and a small `min-replicas-max-lag` on the servers, and such a
    /// master stops granting.
    ///
    /// 0 = never; unset = 10 s (the default ttl), or `restart_quarantine` if that is longer. Allowed: 0 to 24 h.
    std::optional<std::chrono::milliseconds> failover_quarantine{};

    /// Commands that may be in flight to one instance: a bound for the memory that they take. The client keeps fewer in
    /// flight where more would only wait in the server's queue. Releases and attempts to acquire beyond that wait in the
    /// client, in the order in which they came, releases before attempts. Renewals do not wait. Beyond this bound they fail,
    /// and are tried again.
    /// Allowed: 1 to 16,777,216.
    std::size_t max_in_flight = 65536;

    /// The size of the longest reply that is read from an instance, in bytes; a connection with a longer one
    /// ends, and its `instance_info::reason` says so. It bounds the memory that a faulty server can take.
    /// Replies are short (the longest is that to `INFO server`, or has a key's name). Allowed: 131,072 to
    /// 1,073,741,824.
    std::size_t max_reply_size = std::size_t{16} << 20U;

    /// Adds a strand: then any thread may start any operation, emit any cancellation and destroy
    /// any lease. Otherwise all that must happen on the client's executor, one thread at a time; two threads
    /// at once end the program, with a message on stderr. (That is noticed where operations begin and where
    /// the client calls handlers, but not everywhere.)
    ///
    /// `use_future` needs it, since the thread that waits is not the one that runs the context. A coroutine that
    /// something else cancels (`cancel_after`, `||`) then has to run on a strand; or Asio may cancel it on one
    /// thread while it goes on on another, and it may hang.
    bool thread_safe = false;

    /// How long `client::close()`, or a destroyed client in the background, waits for releases that
    /// have not been answered. Allowed: 0 to 5 min.
    std::chrono::milliseconds close_timeout{2000};

    /// A configuration with these instances and the defaults for all else. Throws `config_error`.
    static config from_uris(std::vector<std::string> uris);

    /// Reads a JSON object whose members are named like the fields above, durations as
    /// `<name>_ms` with a number of milliseconds: `{"instances": ["redis://..."],
    /// "instance_timeout_ms": 100}`. An instance may also be an object, `{"uri": "redis://...", "replicas_acked": 1}`.
    /// Throws `config_error`. Its `field()` is the JSON pointer of what is wrong, and its text says what was expected there.
    /// If the text is not JSON, `field()` is empty, and the text says at which line and column. Unknown members are errors, and
    /// so are members that are given twice.
    static config from_json(std::string_view text);

    /// Throws `config_error`, which names the field, its value and what is allowed.
    void validate() const;
};

}  // namespace colock

#endif
