#include "core/acquire.hpp"
#include "core/command.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "core/stable_hash.hpp"
#include "core/vote.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <type_traits>

// Facts that the compiler checks: the runtime moves these around in its hot path.

namespace colock::core::test {
namespace {

template <class T>
constexpr bool moves_freely = std::is_nothrow_move_constructible_v<T>&&
    std::is_nothrow_move_assignable_v<T>&& std::is_nothrow_destructible_v<T>;

static_assert(moves_freely<vote>);
static_assert(moves_freely<acquire::event>);
static_assert(moves_freely<renew::event>);
static_assert(moves_freely<release::event>);

// The machines stay where they were made; a copy is a replay's. (A renew keeps its votes elsewhere.)
static_assert(!std::is_move_assignable_v<acquire> && std::is_copy_constructible_v<acquire>);
static_assert(moves_freely<renew> && !std::is_copy_constructible_v<renew>);
static_assert(!std::is_move_assignable_v<release> && std::is_copy_constructible_v<release>);

// Actions are plain values, in registers or nearly.
static_assert(std::is_trivially_copyable_v<acquire::action> && sizeof(acquire::action) <= 32);
static_assert(std::is_trivially_copyable_v<renew::action> && sizeof(renew::action) <= 40);
static_assert(std::is_trivially_copyable_v<release::action> && sizeof(release::action) <= 32);
static_assert(std::is_trivially_copyable_v<command> && sizeof(command) <= 72);

// Processes agree on it: the published values.
static_assert(stable_hash("") == 0xcbf29ce484222325U && stable_hash("a") == 0xaf63dc4c8601ec8cU &&
              stable_hash("foobar") == 0x85944171f73967e8U);

// One vote per command: small. A machine per lock operation: not large.
static_assert(sizeof(vote) <= 32);
static_assert(sizeof(acquire) <= 512);
static_assert(sizeof(renew) <= 512);
static_assert(sizeof(release) <= 256);

// The clock that no operator can set back.
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

BOOST_AUTO_TEST_SUITE(value_types)

BOOST_AUTO_TEST_CASE(votes_say_no_more_than_they_know) {
    BOOST_TEST((vote{}.kind == vote_kind::failed));  // what nobody filled in grants nothing
    BOOST_TEST((vote::granted().kind == vote_kind::granted));
    BOOST_TEST((vote::granted().remaining == unknown_remaining));
    BOOST_TEST((vote::denied(key_state::foreign).kind == vote_kind::denied));
    BOOST_TEST((vote::denied(key_state::foreign).remaining == unknown_remaining));
    BOOST_TEST((vote::denied(key_state::foreign, 3ms).remaining == 3ms));
    const auto detail = std::make_shared<const std::string>("refused");
    BOOST_TEST((vote::failed(failure::down, detail).reason == failure::down));
    BOOST_TEST(vote::failed(failure::down, detail).detail == detail);
    BOOST_TEST(vote::failed(failure::down).detail == nullptr);
}

BOOST_AUTO_TEST_CASE(a_command_is_sent_whenever_it_can_be_unless_it_says_otherwise) {
    BOOST_TEST((command{}.deadline == never));
}

BOOST_AUTO_TEST_CASE(what_an_action_does_not_use_waits_for_nothing) {
    BOOST_TEST((acquire::action::attempt().time == never));
    BOOST_TEST((renew::action::send().time == never));
    BOOST_TEST((release::action::send().time == never));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
