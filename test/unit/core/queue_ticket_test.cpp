// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/queue_ticket.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colock::core {
namespace {

BOOST_AUTO_TEST_SUITE(queue_ticket_test)

using namespace std::chrono_literals;

constexpr time_point start{1000h};

using kind = queue_ticket::event::kind_type;

/// A ticket that is refreshed every 250 ms.
struct scene {
    queue_ticket p{queue_ticket_settings{}};
    time_point now = start;

    /// Returns a step as text. "join", "lock" and "before" are the commands to send. The advice follows, and
    /// then the time of the wait, in ms from the start.
    static std::string text_of(const queue_ticket::step& s) {
        std::string result;
        const auto add = [&result](bool wanted, const char* word) {
            result += wanted ? std::string(result.empty() ? "" : " ") + word : "";
        };
        add(s.join, "join");
        add(s.ask_lock, "lock");
        add(s.ask_before, "before");
        add(s.advice == queue_ticket::advice::wait, "WAIT");
        add(s.advice == queue_ticket::advice::turn, "TURN");
        add(s.advice == queue_ticket::advice::on_its_own, "ON ITS OWN");
        add(s.advice == queue_ticket::advice::poll, "POLL");
        add(s.advice == queue_ticket::advice::broken, "BROKEN");
        add(s.advice == queue_ticket::advice::over, "OVER");
        const auto until = std::chrono::duration_cast<milliseconds>(s.until - start).count();
        return result + "@" + std::to_string(until);
    }

    std::string told(const queue_ticket::event& e) { return text_of(p.resume(e, now)); }
    std::string told(kind what) { return told(queue_ticket::event::just(what)); }
    std::string voted(kind on, const vote& v) { return told(queue_ticket::event::voted(on, v)); }

    std::string joined(std::uint64_t before) { return voted(kind::joined, vote::granted(before)); }
    std::string before_there(milliseconds remaining = 900ms) {
        return voted(kind::before, vote::denied(key_state::foreign, remaining));
    }
    std::string before_gone() { return voted(kind::before, vote::denied(key_state::absent, 0ms)); }
    std::string lock_held(milliseconds remaining = 10s) {
        return voted(kind::lock, vote::denied(key_state::foreign, remaining));
    }
    std::string lock_free() { return voted(kind::lock, vote::denied(key_state::absent, 0ms)); }
    std::string failed() { return voted(kind::joined, vote::failed(failure::connection_lost)); }
    std::string join() { return told(kind::join); }
    std::string join_from(milliseconds time) {
        return told(queue_ticket::event::join(start + time));
    }
    std::string denied() { return told(queue_ticket::event::denied(true)); }
    std::string denied_by_others() { return told(queue_ticket::event::denied(false)); }
    std::string held() { return told(kind::held); }
    [[nodiscard]] auto rejoins_after() const {
        return std::chrono::duration_cast<milliseconds>(p.rejoin_from(now) - now).count();
    }
    std::string lock_changed() { return told(kind::lock_changed); }
    std::string before_changed() { return told(kind::before_changed); }
    std::string all_changed() { return told(kind::all_changed); }
    std::string timer() { return told(kind::timer); }
    void at(milliseconds time) { now = start + time; }

    /// Brings the waiter behind another waiter, whose ticket it watches.
    void stand_behind(milliseconds its_ticket = 900ms) {
        join();
        joined(7);
        BOOST_TEST_REQUIRE(before_there(its_ticket) == "WAIT@250");
    }

    /// Brings the waiter behind another waiter. After its first query of the lock, it also watches the lock.
    void stand_behind_and_watch_the_lock() {
        stand_behind();
        at(250ms);
        timer();
        joined(7);
        BOOST_TEST_REQUIRE(lock_held() == "WAIT@500");
    }

    /// Brings the waiter behind a client whose ticket may change by its own renewal.
    void stand_behind_an_old_ticket() { stand_behind(490ms); }

    /// Brings the waiter to the head of the queue, where it watches the lock.
    void stand_first() {
        join();
        joined(0);
        BOOST_TEST_REQUIRE(lock_held() == "WAIT@250");
    }

