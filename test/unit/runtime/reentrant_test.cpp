// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Owners that enter a lock again, and owners that are refused, in virtual time.

#include "kinds/fenced/fenced.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(reentrant_locks)

namespace {

constexpr std::uint64_t eve = 1;
constexpr std::uint64_t fred = 2;

/// Starts an acquire for that owner.
acquire enter(client& by, std::uint64_t owner, const runtime::lock_policy& policy,
              core::time_point deadline = core::never) {
    return by.acquire("a", policy, deadline, owner, true);
}
acquire enter(client& by, std::uint64_t owner, core::time_point deadline = core::never) {
    return enter(by, owner, by.usual_policy(), deadline);
}
/// Starts an acquire like that of a `mutex`.
acquire plain(client& by, std::uint64_t owner, core::time_point deadline = core::never) {
    return by.acquire("a", by.usual_policy(), deadline, owner, false);
}

void expect_end(virtual_deployment& in, const acquire& one, acquire_outcome outcome) {
    in.finish(one, 0ms);
    BOOST_TEST((one->outcome == outcome));
}

using extend = virtual_operation<runtime::extend_operation>;
using wait_lost = virtual_operation<runtime::loss_operation>;

std::uint64_t held(client& by) {
    return by.engine().parts().counts.held;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_owner_enters_again_without_a_round_trip, five_servers) {
    const acquire outer = granted(enter(*ann, eve));
    world().run_for(1h);  // Any time may pass.
    const std::size_t before = executed();
    const core::time_point asked = world().now();
    std::vector<acquire> inner;
    for (int i = 0; i != 1000; ++i) {
        inner.push_back(enter(*ann, eve));
        granted(inner.back());
        BOOST_TEST((inner.back()->finished_at == asked));
        BOOST_TEST(inner.back()->lease->token() == outer->lease->token());
    }
    BOOST_TEST(executed() == before);
    BOOST_TEST(held(*ann) == 1001U);
    BOOST_TEST(ann->engine().parts().counts.acquired == 1001U);
    for (const acquire& one : inner) {
        BOOST_TEST((one->valid_until() > world().now()));
        one->let_go();
        one->let_go();  // A repeated release has no effect.
        BOOST_TEST((one->valid_until() == core::time_point::min()));
        BOOST_TEST((outer->valid_until() > world().now()));
    }
    BOOST_TEST(executed() == before);
    outer->let_go();
    world().run_for(1ms);
    BOOST_TEST(server(0).keys.size() == 0U);
    BOOST_TEST(held(*ann) == 0U);
    BOOST_TEST(ann->engine().parts().counts.released == 1001U);
}

// Faults 44 and 45: the lock is released once, with the last entry, in any order of releases.
BOOST_AUTO_TEST_CASE(the_last_entry_releases_the_lock_in_any_order, *label("fault-45")) {
    for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2},
                                                  {0, 2, 1},
                                                  {1, 0, 2},
                                                  {1, 2, 0},
                                                  {2, 0, 1},
                                                  {2, 1, 0}}) {
        virtual_deployment three(3);
        const auto client = three.make_client();
        const auto rival = three.make_client();
        std::vector<acquire> entries;
        for (int i = 0; i != 3; ++i) {
            entries.push_back(enter(*client, eve));
            three.granted(entries.back());
        }
        const acquire waiting = rival->acquire("a");
        for (std::size_t i = 0; i != 3; ++i) {
            three.world().run_for(30s);  // The watchdog continues.
            BOOST_TEST(!waiting->is_finished);
            const acquire& next = entries[order[i]];
            BOOST_TEST((next->valid_until() > three.world().now()));
            if (i % 2 == 0) {
                next->let_go();
            } else {
                const auto released = next->release();
                BOOST_TEST_REQUIRE(
                    three.world().run_until([&] { return released->told.has_value(); }));
                BOOST_TEST((released->told == core::release_outcome::released));
            }
            BOOST_TEST(held(*client) == 2 - i);
        }
        three.granted(waiting);
        const std::uint64_t renewed = client->engine().parts().counts.renewed;
        three.world().run_for(1min);
        BOOST_TEST(client->engine().parts().counts.renewed == renewed);  // No watchdog remains.
    }
}

