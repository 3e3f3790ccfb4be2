// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Fences, and leases that are handed off inside a client.

#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"
#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <vector>

namespace colock::simulation {
namespace {

/// The counter of instance 0 is ahead, because only this instance has counted some attempts. When its value
/// is written back, only instances 0 and 1 receive it. Then another client acquires the lock on the other
/// instances.
void fence_told_to_too_few(stage& s, int) {
    const auto down = [&s](std::size_t from, std::size_t to, duration how_long) {
        for (std::size_t i = from; i != to; ++i) {
            s.instance(i).restart(how_long, server::data::kept);
        }
    };
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    taking& a = s.hold(0, fenced, 10ms);
    s.expect(s.keys() == 5, "all instances grant the first lease");
    s.release(a);
    s.run_to(20ms);
    down(1, 5, 50ms);
    for (int i = 0; i != 3; ++i) {
        s.fail(0, fenced, s.now() + 10ms, "one grant is not a majority");
    }
    s.run_to(300ms);
    down(3, 5, 150ms);
    taking& b = s.wait(0, fenced, 301500us);
    s.expect(s.keys(b) == 3, "three instances grant the lock");
    s.mute(0, {2}, 400ms);
    s.run_to(310ms);
    s.expect(!b.told, "the attempt waits while two of five have stored the fence");
    s.run_to(360ms);
    s.expect(b.told && !b.granted(), "the lease is not granted without a majority for its fence");
    s.run_to(700ms);
    s.expect(s.keys() == 0, "the grants are rolled back");
    down(0, 2, 100ms);
    taking& c = s.hold(1, fenced, 710ms, "the other instances form a majority");
    s.release(c);
}

/// The process pauses between the first and the second vote on its hand-off, until the validity is over.
void hand_off_after_the_end(stage& s, int) {
    spec& fenced = s.patient_lock();
    fenced.policy.set_kind(kinds::fenced);
    taking& a = s.hold(0, fenced, 50ms);
    s.deafen(0, {1, 2}, 53ms);
    taking& b = s.hand_off(a, fenced);
    s.run_to(52500us);
    s.expect(!b.told, "one vote does not complete the hand-off");
    s.user(0).pause(245ms);
    s.run_to(298ms);
    s.expect(!b.granted(), "an expired lease is not handed off");
    s.run_to(320ms);
    s.expect(b.held() && !b.handed_off(), "the waiter acquires a lease of its own");
    s.release(b);
}

/// Hands a lease off ten times inside client 0. Each holder gets another fence. Returns the last one.
taking& hand_off_often(stage& s, const spec& lock) {
    taking* a = &s.hold(0, lock, 10ms);
    for (int i = 0; i != 10; ++i) {
        a = &s.hand_off(*a, lock);
        s.run_for(4ms);
        s.expect(a->handed_off(), "the lease is handed off, with another fence");
    }
    return *a;
}

/// A server has lost its last writes, and with them the fences that it counted. It still has the key.
void hand_off_after_a_rollback(stage& s, int) {
    spec& fenced = s.patient_lock();
    fenced.policy.set_kind(kinds::fenced);
    taking& a = hand_off_often(s, fenced);
    s.instance(0).restart(1ms, server::data::rolled_back);
    s.run_to(95ms);
    s.expect(s.has_key(0, a), "the key still exists");
    taking& b = s.hand_off(a, fenced);
    s.run_to(99ms);
    s.expect(s.count(fault::quarantined) > 0, "the rolled back server is not asked for a fence");
    s.run_to(400ms);
    s.expect(!b.granted(), "the lease is not handed off");
    s.run_to(1300ms);
    s.expect(b.held() && !b.handed_off(), "the waiter acquires a new lease after the quarantine");
    s.release(b);
}

/// A server has lost the fences of the last writers, and the next one to ask is a reader. The checker compares their
/// fences.
void reader_after_a_rollback(stage& s, int) {
    spec& writers = s.writers_lock();
    writers.policy.set_kind(kinds::fenced_writer);
    hand_off_often(s, writers);
    s.user(0).crash();
    s.instance(0).restart(1ms, server::data::rolled_back);
    s.run_to(1500ms);
    taking& r = s.hold(1, readers_side_of(writers), 1510ms,
                       "a reader acquires the lock after the quarantine");
    s.release(r);
}

/// Third parties delete the keys on two instances. The client has a waiter for an equal lock.
void lost_lease_with_a_waiter(stage& s, int) {
    spec& patient = s.patient_lock();
    taking& a = s.hold(0, patient, 50ms);
    taking& b = s.acquire(0, patient);
    s.instance(0).delete_key(stage::key);
    s.instance(1).delete_key(stage::key);
    s.run_to(104ms);
    s.expect(about(a.lost, 102ms), "the renewal finds two keys missing");
    s.expect(!b.told, "the waiter waits until the holder releases");
    s.release(a);
    s.run_to(150ms);
    s.expect(b.held() && b.token() != a.token(), "the waiter acquires a new lease");
    s.expect(s.keys() == 3, "all instances hold a key");
    s.release(b);
}

}  // namespace

const std::vector<scenario> fence_scenarios = {
    {"fault_36_sim_fence_told_to_too_few",
     "only two of five instances store a fence that is written back",
     {fence_told_to_too_few},
     {"majority_of_the_granted"},
     {.instances = 5, .clients = 2}},
    {"fault_20_sim_hand_off_after_the_end",
     "the validity of a lease ends during its hand-off",
     {hand_off_after_the_end},
     {"handed_off_when_it_is_over", "handed_off_without_asking"}},
    {"fault_25_sim_hand_off_after_a_rollback",
     "a server loses the last fences that it has counted",
     {hand_off_after_a_rollback},
     {"fence_counted_in_quarantine"},
     quarantined(1, 1)},
    {"fault_25_sim_reader_after_a_rollback",
     "a server loses the fences of the last writers, and a reader comes next",
     {reader_after_a_rollback},
     {"reader_believes_an_old_counter"},
     quarantined(2, 1)},
    {"fault_14_sim_lost_lease_with_a_waiter",
     "a lost lease is released while another waiter of its client waits for the lock",
     {lost_lease_with_a_waiter},
     {"handed_off_when_lost"}},
};

}  // namespace colock::simulation
