// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The permits of a semaphore: which token gets which permit, and which waiters wait.

#include "simulation/permit.hpp"
#include "simulation/scenario_themes.hpp"

#include "kinds/semaphore/semaphore.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace colock::simulation {
namespace {

constexpr duration for_long = 3s;

/// Returns a lock that makes one attempt for `count` of `limit` permits.
spec& permits_lock(stage& s, std::uint32_t limit, std::uint32_t count = 1) {
    spec& result = s.lock();
    result.policy.set_kind(kinds::semaphore(limit, count));
    return result;
}

/// Returns a lock that waits. Between attempts it depends on notifications.
spec& patient_lock(stage& s, std::uint32_t limit, std::uint32_t count = 1) {
    spec& result = permits_lock(s, limit, count);
    result.policy.attempts = 0;
    if (s.servers_of(0).kind().tells_changes) {
        result.policy.retry = {1min, 1min};
    }
    return result;
}

/// Returns a lock with a long ttl and no renewals.
spec& lasting_lock(stage& s, std::uint32_t limit, std::uint32_t count = 1) {
    spec& result = permits_lock(s, limit, count);
    result.policy.lease.ttl = 3s;
    result.policy.lease.renew_interval = 0ms;
    return result;
}

slot_set slots_at(stage& s, std::size_t instance, const taking& t) {
    return s.instance(instance).slots_of(stage::key, t.token());
}

/// Returns whether the token has one permit, with the same slot on all of these instances.
bool has_one_at(stage& s, const taking& t, const std::vector<std::size_t>& instances) {
    return std::ranges::all_of(instances, [&](std::size_t i) {
        return std::popcount(slots_at(s, i, t)) == 1 &&
               slots_at(s, i, t) == slots_at(s, instances.front(), t);
    });
}

/// Returns an empty set if there is no token yet.
slot_set preferred_by(const taking& t) {
    const permit_wish wish = wish_of(t.token());
    return wish.limit == 0 ? 0 : wish.slot_of(1);
}

slot_set after(slot_set slot, std::uint32_t limit) {
    return slot == slot_set{1} << (limit - 1) ? 1 : slot << 1U;
}

/// Acquires until an attempt in flight has a token that prefers this slot. It looks after the time `look`.
/// Earlier attempts end and are released.
taking& acquire_preferring(stage& s, std::size_t user, const spec& lock, slot_set slot,
                           duration look) {
    constexpr int most_tries = 50;
    for (int i = 0;; ++i) {
        taking& t = s.acquire(user, lock);
        s.run_for(look);
        const bool is_found = preferred_by(t) == slot;
        s.expect(is_found || i != most_tries, "a token prefers that slot at last");
        if (is_found || i == most_tries) {
            return t;
        }
        s.run_for(80ms);
        if (t.owned()) {
            s.release(t);
        }
        s.run_for(20ms);
    }
}

/// Each of three clients reaches a different pair of the three instances, in all orders. There are two
/// permits.
void overlapping_majorities(stage& s, int take) {
    const spec& lock = permits_lock(s, 2);
    std::vector<std::size_t> unreachable = {0, 1, 2};
    for (int i = 0; i != take; ++i) {
        std::next_permutation(unreachable.begin(), unreachable.end());
    }
    std::vector<taking*> all;
    for (std::size_t i = 0; i != 3; ++i) {
        s.cut_off(i, {unreachable[i]}, for_long);
        all.push_back(&s.acquire(i, lock));
        s.run_for(90ms);
    }
    s.expect(all[0]->held() && all[1]->held(), "two clients have a permit each");
    s.expect(all[2]->told && !all[2]->granted(), "the third client is refused");
    s.release(*all[0]);
    s.run_for(20ms);
    taking& again =
        s.hold(2, lock, s.now() + 90ms, "the third client gets the permit that was released");
    s.release(again, *all[1]);
}

/// One of three permits is granted by this instance only, to a client that then dies. Returns the permit.
slot_set die_with_permit(stage& s, std::size_t user, std::size_t instance) {
    s.cut_off(user, {(instance + 1) % 3, (instance + 2) % 3}, for_long);
    taking& dead = s.acquire(user, lasting_lock(s, 3));
    s.run_to(1500us);
    s.user(user).crash();
    return slots_at(s, instance, dead);
}

/// An attempt of client 1. It prefers a permit that only instance 0 has granted, to a client that has died. So
/// the instances reply with different numbers.
struct contest {
    slot_set slot;  ///< The permit of the dead client.
    taking& other;  ///< Another permit, which client 1 holds on all instances.
    taking& a;
    duration began;
};

contest begin_contest(stage& s, stage::instances unreachable) {
    const slot_set slot = die_with_permit(s, 0, 0);
    s.expect(slot != 0 && s.keys() == 1, "one instance has the permit of the dead client");
    taking& other = acquire_preferring(s, 1, permits_lock(s, 3), after(slot, 3), 100us);
    s.run_for(120ms);
    s.expect(other.held() && has_one_at(s, other, {0, 1, 2}),
             "all instances have the permit of the other client");
    s.cut_off(1, unreachable, for_long);
    taking& a = acquire_preferring(s, 1, permits_lock(s, 3), slot, 100us);
    return {slot, other, a, s.now() - 100us};
}

/// Two of three instances reply, with different numbers.
void split_vote(stage& s, int) {
    auto [slot, other, a, began] = begin_contest(s, {2});
    s.run_to(began + 3500us);
    s.expect(!a.told && slots_at(s, 0, a) != slots_at(s, 1, a), "the two instances do not agree");
    s.run_to(began + 20ms);
    s.expect(a.held() && about(a.told, began + 6030us), "a second round brings the permit");
    s.expect(has_one_at(s, a, {0, 1}), "the two instances have the same permit");
    s.release(a, other);
}

/// The connection to an instance that has granted breaks before the second round, which is therefore not sent
/// there.
void unsent_round(stage& s, int) {
    auto [slot, other, a, began] = begin_contest(s, {2});
    s.run_to(began + 3ms);
    s.disconnect(1, 0);
    s.run_to(began + 10ms);
    s.expect(!a.told && slots_at(s, 0, a) != 0, "the instance keeps what it has granted");
    s.run_to(began + 90ms);
    s.expect(a.told && !a.granted(), "the attempt finds no quorum");
    s.expect(slots_at(s, 0, a) == 0 && slots_at(s, 1, a) == 0, "nothing of the attempt is left");
    s.release(other);
}

/// An instance replies to the first round after the lease has been released. The second round has not reached
/// it yet.
void late_first_round(stage& s, int) {
    auto [slot, other, a, began] = begin_contest(s, {});
    s.run_to(began + 1500us);
    s.mute(1, {2}, began + 1s);
    s.deafen(1, {2}, began + 50ms);
    s.run_to(began + 20ms);
    s.expect(a.held() && has_one_at(s, a, {0, 1}), "the second round brings the permit");
    s.release(a);
    s.run_to(began + 900ms);
    s.expect(!s.has_done(1), "the client waits for the answer to its last round");
    s.run_to(began + 1100ms);
    s.expect(s.has_done(1) && slots_at(s, 2, a) == 0, "the permit is released there, too");
    s.release(other);
}

/// A quorum grants one number, and the third instance another. It does so at the same time (take 0) or later.
/// On that instance, a dead client has the right permit.
void wrong_number(stage& s, int take) {
    auto [slot, other, a, began] = begin_contest(s, {});
    if (take == 1) {
        s.deafen(1, {0}, s.now() + 10ms);
    }
    s.run_for(1500us);
    s.expect(std::popcount(slots_at(s, 0, a)) == 1 && slots_at(s, 0, a) != slot,
             "one instance has another permit for it");
    s.run_for(20ms);
    s.expect(a.held() && has_one_at(s, a, {1, 2}) && slots_at(s, 1, a) == slot,
             "the client has the permit on which the others agree");
    s.expect(slots_at(s, 0, a) == 0, "the instance does not keep the wrong permit");
    s.cut_off(2, {1}, for_long);
    taking& b =
        s.hold(2, permits_lock(s, 3), s.now() + 90ms, "another client gets the third permit");
    s.release(a, b, other);
}

/// One of three permits is free on a majority. The three instances reply with three different numbers. The
/// largest is that of a permit that is free on one instance only.
void one_permit_left(stage& s, int) {
    const slot_set first = die_with_permit(s, 2, 1);
    s.cut_off(1, {1, 2}, for_long);
    acquire_preferring(s, 1, lasting_lock(s, 3, 2), first, 1500us);
    s.user(1).crash();
    s.cut_off(3, {0}, for_long);
    const slot_set last = after(after(first, 3), 3);
    taking& l = acquire_preferring(s, 3, lasting_lock(s, 3), last, 31ms);
    s.run_for(20ms);
    s.expect(l.held() && slots_at(s, 1, l) == last && slots_at(s, 2, l) == last,
             "a client has a permit by two instances");
    taking& a = acquire_preferring(s, 0, permits_lock(s, 3), first, 2500us);
    s.run_for(20ms);
    s.expect(a.held() && has_one_at(s, a, {1, 2}), "the lone client gets the permit that is left");
    s.release(a, l);
}

/// Repeatedly, an instance loses its data, and another client acquires before the holder's renewal. Each
/// client must have a permit of its own.
void restart_of_an_instance(stage& s, int) {
    const spec& lock = permits_lock(s, 2);
    taking& a = s.acquire(0, lock);
    int rivals = 0;
    for (int i = 0; i != 8; ++i) {
        s.run_to((i * 2 + 1) * 100ms + 40ms);
        s.instance(0).restart(1ms, server::data::lost);
        s.run_for(25ms);
        taking& b = s.acquire(1, lock);
        s.run_for(2500us);
        rivals += preferred_by(b) == slots_at(s, 1, a) ? 1 : 0;
        s.run_for(12500us);
        s.expect(a.held() && b.held() && slots_at(s, 1, a) != slots_at(s, 1, b),
                 "each client has a permit of its own");
        s.run_for(40ms);
        s.expect(has_one_at(s, a, {0, 1, 2}), "the instance has the holder's permit again");
        s.run_for(60ms);
        s.expect(a.held() && b.held() && has_one_at(s, b, {0, 1, 2}),
                 "all instances agree on both permits");
        s.release(b);
    }
    s.expect(rivals != 0, "the restarted instance has granted the holder's permit");
    s.release(a);
}

/// A quarantined instance has lost the holder's permit, and another has never had it. A client's second round
/// requests that permit. This request must not be sent to the quarantined instance.
void round_in_quarantine(stage& s, int) {
    const slot_set first = die_with_permit(s, 0, 2);
    s.cut_off(1, {2}, for_long);
    const slot_set second = after(first, 3);
    taking& a = acquire_preferring(s, 1, lasting_lock(s, 3), second, 100us);
    s.run_for(20ms);
    s.expect(a.held() && slots_at(s, 0, a) == second && slots_at(s, 1, a) == second,
             "a client has a permit by two instances");
    s.instance(0).restart(1ms, server::data::lost);
    s.run_for(30ms);
    taking& b = acquire_preferring(s, 2, permits_lock(s, 3), first, 2500us);
    s.run_for(20ms);
    s.expect(a.held() && b.held() && slots_at(s, 1, b) == after(second, 3),
             "the other client gets the third permit");
    s.expect(has_one_at(s, b, {1, 2}) && slots_at(s, 0, b) == 0,
             "the instance in quarantine grants nothing");
    s.release(b, a);
}

/// The release of a permit is executed twice, the second time when other clients have the permits.
void late_release(stage& s, int) {
    const spec& lock = permits_lock(s, 2);
    taking& a = s.hold(0, lock, 50ms);
    s.release(a);
    s.run_to(50500us);
    s.break_all(0, 340ms);
    s.run_to(200ms);
    s.expect(s.count(fault::straggler) == 0 && s.has_done(0), "the permit is released once");
    taking& b = s.hold(1, lock, 250ms);
    taking& c = s.hold(2, lock, 300ms);
    s.expect(b.held() && c.held(), "two other clients have the permits");
    s.run_to(410ms);
    s.expect(s.count(fault::straggler) == 3, "the late release has arrived");
    s.expect(has_one_at(s, b, {0, 1, 2}) && has_one_at(s, c, {0, 1, 2}),
             "the late release frees no permit");
    s.fail(0, lock, 450ms, "the late release adds no permit");
    s.release(b, c);
}

/// One of two holders dies while another client waits.
void dead_holder(stage& s, int) {
    const spec& lock = permits_lock(s, 2);
    taking& a = s.hold(0, lock, 10ms);
    taking& b = s.hold(1, lock, 20ms);
    s.expect(a.held() && b.held(), "both permits are out");
    taking& c = s.wait(2, patient_lock(s, 2), 50ms);
    s.user(0).crash();
    s.run_to(300ms);
    s.expect(!c.told, "the permit of the dead holder keeps its end");
    s.run_to(370ms);
    s.expect(b.held() && c.held(), "the waiter gets the permit of the dead holder");
    s.release(b, c);
}

/// An acquire is cancelled at various moments while there is one holder. The other permit must not be left
/// behind.
void cancelled_acquire(stage& s, int take) {
    const spec& lock = permits_lock(s, 2);
    taking& a = s.hold(0, lock, 10ms);
    taking& b = s.acquire(1, patient_lock(s, 2));
    s.run_to(10ms + take * 250us);
    s.cancel(b);
    s.run_to(30ms);
    if (b.owned()) {
        s.release(b);
        s.run_to(40ms);
    }
    for (std::size_t i = 0; i != 3; ++i) {
        s.expect(s.instance(i).free_slots(stage::key, 2) == 3 - slots_at(s, i, a),
                 "only the holder has a permit");
    }
    taking& c = s.hold(2, lock, 60ms);
    s.expect(a.held() && c.held(), "another client gets the permit");
    s.release(a, c);
}

/// Take 0: a holder has one of three permits, and clients try a semaphore of two and a mutex. Take 1: the
/// holder has two of three. Take 2: a mutex is held, and a client tries a semaphore. Take 3: a reader is
/// inside instead.
void limits(stage& s, int take) {
    const spec& three = permits_lock(s, 3);
    spec& mutex = s.lock();
    spec readers = readers_side_of(s.writers_lock());
    readers.policy.attempts = 1;
    taking& a = s.hold(0, take < 2 ? three : take == 2 ? mutex : readers, 10ms);
    taking* const more = take == 1 ? &s.acquire(1, three) : nullptr;
    s.run_to(20ms);
    const spec& two = patient_lock(s, 2);
    taking& b = s.acquire(2, two);
    s.run_to(40ms);
    s.expect(b.told && *b.told < 30ms, "the acquire does not wait");
    s.expect(b.op->result() == (take < 2 ? core::acquire_outcome::wrong_limit
                                         : core::acquire_outcome::wrong_kind),
             "the acquire reports what is wrong");
    taking& c = s.acquire(2, mutex);
    taking& d = s.acquire(3, readers);
    s.run_to(80ms);
    s.expect(take == 3 || (c.told && !c.granted()), "a mutex excludes the semaphore");
    s.expect((d.told && d.granted()) == (take == 3), "a reader excludes the semaphore");
    s.expect(a.held(), "the holder is undisturbed");
    if (d.owned()) {
        s.release(d);
    }
    s.release(a);
    if (more != nullptr) {
        s.release(*more);
    }
    s.run_to(100ms);
    taking& again = s.hold(2, two, 120ms, "the semaphore of two permits is free");
    s.release(again);
}

/// Three clients have a permit each. One waiter wants two, and a later one wants one. The later waiter is in
/// another client (takes 0 and 1) or in the same one. Two of the permits are released one after the other.
/// The servers support client tracking in takes 0 and 2.
void waiter_for_several(stage& s, int take) {
    const spec& lock = permits_lock(s, 3);
    std::vector<taking*> holders;
    for (std::size_t i = 0; i != 3; ++i) {
        holders.push_back(&s.hold(i, lock, s.now() + 20ms));
    }
    taking& large = s.wait(3, patient_lock(s, 3, 2), 100ms);
    taking& small = s.acquire(take == 0 ? 4 : 3, patient_lock(s, 3));
    s.run_to(150ms);
    s.expect(!large.told && !small.told, "two acquires wait");
    s.release(*holders[0]);
    s.run_to(230ms);
    s.expect(!large.told && !small.told, "the first waiter keeps its turn for two permits");
    s.release(*holders[1]);
    s.run_to(240ms);
    s.expect(large.held(), "the waiter for two permits gets them when both are free");
    s.expect(!small.told && std::popcount(slots_at(s, 0, large)) == 2, "all permits are out");
    s.release(large);
    s.run_to(260ms);
    s.expect(small.held() && holders[2]->held(), "the next waiter is woken");
    s.release(small, *holders[2]);
}

/// A client releases a permit and has two waiters. The first wants a different number of permits, and the
/// second the same number.
void handed_off_permits(stage& s, int) {
    const spec& one = patient_lock(s, 2);
    taking& a = s.hold(0, one, 10ms);
    taking& b = s.hold(0, one, 20ms);
    s.expect(a.held() && b.held(), "a client has both permits by two leases");
    taking& both = s.wait(0, patient_lock(s, 2, 2), 30ms);
    taking& next = s.wait(0, one, 40ms);
    s.release(a);
    s.run_to(45ms);
    s.expect(!both.told && !next.told && slots_at(s, 0, a) == 0,
             "the first waiter cannot use the lease, which is released");
    s.release(b);
    s.run_to(60ms);
    s.expect(both.held() && std::popcount(slots_at(s, 0, both)) == 2,
             "the first waiter has two permits");
    s.release(both);
    s.run_to(80ms);
    s.expect(next.held(), "the next waiter has a permit");
    taking& other = s.hold(0, one, 90ms);
    taking& same = s.acquire(0, one);
    same.former = next.token();
    s.run_to(110ms);
    s.expect(other.held() && !same.told, "both permits are out again");
    s.release(next);
    s.run_to(111ms);
    s.expect(same.handed_off(), "a lease is handed off to a waiter that wants the same");
    s.release(same, other);
}

/// The second attempt is in flight on a broken connection when the holder extends its lease. The first attempt
/// has found that the key has a holder.
void late_acquire_of_a_permit(stage& s, int) {
    taking& b = s.hold(1, lasting_lock(s, 2), 10ms);
    taking& a = s.acquire(0, permits_lock(s, 2));
    s.run_to(12500us);
    s.user(0).to(0).reset(200ms);
    s.run_to(50ms);
    s.expect(a.held() && b.held(), "both permits have holders");
    s.user(0).extend(a.lease, 2s);
    s.run_to(190ms);
    s.expect(s.count(fault::straggler) == 0, "the late acquire has not arrived yet");
    s.expect(has_one_at(s, a, {0, 1, 2}), "the missing permit is restored");
    s.run_to(250ms);
    s.expect(s.count(fault::straggler) == 1, "the late acquire has arrived");
    s.expect(s.instance(0).lasts_until(stage::key, a.token()).time_since_epoch() > 2s,
             "the late acquire does not shorten the life of the permit");
    s.release(a, b);
}

}  // namespace

