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

/// An operation on a lease that records its result.
template <typename Operation>
class written_down final : public Operation {
public:
    template <typename... More>
    static std::shared_ptr<written_down> begin(const virtual_acquire& of, More... more) {
        const auto made = std::make_shared<written_down>(of.lease, of.holder_number, more...);
        made->start(made);
        return made;
    }
    using Operation::Operation;

    void deliver() override {
        is_finished = true;
        ended_with = Operation::result();
    }

    bool is_finished = false;
    lease_result ended_with = lease_result::cancelled;
};
using extend = written_down<runtime::extend_operation>;
using release = written_down<runtime::release_operation>;
using wait_lost = written_down<runtime::loss_operation>;

}  // namespace

BOOST_AUTO_TEST_CASE(validity_starts_when_the_request_is_sent) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const core::time_point began = five.world().now();
    const auto lease = client->lock("a");
    const core::duration ttl = 10s;
    BOOST_TEST((lease->valid_until() == began + ttl - ttl / 100 - 2ms));
    BOOST_TEST((lease->finished_at == began + 100us));  // One round trip.
}

BOOST_AUTO_TEST_CASE(the_watchdog_renews_until_the_release) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const auto lease = client->lock("a");
    five.world().run_for(1h);
    BOOST_TEST((lease->valid_until() > five.world().now() + 6s));
    const std::uint64_t renewed = client->engine().parts().counts.renewed;
    BOOST_TEST(renewed > 1000U);
    BOOST_TEST(renewed < 1100U);

    const auto released = release::begin(*lease);
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return released->is_finished; }));
    BOOST_TEST((released->ended_with == lease_result::done));
    const std::size_t executed = five.executed();
    five.world().run_for(1h);
    BOOST_TEST(five.executed() == executed);
    BOOST_TEST(client->engine().parts().counts.renewed == renewed);
}

BOOST_AUTO_TEST_CASE(a_loss_is_reported_before_the_validity_ends) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const core::time_point promised = lease->valid_until();
    three.server(0).is_silent = three.server(1).is_silent = true;
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return loss->is_finished; }));
    BOOST_TEST((loss->ended_with == lease_result::ended));
    BOOST_TEST((lease->lease->loss(0) == core::loss::unrenewable));
    BOOST_TEST((three.world().now() < promised));
    BOOST_TEST((three.world().now() > promised - 1s));
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
BOOST_AUTO_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_holder_releases_it) {
    virtual_deployment one(1);
    const auto first = one.make_client();
    const auto second = one.make_client();
    runtime::lock_policy policy = first->usual_policy();
    policy.lease.max_hold = 3s;
    const auto lease = first->lock("a", policy);
    const auto loss = wait_lost::begin(*lease);
    const auto rival = second->acquire("a");
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return loss->is_finished; }));
    BOOST_TEST((lease->lease->loss(0) == core::loss::max_hold));
    one.world().run_for(50ms);
    BOOST_TEST(!rival->is_finished);
    lease->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return rival->is_finished; }, 300ms));
    BOOST_TEST(rival->granted());
}

BOOST_AUTO_TEST_CASE(an_abandoned_lease_keeps_its_keys_until_the_ttl_ends) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto rival = three.make_client();
    const core::time_point began = three.world().now();
    const auto lease = client->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const auto longer = extend::begin(*lease, core::duration(60s));
    const auto next = client->acquire("a");
    lease->lease->abandon(lease->holder_number);
    BOOST_TEST((lease->valid_until() == core::time_point::min()));
    BOOST_TEST((lease->lease->loss(0) == core::loss::none));
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    BOOST_TEST(client->engine().parts().counts.abandoned == 1U);
    const auto too_late = release::begin(*lease);
    BOOST_TEST_REQUIRE(three.world().run_until(
        [&] { return loss->is_finished && longer->is_finished && too_late->is_finished; }));
    BOOST_TEST((loss->ended_with == lease_result::not_held));
    BOOST_TEST((longer->ended_with == lease_result::not_held));
    BOOST_TEST((too_late->ended_with == lease_result::not_held));

    // Neither this client nor another one acquires the lock earlier.
    const auto foreign = rival->acquire("a");
    three.world().run_for(9s);
    BOOST_TEST(!next->is_finished);
    BOOST_TEST(!foreign->is_finished);
    BOOST_TEST_REQUIRE(
        three.world().run_until([&] { return next->is_finished || foreign->is_finished; }, 2s));
    BOOST_TEST((three.world().now() >= began + 10s));
    BOOST_TEST(client->engine().parts().counts.released == 0U);
    BOOST_TEST(client->engine().parts().counts.handed_off == 0U);
    BOOST_TEST(client->engine().parts().counts.renewed == 0U);
}