    /// Brings the waiter to the head of the queue. It is woken at 10 and 20 ms, and denied both times.
    void stand_first_in_vain() {
        stand_first();
        at(10ms);
        BOOST_TEST_REQUIRE(lock_changed() == "TURN@250");
        BOOST_TEST_REQUIRE(denied() == "join@260");
        BOOST_TEST_REQUIRE(joined(0) == "ON ITS OWN@260");
        at(20ms);
        BOOST_TEST_REQUIRE(lock_changed() == "@260");
        BOOST_TEST_REQUIRE(denied() == "join@270");
        BOOST_TEST_REQUIRE(joined(0) == "ON ITS OWN@270");
    }
};

BOOST_FIXTURE_TEST_CASE(a_waiter_moves_from_the_end_of_the_queue_to_its_turn, scene) {
    BOOST_TEST(join() == "join@250");
    BOOST_TEST(joined(7) == "before@250");
    BOOST_TEST(p.before() == 7U);
    BOOST_TEST(before_there() == "WAIT@250");
    at(90ms);
    BOOST_TEST(before_changed() == "TURN@250");
    at(91ms);
    BOOST_TEST(held() == "@341");
    BOOST_TEST(before_changed() == "@341");
    BOOST_TEST(lock_changed() == "@341");
    at(250ms);
    BOOST_TEST(timer() == "@341");  // It does not join again.
    at(341ms);
    BOOST_TEST(timer() == "OVER@341");
}

BOOST_FIXTURE_TEST_CASE(a_leaving_client_may_rejoin_after_a_sixteenth_of_its_hold, scene) {
    stand_first();
    lock_changed();
    at(50ms);
    held();
    at(50ms + 32ms);
    BOOST_TEST(rejoins_after() == 2);
    at(50ms + 240ms);
    BOOST_TEST(rejoins_after() == 10);

    scene never_held;
    never_held.stand_first();
    never_held.at(100ms);
    BOOST_TEST(never_held.rejoins_after() == 0);
}

/// The attempts of a writer announce it to the servers, and a reader may join other readers.
BOOST_AUTO_TEST_CASE(the_head_may_attempt_while_the_lock_is_held) {
    queue_ticket_settings settings;
    settings.attempts_while_held = true;
    scene s{queue_ticket(settings)};
    BOOST_TEST(s.join() == "join@250");
    BOOST_TEST(s.joined(7) == "before@250");
    BOOST_TEST(s.before_there(490ms) == "WAIT@250");
    s.at(20ms);
    BOOST_TEST(s.before_changed() == "join lock@270");
    BOOST_TEST(s.joined(0) == "@270");
    BOOST_TEST(s.lock_held() == "TURN@270");
    s.at(21ms);
    BOOST_TEST(s.denied_by_others() == "join@271");
    BOOST_TEST(s.joined(0) == "ON ITS OWN@271");

    scene alone{queue_ticket(settings)};
    BOOST_TEST(alone.join() == "join@250");
    BOOST_TEST(alone.joined(0) == "TURN@250");
}

BOOST_FIXTURE_TEST_CASE(joining_can_be_deferred, scene) {
    BOOST_TEST(join_from(7ms) == "@7");
    at(6ms);
    BOOST_TEST(timer() == "@7");
    at(7ms);
    BOOST_TEST(timer() == "join@257");
    BOOST_TEST(joined(7) == "before@257");
}

BOOST_FIXTURE_TEST_CASE(a_renewal_of_the_ticket_ahead_does_not_give_the_turn, scene) {
    stand_behind(600ms);
    at(100ms);
    BOOST_TEST(before_changed() == "TURN@250");

    scene t;
    t.stand_behind(600ms);
    t.at(101ms);
    BOOST_TEST(t.before_changed() == "join lock@351");
    t.joined(7);
    BOOST_TEST(t.lock_held() == "before@351");
    BOOST_TEST(t.before_there(1000ms) == "WAIT@351");
    t.at(601ms);
    BOOST_TEST(t.before_changed() == "TURN@351");
}

BOOST_FIXTURE_TEST_CASE(a_waiter_rejoins_if_its_predecessor_was_not_the_holder, scene) {
    stand_behind();
    before_changed();
    BOOST_TEST(denied() == "join@250");
    BOOST_TEST(joined(5) == "before@250");
    BOOST_TEST(before_there() == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(a_denied_waiter_at_the_head_watches_the_lock, scene) {
    stand_behind();
    before_changed();
    BOOST_TEST(denied() == "join@250");
    BOOST_TEST(joined(0) == "lock@250");
    BOOST_TEST(lock_held() == "WAIT@250");
    BOOST_TEST(lock_changed() == "TURN@250");
    denied();
    BOOST_TEST(joined(0) == "ON ITS OWN@250");  // The turn came from a real change.
}

BOOST_FIXTURE_TEST_CASE(a_lone_waiter_attempts_if_the_lock_is_free, scene) {
    join();
    BOOST_TEST(joined(0) == "lock@250");
    BOOST_TEST(lock_free() == "TURN@250");
}

BOOST_FIXTURE_TEST_CASE(a_waiter_rejoins_if_its_predecessor_is_already_gone, scene) {
    join();
    joined(7);
    BOOST_TEST(before_gone() == "join lock@250");
    joined(0);
    BOOST_TEST(lock_free() == "TURN@250");
}

BOOST_FIXTURE_TEST_CASE(a_waiter_watches_its_new_predecessor, scene) {
    stand_behind_an_old_ticket();
    before_changed();
    lock_held();
    BOOST_TEST(joined(5) == "before@250");
    BOOST_TEST(p.before() == 5U);
    BOOST_TEST(before_there() == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(lock_changes_concern_only_the_head, scene) {
    stand_behind();
    BOOST_TEST(lock_changed() == "@250");
}

BOOST_FIXTURE_TEST_CASE(a_change_during_a_query_is_not_lost, scene) {
    stand_behind();
    at(250ms);
    BOOST_TEST(timer() == "join lock@500");
    BOOST_TEST(before_changed() == "@500");
    BOOST_TEST(lock_held() == "@500");
    BOOST_TEST(joined(7) == "join@500");  // Asks again, but not for the lock that it watches.
    BOOST_TEST(joined(0) == "WAIT@500");
    BOOST_TEST(lock_changed() == "TURN@500");
}

BOOST_FIXTURE_TEST_CASE(the_head_rejoins_if_the_lock_changes_during_its_query, scene) {
    stand_first();
    BOOST_TEST(all_changed() == "join lock@250");
    BOOST_TEST(lock_changed() == "@250");
    BOOST_TEST(joined(0) == "@250");
    BOOST_TEST(lock_held() == "join@250");  // The reply describes the state after the change.
    BOOST_TEST(joined(0) == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(the_head_attempts_even_without_a_notification, scene) {
    stand_first();
    at(250ms);
    BOOST_TEST(timer() == "TURN@250");
    BOOST_TEST(timer() == "join@500");  // Keeps its position.
}

BOOST_FIXTURE_TEST_CASE(a_waiter_keeps_its_position_by_rejoining, scene) {
    stand_behind();
    at(100ms);
    BOOST_TEST(timer() == "@250");
    at(250ms);
    BOOST_TEST(timer() == "join lock@500");
    joined(7);
    BOOST_TEST(lock_held() == "WAIT@500");
    at(500ms);
    BOOST_TEST(timer() == "join@750");  // The lock has been watched since then.
    BOOST_TEST(joined(7) == "WAIT@750");
}

BOOST_FIXTURE_TEST_CASE(an_attempt_skips_dead_waiters_when_the_lock_is_free, scene) {
    stand_behind();
    at(250ms);
    timer();
    joined(7);
    BOOST_TEST(lock_free() == "TURN@500");
}

BOOST_FIXTURE_TEST_CASE(no_waiter_is_skipped_between_two_holders, scene) {
    stand_behind_an_old_ticket();
    before_changed();
    lock_free();
    joined(5);
    BOOST_TEST(before_there() == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(the_head_attempts_when_the_ttl_expires, scene) {
    join();
    joined(0);
    BOOST_TEST(lock_held(30ms) == "WAIT@31");
    at(31ms);
    BOOST_TEST(timer() == "TURN@250");
}

BOOST_FIXTURE_TEST_CASE(a_client_joins_after_a_denial, scene) {
    BOOST_TEST(denied() == "join@250");
    BOOST_TEST(joined(0) == "lock@250");
    BOOST_TEST(lock_held() == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(the_head_waits_on_its_own_after_a_denied_turn, scene) {
    stand_first();
    lock_changed();
    BOOST_TEST(denied() == "join@250");
    BOOST_TEST(joined(0) == "ON ITS OWN@250");
    BOOST_TEST(lock_changed() == "@250");
    BOOST_TEST(before_changed() == "@250");
    at(250ms);
    BOOST_TEST(timer() == "join@500");  // Only keeps the position.
    BOOST_TEST(joined(0) == "@500");
}

BOOST_AUTO_TEST_CASE(a_grant_by_the_queue_server_ends_the_lock_watch) {
    for (const bool by_keeper : {true, false}) {
        scene s;
        s.stand_behind_and_watch_the_lock();
        BOOST_TEST(s.before_changed() == "TURN@500");
        BOOST_TEST((by_keeper ? s.denied() : s.denied_by_others()) == "join@500");
        BOOST_TEST(s.joined(0) == (by_keeper ? "WAIT@500" : "lock@500"));
    }
}

BOOST_FIXTURE_TEST_CASE(the_head_polls_after_repeated_wakes_without_a_grant, scene) {
    stand_first_in_vain();
    at(30ms);
    BOOST_TEST(lock_changed() == "@270");
    at(31ms);
    BOOST_TEST(denied() == "lock POLL@281");  // Also tracks the next change.
    at(32ms);
    BOOST_TEST(denied() == "POLL@281");  // The query has not been answered yet.
    BOOST_TEST(lock_held() == "@270");
    at(34ms);
    BOOST_TEST(denied() == "POLL@270");
    at(40ms);
    BOOST_TEST(lock_changed() == "@270");
    at(41ms);
    BOOST_TEST(denied() == "lock POLL@291");
    BOOST_TEST(lock_free() == "@270");
    at(42ms);
    BOOST_TEST(denied() == "lock POLL@292");
    BOOST_TEST(lock_held() == "@270");
}

BOOST_FIXTURE_TEST_CASE(a_polling_head_watches_again_after_a_queue_server_grant, scene) {
    stand_first_in_vain();
    at(30ms);
    lock_changed();
    BOOST_TEST(denied() == "lock POLL@280");
    lock_held();
    BOOST_TEST(denied() == "POLL@270");
    BOOST_TEST(denied_by_others() == "lock POLL@280");
}

BOOST_FIXTURE_TEST_CASE(a_polling_head_keeps_its_position, scene) {
    stand_first_in_vain();
    at(30ms);
    lock_changed();
    at(269ms);
    BOOST_TEST(denied() == "lock POLL@519");
    at(270ms);
    BOOST_TEST(timer() == "@519");  // It waits for the reply first.
    BOOST_TEST(lock_held() == "@270");
    BOOST_TEST(timer() == "join@520");
    BOOST_TEST(denied() == "POLL@520");
    BOOST_TEST(joined(0) == "@520");
    BOOST_TEST(denied() == "POLL@520");
}

BOOST_FIXTURE_TEST_CASE(polling_stops_when_the_holder_keeps_the_lock, scene) {
    stand_first_in_vain();
    at(30ms);
    lock_changed();
    at(279ms);
    BOOST_TEST(denied() == "lock POLL@529");
    BOOST_TEST(lock_held() == "@270");
    at(280ms);
    BOOST_TEST(denied() == "join@530");
    BOOST_TEST(joined(0) == "ON ITS OWN@530");
    at(281ms);
    lock_changed();
    BOOST_TEST(denied() == "join@531");  // This is the first change in a long time.
}

BOOST_FIXTURE_TEST_CASE(polling_stops_behind_another_waiter, scene) {
    stand_first_in_vain();
    at(30ms);
    lock_changed();
    at(270ms);
    timer();
    BOOST_TEST(joined(7) == "@520");
    BOOST_TEST(denied() == "join@520");
    BOOST_TEST(joined(7) == "before@520");
    BOOST_TEST(before_there() == "WAIT@520");
}

BOOST_FIXTURE_TEST_CASE(renewals_do_not_cause_polling, scene) {
    stand_first();
    for (int i = 1; i != 20; ++i) {
        at(i * 250ms);
        lock_changed();
        BOOST_TEST(denied() == "join@" + std::to_string((i + 1) * 250));
        joined(0);
    }
}

BOOST_FIXTURE_TEST_CASE(a_waiter_behind_another_never_polls, scene) {
    stand_behind();
    for (int i = 0; i != 10; ++i) {
        lock_changed();
        before_changed();
        BOOST_TEST(denied() == "join@250");
        joined(7);
        BOOST_TEST(before_there() == "WAIT@250");
    }
}

BOOST_FIXTURE_TEST_CASE(a_waiter_denied_behind_others_waits_again, scene) {
    stand_behind_an_old_ticket();
    at(250ms);
    timer();
    joined(7);
    lock_free();  // Its turn.
    BOOST_TEST(denied() == "join@500");
    BOOST_TEST(joined(7) == "WAIT@500");
    before_changed();
    lock_held();
    BOOST_TEST(joined(0) == "WAIT@500");  // Earlier denials do not count any more.
}

BOOST_FIXTURE_TEST_CASE(a_denial_during_a_rejoin_is_handled_afterwards, scene) {
    stand_first();
    lock_changed();
    at(250ms);
    timer();
    BOOST_TEST(denied() == "@500");
    BOOST_TEST(joined(0) == "join lock@500");
    lock_held();
    BOOST_TEST(joined(0) == "ON ITS OWN@500");
}

BOOST_FIXTURE_TEST_CASE(the_head_asks_again_when_all_keys_may_have_changed, scene) {
    stand_first();
    BOOST_TEST(all_changed() == "join lock@250");
    joined(0);
    BOOST_TEST(lock_free() == "TURN@250");
}

BOOST_FIXTURE_TEST_CASE(a_failed_or_silent_queue_server_is_reported_as_broken, scene) {
    join();
    BOOST_TEST(failed() == "BROKEN@250");

    scene t;
    t.stand_behind();
    t.at(250ms);
    t.timer();
    t.at(499ms);
    BOOST_TEST(t.timer() == "@500");
    t.at(500ms);
    BOOST_TEST(t.timer() == "BROKEN@500");
}

/// Idle waiters cost the queue server little. An unreported fault at most doubles a wait.
BOOST_FIXTURE_TEST_CASE(a_long_waiting_client_rejoins_less_often, scene) {
    stand_behind();
    std::string joins;
    for (int i = 1; i != 70; ++i) {
        at(i * 250ms);
        const std::string asked = timer();
        if (asked.starts_with("join")) {
            joins += std::to_string(i * 250) + " " + std::to_string(p.ttl() / 1ms) + ", ";
            joined(7);
        }
        if (asked.starts_with("join lock")) {
            lock_held(1h);
        }
    }
    BOOST_TEST(joins ==
               "250 1000, 500 1000, 750 1000, 1000 4000, 2000 4000, 3000 4000, 4000 16000, "
               "8000 16000, 12000 16000, 16000 16000, ");
}

BOOST_AUTO_TEST_CASE(a_new_position_resets_the_rejoin_interval) {
    for (const bool by_keeper : {true, false}) {
        scene s;
        s.stand_behind_and_watch_the_lock();
        s.at(5s);
        BOOST_TEST(s.timer() == "join@5250");
        BOOST_TEST(s.joined(7) == "WAIT@9000");
        s.at(6s);
        if (by_keeper) {
            BOOST_TEST(s.all_changed() == "join lock@6250");
            s.lock_held();
            s.joined(7);
            BOOST_TEST(s.before_there() == "WAIT@6250");
        } else {
            s.before_changed();
            s.lock_held();
            s.joined(5);
            BOOST_TEST(s.before_there() == "WAIT@10000");
            s.at(6100ms);
            s.before_changed();
            s.denied();
            BOOST_TEST(s.joined(0) == "WAIT@6350");
        }
    }
}

/// The client of this ticket has waited for long, so it rewrites the ticket less often.
BOOST_AUTO_TEST_CASE(a_longer_ticket_ahead_is_renewed_less_often) {
    struct row {
        milliseconds remaining;
        milliseconds written_from;  // // A change from this time on may be a renewal.
    };
    for (const row& r : {row{501ms, 1ms}, row{1000ms, 500ms}, row{1001ms, -999ms},
                         row{4000ms, 2000ms}, row{4001ms, -3999ms}, row{16000ms, 8000ms}}) {
        BOOST_TEST_CONTEXT(r.remaining.count() << " ms") {
            scene early;
            early.join();
            early.joined(7);
            early.before_there(r.remaining);
            early.at(r.written_from - 1ms);
            scene late = early;
            if (r.written_from > 0ms) {
                BOOST_TEST(early.before_changed().starts_with("TURN"));
            }
            late.at(r.written_from + 1ms);
            BOOST_TEST(late.before_changed().starts_with("join lock"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_ticket_outlives_three_rejoin_intervals) {
    const queue_ticket_settings settings;
    for (const duration waited : {0ms, 999ms, 1000ms, 4000ms, 100000ms}) {
        const duration interval = settings.interval(waited);
        BOOST_TEST((queue_ticket_settings::ttl(interval) >= 3 * interval));
        BOOST_TEST((interval == settings.refresh || interval <= waited));
        BOOST_TEST((interval <= settings.longest_refresh));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core
