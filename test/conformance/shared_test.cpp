// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Readers and writers of one name, and exclusive locks on it.

#include "kinds/shared/shared.hpp"
#include "conformance.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fence_counter.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(shared_test)

using namespace colock::test;

namespace {

/// Returns the vote on a step as text.
std::string ask(subject& s, const step_of_kind& what, const std::string& token,
                milliseconds ttl = 10min) {
    return to_text(s.rig.ask(what, "k", token, ttl));
}

/// A reader's ttl that a test can observe and that expires soon.
constexpr milliseconds short_life = 150ms;

/// Returns the remaining ttl of the key.
milliseconds life_of_key(subject& s) {
    return s.rig.ask(step::remaining, "k").remaining;
}

/// Expects that ann and a second reader get their shares.
void share(subject& s, const std::string& second, milliseconds ttl = 10min) {
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, joins, second, ttl) == "granted");
}

/// Expects that each of these readers releases its share.
void release_shares(subject& s, const strings& readers) {
    for (const std::string& reader : readers) {
        BOOST_TEST(ask(s, of_reader(step::release), reader) == "granted");
    }
}

const step_of_kind writes_fenced{step::acquire, colock::kinds::fenced_writer};
const step_of_kind reads_fenced{step::acquire, colock::kinds::fenced_shared};
const step_of_kind confirms{step::confirm, colock::kinds::fenced_shared};

}  // namespace

BOOST_DATA_TEST_CASE(readers_share_the_lock_and_keep_writers_out, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    // The first attempt does not join other readers.
    BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, joins, cid_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "denied: another");
    BOOST_TEST(ask(s, writes, "da") == "denied: another");
    for (const std::string& reader : {ann_reads, bob_reads, cid_reads}) {
        BOOST_TEST(ask(s, of_reader(step::extend), reader) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), reader) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), reader) == "denied: nobody");
        BOOST_TEST(ask(s, of_reader(step::extend), reader) == "denied: nobody");
    }
    BOOST_TEST(ask(s, writes, "da") == "granted");
    BOOST_TEST(ask(s, looks, ann_reads) == "denied: another");
    BOOST_TEST(ask(s, joins, ann_reads) == "denied: another");
    BOOST_TEST(ask(s, step::acquire, "ee") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "denied: another");
    BOOST_TEST(ask(s, step::release, "da") == "granted");
    BOOST_TEST(ask(s, step::acquire, "ee") == "granted");  // Like any exclusive lock.
    BOOST_TEST(ask(s, joins, ann_reads) == "denied: another");
}

BOOST_DATA_TEST_CASE(repeated_acquires_of_a_share_need_one_release, all_kinds) {
    subject s(sample);
    for (int i = 0; i != 3; ++i) {  // A retry after a lost reply, for example.
        BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    }
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "denied: nobody");
    BOOST_TEST(ask(s, step::acquire, "da") == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "granted");
}

/// Fault 37: the renewal of one share does not keep another alive.
BOOST_TEST_DECORATOR(*label("fault-37"))
BOOST_DATA_TEST_CASE(a_share_expires_although_another_is_renewed, all_kinds) {
    subject s(sample);
    share(s, bob_reads, short_life);
    s.rig.run_until([&] {  // The share of bob expires although ann renews.
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 10min) == "granted");
        return ask(s, of_reader(step::extend), bob_reads, 1ms) == "denied: nobody";
    });
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "denied: nobody");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, step::acquire, "da") == "granted");
}

/// Fault 38: a short share shortens no other share, and the key lives as long as the longest one.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(a_short_share_does_not_shorten_a_long_one, all_kinds) {
    subject s(sample);
    share(s, cid_reads, short_life);
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(life_of_key(s) <= short_life);
    s.rig.run_until([&] { return ask(s, step::acquire, "da") == "granted"; });
}

/// Fault 38: an extend with a short ttl shortens no share.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(an_extend_shortens_no_share, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads, 10min);
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    ask(s, joins, bob_reads, 5min);
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads, 1ms) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), bob_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(life_of_key(s) > 4min);
    BOOST_TEST(life_of_key(s) <= 5min);
}

