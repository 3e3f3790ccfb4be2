// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The machine of a read or a write of a record, in virtual time.

#include "core/write.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <random>

BOOST_AUTO_TEST_SUITE(write_machine)

namespace {

using namespace std::chrono_literals;
using namespace colock::core;
using machine_type = colock::core::write;
using event = machine_type::event;
using kind = machine_type::event::kind_type;

constexpr time_point start_time{1000h};

/// A write, and the time.
struct subject {
    explicit subject(bool changes = true, duration timeout = 2s)
        : machine({.changes = changes, .retry = {4ms, 64ms}, .unavailable_timeout = timeout}, 1) {}

    machine_type::step tell(const event& e) {
        last = machine.resume(e, now);
        return last;
    }
    machine_type::step vote(const vote& v) { return tell(event::voted(v)); }
    machine_type::step fail(failure reason) { return vote(vote::failed(reason)); }
    /// Sends a copy.
    void send() {
        BOOST_TEST_REQUIRE(last.ask_for_room);
        BOOST_TEST_REQUIRE(tell(event::just(kind::admitted)).send);
    }
    /// Starts, and sends the first copy.
    void begin() {
        tell(event::start());
        send();
    }
    /// Waits until the next copy is due, and sends it.
    void send_again() {
        BOOST_TEST_REQUIRE(!last.done);
        now = last.until;
        tell(event::just(kind::timer));
        send();
    }
    [[nodiscard]] bool ended_with(write_outcome outcome) const {
        return last.done && machine.outcome() == outcome;
    }

