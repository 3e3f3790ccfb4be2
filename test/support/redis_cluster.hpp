// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_REDIS_CLUSTER_HPP
#define COLOCK_TEST_SUPPORT_REDIS_CLUSTER_HPP

#include "support/deadline.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A Redis Cluster on 127.0.0.1. The masters share the slots evenly, and each has the same number of
/// replicas. The nodes detect the death of a node within a second.
///
/// All members block, and throw like those of `redis_server`.
class redis_cluster {
public:
    /// `launcher` has the same meaning as in `redis_server`.
    explicit redis_cluster(std::size_t masters, std::size_t replicas_of_each = 0,
                           const std::vector<std::string>& arguments = {},
                           const std::vector<std::string>& launcher = {})
        : masters_(masters) {
        const std::size_t count = masters * (1 + replicas_of_each);
        for (std::size_t i = 0; i != count; ++i) {
            std::vector<std::string> words{
                "--cluster-enabled",      "yes",
                "--cluster-node-timeout", "1000",
                "--cluster-port",         std::to_string(buses_.emplace_back().number())};
            words.insert(words.end(), arguments.begin(), arguments.end());
            nodes_.emplace_back(words, launcher);
        }
        for (std::size_t i = 0; i != masters; ++i) {
            const std::size_t first = first_slot(i);
            nodes_[i].command({"CLUSTER", "ADDSLOTSRANGE", std::to_string(first),
                               std::to_string(first_slot(i + 1) - 1)});
            nodes_[i].command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
        }
        introduce_all();
        for (std::size_t i = masters; i != count; ++i) {
            nodes_[i].command({"CLUSTER", "REPLICATE", id(i % masters)});
        }
        wait_until_ok();
        for (std::size_t i = masters; i != count; ++i) {
            wait_until_synchronized(nodes_[i]);
        }
        wait_until_agreed();
    }

    /// Waits until all running nodes agree that all slots are served.
    void wait_until_ok() {
        wait_until(
            [this] {
                return std::ranges::all_of(nodes_, [](const redis_server& one) {
                    return one.pid() == 0 || says(one, {"CLUSTER", "INFO"}, "cluster_state:ok");
                });
            },
            std::chrono::seconds(30));
    }

    /// Returns true if all running nodes agree on the slots and the configuration epoch of each master.
    ///
    /// A replica claims the slots that it believes its master had. If the replica does not have the last
    /// epoch of its master, the other masters never vote for it. Two masters with equal epochs have not
    /// agreed: one of them is about to take a new epoch.
    [[nodiscard]] bool agreed() const {
        std::set<std::map<std::string, std::string>> said;
        for (const redis_server& one : nodes_) {
            if (one.pid() != 0) {
                said.insert(slots_by_epoch(*one.command({"CLUSTER", "NODES"})));
            }
        }
        return said.size() == 1 && said.begin()->size() == masters_;
    }

    void wait_until_agreed() const {
        wait_until([this] { return agreed(); }, std::chrono::seconds(30));
    }