/// Fault 38: a repeated acquire shortens no share. The first copy of a command may be executed last.
BOOST_TEST_DECORATOR(*label("fault-38"))
BOOST_DATA_TEST_CASE(a_repeated_acquire_does_not_shorten_a_share, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads, 10min);
    BOOST_TEST(ask(s, joins, ann_reads, 1ms) == "granted");
    BOOST_TEST(life_of_key(s) > 9min);
    ask(s, joins, bob_reads, 5min);
    for (const step_of_kind& again : {joins, looks.healing(), joins_fenced}) {
        BOOST_TEST(ask(s, again, ann_reads, 1ms) == "granted");
        BOOST_TEST(life_of_key(s) > 9min);
    }
}

BOOST_DATA_TEST_CASE(a_waiting_writer_keeps_new_readers_out, all_kinds) {
    subject s(sample);
    for (const step_of_kind& first : {looks, joins}) {
        BOOST_TEST(ask(s, first, ann_reads) == "granted");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: announced");
        BOOST_TEST(ask(s, joins_fenced, bob_reads) == "denied: announced");
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted: announced");
        BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: announced");
        BOOST_TEST(ask(s, step::acquire, "ee") == "denied: another");  // Until the mark expires.
        BOOST_TEST(life_of_key(s) <= colock::kinds::writer_mark_ttl);
        BOOST_TEST(ask(s, claims, "da") == "granted");
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// Fault 43: after the readers have left, a writer is not blocked by its own mark.
BOOST_TEST_DECORATOR(*label("fault-43"))
BOOST_DATA_TEST_CASE(a_writer_mark_does_not_block_writers, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    const auto way_of = [&s](const lock_kind& kind) {
        return s.rig.ask({step::remaining, kind}, "k");
    };
    const auto expect_left = [&](std::chrono::milliseconds from, std::chrono::milliseconds to) {
        for (const auto* kind : {&writer, &fenced_writer}) {
            const auto vote = way_of(*kind);
            BOOST_TEST(to_text(vote) == "denied: another");
            BOOST_TEST((vote.remaining > from && vote.remaining <= to), vote.remaining.count());
        }
    };
    BOOST_TEST(ask(s, looks, ann_reads, 5min) == "granted");
    expect_left(4min, 5min);
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    expect_left(4min, 5min);
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    for (const auto* kind : {&writer, &fenced_writer}) {
        BOOST_TEST(to_text(way_of(*kind)) == "denied: nobody");
    }
    for (const auto* kind : {&exclusive, &shared}) {  // The mark keeps these out.
        BOOST_TEST(to_text(way_of(*kind)) == "denied: another");
    }
    BOOST_TEST(ask(s, claims, "da", 7min) == "granted");
    expect_left(6min, 7min);
    BOOST_TEST(ask(s, step::release, "da") == "granted");

    // Covers a reader that expires before the mark, and a reader of several that expires last.
    s.rig.run_until([&] {
        ask(s, looks, ann_reads, 30ms);
        const bool denied = ask(s, claims, "da") == "denied: another";
        ask(s, step::release, "da");  // The attempt came too late if it was granted.
        return denied;
    });
    s.rig.run_until([&] { return to_text(way_of(writer)) == "denied: nobody"; });
    BOOST_TEST(to_text(way_of(exclusive)) == "denied: another");
    s.rig.run_until([&] { return ask(s, looks, ann_reads, 3min) == "granted"; });
    ask(s, joins, bob_reads, 9min);
    expect_left(8min, 9min);
}

/// Fault 42: the mark of a writer that has given up keeps readers out only until it expires.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(an_abandoned_writer_mark_expires, all_kinds) {
    subject s(sample);
    ask(s, looks, ann_reads);
    ask(s, claims, "da");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: announced");
    const auto begun = std::chrono::steady_clock::now();
    s.rig.run_until([&] { return ask(s, joins, bob_reads) == "granted"; });
    BOOST_TEST((std::chrono::steady_clock::now() - begun < 2 * colock::kinds::writer_mark_ttl));
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");
}

/// Fault 42: a writer that stops waiting removes its own mark and nothing else.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(a_writer_removes_its_writer_mark, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: announced");
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // No writer waits.
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    release_shares(s, {ann_reads, bob_reads});
    BOOST_TEST(life_of_key(s) > 100ms);
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, writes, "ee") == "granted");
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, step::extend, "ee") == "granted");
}

