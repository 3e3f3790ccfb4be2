// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Readers of one client that share a lease, and single attempts of readers and writers, in virtual time.

#include "kinds/shared/shared.hpp"
#include "unit/runtime/shared.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(shared_locks)

BOOST_AUTO_TEST_CASE(a_thousand_readers_of_one_client_share_one_lease) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    std::vector<acquire> readers{read(*client)};
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    for (int i = 0; i != 999; ++i) {
        readers.push_back(read(*client));
    }
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    BOOST_TEST(client->engine().parts().counts.held == 1000U);
    for (const acquire& one : readers) {
        BOOST_TEST((one->valid_until() > five.world().now()));
        one->let_go();
        BOOST_TEST((one->valid_until() == core::time_point::min()));
        one->let_go();  // A repeated release has no effect.
    }
    five.world().run_for(10ms);
    BOOST_TEST(five.executed() == 10U);
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    BOOST_TEST(client->engine().parts().counts.acquired == 1000U);
    BOOST_TEST(client->engine().parts().counts.released == 1000U);
}

BOOST_AUTO_TEST_CASE(the_last_reader_to_leave_releases_the_lease) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const auto other = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire third = read(*client);
    expect_granted(one, {second, third});
    second->let_go();
    first->let_go();
    first->let_go();
    second->let_go();
    one.world().run_for(10ms);
    const acquire writer = write(*other, one.world().now() + 5ms);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
    BOOST_TEST((third->valid_until() > one.world().now()));
    third->let_go();
    expect_granted(one, {write(*other)});
}

BOOST_AUTO_TEST_CASE(a_reader_that_abandons_its_share_leaves_the_lease_to_the_others) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    expect_granted(one, {second});
    first->lease->abandon(first->holder_number);
    BOOST_TEST((first->valid_until() == core::time_point::min()));
    one.world().run_for(1min);
    BOOST_TEST((second->valid_until() > one.world().now()));
    BOOST_TEST(client->engine().parts().counts.abandoned == 0U);
    BOOST_TEST(client->engine().parts().counts.held == 1U);
    second->lease->abandon(second->holder_number);
    BOOST_TEST(client->engine().parts().counts.abandoned == 1U);
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    expect_silence(one);
    BOOST_TEST(one.server(0).keys.size() == 1U);
}

BOOST_AUTO_TEST_CASE(readers_of_many_clients_hold_the_lock_together) {
    virtual_deployment five(5);
    std::vector<std::unique_ptr<client>> clients;
    std::vector<acquire> readers;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(five.make_client());
        readers.push_back(read(*clients.back()));
        expect_granted(five, readers);
    }
    const acquire writer = write(*clients.front(), five.world().now() + 50ms);
    BOOST_TEST_REQUIRE(five.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
}

/// A single attempt succeeds if the lock is free, and if other readers hold it. It is made in both forms.
BOOST_AUTO_TEST_CASE(a_single_attempt_joins_other_readers) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    expect_granted(five, {read(*ann, core::time_point::min())});
    expect_granted(five, {read(*bob, core::time_point::min())});
    runtime::lock_policy once = policy_of(*bob, kinds::shared);
    once.attempts = 1;
    const auto cid = five.make_client();
    expect_granted(five, {cid->acquire("a", once)});
}

/// The error says this even if another operation attempts or waits before this one. Otherwise a task that
/// waits for itself would be hard to find.
BOOST_AUTO_TEST_CASE(an_error_reports_that_this_client_holds_the_lock) {
    virtual_deployment three(3);
    const auto ann = three.make_client();
    expect_granted(three, {read(*ann)});
    three.world().run_for(100ms);  // The lease is no longer shared.
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).latency = 50ms;
    }
    const acquire attempting = read(*ann);
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    three.world().run_for(10ms);
    for (const acquire& one : {behind, writer}) {
        one->cancel();
        BOOST_TEST_REQUIRE(three.world().run_until([&] { return one->is_finished; }));
        BOOST_TEST(one->text == "'a': this client holds it already");
    }
    attempting->cancel();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return attempting->is_finished; }));
    BOOST_TEST(attempting->text.ends_with(", this client holds it already"), attempting->text);
}

