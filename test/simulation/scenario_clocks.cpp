// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Clocks that run fast, clocks that are set, and grants that arrive too late.

#include "simulation/scenario_themes.hpp"

#include <optional>
#include <vector>

namespace colock::simulation {
namespace {

/// The server's key expires after 272.7 ms. This key is decisive, because the holder has no key on instance
/// 2.
void fast_server(stage& s, int) {
    s.instance(0).set_rate(1.1);
    s.instance(2).take_name(stage::key, 30ms);
    taking& a = s.hold(0, s.unrenewed_lock(), 200ms);
    s.expect(s.keys() == 2, "two grants are enough");
    taking& b = s.wait(1, s.patient_lock(), 249ms);
    s.expect(a.held(), "only the first client holds the lock until its validity ends");
    s.run_to(270ms);
    s.expect(about(a.lost, 250ms), "the loss is reported before any key expires");
    s.run_to(350ms);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

void jump_forward(stage& s, int) {
    taking& a = s.hold(0, s.lock(), 50ms);
    s.instance(0).jump(1s);
    s.expect(s.keys() == 2, "one key has expired");
    s.run_to(60ms);
    s.fail(1, s.lock(), 66ms, "the second client is denied with one free key");
    s.expect(!s.has_key(0), "the second client rolls its grant back");
    s.run_to(110ms);
    s.expect(a.held() && s.has_key(0, a), "the next renewal restores the missing key");
    s.run_to(400ms);
    s.expect(a.held(), "the lease is still held");
    s.release(a);
    s.run_to(410ms);
    taking& c = s.hold(1, s.lock(), 413ms, "a released lock can be acquired");
    s.release(c);
}

/// The server's key lives 400 ms longer.
void jump_back(stage& s, int) {
    taking& a = s.hold(0, s.lock(), 50ms);
    s.instance(0).jump(-400ms);
    s.run_to(60ms);
    s.user(0).crash();
    taking& b =
        s.wait(1, s.patient_lock(), 301ms, "the second client waits until the ttl has passed");
    s.run_to(400ms);
    s.expect(b.held() && s.has_key(0, a), "one instance with a longer key does not block the lock");
    s.run_to(700ms);
    s.expect(b.held() && s.has_key(0, a), "the foreign key is not deleted");
    s.run_to(702ms);
    s.expect(!s.has_key(0, a), "the foreign key expires");
    s.run_to(850ms);
    s.expect(b.held() && s.has_key(0, b), "the missing key is restored");
    s.release(b);
}

/// A writer that waited for a reader has died, and the clocks of all servers are set back. A defect would let
/// its writer mark keep readers out for that much longer.
void mark_before_a_jump(stage& s, int) {
    const shared_lock lock = s.both_sides();
    taking& a = leave_writer_mark(s, lock, 100ms);
    s.on_all(&server::jump, -1min);
    taking& b = s.hold(2, lock.readers, 110ms);
    s.expect(a.held() && b.held(), "the writer mark of the dead writer has no effect");
    s.release(a, b);
    s.run_to(120ms);
    taking& c = s.hold(2, s.lock(), 130ms, "the writer mark does not block a mutex");
    s.release(c);
}

/// The commands are in flight until one millisecond after the end of the validity.
void acquire_too_slow(stage& s, int) {
    spec& l = s.lock();
    l.policy.lease.instance_timeout = 400ms;
    s.mute(0, {0, 1, 2}, 296ms);
    taking& a = s.wait(0, l, 296500us);
    s.expect(s.keys() == 3, "all instances have granted");
    s.run_to(299ms);
    s.expect(a.told && !a.granted(), "the late grants are rejected");
    s.expect(s.keys() == 0, "the late grants are rolled back");
}

}  // namespace

const std::vector<scenario> clock_scenarios = {
    {"fault_21_sim_fast_server",
     "a server's clock runs 10 % fast, within the drift bound",
     {fast_server},
     {"no_drift"},
     {.clients = 2, .drift{0.11, 2ms}}},
    {"fault_21_sim_jump_forward",
     "a server's clock is set forward",
     {jump_forward},
     {"half_is_a_quorum"},
     with_clients(2)},
    {"fault_21_sim_jump_back",
     "a server's clock is set back",
     {jump_back},
     {"extend_without_token_check"},
     with_clients(2)},
    {"fault_21_sim_mark_before_a_jump",
     "the servers' clocks are set back while the writer mark of a dead writer exists",
     {mark_before_a_jump},
     {"mark_from_before_a_jump"},
     with_clients(3)},
    {"fault_23_sim_acquire_too_slow",
     "a quorum grants after the validity has ended",
     {acquire_too_slow},
     {"too_slow_is_believed"}},
};

}  // namespace colock::simulation
