// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/acquire.hpp"
#include "core/command.hpp"
#include "core/lease.hpp"
#include "core/lease_step.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "core/stable_hash.hpp"
#include "core/vote.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

// Compile-time checks. The runtime moves these types on its hot path.

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(value_types)

template <class T>
constexpr bool moves_freely = std::is_nothrow_move_constructible_v<T>&&
    std::is_nothrow_move_assignable_v<T>&& std::is_nothrow_destructible_v<T>;

static_assert(moves_freely<vote>);

// Events are plain values that refer to votes.
static_assert(std::is_trivially_copyable_v<acquire::event> && sizeof(acquire::event) <= 40);
static_assert(std::is_trivially_copyable_v<lease::event> && sizeof(lease::event) <= 48);
static_assert(std::is_trivially_copyable_v<renew::event> && sizeof(renew::event) <= 40);
static_assert(std::is_trivially_copyable_v<release::event> && sizeof(release::event) <= 24);

// Machines stay at their place of construction. Only a replay copies one. A renew stores its votes elsewhere,
// and an acquire has no votes.
static_assert(moves_freely<acquire> && std::is_copy_constructible_v<acquire>);
static_assert(moves_freely<renew> && !std::is_copy_constructible_v<renew>);
static_assert(!std::is_move_assignable_v<release> && std::is_copy_constructible_v<release>);

// Steps are small plain values.
static_assert(std::is_trivially_copyable_v<acquire::step> && sizeof(acquire::step) <= 16);
static_assert(std::is_trivially_copyable_v<lease_step> && sizeof(lease_step) <= 64);
static_assert(sizeof(lease_tag) == 4);
static_assert(std::is_trivially_copyable_v<command> && sizeof(command) <= 96);

// The published values. All processes must agree on the hash.
static_assert(stable_hash("") == 0xcbf29ce484222325U && stable_hash("a") == 0xaf63dc4c8601ec8cU &&
              stable_hash("foobar") == 0x85944171f73967e8U);

// There is one vote per command, so votes are small. There is one machine per lock operation, so machines are
// not large.
static_assert(sizeof(vote) <= 32);
static_assert(sizeof(acquire) <= 512);
static_assert(sizeof(renew) <= 512);
static_assert(sizeof(release) <= 256);

// An operator cannot set this clock back.
static_assert(time_point::clock::is_steady);

constexpr bool tells(failure f) {
    return !outcome_unknown(f);
}

static_assert(outcome_unknown(failure::timeout));
static_assert(outcome_unknown(failure::connection_lost));
static_assert(outcome_unknown(failure::unclear_error));
static_assert(outcome_unknown(failure::unexpected_reply));
static_assert(tells(failure::none) && tells(failure::down) && tells(failure::overloaded));
static_assert(tells(failure::stalled) && tells(failure::withdrawn));
static_assert(tells(failure::too_late) && tells(failure::server_error));

BOOST_AUTO_TEST_CASE(a_vote_contains_only_the_given_values) {
    BOOST_TEST((vote{}.kind == vote_kind::failed));  // A default vote grants nothing.
    BOOST_TEST((vote::granted().kind == vote_kind::granted));
    BOOST_TEST(vote::granted().value == 0U);
    BOOST_TEST(vote::granted(7).value == 7U);
    BOOST_TEST((vote::denied(key_state::foreign).kind == vote_kind::denied));
    BOOST_TEST((vote::denied(key_state::foreign).remaining == unknown_remaining));
    BOOST_TEST((vote::denied(key_state::foreign, 3ms).remaining == 3ms));
    const auto detail = std::make_shared<const std::string>("refused");
    BOOST_TEST((vote::failed(failure::down, detail).reason == failure::down));
    BOOST_TEST(vote::failed(failure::down, detail).detail == detail);
    BOOST_TEST(vote::failed(failure::down).detail == nullptr);
}

BOOST_AUTO_TEST_CASE(a_command_has_no_deadline_by_default) {
    BOOST_TEST((command{}.deadline == never));
}

BOOST_AUTO_TEST_CASE(a_default_step_requests_nothing) {
    BOOST_TEST((!acquire::step().attempt && !acquire::step().failed));
    BOOST_TEST((acquire::step().until == never));
    const lease_step step;
    BOOST_TEST((!step.attempt && !step.extended && !step.lost && !step.resolved));
    BOOST_TEST((!step.send && step.heals.empty() && !step.handed_off && !step.ended));
    BOOST_TEST((step.until == never));
}

BOOST_AUTO_TEST_CASE(a_tag_can_be_recreated_from_its_value) {
    using purpose = lease_tag::purpose_type;
    for (const purpose what :
         {purpose::acquire, purpose::extend, purpose::release, purpose::remaining, purpose::heal,
          purpose::raise, purpose::retake, purpose::next_value}) {
        for (const std::uint32_t round : {0U, 1U, lease_tag::round_numbers - 1}) {
            const lease_tag tag = lease_tag::from(lease_tag(what, round).value());
            BOOST_TEST((tag.purpose() == what));
            BOOST_TEST(tag.round() == round);
            BOOST_TEST((tag == lease_tag(what, round)));
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
