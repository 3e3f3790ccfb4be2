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

BOOST_AUTO_TEST_CASE(local_waiters_send_nothing_and_are_served_in_order) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    auto holder = client->lock("a");
    BOOST_TEST(five.executed() == 5U);

    std::vector<int> order;
    std::vector<std::shared_ptr<virtual_acquire>> waiters;
    for (int i = 0; i != 5; ++i) {
        waiters.push_back(client->acquire("a"));
        waiters.back()->on_finished = [&order, i] { order.push_back(i); };
    }
    five.world().run_for(40ms);
    BOOST_TEST(order.empty());
    BOOST_TEST(client->engine().parts().counts.queued == 5U);

    for (const auto& waiter : waiters) {
        const core::time_point released = five.world().now();
        holder->let_go();
        BOOST_TEST_REQUIRE(five.world().run_until([&] { return waiter->is_finished; }));
        BOOST_TEST(waiter->granted());
        BOOST_TEST((waiter->finished_at == released));  // Without a round trip.
        BOOST_TEST((holder->valid_until() == core::time_point::min()));
        BOOST_TEST((waiter->valid_until() > five.world().now()));
        holder = waiter;
    }
    BOOST_TEST(order == std::vector<int>({0, 1, 2, 3, 4}), boost::test_tools::per_element());
    BOOST_TEST(five.executed() == 5U);
    BOOST_TEST(client->engine().parts().counts.handed_off == 5U);

    holder->let_go();
    five.world().run_for(1ms);
    BOOST_TEST(five.executed() == 10U);
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_beyond_handoff_limit) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.handoff.limit = 2;
    auto holder = client->lock("a", policy);
    std::vector<std::shared_ptr<virtual_acquire>> waiters;
    for (int i = 0; i != 3; ++i) {
        waiters.push_back(client->acquire("a", policy));
    }
    for (int i = 0; i != 2; ++i) {
        holder->let_go();
        holder = waiters[static_cast<std::size_t>(i)];
        BOOST_TEST_REQUIRE(one.world().run_until([&] { return holder->is_finished; }));
        BOOST_TEST(one.executed() == 1U);
    }
    holder->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiters[2]->is_finished; }));
    BOOST_TEST(waiters[2]->granted());
    BOOST_TEST(one.executed() == 3U);  // Released and acquired again.
    BOOST_TEST(waiters[2]->lease->token() != holder->lease->token());
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_after_handoff_time) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const auto holder = client->lock("a");
    const auto waiter = client->acquire("a");
    one.world().run_for(client->usual_policy().handoff.time);
    holder->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST(one.executed() == 3U);
}

// Other clients would starve if this client attempted again before they were notified of the release.
BOOST_AUTO_TEST_CASE(another_client_acquires_when_handoff_limit_is_reached) {
    virtual_deployment one(1);
    const auto first = one.make_client();
    const auto second = one.make_client();
    runtime::lock_policy policy = first->usual_policy();
    policy.handoff.limit = 0;
    policy.retry = {4ms, 4ms};
    const auto holder = first->lock("a", policy);
    const auto rival = second->acquire("a", policy);
    const auto waiter = first->acquire("a", policy);
    one.world().run_for(320ms);  // A sixteenth is 20 ms. The cool-down is limited to 10 ms.
    holder->let_go();
    BOOST_TEST_REQUIRE(
        one.world().run_until([&] { return rival->is_finished || waiter->is_finished; }));
    BOOST_TEST(rival->granted());
    BOOST_TEST(!waiter->is_finished);
    rival->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST(waiter->granted());
}

BOOST_AUTO_TEST_CASE(a_hand_off_skips_cancelled_and_timed_out_waiters) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const auto holder = client->lock("a");
    const auto late = client->acquire("a", client->usual_policy(), five.world().now() + 5ms);
    const auto cancelled = client->acquire("a");
    const auto patient = client->acquire("a");
    five.world().run_for(10ms);
    BOOST_TEST_REQUIRE(late->is_finished);
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    cancelled->cancel();
    holder->let_go();
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return patient->is_finished; }));
    BOOST_TEST(patient->granted());
    BOOST_TEST((cancelled->outcome == acquire_outcome::cancelled));
    BOOST_TEST(five.executed() == 5U);
}

