// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Reads and writes of records in virtual time: their cost, their waits, and their outcomes.

#include "kinds/versioned/versioned.hpp"
#include "runtime/operations/record_operation.hpp"
#include "runtime/record_spec.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using core::write_outcome;

class noted_operation final : public runtime::record_operation {
public:
    using record_operation::record_operation;
    void deliver() override {
        outcome = result();
        version_number = version();
        value = take_value();
        text = take_details();
    }
    [[nodiscard]] bool ended_with(write_outcome what) const { return outcome == what; }

    std::optional<write_outcome> outcome;
    std::uint64_t version_number = 0;
    std::optional<std::string> value;
    std::string text;
};
using operation = std::shared_ptr<noted_operation>;

struct scene : one_server {
    core::duration timeout = 1s;

    operation begin(runtime::record_request request, const std::string& key = "x") {
        auto spec = std::make_shared<runtime::record_spec>();
        spec->owner = {std::shared_ptr<void>(), &ann->engine().parts()};
        spec->kind = &kinds::versioned;
        spec->key = key;
        spec->retry = {4ms, 64ms};
        spec->unavailable_timeout = timeout;
        const auto result = std::make_shared<noted_operation>(spec, std::move(request));
        result->start(result);
        return result;
    }
    operation read() { return finished(begin({})); }
    operation begin_write(std::uint64_t expected, std::string value) {
        return begin({.writes = true, .expected = expected, .value = std::move(value)});
    }
    operation write(std::uint64_t expected, std::string value) {
        return finished(begin_write(expected, std::move(value)));
    }
    operation finished(operation one) {
        BOOST_TEST_REQUIRE(world().run_until([&] { return one->outcome.has_value(); }));
        return one;
    }
    const runtime::statistics& counts() { return ann->engine().parts().counts; }
};

BOOST_FIXTURE_TEST_SUITE(records, scene)

BOOST_AUTO_TEST_CASE(each_operation_takes_one_round_trip) {
    const auto began = world().now();
    const operation one = write(0, "one");
    BOOST_TEST(one->ended_with(write_outcome::applied));
    BOOST_TEST((world().now() - began <= 2 * server(0).latency));
    BOOST_TEST(one->value.value() == "one");
    const operation refused = write(0, "two");
    BOOST_TEST(refused->ended_with(write_outcome::refused));
    BOOST_TEST(refused->value.value() == "one");
    BOOST_TEST(refused->version_number == one->version_number);
    const operation found = read();
    BOOST_TEST(found->value.value() == "one");
    BOOST_TEST(executed() == 3U);
    BOOST_TEST(counts().records_read == 1U);
    BOOST_TEST(counts().writes_applied == 1U);
    BOOST_TEST(counts().writes_refused == 1U);
}

BOOST_AUTO_TEST_CASE(an_operation_waits_for_a_server_that_is_down) {
    server(0).is_up = false;
    const operation one = begin_write(0, "one");
    world().run_for(500ms);
    BOOST_TEST(!one->outcome.has_value());
    ann->reach(0);
    world().run_for(1ms);
    BOOST_TEST(one->ended_with(write_outcome::applied));
}

BOOST_AUTO_TEST_CASE(an_operation_fails_when_the_server_stays_down) {
    server(0).is_up = false;
    const operation one = begin_write(0, "one");
    const operation other = begin({});
    world().run_for(1001ms);
    BOOST_TEST(one->ended_with(write_outcome::unavailable));
    BOOST_TEST(one->text == "'x': the write was not carried out [server 0: down]");
    BOOST_TEST(other->ended_with(write_outcome::unavailable));
    BOOST_TEST(other->text == "'x': the value could not be read [server 0: down]");
    ann->reach(0);
    world().run_for(1s);
    BOOST_TEST(executed() == 0U);
}

BOOST_AUTO_TEST_CASE(a_silent_server_leaves_a_write_in_doubt) {
    server(0).is_silent = true;
    const operation one = begin_write(0, "one");
    const operation other = begin({});
    world().run_for(1001ms);
    BOOST_TEST(one->ended_with(write_outcome::unknown));
    BOOST_TEST(other->ended_with(write_outcome::unavailable));
    BOOST_TEST(counts().writes_unknown == 1U);
}

BOOST_AUTO_TEST_CASE(without_a_timeout_an_operation_waits_for_the_first_connection) {
    timeout = 0s;
    server(0).is_up = false;
    server(0).is_starting = true;
    ann = make_client();
    const operation waits = begin_write(0, "one");
    world().run_for(5s);
    BOOST_TEST(!waits->outcome.has_value());
    ann->reach(0);
    BOOST_TEST(finished(waits)->ended_with(write_outcome::applied));
    server(0).is_up = false;
    BOOST_TEST(write(0, "two")->ended_with(write_outcome::unavailable));
}

BOOST_AUTO_TEST_CASE(a_quarantine_does_not_matter) {
    server(0).quarantined_until = world().now() + 1h;
    ann = make_client();
    BOOST_TEST(write(0, "one")->ended_with(write_outcome::applied));
}

BOOST_AUTO_TEST_CASE(a_write_that_is_cancelled_in_its_turn_is_not_sent) {
    const operation unsent = begin_write(0, "one");
    unsent->cancel();
    world().run_for(10ms);
    BOOST_TEST(unsent->ended_with(write_outcome::cancelled));
    BOOST_TEST(unsent->text.starts_with("'x': the write was given up, and was not carried out"));
    BOOST_TEST(executed() == 0U);
    const operation sent = begin_write(0, "one");
    world().run_for(10us);
    sent->cancel();
    world().run_for(10ms);
    BOOST_TEST(sent->text.starts_with("'x': the write was given up, but it may have been"));
    BOOST_TEST(executed() == 1U);
    BOOST_TEST(read()->value.value() == "one");
}

BOOST_AUTO_TEST_CASE(a_client_that_closes_ends_its_operations) {
    server(0).is_silent = true;
    const operation one = begin_write(0, "one");
    world().run_for(1ms);
    ann->close();
    world().run_for(1ms);
    BOOST_TEST(one->ended_with(write_outcome::closed));
    BOOST_TEST(begin({}) != nullptr);
    world().run_for(1ms);
    BOOST_TEST(executed() == 0U);
}

/// The handler owns the client, and the operation owns the handler.
BOOST_AUTO_TEST_CASE(operations_end_with_the_world) {
    server(0).is_silent = true;
    const std::weak_ptr<noted_operation> running = begin_write(0, "one");
    std::weak_ptr<noted_operation> pending;
    {
        const operation cancelled = begin_write(0, "two");
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

BOOST_AUTO_TEST_CASE(ids_of_writes_differ) {
    for (int i = 0; i != 50; ++i) {
        const operation one = begin_write(0, "x");
        const operation other = begin_write(0, "y");
        finished(other);
        BOOST_TEST((i == 0) == one->ended_with(write_outcome::applied));
        BOOST_TEST(other->ended_with(write_outcome::refused));
    }
}

BOOST_AUTO_TEST_CASE(many_writes_wait_for_room) {
    server(0).service = 1ms;
    std::vector<operation> all;
    for (int i = 0; i != 500; ++i) {
        all.push_back(begin({.writes = true, .value = "x"}, "k" + std::to_string(i)));
    }
    BOOST_TEST(counts().waiting_to_send > 0U);
    for (const operation& one : all) {
        finished(one);
        BOOST_TEST(one->ended_with(write_outcome::applied));
    }
    BOOST_TEST(counts().waiting_to_send == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