    machine_type machine;
    time_point now = start_time;
    machine_type::step last;
};

vote denied(key_state key) {
    return vote::denied(key);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_write_is_applied_by_one_copy) {
    subject s;
    s.begin();
    BOOST_TEST((s.last.until == start_time + 2s));
    BOOST_TEST(s.machine.in_doubt());
    s.vote(vote::granted(7));
    BOOST_TEST(s.ended_with(write_outcome::applied));
    BOOST_TEST(!s.machine.in_doubt());
    BOOST_TEST(!s.vote(denied(key_state::foreign)).done);  // It has ended.
    BOOST_TEST((s.machine.outcome() == write_outcome::applied));
}

/// The only copy was not executed, whatever the instance remembers of other writes.
BOOST_AUTO_TEST_CASE(a_single_copy_is_refused_for_certain) {
    for (const key_state state : {key_state::foreign, key_state::unknown}) {
        subject s;
        s.begin();
        s.vote(denied(state));
        BOOST_TEST(s.ended_with(write_outcome::refused));
    }
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_for_by_the_same_write) {
    for (const failure lost : {failure::connection_lost, failure::timeout, failure::unclear_error,
                               failure::unexpected_reply}) {
        subject s;
        s.begin();
        s.fail(lost);
        BOOST_TEST(!s.last.done);
        BOOST_TEST((s.last.until > start_time && s.last.until <= start_time + 8ms));
        s.send_again();
        s.vote(vote::granted(7));
        BOOST_TEST(s.ended_with(write_outcome::applied));
    }
}

/// Fault 61: the instance may no longer remember the write.
BOOST_AUTO_TEST_CASE(an_instance_that_cannot_tell_leaves_the_outcome_unknown,
                     *boost::unit_test::label("fault-61")) {
    const auto outcome_after = [](key_state state) {
        subject s;
        s.begin();
        s.fail(failure::connection_lost);
        s.send_again();
        s.vote(denied(state));
        BOOST_TEST_REQUIRE(s.last.done);
        return s.machine.outcome();
    };
    BOOST_TEST((outcome_after(key_state::foreign) == write_outcome::refused));
    BOOST_TEST((outcome_after(key_state::unknown) == write_outcome::unknown));
    BOOST_TEST((outcome_after(key_state::other_kind) == write_outcome::unknown));
}

BOOST_AUTO_TEST_CASE(a_copy_that_was_not_executed_leaves_no_doubt) {
    subject s;
    s.begin();
    for (const failure refused :
         {failure::down, failure::overloaded, failure::stalled, failure::server_error}) {
        s.fail(refused);
        BOOST_TEST(!s.machine.in_doubt());
        s.send_again();
    }
    s.vote(denied(key_state::unknown));
    BOOST_TEST(s.ended_with(write_outcome::refused));
}

BOOST_AUTO_TEST_CASE(a_write_ends_when_nobody_has_answered_in_time) {
    subject unsent;
    unsent.begin();
    unsent.fail(failure::down);
    subject lost = unsent;
    lost.send_again();
    lost.fail(failure::connection_lost);
    for (subject* const one : {&unsent, &lost}) {
        one->now = start_time + 2s;
        one->tell(event::just(kind::timer));
    }
    BOOST_TEST(unsent.ended_with(write_outcome::unavailable));
    BOOST_TEST(lost.ended_with(write_outcome::unknown));

    subject silent;
    silent.begin();
    silent.now = start_time + 2s;
    silent.tell(event::just(kind::timer));
    BOOST_TEST(silent.ended_with(write_outcome::unknown));

    subject without_room;
    without_room.tell(event::start());
    without_room.now = start_time + 2s;
    without_room.tell(event::just(kind::timer));
    BOOST_TEST(without_room.ended_with(write_outcome::unavailable));
}

BOOST_AUTO_TEST_CASE(a_write_without_a_timeout_makes_one_attempt) {
    subject down(true, 0s);
    down.begin();
    BOOST_TEST((down.last.until == never));
    down.fail(failure::down);
    BOOST_TEST(down.ended_with(write_outcome::unavailable));
    subject lost(true, 0s);
    lost.begin();
    lost.fail(failure::connection_lost);
    BOOST_TEST(lost.ended_with(write_outcome::unknown));
}

BOOST_AUTO_TEST_CASE(a_write_on_too_few_replicas_is_not_sent_again) {
    subject s;
    s.begin();
    s.fail(failure::not_replicated);
    BOOST_TEST(s.ended_with(write_outcome::unknown));
}

BOOST_AUTO_TEST_CASE(a_read_is_never_in_doubt) {
    subject s(false);
    s.begin();
    BOOST_TEST(!s.machine.in_doubt());
    s.fail(failure::connection_lost);
    s.send_again();
    s.fail(failure::unclear_error);
    BOOST_TEST(!s.machine.in_doubt());
    s.now = start_time + 2s;
    s.tell(event::just(kind::timer));
    BOOST_TEST(s.ended_with(write_outcome::unavailable));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_record_ends_a_write) {
    subject s;
    s.begin();
    s.vote(denied(key_state::other_kind));
    BOOST_TEST(s.ended_with(write_outcome::wrong_kind));
}

BOOST_AUTO_TEST_CASE(an_instance_that_is_back_ends_the_pause) {
    subject s;
    s.begin();
    s.fail(failure::down);
    BOOST_TEST(s.tell(event::just(kind::wake)).ask_for_room);
    s.send();
    BOOST_TEST(!s.tell(event::just(kind::wake)).send);  // It has been sent already.
}

/// The pause does not count as time without a reply.
BOOST_AUTO_TEST_CASE(a_pause_comes_before_the_first_copy) {
    subject s;
    s.tell(event::start(3));
    BOOST_TEST(!s.last.ask_for_room);
    BOOST_TEST((s.last.until >= start_time + 8ms && s.last.until <= start_time + 16ms));
    BOOST_TEST(!s.tell(event::just(kind::wake)).ask_for_room);
    const time_point begun = s.last.until;
    s.send_again();
    BOOST_TEST((s.last.until == begun + 2s));
}

/// For any order of events, the machine sends one copy at a time, ends in time, and reports no unproven
/// outcome.
BOOST_AUTO_TEST_CASE(random_events_keep_the_verdict_true) {
    for (unsigned seed = 0; seed != 3000; ++seed) {
        std::mt19937 random(seed);
        const bool changes = random() % 4 != 0;
        subject s(changes, 200ms);
        bool is_asked = false;
        bool is_under_way = false;
        bool was_lost = false;  // A copy may have been executed.
        vote v;
        s.tell(event::start(random() % 3));
        while (!s.last.done) {
            BOOST_TEST_REQUIRE((!s.last.send || !is_under_way));
            is_asked = is_asked || s.last.ask_for_room;
            is_under_way = is_under_way || s.last.send;
            v = vote();
            if (is_asked && random() % 2 == 0) {
                is_asked = false;
                s.tell(event::just(kind::admitted));
            } else if (is_under_way && random() % 2 == 0) {
                is_under_way = false;
                v = random() % 9 == 0   ? vote::granted(1)
                    : random() % 9 == 0 ? denied(key_state::foreign)
                    : random() % 9 == 0 ? denied(key_state::unknown)
                                        : vote::failed(static_cast<failure>(1 + random() % 12));
                was_lost = was_lost || (changes && outcome_unknown(v.reason));
                s.vote(v);
            } else if (random() % 2 == 0) {
                s.now += 1ms * (random() % 20);
                s.tell(event::just(kind::timer));
            } else {
                s.tell(event::just(kind::wake));
            }
        }
        const write_outcome outcome = s.machine.outcome();
        BOOST_TEST_REQUIRE((s.now <= start_time + 300ms));
        BOOST_TEST_REQUIRE((outcome == write_outcome::applied) == (v.kind == vote_kind::granted));
        BOOST_TEST_REQUIRE(
            (outcome != write_outcome::unavailable || !changes || !(was_lost || is_under_way)));
        BOOST_TEST_REQUIRE((outcome != write_outcome::unknown || was_lost || is_under_way));
        BOOST_TEST_REQUIRE(
            (outcome != write_outcome::refused || !was_lost || v.key == key_state::foreign));
    }
}

BOOST_AUTO_TEST_SUITE_END()