/// Fault 42: a writer removes only its own mark. The marks of other writers still keep readers out.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(each_writer_has_its_own_writer_mark, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    BOOST_TEST(ask(s, claims, "ee") == "denied: another");
    BOOST_TEST(ask(s, unmarks, "da") == "granted");
    BOOST_TEST(ask(s, joins, bob_reads) == "denied: announced");
    BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted: announced");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
    BOOST_TEST(ask(s, unmarks, "ee") == "granted");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted");

    // After the readers have left, the key lives as long as the last mark.
    BOOST_TEST(ask(s, claims, "ee") == "denied: another");
    BOOST_TEST(ask(s, claims, "da") == "denied: another");
    release_shares(s, {ann_reads, bob_reads});
    BOOST_TEST(life_of_key(s) > 100ms);
    BOOST_TEST(ask(s, claims, "ff") == "granted");  // Marks do not block writers.
}

/// Fault 42: a writer that does not wait leaves no mark that keeps readers out.
BOOST_TEST_DECORATOR(*label("fault-42"))
BOOST_DATA_TEST_CASE(a_writer_that_does_not_wait_leaves_no_mark, all_kinds) {
    subject s(sample);
    for (const step_of_kind& first : {looks, joins}) {
        BOOST_TEST(ask(s, first, ann_reads) == "granted");
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // No writer waits.
        BOOST_TEST(ask(s, joins, bob_reads) == "granted");
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "denied: another");
        BOOST_TEST(ask(s, joins, cid_reads) == "granted");

        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, claims.without_waiting(), "ee") == "denied: another");
        BOOST_TEST(ask(s, joins, reader_of("ff")) == "denied: announced");  // Writer "da" waits.
        release_shares(s, {ann_reads, bob_reads, cid_reads});
        BOOST_TEST(life_of_key(s) > 100ms);
        BOOST_TEST(ask(s, claims.without_waiting(), "da") == "granted");  // Marks block no writer.
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// Fault 40: a writer becomes a reader in one step.
BOOST_TEST_DECORATOR(*label("fault-40"))
BOOST_DATA_TEST_CASE(a_writer_becomes_a_reader_without_a_gap, all_kinds) {
    subject s(sample);
    const std::string writer = token_of("da");
    BOOST_TEST(ask(s, writes, writer) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("ee")) == "denied: another");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, step::extend, writer) == "denied: another");
    BOOST_TEST(ask(s, step::release, writer) == refusal(sample, "denied: another"));
    BOOST_TEST(ask(s, writes, "ee") == "denied: another");
    BOOST_TEST(life_of_key(s) > 9min);
    BOOST_TEST(ask(s, joins, ann_reads) == "granted");
    release_shares(s, {reader_of("da"), ann_reads});
    // If the downgrade has not arrived, the release of the reader also releases the lock of the writer.
    BOOST_TEST(ask(s, writes, writer) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), reader_of("da")) == "granted");
    BOOST_TEST(ask(s, of_reader(step::extend), reader_of("da")) == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_reader_sees_the_fence_of_the_last_writer, all_kinds) {
    subject s(sample);
    // The counter is ahead of the clock, so that the passing seconds do not change it.
    constexpr std::uint64_t far = 1ULL << 52U;
    const auto first = s.rig.ask_fence(reads_fenced, "k", ann_reads, far);
    BOOST_TEST(to_text(first) == "granted");
    BOOST_TEST(first.value == far);
    BOOST_TEST(s.rig.ask(reads_fenced, "k", bob_reads).value == first.value);
    ask(s, of_reader(step::release), ann_reads);
    ask(s, of_reader(step::release), bob_reads);
    const auto written = s.rig.ask(writes_fenced, "k", "da");
    BOOST_TEST(written.value > first.value);
    ask(s, step::release, "da");
    BOOST_TEST(s.rig.ask(reads_fenced, "k", ann_reads).value == written.value);
    // If the instances of a quorum disagree, the largest fence is written back to them.
    BOOST_TEST(to_text(s.rig.ask_fence(confirms, "k", bob_reads, written.value + 5)) ==
               "denied: another");
    BOOST_TEST(s.rig.ask_fence(confirms, "k", ann_reads, written.value + 5).value ==
               written.value + 5);
    BOOST_TEST(s.rig.ask(reads_fenced, "k", bob_reads).value == written.value + 5);
}

