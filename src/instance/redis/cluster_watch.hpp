// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_CLUSTER_WATCH_HPP
#define COLOCK_INSTANCE_REDIS_CLUSTER_WATCH_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "instance/redis/address.hpp"
#include "instance/redis/cluster_map.hpp"
#include "instance/redis/connection.hpp"
#include "instance/redis/dialog.hpp"
#include "platform/fork.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::instance::redis {

/// A node that can report a map.
struct map_source {
    address where;
    bool is_required = false;  ///< It must be queried, even if another node's map is enough.
};

/// Receives the maps of a cluster.
class map_observer {
public:
    /// Starts a sweep. Returns the nodes to query, the best first. A node may be listed twice.
    virtual std::vector<map_source> begin_sweep() = 0;
    /// Handles a map. Returns whether it is enough.
    virtual bool on_map(const address& from, cluster_map map) = 0;
    /// The node could not be queried. The reason is for display.
    virtual void on_no_map(const address& from, const std::string& reason) = 0;
    virtual void end_sweep() = 0;

protected:
    ~map_observer() = default;
};

/// Queries the nodes of a cluster for its map, one after the other, until the observer has enough. A sweep
/// runs at the start, every ten seconds, and after `refresh`. Only one sweep runs at a time. Any number of
/// calls during a sweep cause one more sweep after it.
///
/// Thread-safety: distinct objects safe, shared objects unsafe.
class cluster_watch final : public std::enable_shared_from_this<cluster_watch> {
public:
    /// The usual and the shortest interval between two sweeps.
    static constexpr core::milliseconds usual_interval{10'000};
    static constexpr core::milliseconds shortest_interval{20};

    /// `seed` feeds the jitter of the retries.
    cluster_watch(const connection_settings& settings, const core::backoff& retry,
                  std::uint64_t seed, const boost::asio::any_io_executor& executor,
                  map_observer& observer);

    void start();
    /// Stops permanently. Idempotent.
    void stop();
    /// Stops, and drops the observer without further calls.
    void forget() noexcept;
    /// Requests a sweep, because there may be a new map.
    void refresh();
    /// If `urgent`, sweeps follow at short intervals. Set while some slots have no serving owner.
    void set_urgent(bool urgent) noexcept { urgent_ = urgent; }

private:
    boost::asio::awaitable<void> keep_asking();
    boost::asio::awaitable<void> ask_all();
    boost::asio::awaitable<std::optional<cluster_map>> ask(address whom);
    boost::asio::awaitable<std::optional<cluster_map>> ask_for_slots(std::shared_ptr<dialog> node,
                                                                     address whom);
    boost::asio::awaitable<void> rest(core::duration time, bool may_be_cut_short);
    [[nodiscard]] bool over() const noexcept { return stopped_ || process_.is_inherited(); }

    platform::process_mark process_;
    connection_settings settings_;
    core::backoff retry_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    map_observer* observer_;
    boost::asio::steady_timer timer_;
    std::shared_ptr<dialog> dialog_;
    std::string last_reason_;
    std::size_t tries_ = 0;  // Since the last sweep without urgency.
    bool stopped_ = false;
    bool urgent_ = true;
    bool wanted_ = false;  // A new map is requested.
};

}  // namespace colock::instance::redis

#endif
