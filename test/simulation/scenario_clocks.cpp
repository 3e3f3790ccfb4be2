// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Clocks that run fast, clocks that are set, and grants that arrive too late.

#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace colock::simulation {
namespace {

/// The server's key expires after 272.7 ms. This key is decisive, because the holder has no key on instance
/// 2.
void fast_server(stage& s, int) {
    s.instance(0).set_rate(1.1);
    s.user(0).to(2).reset(std::nullopt);
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(200ms);
    s.expect(a.held() && s.keys() == 2, "two grants are enough");
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(249ms);
    s.expect(a.held() && !b.held(), "only the first client holds the lock until its validity ends");
    s.run_to(270ms);
    s.expect(about(a.lost, 250ms), "the loss is reported before any key expires");
    s.run_to(350ms);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

void jump_forward(stage& s, int) {
    taking& a = s.acquire(0);
    s.run_to(50ms);
    s.instance(0).jump(1s);
    s.expect(s.keys() == 2, "one key has expired");
    s.run_to(60ms);
    taking& b = s.acquire(1);
    s.run_to(66ms);
    s.expect(b.told && !b.granted(), "the second client is denied with one free key");
    s.expect(!s.has_key(0), "the second client rolls its grant back");
    s.run_to(110ms);
    s.expect(a.held() && s.has_key(0, a), "the next renewal restores the missing key");
    s.run_to(400ms);
    s.expect(a.held(), "the lease is still held");
    s.release(a);
    s.run_to(410ms);
    taking& c = s.acquire(1);
    s.run_to(413ms);
    s.expect(c.held(), "a released lock can be acquired");
    s.release(c);
}

/// The server's key lives 400 ms longer.
void jump_back(stage& s, int) {
    taking& a = s.acquire(0);
    s.run_to(50ms);
    s.instance(0).jump(-400ms);
    s.run_to(60ms);
    s.user(0).crash();
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(301ms);
    s.expect(!b.held(), "the second client waits until the ttl has passed");
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
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    s.acquire(1, writers);
    s.run_to(100ms);
    s.user(1).crash();
    for (std::size_t i = 0; i != 3; ++i) {
        s.instance(i).jump(-1min);
    }
    taking& b = s.acquire(2, readers);
    s.run_to(110ms);
    s.expect(a.held() && b.held(), "the writer mark of the dead writer has no effect");
    s.release(a);
    s.release(b);
    s.run_to(120ms);
    taking& c = s.acquire(2);
    s.run_to(130ms);
    s.expect(c.held(), "the writer mark does not block a mutex");
    s.release(c);
}

/// The commands are in flight until one millisecond after the end of the validity.
void acquire_too_slow(stage& s, int) {
    spec& l = s.lock();
    l.policy.lease.instance_timeout = 400ms;
    for (std::size_t i = 0; i != 3; ++i) {
        s.mute(0, i, 296ms);
    }
    taking& a = s.acquire(0, l);
    s.run_to(296500us);
    s.expect(s.keys() == 3 && !a.told, "all instances have granted");
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