/// Fault 86: a server that returns with older data has a counter behind the fence of the last writer.
BOOST_AUTO_TEST_CASE(a_reader_gets_a_larger_fence_after_a_counter_loss, *label("fault-86")) {
    subject s(kind::tcp);
    const step_of_kind counts = counts_of(colock::kinds::fenced_shared);
    const std::string counter = colock::kinds::fence_key("k");
    const std::uint64_t older = s.rig.ask(writes_fenced, "k", "da").value;
    ask(s, step::release, "da");
    const std::uint64_t last = s.rig.ask(writes_fenced, "k", "da").value;
    ask(s, step::release, "da");
    const auto forget_last_writer = [&] {
        shared_server().command({"SET", counter, std::to_string(older)});
    };
    // Such a server returns a second later at the earliest. Before that, the clock cannot correct the
    // counter. Another reader, whose lock has no fences, is present.
    BOOST_TEST(ask(s, looks, bob_reads) == "granted");
    s.rig.run_until([&] {
        forget_last_writer();
        return s.rig.ask(reads_fenced, "k", ann_reads).value > last;
    });
    forget_last_writer();
    BOOST_TEST(s.rig.ask_fence(counts, "k", ann_reads).value > last);  // While the slot migrates.
}

/// A restored share was not denied before, but it still joins the other readers.
BOOST_DATA_TEST_CASE(a_restored_share_joins_readers_but_overtakes_no_writer, all_kinds) {
    subject s(sample);
    for (const auto* kind : {&colock::kinds::shared, &colock::kinds::fenced_shared}) {
        const step_of_kind heals = step_of_kind(step::acquire, *kind).healing();
        BOOST_TEST(ask(s, looks, ann_reads) == "granted");
        BOOST_TEST(ask(s, heals, bob_reads) == "granted");
        BOOST_TEST(ask(s, heals, ann_reads, 1ms) == "granted");  // This shortens nothing.
        BOOST_TEST(life_of_key(s) > 9min);
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, heals, cid_reads) == "denied: announced");
        BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
        BOOST_TEST(ask(s, heals, ann_reads) == "denied: announced");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");
        BOOST_TEST(ask(s, claims, "da") == "granted");
        BOOST_TEST(ask(s, step::release, "da") == "granted");
    }
}

/// The expired share stays in the key while other readers hold it and no command cleans up.
BOOST_DATA_TEST_CASE(a_reader_with_an_expired_share_cannot_confirm_a_fence, all_kinds) {
    subject s(sample);
    constexpr std::uint64_t far = 1ULL << 52U;
    BOOST_TEST(s.rig.ask_fence(reads_fenced, "k", ann_reads, far).value == far);
    BOOST_TEST(to_text(s.rig.ask(reads_fenced, "k", bob_reads, short_life)) == "granted");
    s.rig.run_until(
        [&] { return ask(s, of_reader(step::extend), bob_reads, 1ms) == "denied: nobody"; });
    BOOST_TEST(to_text(s.rig.ask_fence(confirms, "k", bob_reads, far + 5)) == "denied: another");
    BOOST_TEST(s.rig.ask_fence(confirms, "k", ann_reads, far).value == far);
}

