// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "simulation/scenario.hpp"

#include "simulation/schedule.hpp"

#include <algorithm>
#include <iostream>

namespace colock::simulation {
namespace {

// A lease that is acquired at 0 is asked for at 0.01 ms, granted at 1.01 ms, heard of at 2.01 ms, valid
// until 295 ms, lost at 280 ms if it is not renewed, and renewed at 100 ms; its keys live until 301.01 ms.

bool about(const std::optional<duration>& when, duration expected) {
    return when && *when >= expected && *when <= expected + 100us;
}

// --- Ambiguity and cancellation ---------------------------------------------------------------------

/// The very first attempt of a client waits for its first turn. Each later one is submitted at once. Returns the time.
duration take_and_release(stage& s) {
    taking& first = s.acquire(0);
    s.run_to(10ms);
    s.expect(first.held(), "the first lease is granted");
    s.release(first);
    s.run_to(20ms);
    return s.now();
}

void cancel_before_the_send(stage& s, int) {
    const duration start = take_and_release(s);
    taking& a = s.acquire(0);
    s.run_to(start + 5us);
    s.cancel(a);
    s.expect(a.ended(), "the acquire ends immediately");
    s.run_to(1s);
    s.expect(a.told && !a.granted(), "the caller is notified");
    s.expect(s.grants_after(start) == 0, "no key is created");
}

/// Instance 2 is silent.
void cancel_after_the_send(stage& s, int) {
    s.instance(2).pause(200ms);
    taking& a = s.acquire(0);
    s.run_to(1500us);
    s.expect(s.has_key(0) && s.has_key(1), "two instances have granted");
    s.cancel(a);
    s.expect(a.ended(), "the acquire ends immediately");
    s.run_to(3ms);
    s.expect(s.keys() == 0, "the grants are rolled back");
    s.run_to(201ms);
    s.expect(s.grants().size() == 3, "the silent instance has granted too");
    s.expect(s.keys() == 0, "its grant is rolled back");
}

/// At any moment, while the votes come in one after the other.
void grant_races_cancellation(stage& s, int take) {
    const duration start = take_and_release(s);
    for (std::size_t i = 0; i != 3; ++i) {
        s.deafen(0, i, start + 2100us + i * 200us);
    }
    taking& a = s.acquire(0);
    s.run_to(start + take * 50us);
    s.cancel(a);
    s.expect(a.ended(), "the acquire ends immediately unless it has ended before");
    s.run_to(start + 10ms);
    if (a.granted()) {
        s.expect(a.held() && s.keys() == 3, "a granted lease is held");
        s.release(a);
        s.run_to(start + 13ms);
    }
    s.expect(a.told.has_value(), "the caller is notified");
    s.expect(s.keys() == 0, "no key remains");
    s.run_to(1s);
    s.expect(s.grants_after(start + 10ms) == 0, "no key is created later");
}

/// A release cannot be cancelled; what comes closest is that a connection breaks (take 0), that the process ends before
/// anything was sent (take 1), or that the client is closed meanwhile (take 2).
void end_during_release(stage& s, int take) {
    taking& a = s.acquire(0);
    s.run_to(50ms);
    s.release(a);
    if (take == 1) {
        s.run_to(50005us);
        s.user(0).crash();
        s.run_to(301ms);
        s.expect(s.keys() == 3, "the keys have not been released");
        s.run_to(302ms);
        s.expect(s.keys() == 0, "the keys expire with the ttl");
        return;
    }
    s.run_to(50500us);
    s.user(0).to(2).reset(std::nullopt);
    if (take == 2) {
        s.user(0).close();
    }
    s.run_to(54ms);
    s.expect(!s.has_key(0) && !s.has_key(1), "the keys are released where the release arrived");
    s.expect(s.has_key(2), "the key remains where the connection broke");
    if (take == 0) {
        s.run_to(150ms);
        s.expect(!s.has_key(2), "the release is retried there");
    } else {
        s.run_to(80ms);
        s.expect(s.user(0).engine().closed(), "the client closes with a quorum of answers");
        s.run_to(302ms);
        s.expect(s.keys() == 0, "the last key expires with the ttl");
    }
}

/// Of the acquire of another client (take 0), and by closing the client (take 1).
void cancel_during_renewal(stage& s, int take) {
    taking& a = s.acquire(0);
    s.run_to(99500us);
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking* b = take == 0 ? &s.acquire(1, patient) : nullptr;
    s.run_to(100500us);
    if (take == 0) {
        s.expect(!b->ended(), "the other acquire is in flight");
        s.cancel(*b);
        s.run_to(103ms);
        s.expect(b->told && !b->granted(), "the other acquire is cancelled");
        s.expect(a.held() && s.user(0).engine().parts().counts.renewed == 1,
                 "the renewal is not cancelled");
        for (std::size_t i = 0; i != 3; ++i) {
            s.expect(s.has_key(i, a) && s.instance(i).lasts_until(stage::key) >= true_time(400ms),
                     "each key is renewed");
        }
        s.run_to(350ms);
        s.expect(a.held(), "the lease is still held");
        s.release(a);
    } else {
        s.user(0).close();
        s.run_to(103ms);
        s.expect(a.lost.has_value() && !a.held(), "the lease is lost");
        s.expect(s.grants_after(100500us) == 3, "the renewal was executed");
        s.expect(s.keys() == 3, "the keys remain until the holder releases them");
        s.release(a);
        s.run_to(105ms);
        s.expect(s.keys() == 0, "the lease is released");
    }
}

/// Of an acquire with fencing, at any moment while its fence is written back: instance 0 has missed the
/// first holder, so that its counter is behind.
void cancel_while_raising(stage& s, int take) {
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    s.cut_off(0, 0, 40ms);
    taking& a = s.acquire(0, fenced);
    s.run_to(10ms);
    s.expect(a.held(), "two grants are enough");
    s.release(a);
    s.run_to(100ms);
    s.expect(s.keys() == 0, "the lease is released");
    taking& b = s.acquire(0, fenced);
    s.run_to(102200us);
    s.expect(!b.ended() && s.keys() == 3, "all instances have granted with different fences");
    s.run_to(102200us + take * 50us);
    const bool was_granted = b.ended();
    s.cancel(b);
    s.expect(b.ended(), "the acquire ends immediately unless it has ended before");
    s.run_to(110ms);
    s.expect(b.told && b.granted() == was_granted, "the caller is notified");
    if (was_granted) {
        s.expect(b.held() && s.keys() == 3, "a granted lease is held");
        s.release(b);
        s.run_to(120ms);
    }
    s.expect(s.keys() == 0, "no key remains");
    s.run_to(1s);
    s.expect(s.grants_after(110ms) == 0, "no key is created later");
}

void old_set_after_release(stage& s, int) {
    taking& a = s.acquire(0);
    s.run_to(500us);
    s.user(0).to(0).reset(60ms);
    s.run_to(600us);
    s.cancel(a);
    s.run_to(60ms);
    s.expect(s.keys() == 0, "the attempt is rolled back on all instances");
    s.expect(s.has_done(0), "the client has nothing left to do");
    s.run_to(62ms);
    s.expect(s.count(fault::straggler) == 1 && s.has_key(0, a), "the old SET is executed late");
    s.run_to(100ms);
    taking& b = s.acquire(1);
    s.run_to(103ms);
    s.expect(b.held(), "another client can acquire the lock");
    s.run_to(361ms);
    s.expect(s.has_key(0, a), "the stray key lives for its ttl");
    s.run_to(362ms);
    s.expect(!s.has_key(0), "the stray key expires although other keys are renewed");
    s.run_to(410ms);
    s.expect(b.held() && s.has_key(0, b), "the missing key of the other lease is restored");
    s.release(b);
    s.run_to(413ms);
    s.expect(s.keys() == 0, "all keys are released");
}

/// The first attempt is not answered in time, and its release is still under way, on connections that
/// broke, when a later attempt has won.
void late_release_of_attempt_1(stage& s, int) {
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    for (std::size_t i = 0; i != 3; ++i) {
        s.deafen(0, i, 35ms);
    }
    taking& a = s.acquire(0, patient);
    const std::string first = a.token();
    s.run_to(30500us);
    for (std::size_t i = 0; i != 3; ++i) {
        s.user(0).to(i).reset(120ms);
    }
    s.run_to(149ms);
    s.expect(a.held() && a.token() != first && s.has_key(0, a) && s.has_key(1, a),
             "a later attempt has won");
    s.expect(s.count(fault::straggler) == 0, "the late release has not arrived yet");
    const std::string second = a.token();
    s.run_to(151500us);
    s.expect(s.count(fault::straggler) == 3, "the late release has arrived");
    s.expect(s.has_key(0, a) && s.has_key(1, a), "the late release deletes no key");
    s.run_to(400ms);
    s.expect(a.held() && a.token() == second, "the lease is not lost later");
    s.release(a);
}

/// The holder asks for a share (take 0), or another reader of its client comes (take 1). If the keys are there, the share has a
/// fence of its own (take 2).
void share_of_a_lost_lease(stage& s, int take) {
    spec& writers = s.writers_lock();
    writers.policy.set_kind(kinds::fenced_writer);
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    if (take != 2) {
        for (std::size_t i = 0; i != 3; ++i) {
            s.instance(i).delete_key(stage::key);
        }
        taking& w = s.acquire(1, writers);
        s.run_to(20ms);
        s.expect(w.held(), "another client writes");
        s.release(w);
    }
    s.run_to(40ms);
    s.expect(a.held(), "the client has not detected the loss yet");
    taking& b = take == 1 ? s.acquire(0, readers) : s.share(a, readers);
    s.run_to(50ms);
    s.expect(b.told && b.held() == (take != 0), "the lease is shared only if its keys exist");
    s.expect(take != 1 || b.token() != a.token(), "the next reader gets a lease of its own");
    s.run_to(150ms);
    if (b.owned()) {
        s.release(b);
    }
    s.release(a);
}

/// All are silent (take 0), one of three has granted (take 1), or a reader waits for another reader of its client (take 2).
void nobody_answers(stage& s, int take) {
    for (std::size_t i = take == 1 ? 1 : 0; i != 3; ++i) {
        s.cut_off(0, i, 100ms);
    }
    spec lock = take == 2 ? readers_side_of(s.writers_lock()) : s.lock();
    lock.policy.attempts = 0;
    taking* first = take == 2 ? &s.acquire(0, lock) : nullptr;
    taking& a = s.acquire(0, lock, s.user(0).now() + 20ms);
    s.run_to(22ms);
    s.expect(a.told && !a.granted(), "the caller is notified in time");
    s.expect(a.op->result() == core::acquire_outcome::no_quorum, "the result is no_quorum");
    s.run_to(400ms);
    if (first != nullptr) {
        s.release(*first);
    }
}

// --- Watchdog ---------------------------------------------------------------------------------------

/// The timer is due at 100 ms, the renewal goes out at 100.01 ms, and is answered at 102.01 ms.
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

/// An extend that comes after the release, by an old connection (take 0); a heal before it (take 1).
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
    taking& a = s.acquire(0);
    s.run_to(50ms);
    s.cut_off(0, 1, 1s);
    s.cut_off(0, 2, 1s);
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

/// The answers of two to a renewal that was executed come after the loss (take 0), after the end of the
/// validity (take 1), and to a client that had been standing still past that end (take 2).
void no_resurrection(stage& s, int take) {
    spec& l = s.lock();
    l.policy.lease.instance_timeout = 400ms;
    taking& a = s.acquire(0, l);
    const duration answered[] = {285ms, 298ms, 250ms};
    s.run_to(99ms);
    s.deafen(0, 1, answered[take]);
    s.deafen(0, 2, answered[take]);
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
    taking& a = s.acquire(0, l);
    s.run_to(334ms);
    s.expect(a.held() && s.grants().size() == 12, "the lease is renewed until max_hold");
    s.run_to(349ms);
    s.expect(about(a.lost, 337ms), "the lease is lost although it is not released");
    s.expect(s.keys() == 3, "the keys remain until max_hold ends");
    s.run_to(355ms);
    s.expect(s.keys() == 0, "the keys are released after max_hold");
}

// --- Time -------------------------------------------------------------------------------------------

/// Its key is gone after 272.7 ms, and it decides: the holder has no key on instance 2.
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

/// Its key lives for 400 ms more.
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

/// The commands are under way until one millisecond after the end of the validity.
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

// --- Server faults ----------------------------------------------------------------------------------

/// The holder has no key on instance 2, and 1 forgets its own. The lease is not renewed (take 0), or it
/// is (take 1).
void restart_without_data(stage& s, int take) {
    s.user(0).to(2).reset(std::nullopt);
    spec& l = s.lock();
    l.policy.lease.renew_interval = take == 0 ? 0ms : 100ms;
    taking& a = s.acquire(0, l);
    s.run_to(50ms);
    s.expect(a.held() && s.keys() == 2, "two grants are enough");
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(60ms);
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
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

/// All servers were just started. A client waits until they grant, unless its time ends before that.
void first_contact(stage& s, int) {
    s.run_to(100ms);
    for (std::size_t i = 0; i != 3; ++i) {
        s.instance(i).restart(5ms, server::data::lost);
    }
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

/// One server was just started, and another does not answer for a while: it has a connection, and so tells nothing when it
/// answers again.
void late_vote_beside_a_quarantine(stage& s, int) {
    s.run_to(100ms);
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(150ms);
    s.cut_off(0, 2, 200ms);
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& a = s.acquire(0, patient);
    s.run_to(190ms);
    s.expect(!a.told, "the client waits while one server is quarantined and one is silent");
    s.run_to(280ms);
    s.expect(a.held(), "the lock is granted when the silent server answers");
    s.release(a);
}

/// The holder has no key on instance 2, and 1 forgets its own just before a second ends on its clock:
/// who asks it then hears that it has been up for a second.
void restart_at_the_end_of_a_second(stage& s, int) {
    s.run_to(100ms);
    const duration second = s.instance(1).next_second().time_since_epoch() + 1s;
    s.run_to(second - 50ms);
    s.user(0).to(2).reset(std::nullopt);
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(second - 5500us);
    s.expect(a.held() && s.keys() == 2, "two grants are enough");
    s.instance(1).restart(5ms, server::data::lost);
    s.run_to(second + 20ms);
    s.expect(s.instance(1).uptime() == 1s, "the server reports a longer uptime than it has");
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(second + 200ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.run_to(second + 600ms);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// Instance 2; and at last a majority.
void stopped_server(stage& s, int) {
    s.instance(2).pause(3s);
    for (int i = 0; i != 20; ++i) {
        taking& a = s.acquire(0);
        s.run_to(s.now() + 3ms);
        s.expect(a.held(), "two servers grant the lock without a delay");
        s.release(a);
        s.run_to(s.now() + 3ms);
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
    taking& b = s.acquire(0);
    s.run_to(1s + 3ms);
    s.expect(b.held(), "the lock is granted with a majority again");
    s.release(b);
    s.run_to(3001ms);
    s.expect(s.grants().size() > 60 && s.keys() == 0,
             "the resumed server executes its commands in order");
}

/// Instance 2, which has the SET of a lease in its socket when the connection to it is given up. It goes on
/// when everything else has long ended: the key that it makes then is released at once.
void key_made_after_its_release(stage& s, int) {
    s.instance(2).pause(3s);
    taking& a = s.acquire(0);
    s.run_to(100ms);
    s.expect(a.held() && s.keys() == 2, "two grants are enough");
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

// --- Fences -----------------------------------------------------------------------------------------

/// The counter of instance 0 is ahead, since it alone has counted some attempts; and when that is written
/// back, only 0 and 1 are there to hear it. Then somebody else takes the lock where nobody knows.
void fence_told_to_too_few(stage& s, int) {
    const auto down = [&s](std::size_t from, std::size_t to, duration how_long) {
        for (std::size_t i = from; i != to; ++i) {
            s.instance(i).restart(how_long, server::data::kept);
        }
    };
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    taking& a = s.acquire(0, fenced);
    s.run_to(10ms);
    s.expect(a.held() && s.keys() == 5, "all instances grant the first lease");
    s.release(a);
    s.run_to(20ms);
    down(1, 5, 50ms);
    for (int i = 0; i != 3; ++i) {
        taking& alone = s.acquire(0, fenced);
        s.run_to(s.now() + 10ms);
        s.expect(alone.told && !alone.granted(), "one grant is not a majority");
    }
    s.run_to(300ms);
    down(3, 5, 150ms);
    taking& b = s.acquire(0, fenced);
    s.run_to(301500us);
    s.expect(s.has_key(0, b) && s.has_key(1, b) && s.has_key(2, b),
             "three instances grant the lock");
    s.mute(0, 2, 400ms);
    s.run_to(310ms);
    s.expect(!b.told, "the attempt waits while two of five have stored the fence");
    s.run_to(360ms);
    s.expect(b.told && !b.granted(), "the lease is not granted without a majority for its fence");
    s.run_to(700ms);
    s.expect(s.keys() == 0, "the grants are rolled back");
    down(0, 2, 100ms);
    taking& c = s.acquire(1, fenced);
    s.run_to(710ms);
    s.expect(c.held(), "the other instances form a majority");
    s.release(c);
}

/// The process stands still between the first vote on its hand-off and the second, until the validity is over.
void hand_off_after_the_end(stage& s, int) {
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    fenced.policy.attempts = 0;
    taking& a = s.acquire(0, fenced);
    s.run_to(50ms);
    s.expect(a.held(), "the lease is held");
    s.deafen(0, 1, 53ms);
    s.deafen(0, 2, 53ms);
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

/// A server has lost its last writes, and the fences that it has counted with them. It still has the key.
void hand_off_after_a_rollback(stage& s, int) {
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    fenced.policy.attempts = 0;
    taking* a = &s.acquire(0, fenced);
    s.run_to(10ms);
    for (int i = 0; i != 10; ++i) {
        a = &s.hand_off(*a, fenced);
        s.run_to(s.now() + 4ms);
        s.expect(a->handed_off(), "the lease is handed off");
    }
    s.instance(0).restart(1ms, server::data::rolled_back);
    s.run_to(95ms);
    s.expect(s.has_key(0, *a), "the key still exists");
    taking& b = s.hand_off(*a, fenced);
    s.run_to(99ms);
    s.expect(s.count(fault::quarantined) > 0, "the rolled back server is not asked for a fence");
    s.run_to(400ms);
    s.expect(!b.granted(), "the lease is not handed off");
    s.run_to(1300ms);
    s.expect(b.held() && !b.handed_off(), "the waiter acquires a new lease after the quarantine");
    s.release(b);
}

/// Strangers delete its keys on two instances. Its client has a waiter that wants the same.
void lost_lease_with_a_waiter(stage& s, int) {
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& a = s.acquire(0, patient);
    s.run_to(50ms);
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

// --- Readers and writers ----------------------------------------------------------------------------

/// Whether that reader has a share on each instance, which ends then.
bool all_end_at(stage& s, const taking& reader, duration when) {
    constexpr duration rounding = 1ms;  // of what a server tells
    constexpr duration clock = 1us;
    bool result = true;
    for (std::size_t i = 0; i != 3; ++i) {
        const duration end =
            s.instance(i).lasts_until(stage::key, reader.token()).time_since_epoch();
        result = result && s.has_key(i, reader) && end <= when + clock && end >= when - rounding;
    }
    return result;
}

/// Of two readers one dies. The other goes on for longer than that one's share lasts (take 0), or lets go before (take 1),
/// and a writer waits. Or the other lets go before, and a writer comes after that (take 2).
void dead_reader(stage& s, int take) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    taking& b = s.acquire(1, readers);
    s.run_to(20ms);
    s.expect(a.held() && b.held(), "both readers hold the lock");
    taking* const waiting = take == 2 ? nullptr : &s.acquire(2, writers);
    s.run_to(50ms);
    s.user(0).crash();
    s.run_to(250ms);
    s.expect(all_end_at(s, a, 301010us), "the share of the dead reader keeps its end");
    s.expect(all_end_at(s, b, 513020us), "the share of the live reader has been renewed twice");
    if (take == 0) {
        s.run_to(400ms);
        s.expect(!s.has_key(0, a) && !s.has_key(1, a) && !s.has_key(2, a),
                 "the share of the dead reader has expired");
        s.expect(b.held() && !waiting->told, "the live reader still holds the lock");
        s.release(b);
        s.run_to(470ms);
    } else {
        s.release(b);
        s.run_to(301ms);
        s.expect(s.keys() == 3, "the key remains until the share of the dead reader ends");
        s.expect(waiting == nullptr || !waiting->told,
                 "the writer waits until the share of the dead reader ends");
        s.run_to(waiting == nullptr ? 302ms : 370ms);
    }
    taking& w = waiting == nullptr ? s.acquire(2, writers) : *waiting;
    s.run_to(s.now() + 3ms);
    s.expect(w.held(), "the writer acquires the lock when the share has ended");
    s.release(w);
}

/// The longer one comes first (takes 0 and 2), or the shorter one does. The shorter one dies (takes 0 and 1), or it is renewed, and
/// then let go. A writer waits.
void readers_with_different_ttls(stage& s, int take) {
    const bool is_longer_first = take % 2 == 0;
    const bool is_renewed = take >= 2;
    const spec& writers = s.writers_lock();
    spec longer = readers_side_of(writers);
    longer.policy.lease.renew_interval = 0ms;
    spec shorter = longer;
    shorter.policy.lease.ttl = 100ms;
    shorter.policy.lease.renew_interval = is_renewed ? 40ms : 0ms;
    taking& first = s.acquire(0, is_longer_first ? longer : shorter);
    s.run_to(10ms);
    taking& second = s.acquire(1, is_longer_first ? shorter : longer);
    s.run_to(20ms);
    taking& a = is_longer_first ? first : second;
    taking& b = is_longer_first ? second : first;
    const duration a_began = is_longer_first ? 0us : 12010us;
    const duration b_began = is_longer_first ? 12010us : 0us;
    s.expect(all_end_at(s, a, a_began + 301010us), "one reader has a share for 300 ms");
    s.expect(all_end_at(s, b, b_began + 101010us), "the other reader has a share for 100 ms");
    taking& w = s.acquire(2, writers);
    s.run_to(b_began + 90ms);
    if (is_renewed) {
        s.run_to(b_began + 120ms);
        s.expect(b.held() && all_end_at(s, b, b_began + 181010us),
                 "the shorter share is renewed for its own ttl");
        s.release(b);
    } else {
        s.user(is_longer_first ? 1 : 0).crash();
        s.run_to(b_began + 100ms);
        s.expect(all_end_at(s, b, b_began + 101010us), "the shorter share keeps its end");
    }
    s.run_to(b_began + 125ms);
    s.expect(!s.has_key(0, b) && !s.has_key(1, b) && !s.has_key(2, b), "the shorter share is gone");
    s.expect(all_end_at(s, a, a_began + 301010us), "the longer share is unchanged");
    s.run_to(a_began + 279ms);
    s.expect(a.held() && !w.told, "the longer lease is held until its validity ends");
    s.run_to(a_began + 294ms);
    s.expect(about(a.lost, a_began + 280ms) && !w.told, "the longer lease is lost in time");
    s.run_to(a_began + 365ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
}

/// The first renewal of a reader is under way, on a connection that broke, when its holder asks for more time.
void late_renewal_of_a_share(stage& s, int) {
    const spec readers = readers_side_of(s.writers_lock());
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    taking& b = s.acquire(1, readers);
    s.run_to(100500us);
    s.user(0).to(0).reset(200ms);
    s.run_to(250ms);
    s.user(0).extend(a.lease, 600ms);
    s.run_to(299ms);
    s.expect(s.count(fault::straggler) == 0, "the late renewal has not arrived yet");
    s.expect(all_end_at(s, a, 851010us), "the share is extended");
    s.run_to(302ms);
    s.expect(s.count(fault::straggler) == 1, "the late renewal has arrived");
    s.expect(all_end_at(s, a, 851010us), "the late renewal does not shorten the share");
    s.expect(all_end_at(s, b, 513020us), "the share of the other reader is unchanged");
    s.release(a);
    s.release(b);
}

/// A reader stands still for longer than its lease is valid, and gives it back late. Meanwhile another one reads (take 0), or a
/// writer is inside (take 1). Or a release is executed twice (take 2).
void late_release_of_a_share(stage& s, int take) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    taking& b = s.acquire(1, readers);
    s.run_to(20ms);
    taking& w = s.acquire(2, writers);
    s.run_to(50ms);
    if (take == 2) {
        s.release(a);
        s.run_to(50500us);
        for (std::size_t i = 0; i != 3; ++i) {
            s.user(0).to(i).reset(340ms);
        }
        s.run_to(200ms);
        s.expect(s.count(fault::straggler) == 0 && s.has_done(0), "the share is released once");
    } else {
        s.user(0).pause(350ms);
        s.run_to(200ms);
    }
    if (take == 1) {
        s.release(b);
    }
    s.run_to(380ms);
    s.expect(!s.has_key(0, a) && !s.has_key(1, a) && !s.has_key(2, a), "the share is gone");
    taking& inside = take == 1 ? w : b;
    s.expect(inside.held() && w.held() == (take == 1), "another client holds the lock");
    s.run_to(410ms);
    s.expect(take == 2 ? s.count(fault::straggler) == 3 : about(a.lost, 400ms),
             "the late release has arrived");
    s.expect(s.has_done(0), "the late release was executed");
    s.expect(inside.held() && s.has_key(0, inside) && s.has_key(1, inside) && s.has_key(2, inside),
             "the late release deletes no other share");
    s.expect(w.held() == (take == 1), "the late release lets no writer in");
    s.release(inside);
    s.run_to(475ms);
    if (take != 1) {
        s.expect(w.held(), "the writer waits only for live readers");
        s.release(w);
    }
}

/// A writer has been denied, and gives up (take 0), or dies (take 1). The reader that was in its way goes on.
void writer_gives_up(stage& s, int take) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    taking& w = s.acquire(1, writers);
    s.run_to(100ms);
    if (take == 0) {
        s.cancel(w);
        s.run_to(110ms);
        taking& b = s.acquire(2, readers);
        s.run_to(120ms);
        s.expect(a.held() && b.held(), "a cancelled writer removes its writer mark");
        s.release(a);
        s.release(b);
        return;
    }
    s.user(1).crash();
    s.run_to(110ms);
    const duration end = s.instance(0).lasts_until(stage::key).time_since_epoch();
    s.expect(end > 1s && end <= 1102ms,
             "the writer mark lasts for one second after the last attempt");
    taking& b = s.acquire(2, readers);
    s.run_to(end - 1ms);
    s.expect(a.held() && !b.told, "the writer mark keeps new readers out");
    s.run_to(end + 70ms);
    s.expect(a.held() && b.held(), "new readers enter when the writer mark has expired");
    s.release(a);
    s.release(b);
}

/// A writer that waits for a reader has died, and the clocks of all servers are set back. Its mark would keep readers out for as
/// long as that took.
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

/// The readers of two clients come in turn, so that one always reads, and a writer waits: it polls, or is told. In that case it
/// is patient, and no renewals wake it.
void overlapping_readers(stage& s, int) {
    spec& writers = s.writers_lock();
    spec readers = readers_side_of(writers);
    if (s.servers_of(0).kind().tells_changes) {
        writers.policy.retry = {1min, 1min};
        readers.policy.lease.ttl = 10s;
        readers.policy.lease.renew_interval = 0ms;
    }
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    taking& w = s.acquire(1, writers);
    s.run_to(50ms);
    std::vector<taking*> late;
    for (int i = 0; i != 10; ++i) {
        late.push_back(&s.acquire(i % 2 == 0 ? 2 : 3, readers));
        s.run_to(s.now() + 150ms);
        s.expect(a.held() && !w.told && !late.back()->told, "no later reader overtakes the writer");
    }
    s.release(a);
    s.run_to(s.now() + 70ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
    s.run_to(s.now() + 70ms);
    for (taking* const one : late) {
        s.expect(one->held(), "all readers acquire the lock after the writer");
        s.release(*one);
    }
}

/// A mutex that waits for as long as it takes.
spec& patient_lock(stage& s) {
    spec& result = s.lock();
    result.policy.attempts = 0;
    result.policy.retry = {4ms, 250ms};
    return result;
}

taking& take_for_a_minute(stage& s, std::size_t user) {
    spec& lock = s.lock();
    lock.policy.lease.ttl = 1min;
    lock.policy.lease.renew_interval = 0ms;
    return s.acquire(user, lock);
}

/// The first asks all instances now and then, and its keeper for its place. The other asks the keeper alone. The first
/// loses one of its connections, and does not hear another one, when the lock is released. So only one instance tells it.
void idle_waiters(stage& s, int take) {
    taking& a = take_for_a_minute(s, 0);
    s.run_to(10ms);
    taking& b = s.acquire(1, patient_lock(s));
    s.run_to(20ms);
    taking& c = s.acquire(2, patient_lock(s));
    s.run_to(12s);
    const std::uint64_t before = s.commands();
    s.run_to(24s);
    s.expect(a.held() && !b.told && !c.told, "two clients wait");
    s.expect(s.commands() - before <= 40, "the waiting clients send few commands");
    s.disconnect(1, static_cast<std::size_t>(take));
    s.deafen(1, static_cast<std::size_t>(take + 1) % 3, s.now() + 1s);
    s.release(a);
    s.run_to(24s + 500ms);
    s.expect(b.held() != c.held(), "exactly one waiter acquires the lock");
    taking& next = b.held() ? c : b;
    s.release(b.held() ? b : c);
    s.run_to(s.now() + 20ms);
    s.expect(next.held(), "the other waiter is woken");
    s.release(next);
}

/// The first dies, so nobody is told of the release. The other has waited for long, and looks again before that has doubled.
void idle_waiter_behind_a_dead_one(stage& s, int) {
    taking& a = take_for_a_minute(s, 0);
    s.run_to(10ms);
    s.acquire(1, patient_lock(s));
    s.run_to(20ms);
    taking& c = s.acquire(2, patient_lock(s));
    s.run_to(2s);
    s.user(1).crash();
    s.release(a);
    s.run_to(3s + 50ms);
    s.expect(c.held(), "the waiter does not wait for a dead client");
    s.release(c);
}

/// Two readers wait in the remote queue, behind the mark of a writer that has died; and behind them another writer does. It
/// tries once more when the reader before it gives up.
void writer_behind_a_reader(stage& s, int) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, readers);
    s.run_to(10ms);
    s.acquire(1, writers);
    s.run_to(50ms);
    s.user(1).crash();
    const duration end = s.instance(0).lasts_until(stage::key).time_since_epoch();
    taking& b = s.acquire(2, readers);
    s.run_to(100ms);
    taking& c = s.acquire(3, readers);
    s.run_to(200ms);
    taking& w = s.acquire(4, writers);
    s.run_to(300ms);
    s.cancel(c);
    s.run_to(end - 1ms);
    s.expect(a.held() && !b.told && !w.told,
             "the writer mark of the dead writer keeps all waiters out");
    s.run_to(end + 70ms);
    s.expect(b.held() && !w.told,
             "the reader that came first is not kept out by another writer mark");
    s.release(a);
    s.release(b);
    s.run_to(s.now() + 20ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
}

/// A mutex waits for readers that overlap, and a reader waits behind it in the remote queue. The reader has met the queue before
/// (take 0), or was denied (take 1). It does not wait for longer than 5 s. It renews nothing, so that no renewals wake anybody.
void reader_behind_a_mutex(stage& s, int take) {
    spec& writers = s.writers_lock();
    writers.policy.lease.ttl = 20s;
    writers.policy.lease.renew_interval = 0ms;
    const spec readers = readers_side_of(writers);
    spec mutex = writers;
    mutex.policy.set_kind(kinds::exclusive);
    mutex.policy.attempt_interval = {};
    taking* reading = nullptr;
    taking* waiting = nullptr;
    taking* behind = nullptr;
    if (take == 0) {
        reading = &s.acquire(0, readers);
        s.run_to(10ms);
        waiting = &s.acquire(1, mutex);
        s.run_to(5s);  // from now on it keeps its ticket without a word
        s.acquire(4, writers, s.user(4).now() + 10ms);
        s.run_to(s.now() + 20ms);
        behind = &s.acquire(4, readers);
    } else {
        taking& holder = s.acquire(0, mutex);
        s.run_to(10ms);
        waiting = &s.acquire(1, mutex);
        s.run_to(5s);  // from now on it keeps its ticket without a word
        behind = &s.acquire(4, readers);
        s.run_to(s.now() + 20ms);
        s.release(holder);
        reading = &s.acquire(2, readers);  // is there before the others are told
    }
    const duration since = s.now();
    std::size_t next = 2;
    while (s.now() < since + 4900ms) {
        s.run_to(s.now() + 50ms);
        taking& another = s.acquire(next, readers);
        s.run_to(s.now() + 50ms);
        s.expect(another.held() && !waiting->told, "new readers acquire the lock");
        s.release(*reading);
        reading = &another;
        next = next == 2 ? 3 : 2;
    }
    s.run_to(since + 5100ms);
    s.expect(behind->held(), "the waiting reader acquires the lock within 5 s");
    s.release(*behind);
    s.release(*reading);
    s.run_to(s.now() + 300ms);
    s.expect(waiting->held(), "the mutex acquires the lock");
    s.release(*waiting);
}

/// A writer has the lock while the release of a reader is still on its way to one of the instances.
void mark_at_a_minority(stage& s, int) {
    const spec& writers = s.writers_lock();
    taking& a = s.acquire(0, readers_side_of(writers));
    s.run_to(10ms);
    taking& w = s.acquire(1, writers);
    s.run_to(40ms);
    s.mute(0, 2, 80ms);
    s.release(a);
    s.run_to(60ms);
    s.expect(w.held() && !s.has_key(2, w), "the writer holds the lock on two instances");
    s.release(w);
    s.run_to(90ms);
    s.expect(s.keys() == 0, "no writer mark remains");
}

/// Readers of three clients wait for a writer: they poll, or are told.
void readers_enter_together(stage& s, int) {
    const bool is_told = s.servers_of(0).kind().tells_changes;
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, writers);
    std::vector<taking*> waiting;
    for (std::size_t user = 0; user != 3; ++user) {
        s.run_to(s.now() + 10ms);
        waiting.push_back(&s.acquire(user, readers));
        waiting.push_back(&s.acquire(user, readers));
    }
    s.run_to(400ms);
    for (const taking* const one : waiting) {
        s.expect(a.held() && !one->told, "only the writer holds the lock");
    }
    s.release(a);
    s.run_to(is_told ? 420ms : 470ms);
    for (const taking* const one : waiting) {
        s.expect(one->held(), "all readers hold the lock together");
    }
    taking& w = s.acquire(3, writers);
    s.run_to(700ms);
    s.expect(!w.told, "the readers keep a writer out");
    for (taking* const one : waiting) {
        s.release(*one);
    }
    s.run_to(is_told ? 720ms : 770ms);
    s.expect(w.held(), "the writer is woken by the last release");
    s.release(w);
}

/// It has waited itself, for client 2. There are readers that wait at its own client, and at another: that one polls, or
/// is told.
void downgrade_admits_readers(stage& s, int) {
    const bool is_told = s.servers_of(0).kind().tells_changes;
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& before = s.acquire(2, writers);
    s.run_to(10ms);
    taking& a = s.acquire(0, writers);
    s.run_to(20ms);
    s.release(before);
    s.run_to(100ms);
    taking& b = s.acquire(0, readers);
    taking& c = s.acquire(1, readers);
    s.run_to(150ms);
    s.expect(a.held() && !b.told && !c.told, "only the writer holds the lock");
    const auto downgrade = s.user(0).downgrade(a.lease, readers);
    s.run_to(152ms);
    s.expect(!b.told && !c.told, "readers wait until a quorum has answered the downgrade");
    s.run_to(153ms);
    s.expect(downgrade->done() && a.held(), "the lease is a reader's lease");
    s.expect(b.held() && b.token() == a.token(), "a reader of the same client shares the lease");
    s.run_to(is_told ? 160ms : 220ms);
    s.expect(c.held() && c.token() != a.token(),
             "a reader of another client gets a lease of its own");
    taking& d = s.acquire(2, writers);
    s.run_to(400ms);
    s.release(a);
    s.run_to(500ms);
    s.release(c);
    s.run_to(600ms);
    s.expect(b.held() && !d.told, "a writer waits until the last reader releases");
    s.release(b);
    s.run_to(800ms);
    s.expect(d.held(), "the writer acquires the lock");
    s.release(d);
}

/// Two instances do not hear it. A reader may hold what one of them has not.
void downgrade_without_quorum(stage& s, int) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, writers);
    s.run_to(10ms);
    taking& b = s.acquire(0, readers);
    taking& c = s.acquire(1, readers);
    s.run_to(50ms);
    s.mute(0, 1, 150ms);
    s.mute(0, 2, 150ms);
    const auto first = s.user(0).downgrade(a.lease, readers);
    s.run_to(90ms);
    s.expect(first->result() == runtime::lease_result::no_quorum,
             "a downgrade on one of three instances fails");
    s.run_to(149ms);
    s.expect(a.held() && !b.told && !c.told, "the lease is held and admits no reader");
    s.run_to(250ms);
    s.expect(c.held(), "the lease is renewed as a reader's lease");
    s.expect(!b.told, "the readers of its client still wait");
    const auto second = s.user(0).downgrade(a.lease, readers);
    s.run_to(255ms);
    s.expect(second->done() && b.held() && b.token() == a.token(),
             "a second downgrade lets the readers of its client in");
    s.release(a);
    s.release(b);
    s.release(c);
    s.run_to(260ms);
    s.expect(s.keys() == 0, "no key remains");
}

/// Each begins when the one before has ended, and the client admits readers once.
void second_downgrade(stage& s, int) {
    spec& writers = s.writers_lock();
    writers.policy.handoff.time = 50ms;
    const spec readers = readers_side_of(writers);
    spec others = readers;
    others.policy.lease.ttl = 200ms;
    taking& a = s.acquire(0, writers);
    s.run_to(10ms);
    taking& b = s.acquire(0, readers);
    s.run_to(20ms);
    const auto first = s.user(0).downgrade(a.lease, readers);
    s.run_to(21ms);
    const auto second = s.user(0).downgrade(a.lease, others);
    s.run_to(23ms);
    s.expect(first->done() && b.held() && !second->done(), "the first downgrade is answered");
    s.run_to(25ms);
    s.expect(second->done() && s.grants().size() == 9, "the second downgrade is answered");
    s.run_to(60ms);
    const auto third = s.user(0).downgrade(a.lease, others);
    s.expect(third->done(), "the third downgrade has nothing to do");
    s.run_to(73ms);
    taking& c = s.acquire(0, readers);
    s.run_to(80ms);
    s.expect(c.held() && c.token() != a.token(), "a late reader gets a lease of its own");
    taking& d = s.acquire(0, others);
    s.run_to(90ms);
    s.expect(d.held() && d.token() != a.token(),
             "a reader with other options gets a lease of its own");
    for (taking* const one : {&a, &b, &c, &d}) {
        s.release(*one);
    }
    s.run_to(95ms);
    s.expect(s.keys() == 0, "no key remains");
}

/// The lease is lost, as strangers delete its keys (take 0) or its client closes (take 1); or its holder lets it go (take 2).
void lost_during_downgrade(stage& s, int take) {
    using runtime::lease_result;
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, writers);
    s.run_to(50ms);
    taking& b = s.acquire(0, readers);
    if (take == 0) {
        s.instance(0).delete_key(stage::key);
        s.instance(1).delete_key(stage::key);
    }
    const auto first = s.user(0).downgrade(a.lease, readers);
    const auto second = s.user(0).downgrade(a.lease, readers);
    s.run_to(50500us);
    if (take == 1) {
        s.user(0).close();
    } else if (take == 2) {
        s.release(a);
    }
    s.run_to(53ms);
    s.expect(first->told && second->told, "both downgrades have ended");
    const lease_result expected = take == 2 ? lease_result::not_held : lease_result::ended;
    s.expect(first->result() == expected && second->result() == expected,
             "both downgrades report the reason");
    if (take != 2) {
        s.expect(a.lost && !a.held() && !b.granted(), "the lost lease is not shared");
        s.release(a);
    }
    s.run_to(100ms);
    if (take != 1) {
        s.expect(b.held() && b.token() != a.token(), "the next reader gets a lease of its own");
        s.release(b);
    }
    s.run_to(110ms);
    s.expect(s.keys() == 0 && s.has_done(0),
             "no key remains and the client has nothing left to do");
}

/// Though a writer waits. The lease is a reader's (takes 0 and 1), or a writer's that was downgraded; the former holder lets
/// go first (takes 0 and 2), or the new one does.
void share_then_release(stage& s, int take) {
    const spec& writers = s.writers_lock();
    const spec readers = readers_side_of(writers);
    taking& a = s.acquire(0, take < 2 ? readers : writers);
    s.run_to(10ms);
    if (take >= 2) {
        s.expect(!s.share(a, readers).granted(), "a writer's lease cannot be shared");
        s.user(0).downgrade(a.lease, readers);
    }
    s.run_to(20ms);
    taking& w = s.acquire(1, writers);
    s.run_to(50ms);
    taking& b = s.share(a, readers);
    s.expect(b.held(), "the share takes no round trip");
    taking& first = take % 2 == 0 ? a : b;
    taking& last = take % 2 == 0 ? b : a;
    s.release(first);
    s.run_to(450ms);
    s.expect(!first.held() && last.held() && !w.told, "the other holder still holds the lease");
    s.expect(s.keys() == 3, "the keys are renewed");
    s.release(last);
    s.run_to(600ms);
    s.expect(!last.held() && w.held(), "the writer acquires the lock after the last release");
    s.release(w);
}

// --- Failovers --------------------------------------------------------------------------------------

constexpr auto for_long = true_time(10s);

/// The lock of client 0 has reached no replica when its server dies.
void promoted_replica_lacks_a_lock(stage& s, int) {
    s.servers_of(0).cut_replication(for_long);
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(50ms);
    s.expect(a.held() && s.keys() == 1, "the lease is held");
    s.servers_of(0).fail_over(0, voter::former::dead, 5s);
    s.run_to(60ms);
    s.expect(s.keys() == 0, "the promoted replica lacks the key");
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(279ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.expect(s.count(fault::quarantined) > 0, "the promoted replica is quarantined");
    s.run_to(3s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// The same without a quarantine: the loss is real, and the holder hears of it when it renews.
void lost_lock_without_quarantine(stage& s, int) {
    s.servers_of(0).cut_replication(for_long);
    taking& a = s.acquire(0);
    s.run_to(50ms);
    s.servers_of(0).fail_over(0, voter::former::dead, 5s);
    s.run_to(60ms);
    taking& b = s.acquire(1);
    s.run_to(70ms);
    s.expect(a.held() && b.held(), "two clients hold the lock");
    s.run_to(110ms);
    s.expect(about(a.lost, 102ms), "the first client detects the loss when it renews");
    s.release(a);
    s.release(b);
}

/// The old master is alive, and client 0, which no Sentinel reaches for a while, takes a lock there. Client 1 knows of
/// the failover at once.
void failover_noticed_late(stage& s, int) {
    s.servers_of(0).cut_replication(for_long);
    for (std::size_t i = 0; i != voter::sentinel_count; ++i) {
        s.user(0).to(0).cut_sentinel(i, true_time(350ms));
    }
    s.run_to(100ms);
    s.servers_of(0).fail_over(0, voter::former::alive, 10s);
    s.run_to(110ms);
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(300ms);
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(579ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.run_to(1s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// The old master is alive, and Sentinel 0, which is cut off, still names it; client 1 does not hear that Sentinel.
/// Client 0 hears all three (take 0), or not Sentinel 1 (take 1), so that it knows of no majority.
void old_master_is_named_by_some(stage& s, int take) {
    s.servers_of(0).cut_sentinel(0, for_long);
    s.user(1).to(0).cut_sentinel(0, for_long);
    if (take == 1) {
        s.user(0).to(0).cut_sentinel(1, for_long);
    }
    s.run_to(500ms);
    s.servers_of(0).fail_over(0, voter::former::alive, 10s);
    s.run_to(3s);
    taking& b = s.acquire(1);
    s.run_to(3050ms);
    s.expect(b.held(), "the new master grants when its quarantine has ended");
    taking& a = s.acquire(0);
    s.run_to(3100ms);
    s.expect(a.told && !a.held(), "the old master is not used any more");
    s.release(b);
}

/// Client 1 does not know yet that the slot has moved to a node, and that a replica of it, which lacks the lock, has
/// taken over.
void moved_to_a_promoted_node(stage& s, int) {
    voter& cluster = s.servers_of(0);
    const std::size_t slot = cluster.slot_of(stage::key);
    const std::size_t to = (slot + 1) % voter::master_count;
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(10ms);
    s.expect(a.held(), "the lease is held");
    cluster.cut_replication(for_long);
    cluster.move_slot(slot, to);
    s.expect(s.has_key(0, a), "the key moves with its slot");
    cluster.fail_over(to, voter::former::dead, 5s);
    s.expect(!s.has_key(0, a), "the promoted replica lacks the key");
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(20ms);
    s.expect(s.count(fault::moved) > 0, "the former node redirects the command");
    s.run_to(279ms);
    s.expect(a.held() && !b.held(), "only one client holds the lock");
    s.run_to(2s);
    s.expect(b.held(), "the second client acquires the lock afterwards");
    s.release(b);
}

/// Another cluster answers at the addresses of the first one, which has granted a lock. It has been up for long.
void another_cluster_at_its_addresses(stage& s, int) {
    spec& l = s.lock();
    l.policy.lease.renew_interval = 0ms;
    taking& a = s.acquire(0, l);
    s.run_to(10ms);
    s.expect(a.held(), "the lease is held");
    s.servers_of(0).become_another_cluster(5);
    s.expect(!s.has_key(0, a), "the other cluster lacks the key");
    spec& patient = s.lock();
    patient.policy.attempts = 0;
    taking& b = s.acquire(1, patient);
    s.run_to(279ms);
    s.expect(a.held() && !b.held(), "the other cluster grants nothing at first");
    s.run_to(2900ms);
    s.expect(!b.held(), "the other cluster grants nothing right after its map is followed");
    s.run_to(4s);
    s.expect(b.held(), "the other cluster grants after its quarantine");
    s.release(b);
}

/// The replica is cut off, and then promoted.
void grant_that_no_replica_has(stage& s, int) {
    s.servers_of(0).cut_replication(true_time(100ms));
    taking& a = s.acquire(0);
    s.run_to(30ms);
    s.expect(a.told && !a.granted(), "the grant is rejected");
    s.expect(s.count(fault::not_replicated) == 1, "the replica has not acknowledged the grant");
    s.expect(s.keys() == 0, "the grant is rolled back");
    s.servers_of(0).fail_over(0, voter::former::dead, 20ms);
    s.run_to(200ms);
    taking& b = s.acquire(1);
    s.run_to(220ms);
    s.expect(b.held() && s.has_key(0, b), "a grant counts when a replica has acknowledged it");
    s.servers_of(0).fail_over(1, voter::former::dead, 20ms);
    s.run_to(230ms);
    s.expect(s.has_key(0, b), "the promoted replica has the key");
    s.release(b);
}

}  // namespace

const std::vector<scenario>& scenarios() {
    constexpr core::drift_bound ordinary{};
    static const std::vector<scenario> all = {
        {"fault_01_sim_cancel_before_the_send",
         "an acquire is cancelled in the turn in which it began",
         {},
         1,
         cancel_before_the_send,
         {"acquire_after_give_back"}},
        {"fault_02_sim_cancel_after_the_send",
         "an acquire is cancelled after two instances have granted and while one is silent",
         {},
         1,
         cancel_after_the_send,
         {"undo_only_where_granted", "attempt_without_undo"}},
        {"fault_03_sim_grant_races_cancellation",
         "an acquire is cancelled at any moment from its start to its end",
         {},
         60,
         grant_races_cancellation,
         {"undo_only_where_granted", "attempt_without_undo", "acquire_after_give_back"}},
        {"fault_04_sim_end_during_release",
         "a client is closed or crashes during a release",
         {},
         3,
         end_during_release,
         {"release_not_tried_again"}},
        {"fault_05_sim_cancel_during_renewal",
         "another acquire is cancelled, or the client is closed, during a renewal",
         {3, 2},
         2,
         cancel_during_renewal,
         {"release_without_token_check"}},
        {"fault_05_sim_cancel_while_raising",
         "an acquire is cancelled at any moment while its fence is written back",
         {},
         45,
         cancel_while_raising,
         {"attempt_without_undo"}},
        {"fault_07_sim_old_set_after_release",
         "the SET of an old connection arrives after the release that rolls it back",
         {3, 2},
         1,
         old_set_after_release,
         {"extend_without_token_check"}},
        {"fault_09_sim_late_release_of_attempt_1",
         "the release of an earlier attempt arrives after a later attempt has won",
         {},
         1,
         late_release_of_attempt_1,
         {"release_without_token_check", "one_token_for_all"}},
        {"fault_11_sim_release_races_renewal",
         "a lease is released at any moment around its renewal",
         {},
         50,
         release_races_renewal,
         {"extend_after_release"}},
        {"fault_12_sim_renewal_in_flight_at_release",
         "an extend arrives after the release, and a key is restored before the release",
         {},
         2,
         renewal_in_flight,
         {"extend_recreates", "heal_not_given_back"}},
        {"fault_13_sim_renewals_fail_on_a_majority",
         "renewals fail because two of three instances are unreachable",
         {},
         1,
         renewals_fail,
         {"loss_without_notice", "never_renews"}},
        {"fault_14_sim_no_resurrection",
         "a renewal succeeds after the lease was lost",
         {},
         3,
         no_resurrection,
         {"no_end_of_validity"}},
        {"fault_17_sim_max_hold",
         "a lease is never released and reaches max_hold",
         {},
         1,
         max_hold,
         {"max_hold_ignored", "never_renews"}},
        {"fault_21_sim_fast_server",
         "a server's clock runs 10 % fast, within the drift bound",
         {3, 2, {0.11, 2ms}},
         1,
         fast_server,
         {"no_drift"}},
        {"fault_21_sim_jump_forward",
         "a server's clock is set forward",
         {3, 2},
         1,
         jump_forward,
         {"half_is_a_quorum"}},
        {"fault_21_sim_jump_back",
         "a server's clock is set back",
         {3, 2},
         1,
         jump_back,
         {"extend_without_token_check"}},
        {"fault_21_sim_mark_before_a_jump",
         "the servers' clocks are set back while the writer mark of a dead writer exists",
         {3, 3},
         1,
         mark_before_a_jump,
         {"mark_from_before_a_jump"}},
        {"fault_23_sim_acquire_too_slow",
         "a quorum grants after the validity has ended",
         {},
         1,
         acquire_too_slow,
         {"too_slow_is_believed"}},
        {"fault_24_sim_restart_without_data",
         "one of the two servers that granted restarts without its data",
         {3, 2, ordinary, 1s},
         2,
         restart_without_data,
         {"quarantine_off", "quarantine_too_short"}},
        {"fault_24_sim_first_contact",
         "all servers have just started",
         {3, 2, ordinary, 1s},
         1,
         first_contact,
         {"quarantine_is_an_outage"}},
        {"fault_24_sim_late_vote_beside_a_quarantine",
         "one server has just started, and another answers late",
         {3, 1, ordinary, 1s},
         1,
         late_vote_beside_a_quarantine,
         {"quarantine_hides_a_late_vote"}},
        {"fault_24_sim_restart_at_the_end_of_a_second",
         "one of the two servers that granted restarts without its data just before a second ends",
         {3, 2, ordinary, 1s},
         1,
         restart_at_the_end_of_a_second,
         {"uptime_is_believed"}},
        {"fault_29_sim_stopped_server",
         "one server is stopped",
         {},
         1,
         stopped_server,
         {"waits_for_the_silent", "silence_is_consent"}},
        {"fault_07_sim_key_made_after_its_release",
         "a stopped server executes an acquire long after the release, on a closed connection",
         {},
         1,
         key_made_after_its_release,
         {"release_given_up_while_open"}},
        {"fault_36_sim_fence_told_to_too_few",
         "only two of five instances store a fence that is written back",
         {5, 2},
         1,
         fence_told_to_too_few,
         {"majority_of_the_granted"}},
        {"fault_25_sim_hand_off_after_a_rollback",
         "a server loses the last fences that it has counted",
         {1, 1, ordinary, 1s},
         1,
         hand_off_after_a_rollback,
         {"fence_counted_in_quarantine"}},
        {"fault_20_sim_hand_off_after_the_end",
         "the validity of a lease ends during its hand-off",
         {},
         1,
         hand_off_after_the_end,
         {"handed_off_when_it_is_over"}},
        {"fault_14_sim_lost_lease_with_a_waiter",
         "a lost lease is released while another waiter of its client waits for the lock",
         {},
         1,
         lost_lease_with_a_waiter,
         {"handed_off_when_lost"}},
        {"fault_37_sim_dead_reader",
         "one of two readers dies, and a writer waits until its share expires",
         {3, 3},
         3,
         dead_reader,
         {"renewal_for_all_readers", "dead_reader_stays", "key_outlives_its_readers"}},
        {"fault_38_sim_readers_with_different_ttls",
         "two readers have different ttls, in both orders",
         {3, 3},
         4,
         readers_with_different_ttls,
         {"newcomer_shortens_the_others", "key_lives_with_the_newest", "renewal_of_the_key_alone"}},
        {"fault_38_sim_late_renewal_of_a_share",
         "the renewal of an old connection arrives after a longer one",
         {3, 2},
         1,
         late_renewal_of_a_share,
         {"late_extend_shortens_a_share"}},
        {"fault_39_sim_late_release_of_a_share",
         "a reader's release arrives after its share has expired, or twice",
         {3, 3},
         3,
         late_release_of_a_share,
         {"share_takes_all", "release_without_token_check"}},
        {"fault_40_sim_downgrade_admits_readers",
         "a writer downgrades its lease while others wait to read",
         {3, 3},
         1,
         downgrade_admits_readers,
         {"downgrade_admits_at_once", "downgrade_is_an_extend", "downgraded_is_exclusive"}},
        {"fault_40_sim_downgrade_with_remote_queue",
         "a writer downgrades its lease while other clients wait in the remote queue",
         {3, 3, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         downgrade_admits_readers,
         {"downgrade_is_an_extend", "left_without_a_word"}},
        {"fault_40_sim_downgrade_without_quorum",
         "a downgrade reaches one of three instances and is repeated",
         {3, 2},
         1,
         downgrade_without_quorum,
         {"downgrade_without_quorum"}},
        {"fault_40_sim_second_downgrade",
         "a second downgrade with other options starts during the first",
         {},
         1,
         second_downgrade,
         {"second_downgrade_forgotten", "second_downgrade_admits_again"}},
        {"fault_40_sim_lost_during_downgrade",
         "a lease is lost or released during its downgrade",
         {},
         3,
         lost_during_downgrade,
         {"downgrade_without_end"}},
        {"fault_41_sim_share_then_release",
         "a reader's lease is shared while a writer waits, and released in both orders",
         {3, 2},
         4,
         share_then_release,
         {"writer_shares", "downgraded_says_writer", "released_with_the_first"}},
        {"fault_42_sim_writer_gives_up",
         "a writer that waited for readers gives up or dies",
         {3, 3},
         2,
         writer_gives_up,
         {"mark_renewed_by_readers", "mark_is_left"}},
        {"fault_42_sim_overlapping_readers",
         "readers of several clients arrive one by one while a writer waits",
         {3, 4},
         1,
         overlapping_readers,
         {"mark_is_ignored", "no_mark", "mark_keeps_one_out"}},
        {"fault_42_sim_overlapping_readers_with_remote_queue",
         "readers of several clients arrive one by one and wait in the remote queue",
         {3, 4, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         overlapping_readers,
         {"first_writer_leaves_no_mark", "waiting_writer_sleeps"}},
        {"fault_42_sim_mark_at_a_minority",
         "a writer gets a quorum before a reader's release has reached all instances",
         {3, 2, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         mark_at_a_minority,
         {"mark_is_left_by_a_holder"}},
        {"fault_59_sim_idle_waiters",
         "long-waiting clients send few commands and are woken in time",
         {3, 3, ordinary, {}, {topology::standalone, 0, 0, true}},
         3,
         idle_waiters,
         {"waiter_asks_often", "told_by_one", "ticket_is_left_behind"}},
        {"fault_56_sim_idle_waiter_behind_a_dead_one",
         "a long-waiting client is queued behind a client that dies",
         {3, 3, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         idle_waiter_behind_a_dead_one,
         {"queue_never_looks_again"}},
        {"fault_43_sim_writer_behind_a_reader",
         "readers and a writer wait in the remote queue",
         {3, 5, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         writer_behind_a_reader,
         {"mark_before_its_turn", "mark_of_a_guess"}},
        {"fault_43_sim_readers_enter_together",
         "readers of several clients wait for a writer",
         {3, 4},
         1,
         readers_enter_together,
         {"readers_enter_one_by_one"}},
        {"fault_43_sim_readers_with_remote_queue",
         "readers of several clients wait for a writer in the remote queue",
         {3, 4, ordinary, {}, {topology::standalone, 0, 0, true}},
         1,
         readers_enter_together,
         {"readers_enter_one_by_one"}},
        {"fault_87_sim_share_of_a_lost_lease",
         "a reader's lease loses its keys and is shared after another client has written",
         {3, 2},
         3,
         share_of_a_lost_lease,
         {"shared_without_asking", "shared_with_an_old_fence"}},
        {"fault_88_sim_nobody_answers",
         "the caller's deadline passes before any instance has answered",
         {3, 1},
         3,
         nobody_answers,
         {"silence_is_a_denial", "front_is_always_in_the_way"}},
        {"fault_97_sim_reader_behind_a_mutex",
         "a reader waits behind a mutex while new readers enter",
         {3, 5, ordinary, {}, {topology::standalone, 0, 0, true}},
         2,
         reader_behind_a_mutex,
         {"queued_reader_sleeps", "parked_reader_sleeps"}},
        {"fault_67_sim_promoted_replica_lacks_a_lock",
         "Sentinels promote a replica that lacks a lock",
         {1, 2, ordinary, 1s, {topology::sentinel, 1}},
         1,
         promoted_replica_lacks_a_lock,
         {"failover_quarantine_off"}},
        {"fault_67_sim_lost_lock_without_quarantine",
         "Sentinels promote a replica without a quarantine, and two clients hold the lock",
         {1, 2, ordinary, {}, {topology::sentinel, 1}},
         1,
         lost_lock_without_quarantine,
         {"extend_without_token_check", "never_renews"}},
        {"fault_67_sim_failover_noticed_late",
         "a client uses the old master after others have noticed the failover",
         {1, 2, ordinary, 300ms, {topology::sentinel, 1}},
         1,
         failover_noticed_late,
         {"failover_quarantine_off", "all_notice_at_once"}},
        {"fault_67_sim_old_master_is_named_by_some",
         "the old master is alive, and an isolated Sentinel still names it",
         {1, 2, ordinary, 1s, {topology::sentinel, 1}},
         2,
         old_master_is_named_by_some,
         {"minority_of_the_sentinels", "contradiction_is_ignored"}},
        {"fault_70_sim_moved_to_a_promoted_node",
         "a client is redirected to a promoted replica that lacks a lock",
         {1, 2, ordinary, 1s, {topology::cluster, 1}},
         1,
         moved_to_a_promoted_node,
         {"failover_quarantine_off", "quarantine_after_moved_ignored"}},
        {"fault_91_sim_another_cluster_at_its_addresses",
         "another cluster answers at the addresses of the nodes",
         {1, 2, ordinary, 1s, {topology::cluster}},
         1,
         another_cluster_at_its_addresses,
         {"another_cluster_is_believed", "another_cluster_without_quarantine",
          "replaced_server_is_trusted"}},
        {"fault_75_sim_grant_that_no_replica_has",
         "a replica has not acknowledged a grant when a failover happens",
         {1, 2, ordinary, {}, {topology::sentinel, 1, 1}},
         1,
         grant_that_no_replica_has,
         {"wait_is_ignored"}},
        {"fault_113_sim_more_than_the_servers_can_do",
         "each user is served, and the servers stay busy, however many users there are",
         {},
         8,
         nullptr,
         {"attempts_pass_the_gate", "late_answers_do_not_matter", "newcomers_first_at_the_gate"},
         "busy"},
    };
    return all;
}

const scenario* find_scenario(std::string_view name) {
    const auto found = std::find_if(scenarios().begin(), scenarios().end(),
                                    [name](const scenario& s) { return s.name == name; });
    return found == scenarios().end() ? nullptr : &*found;
}

std::vector<std::string> play(const scenario& s, bool trace) {
    const auto play_one = [&s](int take, bool told) {
        if (told) {
            std::cout << "take " << take + 1 << " of " << s.takes << '\n';
        }
        if (!s.profile.empty()) {
            return run_schedule(*find_profile(s.profile), static_cast<std::uint64_t>(take), told)
                .violations;
        }
        stage on(s.cast, told);
        s.script(on, take);
        return on.finish();
    };
    for (int take = 0; take != s.takes; ++take) {
        std::vector<std::string> violations = play_one(take, false);
        if (!violations.empty()) {
            return trace ? play_one(take, true) : violations;
        }
    }
    return trace ? play_one(0, true) : std::vector<std::string>();
}

}  // namespace colock::simulation
