// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/queue_place.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace colock::core {
BOOST_AUTO_TEST_SUITE(a_place_in_a_queue_whose_order_binds)

namespace {

using namespace std::chrono_literals;

constexpr time_point start{1000h};

using kind = queue_place::event::kind_type;

/// A client that refreshes its places every 250 ms.
struct scene {
    queue_place p{queue_place_settings{}};
    time_point now = start;

    /// Returns a step as text. "stay", "lock" and "before" are the queries to send. The advice follows, and
    /// then the time of the wait, in ms from the start.
    static std::string text_of(const queue_place::step& s) {
        std::string result;
        const auto add = [&result](bool wanted, const char* word) {
            result += wanted ? std::string(result.empty() ? "" : " ") + word : "";
        };
        add(s.watch_lock, "lock");
        add(s.watch_before, "before");
        add(s.stay, "stay");
        add(s.advice == queue_advice::wait, "WAIT");
        add(s.advice == queue_advice::turn, "TURN");
        add(s.advice == queue_advice::on_its_own, "ON ITS OWN");
        const auto until = std::chrono::duration_cast<milliseconds>(s.until - start).count();
        return result + "@" + std::to_string(until);
    }

    std::string told(const queue_place::event& e) { return text_of(p.resume(e, now)); }
    std::string told(kind what) { return told(queue_place::event::just(what)); }
    std::string voted(kind on, const vote& v) { return told(queue_place::event::voted(on, v)); }

    std::string stayed(std::uint64_t before) { return voted(kind::stayed, vote::granted(before)); }
    std::string missing() { return voted(kind::stayed, vote::denied(key_state::absent)); }
    std::string lock_held(milliseconds remaining = 10s) {
        return voted(kind::lock, vote::denied(key_state::foreign, remaining));
    }
    std::string lock_free() { return voted(kind::lock, vote::denied(key_state::absent, 0ms)); }
    std::string before_there(milliseconds remaining = 900ms) {
        return voted(kind::before, vote::denied(key_state::foreign, remaining));
    }
    std::string before_gone() { return voted(kind::before, vote::denied(key_state::absent, 0ms)); }
    std::string failed(kind what) { return voted(what, vote::failed(failure::connection_lost)); }
    std::string at(milliseconds time) {
        now = start + time;
        return told(kind::timer);
    }

