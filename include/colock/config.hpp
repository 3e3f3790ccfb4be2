// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CONFIG_HPP
#define COLOCK_CONFIG_HPP

#include <colock/detail/export.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock {
inline namespace v1 {

class observer;

/// The configuration of a client: the instances that vote, and how the client communicates with them.
/// Most programs set `instances` and nothing else. It is an aggregate.
///
/// docs/configuration.md has the same fields as a table, with recommendations.
///
/// @note GCC 12: store a configuration with braces in a variable. A temporary one in a `co_await` expression is destroyed
/// twice. The result of a function is destroyed once.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
struct COLOCK_EXPORT config {
    /// The instances that vote, one URI each. 1 to 64 of them, each a different server.
    /// - `redis://[user[:password]@]host[:port][/database]` is a server. The port is 6379 and the
    ///   database is 0 by default.
    /// - `rediss://...` is a server over TLS. Its query parameters are:
    ///   - `ca_file`, `cert_file` and `key_file` are the paths of PEM files.
    ///   - `verify` is `peer` (the default) or `none`. With `peer`, the host's name is checked.
    ///   - `tls_host` is the name that must be in the certificate, if it is not the host.
    /// - `valkey://` means the same as `redis://`, and `valkeys://` the same as `rediss://`.
    /// - `redis+sentinel://[user[:password]@]host[:port],host[:port],.../master-name[/database]` is the
    ///   master that a majority of these Sentinels names. The client follows it through failovers.
    ///   - Give all Sentinels. Their port is 26379 by default.
    ///   - If a name has several addresses, each counts as one Sentinel. One IPv4 and one IPv6 address
    ///     are one Sentinel. If a later look-up returns fewer addresses, the majority stays as it was.
    ///   - User and password are those of the master. The query parameter `sentinel_user` is the user
    ///     at the Sentinels. Their password is `sentinel_password`, `sentinel_password_file` or
    ///     `sentinel_password_env`.
    /// - `rediss+sentinel://...` is the same over TLS. Set `sentinel_tls=no` if only the servers use TLS.
    /// - `redis+cluster://[user[:password]@]host[:port],host[:port],...` is a Redis Cluster, and
    ///   `rediss+cluster://...` is one over TLS.
    ///   - Give several of its nodes.
    ///   - Each lock is acquired at the master of its key's slot. Locks whose names have the same hash
    ///     tag are at the same master.
    ///   - The remote queue, fencing, `queue_order::fifo`, a `shared_mutex` and a `semaphore` need a name without a
    ///     `}`, or a name with a hash tag.
    /// - `unix:///path/of/socket?db=0&user=...&password=...` is a server behind a UNIX socket.
    /// - `memory://name` is a lock server inside this process, for tests and development. Clients of one
    ///   process that use the same name share it.
    ///
    /// All servers accept these query parameters:
    /// - `password_file` replaces the password. It is the path of a file whose first line is the
    ///   password. The client reads the file for each connection.
    /// - `password_env` replaces the password, too. It is the name of an environment variable. The client
    ///   reads the variable once, when it is created.
    /// - `replicas_acked=K` lets a lock count as granted only if K replicas have acknowledged it. K is 1 to
    ///   1,000. The client asks with `WAIT`. The replicas have a third of `instance_timeout`, or of
    ///   `silence_timeout` if that is shorter. If fewer acknowledge, the lock is released again. A
    ///   failover is then less likely to lose a lock. It is not impossible, because a replica that has
    ///   not acknowledged may be promoted.
    ///
    /// A lock is held if a quorum has granted it: `size() / 2 + 1` of the instances. All programs that
    /// exclude each other need the same instances, in any order. Otherwise two quorums may have no
    /// instance in common.
    ///
    /// One server has one vote. Other names, addresses, sockets, users and database numbers do not make
    /// it another server. If two URIs differ in nothing else, `validate` rejects them. If only the
    /// servers show it, the instance that connects later is down, and its `instance_info::reason` says
    /// why. The client recognizes a server by the `run_id` that `INFO` reports. For a user without the
    /// right to use `INFO`, the client can only compare addresses.
    std::vector<std::string> instances{};

    /// Precedes each resource, so that both together are the key on the servers. Empty by default, as in
    /// other Redlock implementations. All programs that exclude each other need the same prefix.
    std::string key_prefix{};

    /// Says who holds a lock. It is a part of each token, behind a `@`, so `GET key` in redis-cli shows it. The
    /// error of a waiter shows it if the server reports the holder: see docs/errors.md. It has no effect on the
    /// locks, and programs that exclude each other may have different labels, or none. Empty by default. Every
    /// user of the servers can read it, so keep secrets out of it.
    ///
    /// - `%h` stands for the host name, up to its first dot.
    /// - `%p` stands for the process id.
    /// - `%%` stands for a percent sign.
    ///
    /// They are replaced once, when the client is created. A good choice is `%h:%p`.
    ///
    /// Allowed: up to 64 characters from `!` to `~` in ASCII, so no spaces. The limit applies again after the
    /// replacement, where `%p` counts as 7 characters or more. If the host name is too long, the constructor of
    /// `client` throws `config_error`.
    std::string label{};

    /// The limit for one vote. A vote that takes longer counts as failed. This also limits how long a
    /// silent instance delays an attempt that needs its vote. Allowed: 1 ms to 1 min.
    std::chrono::milliseconds instance_timeout{250};

    /// The limit for resolving the host name. It applies again, for each address, to the connect, the TLS
    /// handshake and the login together. Allowed: 1 ms to 5 min.
    std::chrono::milliseconds connect_timeout{1000};

    /// A connection is closed and made again if no data arrives for this time. The same happens if a
    /// command stays unanswered for this time, even though other data arrives. If the event loop was
    /// blocked, the second limit counts from the end of the blockage. An idle connection sends a `PING`
    /// at half of this interval. Allowed: 10 ms to 1 h.
    std::chrono::milliseconds silence_timeout{2000};

    /// The first wait between two tries to connect. The waits double, with jitter. Allowed: 1 ms to
    /// `reconnect_maximum`.
    std::chrono::milliseconds reconnect_initial{20};
    /// The longest wait between two tries to connect. Allowed: `reconnect_initial` to 1 h.
    std::chrono::milliseconds reconnect_maximum{500};

    /// The clock drift that is allowed for, as a share of the ttl. As in the Redlock algorithm, each
    /// validity is shortened by `ttl * drift_factor + drift_minimum`. If nothing is left of a ttl, the
    /// lock is rejected. Allowed: 0 to 0.5.
    double drift_factor = 0.01;
    /// The constant part of the allowed clock drift: see `drift_factor`. Allowed: 0 to 1 s.
    std::chrono::milliseconds drift_minimum{2};

    /// The time after a server's start during which the client ignores its grants. A server that restarts
    /// may have lost the locks that it had granted. It is therefore `instance_state::quarantined` until all
    /// of them have ended. Renewals and releases still work there, and renewals restore missing keys.
    ///
    /// Must be at least the longest ttl that any program uses on these instances. Locks of this client
    /// with a longer ttl are rejected, unless this setting is 0. Set it to 0 only if all servers persist
    /// every write, or for a trial. With one instance, set it to your longest ttl: see docs/servers.md. With
    /// fencing, set it to at least 1 s, because a server that has lost its last writes may repeat a fence
    /// for that time.
    ///
    /// The uptime comes from the server's wall clock, rounded down by up to one second. If that clock is
    /// set forward during a quarantine, the quarantine ends too early. A server that does not report its
    /// uptime is quarantined after each connection.
    ///
    /// The same applies if another server answers at the address, as after a change of DNS. The client
    /// recognizes this by the `run_id`. It quarantines the new server from that moment, however long it
    /// has been up. A client that is created after the change cannot detect it. So start a replacement
    /// only after the old server has stopped.
    ///
    /// Give the servers themselves as instances. A proxy may answer `INFO` itself, or balance between
    /// servers. Then there is no protection, or the instance is quarantined at every change.
    ///
    /// Allowed: 0 to 24 h, and 0 means never. If it is not set, it is 10 s for three or more instances,
    /// and 0 for fewer. 10 s is the default ttl.
    std::optional<std::chrono::milliseconds> restart_quarantine{};

    /// The time after a failover during which the client ignores the grants of a promoted server.
    /// Replication is asynchronous, so a promoted replica may lack the last locks of the former master.
    /// This applies only to a former replica that Sentinels name, or that is the master of some slots of a
    /// cluster. Renewals and releases still work there.
    ///
    /// Must be at least the longest ttl that any program uses on these instances. If an instance has
    /// Sentinels or is a cluster, locks of this client with a longer ttl are rejected, unless this setting
    /// is 0.
    ///
    /// With Sentinels, the time counts from when the last client can have detected the failover. The
    /// Sentinels report since when a server has been the master. A cluster does not report this. There the
    /// time counts from when this client first sees the promoted master. A new client therefore waits for
    /// this time before its first lock there, until that server is restarted.
    ///
    /// One gap remains. A client that is cut off from the Sentinels, together with the old master, can
    /// continue to acquire locks there. Set `min-replicas-to-write 1` and a small `min-replicas-max-lag`
    /// on the servers. Such a master then stops granting locks.
    ///
    /// Allowed: 0 to 24 h, and 0 means never. If it is not set, it is 10 s, or `restart_quarantine` if
    /// that is longer. 10 s is the default ttl.
    std::optional<std::chrono::milliseconds> failover_quarantine{};

    /// The limit for the commands in flight to one instance, and so for the memory that they need. The
    /// client keeps fewer in flight if more would only wait in the server's queue. Further releases and
    /// attempts wait in the client, first come, first served, releases before attempts. Renewals do not
    /// wait. Beyond this limit they fail, and are tried again. Allowed: 1 to 16,777,216.
    std::size_t max_in_flight = 65536;

    /// The size of the longest reply that the client reads from an instance, in bytes. A connection with
    /// a longer reply ends, and its `instance_info::reason` says so. This limits the memory that a faulty
    /// server can use. Replies are short: the longest are that to `INFO server`, and those with a
    /// key's name. Allowed: 131,072 to 1,073,741,824.
    std::size_t max_reply_size = std::size_t{16} << 20U;

    /// Lets several threads use the client. Any thread may then start operations, emit cancellations and
    /// destroy leases. The client works on a strand of its own.
    ///
    /// By default, a client, its locks and its leases may be used only from the client's executor, by one
    /// thread at a time. The client detects most violations. It then prints a message to stderr and calls
    /// `std::abort()`. It looks only where operations begin and where it calls handlers.
    ///
    /// `use_future` needs this mode, because the thread that waits does not run the context. In this
    /// mode, a coroutine that is cancelled from outside (`cancel_after`, `||`) must run on a strand.
    /// Otherwise Asio may cancel it on one thread while it runs on another, which can make it hang. See
    /// docs/threads.md.
    bool thread_safe = false;

    /// The longest time for which `client::close()` waits for holders of lost leases, and for releases.
    /// It also limits the work of a destroyed client in the background. Allowed: 0 to 5 min.
    std::chrono::milliseconds close_timeout{2000};

    /// Receives what happens in the client, for logs, traces and metrics: see `colock::observer`. Null by default,
    /// and then it costs nothing. Several clients may share one.
    std::shared_ptr<colock::observer> observer{};

    /// A blockage of the event loop is reported by `observer::on_blocked` if it is longer than this. The client
    /// notices it with a timer that runs four times in this interval. So a blockage that is up to a quarter longer
    /// may go unnoticed. Without an observer there is no such timer. Allowed: 0, or 10 ms to 1 h. 0 means never.
    std::chrono::milliseconds blocked_threshold{100};

    /// Returns a configuration with these instances and the defaults for everything else.
    ///
    /// - Exception safety: Throws `config_error`, as `validate` does.
    static config from_uris(std::vector<std::string> uris);

    /// Reads a JSON object whose members are named like the fields above. Durations end in `_ms`, and
    /// count milliseconds. There is no member for `observer`. An example is
    /// `{"instances": ["redis://..."], "instance_timeout_ms": 100}`.
    /// An instance may also be an object, such as `{"uri": "redis://...", "replicas_acked": 1}`.
    ///
    /// - Exception safety: Throws `config_error`. Its `field()` is the JSON pointer of the fault, and its
    ///   text contains the expected value. If the input is not JSON, `field()` is empty, and the text
    ///   contains the line and the column. Unknown members are errors, and so are members that are given
    ///   twice.
    static config from_json(std::string_view text);

    /// Checks the configuration, without a connection to any server.
    ///
    /// - Exception safety: Throws `config_error`, which names the field, its value, the limit and the cure.
    void validate() const;
};

}  // namespace v1
}  // namespace colock

#endif
