// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Questions to all instances in virtual time: whom they wait for, and how they end.

#include "kinds/inspection/inspection.hpp"
#include "kinds/inspection/report.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/operations/inquiry_operation.hpp"
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
using core::failure;
using runtime::inquiry_outcome;

class noted_inquiry final : public runtime::inquiry_operation {
public:
    using inquiry_operation::inquiry_operation;
    void deliver() override {
        outcome = result();
        for (const answer& one : answers()) {
            votes.push_back(one.vote);
            times.push_back(one.at);
        }
        addresses = voters().size();
    }

    [[nodiscard]] bool ended_with(inquiry_outcome what) const { return outcome == what; }
    [[nodiscard]] kinds::key_report report(std::size_t i) const {
        BOOST_TEST_REQUIRE((votes.at(i).kind == core::vote_kind::granted));
        return kinds::parse_report(*votes[i].detail).value();
    }
    [[nodiscard]] failure failure_of(std::size_t i) const { return votes.at(i).reason; }

    std::optional<inquiry_outcome> outcome;
    std::vector<core::vote> votes;
    std::vector<core::time_point> times;
    std::size_t addresses = 0;
};
using operation = std::shared_ptr<noted_inquiry>;

const std::string token(40, 'a');

struct scene : three_servers {
    runtime::inquiry about(const std::string& key) {
        runtime::inquiry question;
        question.owner = {std::shared_ptr<void>(), &ann->engine().parts()};
        question.kind = &kinds::inspection;
        question.key = key;
        return question;
    }
    operation begin(runtime::inquiry question) {
        const auto result = std::make_shared<noted_inquiry>(std::move(question));
        result->start(result);
        return result;
    }
    operation begin() { return begin(about("x")); }
    operation begin_break(const std::string& holder) {
        runtime::inquiry question = about("x");
        question.kind = &kinds::shared;
        question.step = core::step::release;
        question.token = holder;
        return begin(std::move(question));
    }
    operation finished(operation one) {
        BOOST_TEST_REQUIRE(world().run_until([&] { return one->outcome.has_value(); }));
        return one;
    }
    void put(std::size_t i, const std::string& holder) {
        server(i).keys.put("x", holder, world().now() + 10s);
    }
    core::duration instance_timeout() { return ann->engine().parts().settings.instance_timeout; }
};

BOOST_FIXTURE_TEST_SUITE(inquiries, scene)

BOOST_AUTO_TEST_CASE(every_instance_answers_in_one_round_trip) {
    put(1, token);
    const auto began = world().now();
    const operation one = finished(begin());
    BOOST_TEST(one->ended_with(inquiry_outcome::answered));
    BOOST_TEST((world().now() - began <= 2 * server(0).latency));
    BOOST_TEST(one->votes.size() == 3U);
    BOOST_TEST(one->addresses == 3U);
    BOOST_TEST(one->report(0).content == "nothing");
    BOOST_TEST(one->report(1).content == "token");
    BOOST_TEST(one->report(1).holders.at(0).token == token);
    BOOST_TEST((one->times[1] == world().now()));
    BOOST_TEST(executed() == 3U);
    BOOST_TEST(ann->engine().parts().counts.attempts == 0U);
}

BOOST_AUTO_TEST_CASE(an_instance_that_is_down_fails_without_delay) {
    server(2).is_up = false;
    const auto began = world().now();
    const operation one = finished(begin());
    BOOST_TEST((one->failure_of(2) == failure::down));
    BOOST_TEST(one->report(0).content == "nothing");
    BOOST_TEST((world().now() - began < 1ms));
}

BOOST_AUTO_TEST_CASE(a_silent_instance_fails_after_its_timeout) {
    server(2).is_silent = true;
    const auto began = world().now();
    const operation one = finished(begin());
    BOOST_TEST((one->failure_of(2) == failure::timeout));
    BOOST_TEST(one->report(0).content == "nothing");
    BOOST_TEST((world().now() - began >= instance_timeout()));
    BOOST_TEST((world().now() - began <= instance_timeout() + 1ms));
}

BOOST_AUTO_TEST_CASE(an_instance_that_still_connects_is_waited_for) {
    server(1).is_up = false;
    server(1).is_starting = true;
    put(1, token);
    ann = make_client();
    const operation one = begin();
    world().run_for(5s);
    BOOST_TEST(!one->outcome.has_value());
    BOOST_TEST(executed() == 2U);
    ann->reach(1);
    BOOST_TEST(finished(one)->report(1).content == "token");
}

