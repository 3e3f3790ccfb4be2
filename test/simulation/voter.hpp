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

/// An instance, which is one vote: a server; or a master with replicas, watched by Sentinels; or a cluster.
///
/// Replication is asynchronous: each write reaches each replica after a while, unless the replica is promoted before. A
/// server that is not the one that is to be used may go on granting, if it does not know.
class voter {
public:
    static constexpr std::size_t sentinel_count = 3;
    static constexpr std::size_t master_count = 3;  // of a cluster
    static constexpr std::size_t slot_count = 4;    // of a cluster
    /// How often a client asks a Sentinel, and when it has noticed a failover: a fifth of what `redis::sentinel` has,
    /// as ttls are shorter here, too.
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
    /// The node that is to be used for a slot.
    [[nodiscard]] std::size_t owner_of(std::size_t slot) const { return owners_[slot]; }
    /// While its slot moves, the node that has the key.
    [[nodiscard]] server& server_of(const std::string& key) {
        server& owner = *nodes_[owners_[slot_of(key)]];
        const bool has_moved = moving_ && moving_->slot == instance::redis::key_slot(key) &&
                               !owner.holds_anything(key);
        return has_moved ? *nodes_[moving_->to] : owner;
    }
    /// Whether the slot of a key is about to be that node's.
    [[nodiscard]] bool is_importing(std::size_t node, std::string_view key) const {
        return moving_ && moving_->to == node && moving_->slot == instance::redis::key_slot(key);
    }
    /// Which cluster it is, and its epoch.
    [[nodiscard]] std::uint64_t cluster() const { return cluster_; }
    [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
    /// How many replicas know all that this node has written so far.
    [[nodiscard]] std::size_t replicas_of(std::size_t node, std::uint64_t written) const;

    /// What a Sentinel says: which node is the master, and since when.
    struct opinion {
        std::size_t node = 0;
        true_time since{};
        true_time cut_until{};  ///< it hears of nothing before
    };
    [[nodiscard]] const opinion& sentinel(std::size_t i) const { return sentinels_[i]; }

    /// Called when all connections to a node break.
    std::function<void(std::size_t node)> on_down;
    /// Called when a Sentinel tells of a failover.
    std::function<void(std::size_t sentinel)> on_failover_message;

    // What goes wrong.

    enum class former { dead, alive };
    /// A replica of the node becomes the master in its place. With Sentinels a node that stays alive goes on as a master
    /// until it is told. The node comes back as a replica after that time. Nothing happens if there is no replica.
    void fail_over(std::size_t node, former what, duration back_after);
    void move_slot(std::size_t slot, std::size_t to);
    /// The slot of that key moves slowly: its keys go one by one.
    void migrate(const std::string& key, std::size_t to);
    /// Another cluster answers at the addresses of the nodes. Each slot is at another address. Its epoch is higher by so much.
    void become_another_cluster(std::uint64_t epochs);
    /// Nothing reaches the replicas before `until`.
    void cut_replication(true_time until);
    /// That Sentinel names what it has named so far.
    void cut_sentinel(std::size_t i, true_time until);

    // What the checkers know, of the node that is to be used for the key.

    [[nodiscard]] bool holds(const std::string& key, const std::string& token) {
        return server_of(key).holds(key, token);
    }
    /// Whether readers may be admitted beside a writer that becomes a reader: its node has made it one, or does not have
    /// it; or a former master that lives on has made it one.
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
    /// No client takes its quarantine to be over before then.
    [[nodiscard]] true_time quarantined_until(const std::string& key) const;
    /// All clients take it to be over from then on. A client that hears two Sentinels counts from when the later of them
    /// has named the master.
    [[nodiscard]] true_time quarantined_by_some_until(const std::string& key) const;
    [[nodiscard]] slot_set slots_of(const std::string& key, const std::string& token) {
        return server_of(key).slots_of(key, token);
    }
    /// Those that it would grant to any client now.
    [[nodiscard]] slot_set free_slots(const std::string& key, std::uint32_t limit) {
        return could_answer(key) ? server_of(key).free_slots(key, limit) : 0;
    }
    /// Whether it would grant the key to any client now.
    [[nodiscard]] bool could_grant(const std::string& key) {
        return could_answer(key) && !holds_anything(key);
    }
    /// Whether it would execute any client's acquire now.
    [[nodiscard]] bool could_answer(const std::string& key) {
        constexpr duration rounding =
            1200ms;  // clients may take its quarantine to be so much longer
        const server& asked = server_of(key);
        return asked.up() && asked.is_master() && asked.is_in_order() &&
               asked.paused_until() <= world_.now() &&
               (!quarantined() || quarantined_by_some_until(key) + rounding <= world_.now());
    }
    /// When there last was a failover.
    [[nodiscard]] true_time failed_over() const { return failed_over_; }
    [[nodiscard]] bool rolled_back() const;
    /// Whether it ever forgot something that it had executed.
    [[nodiscard]] bool has_lost_data() const;
    /// When it last did, or when its clock was last set forward.
    [[nodiscard]] true_time forgot_at() const;
    /// What a name that is run once has.
    [[nodiscard]] stored_result result_of(const std::string& key) {
        return server_of(key).result_of(key);
    }
    [[nodiscard]] duration set_back() const;
    [[nodiscard]] const std::string& who() const { return name_; }
    /// As those of `server`.
    std::function<void(const std::string& token)> on_destroyed;
    std::function<void(const std::string& token)> on_forgotten;
    std::function<void(const std::string& token)> on_granted;
    /// Likewise, with the name of the server.
    std::function<void(const request& what, const stored_record& before, const stored_record& after,
                       const std::string& by)>
        on_record;
    /// Likewise. `counts`: the server is the one that is to be used.
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
        std::size_t master = 0;     // of this node; itself, if it is one
        std::uint64_t written = 0;  // by the master, as far as it knows
        true_time last_arrival{};
        std::uint64_t link = 0;  // grows when it gets another master
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
    std::vector<replication> replication_;  // of each of them
    std::vector<std::size_t> owners_;       // by slot
    std::optional<migration> moving_;
    std::uint64_t cluster_ = 1;
    std::uint64_t epoch_ = 1;
    true_time another_since_{};
    std::array<opinion, sentinel_count> sentinels_{};
    true_time replication_cut_until_{};
    std::uint64_t terms_ = 0;
    true_time failed_over_{};  // if ever
};

}  // namespace colock::simulation

#endif