BOOST_FIXTURE_TEST_CASE(an_owner_enters_past_all_waiters, one_server) {
    const acquire outer = granted(enter(*ann, eve));
    const acquire other = enter(*ann, fred);
    const acquire nobody = ann->acquire("a");
    const acquire inner = enter(*ann, eve);
    const acquire single = enter(*ann, eve, core::time_point::min());
    granted(inner);
    granted(single);
    outer->let_go();
    inner->let_go();
    world().run_for(10ms);
    BOOST_TEST(!other->is_finished);
    single->let_go();
    granted(other);  // Waiters are served in order, by hand-off.
    BOOST_TEST(other->lease->token() == outer->lease->token());
    BOOST_TEST(!nobody->is_finished);

    // The other owner holds the lock now.
    const acquire late = enter(*ann, eve);
    const acquire more = granted(enter(*ann, fred));
    world().run_for(10ms);
    BOOST_TEST(!late->is_finished);
    other->let_go();
    more->let_go();
    granted(nobody);
    const acquire refused = enter(*ann, fred, core::time_point::min());
    expect_end(*this, refused, acquire_outcome::contended);
    nobody->let_go();
    granted(late);
}

BOOST_FIXTURE_TEST_CASE(waiters_of_one_owner_enter_together, one_server) {
    const acquire first = granted(ann->acquire("a"));
    const acquire eve_1 = enter(*ann, eve);
    const acquire fred_1 = enter(*ann, fred);
    const acquire eve_2 = enter(*ann, eve);
    const acquire plain_1 = plain(*ann, eve);
    const acquire fred_2 = enter(*ann, fred);
    const acquire eve_3 = enter(*ann, eve);
    first->let_go();  // This is a hand-off.
    granted(eve_1);
    granted(eve_2);
    granted(eve_3);
    world().run_for(1ms);
    BOOST_TEST(!fred_1->is_finished);
    BOOST_TEST(!plain_1->is_finished);  // It came before its owner held the lock.
    BOOST_TEST(ann->engine().parts().counts.queued == 3U);
    world().run_for(1s);  // The lease is then released, and acquired again.
    eve_1->let_go();
    eve_2->let_go();
    eve_3->let_go();
    granted(fred_1);
    granted(fred_2);
    BOOST_TEST(fred_1->lease->token() == fred_2->lease->token());
    fred_2->let_go();
    fred_1->let_go();
    granted(plain_1);
    BOOST_TEST(ann->engine().parts().counts.queued == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_waiter_that_left_does_not_enter_with_its_owner, one_server) {
    const acquire first = granted(ann->acquire("a"));
    const acquire winner = enter(*ann, eve);
    const acquire cancelled = enter(*ann, eve);
    const acquire late = enter(*ann, eve, world().now() + 5ms);
    cancelled->cancel();
    world().run_for(10ms);
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    first->let_go();
    granted(winner);
    world().run_for(1ms);
    BOOST_TEST((cancelled->outcome == acquire_outcome::cancelled));
    BOOST_TEST(held(*ann) == 1U);
}

BOOST_FIXTURE_TEST_CASE(an_extension_of_one_entry_never_shortens_the_lease, three_servers,
                        *label("fault-45")) {
    const acquire outer = granted(enter(*ann, eve));
    const acquire inner = granted(enter(*ann, eve));
    const auto longer = extend::begin(*outer, core::duration(60s));
    const auto shorter = extend::begin(*inner, core::duration(1s));
    finish(shorter);
    BOOST_TEST((longer->ended_with == runtime::lease_result::done));
    BOOST_TEST((shorter->ended_with == runtime::lease_result::done));
    BOOST_TEST((outer->valid_until() > world().now() + 55s));
    inner->let_go();
    world().run_for(5min);
    BOOST_TEST((outer->valid_until() > world().now() + 30s));
}

// The options of the outermost entry apply.
BOOST_FIXTURE_TEST_CASE(an_entry_with_a_shorter_ttl_shortens_nothing, three_servers,
                        *label("fault-45")) {
    runtime::lock_policy brief = ann->usual_policy();
    brief.lease.ttl = 1s;
    brief.lease.renew_interval = 0s;
    const acquire outer = granted(enter(*ann, eve));
    const acquire inner = granted(enter(*ann, eve, brief));
    inner->let_go();
    world().run_for(1h);
    BOOST_TEST((outer->valid_until() > world().now() + 5s));
    BOOST_TEST((outer->lease->loss(outer->holder_number) == core::loss::none));
}

BOOST_FIXTURE_TEST_CASE(max_hold_counts_from_the_outermost_entry, three_servers) {
    runtime::lock_policy limited = ann->usual_policy();
    limited.lease.max_hold = 3s;
    const core::time_point began = world().now();
    const acquire outer = granted(enter(*ann, eve, limited));
    world().run_for(2s);
    const acquire inner = granted(enter(*ann, eve, limited));
    const auto lost = wait_lost::begin(*inner);
    finish(lost);
    BOOST_TEST((lost->ended_with == runtime::lease_result::ended));
    BOOST_TEST((world().now() <= began + 3s));
    for (const acquire& one : {outer, inner}) {
        BOOST_TEST((one->lease->loss(one->holder_number) == core::loss::max_hold));
    }
}

BOOST_FIXTURE_TEST_CASE(a_lost_lease_is_not_entered_again_until_all_have_let_go, three_servers,
                        *label("fault-46")) {
    const acquire outer = granted(enter(*ann, eve));
    const acquire inner = granted(enter(*ann, eve));
    server(0).keys.clear();
    server(1).keys.clear();
    BOOST_TEST_REQUIRE(world().run_until(
        [&] { return outer->lease->loss(outer->holder_number) != core::loss::none; }));
    BOOST_TEST((inner->lease->loss(inner->holder_number) == core::loss::keys_gone));
    expect_end(*this, enter(*ann, eve), acquire_outcome::lease_lost);
    expect_end(*this, enter(*ann, eve, core::time_point::min()), acquire_outcome::lease_lost);
    world().run_for(1min);  // Its validity is over, and another client may have the key.
    const acquire other = granted(enter(*ann, fred));
    other->let_go();
    const acquire refused = enter(*ann, eve);
    expect_end(*this, refused, acquire_outcome::lease_lost);
    BOOST_TEST(refused->text == "'a': this owner has lost its lease, and has not released it");
    outer->let_go();
    outer->let_go();
    expect_end(*this, enter(*ann, eve), acquire_outcome::lease_lost);
    const auto released = inner->release();
    BOOST_TEST_REQUIRE(world().run_until([&] { return released->told.has_value(); }));
    const acquire fresh = granted(enter(*ann, eve));
    BOOST_TEST(fresh->lease->token() != outer->lease->token());
    BOOST_TEST(ann->engine().parts().counts.lost == 2U);
}

// The event loop was blocked, so the loss could not be reported.
BOOST_FIXTURE_TEST_CASE(a_lease_whose_validity_has_ended_is_not_entered_again, one_server,
                        *label("fault-46")) {
    const acquire outer = granted(enter(*ann, eve));
    world().be_busy_for(11s);
    const acquire inner = enter(*ann, eve);
    BOOST_TEST(ann->engine().parts().queues.reenter(*outer->spec(), {eve, true}) == nullptr);
    expect_end(*this, inner, acquire_outcome::lease_lost);
}

BOOST_FIXTURE_TEST_CASE(another_lease_of_the_owner_is_not_affected_by_a_loss, three_servers) {
    const acquire outer = granted(enter(*ann, eve));
    server(0).keys.clear();
    server(1).keys.clear();
    BOOST_TEST_REQUIRE(world().run_until(
        [&] { return outer->lease->loss(outer->holder_number) != core::loss::none; }));
    const acquire elsewhere =
        granted(ann->acquire("b", ann->usual_policy(), core::never, eve, true));
}

BOOST_FIXTURE_TEST_CASE(a_mutex_refuses_an_owner_that_holds_it, one_server) {
    for (const bool reenters : {true, false}) {
        const acquire outer = granted(reenters ? enter(*ann, eve) : plain(*ann, eve));
        const acquire refused = plain(*ann, eve);
        expect_end(*this, refused, acquire_outcome::would_deadlock);
        BOOST_TEST(refused->text == "'a': this owner holds it already");
        if (!reenters) {
            expect_end(*this, enter(*ann, eve), acquire_outcome::would_deadlock);
        }
        // The lock does not refuse another owner, an acquire without an owner, or the same owner in another
        // client.
        const std::vector<acquire> waiting{plain(*ann, fred), ann->acquire("a"), plain(*bob, eve)};
        world().run_for(10ms);
        for (const acquire& waiter : waiting) {
            BOOST_TEST(!waiter->is_finished);
            waiter->cancel();
        }
        outer->let_go();
        const acquire next = granted(plain(*ann, eve));
        next->let_go();
        world().run_for(1ms);
    }
}

// Two tasks share an owner, and neither holds the lock yet.
BOOST_FIXTURE_TEST_CASE(a_mutex_does_not_refuse_an_owner_that_only_waits, one_server) {
    const acquire first = granted(ann->acquire("a"));
    const acquire waiting = plain(*ann, eve);
    const acquire second = plain(*ann, eve);
    world().run_for(1ms);
    BOOST_TEST(!waiting->is_finished);
    BOOST_TEST(!second->is_finished);
    first->let_go();
    granted(waiting);
    world().run_for(1ms);
    BOOST_TEST(!second->is_finished);
    waiting->let_go();
    granted(second);
}

BOOST_FIXTURE_TEST_CASE(a_lock_with_other_fencing_is_refused, one_server) {
    runtime::lock_policy fenced = ann->usual_policy();
    fenced.set_kind(kinds::fenced);
    const acquire outer = granted(enter(*ann, eve, fenced));
    const acquire inner = granted(enter(*ann, eve, fenced));
    BOOST_TEST(inner->fence_number == outer->fence_number);
    const acquire refused = enter(*ann, eve);
    expect_end(*this, refused, acquire_outcome::would_deadlock);
    BOOST_TEST(refused->text ==
               "'a': this owner holds it already, and only one of the two has fencing");
    BOOST_TEST(ann->engine().parts().queues.reenter(*refused->spec(), {eve, true}) == nullptr);

    // The next owner gets a fence of its own, which a round counts.
    const acquire next = enter(*ann, fred, fenced);
    const acquire with_it = enter(*ann, fred, fenced);
    outer->let_go();
    inner->let_go();
    const acquire again = enter(*ann, eve, fenced);  // The lease has no holder in this round.
    granted(next);
    granted(with_it);
    BOOST_TEST(next->fence_number > outer->fence_number);
    BOOST_TEST(with_it->fence_number == next->fence_number);
    BOOST_TEST(!again->is_finished);
}

BOOST_FIXTURE_TEST_CASE(try_reenter_adds_a_holder_at_once, one_server) {
    const acquire outer = enter(*ann, eve);
    auto& queues = ann->engine().parts().queues;
    BOOST_TEST(queues.reenter(*outer->spec(), {eve, true}) == nullptr);  // Not granted yet.
    granted(outer);
    const auto inner = queues.reenter(*outer->spec(), {eve, true});
    BOOST_TEST_REQUIRE(inner != nullptr);
    const std::uint32_t number = inner->holder();
    BOOST_TEST(number != outer->holder_number);
    BOOST_TEST(held(*ann) == 2U);
    BOOST_TEST(queues.reenter(*outer->spec(), {fred, true}) == nullptr);
    BOOST_TEST(queues.reenter(*outer->spec(), {}) == nullptr);
    outer->let_go();
    BOOST_TEST((inner->valid_until(number) > world().now()));
    inner->let_go(number);
    BOOST_TEST(queues.reenter(*outer->spec(), {eve, true}) == nullptr);
    world().run_for(1ms);
    BOOST_TEST(server(0).keys.size() == 0U);
    BOOST_TEST(ann->engine().parts().counts.acquired == 2U);
    BOOST_TEST(ann->engine().parts().counts.released == 2U);
}

BOOST_FIXTURE_TEST_CASE(an_entry_can_be_abandoned, one_server) {
    const acquire outer = granted(enter(*ann, eve));
    const acquire inner = granted(enter(*ann, eve));
    inner->lease->abandon(inner->holder_number);
    world().run_for(1min);
    BOOST_TEST((outer->valid_until() > world().now()));
    outer->lease->abandon(outer->holder_number);
    const acquire again = enter(*ann, eve);
    world().run_for(1s);
    BOOST_TEST(!again->is_finished);  // The key still exists.
    granted(again);
}

BOOST_FIXTURE_TEST_CASE(a_closing_client_ends_all_entries, one_server) {
    const acquire outer = granted(enter(*ann, eve));
    const acquire inner = granted(enter(*ann, eve));
    const auto closed = ann->close();
    for (const acquire& entry : {inner, outer}) {
        BOOST_TEST((entry->lease->loss(entry->holder_number) == core::loss::closed));
    }
    expect_end(*this, enter(*ann, eve), acquire_outcome::closed);
    inner->let_go();
    outer->let_go();
    BOOST_TEST_REQUIRE(world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST(server(0).keys.size() == 0U);
}

// Fault 44: an acquire with a late reply counts as one entry, because the client counts entries.
BOOST_FIXTURE_TEST_CASE(an_acquire_that_is_answered_late_counts_one_entry, three_servers,
                        *label("fault-44")) {
    server(1).latency = server(2).latency = 300ms;  // Longer than the timeout.
    const acquire outer = enter(*ann, eve);
    world().run_for(600ms);
    server(1).latency = server(2).latency = 50us;
    granted(outer);
    BOOST_TEST(ann->engine().parts().counts.attempts >= 2U);
    BOOST_TEST(held(*ann) == 1U);
    const acquire inner = granted(enter(*ann, eve));
    BOOST_TEST(held(*ann) == 2U);
    inner->let_go();
    outer->let_go();
    world().run_for(1s);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(server(i).keys.size() == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
