// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Writers that become readers.

#include "simulation/scenario_themes.hpp"

#include <vector>

namespace colock::simulation {
namespace {

/// The writer waited for client 2 itself. Readers wait in its own client and in another one. The other reader
/// polls or is notified.
void downgrade_admits_readers(stage& s, int) {
    const bool is_told = s.servers_of(0).kind().tells_changes;
    const auto [writers, readers] = s.both_sides();
    taking& before = s.hold(2, writers, 10ms);
    taking& a = s.wait(0, writers, 20ms);
    s.release(before);
    s.run_to(100ms);
    taking& b = s.acquire(0, readers);
    taking& c = s.wait(1, readers, 150ms);
    s.expect(a.held() && !b.told, "only the writer holds the lock");
    const auto downgrade = s.user(0).downgrade(a.lease, readers);
    s.run_to(152ms);
    s.expect(!b.told && !c.told, "readers wait until a quorum has answered the downgrade");
    s.run_to(153ms);
    s.expect(downgrade->done() && a.held(), "the lease is a reader's lease");
    s.expect(b.held() && b.token() == a.token(), "a reader of the same client shares the lease");
    s.run_to(is_told ? 160ms : 220ms);
    s.expect(c.held() && c.token() != a.token(),
             "a reader of another client gets a lease of its own");
    taking& d = s.wait(2, writers, 400ms);
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

/// Two instances do not get the request. A reader may still acquire where one of them has no key.
void downgrade_without_quorum(stage& s, int) {
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, writers, 10ms);
    taking& b = s.acquire(0, readers);
    taking& c = s.wait(1, readers, 50ms);
    s.mute(0, {1, 2}, 150ms);
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
    s.release(a, b, c);
    s.run_to(260ms);
    s.expect(s.keys() == 0, "no key remains");
}

/// Each downgrade begins when the one before has ended. The client begins to admit readers only once.
void second_downgrade(stage& s, int) {
    spec& writers = s.writers_lock();
    writers.policy.handoff.time = 50ms;
    const spec readers = readers_side_of(writers);
    spec others = readers;
    others.policy.lease.ttl = 200ms;
    taking& a = s.hold(0, writers, 10ms);
    taking& b = s.wait(0, readers, 20ms);
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
    taking& c = s.hold(0, readers, 80ms);
    s.expect(c.token() != a.token(), "a late reader gets a lease of its own");
    taking& d = s.hold(0, others, 90ms);
    s.expect(d.token() != a.token(), "a reader with other options gets a lease of its own");
    s.release(a, b, c, d);
    s.run_to(95ms);
    s.expect(s.keys() == 0, "no key remains");
}

/// Take 0: the lease is lost because third parties delete its keys. Take 1: it is lost because its client
/// closes. Take 2: its holder releases it.
void lost_during_downgrade(stage& s, int take) {
    using runtime::lease_result;
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, writers, 50ms);
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

}  // namespace

const std::vector<scenario> downgrade_scenarios = {
    {"fault_40_sim_downgrade_admits_readers",
     "a writer downgrades its lease while others wait to read",
     {downgrade_admits_readers},
     {"downgrade_admits_at_once", "downgrade_is_an_extend", "downgraded_is_exclusive"},
     with_clients(3)},
    {"fault_40_sim_downgrade_with_remote_queue",
     "a writer downgrades its lease while other clients wait in the remote queue",
     {downgrade_admits_readers},
     {"downgrade_is_an_extend", "left_without_a_word"},
     telling(3)},
    {"fault_40_sim_downgrade_without_quorum",
     "a downgrade reaches one of three instances and is repeated",
     {downgrade_without_quorum},
     {"downgrade_without_quorum"},
     with_clients(2)},
    {"fault_40_sim_second_downgrade",
     "a second downgrade with other options starts during the first",
     {second_downgrade},
     {"second_downgrade_forgotten", "second_downgrade_admits_again"}},
    {"fault_40_sim_lost_during_downgrade",
     "a lease is lost or released during its downgrade",
     {lost_during_downgrade, 3},
     {"downgrade_without_end"}},
};

}  // namespace colock::simulation
