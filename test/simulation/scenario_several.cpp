// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Locks with several names: which name a waiter waits for, and what a release leaves behind.

#include "simulation/scenario_themes.hpp"

#include "kinds/multi/multi.hpp"

#include <string>
#include <vector>

namespace colock::simulation {
namespace {

/// Sorts after `stage::key`. On a cluster, the two names are in different slots.
const std::string another = "other";

cast clustered(std::size_t clients) {
    return {.instances = 1, .clients = clients, .deployment{topology::cluster}};
}

spec& lock_on_both(stage& s) {
    spec& result = s.lock();
    result.more_names = {another};
    result.policy.set_kind(kinds::multi);
    return result;
}

/// Returns a lock that waits. Between attempts it depends on notifications.
spec& patient_lock_on_both(stage& s) {
    spec& result = lock_on_both(s);
    result.policy.attempts = 0;
    result.policy.retry = {1min, 1min};
    return result;
}

/// The lease is not renewed.
spec& lock_on_another(stage& s, core::milliseconds ttl) {
    spec& result = s.unrenewed_lock();
    result.key = another;
    result.policy.lease.ttl = ttl;
    return result;
}

/// The second name is released, and the server notifies the waiter.
void waiter_is_told(stage& s, int) {
    taking& holder = s.hold(0, lock_on_another(s, 3s), 10ms);
    taking& waiter = s.wait(1, patient_lock_on_both(s), 100ms);
    s.expect(holder.held(), "the waiter waits for the second name");
    s.release(holder);
    s.run_to(110ms);
    s.expect(waiter.held(), "the waiter is told of the second name");
    s.release(waiter);
}

/// The second name expires. The server sends no notifications, only the remaining ttl of that name.
void waiter_waits_for_the_end(stage& s, int) {
    taking& holder = s.hold(0, lock_on_another(s, 300ms), 10ms);
    taking& waiter = s.wait(1, patient_lock_on_both(s), 290ms);
    s.expect(s.commands() < 10, "the waiter asks how long the name is held");
    s.run_to(320ms);
    s.expect(waiter.held(), "the waiter gets the lock when the name is free");
    s.release(waiter, holder);
}

/// The node of one name refuses to delete it. In take 0 it is the first name, in take 1 the second.
void release_goes_on(stage& s, int take) {
    taking& holder = s.hold(0, lock_on_both(s), 20ms, "the lock has names on two nodes");
    voter& cluster = s.servers_of(0);
    const std::string refused = take == 0 ? stage::key : another;
    const std::string other = take == 0 ? another : stage::key;
    cluster.server_of(refused).refuse("del", 1s);
    s.release(holder);
    s.run_to(40ms);
    s.expect(!cluster.holds_anything(other), "the name on the other node is released");
    s.expect(cluster.holds_anything(refused), "the refused name remains");
    s.run_to(400ms);
    s.expect(!cluster.holds_anything(refused), "the refused name ends with its ttl");
}

/// Another client has acquired the first name. The second still belongs to the lease.
void release_with_a_name_lost(stage& s, int) {
    taking& holder = s.hold(0, lock_on_both(s), 10ms, "the lock has two names");
    s.instance(0).delete_key(stage::key);
    taking& other = s.hold(1, s.lock(), 20ms, "another client has the first name");
    s.release(holder);
    s.run_to(30ms);
    s.expect(!s.instance(0).holds_anything(another), "the second name is released");
    s.expect(s.has_key(0, other), "the first name stays with the other client");
    s.release(other);
}

/// One node grants its name, and the other denies. In take 0 the second name is denied, in take 1 the first.
void undo_of_one_name(stage& s, int take) {
    taking& holder = s.hold(1, take == 0 ? lock_on_another(s, 300ms) : s.lock(), 10ms);
    s.fail(0, lock_on_both(s), 30ms, "one of the names is held");
    s.expect(!s.servers_of(0).holds_anything(take == 0 ? stage::key : another),
             "the other name is given back");
    s.release(holder);
}

/// The holder of the second name also wants the first. It waits behind another task of its client that wants
/// both.
void waiter_lets_others_pass(stage& s, int) {
    taking& holder = s.hold(0, lock_on_another(s, 3s), 10ms);
    taking& waiter = s.wait(0, patient_lock_on_both(s), 20ms);
    taking& more = s.hold(0, s.patient_lock(), 200ms);
    s.expect(!waiter.ended(), "the waiter for two names lets the other one pass");
    s.release(more, holder);
    s.run_to(300ms);
    s.expect(waiter.held(), "the waiter gets both names");
    s.release(waiter);
}

}  // namespace

const std::vector<scenario> several_scenarios = {
    {"fault_59_sim_waiter_for_several_names",
     "a waiter for two names is told when the second one is free",
     {waiter_is_told},
     {"multi_hears_of_one_name"},
     telling(2)},
    {"fault_59_sim_end_of_second_name",
     "a waiter for two names wakes when the second one ends",
     {waiter_waits_for_the_end},
     {"multi_looks_at_one_name"},
     with_clients(2, 1)},
    {"fault_53_sim_waiter_in_the_way",
     "a waiter for two names keeps nobody from the first one, while the second is taken",
     {waiter_lets_others_pass},
     {"multi_stands_in_the_way"},
     with_clients(1, 1)},
    {"fault_54_sim_release_of_several_names",
     "the release of a name is refused, and those on other nodes are released",
     {release_goes_on, 2},
     {"multi_undo_stops_at_an_error"},
     clustered(1)},
    {"fault_55_sim_release_with_a_name_lost",
     "one of two names is another client's by now, and the other name is released",
     {release_with_a_name_lost},
     {"multi_release_stops_at_another"},
     with_clients(2, 1)},
    {"fault_54_sim_undo_of_one_name",
     "a cluster grants one of two names, and the attempt gives it back",
     {undo_of_one_name, 2},
     {"multi_partial_is_no"},
     clustered(2)},
};

}  // namespace colock::simulation
