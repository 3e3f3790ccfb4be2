// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_SENTINEL_HPP
#define COLOCK_INSTANCE_REDIS_SENTINEL_HPP

#include "instance/instance.hpp"
#include "instance/redis/agreed_master.hpp"
#include "instance/redis/known_sentinels.hpp"
#include "instance/redis/name_watch.hpp"
#include "instance/redis/node.hpp"
#include "instance/redis/redis_instance.hpp"
#include "instance/redis/retired_nodes.hpp"
#include "instance/redis/sentinel_watch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

/// The topology of a master that Sentinels monitor. Each command goes to the server that a majority of the
/// Sentinels names, if that server confirms that it is a master.
///
/// While no majority is reachable, the current master stays in use. If one Sentinel names another master, the
/// client leaves the current one until a majority agrees again. A client cannot detect that it is cut off
/// from the Sentinels together with the former master. The server's `min-replicas-to-write` limits that case.
/// A host of the URI may be a name of several Sentinels: see `known_sentinels`.
class sentinel final : public instance,
                       private node_observer,
                       private sentinel_observer,
                       private name_observer {
public:
    sentinel(std::size_t index, const sentinel_address& to, const redis_settings& settings,
             std::uint64_t seed, const boost::asio::any_io_executor& executor,
             instance_observer& observer);
    sentinel(const sentinel&) = delete;
    sentinel& operator=(const sentinel&) = delete;
    ~sentinel() override;

    void start() override;
    void stop() override;
    void send(const std::shared_ptr<const batch>& commands, core::time_point now) override;
    [[nodiscard]] bool ready() const noexcept override { return master_ && master_->ready(); }
    [[nodiscard]] bool takes_commands(core::time_point now) const override {
        return master_ && master_->takes_commands(now);
    }
    [[nodiscard]] bool answers_since(core::time_point then) const override {
        return master_ && master_->answers_since(then);
    }
    [[nodiscard]] std::size_t room() const noexcept override {
        return ready() ? master_->room() : unlimited;
    }
    [[nodiscard]] bool starting() const noexcept override;
    [[nodiscard]] std::uint64_t keeper_id() const noexcept override {
        return master_ ? master_->keeper_id() : 0;
    }
    [[nodiscard]] status snapshot() const override;

private:
    /// A Sentinel that is queried.
    struct member {
        std::size_t host;  ///< The number of its host in the URI.
        std::shared_ptr<sentinel_watch> watch;
        std::optional<named_master> opinion{};
        bool heard = false;  ///< It has replied or failed at least once.
    };

    // From the lookups and the Sentinels.
    void on_resolved(std::size_t index, const resolver::result& found) override;
    void on_identity(const sentinel_watch& from, const std::string& address,
                     const std::string& id) override;
    void on_opinion(const sentinel_watch& from,
                    const std::optional<named_master>& opinion) override;
    void on_unreachable(const sentinel_watch& from) override;
    void on_failover_message() override;
    [[nodiscard]] member* member_of(const sentinel_watch& from);
    void ask_all_known();
    [[nodiscard]] member* asked_as(const known_sentinel& one);
    [[nodiscard]] std::vector<std::optional<named_master>> opinions();
    void end_start();
    [[nodiscard]] node_info not_asked(std::size_t host) const;
    void follow();
    void use(const std::optional<named_master>& next);
    void ask_sentinels();
    void update_urgency();

    // From the master.
    admission admit(const node& from, const server_facts& facts) override;
    void on_disconnected(const node& from) override;
    void on_state_change(const node& from) override;
    void on_redirected(const node& /*from*/, const submission& /*command*/,
                       const resp::value& /*error*/) override {}  // Only in a cluster.
    void on_pending() override { observer_.on_pending(index_); }
    void on_accepting() override { observer_.on_accepting(index_); }
    void on_key_changed(std::string_view key) override { observer_.on_key_changed(index_, key); }
    void on_all_keys_changed() override { observer_.on_all_keys_changed(index_); }

    std::size_t index_;
    sentinel_address to_;
    redis_settings settings_;
    std::uint64_t random_;
    boost::asio::any_io_executor executor_;
    instance_observer& observer_;

    std::vector<std::shared_ptr<name_watch>> names_;  // Of the hosts of the URI.
    known_sentinels known_;
    std::atomic<bool> stopped_{false};
    bool starting_ = true;

    mutable std::mutex mutex_;  // Protects the members that `snapshot` reads.
    std::vector<member> members_;
    // Why the lookup of each host failed. Empty before its first lookup.
    std::vector<std::optional<std::string>> unresolved_;
    std::shared_ptr<node> master_;
    retired_nodes retired_;
    std::optional<named_master> named_;  // The master that a majority has named.
    std::optional<std::string> last_run_id_;
};

}  // namespace colock::instance::redis

#endif
