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

BOOST_FIXTURE_TEST_CASE(a_thousand_readers_of_one_client_share_one_lease, five_servers) {
    std::vector<acquire> readers{read(*ann)};
    expect_granted(readers);
    BOOST_TEST(executed() == 5U);
    for (int i = 0; i != 999; ++i) {
        readers.push_back(read(*ann));
    }
    expect_granted(readers);
    BOOST_TEST(executed() == 5U);
    BOOST_TEST(ann->engine().parts().counts.held == 1000U);
    for (const acquire& one : readers) {
        BOOST_TEST((one->valid_until() > world().now()));
        one->let_go();
        BOOST_TEST((one->valid_until() == core::time_point::min()));
        one->let_go();  // A repeated release has no effect.
    }
    world().run_for(10ms);
    BOOST_TEST(executed() == 10U);
    BOOST_TEST(ann->engine().parts().counts.held == 0U);
    BOOST_TEST(ann->engine().parts().counts.acquired == 1000U);
    BOOST_TEST(ann->engine().parts().counts.released == 1000U);
}

BOOST_FIXTURE_TEST_CASE(the_last_reader_to_leave_releases_the_lease, one_server) {
    const acquire first = granted(read(*ann));
    const acquire second = read(*ann);
    const acquire third = read(*ann);
    expect_granted({second, third});
    second->let_go();
    first->let_go();
    first->let_go();
    second->let_go();
    world().run_for(10ms);
    const acquire writer = write(*bob, world().now() + 5ms);
    finish(writer);
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
    BOOST_TEST((third->valid_until() > world().now()));
    third->let_go();
    granted(write(*bob));
}

BOOST_FIXTURE_TEST_CASE(a_reader_that_abandons_its_share_leaves_the_lease_to_the_others,
                        one_server) {
    const acquire first = granted(read(*ann));
    const acquire second = granted(read(*ann));
    first->lease->abandon(first->holder_number);
    BOOST_TEST((first->valid_until() == core::time_point::min()));
    world().run_for(1min);
    BOOST_TEST((second->valid_until() > world().now()));
    BOOST_TEST(ann->engine().parts().counts.abandoned == 0U);
    BOOST_TEST(ann->engine().parts().counts.held == 1U);
    second->lease->abandon(second->holder_number);
    BOOST_TEST(ann->engine().parts().counts.abandoned == 1U);
    BOOST_TEST(ann->engine().parts().counts.held == 0U);
    expect_silence();
    BOOST_TEST(server(0).keys.size() == 1U);
}

BOOST_AUTO_TEST_CASE(readers_of_many_clients_hold_the_lock_together) {
    virtual_deployment five(5);
    std::vector<std::unique_ptr<client>> clients;
    std::vector<acquire> readers;
    for (int i = 0; i != 8; ++i) {
        clients.push_back(five.make_client());
        readers.push_back(read(*clients.back()));
        five.expect_granted(readers);
    }
    const acquire writer = write(*clients.front(), five.world().now() + 50ms);
    five.finish(writer);
    BOOST_TEST((writer->outcome == acquire_outcome::contended));
}

/// A single attempt succeeds if the lock is free, and if other readers hold it. It is made in both forms.
BOOST_FIXTURE_TEST_CASE(a_single_attempt_joins_other_readers, five_servers) {
    granted(read(*ann, core::time_point::min()));
    granted(read(*bob, core::time_point::min()));
    runtime::lock_policy once = policy_of(*bob, kinds::shared);
    once.attempts = 1;
    const auto cid = make_client();
    granted(cid->acquire("a", once));
}

/// The error says this even if another operation attempts or waits before this one. Otherwise a task that
/// waits for itself would be hard to find.
BOOST_FIXTURE_TEST_CASE(an_error_reports_that_this_client_holds_the_lock, three_servers) {
    granted(read(*ann));
    world().run_for(100ms);  // The lease is no longer shared.
    for (std::size_t i = 0; i != 3; ++i) {
        server(i).latency = 50ms;
    }
    const acquire attempting = read(*ann);
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    world().run_for(10ms);
    for (const acquire& one : {behind, writer}) {
        one->cancel();
        finish(one);
    }
    BOOST_TEST(behind->text == "'a': this client holds it already");
    BOOST_TEST(writer->text == "'a': this client holds it already, by a lease of kind 'shared'");
    attempting->cancel();
    finish(attempting);
    BOOST_TEST(attempting->text.ends_with(", this client holds it already"), attempting->text);
}

