// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The watchdog: renewals, and the loss of a lease.

#include "simulation/scenario_themes.hpp"

#include <vector>

namespace colock::simulation {
namespace {

/// The timer is due at 100 ms. The renewal is sent at 100.01 ms and answered at 102.01 ms.
void release_races_renewal(stage& s, int take) {
    constexpr int fine = 20;
    const duration when = take < fine ? 99990us + take * 2us : 100ms + (take - fine) * 100us;
    taking& a = s.acquire(0);
    s.run_to(when);
    s.release(a);
    s.run_to(1s);
    s.expect(s.grants_after(when + 1ms + 10us) == 0, "no ttl increases after the release");
    s.expect(when > 100ms + 10us || s.grants_after(3ms) == 0, "an unsent renewal is dropped");
    s.expect(s.keys() == 0, "the lease is released");
}

/// Take 0: an extend on an old connection arrives after the release. Take 1: a `heal` arrives before it.
void renewal_in_flight(stage& s, int take) {
    taking& a = s.acquire(0);
    if (take == 0) {
        s.run_to(100500us);
        s.user(0).to(0).reset(200ms);
        s.run_to(101ms);
        s.release(a);
        s.run_to(250ms);
        s.expect(s.keys() == 0, "all keys are released");
        s.expect(s.count(fault::straggler) == 0, "the renewal has not arrived yet");
        s.run_to(302ms);
        s.expect(s.count(fault::straggler) == 1, "the renewal has arrived");
        s.expect(s.keys() == 0, "the late renewal creates no key");
    } else {
        s.run_to(50ms);
        s.instance(0).delete_key(stage::key);
        s.run_to(102500us);
        s.expect(!s.has_key(0) && a.held(), "the renewal found the key missing");
        s.release(a);
        s.run_to(104ms);
        s.expect(s.grants().size() == 6 && s.grants().back().instance == 0,
                 "the missing key was restored");
        s.expect(s.keys() == 0, "the restored key is released too");
    }
    s.run_to(1s);
    s.expect(s.grants_after(110ms) == 0, "no key is created again");
}

void renewals_fail(stage& s, int) {
    taking& a = s.hold(0, s.lock(), 50ms);
    s.cut_off(0, {1, 2}, 1s);
    s.run_to(279ms);
    s.expect(a.held() && !a.lost, "the lease is held while a renewal may still succeed");
    s.expect(a.held() && s.user(0).engine().parts().counts.renewals_failed >= 4,
             "the renewal is retried");
    s.run_to(294ms);
    s.expect(about(a.lost, 280ms), "the loss is reported before the validity ends");
    s.expect(s.has_key(0), "the keys remain until the validity ends");
    s.run_to(297ms);
    s.expect(!s.has_key(0), "the reachable keys are released");
}

/// Two replies to an executed renewal arrive late. Take 0: they arrive after the loss. Take 1: they arrive
/// after the end of the validity. Take 2: they reach a client that was paused beyond that end.
void no_resurrection(stage& s, int take) {
    spec& l = s.lock();
    l.policy.lease.instance_timeout = 400ms;
    taking& a = s.acquire(0, l);
    const duration answered[] = {285ms, 298ms, 250ms};
    s.run_to(99ms);
    s.deafen(0, {1, 2}, answered[take]);
    s.run_to(200ms);
    s.expect(s.grants().size() == 6, "the renewal was executed");
    if (take == 2) {
        s.user(0).pause(120ms);
    }
    s.run_to(350ms);
    s.expect(about(a.lost, take == 2 ? 320ms : 280ms), "the lease is lost");
    s.expect(!a.held(), "the lease is not held again");
    s.expect(s.keys() == 0, "the keys are released");
    s.run_to(1s);
    s.expect(s.grants_after(200ms) == 0, "no key is renewed any more");
}

void max_hold(stage& s, int) {
    spec& l = s.lock();
    l.policy.lease.max_hold = 350ms;
    taking& a = s.hold(0, l, 334ms);
    s.expect(s.grants().size() == 12, "the lease is renewed until max_hold");
    s.run_to(349ms);
    s.expect(about(a.lost, 337ms), "the lease is lost although it is not released");
    s.expect(s.keys() == 3, "the keys remain until max_hold ends");
    s.run_to(355ms);
    s.expect(s.keys() == 0, "the keys are released after max_hold");
}

}  // namespace

const std::vector<scenario> renewal_scenarios = {
    {"fault_11_sim_release_races_renewal",
     "a lease is released at any moment around its renewal",
     {release_races_renewal, 50},
     {"extend_after_release"}},
    {"fault_12_sim_renewal_in_flight_at_release",
     "an extend arrives after the release, and a key is restored before the release",
     {renewal_in_flight, 2},
     {"extend_recreates", "heal_not_given_back"}},
    {"fault_13_sim_renewals_fail_on_a_majority",
     "renewals fail because two of three instances are unreachable",
     {renewals_fail},
     {"loss_without_notice", "never_renews"}},
    {"fault_14_sim_no_resurrection",
     "a renewal succeeds after the lease was lost",
     {no_resurrection, 3},
     {"no_end_of_validity"}},
    {"fault_17_sim_max_hold",
     "a lease is never released and reaches max_hold",
     {max_hold},
     {"max_hold_ignored", "never_renews"}},
};

}  // namespace colock::simulation