// The first acquire is cancelled during its attempt, and rolls back its grants.
BOOST_AUTO_TEST_CASE(the_next_waiter_acquires_if_an_attempt_is_cancelled) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const auto first = client->acquire("a");
    const auto second = client->acquire("a");
    five.world().run_for(20us);  // Sent but not answered.
    first->cancel();
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return second->is_finished; }));
    BOOST_TEST((first->outcome == acquire_outcome::cancelled));
    BOOST_TEST(second->granted());
    second->let_go();
    five.world().run_for(1ms);
    for (std::size_t i = 0; i != 5; ++i) {
        BOOST_TEST(five.server(i).keys.size() == 0U);
    }
}

// Such a lease may be lost at any moment, so it is not handed off.
BOOST_AUTO_TEST_CASE(a_lost_lease_is_not_handed_off) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto holder = client->lock("a");
    const auto waiter = client->acquire("a");
    for (std::size_t i = 0; i != 2; ++i) {
        three.server(i).keys.clear();
    }
    BOOST_TEST_REQUIRE(
        three.world().run_until([&] { return holder->lease->loss(0) != core::loss::none; }));
    BOOST_TEST(!waiter->is_finished);
    holder->let_go();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST(waiter->granted());
    BOOST_TEST(waiter->holder_number == 0U);
    BOOST_TEST(client->engine().parts().counts.handed_off == 0U);
}

BOOST_AUTO_TEST_CASE(a_waiter_with_other_options_gets_a_lease_of_its_own) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy shorter = client->usual_policy();
    shorter.lease.ttl = 5s;
    const auto holder = client->lock("a");
    const auto waiter = client->acquire("a", shorter);
    holder->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST((waiter->valid_until() <= one.world().now() + 5s));
    BOOST_TEST(one.executed() == 3U);
}

BOOST_AUTO_TEST_CASE(each_holder_of_a_fenced_lease_has_a_larger_fence) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.set_kind(kinds::fenced);
    auto holder = client->lock("a", policy);
    for (int i = 0; i != 3; ++i) {
        const auto waiter = client->acquire("a", policy);
        holder->let_go();
        BOOST_TEST_REQUIRE(five.world().run_until([&] { return waiter->is_finished; }));
        BOOST_TEST(waiter->granted());
        BOOST_TEST(waiter->fence_number > holder->fence_number);
        BOOST_TEST(waiter->lease->token() == holder->lease->token());
        holder = waiter;
    }
}

/// The only waiter is cancelled during the round that counts its fence.
struct abandoned_hand_off {
    abandoned_hand_off() {
        five.world().run_for(20us);
        waiter->cancel();
    }
    runtime::lock_policy fenced_policy() {
        runtime::lock_policy result = client->usual_policy();
        result.set_kind(kinds::fenced);
        return result;
    }

    virtual_deployment five{5};
    std::unique_ptr<virtual_deployment::client> client = five.make_client();
    runtime::lock_policy policy = fenced_policy();
    std::shared_ptr<virtual_acquire> holder = client->lock("a", policy);
    std::shared_ptr<virtual_acquire> waiter = client->acquire("a", policy);
    std::shared_ptr<virtual_release> first = holder->release();
};

BOOST_FIXTURE_TEST_CASE(a_fenced_lease_is_released_if_its_next_holder_is_cancelled,
                        abandoned_hand_off) {
    five.world().run_for(10ms);
    BOOST_TEST((waiter->outcome == acquire_outcome::cancelled));
    BOOST_TEST((five.server(0).keys.find("a", five.world().now()) == nullptr));
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    BOOST_TEST(client->lock("a", policy)->granted());
}

/// The servers fail in addition.
BOOST_FIXTURE_TEST_CASE(a_repeated_release_reports_the_same_outcome, abandoned_hand_off) {
    for (std::size_t i = 0; i != 5; ++i) {
        five.server(i).is_up = false;
        client->engine().observer().on_state_change(i);
    }
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return first->told.has_value(); }));
    const auto second = holder->release();
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return second->told.has_value(); }));
    BOOST_TEST((first->told == core::release_outcome::no_quorum));
    BOOST_TEST((second->told == core::release_outcome::no_quorum));
}

