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

using client = virtual_deployment::client;
using acquire = std::shared_ptr<virtual_acquire>;

constexpr std::uint64_t anna = 1;
constexpr std::uint64_t bert = 2;

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

void expect_granted(virtual_deployment& in, const acquire& one) {
    BOOST_TEST_REQUIRE(in.world().run_until([&] { return one->is_finished; }));
    BOOST_TEST_REQUIRE(one->granted());
}
void expect_end(virtual_deployment& in, const acquire& one, acquire_outcome outcome) {
    BOOST_TEST_REQUIRE(in.world().run_until([&] { return one->is_finished; }, 0ms));
    BOOST_TEST((one->outcome == outcome));
}

/// An operation on a lease that records its result.
template <typename Operation>
class written_down final : public Operation {
public:
    template <typename... More>
    static std::shared_ptr<written_down> begin(const acquire& of, More... more) {
        const auto made = std::make_shared<written_down>(of->lease, of->holder_number, more...);
        made->start(made);
        return made;
    }
    using Operation::Operation;
    void deliver() override { ended_with = Operation::result(); }
    std::optional<runtime::lease_result> ended_with;
};
using extend = written_down<runtime::extend_operation>;
using wait_lost = written_down<runtime::loss_operation>;

std::uint64_t held(client& by) {
    return by.engine().parts().counts.held;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_owner_enters_again_without_a_round_trip) {
    virtual_deployment five(5);
    const auto client = five.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(five, outer);
    five.world().run_for(1h);  // Any time may pass.
    const std::size_t executed = five.executed();
    const core::time_point asked = five.world().now();
    std::vector<acquire> inner;
    for (int i = 0; i != 1000; ++i) {
        inner.push_back(enter(*client, anna));
        expect_granted(five, inner.back());
        BOOST_TEST((inner.back()->finished_at == asked));
        BOOST_TEST(inner.back()->lease->token() == outer->lease->token());
    }
    BOOST_TEST(five.executed() == executed);
    BOOST_TEST(held(*client) == 1001U);
    BOOST_TEST(client->engine().parts().counts.acquired == 1001U);
    for (const acquire& one : inner) {
        BOOST_TEST((one->valid_until() > five.world().now()));
        one->let_go();
        one->let_go();  // A repeated release has no effect.
        BOOST_TEST((one->valid_until() == core::time_point::min()));
        BOOST_TEST((outer->valid_until() > five.world().now()));
    }
    BOOST_TEST(five.executed() == executed);
    outer->let_go();
    five.world().run_for(1ms);
    BOOST_TEST(five.server(0).keys.size() == 0U);
    BOOST_TEST(held(*client) == 0U);
    BOOST_TEST(client->engine().parts().counts.released == 1001U);
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
            entries.push_back(enter(*client, anna));
            expect_granted(three, entries.back());
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
        expect_granted(three, waiting);
        const std::uint64_t renewed = client->engine().parts().counts.renewed;
        three.world().run_for(1min);
        BOOST_TEST(client->engine().parts().counts.renewed == renewed);  // No watchdog remains.
    }
}

BOOST_AUTO_TEST_CASE(an_owner_enters_past_all_waiters) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(one, outer);
    const acquire other = enter(*client, bert);
    const acquire nobody = client->acquire("a");
    const acquire inner = enter(*client, anna);
    const acquire single = enter(*client, anna, core::time_point::min());
    expect_granted(one, inner);
    expect_granted(one, single);
    outer->let_go();
    inner->let_go();
    one.world().run_for(10ms);
    BOOST_TEST(!other->is_finished);
    single->let_go();
    expect_granted(one, other);  // Waiters are served in order, by hand-off.
    BOOST_TEST(other->lease->token() == outer->lease->token());
    BOOST_TEST(!nobody->is_finished);

    // The other owner holds the lock now.
    const acquire late = enter(*client, anna);
    const acquire more = enter(*client, bert);
    expect_granted(one, more);
    one.world().run_for(10ms);
    BOOST_TEST(!late->is_finished);
    other->let_go();
    more->let_go();
    expect_granted(one, nobody);
    const acquire refused = enter(*client, bert, core::time_point::min());
    expect_end(one, refused, acquire_outcome::contended);
    nobody->let_go();
    expect_granted(one, late);
}

