// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The machine that finds the record of a name, or has a quorum store it. These tests run in virtual time.

#include "core/settlement.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace {

BOOST_AUTO_TEST_SUITE(settlement_test)

using namespace std::chrono_literals;
using namespace colock::core;
using event = settlement::event;
using message = settlement::message;
using task = settlement::task_type;

constexpr time_point start_time{1000h};
constexpr duration timeout = 1s;

vote has(const std::string& record, milliseconds remaining = unknown_remaining) {
    vote result = vote::denied(key_state::completed, remaining);
    result.detail = std::make_shared<const std::string>(record);
    return result;
}

const vote nobody = vote::denied(key_state::absent);
const vote another = vote::denied(key_state::foreign);
const vote yes = vote::granted();
const vote down = vote::failed(failure::down);
const vote lost_reply = vote::failed(failure::connection_lost);

/// A settlement with several instances, and the time.
struct subject {
    explicit subject(task what, std::size_t instances = 3)
        : machine({.instances = instances, .instance_timeout = timeout, .retry = {4ms, 64ms}},
                  what) {
        tell(event::start());
        now += 1ms;
    }
    /// Starts to store a new record.
    subject(const std::string& record, milliseconds life, std::size_t instances)
        : machine({.instances = instances, .instance_timeout = timeout, .retry = {4ms, 64ms}},
                  std::make_shared<const std::string>(record), life) {
        tell(event::start());
    }

    void tell(const event& e) { last = machine.resume(e, now); }
    void voted(std::size_t index, message on, const vote& v) { tell(event::voted(index, on, v)); }
    /// Delivers the votes of the instances, from the first one on.
    void voted(message on, const std::vector<vote>& votes) {
        for (std::size_t i = 0; i != votes.size(); ++i) {
            voted(i, on, votes[i]);
        }
    }
    void wait() {
        BOOST_TEST_REQUIRE((last.until != never));
        now = last.until;
        tell(event::timer());
    }
    [[nodiscard]] bool sends(message what) const {
        return last.targets == instance_set::all() && last.what == what;
    }
    [[nodiscard]] bool ended_with(settlement_outcome outcome) const {
        return last.done && machine.outcome() == outcome;
    }
    [[nodiscard]] bool found(const std::string& record) const {
        return ended_with(settlement_outcome::settled) && *machine.record() == record;
    }

    settlement machine;
    time_point now = start_time;
    settlement::step last;
};

BOOST_AUTO_TEST_CASE(a_quorum_with_the_same_record_is_enough) {
    subject s(task::look);
    BOOST_TEST(s.sends(message::look));
    s.voted(0, message::look, has("x"));
    BOOST_TEST(!s.last.done);
    s.voted(2, message::look, has("x"));
    BOOST_TEST(s.found("x"));
}

BOOST_AUTO_TEST_CASE(one_instance_is_a_quorum_of_one) {
    subject found(task::look, 1);
    found.voted(0, message::look, has("x"));
    BOOST_TEST(found.found("x"));
    subject none(task::look, 1);
    none.voted(0, message::look, nobody);
    BOOST_TEST(none.ended_with(settlement_outcome::unsettled));
    BOOST_TEST(!none.machine.has_met_record());
}