/// The first attempt of a denied and waiting writer has two parts.
BOOST_AUTO_TEST_CASE(an_error_in_a_second_round_includes_the_first_rounds_votes) {
    virtual_deployment three(3);
    const auto ann = three.make_client();
    const auto bob = three.make_client();
    expect_granted(three, {read(*ann)});
    for (std::size_t i = 0; i != 3; ++i) {
        three.server(i).latency = 50ms;
    }
    const acquire writer = write(*bob);
    three.world().run_for(120ms);
    writer->cancel();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return writer->is_finished; }));
    BOOST_TEST(writer->text.find("[server 0: denied, held by another holder]") != std::string::npos,
               writer->text);
}

/// They wait for the attempt of the first of them, because no other client blocks them.
BOOST_AUTO_TEST_CASE(concurrent_single_attempts_of_one_client_share_a_lease) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    std::vector<acquire> readers;
    for (int i = 0; i != 10; ++i) {
        readers.push_back(read(*client, core::time_point::min()));
    }
    expect_granted(five, readers);
    BOOST_TEST(five.executed() == 5U);
    five.world().run_for(100ms);  // The lease is no longer shared.
    const acquire next = read(*client, core::time_point::min());
    const acquire with_it = read(*client, core::time_point::min());
    expect_granted(five, {next, with_it});
    BOOST_TEST((next->lease != readers.front()->lease));
    BOOST_TEST((next->lease == with_it->lease));
}

/// Fault 88: the own deadline of the attempt counts too. A reader of the same client does not block it.
BOOST_AUTO_TEST_CASE(a_single_attempt_waits_for_another_reader_until_its_deadline,
                     *label("fault-88")) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    one.server(0).latency = 50ms;
    runtime::lock_policy once = policy_of(*client, kinds::shared);
    once.attempts = 1;
    const acquire first = client->acquire("a", once);
    const core::time_point deadline = one.world().now() + 20ms;
    const acquire second = client->acquire("a", once, deadline);
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return second->is_finished; }));
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(second->text.find("[server 0: no answer yet]") != std::string::npos, second->text);
    BOOST_TEST((second->finished_at >= deadline));
    BOOST_TEST((second->finished_at < deadline + 5ms));
    expect_granted(one, {first});
}

/// The other reader may not have begun yet, because the handler of its predecessor is just being called.
BOOST_AUTO_TEST_CASE(a_single_attempt_waits_for_a_reader_that_is_about_to_begin) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy policy = policy_of(*client, kinds::shared);
    policy.handoff.limit = 0;  // Otherwise it would share the lease of the first.
    const acquire first = client->acquire("a", policy);
    const acquire second = client->acquire("a", policy);
    acquire third;
    first->on_finished = [&] { third = client->acquire("a", policy, core::time_point::min()); };
    expect_granted(one, {first, second});
    expect_granted(one, {third});
    const acquire fourth = client->acquire("b");
    const acquire fifth = client->acquire("b", policy);
    one.world().run_for(10us);
    fourth->cancel();
    expect_granted(one, {fifth, client->acquire("b", policy, core::time_point::min())});
}

BOOST_AUTO_TEST_CASE(the_next_single_attempt_waits_for_the_first_connection) {
    virtual_deployment one(1);
    one.server(0).is_up = false;
    one.server(0).is_starting = true;
    const auto client = one.make_client();
    const acquire first = read(*client);
    const acquire second = read(*client, core::time_point::min());
    one.world().run_for(300ms);
    first->cancel();
    one.world().run_for(350ms);
    BOOST_TEST(!second->is_finished, second->text);
    client->reach(0);
    expect_granted(one, {second});
}

/// An earlier outage does not count if it ended long ago, while other operations of the client held the lock.
BOOST_AUTO_TEST_CASE(an_earlier_outage_does_not_shorten_a_readers_wait) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const auto set_silent = [&](bool silent) {
        three.server(1).is_silent = three.server(2).is_silent = silent;
    };
    const acquire holder = read(*client);
    expect_granted(three, {holder});
    three.world().run_for(100ms);  // The lease is no longer shared.
    set_silent(true);
    const acquire failing = read(*client);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return failing->is_finished; }));
    BOOST_TEST((failing->outcome == acquire_outcome::no_quorum));
    set_silent(false);
    three.world().run_for(60s);
    BOOST_TEST((holder->valid_until() > three.world().now()));
    set_silent(true);
    const acquire next = read(*client);
    three.world().run_for(300ms);  // Longer than an attempt, and shorter than the maximum wait.
    set_silent(false);
    expect_granted(three, {next});
}