BOOST_AUTO_TEST_CASE(waiters_of_one_owner_enter_together) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = client->acquire("a");
    expect_granted(one, first);
    const acquire anna_1 = enter(*client, anna);
    const acquire bert_1 = enter(*client, bert);
    const acquire anna_2 = enter(*client, anna);
    const acquire plain_1 = plain(*client, anna);
    const acquire bert_2 = enter(*client, bert);
    const acquire anna_3 = enter(*client, anna);
    first->let_go();  // This is a hand-off.
    expect_granted(one, anna_1);
    expect_granted(one, anna_2);
    expect_granted(one, anna_3);
    one.world().run_for(1ms);
    BOOST_TEST(!bert_1->is_finished);
    BOOST_TEST(!plain_1->is_finished);  // It came before its owner held the lock.
    BOOST_TEST(client->engine().parts().counts.queued == 3U);
    one.world().run_for(1s);  // The lease is then released, and acquired again.
    anna_1->let_go();
    anna_2->let_go();
    anna_3->let_go();
    expect_granted(one, bert_1);
    expect_granted(one, bert_2);
    BOOST_TEST(bert_1->lease->token() == bert_2->lease->token());
    bert_2->let_go();
    bert_1->let_go();
    expect_granted(one, plain_1);
    BOOST_TEST(client->engine().parts().counts.queued == 0U);
}

BOOST_AUTO_TEST_CASE(a_waiter_that_left_does_not_enter_with_its_owner) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = client->acquire("a");
    expect_granted(one, first);
    const acquire winner = enter(*client, anna);
    const acquire cancelled = enter(*client, anna);
    const acquire late = enter(*client, anna, one.world().now() + 5ms);
    cancelled->cancel();
    one.world().run_for(10ms);
    BOOST_TEST((late->outcome == acquire_outcome::contended));
    first->let_go();
    expect_granted(one, winner);
    one.world().run_for(1ms);
    BOOST_TEST((cancelled->outcome == acquire_outcome::cancelled));
    BOOST_TEST(held(*client) == 1U);
}

BOOST_AUTO_TEST_CASE(an_extension_of_one_entry_never_shortens_the_lease, *label("fault-45")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(three, outer);
    const acquire inner = enter(*client, anna);
    expect_granted(three, inner);
    const auto longer = extend::begin(outer, core::duration(60s));
    const auto shorter = extend::begin(inner, core::duration(1s));
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return shorter->ended_with.has_value(); }));
    BOOST_TEST((longer->ended_with == runtime::lease_result::done));
    BOOST_TEST((shorter->ended_with == runtime::lease_result::done));
    BOOST_TEST((outer->valid_until() > three.world().now() + 55s));
    inner->let_go();
    three.world().run_for(5min);
    BOOST_TEST((outer->valid_until() > three.world().now() + 30s));
}

// The options of the outermost entry apply.
BOOST_AUTO_TEST_CASE(an_entry_with_a_shorter_ttl_shortens_nothing, *label("fault-45")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    runtime::lock_policy brief = client->usual_policy();
    brief.lease.ttl = 1s;
    brief.lease.renew_interval = 0s;
    const acquire outer = enter(*client, anna);
    expect_granted(three, outer);
    const acquire inner = enter(*client, anna, brief);
    expect_granted(three, inner);
    inner->let_go();
    three.world().run_for(1h);
    BOOST_TEST((outer->valid_until() > three.world().now() + 5s));
    BOOST_TEST((outer->lease->loss(outer->holder_number) == core::loss::none));
}

BOOST_AUTO_TEST_CASE(max_hold_counts_from_the_outermost_entry) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    runtime::lock_policy limited = client->usual_policy();
    limited.lease.max_hold = 3s;
    const core::time_point began = three.world().now();
    const acquire outer = enter(*client, anna, limited);
    expect_granted(three, outer);
    three.world().run_for(2s);
    const acquire inner = enter(*client, anna, limited);
    expect_granted(three, inner);
    const auto lost = wait_lost::begin(inner);
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return lost->ended_with.has_value(); }));
    BOOST_TEST((lost->ended_with == runtime::lease_result::ended));
    BOOST_TEST((three.world().now() <= began + 3s));
    for (const acquire& one : {outer, inner}) {
        BOOST_TEST((one->lease->loss(one->holder_number) == core::loss::max_hold));
    }
}

