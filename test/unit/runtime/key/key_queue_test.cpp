// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The waiters of one client for one key, and hand-offs among them, in virtual time.

#include <boost/test/unit_test.hpp>

#include "../virtual_world.hpp"
#include "kinds/fenced/fenced.hpp"

#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(key_queue)

BOOST_FIXTURE_TEST_CASE(local_waiters_send_nothing_and_are_served_in_order, five_servers) {
    auto holder = ann->lock("a");
    BOOST_TEST(executed() == 5U);

    std::vector<int> order;
    std::vector<acquire> waiters;
    for (int i = 0; i != 5; ++i) {
        waiters.push_back(ann->acquire("a"));
        waiters.back()->on_finished = [&order, i] { order.push_back(i); };
    }
    world().run_for(40ms);
    BOOST_TEST(order.empty());
    BOOST_TEST(ann->engine().parts().counts.queued == 5U);

    for (const auto& waiter : waiters) {
        const core::time_point released = world().now();
        holder->let_go();
        granted(waiter);
        BOOST_TEST((waiter->finished_at == released));  // Without a round trip.
        BOOST_TEST((holder->valid_until() == core::time_point::min()));
        BOOST_TEST((waiter->valid_until() > world().now()));
        holder = waiter;
    }
    BOOST_TEST(order == std::vector<int>({0, 1, 2, 3, 4}), boost::test_tools::per_element());
    BOOST_TEST(executed() == 5U);
    BOOST_TEST(ann->engine().parts().counts.handed_off == 5U);

    holder->let_go();
    world().run_for(1ms);
    BOOST_TEST(executed() == 10U);
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_not_handed_off_beyond_handoff_limit, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.handoff.limit = 2;
    auto holder = ann->lock("a", policy);
    std::vector<acquire> waiters;
    for (int i = 0; i != 3; ++i) {
        waiters.push_back(ann->acquire("a", policy));
    }
    for (int i = 0; i != 2; ++i) {
        holder->let_go();
        holder = waiters[static_cast<std::size_t>(i)];
        finish(holder);
        BOOST_TEST(executed() == 1U);
    }
    holder->let_go();
    granted(waiters[2]);
    BOOST_TEST(executed() == 3U);  // Released and acquired again.
    BOOST_TEST(waiters[2]->lease->token() != holder->lease->token());
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_not_handed_off_after_handoff_time, one_server) {
    const auto holder = ann->lock("a");
    const auto waiter = ann->acquire("a");
    world().run_for(ann->usual_policy().handoff.time);
    holder->let_go();
    finish(waiter);
    BOOST_TEST(executed() == 3U);
}

// Other clients would starve if this client attempted again before they were notified of the release.
BOOST_FIXTURE_TEST_CASE(another_client_acquires_when_handoff_limit_is_reached, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.handoff.limit = 0;
    policy.retry = {4ms, 4ms};
    const auto holder = ann->lock("a", policy);
    const auto rival = bob->acquire("a", policy);
    const auto waiter = ann->acquire("a", policy);
    world().run_for(320ms);  // A sixteenth is 20 ms. The cool-down is limited to 10 ms.
    holder->let_go();
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return rival->is_finished || waiter->is_finished; }));
    BOOST_TEST(rival->granted());
    BOOST_TEST(!waiter->is_finished);
    rival->let_go();
    granted(waiter);
}

BOOST_FIXTURE_TEST_CASE(a_hand_off_skips_cancelled_and_timed_out_waiters, five_servers) {
    const auto holder = ann->lock("a");
    const auto late = ann->acquire("a", ann->usual_policy(), world().now() + 5ms);
    const auto cancelled = ann->acquire("a");
    const auto patient = ann->acquire("a");
    world().run_for(10ms);
    BOOST_TEST_REQUIRE(late->is_finished);
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    cancelled->cancel();
    holder->let_go();
    granted(patient);
    BOOST_TEST((cancelled->outcome == acquire_outcome::cancelled));
    BOOST_TEST(executed() == 5U);
}

