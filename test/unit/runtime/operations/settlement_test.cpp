// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The records of names that run once, in virtual time: their cost, the operations that they end, and their
// failures.

#include "kinds/once/once.hpp"
#include "runtime/operations/settlement_operation.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using core::acquire_outcome;
using core::settlement_outcome;
using lease = acquire;
using task = core::settlement::task_type;

class noted_settlement final : public runtime::settlement_operation {
public:
    using settlement_operation::settlement_operation;
    void deliver() override {
        outcome = result();
        found = record();
        met_record = has_met_record();
        sent = has_sent();
        text = take_details();
    }
    [[nodiscard]] bool ended_with(settlement_outcome what) const { return outcome == what; }

    std::optional<settlement_outcome> outcome;
    std::shared_ptr<const std::string> found;
    bool met_record = false;
    bool sent = false;
    std::string text;
};
using operation = std::shared_ptr<noted_settlement>;

/// An acquire that gets the record instead of a lease if there is one.
class noted_acquire final : public runtime::acquire_operation {
public:
    using acquire_operation::acquire_operation;
    void deliver() override {
        outcome = result();
        found = record();
    }
    std::optional<acquire_outcome> outcome;
    std::shared_ptr<const std::string> found;
};

struct scene : three_servers {
    static constexpr std::size_t instances = 3;

    const std::shared_ptr<const std::string> done =
        std::make_shared<const std::string>(kinds::make_record({"", "result"}));

    static runtime::lock_policy policy_of(const client& of) {
        runtime::lock_policy policy = of.usual_policy();
        policy.set_kind(kinds::once);
        policy.handoff = {0, core::duration::zero()};
        return policy;
    }
    lease hold(client& by) { return by.lock("x", policy_of(by)); }

    operation begin(client& by, runtime::settlement_request request) {
        const auto result =
            std::make_shared<noted_settlement>(by.spec_of("x", policy_of(by)), std::move(request));
        result->start(result);
        return result;
    }
    operation begin_record(client& by, const lease& of, core::milliseconds keep = 1h) {
        return begin(by, {task::complete, of->lease, of->holder_number, done, keep});
    }
    operation record(client& by, const lease& of, core::milliseconds keep = 1h) {
        return finished(begin_record(by, of, keep));
    }
    operation look(client& by) { return finished(begin(by, {})); }

    operation finished(operation one) {
        BOOST_TEST_REQUIRE(world().run_until([&] { return one->outcome.has_value(); }));
        return one;
    }
    /// Returns the vote of a server on a step.
    core::vote ask(std::size_t i, core::step step, core::milliseconds ttl = {}) {
        kinds::command command;
        command.kind = &kinds::once;
        command.key = "x";
        command.step = step;
        command.ttl = ttl;
        command.values = done.get();
        command.heals = true;
        return kinds::once.execute(command, server(i).keys, {world().now(), {}});
    }
    /// Returns the number of servers that have the record.
    std::size_t copies() {
        std::size_t result = 0;
        for (std::size_t i = 0; i != instances; ++i) {
            const core::vote vote = ask(i, core::step::look);
            result += vote.key == core::key_state::completed && *vote.detail == *done ? 1U : 0U;
        }
        return result;
    }
    void put_record(std::size_t i, core::milliseconds life) { ask(i, core::step::complete, life); }
    void put_token(std::size_t i, core::duration life) {
        server(i).keys.put("x", std::string("another"), world().now() + life);
    }
    /// Expects no further commands.
    void expect_quiet() {
        world().run_for(1s);
        const std::size_t before = executed();
        world().run_for(10s);
        BOOST_TEST(executed() == before);
    }
};

BOOST_FIXTURE_TEST_SUITE(settlements, scene)

BOOST_AUTO_TEST_CASE(a_name_that_was_not_run_has_no_record) {
    const auto began = world().now();
    const operation one = look(*ann);
    BOOST_TEST(one->ended_with(settlement_outcome::unsettled));
    BOOST_TEST(!one->met_record);
    BOOST_TEST(!one->sent);
    BOOST_TEST((world().now() - began <= 2 * server(0).latency));
    BOOST_TEST(executed() == 3U);
    expect_quiet();
}

/// The record takes one round trip, and ends the lease without a release.
BOOST_AUTO_TEST_CASE(a_record_takes_the_place_of_the_token) {
    const lease held = hold(*ann);
    const std::size_t before = executed();
    const auto began = world().now();
    const operation one = record(*ann, held);
    BOOST_TEST(one->ended_with(settlement_outcome::settled));
    BOOST_TEST((world().now() - began <= 2 * server(0).latency));
    BOOST_TEST((held->valid_until() == core::time_point::min()));
    world().run_for(1s);
    BOOST_TEST(executed() == before + 3);
    BOOST_TEST(copies() == 3U);

    const operation found = look(*bob);
    BOOST_TEST(found->ended_with(settlement_outcome::settled));
    BOOST_TEST(*found->found == *done);
    expect_quiet();
    world().run_for(1h);
    BOOST_TEST(copies() == 0U);
    BOOST_TEST(look(*bob)->ended_with(settlement_outcome::unsettled));
}