BOOST_AUTO_TEST_CASE(without_any_record_a_look_ends_with_the_last_answer) {
    subject s(task::look);
    s.voted(message::look, {nobody, another});
    BOOST_TEST(!s.last.done);
    s.voted(2, message::look, down);
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

/// The last vote may report a record of a minority.
BOOST_AUTO_TEST_CASE(a_look_waits_for_all_votes) {
    subject s(task::look);
    s.voted(message::look, {nobody, nobody});
    BOOST_TEST(!s.last.done);
    BOOST_TEST((s.last.until == start_time + timeout));
    s.wait();
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

BOOST_AUTO_TEST_CASE(silence_ends_a_look) {
    subject s(task::look);
    s.voted(0, message::look, has("x"));
    BOOST_TEST((s.last.until == start_time + timeout));
    s.wait();
    BOOST_TEST(s.sends(message::inspect));
    s.wait();
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
    BOOST_TEST(s.machine.has_met_record());
}

BOOST_AUTO_TEST_CASE(two_records_of_minorities_are_none) {
    subject s(task::look);
    s.voted(message::look, {has("x"), has("y"), another});
    BOOST_TEST(s.sends(message::inspect));
    s.voted(message::inspect, {has("x", 1h), has("y", 1h), another});
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

/// A copy expires together with the original.
BOOST_AUTO_TEST_CASE(the_record_of_a_minority_is_stored_where_nobody_has_the_name) {
    subject s(task::look);
    s.voted(message::look, {nobody, has("x"), nobody});
    BOOST_TEST(s.sends(message::inspect));
    s.voted(0, message::look, has("late"));  // A vote of the previous round.
    s.voted(message::inspect, {nobody, has("x", 7s), nobody});
    BOOST_TEST(s.sends(message::write));
    BOOST_TEST(*s.machine.record() == "x");
    BOOST_TEST((s.machine.life() == 7s));
    s.voted(message::write, {yes, yes});
    BOOST_TEST(s.found("x"));
}

/// The holder has a quorum, or may get one.
BOOST_AUTO_TEST_CASE(a_record_of_a_minority_beside_a_holder_is_left_alone) {
    subject s(task::settle);
    s.voted(message::inspect, {another, has("x", 7s), another});
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
    BOOST_TEST(s.machine.has_met_record());
}

BOOST_AUTO_TEST_CASE(the_record_of_a_minority_is_stored_in_place_of_our_token) {
    subject s(task::settle, 5);
    s.voted(message::inspect, {yes, has("x", 7s), yes, down, down});
    BOOST_TEST(s.sends(message::write));
    s.voted(message::write, {yes, yes, yes});
    BOOST_TEST(s.found("x"));
}

/// Another client was faster.
BOOST_AUTO_TEST_CASE(a_record_that_no_quorum_stores_is_not_found) {
    subject s(task::settle);
    s.voted(message::inspect, {nobody, has("x", 7s), nobody});
    s.voted(message::write, {another, yes, another});
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

BOOST_AUTO_TEST_CASE(silence_ends_a_settlement) {
    subject s(task::settle);
    s.voted(message::inspect, {nobody, has("x", 7s), nobody});
    s.voted(0, message::write, yes);
    s.wait();
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

BOOST_AUTO_TEST_CASE(a_record_that_is_about_to_end_is_not_stored) {
    subject s(task::settle);
    s.voted(message::inspect, {nobody, has("x", 0ms), nobody});
    BOOST_TEST(s.ended_with(settlement_outcome::unsettled));
}

/// Another program has removed the ttl.
BOOST_AUTO_TEST_CASE(a_record_without_end_is_stored_with_one) {
    subject s(task::settle);
    s.voted(message::inspect, {nobody, has("x", milliseconds::max()), nobody});
    BOOST_TEST((s.machine.life() == 24h * 365));
}

BOOST_AUTO_TEST_CASE(a_new_record_needs_a_quorum) {
    subject s("x", 1h, 3);
    BOOST_TEST(s.sends(message::write));
    BOOST_TEST((s.machine.life() == 1h));
    s.voted(1, message::write, yes);
    BOOST_TEST(!s.last.done);
    s.voted(2, message::write, yes);
    BOOST_TEST(s.found("x"));
}

/// Only the end of its lease ends the settlement.
BOOST_AUTO_TEST_CASE(a_new_record_is_sent_again_where_nobody_knows) {
    subject s("x", 1h, 3);
    s.voted(message::write, {lost_reply, down, yes});
    for (int i = 0; i != 100; ++i) {
        BOOST_TEST((s.last.until <= s.now + 64ms));
        s.wait();
        BOOST_TEST(!s.last.done);
        BOOST_TEST(s.last.targets.contains(0));
        BOOST_TEST(s.last.targets.contains(1));
        BOOST_TEST(!s.last.targets.contains(2));
        s.voted(0, message::write, lost_reply);
        s.voted(1, message::write, down);
    }
    s.wait();
    s.voted(1, message::write, yes);
    BOOST_TEST(s.found("x"));
}

BOOST_AUTO_TEST_CASE(a_new_record_is_refused_where_the_token_is_gone) {
    subject s("x", 1h, 5);
    s.voted(message::write, {nobody, yes, another});
    BOOST_TEST(!s.last.done);
    s.voted(3, message::write, has("y"));
    BOOST_TEST(s.ended_with(settlement_outcome::refused));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
