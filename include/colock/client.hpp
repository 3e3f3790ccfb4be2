#ifndef COLOCK_CLIENT_HPP
#define COLOCK_CLIENT_HPP

#include <colock/config.hpp>
#include <colock/detail/handlers.hpp>
#include <colock/error.hpp>
#include <colock/metrics.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/execution_context.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::detail {
class lock_side;
}

namespace colock {

/// Where the connection to an instance stands. Only a `ready` instance grants locks.
enum class instance_state {
    connecting,   ///< resolving, connecting, TLS, until the server's first answer
    probing,      ///< logging in, selecting the database, loading the scripts
    quarantined,  ///< restarted not long ago: extends and releases, but grants no new locks
    ready,        ///< answering commands
    down,         ///< not connected; it will be tried again
    closed,       ///< the client is closed
};

/// "connecting", "probing", "quarantined", "ready", "down" or "closed".
std::string_view to_string(instance_state state) noexcept;

/// One server process of an instance.
struct node_info {
    std::string address;
    std::string
        role;  ///< "master" (the server, or the master of some slots of a cluster) or "sentinel"
    instance_state state = instance_state::connecting;
    /// Why it is quarantined; else why it is, or last was, down. Empty if it never was.
    std::string reason;
};

/// One instance as the client sees it.
struct instance_info {
    std::string address;  ///< its URI without user, password and query
    instance_state state = instance_state::connecting;
    /// Why it is quarantined, by which setting, and for how many seconds more. Else why it is, or last was, down. For a
    /// cluster also which maps and entries of its nodes are ignored, and why. Empty if there is nothing to report.
    std::string reason;
    std::string version;            ///< the server's version, as it says; empty before the probe
    std::string run_id;             ///< the server process's own id; empty before the probe
    std::chrono::seconds uptime{};  ///< of the server, at the time of the probe
    std::size_t in_flight = 0;      ///< commands sent or about to be sent, not yet answered
    /// Beyond so many commands in flight, releases and attempts wait in the client: see `counters::waiting_to_send`. 0 in memory,
    /// and before the probe.
    std::size_t window = 0;
    /// From the sending of the latest batch of commands that is answered to its last answer.
    std::chrono::nanoseconds delay{};
    /// The end of its last quarantine, see `config::restart_quarantine`; `time_point::min()` if there
    /// was none.
    std::chrono::steady_clock::time_point quarantined_until =
        std::chrono::steady_clock::time_point::min();
    /// The servers that it consists of, as far as the client talks to them. None if it is in memory.
    std::vector<node_info> nodes{};
};

/// The instances, their connections, and everything that runs behind the locks made from it: the
/// timers, the watchdogs, releases that nobody awaits. Starts itself.
///
/// Keeps the executor's context busy until it is closed or destroyed.
///
/// A client that was moved from behaves as a closed one.
///
/// A client belongs to the process that made it. In a child, made by `fork`, every operation on it, on its locks
/// and on its leases fails at once with `forked`, no lease is valid, and destructors send nothing: the parent
/// goes on with the connections and the locks. A client that is made in the child works. (A child that goes on
/// with an execution context of its parent has to call the context's `notify_fork` before, as Asio demands, and
/// the parent too: else the two take each other's events.)
///
/// Thread-safety: distinct objects safe; shared objects unsafe unless `config::thread_safe`, which
/// makes all but construction, destruction and assignment safe.
class client {
public:
    using executor_type = boost::asio::any_io_executor;

    /// Starts connecting. Throws `config_error` if the configuration cannot work.
    client(executor_type executor, config configuration);

    /// The same with the context's executor.
    template <typename ExecutionContext>
        requires(std::convertible_to<ExecutionContext&, boost::asio::execution_context&>)
    client(ExecutionContext& context, config configuration)
        : client(executor_type(context.get_executor()), std::move(configuration)) {}

    client(client&& other) noexcept = default;
    client& operator=(client&& other) noexcept;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// Like `close`, but nobody waits: what is pending goes on in the background for
    /// `config::close_timeout` at most. Never blocks.
    ~client();

    /// The executor on which the client does its work and operations complete by default; the system executor
    /// if it was moved from.
    [[nodiscard]] executor_type get_executor() const noexcept;

    /// The state of each instance, in the order of `config::instances`. None if the client was moved from, or
    /// belongs to a parent process.
    [[nodiscard]] std::vector<instance_info> instances() const;

    /// What was done so far.
    [[nodiscard]] colock::counters counters() const;

    /// Ends everything: waiting acquires fail with `client_closed`, leases still held are announced
    /// lost (`client_closed`), pending releases are drained, connections closed.
    ///
    /// A lost lease keeps its lock until its holder lets go, since the holder may still be at work. A lease whose release waits
    /// to be sent is not lost.
    /// Closing waits for that, and for the releases, for `config::close_timeout` at most: until a quorum
    /// of instances, and each one that can be reached, has answered every release. A lock whose holder
    /// has not let go by then ends with its ttl; that is no error.
    ///
    /// - Handler signature: `void(colock::error)`.
    /// - Errors: `no_quorum` if after `config::close_timeout` there were releases that no quorum had
    ///   answered; those locks end with their ttl. `forked` in a child of the process that made the
    ///   client.
    /// - Cancellation: terminal, partial, total: completes at once with `operation_aborted`; closing
    ///   goes on.
    /// - Object lifetimes: the client may be moved or destroyed meanwhile.
    template <typename CompletionToken = boost::asio::deferred_t>
    auto close(CompletionToken&& token = {}) {
        return boost::asio::async_initiate<CompletionToken, void(error)>(close_initiation{host_},
                                                                         token);
    }

private:
    friend class detail::lock_side;

    struct close_initiation {
        using executor_type = client::executor_type;
        [[nodiscard]] executor_type get_executor() const noexcept { return executor_of(host); }
        template <typename Handler>
        void operator()(Handler&& handler) const {
            start_close(host,
                        detail::deliver_to(std::forward<Handler>(handler), this->get_executor()));
        }
        std::shared_ptr<runtime::asio_host> host;
    };

    static executor_type executor_of(const std::shared_ptr<runtime::asio_host>& owner) noexcept;
    static void start_close(const std::shared_ptr<runtime::asio_host>& owner,
                            detail::handler<> handler);

    std::shared_ptr<runtime::asio_host> host_;
};

}  // namespace colock

#endif
