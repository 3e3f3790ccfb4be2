// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A lease from its grant to its end, as driven by the engine, in virtual time.

#include <boost/test/unit_test.hpp>

#include "../virtual_world.hpp"

#include <chrono>
#include <memory>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using runtime::lease_result;

BOOST_AUTO_TEST_SUITE(leases)

namespace {

using extend = virtual_operation<runtime::extend_operation>;
using release = virtual_operation<runtime::release_operation>;
using wait_lost = virtual_operation<runtime::loss_operation>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(validity_starts_when_the_request_is_sent, five_servers) {
    const core::time_point began = world().now();
    const auto lease = ann->lock("a");
    const core::duration ttl = 10s;
    BOOST_TEST((lease->valid_until() == began + ttl - ttl / 100 - 2ms));
    BOOST_TEST((lease->finished_at == began + 100us));  // One round trip.
}

BOOST_FIXTURE_TEST_CASE(the_watchdog_renews_until_the_release, five_servers) {
    const auto lease = ann->lock("a");
    world().run_for(1h);
    BOOST_TEST((lease->valid_until() > world().now() + 6s));
    const std::uint64_t renewed = ann->engine().parts().counts.renewed;
    BOOST_TEST(renewed > 1000U);
    BOOST_TEST(renewed < 1100U);

    const auto released = release::begin(*lease);
    finish(released);
    BOOST_TEST((released->ended_with == lease_result::done));
    const std::size_t before = executed();
    world().run_for(1h);
    BOOST_TEST(executed() == before);
    BOOST_TEST(ann->engine().parts().counts.renewed == renewed);
}

BOOST_FIXTURE_TEST_CASE(a_loss_is_reported_before_the_validity_ends, three_servers) {
    const auto lease = ann->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const core::time_point promised = lease->valid_until();
    server(0).is_silent = server(1).is_silent = true;
    finish(loss);
    BOOST_TEST((loss->ended_with == lease_result::ended));
    BOOST_TEST((lease->lease->loss(0) == core::loss::unrenewable));
    BOOST_TEST((world().now() < promised));
    BOOST_TEST((world().now() > promised - 1s));
    BOOST_TEST((lease->valid_until() == core::time_point::min()));
}

// The details distinguish a blocked event loop from an outage of servers.
BOOST_AUTO_TEST_CASE(loss_details_report_a_blocked_event_loop) {
    for (const bool during_a_renewal : {false, true}) {
        virtual_deployment three(3);
        const auto client = three.make_client();
        const auto lease = client->lock("a");
        if (during_a_renewal) {
            BOOST_TEST_REQUIRE(three.world().run_until([&] { return three.executed() == 6; }));
        }
        three.world().be_busy_for(11s);
        BOOST_TEST_REQUIRE(
            three.world().run_until([&] { return lease->lease->loss(0) != core::loss::none; }));
        BOOST_TEST((lease->lease->loss(0) == core::loss::unrenewable));
        const std::string& details = lease->lease->loss_details();
        BOOST_TEST(
            details.find("the client's event loop did not run for at least ") != std::string::npos,
            details);
        BOOST_TEST(details.find(" ms, and so renewed it too late") != std::string::npos, details);
    }
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    three.server(0).is_silent = three.server(1).is_silent = true;
    BOOST_TEST_REQUIRE(
        three.world().run_until([&] { return lease->lease->loss(0) != core::loss::none; }));
    BOOST_TEST(lease->lease->loss_details().find("event loop") == std::string::npos,
               lease->lease->loss_details());
}

// The holder may still be working.
BOOST_FIXTURE_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_holder_releases_it, one_server) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.lease.max_hold = 3s;
    const auto lease = ann->lock("a", policy);
    const auto loss = wait_lost::begin(*lease);
    const auto rival = bob->acquire("a");
    finish(loss);
    BOOST_TEST((lease->lease->loss(0) == core::loss::max_hold));
    world().run_for(50ms);
    BOOST_TEST(!rival->is_finished);
    lease->let_go();
    granted(rival, 300ms);
}

BOOST_FIXTURE_TEST_CASE(an_abandoned_lease_keeps_its_keys_until_the_ttl_ends, three_servers) {
    const core::time_point began = world().now();
    const auto lease = ann->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const auto longer = extend::begin(*lease, core::duration(60s));
    const auto next = ann->acquire("a");
    lease->lease->abandon(lease->holder_number);
    BOOST_TEST((lease->valid_until() == core::time_point::min()));
    BOOST_TEST((lease->lease->loss(0) == core::loss::none));
    BOOST_TEST(ann->engine().parts().counts.held == 0U);
    BOOST_TEST(ann->engine().parts().counts.abandoned == 1U);
    const auto too_late = release::begin(*lease);
    BOOST_TEST_REQUIRE(world().run_until(
        [&] { return loss->is_finished && longer->is_finished && too_late->is_finished; }));
    BOOST_TEST((loss->ended_with == lease_result::not_held));
    BOOST_TEST((longer->ended_with == lease_result::not_held));
    BOOST_TEST((too_late->ended_with == lease_result::not_held));

    // Neither this client nor another one acquires the lock earlier.
    const auto foreign = bob->acquire("a");
    world().run_for(9s);
    BOOST_TEST(!next->is_finished);
    BOOST_TEST(!foreign->is_finished);
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return next->is_finished || foreign->is_finished; }, 2s));
    BOOST_TEST((world().now() >= began + 10s));
    BOOST_TEST(ann->engine().parts().counts.released == 0U);
    BOOST_TEST(ann->engine().parts().counts.handed_off == 0U);
    BOOST_TEST(ann->engine().parts().counts.renewed == 0U);
}