/// Each of them takes no longer than one attempt.
BOOST_AUTO_TEST_CASE(single_attempts_are_denied_while_a_writer_holds_the_lock) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    expect_granted(five, {write(*ann)});
    const core::time_point began = five.world().now();
    for (int i = 0; i != 3; ++i) {
        const acquire first = read(*bob, core::time_point::min());
        const acquire second = read(*bob, core::time_point::min());
        BOOST_TEST_REQUIRE(
            five.world().run_until([&] { return first->is_finished && second->is_finished; }));
        BOOST_TEST((first->outcome == acquire_outcome::contended));
        BOOST_TEST((second->outcome == acquire_outcome::contended));
    }
    BOOST_TEST((five.world().now() - began < 20ms));
}

BOOST_AUTO_TEST_CASE(a_single_attempt_fails_behind_a_writer_or_a_waiting_reader) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    const acquire reader = read(*ann);
    expect_granted(one, {reader});
    const acquire writer = write(*ann);
    const acquire behind_a_writer = read(*ann, core::time_point::min());
    BOOST_TEST(!behind_a_writer->running());
    reader->let_go();
    expect_granted(one, {writer});
    const acquire patient = read(*bob);
    one.world().run_for(50ms);  // It has been denied.
    const acquire behind_a_reader = read(*bob, core::time_point::min());
    BOOST_TEST(!behind_a_reader->running());
    one.world().run_for(1ms);
    BOOST_TEST((behind_a_writer->outcome == acquire_outcome::contended));
    BOOST_TEST((behind_a_reader->outcome == acquire_outcome::contended));
    writer->let_go();
    expect_granted(one, {patient});
}

BOOST_AUTO_TEST_CASE(a_reader_waits_for_a_writer_and_a_writer_for_readers) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const auto bob = five.make_client();
    const acquire writer = write(*ann);
    expect_granted(five, {writer});
    const acquire reader = read(*bob);
    five.world().run_for(300ms);
    BOOST_TEST(!reader->is_finished);
    writer->let_go();
    expect_granted(five, {reader});
    const acquire next = write(*ann);
    five.world().run_for(300ms);
    BOOST_TEST(!next->is_finished);
    reader->let_go();
    expect_granted(five, {next});
}

BOOST_AUTO_TEST_CASE(a_waiting_writer_blocks_later_readers_of_its_client) {
    virtual_deployment five(5);
    const auto ann = five.make_client();
    const acquire first = read(*ann);
    expect_granted(five, {first});
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    const acquire with_it = read(*ann);
    five.world().run_for(300ms);
    BOOST_TEST(!writer->is_finished);
    BOOST_TEST(!behind->is_finished);
    first->let_go();
    expect_granted(five, {writer});
    BOOST_TEST(!behind->is_finished);
    writer->let_go();
    expect_granted(five, {behind, with_it});  // Together.
    BOOST_TEST((behind->lease == with_it->lease));
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_shared_after_handoff_time) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    one.world().run_for(49ms);
    const acquire second = read(*client);
    expect_granted(one, {second});
    BOOST_TEST((second->lease == first->lease));
    one.world().run_for(2ms);
    const acquire third = read(*client);
    expect_granted(one, {third});
    BOOST_TEST((third->lease != first->lease));  // It has a separate lease on the servers.
    const acquire fourth = read(*client);
    expect_granted(one, {fourth});
    BOOST_TEST((fourth->lease == third->lease));
    for (const acquire& reader : {first, second, third, fourth}) {
        BOOST_TEST((reader->valid_until() > one.world().now()));
        reader->let_go();
    }
    one.world().run_for(10ms);
    expect_granted(one, {write(*client)});
}

BOOST_AUTO_TEST_CASE(readers_behind_a_writer_that_gives_up_share_the_lease) {
    for (const bool by_itself : {false, true}) {
        BOOST_TEST_CONTEXT((by_itself ? "its time is up" : "it is cancelled")) {
            virtual_deployment one(1);
            const auto client = one.make_client();
            const acquire first = read(*client);
            expect_granted(one, {first});
            const acquire writer =
                write(*client, by_itself ? one.world().now() + 20ms : core::never);
            const acquire behind = read(*client);
            const acquire with_it = read(*client);
            one.world().run_for(10ms);
            BOOST_TEST(!behind->is_finished);
            if (!by_itself) {
                writer->cancel();
            }
            expect_granted(one, {behind, with_it});
            BOOST_TEST(writer->is_finished);
            BOOST_TEST((behind->lease == first->lease));
            BOOST_TEST((first->valid_until() > one.world().now()));
        }
    }
}

