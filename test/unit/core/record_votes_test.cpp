// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The effect of denials with a record on an acquire.

#include "core/acquire.hpp"
#include "core/lease.hpp"
#include "core/round.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

BOOST_AUTO_TEST_SUITE(record_votes_test)

using namespace std::chrono_literals;
using namespace colock::core;

constexpr time_point start_time{1000h};

vote has(const std::string& record, milliseconds remaining = 1h) {
    vote result = vote::denied(key_state::completed, remaining);
    result.detail = std::make_shared<const std::string>(record);
    return result;
}

const vote yes = vote::granted();
const vote another = vote::denied(key_state::foreign);
const vote down = vote::failed(failure::down);

round round_of(const std::vector<vote>& votes, std::size_t instances) {
    round result(instances);
    for (std::size_t i = 0; i != votes.size(); ++i) {
        result.record(i, votes[i]);
    }
    return result;
}

/// Returns the outcome of an attempt with these votes, which arrive in this order.
std::optional<acquire_outcome> attempt(const std::vector<vote>& votes, std::size_t instances) {
    lease_settings settings;
    settings.instances = instances;
    settings.ttl = 1min;
    settings.instance_timeout = 1s;
    lease machine(settings, 1);
    machine.resume(lease::event::start({}), start_time);
    std::optional<acquire_outcome> result;
    const lease_tag tag(lease_tag::purpose_type::acquire);
    for (std::size_t i = 0; i != votes.size() && !result; ++i) {
        result = machine.resume(lease::event::voted(i, tag, votes[i]), start_time + 1ms).attempt;
    }
    return result;
}

/// Returns the failure of an acquire after such an attempt, or nothing if it continues.
std::optional<acquire_outcome> after(const std::vector<vote>& votes, std::size_t instances) {
    acquire_settings settings;
    settings.instances = instances;
    settings.deadline = never;
    acquire machine(settings, 1);
    machine.resume(acquire::event::start(), start_time);
    const round counted = round_of(votes, instances);
    return machine
        .resume(acquire::event::attempted(acquire_outcome::contended, counted), start_time + 1ms)
        .failed;
}

BOOST_AUTO_TEST_CASE(the_most_frequent_record_counts) {
    BOOST_TEST(!round_of({yes, another, down}, 3).record().text);
    const common_record one = round_of({yes, has("x", 5s), another}, 3).record();
    BOOST_TEST((*one.text == "x" && one.count == 1U && one.remaining == 5s));
    const common_record most =
        round_of({has("x"), has("y", 3s), has("z"), has("y", 9s), down}, 5).record();
    BOOST_TEST((*most.text == "y" && most.count == 2U && most.remaining == 9s));
}

BOOST_AUTO_TEST_CASE(a_denial_that_names_something_else_is_no_record) {
    vote labelled = vote::denied(key_state::labelled);
    labelled.detail = std::make_shared<const std::string>("web-1");
    BOOST_TEST(round_of({labelled, labelled}, 3).record().count == 0U);
}

/// The outstanding votes may complete a quorum for a record.
BOOST_AUTO_TEST_CASE(an_attempt_waits_for_a_record_that_may_have_a_quorum) {
    using outcome = std::optional<acquire_outcome>;
    const outcome denied = acquire_outcome::contended;
    BOOST_TEST((attempt({another, another}, 3) == denied));
    BOOST_TEST((attempt({has("x"), another}, 3) == outcome()));
    BOOST_TEST((attempt({has("x"), has("y")}, 3) == outcome()));
    BOOST_TEST((attempt({has("x"), another, another}, 3) == denied));
    BOOST_TEST((attempt({has("x"), has("x")}, 3) == denied));
    BOOST_TEST((attempt({another, another, has("x")}, 5) == outcome()));
    BOOST_TEST((attempt({another, another, has("x"), another}, 5) == denied));
    BOOST_TEST((attempt({has("x"), yes, yes}, 3) == acquire_outcome::granted));
}

/// An acquire does not wait if the records, or records and grants, form a quorum.
BOOST_AUTO_TEST_CASE(an_acquire_ends_if_records_and_grants_are_a_quorum) {
    const std::optional<acquire_outcome> completed = acquire_outcome::completed;
    const std::optional<acquire_outcome> goes_on;
    BOOST_TEST((after({has("x"), has("x"), another}, 3) == completed));
    BOOST_TEST((after({has("x"), yes, another}, 3) == completed));
    BOOST_TEST((after({has("x"), yes, down}, 3) == completed));
    BOOST_TEST((after({has("x"), another, another}, 3) == goes_on));
    BOOST_TEST((after({has("x"), has("y"), another}, 3) == goes_on));
    BOOST_TEST((after({has("x"), has("x"), another, another, down}, 5) == goes_on));
    BOOST_TEST((after({has("x"), has("x"), yes, another, down}, 5) == completed));
    BOOST_TEST((after({yes, another, another}, 3) == goes_on));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