BOOST_AUTO_TEST_CASE(a_lost_lease_is_not_entered_again_until_all_have_let_go, *label("fault-46")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(three, outer);
    const acquire inner = enter(*client, anna);
    expect_granted(three, inner);
    three.server(0).keys.clear();
    three.server(1).keys.clear();
    BOOST_TEST_REQUIRE(three.world().run_until(
        [&] { return outer->lease->loss(outer->holder_number) != core::loss::none; }));
    BOOST_TEST((inner->lease->loss(inner->holder_number) == core::loss::keys_gone));
    expect_end(three, enter(*client, anna), acquire_outcome::lease_lost);
    expect_end(three, enter(*client, anna, core::time_point::min()), acquire_outcome::lease_lost);
    three.world().run_for(1min);  // Its validity is over, and another client may have the key.
    const acquire other = enter(*client, bert);
    expect_granted(three, other);
    other->let_go();
    const acquire refused = enter(*client, anna);
    expect_end(three, refused, acquire_outcome::lease_lost);
    BOOST_TEST(refused->text == "'a': this owner has lost its lease, and has not released it");
    outer->let_go();
    outer->let_go();
    expect_end(three, enter(*client, anna), acquire_outcome::lease_lost);
    const auto released = inner->release();
    BOOST_TEST_REQUIRE(three.world().run_until([&] { return released->told.has_value(); }));
    const acquire fresh = enter(*client, anna);
    expect_granted(three, fresh);
    BOOST_TEST(fresh->lease->token() != outer->lease->token());
    BOOST_TEST(client->engine().parts().counts.lost == 2U);
}

// The event loop was blocked, so the loss could not be reported.
BOOST_AUTO_TEST_CASE(a_lease_whose_validity_has_ended_is_not_entered_again, *label("fault-46")) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(one, outer);
    one.world().be_busy_for(11s);
    const acquire inner = enter(*client, anna);
    BOOST_TEST(client->engine().parts().queues.reenter(*outer->spec(), {anna, true}) == nullptr);
    expect_end(one, inner, acquire_outcome::lease_lost);
}

BOOST_AUTO_TEST_CASE(another_lease_of_the_owner_is_not_affected_by_a_loss) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(three, outer);
    three.server(0).keys.clear();
    three.server(1).keys.clear();
    BOOST_TEST_REQUIRE(three.world().run_until(
        [&] { return outer->lease->loss(outer->holder_number) != core::loss::none; }));
    const acquire elsewhere = client->acquire("b", client->usual_policy(), core::never, anna, true);
    expect_granted(three, elsewhere);
}

BOOST_AUTO_TEST_CASE(a_mutex_refuses_an_owner_that_holds_it) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const auto elsewhere = one.make_client();
    for (const bool reenters : {true, false}) {
        const acquire outer = reenters ? enter(*client, anna) : plain(*client, anna);
        expect_granted(one, outer);
        const acquire refused = plain(*client, anna);
        expect_end(one, refused, acquire_outcome::would_deadlock);
        BOOST_TEST(refused->text == "'a': this owner holds it already");
        if (!reenters) {
            expect_end(one, enter(*client, anna), acquire_outcome::would_deadlock);
        }
        // The lock does not refuse another owner, an acquire without an owner, or the same owner in another
        // client.
        const std::vector<acquire> waiting{plain(*client, bert), client->acquire("a"),
                                           plain(*elsewhere, anna)};
        one.world().run_for(10ms);
        for (const acquire& waiter : waiting) {
            BOOST_TEST(!waiter->is_finished);
            waiter->cancel();
        }
        outer->let_go();
        const acquire next = plain(*client, anna);
        expect_granted(one, next);
        next->let_go();
        one.world().run_for(1ms);
    }
}

// Two tasks share an owner, and neither holds the lock yet.
BOOST_AUTO_TEST_CASE(a_mutex_does_not_refuse_an_owner_that_only_waits) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire first = client->acquire("a");
    expect_granted(one, first);
    const acquire waiting = plain(*client, anna);
    const acquire second = plain(*client, anna);
    one.world().run_for(1ms);
    BOOST_TEST(!waiting->is_finished);
    BOOST_TEST(!second->is_finished);
    first->let_go();
    expect_granted(one, waiting);
    one.world().run_for(1ms);
    BOOST_TEST(!second->is_finished);
    waiting->let_go();
    expect_granted(one, second);
}

