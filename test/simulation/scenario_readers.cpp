// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Shares of readers: how long they last, and which client releases them.

#include "simulation/scenario_themes.hpp"

#include <cstddef>
#include <vector>

namespace colock::simulation {
namespace {

/// Returns whether the reader has a share on each instance that ends at `when`.
bool all_end_at(stage& s, const taking& reader, duration when) {
    constexpr duration rounding = 1ms;  // Of the time that a server reports.
    constexpr duration clock = 1us;
    bool result = true;
    for (std::size_t i = 0; i != 3; ++i) {
        const duration end =
            s.instance(i).lasts_until(stage::key, reader.token()).time_since_epoch();
        result = result && s.has_key(i, reader) && end <= when + clock && end >= when - rounding;
    }
    return result;
}

/// One of two readers dies. Take 0: the other continues beyond the end of the dead reader's share. Take 1:
/// the other releases before that, and a writer waits. Take 2: the other releases before that, and a writer
/// arrives later.
void dead_reader(stage& s, int take) {
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, readers, 10ms);
    taking& b = s.hold(1, readers, 20ms);
    s.expect(a.held() && b.held(), "both readers hold the lock");
    taking* const waiting = take == 2 ? nullptr : &s.acquire(2, writers);
    s.run_to(50ms);
    s.user(0).crash();
    s.run_to(250ms);
    s.expect(all_end_at(s, a, 301010us), "the share of the dead reader keeps its end");
    s.expect(all_end_at(s, b, 513020us), "the share of the live reader has been renewed twice");
    if (take == 0) {
        s.run_to(400ms);
        s.expect(s.keys(a) == 0, "the share of the dead reader has expired");
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
    s.run_for(3ms);
    s.expect(w.held(), "the writer acquires the lock when the share has ended");
    s.release(w);
}

/// The reader with the longer ttl comes first in takes 0 and 2. The one with the shorter ttl dies in takes 0
/// and 1. In the other takes it is renewed and then released. A writer waits.
void readers_with_different_ttls(stage& s, int take) {
    const bool is_longer_first = take % 2 == 0;
    const bool is_renewed = take >= 2;
    const spec& writers = s.writers_lock();
    spec longer = readers_side_of(writers);
    longer.policy.lease.renew_interval = 0ms;
    spec shorter = longer;
    shorter.policy.lease.ttl = 100ms;
    shorter.policy.lease.renew_interval = is_renewed ? 40ms : 0ms;
    taking& first = s.hold(0, is_longer_first ? longer : shorter, 10ms);
    taking& second = s.hold(1, is_longer_first ? shorter : longer, 20ms);
    taking& a = is_longer_first ? first : second;
    taking& b = is_longer_first ? second : first;
    const duration a_began = is_longer_first ? 0us : 12010us;
    const duration b_began = is_longer_first ? 12010us : 0us;
    s.expect(all_end_at(s, a, a_began + 301010us), "one reader has a share for 300 ms");
    s.expect(all_end_at(s, b, b_began + 101010us), "the other reader has a share for 100 ms");
    taking& w = s.wait(2, writers, b_began + 90ms);
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
    s.expect(s.keys(b) == 0, "the shorter share is gone");
    s.expect(all_end_at(s, a, a_began + 301010us), "the longer share is unchanged");
    s.run_to(a_began + 279ms);
    s.expect(a.held() && !w.told, "the longer lease is held until its validity ends");
    s.run_to(a_began + 294ms);
    s.expect(about(a.lost, a_began + 280ms) && !w.told, "the longer lease is lost in time");
    s.run_to(a_began + 365ms);
    s.expect(w.held(), "the writer acquires the lock");
    s.release(w);
}

/// The first renewal of a reader is in flight on a broken connection when its holder extends the lease.
void late_renewal_of_a_share(stage& s, int) {
    const spec readers = readers_side_of(s.writers_lock());
    taking& a = s.hold(0, readers, 10ms);
    taking& b = s.hold(1, readers, 100500us);
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
    s.release(a, b);
}

/// A reader pauses beyond its validity and releases late. By then, another reader is inside in take 0, and a
/// writer in take 1. In take 2, a release is executed twice.
void late_release_of_a_share(stage& s, int take) {
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, readers, 10ms);
    taking& b = s.hold(1, readers, 20ms);
    taking& w = s.wait(2, writers, 50ms);
    if (take == 2) {
        s.release(a);
        s.run_to(50500us);
        s.break_all(0, 340ms);
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
    s.expect(s.keys(a) == 0, "the share is gone");
    taking& inside = take == 1 ? w : b;
    s.expect(inside.held() && w.held() == (take == 1), "another client holds the lock");
    s.run_to(410ms);
    s.expect(take == 2 ? s.count(fault::straggler) == 3 : about(a.lost, 400ms),
             "the late release has arrived");
    s.expect(s.has_done(0), "the late release was executed");
    s.expect(inside.held() && s.keys(inside) == 3, "the late release deletes no other share");
    s.expect(w.held() == (take == 1), "the late release lets no writer in");
    s.release(inside);
    s.run_to(475ms);
    if (take != 1) {
        s.expect(w.held(), "the writer waits only for live readers");
        s.release(w);
    }
}

/// The share succeeds although a writer waits. The lease is a reader's in takes 0 and 1, and a downgraded
/// writer's in the others. The former holder releases first in takes 0 and 2, and the new one in the others.
void share_then_release(stage& s, int take) {
    const auto [writers, readers] = s.both_sides();
    taking& a = s.hold(0, take < 2 ? readers : writers, 10ms);
    if (take >= 2) {
        s.expect(!s.share(a, readers).granted(), "a writer's lease cannot be shared");
        s.user(0).downgrade(a.lease, readers);
    }
    s.run_to(20ms);
    taking& w = s.wait(1, writers, 50ms);
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

/// Take 0: the holder requests a share of a lost lease. Take 1: another reader of its client arrives. Take 2:
/// the keys exist, so the share gets a fence of its own.
void share_of_a_lost_lease(stage& s, int take) {
    spec& writers = s.writers_lock();
    writers.policy.set_kind(kinds::fenced_writer);
    const spec readers = readers_side_of(writers);
    taking& a = s.hold(0, readers, 10ms);
    if (take != 2) {
        s.on_all(&server::delete_key, stage::key);
        taking& w = s.hold(1, writers, 20ms, "another client writes");
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

}  // namespace

const std::vector<scenario> reader_scenarios = {
    {"fault_37_sim_dead_reader",
     "one of two readers dies, and a writer waits until its share expires",
     {dead_reader, 3},
     {"renewal_for_all_readers", "key_outlives_its_readers"},
     with_clients(3)},
    {"fault_38_sim_readers_with_different_ttls",
     "two readers have different ttls, in both orders",
     {readers_with_different_ttls, 4},
     {"newcomer_shortens_the_others", "key_lives_with_the_newest", "renewal_of_the_key_alone"},
     with_clients(3)},
    {"fault_38_sim_late_renewal_of_a_share",
     "the renewal of an old connection arrives after a longer one",
     {late_renewal_of_a_share},
     {"late_extend_shortens_a_share"},
     with_clients(2)},
    {"fault_39_sim_late_release_of_a_share",
     "a reader's release arrives after its share has expired, or twice",
     {late_release_of_a_share, 3},
     {"share_takes_all", "release_without_token_check"},
     with_clients(3)},
    {"fault_41_sim_share_then_release",
     "a reader's lease is shared while a writer waits, and released in both orders",
     {share_then_release, 4},
     {"writer_shares", "downgraded_says_writer", "released_with_the_first"},
     with_clients(2)},
    {"fault_87_sim_share_of_a_lost_lease",
     "a reader's lease loses its keys and is shared after another client has written",
     {share_of_a_lost_lease, 3},
     {"shared_without_asking", "shared_with_an_old_fence"},
     with_clients(2)},
};

}  // namespace colock::simulation