/// The first attempt of a denied and waiting writer has two parts.
BOOST_FIXTURE_TEST_CASE(an_error_in_a_second_round_includes_the_first_rounds_votes, three_servers) {
    granted(read(*ann));
    for (std::size_t i = 0; i != 3; ++i) {
        server(i).latency = 50ms;
    }
    const acquire writer = write(*bob);
    world().run_for(120ms);
    writer->cancel();
    finish(writer);
    BOOST_TEST(writer->text.find("[server 0: denied, held by another holder]") != std::string::npos,
               writer->text);
}

/// They wait for the attempt of the first of them, because no other client blocks them.
BOOST_FIXTURE_TEST_CASE(concurrent_single_attempts_of_one_client_share_a_lease, five_servers) {
    std::vector<acquire> readers;
    for (int i = 0; i != 10; ++i) {
        readers.push_back(read(*ann, core::time_point::min()));
    }
    expect_granted(readers);
    BOOST_TEST(executed() == 5U);
    world().run_for(100ms);  // The lease is no longer shared.
    const acquire next = read(*ann, core::time_point::min());
    const acquire with_it = read(*ann, core::time_point::min());
    expect_granted({next, with_it});
    BOOST_TEST((next->lease != readers.front()->lease));
    BOOST_TEST((next->lease == with_it->lease));
}

/// Fault 88: the own deadline of the attempt counts too. A reader of the same client does not block it.
BOOST_FIXTURE_TEST_CASE(a_single_attempt_waits_for_another_reader_until_its_deadline, one_server,
                        *label("fault-88")) {
    server(0).latency = 50ms;
    runtime::lock_policy once = policy_of(*ann, kinds::shared);
    once.attempts = 1;
    const acquire first = ann->acquire("a", once);
    const core::time_point deadline = world().now() + 20ms;
    const acquire second = ann->acquire("a", once, deadline);
    finish(second);
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(second->text.find("[server 0: no answer yet]") != std::string::npos, second->text);
    BOOST_TEST((second->finished_at >= deadline));
    BOOST_TEST((second->finished_at < deadline + 5ms));
    granted(first);
}

/// The other reader may not have begun yet, because the handler of its predecessor is just being called.
BOOST_FIXTURE_TEST_CASE(a_single_attempt_waits_for_a_reader_that_is_about_to_begin, one_server) {
    runtime::lock_policy policy = policy_of(*ann, kinds::shared);
    policy.handoff.limit = 0;  // Otherwise it would share the lease of the first.
    const acquire first = ann->acquire("a", policy);
    const acquire second = ann->acquire("a", policy);
    acquire third;
    first->on_finished = [&] { third = ann->acquire("a", policy, core::time_point::min()); };
    expect_granted({first, second});
    granted(third);
    const acquire fourth = ann->acquire("b");
    const acquire fifth = ann->acquire("b", policy);
    world().run_for(10us);
    fourth->cancel();
    expect_granted({fifth, ann->acquire("b", policy, core::time_point::min())});
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
    one.granted(second);
}

/// An earlier outage does not count if it ended long ago, while other operations of the client held the lock.
BOOST_FIXTURE_TEST_CASE(an_earlier_outage_does_not_shorten_a_readers_wait, three_servers) {
    const auto set_silent = [&](bool silent) {
        server(1).is_silent = server(2).is_silent = silent;
    };
    const acquire holder = granted(read(*ann));
    world().run_for(100ms);  // The lease is no longer shared.
    set_silent(true);
    const acquire failing = read(*ann);
    finish(failing);
    BOOST_TEST((failing->outcome == acquire_outcome::no_quorum));
    set_silent(false);
    world().run_for(60s);
    BOOST_TEST((holder->valid_until() > world().now()));
    set_silent(true);
    const acquire next = read(*ann);
    world().run_for(300ms);  // Longer than an attempt, and shorter than the maximum wait.
    set_silent(false);
    granted(next);
}

