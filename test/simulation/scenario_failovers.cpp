// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Failovers by Sentinel, and slots that move in a Cluster.

#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <vector>

namespace colock::simulation {
namespace {

constexpr auto for_long = true_time(10s);
constexpr deployment sentinels{topology::sentinel, 1};

cast two_clients(const deployment& servers, duration quarantine = {}) {
    return {.instances = 1, .clients = 2, .quarantine = quarantine, .deployment = servers};
}

/// The lock of client 0 has reached no replica when its server dies.
void promoted_replica_lacks_a_lock(stage& s, int) {
    voter& servers = s.servers_of(0);
    servers.cut_replication(for_long);
    taking& a = s.hold(0, s.unrenewed_lock(), 50ms);
    s.expect(s.keys() == 1, "no replica has the key");
    servers.fail_over(servers.owner_of(servers.slot_of(stage::key)), voter::former::dead, 5s);
    s.run_to(60ms);
    s.expect(s.keys() == 0, "the promoted replica lacks the key");
    taking& b = s.wait(1, s.patient_lock(), 279ms);
    s.expect(a.held(), "only one client holds the lock");
    s.expect(s.count(fault::quarantined) > 0, "the promoted replica is quarantined");
    s.run_to(3s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// The same case without a quarantine. The lock is really lost, and the holder detects this at its renewal.
void lost_lock_without_quarantine(stage& s, int) {
    s.servers_of(0).cut_replication(for_long);
    taking& a = s.hold(0, s.lock(), 50ms);
    s.servers_of(0).fail_over(0, voter::former::dead, 5s);
    s.run_to(60ms);
    taking& b = s.hold(1, s.lock(), 70ms);
    s.expect(a.held() && b.held(), "two clients hold the lock");
    s.run_to(110ms);
    s.expect(about(a.lost, 102ms), "the first client detects the loss when it renews");
    s.release(a, b);
}

/// The old master is alive. No Sentinel reaches client 0 for a while, and it acquires a lock there. Client 1
/// learns of the failover immediately.
void failover_noticed_late(stage& s, int) {
    s.servers_of(0).cut_replication(for_long);
    for (std::size_t i = 0; i != voter::sentinel_count; ++i) {
        s.user(0).to(0).cut_sentinel(i, true_time(350ms));
    }
    s.run_to(100ms);
    s.servers_of(0).fail_over(0, voter::former::alive, 10s);
    s.run_to(110ms);
    taking& b = s.wait(1, s.patient_lock(), 300ms);
    s.hold(0, s.unrenewed_lock(), 579ms);
    s.expect(!b.held(), "only one client holds the lock");
    s.run_to(1s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// The old master is alive, and Sentinel 0, which is cut off, still reports it. Client 1 is cut off from that
/// Sentinel. In take 0, client 0 reaches all three. In take 1 it does not reach Sentinel 1, so it sees no
/// majority.
void old_master_is_named_by_some(stage& s, int take) {
    s.servers_of(0).cut_sentinel(0, for_long);
    s.user(1).to(0).cut_sentinel(0, for_long);
    if (take == 1) {
        s.user(0).to(0).cut_sentinel(1, for_long);
    }
    s.run_to(500ms);
    s.servers_of(0).fail_over(0, voter::former::alive, 10s);
    s.run_to(3s);
    taking& b = s.hold(1, s.lock(), 3050ms, "the new master grants when its quarantine has ended");
    s.fail(0, s.lock(), 3100ms, "the old master is not used any more");
    s.release(b);
}

/// The slot has moved to another node, and a replica of that node, which lacks the lock, has taken over.
/// Client 1 has not learned this yet.
void moved_to_a_promoted_node(stage& s, int) {
    voter& cluster = s.servers_of(0);
    const std::size_t slot = cluster.slot_of(stage::key);
    const std::size_t to = (slot + 1) % voter::master_count;
    taking& a = s.hold(0, s.unrenewed_lock(), 10ms);
    cluster.cut_replication(for_long);
    cluster.move_slot(slot, to);
    s.expect(s.has_key(0, a), "the key moves with its slot");
    cluster.fail_over(to, voter::former::dead, 5s);
    s.expect(!s.has_key(0, a), "the promoted replica lacks the key");
    taking& b = s.wait(1, s.patient_lock(), 20ms);
    s.expect(s.count(fault::moved) > 0, "the former node redirects the command");
    s.run_to(279ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.run_to(2s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// Another cluster answers at the addresses of the first one, which has granted a lock. It has been up for a
/// long time.
void another_cluster_at_its_addresses(stage& s, int) {
    taking& a = s.hold(0, s.unrenewed_lock(), 10ms);
    s.servers_of(0).become_another_cluster(5);
    s.expect(!s.has_key(0, a), "the other cluster lacks the key");
    taking& b = s.wait(1, s.patient_lock(), 279ms);
    s.expect(a.held(), "the other cluster grants nothing at first");
    s.run_to(2900ms);
    s.expect(!b.held(), "the other cluster grants nothing right after its map is followed");
    s.run_to(4s);
    s.expect(b.held(), "the other cluster grants after its quarantine");
    s.release(b);
}

/// The replica is cut off and then promoted.
void grant_that_no_replica_has(stage& s, int) {
    s.servers_of(0).cut_replication(true_time(100ms));
    s.fail(0, s.lock(), 30ms, "the grant is rejected");
    s.expect(s.count(fault::not_replicated) == 1, "the replica has not acknowledged the grant");
    s.expect(s.keys() == 0, "the grant is rolled back");
    s.servers_of(0).fail_over(0, voter::former::dead, 20ms);
    s.run_to(200ms);
    taking& b = s.hold(1, s.lock(), 220ms);
    s.expect(s.has_key(0, b), "a grant counts when a replica has acknowledged it");
    s.servers_of(0).fail_over(1, voter::former::dead, 20ms);
    s.run_to(230ms);
    s.expect(s.has_key(0, b), "the promoted replica has the key");
    s.release(b);
}

}  // namespace

const std::vector<scenario> failover_scenarios = {
    {"fault_67_sim_promoted_replica_lacks_a_lock",
     "Sentinels promote a replica that lacks a lock",
     {promoted_replica_lacks_a_lock},
     {"failover_quarantine_off"},
     two_clients(sentinels, 1s)},
    {"fault_67_sim_lost_lock_without_quarantine",
     "Sentinels promote a replica without a quarantine, and two clients hold the lock",
     {lost_lock_without_quarantine},
     {"extend_without_token_check", "never_renews"},
     two_clients(sentinels)},
    {"fault_67_sim_failover_noticed_late",
     "a client uses the old master after others have noticed the failover",
     {failover_noticed_late},
     {"failover_quarantine_off", "all_notice_at_once"},
     two_clients(sentinels, 300ms)},
    {"fault_67_sim_old_master_is_named_by_some",
     "the old master is alive, and an isolated Sentinel still names it",
     {old_master_is_named_by_some, 2},
     {"minority_of_the_sentinels", "contradiction_is_ignored"},
     two_clients(sentinels, 1s)},
    {"fault_70_sim_promoted_node_lacks_a_lock",
     "a cluster promotes a replica that lacks a lock",
     {promoted_replica_lacks_a_lock},
     {"failover_quarantine_off", "first_seen_long_ago"},
     two_clients({topology::cluster, 1}, 1s)},
    {"fault_70_sim_moved_to_a_promoted_node",
     "a client is redirected to a promoted replica that lacks a lock",
     {moved_to_a_promoted_node},
     {"failover_quarantine_off", "quarantine_after_moved_ignored"},
     two_clients({topology::cluster, 1}, 1s)},
    {"fault_91_sim_another_cluster_at_its_addresses",
     "another cluster answers at the addresses of the nodes",
     {another_cluster_at_its_addresses},
     {"another_cluster_is_believed", "another_cluster_without_quarantine",
      "replaced_server_is_trusted"},
     two_clients({topology::cluster}, 1s)},
    {"fault_75_sim_grant_that_no_replica_has",
     "a replica has not acknowledged a grant when a failover happens",
     {grant_that_no_replica_has},
     {"wait_is_ignored"},
     two_clients({topology::sentinel, 1, 1})},
};

}  // namespace colock::simulation