// The waiter attempts immediately, and finds the key.
BOOST_AUTO_TEST_CASE(a_waiter_attempts_after_the_lease_before_it_was_abandoned) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const auto lease = client->lock("a");
    const auto patient = client->acquire("a", client->usual_policy(), one.world().now() + 100ms);
    lease->lease->abandon(lease->holder_number);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return patient->is_finished; }));
    BOOST_TEST((patient->outcome == core::acquire_outcome::contended));
    BOOST_TEST(client->engine().parts().counts.attempts >= 2U);
}

BOOST_AUTO_TEST_CASE(close_does_not_wait_for_an_abandoned_lease) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    three.server(0).is_silent = three.server(1).is_silent = true;
    lease->lease->abandon(lease->holder_number);
    const std::size_t executed = three.executed();
    const core::time_point began = three.world().now();
    const auto closed = client->close();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST((closed->told == runtime::close_operation::outcome_type::closed));
    BOOST_TEST((three.world().now() <= began + 1ms));
    BOOST_TEST(three.executed() == executed);
    BOOST_TEST(three.server(2).keys.size() == 1U);
}

// Two of three servers hold the key. The third executes its acquire later.
BOOST_AUTO_TEST_CASE(a_late_grant_of_an_abandoned_lease_is_left_alone) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    three.server(2).latency = 5ms;
    const auto lease = client->lock("a");
    lease->lease->abandon(lease->holder_number);
    three.world().run_for(1s);
    BOOST_TEST(three.executed() == 3U);
    BOOST_TEST(three.server(2).keys.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_release_that_has_begun_is_not_abandoned) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    const auto released = release::begin(*lease);
    lease->lease->abandon(lease->holder_number);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return released->is_finished; }));
    BOOST_TEST((released->ended_with == lease_result::done));
    BOOST_TEST(client->engine().parts().counts.abandoned == 0U);
    three.world().run_for(1ms);
    BOOST_TEST(three.server(0).keys.size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_extension_changes_the_ttl) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const auto lease = client->lock("a");
    const auto longer = extend::begin(*lease, core::duration(60s));
    const auto shorter = extend::begin(*lease, core::duration(20s));
    BOOST_TEST_REQUIRE(
        five.world().run_until([&] { return longer->is_finished && shorter->is_finished; }));
    BOOST_TEST((longer->ended_with == lease_result::done));
    BOOST_TEST((shorter->ended_with == lease_result::done));
    BOOST_TEST((lease->valid_until() < five.world().now() + 20s));
    BOOST_TEST((lease->valid_until() > five.world().now() + 19s));
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_restored) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    three.server(0).keys.clear();
    three.world().run_for(5s);
    BOOST_TEST(three.server(0).keys.size() == 1U);
    BOOST_TEST(client->engine().parts().counts.healed == 1U);
    BOOST_TEST((lease->valid_until() > three.world().now()));
}

// A release that one server does not answer blocks no caller, and is completed later.
BOOST_AUTO_TEST_CASE(an_unanswered_release_continues_in_the_background) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    three.server(0).is_silent = true;
    const auto released = release::begin(*lease);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return released->is_finished; }, 1ms));
    BOOST_TEST((released->ended_with == lease_result::done));
    BOOST_TEST(client->engine().parts().counts.releasing == 1U);
    three.world().run_for(11s);  // Longer than the ttl.
    BOOST_TEST(client->engine().parts().counts.releasing == 0U);
}

BOOST_AUTO_TEST_CASE(closing_reports_the_loss_and_waits_for_the_release) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    const auto loss = wait_lost::begin(*lease);
    const auto waiter = client->acquire("a");
    client->engine().close();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return loss->is_finished; }, 1ms));
    BOOST_TEST((lease->lease->loss(0) == core::loss::closed));
    BOOST_TEST((waiter->outcome == core::acquire_outcome::closed));
    BOOST_TEST(!client->engine().closed());
    lease->let_go();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return client->engine().closed(); }, 1ms));
    BOOST_TEST(three.server(0).keys.size() == 0U);
}

BOOST_AUTO_TEST_CASE(closing_times_out_while_a_lease_is_still_held) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto lease = client->lock("a");
    client->engine().close();
    three.world().run_for(1900ms);
    BOOST_TEST(!client->engine().closed());
    three.world().run_for(200ms);
    BOOST_TEST(client->engine().closed());
}

BOOST_AUTO_TEST_SUITE_END()