const std::vector<scenario> permit_scenarios = {
    {"fault_47_sim_overlapping_majorities",
     "three clients reach two of three instances each, and there are two permits",
     {overlapping_majorities, 6},
     {"numbers_need_not_agree"},
     with_clients(3)},
    {"fault_47_sim_split_vote",
     "the instances that answer grant different permits",
     {split_vote},
     {"numbers_need_not_agree", "later_round_moves_back"},
     with_clients(2)},
    {"fault_47_sim_wrong_number",
     "one instance grants another permit than the quorum",
     {wrong_number, 2},
     {"wrong_number_stays", "late_wrong_number_stays", "heal_keeps_another_number",
      "heal_takes_any_number"},
     with_clients(3)},
    {"fault_47_sim_one_permit_left",
     "a permit is free at a majority, and each instance grants another one first",
     {one_permit_left},
     {"raise_to_the_largest"},
     with_clients(4)},
    {"fault_47_sim_restart_of_an_instance",
     "an instance loses its data and grants a permit that has a holder",
     {restart_of_an_instance},
     {"wrong_number_stays"},
     with_clients(2)},
    {"fault_24_sim_round_in_quarantine",
     "the second round for a permit meets an instance that has lost the permit of a holder",
     {round_in_quarantine},
     {"retake_passes_the_quarantine"},
     quarantined(3, 3, 3s)},
    {"fault_49_sim_late_release_of_a_permit",
     "the release of a permit arrives twice, after others have taken the permits",
     {late_release},
     {"release_of_all_permits"},
     with_clients(3)},
    {"fault_49_sim_late_acquire_of_a_permit",
     "the acquire of a permit arrives after its lease was extended",
     {late_acquire_of_a_permit},
     {"late_take_shortens_permits"},
     with_clients(2)},
    {"fault_50_sim_dead_permit_holder",
     "one of two holders dies, and a waiter gets its permit when that has expired",
     {dead_holder},
     {"dead_permit_stays"},
     with_clients(3)},
    {"fault_50_sim_cancelled_acquire_of_a_permit",
     "an acquire of a permit is cancelled at any moment",
     {cancelled_acquire, 24},
     {"attempt_without_undo"},
     with_clients(3)},
    {"fault_50_sim_unsent_round",
     "the second round for a permit cannot be sent to an instance that has granted",
     {unsent_round},
     {"unsent_retake_is_an_answer"},
     with_clients(2)},
    {"fault_50_sim_late_first_round",
     "an instance answers the first round for a permit after the release, and then gets the "
     "second one",
     {late_first_round},
     {"late_first_round_is_the_last"},
     with_clients(2)},
    {"fault_51_sim_limits",
     "a semaphore has another limit than the holders of its key, or they hold another lock",
     {limits, 4},
     {"limit_is_not_compared", "wrong_limit_waits", "wrong_kind_waits"},
     with_clients(4)},
    {"fault_52_sim_waiter_for_several",
     "permits become free one by one, and a large request waits before a small one",
     {waiter_for_several, 2},
     {"waiter_for_several_waits_for_all"},
     telling(5)},
    {"fault_52_sim_handed_off_permits",
     "a client hands its permits off to waiters for one and for several",
     {handed_off_permits},
     {"permits_handed_off_as_they_are", "own_release_is_not_told", "one_permit_a_client"},
     telling(1)},
};

}  // namespace colock::simulation