// The first acquire is cancelled during its attempt, and rolls back its grants.
BOOST_FIXTURE_TEST_CASE(the_next_waiter_acquires_if_an_attempt_is_cancelled, five_servers) {
    const auto first = ann->acquire("a");
    const auto second = ann->acquire("a");
    world().run_for(20us);  // Sent but not answered.
    first->cancel();
    finish(second);
    BOOST_TEST((first->outcome == acquire_outcome::cancelled));
    BOOST_TEST(second->granted());
    second->let_go();
    world().run_for(1ms);
    for (std::size_t i = 0; i != 5; ++i) {
        BOOST_TEST(server(i).keys.size() == 0U);
    }
}

// Such a lease may be lost at any moment, so it is not handed off.
BOOST_FIXTURE_TEST_CASE(a_lost_lease_is_not_handed_off, three_servers) {
    const auto holder = ann->lock("a");
    const auto waiter = ann->acquire("a");
    for (std::size_t i = 0; i != 2; ++i) {
        server(i).keys.clear();
    }
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return holder->lease->loss(0) != core::loss::none; }));
    BOOST_TEST(!waiter->is_finished);
    holder->let_go();
    granted(waiter);
    BOOST_TEST(waiter->holder_number == 0U);
    BOOST_TEST(ann->engine().parts().counts.handed_off == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_waiter_with_other_options_gets_a_lease_of_its_own, one_server) {
    runtime::lock_policy shorter = ann->usual_policy();
    shorter.lease.ttl = 5s;
    const auto holder = ann->lock("a");
    const auto waiter = ann->acquire("a", shorter);
    holder->let_go();
    finish(waiter);
    BOOST_TEST((waiter->valid_until() <= world().now() + 5s));
    BOOST_TEST(executed() == 3U);
}

BOOST_FIXTURE_TEST_CASE(each_holder_of_a_fenced_lease_has_a_larger_fence, five_servers) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.set_kind(kinds::fenced);
    auto holder = ann->lock("a", policy);
    for (int i = 0; i != 3; ++i) {
        const auto waiter = ann->acquire("a", policy);
        holder->let_go();
        granted(waiter);
        BOOST_TEST(waiter->fence_number > holder->fence_number);
        BOOST_TEST(waiter->lease->token() == holder->lease->token());
        holder = waiter;
    }
}

/// The only waiter is cancelled during the round that counts its fence.
struct abandoned_hand_off : five_servers {
    abandoned_hand_off() {
        world().run_for(20us);
        waiter->cancel();
    }
    runtime::lock_policy fenced_policy() {
        runtime::lock_policy result = ann->usual_policy();
        result.set_kind(kinds::fenced);
        return result;
    }

    runtime::lock_policy policy = fenced_policy();
    acquire holder = ann->lock("a", policy);
    acquire waiter = ann->acquire("a", policy);
    std::shared_ptr<virtual_release> first = holder->release();
};

BOOST_FIXTURE_TEST_CASE(a_fenced_lease_is_released_if_its_next_holder_is_cancelled,
                        abandoned_hand_off) {
    world().run_for(10ms);
    BOOST_TEST((waiter->outcome == acquire_outcome::cancelled));
    BOOST_TEST((server(0).keys.find("a", world().now()) == nullptr));
    BOOST_TEST(ann->engine().parts().counts.held == 0U);
    BOOST_TEST(ann->lock("a", policy)->granted());
}

/// The servers fail in addition.
BOOST_FIXTURE_TEST_CASE(a_repeated_release_reports_the_same_outcome, abandoned_hand_off) {
    for (std::size_t i = 0; i != 5; ++i) {
        server(i).is_up = false;
        ann->engine().observer().on_state_change(i);
    }
    BOOST_TEST_REQUIRE(world().run_until([&] { return first->told.has_value(); }));
    const auto second = holder->release();
    BOOST_TEST_REQUIRE(world().run_until([&] { return second->told.has_value(); }));
    BOOST_TEST((first->told == core::release_outcome::no_quorum));
    BOOST_TEST((second->told == core::release_outcome::no_quorum));
}