/// Fault 21: the mark would keep readers out for the time by which the server clock was set back. A unit test
/// covers memory instances.
BOOST_AUTO_TEST_CASE(a_writer_mark_expires_after_the_clock_is_set_back, *label("fault-21")) {
    subject s(kind::tcp);
    share(s, bob_reads);
    // Leaves a mark that would live for an hour. The clock of the sorted set is the end of its longest member
    // minus the PTTL of the key.
    const auto leave_old_mark = [] {
        const redis_server& server = shared_server();
        const std::string last = server.command({"ZRANGE", "k", "-1", "-1", "WITHSCORES"}).value();
        const long long ends = std::stoll(last.substr(last.find('\n') + 1));
        const long long now = ends - std::stoll(server.command({"PTTL", "k"}).value());
        const long long hour = milliseconds(1h).count();
        server.command({"ZADD", "k", std::to_string(-(now + hour)), "writer:7"});
        server.command({"PEXPIRE", "k", std::to_string(hour)});
    };
    for (const bool waits : {true, false}) {
        leave_old_mark();
        BOOST_TEST(ask(s, of_reader(step::extend), ann_reads) == "granted");  // No writer waits.
        BOOST_TEST(ask(s, joins, cid_reads) == "granted");
        BOOST_TEST(ask(s, of_reader(step::release), cid_reads) == "granted");
        leave_old_mark();
        const auto begun = std::chrono::steady_clock::now();
        BOOST_TEST(ask(s, waits ? claims : claims.without_waiting(), "da") == "denied: another");
        s.rig.run_until([&] { return ask(s, joins, cid_reads) == "granted"; });
        const auto lived = std::chrono::steady_clock::now() - begun;
        const milliseconds own = waits ? colock::kinds::writer_mark_ttl : 0ms;
        BOOST_TEST((lived > own - 50ms));  // Measured by another clock.
        BOOST_TEST((lived < 2 * colock::kinds::writer_mark_ttl));
        BOOST_TEST(ask(s, of_reader(step::release), cid_reads) == "granted");
    }
    leave_old_mark();
    release_shares(s, {ann_reads, bob_reads});
    BOOST_TEST((life_of_key(s) <= colock::kinds::writer_mark_ttl));
}

/// A change would notify the clients that track the key. A unit test covers memory instances.
BOOST_AUTO_TEST_CASE(a_writer_that_does_not_wait_changes_no_key) {
    subject s(kind::tcp);
    const auto changes = [] {
        const std::string info = shared_server().command({"INFO", "persistence"}).value_or("");
        const std::string field = "rdb_changes_since_last_save:";
        return std::stol(info.substr(info.find(field) + field.size()));
    };
    BOOST_TEST(ask(s, looks, ann_reads) == "granted");
    for (const std::string writer : {"da", "db"}) {  // The first attempt finds no mark.
        const long before = changes();
        BOOST_TEST(ask(s, claims.without_waiting(), "ee") == "denied: another");
        BOOST_TEST(changes() == before, writer);
        BOOST_TEST(ask(s, claims, writer) == "denied: another");
        BOOST_TEST(changes() != before, writer);
    }
}

/// Fault 85: the token of another library may begin like the token of a reader.
BOOST_AUTO_TEST_CASE(a_foreign_token_with_a_reader_prefix_counts_as_exclusive, *label("fault-85")) {
    subject s(kind::tcp);
    for (const std::string& token :
         {"reader:42"s, "reader:"s, ann_reads + "0", ann_reads.substr(0, ann_reads.size() - 1),
          "reader:"s + std::string(40, 'A'), "reader:"s + std::string(40, 'g')}) {
        shared_server().command({"SET", "k", token, "PX", "600000"});
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), bob_reads) == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "denied: another");
        BOOST_TEST(shared_server().command({"GET", "k"}).value() == token);
    }
}

/// Fault 34: a foreign key is left alone, even if it has the same type.
BOOST_AUTO_TEST_CASE(a_foreign_sorted_set_is_left_alone, *label("fault-34")) {
    subject s(kind::tcp);
    for (const strings& members :
         {strings{"1", "x"}, strings{"1", ann_reads, "2", "x"}, strings{"-1", "writer:7", "2", "x"},
          strings{"1", "writer"}, strings{"1", "reader:zz"}, strings{"1", "reader:42"},
          strings{"1", ann_reads + "0"}}) {
        strings command{"ZADD", "k"};
        command.insert(command.end(), members.begin(), members.end());
        shared_server().flush();
        shared_server().command(command);
        BOOST_TEST(ask(s, looks, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, joins, bob_reads) == "denied: another");
        BOOST_TEST(ask(s, claims, "da") == "denied: another");
        BOOST_TEST(ask(s, of_reader(step::extend), bob_reads) != "granted");
        BOOST_TEST(ask(s, of_reader(step::release), bob_reads) != "granted");
        BOOST_TEST(ask(s, step::release, "da").starts_with("denied"));
        BOOST_TEST(ask(s, unmarks, "da") == "denied: nobody");
        BOOST_TEST(shared_server().command({"ZCARD", "k"}).value_or("") ==
                   std::to_string(members.size() / 2));
    }
}

BOOST_AUTO_TEST_SUITE_END()