/// The client detects a waiting writer by its renewals, whatever the limits of sharing are.
BOOST_AUTO_TEST_CASE(a_lease_is_not_shared_while_a_writer_waits_for_it) {
    virtual_deployment one(1);
    const auto ann = one.make_client();
    const auto bob = one.make_client();
    runtime::lock_policy patient = policy_of(*ann, kinds::shared);
    patient.handoff.time = 1h;
    const acquire first = ann->acquire("a", patient);
    expect_granted(one, {first});
    const acquire writer = write(*bob);
    one.world().run_for(5s);  // Includes a renewal.
    const acquire late = ann->acquire("a", patient);
    one.world().run_for(100ms);
    BOOST_TEST(!late->is_finished);
    first->let_go();
    expect_granted(one, {writer});
    writer->let_go();
    expect_granted(one, {late});
}

BOOST_AUTO_TEST_CASE(all_lock_kinds_and_options_share_one_local_queue) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire reader = read(*client);
    expect_granted(one, {reader});
    const acquire mutex = client->acquire("a");
    runtime::lock_policy longer = policy_of(*client, kinds::shared);
    longer.lease.ttl = 20s;
    const acquire other = client->acquire("a", longer);
    one.world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);
    reader->let_go();
    expect_granted(one, {mutex});
    BOOST_TEST(!other->is_finished);
    mutex->let_go();
    expect_granted(one, {other});
    const acquire usual = read(*client);  // It has a lease of its own.
    expect_granted(one, {usual});
    BOOST_TEST((usual->lease != other->lease));
    BOOST_TEST((usual->valid_until() < other->valid_until()));
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_shared_lease_is_reported_to_each_reader) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire third = read(*client);
    expect_granted(one, {second, third});
    third->let_go();
    one.server(0).keys.clear();
    one.world().run_for(4s);  // Includes a renewal.
    for (const acquire& reader : {first, second}) {
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST((reader->valid_until() == core::time_point::min()));
    }
    BOOST_TEST((third->lease->loss(third->holder_number) == core::loss::none));
    BOOST_TEST(client->engine().parts().counts.held == 0U);
    first->let_go();
    BOOST_TEST(client->engine().parts().counts.lost == 2U);
    BOOST_TEST(client->engine().parts().counts.released == 1U);
    const acquire mutex = client->acquire("a");
    one.world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);  // One reader has not released yet.
    second->let_go();
    expect_granted(one, {mutex});
    BOOST_TEST(client->engine().parts().counts.held == 1U);
}

/// The lease has been released automatically by then.
BOOST_AUTO_TEST_CASE(releasing_a_lost_share_after_its_validity_reports_the_loss) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    expect_granted(one, {second});
    one.server(0).keys.clear();
    one.world().run_for(1min);
    for (const acquire& reader : {first, second}) {
        const auto release = reader->release();
        one.world().run_for(10ms);
        BOOST_TEST((release->told == core::release_outcome::lost));
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST(client->engine().parts().counts.held == 0U);
    }
}

BOOST_AUTO_TEST_CASE(closing_reports_the_loss_to_readers_and_releases_once) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = read(*client);
    expect_granted(one, {first});
    const acquire second = read(*client);
    const acquire writer = write(*client);
    expect_granted(one, {second});
    client->engine().close();
    one.world().run_for(10ms);
    BOOST_TEST((writer->outcome == acquire_outcome::closed));
    BOOST_TEST((second->lease->loss(second->holder_number) == core::loss::closed));
    first->let_go();
    second->let_go();
    one.world().run_for(10ms);
    BOOST_TEST(client->engine().closed());
    BOOST_TEST(one.executed() == 2U);
}

BOOST_AUTO_TEST_CASE(closing_a_client_fails_its_waiting_readers) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire holding = read(*client);
    expect_granted(one, {holding});
    const acquire attempting = read_alone(*client);
    const acquire behind = read(*client);
    client->engine().close();
    one.world().run_for(10ms);
    BOOST_TEST((attempting->outcome == acquire_outcome::closed));
    BOOST_TEST((behind->outcome == acquire_outcome::closed));
}

BOOST_AUTO_TEST_SUITE_END()
