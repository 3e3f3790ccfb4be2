// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Cancellations and ambiguous outcomes, in which the client cannot be certain what a server has executed.

#include "kinds/fenced/fenced.hpp"
#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {
namespace {

/// Takes and releases a lock, and returns the time. The first attempt of a client waits for its first turn.
/// Each later attempt is submitted immediately.
duration take_and_release(stage& s) {
    taking& first = s.hold(0, s.lock(), 10ms, "the first lease is granted");
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

/// Cancels at various moments while the votes arrive one after the other.
void grant_races_cancellation(stage& s, int take) {
    const duration start = take_and_release(s);
    for (std::size_t i = 0; i != 3; ++i) {
        s.deafen(0, {i}, start + 2100us + i * 200us);
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

/// Take 0: a connection breaks during the release. Take 1: the process ends before anything is sent. Take 2:
/// the client is closed during the release. A release itself cannot be cancelled.
void end_during_release(stage& s, int take) {
    taking& a = s.hold(0, s.lock(), 50ms);
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

/// Take 0 cancels the acquire of another client. Take 1 closes the client.
void cancel_during_renewal(stage& s, int take) {
    taking& a = s.hold(0, s.lock(), 99500us);
    taking* b = take == 0 ? &s.acquire(1, s.patient_lock()) : nullptr;
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

/// Cancels an acquire with fencing at various moments while its fence is written back. Instance 0 missed the
/// first holder, so its counter is behind.
void cancel_while_raising(stage& s, int take) {
    spec& fenced = s.lock();
    fenced.policy.set_kind(kinds::fenced);
    s.cut_off(0, {0}, 40ms);
    taking& a = s.hold(0, fenced, 10ms, "two grants are enough");
    s.release(a);
    s.run_to(100ms);
    s.expect(s.keys() == 0, "the lease is released");
    taking& b = s.wait(0, fenced, 102200us);
    s.expect(s.keys() == 3, "all instances have granted with different fences");
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
    taking& b = s.hold(1, s.lock(), 103ms, "another client can acquire the lock");
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

/// The first attempt gets no reply in time. When a later attempt succeeds, the first release is still in
/// flight on broken connections.
void late_release_of_attempt_1(stage& s, int) {
    s.deafen(0, {0, 1, 2}, 35ms);
    taking& a = s.acquire(0, s.patient_lock());
    const std::string first = a.token();
    s.run_to(30500us);
    s.break_all(0, 120ms);
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

/// Take 0: all instances are silent. Take 1: one of three has granted. Take 2: a reader waits for another
/// reader of its client.
void nobody_answers(stage& s, int take) {
    for (std::size_t i = take == 1 ? 1 : 0; i != 3; ++i) {
        s.cut_off(0, {i}, 100ms);
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

}  // namespace

const std::vector<scenario> cancellation_scenarios = {
    {"fault_01_sim_cancel_before_the_send",
     "an acquire is cancelled in the turn in which it began",
     {cancel_before_the_send},
     {"acquire_after_give_back"}},
    {"fault_02_sim_cancel_after_the_send",
     "an acquire is cancelled after two instances have granted and while one is silent",
     {cancel_after_the_send},
     {"undo_only_where_granted", "attempt_without_undo"}},
    {"fault_03_sim_grant_races_cancellation",
     "an acquire is cancelled at any moment from its start to its end",
     {grant_races_cancellation, 60},
     {"undo_only_where_granted", "attempt_without_undo", "acquire_after_give_back"}},
    {"fault_04_sim_end_during_release",
     "a client is closed or crashes during a release",
     {end_during_release, 3},
     {"release_not_tried_again"}},
    {"fault_05_sim_cancel_during_renewal",
     "another acquire is cancelled, or the client is closed, during a renewal",
     {cancel_during_renewal, 2},
     {"release_without_token_check"},
     with_clients(2)},
    {"fault_05_sim_cancel_while_raising",
     "an acquire is cancelled at any moment while its fence is written back",
     {cancel_while_raising, 45},
     {"attempt_without_undo"}},
    {"fault_07_sim_old_set_after_release",
     "the SET of an old connection arrives after the release that rolls it back",
     {old_set_after_release},
     {"extend_without_token_check"},
     with_clients(2)},
    {"fault_09_sim_late_release_of_attempt_1",
     "the release of an earlier attempt arrives after a later attempt has won",
     {late_release_of_attempt_1},
     {"release_without_token_check", "one_token_for_all"}},
    {"fault_88_sim_nobody_answers",
     "the caller's deadline passes before any instance has answered",
     {nobody_answers, 3},
     {"silence_is_a_denial", "front_is_always_in_the_way"}},
};

}  // namespace colock::simulation