BOOST_AUTO_TEST_CASE(a_lock_with_other_fencing_is_refused) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    runtime::lock_policy fenced = client->usual_policy();
    fenced.set_kind(kinds::fenced);
    const acquire outer = enter(*client, anna, fenced);
    expect_granted(one, outer);
    const acquire inner = enter(*client, anna, fenced);
    expect_granted(one, inner);
    BOOST_TEST(inner->fence_number == outer->fence_number);
    const acquire refused = enter(*client, anna);
    expect_end(one, refused, acquire_outcome::would_deadlock);
    BOOST_TEST(refused->text ==
               "'a': this owner holds it already, and only one of the two has fencing");
    BOOST_TEST(client->engine().parts().queues.reenter(*refused->spec(), {anna, true}) == nullptr);

    // The next owner gets a fence of its own, which a round counts.
    const acquire next = enter(*client, bert, fenced);
    const acquire with_it = enter(*client, bert, fenced);
    outer->let_go();
    inner->let_go();
    const acquire again = enter(*client, anna, fenced);  // The lease has no holder in this round.
    expect_granted(one, next);
    expect_granted(one, with_it);
    BOOST_TEST(next->fence_number > outer->fence_number);
    BOOST_TEST(with_it->fence_number == next->fence_number);
    BOOST_TEST(!again->is_finished);
}

BOOST_AUTO_TEST_CASE(try_reenter_adds_a_holder_at_once) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire outer = enter(*client, anna);
    auto& queues = client->engine().parts().queues;
    BOOST_TEST(queues.reenter(*outer->spec(), {anna, true}) == nullptr);  // Not granted yet.
    expect_granted(one, outer);
    const auto inner = queues.reenter(*outer->spec(), {anna, true});
    BOOST_TEST_REQUIRE(inner != nullptr);
    const std::uint32_t number = inner->holder();
    BOOST_TEST(number != outer->holder_number);
    BOOST_TEST(held(*client) == 2U);
    BOOST_TEST(queues.reenter(*outer->spec(), {bert, true}) == nullptr);
    BOOST_TEST(queues.reenter(*outer->spec(), {}) == nullptr);
    outer->let_go();
    BOOST_TEST((inner->valid_until(number) > one.world().now()));
    inner->let_go(number);
    BOOST_TEST(queues.reenter(*outer->spec(), {anna, true}) == nullptr);
    one.world().run_for(1ms);
    BOOST_TEST(one.server(0).keys.size() == 0U);
    BOOST_TEST(client->engine().parts().counts.acquired == 2U);
    BOOST_TEST(client->engine().parts().counts.released == 2U);
}

BOOST_AUTO_TEST_CASE(an_entry_can_be_abandoned) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(one, outer);
    const acquire inner = enter(*client, anna);
    expect_granted(one, inner);
    inner->lease->abandon(inner->holder_number);
    one.world().run_for(1min);
    BOOST_TEST((outer->valid_until() > one.world().now()));
    outer->lease->abandon(outer->holder_number);
    const acquire again = enter(*client, anna);
    one.world().run_for(1s);
    BOOST_TEST(!again->is_finished);  // The key still exists.
    expect_granted(one, again);
}

BOOST_AUTO_TEST_CASE(a_closing_client_ends_all_entries) {
    virtual_deployment one(1);
    const auto client = one.make_client();
    const acquire outer = enter(*client, anna);
    expect_granted(one, outer);
    const acquire inner = enter(*client, anna);
    expect_granted(one, inner);
    const auto closed = client->close();
    for (const acquire& entry : {inner, outer}) {
        BOOST_TEST((entry->lease->loss(entry->holder_number) == core::loss::closed));
    }
    expect_end(one, enter(*client, anna), acquire_outcome::closed);
    inner->let_go();
    outer->let_go();
    BOOST_TEST_REQUIRE(one.world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST(one.server(0).keys.size() == 0U);
}

// Fault 44: an acquire with a late reply counts as one entry, because the client counts entries.
BOOST_AUTO_TEST_CASE(an_acquire_that_is_answered_late_counts_one_entry, *label("fault-44")) {
    virtual_deployment three(3);
    const auto client = three.make_client();
    three.server(1).latency = three.server(2).latency = 300ms;  // Longer than the timeout.
    const acquire outer = enter(*client, anna);
    three.world().run_for(600ms);
    three.server(1).latency = three.server(2).latency = 50us;
    expect_granted(three, outer);
    BOOST_TEST(client->engine().parts().counts.attempts >= 2U);
    BOOST_TEST(held(*client) == 1U);
    const acquire inner = enter(*client, anna);
    expect_granted(three, inner);
    BOOST_TEST(held(*client) == 2U);
    inner->let_go();
    outer->let_go();
    three.world().run_for(1s);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(three.server(i).keys.size() == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()