    /// Returns a node. Masters come first, then the first replica of each master, and so on.
    [[nodiscard]] redis_server& operator[](std::size_t i) { return nodes_.at(i); }
    [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

    /// Returns a `redis+cluster://` URI with the first nodes.
    [[nodiscard]] std::string uri(std::size_t seeds = 2) const {
        std::string hosts;
        for (std::size_t i = 0; i != std::min(seeds, nodes_.size()); ++i) {
            hosts += (i == 0 ? "" : ",") + ("127.0.0.1:" + std::to_string(nodes_[i].port()));
        }
        return "redis+cluster://" + hosts;
    }

    [[nodiscard]] std::string id(std::size_t i) const {
        return nodes_.at(i).command({"CLUSTER", "MYID"}).value();
    }

    [[nodiscard]] static std::size_t slot_of(const redis_server& any, const std::string& key) {
        return std::stoul(any.command({"CLUSTER", "KEYSLOT", key}).value());
    }

    /// Returns the master that has the slot of the key at the start.
    [[nodiscard]] std::size_t first_owner_of(const std::string& key) const {
        const std::size_t slot = slot_of(nodes_[0], key);
        std::size_t result = 0;
        while (slot >= first_slot(result + 1)) {
            ++result;
        }
        return result;
    }

    /// Begins to migrate a slot. New keys are created on the target, and existing keys stay for now.
    ///
    /// The target must have the highest epoch, and no two masters may share an epoch. Otherwise an older
    /// claim may win the slot back, or no master may serve it.
    void begin_to_move(std::size_t slot, std::size_t from, std::size_t to) {
        wait_until_agreed();
        set_slot(to, slot, {"IMPORTING", id(from)});
        set_slot(from, slot, {"MIGRATING", id(to)});
    }

    /// Moves the existing keys of the slot, one by one.
    void move_keys(std::size_t slot, std::size_t from, std::size_t to) {
        for (;;) {
            const std::string keys =
                nodes_[from]
                    .command({"CLUSTER", "GETKEYSINSLOT", std::to_string(slot), "1"})
                    .value();
            if (keys.empty()) {
                return;
            }
            move_key(keys, from, to);
        }
    }

    void move_key(const std::string& key, std::size_t from, std::size_t to) {
        nodes_[from].command(
            {"MIGRATE", "127.0.0.1", std::to_string(nodes_[to].port()), key, "0", "5000"});
    }

    /// Assigns the slot to the target, and reports this to all masters.
    void end_move(std::size_t slot, std::size_t to) {
        set_slot(to, slot, {"NODE", id(to)});
        for (std::size_t i = 0; i != masters_; ++i) {
            if (i != to && nodes_[i].pid() != 0) {
                set_slot(i, slot, {"NODE", id(to)});
            }
        }
    }

    /// Performs all steps of a migration.
    void move(std::size_t slot, std::size_t from, std::size_t to) {
        begin_to_move(slot, from, to);
        move_keys(slot, from, to);
        end_move(slot, to);
    }

    /// Returns the cluster view and the log of each running node, for the message of a failed test.
    [[nodiscard]] std::string state_and_logs() const {
        std::string result;
        for (std::size_t i = 0; i != nodes_.size(); ++i) {
            const redis_server& one = nodes_[i];
            result.append("node ").append(std::to_string(i)).append("\n");
            result.append(one.pid() == 0 ? "is dead" : *one.command({"CLUSTER", "NODES"}));
            result.append("\n").append(one.log()).append("\n");
        }
        return result;
    }

    static bool says(const redis_server& one, const std::vector<std::string>& command,
                     std::string_view text) {
        return one.command(command).value_or("").find(text) != std::string::npos;
    }

    /// Waits until a replica has a copy of its master's data.
    static void wait_until_synchronized(const redis_server& replica) {
        wait_until(
            [&] {
                return says(replica, {"INFO", "replication"}, "link_status:up");
            },
            std::chrono::seconds(30));
    }

    /// Waits for a minute at most. On a busy machine an election may fail. The next one follows after twice
    /// the node timeout.
    static void wait_until_promoted(const redis_server& replica) {
        wait_until([&] { return says(replica, {"ROLE"}, "master"); }, std::chrono::seconds(60));
    }

    /// Promotes a replica by hand. On a busy machine, the servers abandon a promotion after five seconds.
    static void promote(const redis_server& replica) {
        request_until([&] { return says(replica, {"ROLE"}, "master"); }, std::chrono::seconds(6),
                      [&] {
                          replica.command({"CLUSTER", "FAILOVER"});
                      });
    }

private:
    /// Makes a request that the servers may abandon, and makes it again after each `pause`. Waits for a minute at
    /// most until `is_done`.
    template <typename Predicate, typename Request>
    static void request_until(Predicate is_done, std::chrono::seconds pause, Request request) {
        auto next = std::chrono::steady_clock::now();
        wait_until(
            [&] {
                if (is_done()) {
                    return true;
                }
                if (std::chrono::steady_clock::now() >= next) {
                    next = std::chrono::steady_clock::now() + pause;
                    request();
                }
                return false;
            },
            std::chrono::seconds(60));
    }

    /// Waits until each node knows the ids of all others. During a handshake it counts a node whose id it does not
    /// know yet. A node abandons a meeting that takes longer than its timeout, for example on a busy machine.
    void introduce_all() const {
        std::vector<std::string> ids;
        for (std::size_t i = 0; i != nodes_.size(); ++i) {
            ids.push_back(id(i));
        }
        const auto knows_all = [&](const redis_server& one) {
            const std::string known = one.command({"CLUSTER", "NODES"}).value_or("");
            return std::ranges::all_of(ids, [&](const std::string& each) {
                return known.find(each) != std::string::npos;
            });
        };
        request_until([&] { return std::ranges::all_of(nodes_, knows_all); },
                      std::chrono::seconds(3),
                      [&] {
                          for (std::size_t i = 1; i != nodes_.size(); ++i) {
                              if (!knows_all(nodes_[i])) {
                                  nodes_[i].command({"CLUSTER", "MEET", "127.0.0.1",
                                                     std::to_string(nodes_[0].port()),
                                                     std::to_string(buses_[0].number())});
                              }
                          }
                      });
    }

    /// Returns the slots of each line of CLUSTER NODES that has slots. The key is the epoch, and the value is
    /// the node id with the slots.
    static std::map<std::string, std::string> slots_by_epoch(const std::string& text) {
        constexpr int fields_before_epoch = 5;
        std::map<std::string, std::string> result;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            std::istringstream fields(line);
            std::string id;
            std::string skipped;
            std::string epoch;
            std::string slots;
            fields >> id;
            for (int i = 0; i != fields_before_epoch; ++i) {
                fields >> skipped;
            }
            fields >> epoch >> skipped;
            std::getline(fields, slots);
            if (!slots.empty()) {
                result[epoch] = id.append(slots);
            }
        }
        return result;
    }

    [[nodiscard]] std::size_t first_slot(std::size_t master) const {
        constexpr std::size_t slots = 16384;
        return slots * master / masters_;
    }

    void set_slot(std::size_t at, std::size_t slot, std::vector<std::string> how) {
        how.insert(how.begin(), {"CLUSTER", "SETSLOT", std::to_string(slot)});
        nodes_[at].command(how);
    }

    std::size_t masters_;
    std::deque<reserved_port> buses_;
    std::vector<redis_server> nodes_;
};

}  // namespace colock::test

#endif