    /// Brings the waiter to the head of the queue after a denial.
    void wait_as_first() {
        told(kind::entered);
        told(kind::denied);
        lock_held();
        BOOST_TEST(stayed(0) == "WAIT@250");
    }
    /// Brings the waiter behind client 7 after a denial.
    void wait_as_second() {
        told(kind::entered);
        told(kind::denied);
        lock_held();
        stayed(7);
        before_there();
        BOOST_TEST(stayed(7) == "WAIT@250");
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_first_watches_the_lock_and_attempts_when_it_changes, scene) {
    BOOST_TEST(told(kind::entered) == "@250");
    BOOST_TEST(told(kind::denied) == "lock stay@250");
    BOOST_TEST(lock_held() == "@250");
    BOOST_TEST(stayed(0) == "WAIT@250");
    BOOST_TEST(told(kind::lock_changed) == "TURN@250");
    BOOST_TEST(told(kind::denied) == "lock stay@250");  // Another client has acquired the lock.
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_is_free_already_is_attempted_at_once, scene) {
    told(kind::entered);
    told(kind::denied);
    BOOST_TEST(lock_free() == "@250");
    BOOST_TEST(stayed(0) == "TURN@250");
}

/// It queries its position after it has begun to watch the ticket, so that it misses no change.
BOOST_FIXTURE_TEST_CASE(another_watches_the_ticket_before_it_and_asks_again, scene) {
    told(kind::entered);
    told(kind::denied);
    lock_held();
    BOOST_TEST(stayed(7) == "before stay@250");
    BOOST_TEST(p.before() == 7U);
    BOOST_TEST(before_there() == "@250");
    BOOST_TEST(stayed(7) == "WAIT@250");
    BOOST_TEST(told(kind::lock_changed) == "@250");  // It is the turn of another waiter.
    BOOST_TEST(told(kind::before_changed) == "before stay@250");
    before_there();
    BOOST_TEST(stayed(0) == "lock stay@250");  // It is the first waiter now.
    lock_held();
    BOOST_TEST(stayed(0) == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(the_position_changes_while_it_begins_to_watch, scene) {
    told(kind::entered);
    told(kind::denied);
    lock_held();
    stayed(7);
    before_there();
    BOOST_TEST(stayed(5) == "before stay@250");
    before_there();
    BOOST_TEST(stayed(5) == "WAIT@250");
}

BOOST_FIXTURE_TEST_CASE(a_change_before_the_answer_makes_it_ask_again, scene) {
    told(kind::entered);
    told(kind::denied);
    lock_held();
    BOOST_TEST(told(kind::lock_changed) == "@250");
    BOOST_TEST(stayed(0) == "lock stay@250");
    lock_free();
    BOOST_TEST(stayed(0) == "TURN@250");
}

/// The client ahead has no ticket, and the instance does not skip it. A further question would get the same
/// answer. The client asks again at its next refresh, or when the other client has a ticket again.
BOOST_FIXTURE_TEST_CASE(a_client_ahead_without_a_ticket_may_not_be_dead_yet, scene) {
    told(kind::entered);
    told(kind::denied);
    lock_held();
    stayed(7);
    before_gone();
    BOOST_TEST(stayed(7) == "WAIT@250");
    BOOST_TEST(at(249ms) == "@250");
    BOOST_TEST(at(250ms) == "before stay@500");
    before_gone();
    BOOST_TEST(stayed(0) == "WAIT@500");  // It has watched the lock since then.
}

BOOST_FIXTURE_TEST_CASE(the_end_of_what_it_watches_is_as_a_change, scene) {
    told(kind::entered);
    told(kind::denied);
    lock_held(99ms);
    BOOST_TEST(stayed(0) == "WAIT@100");
    BOOST_TEST(at(99ms) == "@100");
    BOOST_TEST(at(100ms) == "TURN@250");

    scene other;
    other.told(kind::entered);
    other.told(kind::denied);
    other.lock_held();
    other.stayed(7);
    other.before_there(99ms);
    BOOST_TEST(other.stayed(7) == "WAIT@100");
    BOOST_TEST(other.at(100ms) == "lock stay@350");
}

BOOST_FIXTURE_TEST_CASE(the_ticket_is_kept_alive_at_any_time, scene) {
    BOOST_TEST(told(kind::entered) == "@250");
    BOOST_TEST(at(250ms) == "stay@500");  // The client itself holds the lock.
    BOOST_TEST(stayed(0) == "@500");
    now += 10ms;
    told(kind::denied);
    lock_held();
    BOOST_TEST(stayed(0) == "WAIT@510");
    BOOST_TEST(at(510ms) == "lock stay@760");  // A notification may have been lost.
    lock_held();
    BOOST_TEST(stayed(0) == "WAIT@760");
    BOOST_TEST(told(kind::lock_changed) == "TURN@760");
    BOOST_TEST(at(760ms) == "stay@1010");  // During its attempt.
    BOOST_TEST(stayed(0) == "@1010");
    BOOST_TEST(told(kind::attempting) == "@1010");
}

BOOST_FIXTURE_TEST_CASE(a_heartbeat_tells_of_another_position, scene) {
    wait_as_second();
    BOOST_TEST(at(250ms) == "before stay@500");
    before_there();
    BOOST_TEST(stayed(0) == "WAIT@500");  // The lock is watched already.
}

BOOST_FIXTURE_TEST_CASE(missing_places_make_it_ask_again, scene) {
    wait_as_first();
    at(250ms);
    lock_held();
    BOOST_TEST(missing() == "stay@500");
    BOOST_TEST(stayed(7) == "before stay@500");
}

BOOST_FIXTURE_TEST_CASE(without_answers_it_is_left_to_the_waiter, scene) {
    told(kind::entered);
    told(kind::denied);
    failed(kind::lock);
    BOOST_TEST(stayed(0) == "ON ITS OWN@250");
    BOOST_TEST(at(250ms) == "lock stay@500");
    failed(kind::lock);
    BOOST_TEST(failed(kind::stayed) == "ON ITS OWN@500");
    BOOST_TEST(at(500ms) == "lock stay@750");
    lock_held();  // The instance has recovered.
    BOOST_TEST(stayed(0) == "WAIT@750");
}

BOOST_FIXTURE_TEST_CASE(after_a_gap_it_asks_for_everything_again, scene) {
    wait_as_first();
    BOOST_TEST(told(kind::all_changed) == "lock stay@250");
    scene second;
    second.wait_as_second();
    BOOST_TEST(second.told(kind::all_changed) == "before stay@250");
}

/// An attempt writes the lock. A client is not notified of its own writes, nor of the changes that follow.
BOOST_FIXTURE_TEST_CASE(an_attempt_ends_what_it_watches, scene) {
    wait_as_first();
    told(kind::attempting);
    BOOST_TEST(told(kind::denied) == "lock stay@250");
}

BOOST_FIXTURE_TEST_CASE(answers_from_before_a_denial_are_not_the_last_word, scene) {
    wait_as_first();
    at(250ms);
    lock_held();
    told(kind::lock_changed);
    told(kind::attempting);
    BOOST_TEST(told(kind::denied) == "lock stay@500");
    BOOST_TEST(stayed(0) == "@500");  // From before the denial.
    BOOST_TEST(lock_held() == "@500");
    BOOST_TEST(stayed(0) == "stay@500");
    BOOST_TEST(stayed(0) == "WAIT@500");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::core