/// Each of them takes no longer than one attempt.
BOOST_FIXTURE_TEST_CASE(single_attempts_are_denied_while_a_writer_holds_the_lock, five_servers) {
    granted(write(*ann));
    const core::time_point began = world().now();
    for (int i = 0; i != 3; ++i) {
        const acquire first = read(*bob, core::time_point::min());
        const acquire second = read(*bob, core::time_point::min());
        BOOST_TEST_REQUIRE(
            world().run_until([&] { return first->is_finished && second->is_finished; }));
        BOOST_TEST((first->outcome == acquire_outcome::contended));
        BOOST_TEST((second->outcome == acquire_outcome::contended));
    }
    BOOST_TEST((world().now() - began < 20ms));
}

BOOST_FIXTURE_TEST_CASE(a_single_attempt_fails_behind_a_writer_or_a_waiting_reader, one_server) {
    const acquire reader = granted(read(*ann));
    const acquire writer = write(*ann);
    const acquire behind_a_writer = read(*ann, core::time_point::min());
    BOOST_TEST(!behind_a_writer->running());
    reader->let_go();
    granted(writer);
    const acquire patient = read(*bob);
    world().run_for(50ms);  // It has been denied.
    const acquire behind_a_reader = read(*bob, core::time_point::min());
    BOOST_TEST(!behind_a_reader->running());
    world().run_for(1ms);
    BOOST_TEST((behind_a_writer->outcome == acquire_outcome::contended));
    BOOST_TEST((behind_a_reader->outcome == acquire_outcome::contended));
    writer->let_go();
    granted(patient);
}

BOOST_FIXTURE_TEST_CASE(a_reader_waits_for_a_writer_and_a_writer_for_readers, five_servers) {
    const acquire writer = granted(write(*ann));
    const acquire reader = read(*bob);
    world().run_for(300ms);
    BOOST_TEST(!reader->is_finished);
    writer->let_go();
    granted(reader);
    const acquire next = write(*ann);
    world().run_for(300ms);
    BOOST_TEST(!next->is_finished);
    reader->let_go();
    granted(next);
}

BOOST_FIXTURE_TEST_CASE(a_waiting_writer_blocks_later_readers_of_its_client, five_servers) {
    const acquire first = granted(read(*ann));
    const acquire writer = write(*ann);
    const acquire behind = read(*ann);
    const acquire with_it = read(*ann);
    world().run_for(300ms);
    BOOST_TEST(!writer->is_finished);
    BOOST_TEST(!behind->is_finished);
    first->let_go();
    granted(writer);
    BOOST_TEST(!behind->is_finished);
    writer->let_go();
    expect_granted({behind, with_it});  // Together.
    BOOST_TEST((behind->lease == with_it->lease));
}

BOOST_FIXTURE_TEST_CASE(a_lease_is_not_shared_after_handoff_time, one_server) {
    const acquire first = granted(read(*ann));
    world().run_for(49ms);
    const acquire second = granted(read(*ann));
    BOOST_TEST((second->lease == first->lease));
    world().run_for(2ms);
    const acquire third = granted(read(*ann));
    BOOST_TEST((third->lease != first->lease));  // It has a separate lease on the servers.
    const acquire fourth = granted(read(*ann));
    BOOST_TEST((fourth->lease == third->lease));
    for (const acquire& reader : {first, second, third, fourth}) {
        BOOST_TEST((reader->valid_until() > world().now()));
        reader->let_go();
    }
    world().run_for(10ms);
    granted(write(*ann));
}

BOOST_AUTO_TEST_CASE(readers_behind_a_writer_that_gives_up_share_the_lease) {
    for (const bool by_itself : {false, true}) {
        BOOST_TEST_CONTEXT((by_itself ? "its time is up" : "it is cancelled")) {
            virtual_deployment one(1);
            const auto client = one.make_client();
            const acquire first = one.granted(read(*client));
            const acquire writer =
                write(*client, by_itself ? one.world().now() + 20ms : core::never);
            const acquire behind = read(*client);
            const acquire with_it = read(*client);
            one.world().run_for(10ms);
            BOOST_TEST(!behind->is_finished);
            if (!by_itself) {
                writer->cancel();
            }
            one.expect_granted({behind, with_it});
            BOOST_TEST(writer->is_finished);
            BOOST_TEST((behind->lease == first->lease));
            BOOST_TEST((first->valid_until() > one.world().now()));
        }
    }
}