// All of them have waited as long as the first, and would get the same outcome.
BOOST_FIXTURE_TEST_CASE(local_waiters_fail_together_when_no_quorum_answers, three_servers) {
    for (std::size_t i = 0; i != 2; ++i) {
        server(i).is_up = false;
        ann->engine().observer().on_state_change(i);
    }
    const core::time_point began = world().now();
    const auto first = ann->acquire("a");
    const auto second = ann->acquire("a");
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return first->is_finished && second->is_finished; }));
    BOOST_TEST((first->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((second->finished_at - began <= 1300ms));
    BOOST_TEST(second->text.find("[server 0: down]") != std::string::npos, second->text);
}

/// Fault 88: as far as the first waiter of the client can see, the lock has no holder.
BOOST_FIXTURE_TEST_CASE(a_waiter_behind_a_failing_attempt_reports_no_quorum, three_servers,
                        *label("fault-88")) {
    for (std::size_t i = 0; i != 2; ++i) {
        server(i).is_silent = true;
    }
    const auto first = ann->acquire("a");
    world().run_for(400ms);  // The first attempt failed after 250 ms.
    BOOST_TEST(!first->is_finished);
    const auto timed = ann->acquire("a", ann->usual_policy(), world().now() + 10ms);
    const auto immediate = ann->acquire("a", ann->usual_policy(), core::time_point::min());
    runtime::lock_policy few_attempts = ann->usual_policy();
    few_attempts.attempts = 2;
    const auto impatient = ann->acquire("a", few_attempts);
    for (const auto& one : {timed, immediate, impatient}) {
        finish(one, 300ms);
        BOOST_TEST((one->outcome == acquire_outcome::no_quorum));
        BOOST_TEST(
            one->text.find("1 of 3 instances granted the lock, 2 required") != std::string::npos,
            one->text);
    }
    BOOST_TEST(!first->is_finished);
}

/// Fault 88: the deadline passes between the release of the lock and the attempt of the waiter.
BOOST_FIXTURE_TEST_CASE(a_waiter_makes_its_attempt_at_its_deadline, one_server,
                        *label("fault-88")) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.handoff.limit = 0;
    const auto holder = ann->lock("a", policy);
    const core::time_point deadline = world().now() + 5ms;
    const auto waiter = ann->acquire("a", policy, deadline);
    world().run_for(1ms);
    world().be_busy_for(4ms);  // The timer of the waiter is due, and runs before the turn.
    holder->let_go();
    finish(waiter);
    BOOST_TEST(waiter->granted(), waiter->text);
}

/// Fault 88: the next waiter makes its own attempt after the short deadline of its predecessor.
BOOST_FIXTURE_TEST_CASE(a_short_deadline_does_not_fail_the_next_waiter, three_servers,
                        *label("fault-88")) {
    for (std::size_t i = 0; i != 3; ++i) {
        server(i).latency = 20ms;
    }
    runtime::lock_policy policy = ann->usual_policy();
    policy.unavailable_timeout = 0ms;
    const auto hasty = ann->acquire("a", policy, world().now() + 1ms);
    const auto patient = ann->acquire("a", policy);
    finish(patient);
    BOOST_TEST((hasty->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(patient->granted(), patient->text);
}

/// The next timer schedules the turn.
BOOST_FIXTURE_TEST_CASE(the_next_waiter_begins_if_there_is_no_memory_for_a_turn, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.handoff.limit = 0;
    const auto holder = ann->lock("a", policy);
    const auto waiter = ann->acquire("a", policy);
    world().run_for(1ms);
    ann->environment().is_out_of_memory = true;
    holder->let_go();
    BOOST_TEST(!ann->environment().is_out_of_memory);
    granted(waiter);
    waiter->let_go();
    world().run_for(1ms);
    BOOST_TEST(ann->lock("a", policy)->granted());
}

BOOST_AUTO_TEST_SUITE_END()
