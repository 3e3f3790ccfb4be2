// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Servers that refuse commands that they executed before.

#include "simulation/scenario_themes.hpp"

#include "kinds/fenced/fenced.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace colock::simulation {
namespace {

/// Returns a writers' lock that makes one attempt.
spec& writers_that_try(stage& s) {
    spec& result = s.writers_lock();
    result.policy.attempts = 1;
    return result;
}

/// Returns a mutex, a writer, a reader, or a permit.
spec lock_of(stage& s, int take) {
    spec& mutex = s.lock();
    spec& writers = writers_that_try(s);
    spec& permits = s.lock();
    permits.policy.set_kind(kinds::semaphore(2, 1));
    return take == 0 ? mutex : take == 1 ? writers : take == 2 ? readers_side_of(writers) : permits;
}

/// The scripts are lost while a lease is held. The lease is nevertheless renewed and released.
void lost_scripts(stage& s, int take) {
    taking& a = s.hold(0, lock_of(s, take), 50ms);
    s.on_all(&server::lose_scripts);
    s.run_to(250ms);
    s.expect(a.held() && s.count(fault::sent_again) != 0, "the lease has been renewed in full");
    s.on_all(&server::lose_scripts);
    s.release(a);
    s.run_to(260ms);
    s.expect(s.keys() == 0 || take == 3, "the lock has been released");
}

/// Servers without memory renew and release existing locks, and grant none.
void no_memory(stage& s, int take) {
    taking& a = s.hold(0, lock_of(s, take), 50ms);
    s.on_all(&server::run_out_of_memory, 500ms);
    s.run_to(400ms);
    s.expect(a.held(), "the lease has been renewed");
    s.release(a);
    s.run_to(420ms);
    s.expect(s.keys(a) == 0, "the lock has been released");
    s.fail(1, lock_of(s, take), 500ms, "nothing is granted without memory");
    s.run_to(600ms);
    taking& c = s.hold(1, lock_of(s, take), 620ms, "the lock is granted with memory");
    s.release(c);
}

/// One of two readers holds a share. The servers refuse a command when a third reader arrives. It leaves
/// nothing, with or without a fence.
void refused_share(stage& s, int take) {
    static const std::vector<std::string> commands = {"zadd", "zremrangebyscore", "pexpire",
                                                      "zscore"};
    spec& writers = writers_that_try(s);
    writers.policy.lease.value_per_holder = take % 2 == 1;
    const spec readers = readers_side_of(writers);
    taking& a = s.hold(0, readers, 10ms);
    taking& b = s.hold(1, readers, 30ms);
    s.expect(a.held() && b.held(), "both readers hold the lock");
    s.on_all(&server::refuse, commands[static_cast<std::size_t>(take / 2)], 20ms);
    taking& c = s.fail(2, readers, 49ms, "the third reader is refused");
    s.expect(s.keys(c) == 0, "no server has a share of the third reader");
    s.run_to(70ms);
    s.release(a, b);
    s.run_to(80ms);
    s.expect(s.keys() == 0, "all shares have been released");
}

/// Each server is disturbed when a second reader arrives, which is refused. Another one is granted afterwards.
template <typename Disturb>
void refuse_second_reader(stage& s, const spec& readers, Disturb disturb) {
    taking& a = s.hold(0, readers, 10ms);
    s.on_all(disturb);
    taking& b = s.acquire(1, readers);
    s.run_to(50ms);
    s.expect(a.held() && b.told && !b.granted(), "the second reader is refused");
    s.run_to(120ms);
    taking& c = s.hold(1, readers, 150ms);
    s.expect(a.held() && c.held(), "both readers hold the lock");
    s.release(a, c);
    s.run_to(160ms);
    s.expect(s.keys() == 0, "all shares have been released");
}

/// The servers refuse a command that the second reader needs. Nothing is left of the set that was begun.
void refused_set(stage& s, int take) {
    static const std::vector<std::string> commands = {"pexpire", "zscore",           "zrange",
                                                      "zrem",    "zremrangebyscore", "rename"};
    refuse_second_reader(s, readers_side_of(writers_that_try(s)), [take](server& one) {
        one.refuse(commands[static_cast<std::size_t>(take)], 20ms);
    });
}

/// A foreign key has a name that a second reader needs. The key is left alone.
void taken_place(stage& s, int take) {
    spec& writers = writers_that_try(s);
    writers.policy.lease.value_per_holder = take == 1;
    refuse_second_reader(s, readers_side_of(writers), [](server& one) {
        one.take_name("{" + stage::key + "}:colock:readers", 100ms);
    });
}

/// A foreign key has the name of the fence counter. The key is left alone, and nobody gets a lease with a fence.
void taken_counter(stage& s, int take) {
    spec& mutex = s.lock();
    mutex.policy.set_kind(kinds::fenced);
    spec& writers = writers_that_try(s);
    writers.policy.set_kind(kinds::fenced_writer);
    const spec lock = take == 0 ? mutex : take == 1 ? writers : readers_side_of(writers);
    s.on_all(&server::take_name, "{" + stage::key + "}:colock:fence", 100ms);
    taking& a = s.acquire(0, lock);
    s.run_to(50ms);
    s.expect(a.told && !a.granted() && s.keys() == 0, "the acquire is refused");
    s.run_to(120ms);
    taking& b = s.hold(0, lock, 150ms, "the lock is granted when the name is free");
    s.release(b);
}

/// A server becomes a replica while its clients are connected. It grants nothing, and its clients close the
/// connection.
void replica_without_notice(stage& s, int) {
    taking& a = s.hold(0, s.lock(), 50ms);
    s.instance(0).become_replica(200ms);
    s.run_to(150ms);
    s.expect(a.held() && s.has_key(0, a), "the lease is renewed by the other servers");
    s.run_to(240ms);
    s.expect(!s.user(0).to(0).ready(), "the client does not use the replica");
    s.run_to(400ms);
    s.expect(a.held() && s.user(0).to(0).ready(), "the client uses the server as a master again");
    s.release(a);
    s.run_to(410ms);
    s.expect(s.keys() == 0, "the lock has been released everywhere");
}

/// Scripts may use only declared keys. A lock of each kind is acquired, renewed and released, without a queue. A
/// second reader and a second permit need a key that is not declared yet, and are refused.
void declared_keys(stage& s, int take) {
    s.on_all(&server::require_declared_keys);
    spec lock = take < 4 ? lock_of(s, take) : s.lock();
    if (take == 4) {
        lock.policy.set_kind(kinds::fenced);
    } else if (take == 5) {
        lock.policy.set_kind(kinds::multi);
        lock.more_names = {"other"};
    }
    taking& a = s.hold(0, lock, 10ms);
    s.run_to(250ms);
    s.expect(a.held(), "the lease has been renewed");
    s.release(a);
    s.run_to(260ms);
    taking& b = s.hold(1, lock, 300ms, "the lock is granted again");
    s.release(b);
}

}  // namespace