/// The timeout of an instance begins when it is asked.
BOOST_AUTO_TEST_CASE(an_instance_that_starts_late_has_its_whole_timeout) {
    server(0).is_silent = true;
    server(1).is_up = false;
    server(1).is_starting = true;
    ann = make_client();
    const operation one = begin();
    world().run_for(10s);
    server(1).is_silent = true;
    ann->reach(1);
    const auto began = world().now();
    BOOST_TEST((finished(one)->failure_of(0) == failure::timeout));
    BOOST_TEST((one->failure_of(1) == failure::timeout));
    BOOST_TEST((world().now() - began >= instance_timeout()));
}

BOOST_AUTO_TEST_CASE(a_quarantined_instance_answers) {
    server(0).quarantined_until = world().now() + 1h;
    put(0, token);
    ann = make_client();
    BOOST_TEST(finished(begin())->report(0).content == "token");
    BOOST_TEST((finished(begin_break(token))->votes[0].kind == core::vote_kind::granted));
}

BOOST_AUTO_TEST_CASE(a_token_is_removed_only_where_it_holds_the_key) {
    put(0, token);
    put(1, std::string(40, 'b'));
    const operation one = finished(begin_break(token));
    BOOST_TEST((one->votes[0].kind == core::vote_kind::granted));
    BOOST_TEST((one->votes[1].kind == core::vote_kind::denied));
    BOOST_TEST((one->votes[1].key == core::key_state::foreign));
    BOOST_TEST((one->votes[2].key == core::key_state::absent));
    const operation left = finished(begin());
    BOOST_TEST(left->report(0).content == "nothing");
    BOOST_TEST(left->report(1).content == "token");
}

/// Servers notify a client only of the writes of others.
BOOST_AUTO_TEST_CASE(a_waiter_of_the_client_that_breaks_a_lock_is_notified) {
    tell_changes();
    for (const core::step step : {core::step::withdraw, core::step::release}) {
        for (std::size_t i = 0; i != 3; ++i) {
            put(i, token);
        }
        const auto waiter = ann->acquire("x");
        world().run_for(2s);
        BOOST_TEST_REQUIRE(!waiter->is_finished);
        const auto asked = [&] { return executed(); };
        world().run_for(1ms);
        const auto before = asked();
        runtime::inquiry question = about("x");
        question.kind = step == core::step::release ? &kinds::shared : &kinds::writer;
        question.step = step;
        question.token = step == core::step::release ? token : std::string();
        question.ticket = 7;
        finished(begin(std::move(question)));
        world().run_for(1ms);
        BOOST_TEST(asked() > before + 3, static_cast<int>(step));  // three by the question
        waiter->cancel();
        world().run_for(1min);
    }
}

BOOST_AUTO_TEST_CASE(an_operation_that_is_cancelled_in_its_turn_is_not_sent) {
    put(0, token);
    const operation unsent = begin_break(token);
    unsent->cancel();
    world().run_for(10ms);
    BOOST_TEST(unsent->ended_with(inquiry_outcome::cancelled));
    BOOST_TEST(executed() == 0U);
    const operation sent = begin_break(token);
    world().run_for(10us);
    sent->cancel();
    world().run_for(10ms);
    BOOST_TEST(sent->ended_with(inquiry_outcome::cancelled));
    BOOST_TEST(executed() == 3U);
    BOOST_TEST(finished(begin())->report(0).content == "nothing");
}

BOOST_AUTO_TEST_CASE(a_late_answer_changes_nothing) {
    server(2).latency = instance_timeout();
    const operation one = finished(begin());
    BOOST_TEST((one->failure_of(2) == failure::timeout));
    world().run_for(10s);
    BOOST_TEST((one->failure_of(2) == failure::timeout));
    BOOST_TEST(ann->engine().parts().members.requests.empty());
}

BOOST_AUTO_TEST_CASE(a_client_that_closes_ends_its_operations) {
    server(0).is_silent = true;
    const operation one = begin();
    world().run_for(1ms);
    ann->close();
    world().run_for(1ms);
    BOOST_TEST(one->ended_with(inquiry_outcome::closed));
    const operation after = begin();
    world().run_for(1ms);
    BOOST_TEST(after->ended_with(inquiry_outcome::closed));
    BOOST_TEST(executed() == 2U);
}

/// The handler owns the client, and the operation owns the handler.
BOOST_AUTO_TEST_CASE(operations_end_with_the_world) {
    server(0).is_silent = true;
    const std::weak_ptr<noted_inquiry> running = begin();
    std::weak_ptr<noted_inquiry> pending;
    {
        const operation cancelled = begin();
        world().run_for(1ms);
        cancelled->cancel();
        world().run_for(1ms);
        pending = cancelled;
    }
    BOOST_TEST(!running.expired());
    BOOST_TEST(!pending.expired());  // Its vote may still arrive.
    ann.reset();
    BOOST_TEST(running.expired());
    BOOST_TEST(pending.expired());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
