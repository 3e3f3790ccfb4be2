// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Clients that wait in the remote queue.

#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace colock::simulation {
namespace {

/// Returns a mutex that waits without a limit.
spec& patient_lock(stage& s) {
    spec& result = s.patient_lock();
    result.policy.retry = {4ms, 250ms};
    return result;
}

taking& hold_for_a_minute(stage& s) {
    spec& lock = s.unrenewed_lock();
    lock.policy.lease.ttl = 1min;
    return s.hold(0, lock, 10ms);
}

/// The first waiter queries all instances from time to time, and the queue's host for its place. The other
/// one queries only the host. Before the release, the first loses one of its connections and receives nothing
/// on another. So only one instance can notify it.
void idle_waiters(stage& s, int take) {
    taking& a = hold_for_a_minute(s);
    taking& b = s.wait(1, patient_lock(s), 20ms);
    taking& c = s.wait(2, patient_lock(s), 12s);
    const std::uint64_t before = s.commands();
    s.run_to(24s);
    s.expect(a.held() && !b.told && !c.told, "two clients wait");
    s.expect(s.commands() - before <= 40, "the waiting clients send few commands");
    s.disconnect(1, static_cast<std::size_t>(take));
    s.deafen(1, {static_cast<std::size_t>(take + 1) % 3}, s.now() + 1s);
    s.release(a);
    s.run_to(24s + 500ms);
    s.expect(b.held() != c.held(), "exactly one waiter acquires the lock");
    taking& next = b.held() ? c : b;
    s.release(b.held() ? b : c);
    s.run_for(20ms);
    s.expect(next.held(), "the other waiter is woken");
    s.release(next);
}

/// The first waiter dies, so no client is notified of the release. The other has waited for a long time. It
/// checks again before that time has doubled.
void idle_waiter_behind_a_dead_one(stage& s, int) {
    taking& a = hold_for_a_minute(s);
    s.wait(1, patient_lock(s), 20ms);
    taking& c = s.wait(2, patient_lock(s), 2s);
    s.user(1).crash();
    s.release(a);
    s.run_to(3s + 50ms);
    s.expect(c.held(), "the waiter does not wait for a dead client");
    s.release(c);
}

/// Two readers wait in the remote queue behind the writer mark of a dead writer, and another writer waits
/// behind them. It attempts once when the reader ahead gives up.
void writer_behind_a_reader(stage& s, int) {
    const shared_lock lock = s.both_sides();
    taking& a = leave_writer_mark(s, lock, 50ms);
    const duration end = s.instance(0).lasts_until(stage::key).time_since_epoch();
    taking& b = s.wait(2, lock.readers, 100ms);
    taking& c = s.wait(3, lock.readers, 200ms);
    taking& w = s.wait(4, lock.writers, 300ms);
    s.cancel(c);
    s.run_to(end - 1ms);
    s.expect(a.held() && !b.told && !w.told,
             "the writer mark of the dead writer keeps all waiters out");
    s.run_to(end + 70ms);
    s.expect(b.held() && !w.told,
             "the reader that came first is not kept out by another writer mark");
    s.release(a, b);
    s.run_for(20ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
}

/// A mutex waits for overlapping readers, and a reader waits behind it in the remote queue. In take 0 the
/// reader has met the queue before, and in take 1 it was denied. It must not wait longer than 5 s. The leases
/// are not renewed, so no renewal wakes a waiter.
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
        s.run_to(5s);  // From now on it keeps its ticket without queries.
        s.acquire(4, writers, s.user(4).now() + 10ms);
        s.run_for(20ms);
        behind = &s.acquire(4, readers);
    } else {
        taking& holder = s.hold(0, mutex, 10ms);
        waiting = &s.acquire(1, mutex);
        s.run_to(5s);  // From now on it keeps its ticket without queries.
        behind = &s.acquire(4, readers);
        s.run_for(20ms);
        s.release(holder);
        reading = &s.acquire(2, readers);  // Enters before the others are notified.
    }
    const duration since = s.now();
    std::size_t next = 2;
    while (s.now() < since + 4900ms) {
        s.run_for(50ms);
        taking& another = s.hold(next, readers, s.now() + 50ms);
        s.expect(!waiting->told, "new readers acquire the lock");
        s.release(*reading);
        reading = &another;
        next = next == 2 ? 3 : 2;
    }
    s.run_to(since + 5100ms);
    s.expect(behind->held(), "the waiting reader acquires the lock within 5 s");
    s.release(*behind, *reading);
    s.run_for(300ms);
    s.expect(waiting->held(), "the mutex acquires the lock");
    s.release(*waiting);
}

}  // namespace

const std::vector<scenario> queue_scenarios = {
    {"fault_59_sim_idle_waiters",
     "long-waiting clients send few commands and are woken in time",
     {idle_waiters, 3},
     {"waiter_asks_often", "told_by_one", "ticket_is_left_behind"},
     telling(3)},
    {"fault_56_sim_idle_waiter_behind_a_dead_one",
     "a long-waiting client is queued behind a client that dies",
     {idle_waiter_behind_a_dead_one},
     {"queue_never_looks_again"},
     telling(3)},
    {"fault_43_sim_writer_behind_a_reader",
     "readers and a writer wait in the remote queue",
     {writer_behind_a_reader},
     {"mark_before_its_turn", "mark_of_a_guess"},
     telling(5)},
    {"fault_97_sim_reader_behind_a_mutex",
     "a reader waits behind a mutex while new readers enter",
     {reader_behind_a_mutex, 2},
     {"queued_reader_sleeps", "parked_reader_sleeps"},
     telling(5)},
};

}  // namespace colock::simulation
