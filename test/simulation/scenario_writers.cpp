// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writers that wait for readers, and readers that wait for a writer.

#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <vector>

namespace colock::simulation {
namespace {

/// A denied writer gives up in take 0 and dies in take 1. The reader that blocked it continues.
void writer_gives_up(stage& s, int take) {
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, readers, 10ms);
    taking& w = s.wait(1, writers, 100ms);
    if (take == 0) {
        s.cancel(w);
        s.run_to(110ms);
        taking& b = s.hold(2, readers, 120ms);
        s.expect(a.held() && b.held(), "a cancelled writer removes its writer mark");
        s.release(a, b);
        return;
    }
    s.user(1).crash();
    s.run_to(110ms);
    const duration end = s.instance(0).lasts_until(stage::key).time_since_epoch();
    s.expect(end > 1s && end <= 1102ms,
             "the writer mark lasts for one second after the last attempt");
    taking& b = s.wait(2, readers, end - 1ms);
    s.expect(a.held(), "the writer mark keeps new readers out");
    s.run_to(end + 70ms);
    s.expect(a.held() && b.held(), "new readers enter when the writer mark has expired");
    s.release(a, b);
}

/// The readers of two clients alternate, so one of them always reads while a writer waits. The writer polls
/// or is notified. In the second case it is patient, and no renewals wake it.
void overlapping_readers(stage& s, int) {
    spec& writers = s.writers_lock();
    spec readers = readers_side_of(writers);
    if (s.servers_of(0).kind().tells_changes) {
        writers.policy.retry = {1min, 1min};
        readers.policy.lease.ttl = 10s;
        readers.policy.lease.renew_interval = 0ms;
    }
    taking& a = s.hold(0, readers, 10ms);
    taking& w = s.wait(1, writers, 50ms);
    std::vector<taking*> late;
    for (int i = 0; i != 10; ++i) {
        late.push_back(&s.acquire(i % 2 == 0 ? 2 : 3, readers));
        s.run_for(150ms);
        s.expect(a.held() && !w.told && !late.back()->told, "no later reader overtakes the writer");
    }
    s.release(a);
    s.run_for(70ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
    s.run_for(70ms);
    for (taking* const one : late) {
        s.expect(one->held(), "all readers acquire the lock after the writer");
        s.release(*one);
    }
}

/// A writer has the lock while a reader's release is still in flight to one of the instances.
void mark_at_a_minority(stage& s, int) {
    const spec& writers = s.writers_lock();
    taking& a = s.hold(0, readers_side_of(writers), 10ms);
    taking& w = s.wait(1, writers, 40ms);
    s.mute(0, {2}, 80ms);
    s.release(a);
    s.run_to(60ms);
    s.expect(w.held() && !s.has_key(2, w), "the writer holds the lock on two instances");
    s.release(w);
    s.run_to(90ms);
    s.expect(s.keys() == 0, "no writer mark remains");
}

/// Readers of three clients wait for a writer. They poll or are notified.
void readers_enter_together(stage& s, int) {
    const bool is_told = s.servers_of(0).kind().tells_changes;
    const auto [writers, readers] = s.both_sides();
    taking& a = s.acquire(0, writers);
    std::vector<taking*> waiting;
    for (std::size_t user = 0; user != 3; ++user) {
        s.run_for(10ms);
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
    taking& w = s.wait(3, writers, 700ms, "the readers keep a writer out");
    for (taking* const one : waiting) {
        s.release(*one);
    }
    s.run_to(is_told ? 720ms : 770ms);
    s.expect(w.held(), "the writer is woken by the last release");
    s.release(w);
}

}  // namespace

taking& leave_writer_mark(stage& s, const shared_lock& lock, duration died) {
    taking& reader = s.hold(0, lock.readers, 10ms);
    s.wait(1, lock.writers, died);
    s.user(1).crash();
    return reader;
}

const std::vector<scenario> writer_scenarios = {
    {"fault_42_sim_writer_gives_up",
     "a writer that waited for readers gives up or dies",
     {writer_gives_up, 2},
     {"mark_renewed_by_readers", "mark_is_left"},
     with_clients(3)},
    {"fault_42_sim_overlapping_readers",
     "readers of several clients arrive one by one while a writer waits",
     {overlapping_readers},
     {"mark_is_ignored", "no_mark", "mark_keeps_one_out"},
     with_clients(4)},
    {"fault_42_sim_overlapping_readers_with_remote_queue",
     "readers of several clients arrive one by one and wait in the remote queue",
     {overlapping_readers},
     {"first_writer_leaves_no_mark", "waiting_writer_sleeps"},
     telling(4)},
    {"fault_42_sim_mark_at_a_minority",
     "a writer gets a quorum before a reader's release has reached all instances",
     {mark_at_a_minority},
     {"mark_is_left_by_a_holder"},
     telling(2)},
    {"fault_43_sim_readers_enter_together",
     "readers of several clients wait for a writer",
     {readers_enter_together},
     {"readers_enter_one_by_one"},
     with_clients(4)},
    {"fault_43_sim_readers_with_remote_queue",
     "readers of several clients wait for a writer in the remote queue",
     {readers_enter_together},
     {"readers_enter_one_by_one"},
     telling(4)},
};

}  // namespace colock::simulation
