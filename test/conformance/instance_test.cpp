// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// An instance as a whole: its address, its status and its end.

#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

BOOST_AUTO_TEST_SUITE(instance_test)

using namespace colock::test;

BOOST_DATA_TEST_CASE(instances_at_one_address_share_their_keys, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    {
        instance_rig other(s.uri());
        other.run_until_ready();
        BOOST_TEST(other.acquire("k", "bob") == "denied: another");
        BOOST_TEST(other.acquire("l", "bob") == "granted");
    }
    // The key outlives the instance that acquired it.
    BOOST_TEST(rig.acquire("l", "ann") == "denied: another");
    BOOST_TEST(rig.release("l", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(after_stop_every_vote_is_down, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.subject().ready());
    const auto changes = rig.state_changes();
    rig.submit(step::release, "k", "ann");  // Submitted but not sent.
    rig.submit(step::acquire, "l", "ann");
    rig.subject().stop();
    BOOST_TEST(!rig.subject().ready());
    BOOST_TEST(!rig.subject().starting());
    BOOST_TEST((rig.status().state == colock::instance::state::closed));
    BOOST_TEST(rig.state_changes() == changes + 1);
    BOOST_TEST(rig.votes() == strings(2, "failed: down"), boost::test_tools::per_element());

    rig.submit(step::acquire, "l", "ann");
    rig.submit(step::release, "k", "ann");
    rig.withdraw(rig.submit(step::remaining, "k"));
    const strings expected{"failed: down", "failed: down", "failed: withdrawn"};
    BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());

    rig.subject().stop();
    BOOST_TEST(rig.state_changes() == changes + 1);

    instance_rig other(s.uri());
    other.run_until_ready();
    BOOST_TEST(other.remaining("l") == "denied: nobody");
}

// Each command is granted or lost, depending on timing. Each gets exactly one vote, which the rig checks.
BOOST_DATA_TEST_CASE(every_command_in_flight_at_stop_gets_one_vote, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (int i = 0; i != 100; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
        if (i % 10 == 0) {
            rig.flush();
        }
    }
    rig.subject().stop();
    for (const std::string& vote : rig.votes()) {
        BOOST_TEST(
            (vote == "granted" || vote == "failed: connection lost" || vote == "failed: down"),
            vote);
    }
}

BOOST_DATA_TEST_CASE(stop_may_be_called_inside_a_vote, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.after_vote = [&](colock::instance::command_tag) { rig.subject().stop(); };
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    BOOST_TEST(rig.votes().front() == "granted");
    rig.after_vote = nullptr;
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
}

BOOST_DATA_TEST_CASE(stop_may_be_called_inside_a_vote_on_a_withdrawn_command, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.after_vote = [&](colock::instance::command_tag) { rig.subject().stop(); };
    rig.withdraw(rig.submit(step::acquire, "k", "ann"));
    for (int i = 0; i != 10; ++i) {
        rig.submit(step::acquire, std::to_string(i), "ann");
    }
    const strings votes = rig.votes();
    BOOST_TEST(votes.front() == "failed: withdrawn");
    for (std::size_t i = 1; i != votes.size(); ++i) {
        BOOST_TEST((votes[i] == "failed: down" || votes[i] == "failed: connection lost"), votes[i]);
    }
    rig.after_vote = nullptr;
}

BOOST_DATA_TEST_CASE(a_ready_instance_reports_its_status_without_password, all_kinds) {
    subject s(sample);
    const auto status = s.rig.status();
    BOOST_TEST((status.state == colock::instance::state::ready));
    BOOST_TEST(status.reason.empty());
    BOOST_TEST(status.in_flight == 0U);
    BOOST_TEST(s.uri().ends_with(status.address.substr(status.address.find("://") + 3)));
    BOOST_TEST(status.address.find("word") == std::string::npos);
    BOOST_TEST(!s.rig.subject().starting());
}

BOOST_AUTO_TEST_SUITE_END()