const std::vector<scenario> refusal_scenarios = {
    {"fault_26_sim_lost_scripts",
     "the servers lose their scripts while a lease is held",
     {lost_scripts, 4},
     {"lost_script_is_an_error"}},
    {"fault_141_sim_declared_keys",
     "the servers refuse keys that a script has not declared",
     {declared_keys, 6},
     {"never_renews", "multi_extends_the_first_name"},
     with_clients(2)},
    {"fault_82_sim_no_memory",
     "the servers have no memory while a lease is held",
     {no_memory, 4},
     {"renewal_needs_memory"},
     with_clients(2)},
    {"fault_81_sim_refused_share",
     "the servers refuse a command that a further reader needs",
     {refused_share, 8},
     {"share_without_a_try", "counter_before_the_checks"},
     with_clients(3)},
    {"fault_34_sim_taken_place",
     "a stranger has the name at which a set of readers is made",
     {taken_place, 2},
     {"foreign_place_is_overwritten", "counter_before_the_checks"},
     with_clients(2)},
    {"fault_81_sim_refused_set",
     "the servers refuse a command that the second reader needs",
     {refused_set, 6},
     {"new_set_is_left"},
     with_clients(2)},
    {"fault_34_sim_taken_counter",
     "a stranger has the name of the fence counter",
     {taken_counter, 3},
     {"counter_of_a_stranger"}},
    {"fault_27_sim_replica_without_notice",
     "a server becomes a replica and keeps its connections",
     {replica_without_notice},
     {"replica_is_used_on"}},
};

}  // namespace colock::simulation
