// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Acquires from the first attempt to the last, as driven by the engine, in virtual time.

#include <boost/test/unit_test.hpp>

#include "../virtual_world.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"

#include <chrono>
#include <memory>
#include <string>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(acquires)

BOOST_AUTO_TEST_CASE(an_acquire_completes_once_a_quorum_has_granted) {
    virtual_deployment five(5);
    five.server(0).is_silent = true;
    five.server(1).latency = 100ms;
    const auto client = five.make_client();
    const core::time_point began = five.world().now();
    const auto lease = client->lock("a");
    BOOST_TEST((lease->finished_at == began + 100us));
}

// Time has passed since the last turn of the engine.
BOOST_AUTO_TEST_CASE(an_acquire_cancelled_immediately_sends_nothing) {
    for (const kinds::lock_kind* const kind : {&kinds::exclusive, &kinds::writer, &kinds::shared}) {
        virtual_deployment five(5);
        const auto client = five.make_client();
        five.world().run_for(1ms);
        runtime::lock_policy policy = client->usual_policy();
        policy.set_kind(*kind);
        const auto cancelled = client->acquire("a", policy);
        cancelled->cancel();
        five.finish(cancelled);
        BOOST_TEST((cancelled->outcome == acquire_outcome::cancelled));
        five.world().run_for(1s);
        BOOST_TEST(five.executed() == 0U);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_waits_for_a_held_lock_until_the_deadline, three_servers) {
    const auto holder = ann->lock("a");
    const core::time_point deadline = world().now() + 700ms;
    const auto waiter = bob->acquire("a", bob->usual_policy(), deadline);
    finish(waiter);
    BOOST_TEST((waiter->outcome == acquire_outcome::contended));
    BOOST_TEST((waiter->finished_at == deadline));
}

/// Fault 88: the deadline of the caller comes before the timeout of the instances.
BOOST_AUTO_TEST_CASE(contended_is_reported_only_after_a_denial, *label("fault-88")) {
    for (const kinds::lock_kind* const kind :
         {&kinds::exclusive, &kinds::fenced, &kinds::writer, &kinds::shared}) {
        virtual_deployment three(3);
        const auto client = three.make_client();
        for (std::size_t i = 0; i != 3; ++i) {
            three.server(i).is_silent = true;
        }
        runtime::lock_policy policy = client->usual_policy();
        policy.set_kind(*kind);
        const core::time_point deadline = three.world().now() + 20ms;
        const auto failed = client->acquire("a", policy, deadline);
        three.finish(failed);
        BOOST_TEST((failed->outcome == acquire_outcome::no_quorum));
        BOOST_TEST((failed->finished_at == deadline));
        BOOST_TEST(failed->text ==
                   "'a': 0 of 3 instances granted the lock, 2 required [server 0: no answer yet] "
                   "[server 1: no answer yet] [server 2: no answer yet]");
        BOOST_TEST(client->engine().parts().counts.unavailable == 1U);
        BOOST_TEST(client->engine().parts().counts.contended == 0U);
    }
}

/// Silent servers may yet grant, unless an earlier attempt was denied.
BOOST_FIXTURE_TEST_CASE(one_denial_reports_contended_only_after_a_denied_attempt, three_servers,
                        *label("fault-123")) {
    const auto holder = ann->lock("a");
    const auto denied_before = bob->acquire("a", bob->usual_policy(), world().now() + 20ms);
    world().run_for(1ms);
    for (std::size_t i = 0; i != 3; ++i) {
        server(i).is_silent = i != 0;
    }
    const auto third = make_client();
    const auto denied_by_one = third->acquire("a", third->usual_policy(), world().now() + 20ms);
    BOOST_TEST_REQUIRE(world().run_until(
        [&] { return denied_before->is_finished && denied_by_one->is_finished; }));
    BOOST_TEST((denied_before->outcome == acquire_outcome::contended));
    BOOST_TEST((denied_by_one->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(third->engine().parts().counts.contended == 0U);
    BOOST_TEST(third->engine().parts().counts.unavailable == 1U);
}

BOOST_FIXTURE_TEST_CASE(an_immediate_attempt_takes_one_round_trip, three_servers) {
    const auto holder = ann->lock("a");
    const core::time_point began = world().now();
    const auto waiter = bob->acquire("a", bob->usual_policy(), core::time_point::min());
    finish(waiter);
    BOOST_TEST((waiter->outcome == acquire_outcome::contended));
    BOOST_TEST((waiter->finished_at == began + 100us));
}

// A waiter queries the remaining ttl of the key, and attempts when it ends. The interval between its own
// attempts does not matter.
BOOST_AUTO_TEST_CASE(a_waiter_acquires_when_a_dead_holders_lock_expires) {
    virtual_deployment three(3);
    auto dead = three.make_client();
    const auto alive = three.make_client();
    runtime::lock_policy policy = alive->usual_policy();
    policy.retry = {4ms, 5s};
    policy.lease.ttl = 2s;
    const auto holder = dead->lock("a", policy);
    const core::time_point ends = three.world().now() - 100us + 2s;
    const auto waiter = alive->acquire("a", policy);
    three.world().run_for(1ms);
    dead.reset();
    three.granted(waiter);
    BOOST_TEST((waiter->finished_at < ends + 10ms));
}

BOOST_FIXTURE_TEST_CASE(an_acquire_makes_at_most_the_configured_attempts, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.attempts = 3;
    const auto holder = ann->lock("a", policy);
    const std::uint64_t before = bob->engine().parts().counts.attempts;
    const auto waiter = bob->acquire("a", policy);
    finish(waiter);
    BOOST_TEST((waiter->outcome == acquire_outcome::contended));
    BOOST_TEST(bob->engine().parts().counts.attempts - before == 3U);
}

// Two clients repeatedly acquire one lock at the same moment. They reach the servers in different orders.
BOOST_FIXTURE_TEST_CASE(a_split_vote_is_resolved, three_servers) {
    for (int i = 0; i != 100; ++i) {
        const auto one = ann->acquire("a");
        const auto other = bob->acquire("a");
        BOOST_TEST_REQUIRE(
            world().run_until([&] { return one->is_finished || other->is_finished; }, 1s));
        BOOST_TEST(!(one->granted() && other->granted()));
        const auto& winner = one->granted() ? one : other;
        const auto& loser = one->granted() ? other : one;
        winner->let_go();
        finish(loser, 1s);
        loser->let_go();
        world().run_for(1ms);
    }
}

BOOST_FIXTURE_TEST_CASE(the_error_lists_the_vote_of_each_instance, three_servers) {
    server(0).is_up = false;
    ann->engine().observer().on_state_change(0);
    server(1).is_silent = true;
    const auto failed = ann->acquire("a");
    finish(failed);
    BOOST_TEST((failed->outcome == acquire_outcome::no_quorum));
    for (const std::string_view part : {"'a': 1 of 3 instances granted the lock, 2 required",
                                        "[server 0: down", "[server 1: no answer in time]"}) {
        BOOST_TEST(failed->text.find(part) != std::string::npos, failed->text);
    }
}

// Its earlier wait in the local queue does not count any more.
BOOST_AUTO_TEST_CASE(the_next_waiter_also_waits_for_the_first_connection) {
    virtual_deployment one(1);
    one.server(0).is_up = false;
    one.server(0).is_starting = true;
    const auto client = one.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.attempts = 3;
    const auto first = client->acquire("a", policy);
    const auto second = client->acquire("a", policy);
    one.world().run_for(1ms);
    first->cancel();
    one.world().run_for(400ms);
    BOOST_TEST(!second->is_finished, second->text);
    client->reach(0);
    one.granted(second);
}

// An attempt that fails during an outage is repeated as soon as the servers are back.
BOOST_FIXTURE_TEST_CASE(an_attempt_starts_as_soon_as_a_quorum_is_reachable, three_servers) {
    for (std::size_t i = 0; i != 2; ++i) {
        server(i).is_up = false;
        ann->engine().observer().on_state_change(i);
    }
    runtime::lock_policy policy = ann->usual_policy();
    policy.retry = {10s, 10s};
    policy.unavailable_timeout = 20s;
    const auto waiter = ann->acquire("a", policy);
    world().run_for(100ms);
    const core::time_point back = world().now();
    ann->reach(0);
    granted(waiter);
    BOOST_TEST((waiter->finished_at - back < 1ms));
}

/// Servers that were started recently, such as those of a first trial.
struct quarantined_servers {
    quarantined_servers() {
        three.server(0).quarantined_until = first_end;
        three.server(1).quarantined_until = end;
        three.server(2).quarantined_until = end + 1s;
    }

    virtual_deployment three{3};
    const core::time_point began = three.world().now();
    const core::time_point first_end = began + 9s;
    const core::time_point end = began + 10s;  // From now on, a quorum grants.
};

BOOST_FIXTURE_TEST_CASE(an_acquire_waits_for_the_end_of_a_quarantine, quarantined_servers) {
    const auto client = three.make_client();
    for (const kinds::lock_kind* const kind :
         {&kinds::exclusive, &kinds::fenced, &kinds::writer, &kinds::shared}) {
        runtime::lock_policy policy = client->usual_policy();
        policy.set_kind(*kind);
        policy.unavailable_timeout = 0ms;
        policy.attempts = 1;
        const std::string key(kind->traits().name);
        const auto patient = client->acquire(key, policy);
        policy.attempts = 0;
        const auto next = client->acquire(key, policy);
        const auto in_time = client->acquire("in time " + key, policy, end + 1ms);
        BOOST_TEST_REQUIRE(
            three.world().run_until([&] { return patient->is_finished && in_time->is_finished; }));
        BOOST_TEST(patient->granted(), patient->text);
        BOOST_TEST(in_time->granted(), in_time->text);
        if (kind == &kinds::exclusive) {  // The first kind.
            BOOST_TEST((patient->finished_at >= end));
            BOOST_TEST((patient->finished_at - end < 1ms));
            BOOST_TEST(client->engine().parts().counts.unavailable == 0U);
        }
        patient->let_go();
        three.finish(next);
        BOOST_TEST(next->granted(), next->text);
    }
}

BOOST_FIXTURE_TEST_CASE(an_acquire_fails_if_the_quarantine_outlasts_its_deadline,
                        quarantined_servers) {
    const auto client = three.make_client();
    const auto once = client->acquire("a", client->usual_policy(), core::time_point::min());
    const auto impatient = client->acquire("b", client->usual_policy(), first_end - 1ms);
    three.finish(impatient);
    BOOST_TEST((once->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((once->finished_at == began));
    BOOST_TEST((impatient->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((impatient->finished_at - began >= client->usual_policy().unavailable_timeout));
    BOOST_TEST((impatient->finished_at - began < 2s));
    BOOST_TEST(
        once->text ==
        "'a': 0 of 3 instances granted the lock, 2 required [server 0: quarantined, too young] "
        "[server 1: quarantined, too young] [server 2: quarantined, too young]");
}

/// The time is over before the first attempt to connect has ended.
BOOST_AUTO_TEST_CASE(a_timed_attempt_is_made_while_the_client_connects, *label("fault-122")) {
    virtual_deployment three(3);
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).is_up = false;
        three.server(i).is_starting = true;
    }
    const auto client = three.make_client();
    const auto timed = client->acquire("a", client->usual_policy(), three.world().now() + 10ms);
    three.finish(timed);
    BOOST_TEST((timed->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(timed->text.find("0 of 3 instances granted the lock") != std::string::npos,
               timed->text);
    BOOST_TEST(client->engine().parts().counts.attempts == 1U);
}

// Only two of three servers can grant, and one of them fails while it is quarantined.
BOOST_FIXTURE_TEST_CASE(unavailable_timeout_starts_after_the_quarantine, quarantined_servers) {
    const auto client = three.make_client();
    three.server(2).is_up = false;
    client->engine().observer().on_state_change(2);
    const auto failed = client->acquire("a");
    three.world().run_for(5s);
    BOOST_TEST(!failed->is_finished, failed->text);
    three.server(1).is_up = false;
    client->engine().observer().on_state_change(1);
    three.finish(failed);
    BOOST_TEST((failed->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((failed->finished_at >= first_end + client->usual_policy().unavailable_timeout));
    BOOST_TEST((failed->finished_at < end + 2s));
}

BOOST_FIXTURE_TEST_CASE(a_reachable_quorum_ends_the_wait_for_a_quarantine, quarantined_servers) {
    for (std::size_t i = 0; i != 2; ++i) {  // They are older than the third server.
        three.server(i).is_up = false;
        three.server(i).quarantined_until = core::time_point::min();
    }
    const auto client = three.make_client();
    const auto waiter = client->acquire("a");
    three.world().run_for(500ms);
    client->reach(0);
    client->reach(1);
    three.granted(waiter);
    BOOST_TEST((waiter->finished_at < began + 501ms));
}

// The error tells of the outage, and of the holder before it.
BOOST_AUTO_TEST_CASE(an_error_after_an_outage_mentions_the_denial_before_it, *label("fault-127")) {
    for (const bool is_silent : {false, true}) {
        for (const bool is_back : {false, true}) {
            three_servers all;
            const auto holder = all.bob->lock("a");
            const auto waiter = all.ann->acquire("a");
            all.world().run_for(100ms);
            for (std::size_t i = 0; i != 3; ++i) {
                all.server(i).is_up = is_silent;
                all.server(i).is_silent = is_silent;
            }
            all.world().run_for(500ms);  // Several attempts fail.
            if (is_back) {
                for (std::size_t i = 0; i != 3; ++i) {
                    all.server(i).is_up = true;
                    all.server(i).is_silent = true;  // The next attempt has no answer yet.
                }
                all.world().run_for(250ms);
            }
            waiter->cancel();
            all.finish(waiter);
            const std::size_t before = waiter->text.find(". Before that: 'a': 0 of 3 instances");
            BOOST_TEST(before != std::string::npos, waiter->text);
            BOOST_TEST(waiter->text.find("denied", before) != std::string::npos, waiter->text);
            const std::string now = waiter->text.substr(0, before);
            const bool is_told =
                now.find("no answer") != std::string::npos || now.find("down") != std::string::npos;
            BOOST_TEST(is_told, now);
            BOOST_TEST(now.find("denied") == std::string::npos, now);
        }
    }
}

// The vote arrives after the end of the ttl. The grant does not count, and is rolled back.
BOOST_FIXTURE_TEST_CASE(a_grant_that_arrives_too_late_is_rolled_back, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.lease.ttl = 100ms;
    policy.lease.renew_interval = 30ms;
    policy.unavailable_timeout = 0ms;
    server(0).latency = 60ms;
    const auto late = ann->acquire("a", policy);
    finish(late);
    BOOST_TEST((late->outcome == acquire_outcome::too_slow));
    world().run_for(1s);
    BOOST_TEST(server(0).keys.size() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
