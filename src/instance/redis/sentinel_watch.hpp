// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_SENTINEL_WATCH_HPP
#define COLOCK_INSTANCE_REDIS_SENTINEL_WATCH_HPP

#include "core/backoff.hpp"
#include "instance/instance.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/agreed_master.hpp"
#include "instance/redis/connection.hpp"
#include "instance/redis/dialog.hpp"
#include "platform/fork.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace colock::instance::redis {

class sentinel_watch;

/// Receives the replies of a Sentinel.
class sentinel_observer {
public:
    /// A Sentinel was reached at this address and has reported this ID. Empty if it reports none.
    virtual void on_identity(const sentinel_watch& from, const std::string& address,
                             const std::string& id) = 0;
    /// The Sentinel names this master. None if it names none or is unreachable.
    virtual void on_opinion(const sentinel_watch& from,
                            const std::optional<named_master>& opinion) = 0;
    /// The connection has ended or could not be opened.
    virtual void on_unreachable(const sentinel_watch& from) = 0;
    /// The Sentinel has sent a failover message. The other Sentinels may have new answers too.
    virtual void on_failover_message() = 0;

protected:
    ~sentinel_observer() = default;
};

/// Queries one Sentinel periodically for the current master, and immediately after a failover message. See
/// https://redis.io/docs/latest/develop/reference/sentinel-clients/
///
/// Thread-safety: one thread at a time, except for `snapshot`.
class sentinel_watch final : public std::enable_shared_from_this<sentinel_watch> {
public:
    /// The usual interval, the interval while no master is usable, and the shortest interval between two
    /// queries. The shortest one applies to any number of messages.
    static constexpr core::milliseconds usual_interval{1000};
    static constexpr core::milliseconds urgent_interval{100};
    static constexpr core::milliseconds shortest_interval{20};

    /// Watches the Sentinel `to`, which is at one of these numeric addresses. `seed` feeds the jitter of
    /// reconnects.
    sentinel_watch(address to, std::vector<std::string> addresses, std::string master_name,
                   const connection_settings& settings, const core::backoff& reconnect,
                   std::uint64_t seed, const boost::asio::any_io_executor& executor,
                   sentinel_observer& observer);

    void start();
    /// Stops permanently. Idempotent.
    void stop();
    /// Stops, and drops the observer without further calls.
    void forget() noexcept;
    [[nodiscard]] const std::vector<std::string>& addresses() const noexcept { return addresses_; }
    /// Sets the addresses for the next connection.
    void look_at(const std::vector<std::string>& addresses) { addresses_ = addresses; }
    /// Sends the query now, if there is a connection.
    void ask_now() noexcept;
    /// Sets whether queries are sent at the urgent interval.
    void set_urgent(bool urgent) noexcept { urgent_ = urgent; }

    /// Thread-safe.
    [[nodiscard]] node_info snapshot() const;

private:
    boost::asio::awaitable<void> keep_asking();
    boost::asio::awaitable<std::string> find_and_ask();
    boost::asio::awaitable<std::string> ask(std::shared_ptr<dialog> sentinel,
                                            const std::string& numeric_host);
    std::optional<named_master> read(const dialog::answer& answer);
    void tell(const std::optional<named_master>& opinion);
    void change_state(state now, const std::string& reason);

    platform::process_mark process_;
    address to_;
    std::vector<std::string> addresses_;
    std::string master_name_;
    connection_settings settings_;
    core::backoff reconnect_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    sentinel_observer* observer_;
    boost::asio::steady_timer backoff_timer_;
    std::shared_ptr<dialog> dialog_;
    std::size_t tries_ = 0;
    bool stopped_ = false;
    bool urgent_ = true;

    mutable std::mutex status_mutex_;
    node_info status_;
};

}  // namespace colock::instance::redis

#endif