// All of them have waited as long as the first, and would get the same outcome.
BOOST_AUTO_TEST_CASE(local_waiters_fail_together_when_no_quorum_answers) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    for (std::size_t i = 0; i != 2; ++i) {
        three.server(i).is_up = false;
        client->engine().observer().on_state_change(i);
    }
    const core::time_point began = three.world().now();
    const auto first = client->acquire("a");
    const auto second = client->acquire("a");
    BOOST_TEST_REQUIRE(
        three.world().run_until([&] { return first->is_finished && second->is_finished; }));
    BOOST_TEST((first->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((second->finished_at - began <= 1300ms));
    BOOST_TEST(second->text.find("[server 0: down]") != std::string::npos, second->text);
}

/// Fault 88: as far as the first waiter of the client can see, the lock has no holder.
BOOST_AUTO_TEST_CASE(a_waiter_behind_a_failing_attempt_reports_no_quorum, *label("fault-88")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    for (std::size_t i = 0; i != 2; ++i) {
        three.server(i).is_silent = true;
    }
    const auto first = client->acquire("a");
    three.world().run_for(400ms);  // The first attempt failed after 250 ms.
    BOOST_TEST(!first->is_finished);
    const auto timed = client->acquire("a", client->usual_policy(), three.world().now() + 10ms);
    const auto immediate = client->acquire("a", client->usual_policy(), core::time_point::min());
    runtime::lock_policy few_attempts = client->usual_policy();
    few_attempts.attempts = 2;
    const auto impatient = client->acquire("a", few_attempts);
    for (const auto& one : {timed, immediate, impatient}) {
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return one->is_finished; }, 300ms));
        BOOST_TEST((one->outcome == acquire_outcome::no_quorum));
        BOOST_TEST(
            one->text.find("1 of 3 instances granted the lock, 2 required") != std::string::npos,
            one->text);
    }
    BOOST_TEST(!first->is_finished);
}

/// Fault 88: the deadline passes between the release of the lock and the attempt of the waiter.
BOOST_AUTO_TEST_CASE(a_waiter_makes_its_attempt_at_its_deadline, *label("fault-88")) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.handoff.limit = 0;
    const auto holder = client->lock("a", policy);
    const core::time_point deadline = one.world().now() + 5ms;
    const auto waiter = client->acquire("a", policy, deadline);
    one.world().run_for(1ms);
    one.world().be_busy_for(4ms);  // The timer of the waiter is due, and runs before the turn.
    holder->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST(waiter->granted(), waiter->text);
}

/// Fault 88: the next waiter makes its own attempt after the short deadline of its predecessor.
BOOST_AUTO_TEST_CASE(a_short_deadline_does_not_fail_the_next_waiter, *label("fault-88")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).latency = 20ms;
    }
    runtime::lock_policy policy = client->usual_policy();
    policy.unavailable_timeout = 0ms;
    const auto hasty = client->acquire("a", policy, three.world().now() + 1ms);
    const auto patient = client->acquire("a", policy);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return patient->is_finished; }));
    BOOST_TEST((hasty->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(patient->granted(), patient->text);
}

/// The release is then not sent, but the waiters no longer wait for that lease.
BOOST_AUTO_TEST_CASE(the_next_waiter_begins_if_there_is_no_memory_for_a_release) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.handoff.limit = 0;
    const auto holder = client->lock("a", policy);
    const auto waiter = client->acquire("a", policy);
    one.world().run_for(1ms);
    client->environment().is_out_of_memory = true;
    BOOST_CHECK_THROW(holder->let_go(), std::bad_alloc);
    BOOST_TEST(!client->environment().is_out_of_memory);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return waiter->is_finished; }));
    BOOST_TEST(waiter->granted());
    waiter->let_go();
    one.world().run_for(1ms);
    BOOST_TEST(client->lock("a", policy)->granted());
}

BOOST_AUTO_TEST_SUITE_END()
