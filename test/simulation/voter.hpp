// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_VOTER_HPP
#define COLOCK_TEST_SIMULATION_VOTER_HPP

#include "simulation/options.hpp"
#include "simulation/server.hpp"
#include "simulation/time.hpp"
#include "simulation/world.hpp"

#include "instance/redis/key_slot.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// An instance, which is one vote. It is a server, a master with replicas that Sentinels monitor, or a
/// cluster.
///
/// Replication is asynchronous. Each write reaches each replica after a delay, unless the replica is promoted
/// first. A server that should not be used may continue to grant until it learns this.
class voter {
public:
    static constexpr std::size_t sentinel_count = 3;
    static constexpr std::size_t master_count = 3;  // Of a cluster.
    static constexpr std::size_t slot_count = 4;    // Of a cluster.
    /// The interval of a client's queries to a Sentinel. The second constant is the time within which a
    /// client detects a failover. Both are a fifth of the values in `redis::sentinel`, because ttls are
    /// shorter here too.
    static constexpr duration asking_interval = 200ms;
    static constexpr duration noticed_within = 2 * asking_interval;

    voter(world& w, std::size_t index, const deployment& d);
    voter(const voter&) = delete;
    voter& operator=(const voter&) = delete;

    [[nodiscard]] const deployment& kind() const { return kind_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] server& node(std::size_t i) { return *nodes_[i]; }
    [[nodiscard]] std::size_t slot_of(std::string_view key) const {
        return nodes_.front()->slot_of(key);
    }
    /// Returns the node that clients should use for a slot.
    [[nodiscard]] std::size_t owner_of(std::size_t slot) const { return owners_[slot]; }
    /// Returns the server with the key. While its slot moves, either node may have it.
    [[nodiscard]] server& server_of(const std::string& key) {
        server& owner = *nodes_[owners_[slot_of(key)]];
        const bool has_moved = moving_ && moving_->slot == instance::redis::key_slot(key) &&
                               !owner.holds_anything(key);
        return has_moved ? *nodes_[moving_->to] : owner;
    }
    /// Returns whether the node is about to take over the slot of the key.
    [[nodiscard]] bool is_importing(std::size_t node, std::string_view key) const {
        return moving_ && moving_->to == node && moving_->slot == instance::redis::key_slot(key);
    }
    /// Returns the identity of the cluster. The second function returns its epoch.
    [[nodiscard]] std::uint64_t cluster() const { return cluster_; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    /// Returns how many replicas have all of the node's writes so far.
    [[nodiscard]] std::size_t replicas_of(std::size_t node, std::uint64_t written) const;

    /// A Sentinel's view: which node is the master, and since when.
    struct opinion {
        std::size_t node = 0;
        true_time since{};
        true_time cut_until{};  ///< Gets no messages before.
    };
    [[nodiscard]] const opinion& sentinel(std::size_t i) const { return sentinels_[i]; }

    /// Called when all connections to a node break.
    std::function<void(std::size_t node)> on_down;
    /// Called when a Sentinel announces a failover.
    std::function<void(std::size_t sentinel)> on_failover_message;

    // Faults.

    enum class former { dead, alive };
    /// Promotes a replica of the node to master. With Sentinels, a node that stays alive continues as a
    /// master until it is demoted. The node returns as a replica after `back_after`. Nothing happens if there
    /// is no replica.
    void fail_over(std::size_t node, former what, duration back_after);
    void move_slot(std::size_t slot, std::size_t to);
    /// Moves the slot of this key slowly, key by key.
    void migrate(const std::string& key, std::size_t to);
    /// Lets another cluster answer at the addresses of the nodes. Each slot is at another address. The new
    /// epoch is higher by `epochs`.
    void become_another_cluster(std::uint64_t epochs);
    /// Stops replication until `until`.
    void cut_replication(true_time until);
    /// Freezes the view of this Sentinel until `until`.
    void cut_sentinel(std::size_t i, true_time until);

    // For the checkers. These functions use the current server for the key.

    [[nodiscard]] bool holds(const std::string& key, const std::string& token) {
        return server_of(key).holds(key, token);
    }
    /// Returns whether readers may enter next to a writer that is being downgraded. The current node has made
    /// it a reader, or does not have it. A former master that is still alive may also have made it a reader.
    [[nodiscard]] bool is_open_beside(const std::string& key, const std::string& writer,
                                      const std::string& reader) {
        return !holds(key, writer) || std::ranges::any_of(nodes_, [&](const auto& one) {
            return one->is_master() && one->holds(key, reader);
        });
    }
    [[nodiscard]] bool holds_anything(const std::string& key) {
        return server_of(key).holds_anything(key);
    }
    [[nodiscard]] std::string holder_of(const std::string& key) {
        return server_of(key).holder_of(key);
    }
    [[nodiscard]] true_time lasts_until(const std::string& key, const std::string& token = {}) {
        return server_of(key).lasts_until(key, token);
    }
    /// Returns the earliest time at which a client may consider the quarantine over.
    [[nodiscard]] true_time quarantined_until(const std::string& key) const;
    /// Returns the time from which all clients consider the quarantine over. A client that reaches two
    /// Sentinels counts from the later of their two reports.
    [[nodiscard]] true_time quarantined_by_some_until(const std::string& key) const;
    [[nodiscard]] slot_set slots_of(const std::string& key, const std::string& token) {
        return server_of(key).slots_of(key, token);
    }
    /// Returns the slots that it would grant to any client now.
    [[nodiscard]] slot_set free_slots(const std::string& key, std::uint32_t limit) {
        return could_answer(key) ? server_of(key).free_slots(key, limit) : 0;
    }
    /// Returns whether it would grant the key to any client now.
    [[nodiscard]] bool could_grant(const std::string& key) {
        return could_answer(key) && !holds_anything(key);
    }
    /// Returns whether it would execute any client's acquire now.
    [[nodiscard]] bool could_answer(const std::string& key) {
        constexpr duration rounding =
            1200ms;  // Clients may consider the quarantine longer by this much.
        const server& asked = server_of(key);
        return asked.up() && asked.is_master() && asked.is_in_order() &&
               asked.paused_until() <= world_.now() &&
               (!quarantined() || quarantined_by_some_until(key) + rounding <= world_.now());
    }
    /// Returns when the last failover happened.
    [[nodiscard]] true_time failed_over() const { return failed_over_; }
    [[nodiscard]] bool rolled_back() const;
    /// Returns whether it ever lost data that it had stored.
    [[nodiscard]] bool has_lost_data() const;
    /// Returns when it last lost data, or when its clock was last set forward.
    [[nodiscard]] true_time forgot_at() const;
    /// Returns the content of a name that is run once.
    [[nodiscard]] stored_result result_of(const std::string& key) {
        return server_of(key).result_of(key);
    }
    [[nodiscard]] duration set_back() const;
    [[nodiscard]] const std::string& who() const { return name_; }
    /// As for `server`.
    std::function<void(const std::string& token)> on_destroyed;
    std::function<void(const std::string& token)> on_forgotten;
    std::function<void(const std::string& token)> on_granted;
    /// As for `server`, with the name of the server.
    std::function<void(const request& what, const stored_record& before, const stored_record& after,
                       const std::string& by)>
        on_record;
    /// As for `server`. `counts` is true if clients should use this server.
    std::function<void(const request& what, const core::vote& answer, const result_change& change,
                       bool counts)>
        on_result;

private:
    void add(std::unique_ptr<server> node, std::size_t master);
    void replicate(std::size_t from);
    void copy_to(std::size_t replica, std::size_t from, true_time arrival);
    void lose(std::size_t former_master, std::size_t promoted);
    void hear_of(std::size_t sentinel, std::size_t node);
    void move_next_key(true_time end);
    void finish_migration();
    [[nodiscard]] bool quarantined() const { return world_.faults().quarantine > duration::zero(); }

    struct replication {
        std::size_t master = 0;     // Of this node. A master has its own index.
        std::uint64_t written = 0;  // The master's writes that it has received.
        true_time last_arrival{};
        std::uint64_t link = 0;  // Grows with each change of the master.
        true_time promoted_at{};
    };

    /// A slot that moves. Its number is that of a real cluster.
    struct migration {
        std::string key;
        std::size_t slot = 0;
        std::size_t from = 0;
        std::size_t to = 0;
    };

    world& world_;
    std::string name_;
    deployment kind_;
    std::vector<std::unique_ptr<server>> nodes_;
    std::vector<replication> replication_;  // Of each node.
    std::vector<std::size_t> owners_;       // By slot.
    std::optional<migration> moving_;
    std::uint64_t cluster_ = 1;
    std::uint64_t epoch_ = 1;
    true_time another_since_{};
    std::array<opinion, sentinel_count> sentinels_{};
    true_time replication_cut_until_{};
    std::uint64_t terms_ = 0;
    true_time failed_over_{};  // Default: never.
};

}  // namespace colock::simulation

#endif