/// The client detects a waiting writer by its renewals, whatever the limits of sharing are.
BOOST_FIXTURE_TEST_CASE(a_lease_is_not_shared_while_a_writer_waits_for_it, one_server) {
    runtime::lock_policy patient = policy_of(*ann, kinds::shared);
    patient.handoff.time = 1h;
    const acquire first = granted(ann->acquire("a", patient));
    const acquire writer = write(*bob);
    world().run_for(5s);  // Includes a renewal.
    const acquire late = ann->acquire("a", patient);
    world().run_for(100ms);
    BOOST_TEST(!late->is_finished);
    first->let_go();
    granted(writer);
    writer->let_go();
    granted(late);
}

BOOST_FIXTURE_TEST_CASE(all_lock_kinds_and_options_share_one_local_queue, one_server) {
    const acquire reader = granted(read(*ann));
    const acquire mutex = ann->acquire("a");
    runtime::lock_policy longer = policy_of(*ann, kinds::shared);
    longer.lease.ttl = 20s;
    const acquire other = ann->acquire("a", longer);
    world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);
    reader->let_go();
    granted(mutex);
    BOOST_TEST(!other->is_finished);
    mutex->let_go();
    granted(other);
    const acquire usual = read(*ann);  // It has a lease of its own.
    granted(usual);
    BOOST_TEST((usual->lease != other->lease));
    BOOST_TEST((usual->valid_until() < other->valid_until()));
}

BOOST_FIXTURE_TEST_CASE(the_loss_of_a_shared_lease_is_reported_to_each_reader, one_server) {
    const acquire first = granted(read(*ann));
    const acquire second = read(*ann);
    const acquire third = read(*ann);
    expect_granted({second, third});
    third->let_go();
    server(0).keys.clear();
    world().run_for(4s);  // Includes a renewal.
    for (const acquire& reader : {first, second}) {
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST((reader->valid_until() == core::time_point::min()));
    }
    BOOST_TEST((third->lease->loss(third->holder_number) == core::loss::none));
    BOOST_TEST(ann->engine().parts().counts.held == 0U);
    first->let_go();
    BOOST_TEST(ann->engine().parts().counts.lost == 2U);
    BOOST_TEST(ann->engine().parts().counts.released == 1U);
    const acquire mutex = ann->acquire("a");
    world().run_for(50ms);
    BOOST_TEST(!mutex->is_finished);  // One reader has not released yet.
    second->let_go();
    granted(mutex);
    BOOST_TEST(ann->engine().parts().counts.held == 1U);
}

/// The lease has been released automatically by then.
BOOST_FIXTURE_TEST_CASE(releasing_a_lost_share_after_its_validity_reports_the_loss, one_server) {
    const acquire first = granted(read(*ann));
    const acquire second = granted(read(*ann));
    server(0).keys.clear();
    world().run_for(1min);
    for (const acquire& reader : {first, second}) {
        const auto release = reader->release();
        world().run_for(10ms);
        BOOST_TEST((release->told == core::release_outcome::lost));
        BOOST_TEST((reader->lease->loss(reader->holder_number) == core::loss::keys_gone));
        BOOST_TEST(ann->engine().parts().counts.held == 0U);
    }
}

BOOST_FIXTURE_TEST_CASE(closing_reports_the_loss_to_readers_and_releases_once, one_server) {
    const acquire first = granted(read(*ann));
    const acquire second = read(*ann);
    const acquire writer = write(*ann);
    granted(second);
    ann->engine().close();
    world().run_for(10ms);
    BOOST_TEST((writer->outcome == acquire_outcome::closed));
    BOOST_TEST((second->lease->loss(second->holder_number) == core::loss::closed));
    first->let_go();
    second->let_go();
    world().run_for(10ms);
    BOOST_TEST(ann->engine().closed());
    BOOST_TEST(executed() == 2U);
}

BOOST_FIXTURE_TEST_CASE(closing_a_client_fails_its_waiting_readers, one_server) {
    const acquire holding = granted(read(*ann));
    const acquire attempting = read_alone(*ann);
    const acquire behind = read(*ann);
    ann->engine().close();
    world().run_for(10ms);
    BOOST_TEST((attempting->outcome == acquire_outcome::closed));
    BOOST_TEST((behind->outcome == acquire_outcome::closed));
}

BOOST_AUTO_TEST_SUITE_END()