// The waiter attempts immediately, and finds the key.
BOOST_FIXTURE_TEST_CASE(a_waiter_attempts_after_the_lease_before_it_was_abandoned, one_server) {
    const auto lease = ann->lock("a");
    const auto patient = ann->acquire("a", ann->usual_policy(), world().now() + 100ms);
    lease->lease->abandon(lease->holder_number);
    finish(patient);
    BOOST_TEST((patient->outcome == core::acquire_outcome::contended));
    BOOST_TEST(ann->engine().parts().counts.attempts >= 2U);
}

BOOST_FIXTURE_TEST_CASE(close_does_not_wait_for_an_abandoned_lease, three_servers) {
    const auto lease = ann->lock("a");
    server(0).is_silent = server(1).is_silent = true;
    lease->lease->abandon(lease->holder_number);
    const std::size_t before = executed();
    const core::time_point began = world().now();
    const auto closed = ann->close();
    BOOST_TEST_REQUIRE(world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST((closed->told == runtime::close_operation::outcome_type::closed));
    BOOST_TEST((world().now() <= began + 1ms));
    BOOST_TEST(executed() == before);
    BOOST_TEST(server(2).keys.size() == 1U);
}

// Two of three servers hold the key. The third executes its acquire later.
BOOST_FIXTURE_TEST_CASE(a_late_grant_of_an_abandoned_lease_is_left_alone, three_servers) {
    server(2).latency = 5ms;
    const auto lease = ann->lock("a");
    lease->lease->abandon(lease->holder_number);
    world().run_for(1s);
    BOOST_TEST(executed() == 3U);
    BOOST_TEST(server(2).keys.size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_release_that_has_begun_is_not_abandoned, three_servers) {
    const auto lease = ann->lock("a");
    const auto released = release::begin(*lease);
    lease->lease->abandon(lease->holder_number);
    finish(released);
    BOOST_TEST((released->ended_with == lease_result::done));
    BOOST_TEST(ann->engine().parts().counts.abandoned == 0U);
    world().run_for(1ms);
    BOOST_TEST(server(0).keys.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(an_extension_changes_the_ttl, five_servers) {
    const auto lease = ann->lock("a");
    const auto longer = extend::begin(*lease, core::duration(60s));
    const auto shorter = extend::begin(*lease, core::duration(20s));
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return longer->is_finished && shorter->is_finished; }));
    BOOST_TEST((longer->ended_with == lease_result::done));
    BOOST_TEST((shorter->ended_with == lease_result::done));
    BOOST_TEST((lease->valid_until() < world().now() + 20s));
    BOOST_TEST((lease->valid_until() > world().now() + 19s));
}

BOOST_FIXTURE_TEST_CASE(a_missing_key_is_restored, three_servers) {
    const auto lease = ann->lock("a");
    server(0).keys.clear();
    world().run_for(5s);
    BOOST_TEST(server(0).keys.size() == 1U);
    BOOST_TEST(ann->engine().parts().counts.healed == 1U);
    BOOST_TEST((lease->valid_until() > world().now()));
}

// A release that one server does not answer blocks no caller, and is completed later.
BOOST_FIXTURE_TEST_CASE(an_unanswered_release_continues_in_the_background, three_servers) {
    const auto lease = ann->lock("a");
    server(0).is_silent = true;
    const auto released = release::begin(*lease);
    finish(released, 1ms);
    BOOST_TEST((released->ended_with == lease_result::done));
    BOOST_TEST(ann->engine().parts().counts.releasing == 1U);
    world().run_for(11s);  // Longer than the ttl.
    BOOST_TEST(ann->engine().parts().counts.releasing == 0U);
}

BOOST_FIXTURE_TEST_CASE(closing_reports_the_loss_and_waits_for_the_release, three_servers) {
    const auto lease = ann->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const auto waiter = ann->acquire("a");
    ann->engine().close();
    finish(loss, 1ms);
    BOOST_TEST((lease->lease->loss(0) == core::loss::closed));
    BOOST_TEST((waiter->outcome == core::acquire_outcome::closed));
    BOOST_TEST(!ann->engine().closed());
    lease->let_go();
    BOOST_TEST_REQUIRE(world().run_until([&] { return ann->engine().closed(); }, 1ms));
    BOOST_TEST(server(0).keys.size() == 0U);
}

BOOST_FIXTURE_TEST_CASE(closing_times_out_while_a_lease_is_still_held, three_servers) {
    const auto lease = ann->lock("a");
    ann->engine().close();
    world().run_for(1900ms);
    BOOST_TEST(!ann->engine().closed());
    world().run_for(200ms);
    BOOST_TEST(ann->engine().closed());
}

BOOST_AUTO_TEST_SUITE_END()
