// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Servers that restart, lose their data, or stop.

#include "simulation/scenario_themes.hpp"

#include <optional>
#include <vector>

namespace colock::simulation {
namespace {

/// The holder has no key on instance 2, and instance 1 loses its key. In take 0 the lease is not renewed, in
/// take 1 it is.
void restart_without_data(stage& s, int take) {
    s.instance(2).take_name(stage::key, 30ms);
    taking& a = s.hold(0, take == 0 ? s.unrenewed_lock() : s.lock(), 50ms);
    s.expect(s.keys() == 2, "two grants are enough");
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(60ms);
    taking& b = s.acquire(1, s.patient_lock());
    const duration over = take == 0 ? 280ms : 102ms;
    s.run_to(over - 1ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.expect(s.count(fault::quarantined) > 0, "the restarted server is quarantined");
    s.run_to(over + 10ms);
    s.expect(about(a.lost, over), "the loss is reported to the holder");
    s.expect(!b.held(), "the second client waits until the holder releases");
    s.release(a);
    s.run_to(over + 80ms);
    s.expect(b.held() && s.has_key(0, b) && s.has_key(2, b),
             "the second client acquires the lock on the other servers");
    s.run_to(1s);
    s.expect(b.held() && s.has_key(1, b), "the missing key is restored on the quarantined server");
    s.release(b);
}

/// Instance 2 is not connected at the acquire. Take 0: it is connected later. Take 1: it is in quarantine then.
/// It gets the key at once, so another instance may fail before the next renewal.
void connected_later(stage& s, int take) {
    spec& lock = s.lock();
    lock.policy.lease.renew_interval = 10s;
    lock.policy.lease.ttl = 30s;
    s.run_to(100ms);
    if (take == 0) {
        s.user(0).to(2).reset(20ms);
    } else {
        s.instance(2).restart(5ms, server::data::lost);
        s.run_to(150ms);
    }
    taking& a = s.hold(0, lock, s.now() + 5ms);
    s.run_for(3s);
    s.expect(s.has_key(2, a), "the instance gets the key as soon as it takes commands");
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(12s);
    s.expect(a.held(), "the lease outlives the failure of another instance");
    s.release(a);
}

/// All servers have just started. A client waits until they grant, unless its timeout is earlier.
void first_contact(stage& s, int) {
    s.run_to(100ms);
    s.on_all(&server::restart, 5ms, server::data::lost);
    s.run_to(150ms);
    spec& once = s.lock();
    once.policy.unavailable_timeout = 0ms;
    taking& a = s.acquire(0, once);
    taking& b = s.acquire(1, once, s.user(1).now() + 500ms);
    s.run_to(160ms);
    s.expect(!a.told, "the first client waits");
    s.expect(b.told && !b.granted(),
             "a client with a short deadline does not wait for the quarantine");
    s.run_to(1090ms);
    s.expect(!a.told, "the first client waits until the quarantine ends");
    s.run_to(1200ms);
    s.expect(a.held(), "the lock is granted after the quarantine");
    s.release(a);
}

/// One server has just started, and another does not reply for a while. Its connection persists, so no event
/// announces its return.
void late_vote_beside_a_quarantine(stage& s, int) {
    s.run_to(100ms);
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(150ms);
    s.cut_off(0, {2}, 200ms);
    taking& a = s.wait(0, s.patient_lock(), 190ms,
                       "the client waits while one server is quarantined and one is silent");
    s.run_to(280ms);
    s.expect(a.held(), "the lock is granted when the silent server answers");
    s.release(a);
}

/// The holder has no key on instance 2. Instance 1 loses its key just before a second ends on its clock. A
/// client that queries it then gets an uptime of one second.
void restart_at_the_end_of_a_second(stage& s, int) {
    s.run_to(100ms);
    const duration second = s.instance(1).next_second().time_since_epoch() + 1s;
    s.run_to(second - 50ms);
    s.instance(2).take_name(stage::key, 30ms);
    taking& a = s.hold(0, s.unrenewed_lock(), second - 5500us);
    s.expect(s.keys() == 2, "two grants are enough");
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(second + 20ms);
    s.expect(s.instance(1).uptime() == 1s, "the server reports a longer uptime than it has");
    taking& b = s.wait(1, s.patient_lock(), second + 200ms);
    s.expect(a.held(), "only one client holds the lock");
    s.run_to(second + 600ms);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// Instance 2 stops, and in the end a majority stops.
void stopped_server(stage& s, int) {
    s.instance(2).pause(3s);
    for (int i = 0; i != 20; ++i) {
        taking& a =
            s.hold(0, s.lock(), s.now() + 3ms, "two servers grant the lock without a delay");
        s.release(a);
        s.run_for(3ms);
        s.expect(s.keys() == 0, "two servers are enough to release it");
    }
    s.expect(s.grants().size() == 40, "the stopped server has granted nothing");
    s.instance(1).pause(100ms);
    const duration asked = s.now();
    taking& a = s.acquire(0);
    s.run_to(asked + 40ms);
    s.expect(a.told && !a.granted() && *a.told < asked + 31ms,
             "an acquire without a majority fails in time");
    s.expect(!s.has_key(0), "its grant is rolled back");
    s.run_to(1s);
    taking& b = s.hold(0, s.lock(), 1s + 3ms, "the lock is granted with a majority again");
    s.release(b);
    s.run_to(3001ms);
    s.expect(s.grants().size() > 60 && s.keys() == 0,
             "the resumed server executes its commands in order");
}

/// Instance 2 has the SET of a lease in its socket when the connection is given up. It resumes long after
/// everything else has ended. The key that it then creates must be released immediately.
void key_made_after_its_release(stage& s, int) {
    s.instance(2).pause(3s);
    taking& a = s.hold(0, s.lock(), 100ms);
    s.expect(s.keys() == 2, "two grants are enough");
    s.user(0).to(2).reset(0ms);
    s.run_to(200ms);
    s.release(a);
    s.run_to(2999ms);
    s.expect(s.keys() == 0, "the two keys are released");
    s.run_to(3020ms);
    s.expect(s.count(fault::straggler) > 0 && s.grants_after(2999ms) == 1,
             "the SET is executed late");
    s.expect(s.keys() == 0, "the late key is released");
}

}  // namespace

const std::vector<scenario> outage_scenarios = {
    {"fault_24_sim_restart_without_data",
     "one of the two servers that granted restarts without its data",
     {restart_without_data, 2},
     {"quarantine_off", "quarantine_too_short"},
     quarantined(2)},
    {"fault_121_sim_connected_later",
     "an instance takes commands only after the acquire, and then another one loses its data",
     {connected_later, 2},
     {"restored_by_the_next_renewal"},
     quarantined(1)},
    {"fault_24_sim_first_contact",
     "all servers have just started",
     {first_contact},
     {"quarantine_is_an_outage"},
     quarantined(2)},
    {"fault_24_sim_late_vote_beside_a_quarantine",
     "one server has just started, and another answers late",
     {late_vote_beside_a_quarantine},
     {"quarantine_hides_a_late_vote"},
     quarantined(1)},
    {"fault_24_sim_restart_at_the_end_of_a_second",
     "one of the two servers that granted restarts without its data just before a second ends",
     {restart_at_the_end_of_a_second},
     {"uptime_is_believed"},
     quarantined(2)},
    {"fault_29_sim_stopped_server",
     "one server is stopped",
     {stopped_server},
     {"waits_for_the_silent", "silence_is_consent"}},
    {"fault_07_sim_key_made_after_its_release",
     "a stopped server executes an acquire long after the release, on a closed connection",
     {key_made_after_its_release},
     {"release_given_up_while_open"}},
};

}  // namespace colock::simulation