/// They get the record without an attempt of their own.
BOOST_AUTO_TEST_CASE(waiters_of_the_client_are_told) {
    const lease held = hold(*ann);
    std::vector<std::shared_ptr<noted_acquire>> waiters;
    for (int i = 0; i != 3; ++i) {
        waiters.push_back(
            std::make_shared<noted_acquire>(ann->spec_of("x", policy_of(*ann)), core::never));
        waiters.back()->start(waiters.back());
    }
    world().run_for(10ms);
    const std::size_t before = executed();
    record(*ann, held);
    world().run_for(1ms);
    for (const auto& one : waiters) {
        BOOST_TEST((one->outcome == acquire_outcome::completed));
        BOOST_TEST(*one->found == *done);
    }
    BOOST_TEST(executed() == before + 3);
    expect_quiet();
}

BOOST_AUTO_TEST_CASE(a_minority_that_is_down_is_no_hindrance) {
    server(2).is_up = false;
    const lease held = hold(*ann);
    BOOST_TEST(record(*ann, held)->ended_with(settlement_outcome::settled));
    BOOST_TEST(look(*bob)->ended_with(settlement_outcome::settled));
    server(2).is_up = true;
    expect_quiet();
}

/// The third server has lost the token, and another client holds the name there.
BOOST_AUTO_TEST_CASE(a_record_takes_the_place_of_no_other_token) {
    const lease held = hold(*ann);
    put_token(2, 1min);
    BOOST_TEST(record(*ann, held)->ended_with(settlement_outcome::settled));
    BOOST_TEST(copies() == 2U);
}

BOOST_AUTO_TEST_CASE(a_quorum_that_has_lost_the_token_refuses_the_record) {
    const lease held = hold(*ann);
    for (std::size_t i = 0; i != 2; ++i) {
        server(i).keys.erase("x");
    }
    const operation one = record(*ann, held);
    BOOST_TEST(one->ended_with(settlement_outcome::refused));
    BOOST_TEST(one->text.starts_with("'x': the body has run, and its result may be recorded"));
    world().run_for(100ms);
    // The copy on one server is not a record, and the lease is released.
    BOOST_TEST((held->valid_until() <= world().now()));
    expect_quiet();
}

/// No server answers. The watchdog detects the end of the lease.
BOOST_AUTO_TEST_CASE(a_record_that_nobody_answers_ends_with_the_lease) {
    const lease held = hold(*ann);
    for (std::size_t i = 0; i != 3; ++i) {
        server(i).is_silent = true;
    }
    const operation one = begin_record(*ann, held);
    const core::time_point end = held->valid_until();
    one->cancel();  // Without effect.
    world().run_for(end - world().now() - 1ms);
    BOOST_TEST(!one->outcome.has_value());
    world().run_for(2ms);
    BOOST_TEST(one->ended_with(settlement_outcome::lost));
    BOOST_TEST(one->sent);
    BOOST_TEST(one->text.starts_with("'x': the body has run, and its result may be recorded"));
}

/// The command may already have been sent. Other clients then find the record.
BOOST_AUTO_TEST_CASE(a_client_that_closes_leaves_a_record_that_was_sent) {
    const lease held = hold(*ann);
    const operation one = begin_record(*ann, held);
    ann->close();
    BOOST_TEST_REQUIRE(world().run_until([&] { return one->outcome.has_value(); }));
    BOOST_TEST(one->ended_with(settlement_outcome::closed));
    const operation late = begin(*ann, {});
    world().run_for(1s);
    BOOST_TEST(late->ended_with(settlement_outcome::closed));
    const operation found = look(*bob);
    BOOST_TEST(found->ended_with(settlement_outcome::settled));
    BOOST_TEST(*found->found == *done);
}

BOOST_AUTO_TEST_CASE(a_look_may_be_cancelled) {
    const operation one = begin(*ann, {});
    one->cancel();
    BOOST_TEST(finished(one)->ended_with(settlement_outcome::cancelled));
    expect_quiet();
}

/// The holder has died while it was writing. From now on, all clients must agree whether there is a record.
BOOST_AUTO_TEST_CASE(the_record_of_a_minority_is_healed) {
    put_record(0, 10min);
    const operation one = look(*bob);
    BOOST_TEST(one->ended_with(settlement_outcome::settled));
    BOOST_TEST(one->met_record);
    BOOST_TEST(one->sent);
    BOOST_TEST(*one->found == *done);
    BOOST_TEST(copies() == 3U);
    world().run_for(10min - 1s);
    BOOST_TEST(copies() == 3U);
    world().run_for(2s);  // A copy expires together with the original.
    BOOST_TEST(copies() == 0U);
}

/// The token of the holder may still be on a quorum, so the record of the minority does not count yet.
BOOST_AUTO_TEST_CASE(the_record_of_a_minority_is_none_while_another_holds_the_name) {
    put_record(0, 10min);
    put_token(1, 1s);
    put_token(2, 1s);
    const operation one = look(*bob);
    BOOST_TEST(one->ended_with(settlement_outcome::unsettled));
    BOOST_TEST(one->met_record);
    BOOST_TEST(copies() == 1U);
    world().run_for(2s);
    BOOST_TEST(look(*bob)->ended_with(settlement_outcome::settled));
    BOOST_TEST(copies() == 3U);
}

BOOST_AUTO_TEST_CASE(a_look_without_a_quorum_finds_nothing) {
    const lease held = hold(*ann);
    record(*ann, held);
    server(0).is_up = server(1).is_up = false;
    BOOST_TEST(look(*bob)->ended_with(settlement_outcome::unsettled));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
