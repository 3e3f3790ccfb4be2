// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// The life of one token. renew_test and release_test cover the decisions of renewals and releases. This test
// covers which instances are assumed to have a key, and which commands may be sent at which time.

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(leases)

using purpose = lease_tag::purpose_type;
using kind = lease::event::kind_type;
using event = lease::event;

/// Settings of three instances that have 50 ms to vote, with a ttl of 1 s. A grant is valid for 988 ms. Its
/// loss is reported after 938 ms. Its keys have expired 1012 ms after the start of a release. The lease is
/// renewed every 300 ms.
lease_settings three() {
    lease_settings s;
    s.instances = 3;
    s.ttl = 1s;
    s.renew_interval = 300ms;
    s.instance_timeout = 50ms;
    return s;
}

const lease_settings settings = three();

const attempt ordinary;
const event start = event::start(ordinary);
const event give_up = event::just(kind::give_up);
const event release = event::just(kind::release);
const event next_holder = event::just(kind::next_holder);
const event abandon = event::just(kind::abandon);
const event close = event::just(kind::close);
const event timer = event::just(kind::timer);
constexpr auto* extend = event::extend;
constexpr auto* accepting = event::accepting;

/// The votes on commands of one purpose. A letter is that of `vote_from`. A digit is a grant with this value,
/// which is a fence or the number of a permit.
class votes_on {
public:
    constexpr explicit votes_on(purpose of, std::uint32_t round = 0) : of_(of), round_(round) {}

    /// The vote of one instance.
    event operator()(char letter, std::size_t i) const { return (*this)(letter, i, round_); }
    event operator()(char letter, std::size_t i, std::uint32_t round) const {
        const bool valued = letter >= '0' && letter <= '9';
        return voted(i, valued ? vote::granted(letter - '0') : vote_from(letter), round);
    }
    event operator()(failure why, std::size_t i) const {
        return voted(i, vote::failed(why), round_);
    }
    event with(std::uint64_t value, std::size_t i, std::uint32_t round) const {
        return voted(i, vote::granted(value), round);
    }

    /// The votes of several instances.
    std::vector<event> operator()(std::string_view letters) const {
        return (*this)(letters, round_);
    }
    std::vector<event> operator()(std::string_view letters, std::uint32_t round) const {
        return votes_from(
            letters, [=, this](char letter, std::size_t i) { return (*this)(letter, i, round); });
    }

private:
    [[nodiscard]] event voted(std::size_t i, const vote& v, std::uint32_t round) const {
        return event::voted(i, lease_tag(of_, round), kept(v));
    }

    purpose of_;
    std::uint32_t round_;
};

constexpr votes_on acquired(purpose::acquire);
constexpr votes_on retaken(purpose::retake, 1);
constexpr votes_on raised(purpose::raise, 1);
constexpr votes_on adopted(purpose::adopt, 1);
constexpr votes_on extended(purpose::extend, 1);
constexpr votes_on healed(purpose::heal);
constexpr votes_on counted(purpose::next_value, 1);
constexpr votes_on released(purpose::release);

/// Returns the command with a tag.
command command_of(const lease& l, lease_tag tag) {
    command c;
    l.fill(c, tag);
    return c;
}

/// Returns a lease whose attempt was sent to three instances at 0.
lease sent(const lease_settings& by = settings) {
    lease machine(by, 42);
    play(machine, {{0ms, start, "acquire; wait 50"}});
    return machine;
}

/// Returns a lease that was granted at 10 ms. Instance 2 has not voted yet.
lease held(const lease_settings& by = settings, const std::string& expected = "granted; wait 300") {
    lease machine = sent(by);
    play(machine, {{10ms, acquired("GG"), "wait 50", expected}});
    return machine;
}

bool wanted(const lease& l, std::size_t i, purpose p) {
    return l.wanted(i, lease_tag(p));
}

BOOST_AUTO_TEST_CASE(tags_identify_the_sent_command) {
    const lease_tag tag(purpose::extend, 70000);
    BOOST_TEST((lease_tag::from(tag.value()).purpose() == purpose::extend));
    BOOST_TEST(lease_tag::from(tag.value()).round() == 70000U);
    BOOST_TEST((lease_tag::from(lease_tag(purpose::heal).value()).purpose() == purpose::heal));
    BOOST_TEST((command_of(sent(), lease_tag(purpose::remaining)).step == step::remaining));
}

// Leases that were acquired together are not renewed together.
BOOST_AUTO_TEST_CASE(first_renewals_are_spread_over_half_an_interval) {
    lease_settings spread = settings;
    spread.spread_renewals = true;
    std::set<time_point> times;
    for (std::uint64_t seed = 0; seed != 100; ++seed) {
        lease machine(spread, seed);
        machine.resume(start, at(0ms));
        machine.resume(acquired('G', 0), at(10ms));
        const lease_step step = machine.resume(acquired('G', 1), at(10ms));
        BOOST_TEST((step.attempt == acquire_outcome::granted));
        BOOST_TEST((step.until >= at(148ms)));
        BOOST_TEST((step.until <= at(300ms)));
        times.insert(step.until);
    }
    BOOST_TEST(times.size() > 50U);
    BOOST_TEST((*times.rbegin() - *times.begin() > 100ms));
    for (const time_point time : times) {  // At one of 256 times.
        BOOST_TEST((time.time_since_epoch() % (spread.renew_interval / 256)).count() == 0);
    }
}

// The rollback of an attempt.

BOOST_AUTO_TEST_CASE(rolls_back_where_granted_or_possibly_granted) {
    lease machine = sent();
    play(machine, {{6ms, acquired("GD"), "wait 50"},
                   {50ms, give_up, "release 02; wait 100"},
                   {60ms, released('G', 0), "wait 100"}});
    BOOST_TEST(machine.releasing());
    play(machine, {{61ms, released('N', 2), "resolved expired; ended"}});
    BOOST_TEST(machine.ended());
    BOOST_TEST(!machine.was_held());
}

BOOST_AUTO_TEST_CASE(rolls_back_on_all_silent_instances) {
    lease machine = sent();
    BOOST_TEST(machine.may_have_keys());
    play(machine, {{50ms, give_up, "release; wait 100"}});
}

BOOST_AUTO_TEST_CASE(a_definite_failure_needs_no_rollback) {
    lease machine = sent();
    play(machine, {{1ms, acquired('F', 0), "wait 50"},
                   {1ms, acquired("-DN"),
                    "failed contended; resolved expired; release 2; wait never", "wait 1013"}});
    BOOST_TEST(!machine.may_have_keys());
    BOOST_TEST(!wanted(machine, 2, purpose::release));
}

BOOST_AUTO_TEST_CASE(a_failure_with_unknown_outcome_is_rolled_back) {
    for (const failure f : {failure::timeout, failure::connection_lost, failure::unclear_error,
                            failure::unexpected_reply}) {
        const std::string wait = answered(f) ? "1013" : "never";  // It may be executed at any time.
        play(sent(), {{1ms, acquired('D', 1), "wait 50"},
                      {1ms, acquired(f, 0), "failed contended; release 02; wait 51"},
                      {1ms, acquired('D', 2), "wait 51"},
                      {2ms, released('N', 2), "resolved expired; wait " + wait}});
    }
}

BOOST_AUTO_TEST_CASE(a_late_grant_after_an_answered_release_is_rolled_back) {
    play(sent(), {{50ms, give_up, "release; wait 100"},
                  {60ms, released('N', 0), "wait 100"},
                  {61ms, acquired('G', 0), "release 0; wait 100"},
                  {63ms, released("GG"), "wait 100", "resolved released; wait never"},
                  {64ms, released('G', 2), "ended"}});
}

BOOST_AUTO_TEST_CASE(a_late_grant_during_its_release_needs_no_second_release) {
    play(sent(), {{50ms, give_up, "release; wait 100"},
                  {61ms, acquired('G', 0), "wait 100"},
                  {62ms, released('G', 0), "wait 100"}});
}

BOOST_AUTO_TEST_CASE(a_late_grant_overtaken_by_its_release_is_rolled_back) {
    for (const char nothing_there : {'N', 'D'}) {
        play(sent(), {{50ms, give_up, "release; wait 100"},
                      {61ms, acquired('G', 0), "wait 100"},
                      {62ms, released(nothing_there, 0), "release 0; wait 100"},
                      {63ms, released("-NN"), "wait 100", "resolved expired; wait 1073"},
                      {64ms, released(nothing_there, 0), "ended"}});  // The result is now final.
    }
}

BOOST_AUTO_TEST_CASE(events_after_the_end_are_ignored) {
    play(sent(), {{1ms, acquired("DD"), "wait 50",
                   "failed contended; resolved expired; release 2; wait never"},
                  {1ms, released('N', 2), "ended"},
                  {2ms, acquired('G', 0), "wait never"},
                  {2ms, released('G', 0), "wait never"},
                  {2ms, extended('G', 0), "wait never"},
                  {2ms, timer, "wait never"}});
}

// Commands that are withdrawn before they are sent.

BOOST_AUTO_TEST_CASE(an_acquire_is_withdrawn_once_its_attempt_is_rolled_back) {
    lease machine = sent();
    BOOST_TEST(wanted(machine, 0, purpose::acquire));
    BOOST_TEST(wanted(machine, 0, purpose::remaining));
    play(machine, {{0ms, give_up, "release; wait 50"}});
    BOOST_TEST(!wanted(machine, 0, purpose::acquire));
    BOOST_TEST(wanted(machine, 0, purpose::release));
    BOOST_TEST(wanted(machine, 0, purpose::remaining));
}

BOOST_AUTO_TEST_CASE(a_release_is_withdrawn_where_the_acquire_was_not_sent) {
    lease machine = sent();
    play(machine,
         {{0ms, give_up, "release; wait 50"}, {0ms, acquired(failure::withdrawn, 0), "wait 50"}});
    BOOST_TEST(!wanted(machine, 0, purpose::release));
    BOOST_TEST(wanted(machine, 1, purpose::release));
    play(machine, {{0ms, released(failure::withdrawn, 0), "wait 50"},
                   {0ms, acquired(failure::withdrawn, 1), "wait 50"},
                   {0ms, released(failure::withdrawn, 1), "resolved expired; wait never"},
                   {5ms, released('G', 2), "ended"}});
}

BOOST_AUTO_TEST_CASE(extend_and_restore_are_sent_only_while_the_lease_is_held) {
    BOOST_TEST(!wanted(sent(), 0, purpose::extend));
    lease machine = held();
    BOOST_TEST(wanted(machine, 0, purpose::extend));
    BOOST_TEST(wanted(machine, 0, purpose::heal));
    BOOST_TEST(wanted(machine, 2, purpose::acquire));  // A late grant joins the lease.
    play(machine, {{20ms, release, "release; wait 70"}});
    BOOST_TEST(!wanted(machine, 0, purpose::extend));
    BOOST_TEST(!wanted(machine, 0, purpose::heal));
    BOOST_TEST(!wanted(machine, 2, purpose::acquire));
}

// A held lease.

BOOST_AUTO_TEST_CASE(a_lease_is_valid_until_it_is_released) {
    lease machine = held();
    BOOST_TEST(machine.held());
    BOOST_TEST(machine.was_held());
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    play(machine, {{11ms, acquired('G', 2), "wait never"}, {20ms, release, "release; wait 70"}});
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.outcome().has_value());
    play(machine, {{26ms, released("G-G"), "wait 70", "resolved released; wait 1032"},
                   {27ms, released('G', 1), "ended"}});
}

BOOST_AUTO_TEST_CASE(a_failed_release_is_repeated_when_the_instance_recovers) {
    play(held(), {{11ms, accepting(0), "wait never"},
                  {20ms, release, "release; wait 70"},
                  {23ms, released("FGG"), "wait 70", "resolved released; wait 1032"},
                  {300ms, accepting(1), "wait 1032"},
                  {400ms, accepting(0), "release 0; wait 1032"},
                  {401ms, released('G', 0), "ended"},
                  {402ms, accepting(0), "wait never"}});
}

// An instance that has received an acquire without a reply may execute it at any time.

BOOST_AUTO_TEST_CASE(a_release_stays_pending_until_a_new_connection_answers) {
    play(held(), {{15ms, acquired(failure::connection_lost, 2), "wait never"},
                  {20ms, release, "release; wait 70"},
                  {21ms, released('F', 2), "wait 70"},
                  {23ms, released("GG"), "wait 70", "resolved released; wait never"},
                  {5000ms, timer, "wait never"},
                  {9000ms, accepting(2), "release 2; wait 10012"},
                  {9001ms, released('G', 2), "ended"}});
}

BOOST_AUTO_TEST_CASE(a_pending_release_ends_one_ttl_after_the_recovery) {
    play(held(), {{15ms, acquired(failure::connection_lost, 2), "wait never"},
                  {20ms, release, "release; wait 70"},
                  {21ms, released('F', 2), "wait 70"},
                  {23ms, released("GG"), "wait 70", "resolved released; wait never"},
                  {9000ms, accepting(2), "release 2; wait 10012"},
                  {10012ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(an_error_on_a_new_connection_counts_as_an_answer) {
    lease machine = held();
    play(machine, {{15ms, acquired(failure::connection_lost, 2), "wait never"},
                   {20ms, release, "release; wait 70"},
                   {23ms, released("GG"), "wait 70", "resolved released; wait never"}});
    const lease_step step = machine.resume(released(failure::server_error, 2), at(500ms));
    BOOST_TEST((step.until < at(1512ms)));  // The retry.
    play(machine, {{1512ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_the_acquire_limits_the_release_time) {
    play(held(), {{20ms, release, "release; wait 70"},
                  {23ms, released("GG"), "wait 70", "resolved released; wait never"},
                  {30ms, acquired('D', 2), "wait 1042"},  // It may have been executed just now.
                  {1042ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(an_answer_to_the_release_limits_the_release_time) {
    play(held(), {{15ms, acquired(failure::connection_lost, 2), "wait never"},
                  {20ms, release, "release; wait 70"},
                  {21ms, released('G', 2), "wait 70"},
                  {23ms, released("FG"), "wait 70", "resolved released; wait 1032"},
                  {1032ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(no_release_is_sent_to_an_instance_that_denied) {
    play(held(), {{11ms, acquired('D', 2), "wait never"},
                  {20ms, release, "release 01; wait 70"},
                  {26ms, released("GG"), "wait 70", "resolved released; ended"}});
}

BOOST_AUTO_TEST_CASE(an_instance_that_connects_gets_the_key_at_once) {
    lease machine = sent();
    play(machine, {{1ms, acquired('F', 2), "wait 50"},
                   {10ms, acquired("GG"), "wait 50", "granted; wait 300"},
                   {20ms, accepting(0), "wait never"},
                   {20ms, accepting(2), "heal 2; wait 300"},
                   {21ms, accepting(2), "wait never"},  // The heal is in flight.
                   {22ms, healed('F', 2), "wait never"},
                   {30ms, accepting(2), "heal 2; wait 300"},
                   {31ms, healed('G', 2), "wait never"},
                   {40ms, accepting(2), "wait never"},
                   {50ms, release, "release; wait 100"}});
}

/// Instance 2 connects between the acquire and the grant.
BOOST_AUTO_TEST_CASE(an_instance_that_connects_during_the_attempt_gets_the_key_with_the_grant) {
    play(sent(), {{1ms, acquired('F', 2), "wait 50"},
                  {5ms, accepting(2), "wait never"},
                  {10ms, acquired("GG"), "wait 50", "granted; heal 2; wait 300"}});
}

/// Instance 2 did not get the last renewal. Its key may have ended.
BOOST_AUTO_TEST_CASE(an_instance_that_missed_a_renewal_gets_the_key_at_once) {
    play(held(), {{11ms, acquired('G', 2), "wait never"},
                  {300ms, timer, "extend #1; wait 350"},
                  {301ms, extended('F', 2), "wait 350"},
                  {302ms, extended("GG"), "wait 350", "wait 600"},
                  {310ms, accepting(2), "heal 2; wait 600"}});
}

BOOST_AUTO_TEST_CASE(no_key_is_restored_once_the_loss_is_due) {
    play(held(), {{11ms, acquired('D', 2), "wait never"}, {940ms, accepting(2), "wait never"}});
}

BOOST_AUTO_TEST_CASE(a_denial_says_that_the_instance_was_not_connected_at_the_acquire) {
    lease machine = sent();
    play(machine, {{1ms, acquired('F', 2), "wait 50"},
                   {10ms, acquired("GG"), "wait 50", "granted; wait 300"},
                   {300ms, timer, "extend #1; wait 350"},
                   {301ms, extended("-NN"), "wait 350", "lost keys_gone; wait 988"}});
    const auto its = [&](std::size_t i) { return machine.watchdog().votes()->vote_of(i)->key; };
    BOOST_TEST((its(1) == key_state::absent));
    BOOST_TEST((its(2) == key_state::unconnected));
}

/// The instances may have the record that replaces the token.
BOOST_AUTO_TEST_CASE(a_denied_renewal_is_no_loss_once_a_record_was_sent) {
    lease machine = held();
    play(machine, {{300ms, timer, "extend #1; wait 350"}});
    machine.expect_record();
    play(machine, {{301ms, extended("-DU"), "wait 350", "wait 310.375"}});
    BOOST_TEST(machine.held());
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    play(machine, {{311ms, timer, "extend #2; wait 361"},
                   {312ms, extended("-NN", 2), "wait 361", "lost keys_gone; wait 988"}});
}

BOOST_AUTO_TEST_CASE(a_restored_key_is_released_too) {
    lease machine = held();
    play(machine, {{11ms, acquired('D', 2), "wait never"},
                   {300ms, timer, "extend #1; wait 350"},
                   {301ms, extended('N', 2), "wait 350"},
                   {303ms, extended("GG"), "wait 350", "heal 2; wait 600"},
                   {310ms, healed('G', 2), "wait never"},
                   {320ms, release, "release; wait 370"}});
    BOOST_TEST(machine.releasing());
}

BOOST_AUTO_TEST_CASE(a_key_is_released_even_if_restoring_it_failed) {
    play(held(), {{11ms, acquired('D', 2), "wait never"},
                  {300ms, timer, "extend #1; wait 350"},
                  {301ms, extended('N', 2), "wait 350"},
                  {303ms, extended("GG"), "wait 350", "heal 2; wait 600"},
                  {304ms, healed('F', 2), "wait never"},
                  {320ms, release, "release; wait 370"}});
}

BOOST_AUTO_TEST_CASE(a_key_restored_after_its_release_is_released_again) {
    play(held(), {{11ms, acquired('D', 2), "wait never"},
                  {300ms, timer, "extend #1; wait 350"},
                  {301ms, extended('N', 2), "wait 350"},
                  {303ms, extended("GG"), "wait 350", "heal 2; wait 600"},
                  {320ms, release, "release; wait 370"},
                  {321ms, released('N', 2), "wait 370"},
                  {322ms, released('G', 0), "wait 370"},
                  {323ms, healed('G', 2), "release 2; wait 370"},
                  {324ms, released('G', 2), "resolved released; wait 1332"}});
}

BOOST_AUTO_TEST_CASE(votes_on_an_extend_are_ignored_after_the_release) {
    play(held(), {{300ms, timer, "extend #1; wait 350"},
                  {310ms, release, "release; wait 360"},
                  {311ms, extended("GGN"), "wait never"},
                  {312ms, extend(2s), "wait never"},
                  {313ms, timer, "wait 360"}});
}

BOOST_AUTO_TEST_CASE(keeps_releasing_for_the_longest_ttl_that_was_sent) {
    play(held(), {{15ms, acquired('G', 2), "wait never"},
                  {20ms, extend(5s), "extend #1; wait 70"},
                  {30ms, release, "release; wait 80"},
                  {80ms, timer, "resolved no_quorum; wait 5082"},
                  {5082ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(extends_again_right_after_the_answer) {
    lease machine = held();
    play(machine, {{20ms, extend(2s), "extend #1; wait 70"},
                   {31ms, extended("GG"), "wait 70", "extended; wait 620"},
                   {31ms, extend(3s), "extend #2; wait 81"}});
    BOOST_TEST(in_ms(machine.watchdog().ttl()) == "3000");
}

// A lost lease.

BOOST_AUTO_TEST_CASE(reports_the_loss_and_then_releases) {
    play(held(), {{300ms, timer, "extend #1; wait 350"},
                  {311ms, extended("ND"), "wait 350", "lost keys_gone; wait 988"},
                  {320ms, release, "release; wait 370"},
                  {322ms, released("GG"), "wait 370", "resolved expired; wait never"}});
}

// The holder may still be working when the loss is reported.

BOOST_AUTO_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_holder_releases_it) {
    lease machine = held();
    play(machine, {{938ms, timer, "lost unrenewable; wait 988"}});  // The timer was late.
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.held());
    BOOST_TEST(machine.lost());
    BOOST_TEST(!wanted(machine, 0, purpose::extend));
    BOOST_TEST(!wanted(machine, 0, purpose::acquire));
    play(machine, {{940ms, timer, "wait 988"},
                   {941ms, extend(5s), "wait 988"},
                   {950ms, release, "release; wait 1000"},
                   {951ms, release, "wait never"}});
    BOOST_TEST(machine.releasing());
}

BOOST_AUTO_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_validity_ends) {
    play(held(), {{938ms, timer, "lost unrenewable; wait 988"},
                  {987ms, timer, "wait 988"},
                  {988ms, timer, "release; wait 1038"},
                  {989ms, release, "wait never"}});
}

BOOST_AUTO_TEST_CASE(a_lease_found_expired_is_released_immediately) {
    play(held(),
         {{990ms, timer, "lost unrenewable; wait 988"}, {990ms, timer, "release; wait 1040"}});
}

/// The loss is reported before the validity ends. The keys expire between this report and the release.
BOOST_AUTO_TEST_CASE(a_lease_whose_keys_expire_at_its_release_reports_expired) {
    for (const duration renewed_every : {duration(0), duration(300ms)}) {
        lease_settings some = settings;
        some.renew_interval = renewed_every;
        const bool renewed = renewed_every != duration::zero();
        play(held(some, renewed ? "granted; wait 300" : "granted; wait 938"),
             {{938ms, timer, renewed ? "lost unrenewable; wait 988" : "lost expired; wait 988"},
              {987ms, release, "release; wait 1037"},
              {1001ms, released("NN"), "wait 1037", "resolved expired; wait never"}});
    }
    // If another client has the key, two holders may have overlapped.
    play(held(), {{938ms, timer, "lost unrenewable; wait 988"},
                  {987ms, release, "release; wait 1037"},
                  {988ms, released("ND"), "wait 1037", "resolved lost; wait never"}});
}

BOOST_AUTO_TEST_CASE(late_release_reports_missing_keys) {
    play(held(), {{300ms, timer, "extend #1; wait 350"},
                  {311ms, extended("NN"), "wait 350", "lost keys_gone; wait 988"},
                  {988ms, timer, "release; wait 1038"},
                  {989ms, released("NN"), "wait 1038", "resolved lost; wait never"}});
}

BOOST_AUTO_TEST_CASE(keys_are_kept_until_max_hold_ends) {
    lease_settings limited = settings;
    limited.max_hold = 200ms;
    lease machine = held(limited, "granted; wait 200");
    BOOST_TEST(in_ms(machine.valid_until()) == "210");
    play(machine, {{200ms, timer, "lost max_hold; wait 210"}, {210ms, timer, "release; wait 260"}});
}

BOOST_AUTO_TEST_CASE(is_lost_when_its_client_is_closed) {
    play(held(), {{20ms, close, "lost closed; wait 988"},
                  {21ms, close, "wait 988"},
                  {22ms, release, "release; wait 72"}});
}

BOOST_AUTO_TEST_CASE(is_lost_when_its_client_has_broken_it) {
    const event broken = event::just(kind::broken);
    play(held(), {{20ms, broken, "lost keys_gone; wait 988"},
                  {21ms, broken, "wait 988"},
                  {22ms, release, "release; wait 72"}});
}

// A client that is being closed waits for these releases.

BOOST_AUTO_TEST_CASE(settles_when_a_quorum_and_all_reachable_have_answered) {
    lease machine = held();
    BOOST_TEST(!machine.settled(at(11ms)));
    play(machine, {{20ms, close, "lost closed; wait 988"}});
    BOOST_TEST(!machine.settled(at(500ms)));
    play(machine, {{500ms, release, "release; wait 550"}, {502ms, released("FG"), "wait 550"}});
    BOOST_TEST(!machine.settled(at(502ms)));
    play(machine, {{503ms, released('G', 2), "resolved expired; wait 1512"}});
    BOOST_TEST(machine.settled(at(503ms)));  // Instance 0 is down.
    BOOST_TEST(!machine.ended());
}

BOOST_AUTO_TEST_CASE(settles_when_silent_instance_times_out) {
    lease machine = held();
    play(machine, {{20ms, release, "release; wait 70"},
                   {22ms, released("GG"), "wait 70", "resolved released; wait never"}});
    BOOST_TEST(!machine.settled(at(69ms)));
    BOOST_TEST(machine.settled(at(70ms)));
}

BOOST_AUTO_TEST_CASE(does_not_settle_without_a_quorum_of_answers) {
    lease machine = held();
    play(machine, {{15ms, acquired('G', 2), "wait never"},
                   {20ms, release, "release; wait 70"},
                   {21ms, released('G', 0), "wait 70"},
                   {70ms, timer, "resolved no_quorum; wait 1032"}});
    BOOST_TEST(!machine.answered());
    BOOST_TEST(!machine.settled(at(500ms)));
    play(machine, {{1032ms, timer, "ended"}});
    BOOST_TEST(machine.settled(at(1032ms)));
}

/// Instance 1 had nothing to release at first, because the release had overtaken the acquire.
BOOST_AUTO_TEST_CASE(does_not_settle_if_a_late_grant_may_make_a_quorum) {
    lease machine = sent();
    play(machine, {{1ms, acquired('F', 0), "wait 50"},
                   {2ms, give_up, "release 12; wait 52"},
                   {3ms, released('N', 1), "resolved expired; wait never"}});
    BOOST_TEST(!machine.settled(at(51ms)));
    BOOST_TEST(machine.settled(at(52ms)));  // Instance 2 is silent.
    play(machine, {{60ms, acquired('G', 1), "release 1; wait never"}});
    BOOST_TEST(!machine.answered());
    BOOST_TEST(!machine.settled(at(61ms)));
    play(machine, {{62ms, released('G', 1), "wait never"}});
    BOOST_TEST(machine.answered());
    BOOST_TEST(machine.settled(at(62ms)));
}

BOOST_AUTO_TEST_CASE(ends_when_its_connections_are_closed) {
    lease machine = held();
    play(machine, {{20ms, release, "release; wait 70"}});
    machine.disconnect();
    BOOST_TEST(machine.ended());
    BOOST_TEST((machine.outcome() == release_outcome::no_quorum));

    lease resolved = held();
    play(resolved, {{20ms, release, "release; wait 70"},
                    {26ms, released("GG"), "wait 70", "resolved released; wait never"}});
    resolved.disconnect();
    BOOST_TEST((resolved.outcome() == release_outcome::released));
}

// A lease that is abandoned without a release.

BOOST_AUTO_TEST_CASE(an_abandoned_lease_sends_nothing_and_ends) {
    lease machine = held();
    play(machine, {{20ms, abandon, "ended"}});
    BOOST_TEST(machine.abandoned());
    BOOST_TEST(!machine.held());
    BOOST_TEST(machine.settled(at(20ms)));
    BOOST_TEST(!machine.outcome());
    BOOST_TEST(in_ms(machine.valid_until()) == "before all time");
    for (const purpose what : {purpose::extend, purpose::heal, purpose::acquire}) {
        BOOST_TEST(!wanted(machine, 0, what));
    }
    play(machine, {{300ms, timer, "wait never"},
                   {301ms, acquired('G', 2), "wait never"},
                   {302ms, abandon, "wait never"},
                   {303ms, release, "wait never"},
                   {304ms, close, "wait never"},
                   {305ms, accepting(0), "wait never"}});
    BOOST_TEST(machine.abandoned());
}

BOOST_AUTO_TEST_CASE(a_lost_lease_can_be_abandoned) {
    play(held(), {{20ms, close, "lost closed; wait 988"},
                  {21ms, abandon, "ended"},
                  {988ms, timer, "wait never"}});
}

BOOST_AUTO_TEST_CASE(an_attempt_and_a_release_cannot_be_abandoned) {
    lease attempt = sent();
    play(attempt, {{1ms, abandon, "wait never"}});
    BOOST_TEST(attempt.acquiring());
    lease releasing = held();
    play(releasing, {{20ms, release, "release; wait 70"}, {21ms, abandon, "wait never"}});
    BOOST_TEST(releasing.releasing());
}

// The adoption of a lease of another process.

const adopted_values nothing;

/// Returns a lease whose adoption was sent to three instances at 0.
lease adopting(const adopted_values& has = nothing, const lease_settings& by = settings) {
    attempt adoption;
    adoption.adopted = &has;
    lease machine(by, 42);
    BOOST_TEST(describe(machine, machine.resume(event::start(adoption), at(0ms))) ==
               "extend; wait " + in_ms(by.instance_timeout));
    return machine;
}

BOOST_AUTO_TEST_CASE(an_adopted_lease_is_extended_and_held) {
    const adopted_values has{42, "42 43 "};
    lease machine = adopting(has);
    const command sent = command_of(machine, lease_tag(purpose::adopt, 1));
    BOOST_TEST((sent.step == step::extend));
    BOOST_TEST((sent.ttl == 1s));
    BOOST_TEST(sent.value == 42U);
    BOOST_TEST(*sent.values == "42 43 ");
    BOOST_TEST(wanted(machine, 2, purpose::adopt));
    BOOST_TEST(!machine.held());
    play(machine, {{10ms, adopted("GG"), "wait 50", "granted; wait 300"},
                   {11ms, adopted('N', 2), "wait never"}});
    BOOST_TEST(machine.value() == 42U);
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    // From here on, it is an ordinary lease.
    play(machine, {{300ms, timer, "extend #1; wait 350"},
                   {302ms, extended("GG"), "wait 350", "wait 600"},
                   {303ms, extended('N', 2), "heal 2; wait 600"},
                   {304ms, release, "release; wait 354"}});
}

/// An instance may have granted other permits than the quorum, or have lost one of several names. Its denial
/// only means that it does not have everything that the lease has.
BOOST_AUTO_TEST_CASE(an_adopted_lease_is_released_everywhere) {
    const adopted_values has{2, ""};
    for (const agreement rule : {agreement::same, agreement::none}) {
        lease_settings of_permits = settings;
        of_permits.agreement = rule;
        lease machine = adopting(has, of_permits);
        play(machine, {{5ms, adopted('N', 2), "wait 50"},
                       {7ms, adopted("GG"), "wait 50", "granted; wait 300"}});
        machine.resume(release, at(10ms));
        BOOST_TEST(wanted(machine, 0, purpose::release));
        BOOST_TEST(wanted(machine, 2, purpose::release));
    }
}

/// The keys keep the ttl that the other process gave them. So the release may have to wait for this time.
BOOST_AUTO_TEST_CASE(an_adopted_lease_is_released_until_its_longest_ttl_has_ended) {
    for (const duration ttl : {duration(1ms), duration(30s)}) {
        const adopted_values has{.ttl = ttl};
        lease machine = adopting(has);
        play(machine, {{6ms, adopted("GG"), "wait 50", "granted; wait 300"}});
        machine.resume(release, at(10ms));
        BOOST_TEST(machine.releasing());
        const time_point end = gone_at(at(10ms), std::max(ttl, settings.ttl), settings.drift);
        machine.resume(timer, end - 1ms);
        BOOST_TEST(machine.releasing());
        machine.resume(timer, end);
        BOOST_TEST(!machine.releasing());
    }
}

BOOST_AUTO_TEST_CASE(an_adoption_that_fails_leaves_the_keys_as_they_are) {
    lease gone = adopting();
    play(gone, {{7ms, adopted("GND"), "wait 50", "failed contended; ended"}});
    BOOST_TEST(gone.abandoned());
    // A quorum may have the keys: instance 0, and instance 2, which has not answered.
    play(adopting(), {{6ms, adopted("GN"), "wait 50"}, {50ms, timer, "failed no_quorum; ended"}});
    play(adopting(), {{5ms, adopted('G', 0), "wait 50"},
                      {50ms, timer, "failed no_quorum; ended"},
                      {51ms, adopted('G', 1), "wait never"}});
    lease cancelled = adopting();
    play(cancelled, {{5ms, give_up, "ended"}});
    BOOST_TEST(!wanted(cancelled, 0, purpose::adopt));
}

BOOST_AUTO_TEST_CASE(an_adoption_that_comes_too_late_is_no_lease) {
    lease_settings patient = settings;
    patient.instance_timeout = 2s;
    play(adopting(nothing, patient),
         {{5ms, adopted('G', 0), "wait 2000"}, {940ms, adopted('G', 1), "failed too_slow; ended"}});
}

// Hand-offs.

BOOST_AUTO_TEST_CASE(may_be_handed_off_while_half_of_the_ttl_is_left) {
    lease machine = held();  // Valid until 988 ms.
    BOOST_TEST(machine.may_hand_off(at(10ms)));
    BOOST_TEST(machine.may_hand_off(at(488ms)));
    BOOST_TEST(!machine.may_hand_off(at(488ms) + 1ns));
    BOOST_TEST(!machine.may_hand_off(at(988ms)));
    BOOST_TEST(!machine.may_hand_off(at(5s)));
}

/// The next holder would hear of the loss at once.
BOOST_AUTO_TEST_CASE(may_not_be_handed_off_shortly_before_its_loss_is_reported) {
    lease_settings early = settings;
    early.loss_margin = 500ms;
    lease machine = held(early);
    BOOST_TEST(machine.may_hand_off(at(238ms)));  // The loss is due at 488 ms.
    BOOST_TEST(!machine.may_hand_off(at(238ms) + 1ns));
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_only_while_it_is_held) {
    const lease attempt = sent();
    BOOST_TEST(!attempt.may_hand_off(at(10ms)));
    lease releasing = held();
    releasing.resume(release, at(11ms));
    BOOST_TEST(!releasing.may_hand_off(at(11ms)));
    lease lost = held();
    lost.resume(close, at(11ms));  // It must still be released.
    BOOST_TEST(!lost.may_hand_off(at(11ms)));
}

BOOST_AUTO_TEST_CASE(may_not_be_handed_off_without_a_watchdog) {
    lease_settings unrenewed = settings;
    unrenewed.renew_interval = 0ms;
    lease machine = held(unrenewed, "granted; wait 938");
    BOOST_TEST(!machine.may_hand_off(at(10ms)));
}

BOOST_AUTO_TEST_CASE(may_not_be_handed_off_during_or_after_a_change_of_ttl) {
    for (const duration other : {duration(2s), duration(999ms)}) {
        lease machine = held();
        machine.resume(extend(other), at(20ms));
        BOOST_TEST(!machine.may_hand_off(at(20ms)));
        play(machine, {{21ms, extended('G', 0), "wait 70"}});
        machine.resume(extended('G', 1), at(22ms));
        BOOST_TEST(!machine.may_hand_off(at(22ms)));
    }
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_during_a_renewal_and_after_one) {
    lease machine = held();
    play(machine, {{300ms, timer, "extend #1; wait 350"}});
    BOOST_TEST(machine.may_hand_off(at(300ms)));
    play(machine, {{302ms, extended("GG"), "wait 350", "wait 600"}});
    BOOST_TEST(machine.may_hand_off(at(302ms)));
    BOOST_TEST(machine.may_hand_off(at(788ms)));
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_after_an_extension_to_the_same_ttl) {
    lease machine = held();
    machine.resume(extend(settings.ttl), at(20ms));
    BOOST_TEST(!machine.may_hand_off(at(20ms)));
    play(machine, {{22ms, extended("GG"), "wait 70", "extended; wait 320"}});
    BOOST_TEST(machine.may_hand_off(at(22ms)));
}

BOOST_AUTO_TEST_CASE(max_hold_starts_again_for_the_next_holder) {
    lease_settings limited = settings;
    limited.max_hold = 400ms;
    play(held(limited), {{250ms, next_holder, "handed off; wait 300"},
                         {300ms, timer, "extend #1; wait 350"},
                         {302ms, extended("GG"), "wait 350", "wait 600"},
                         {400ms, timer, "wait 600"},
                         {600ms, timer, "extend #2; wait 630"},
                         {630ms, timer, "lost max_hold; wait 650"},
                         {650ms, timer, "release; wait 700"}});
}

// Fencing.

lease_settings three_fenced() {
    lease_settings s = three();
    s.agreement = agreement::largest;
    s.value_per_holder = true;
    return s;
}

const lease_settings fenced_settings = three_fenced();

BOOST_AUTO_TEST_CASE(a_restored_key_gets_the_fence_of_the_lease) {
    lease machine = sent(fenced_settings);
    BOOST_TEST(machine.value() == 0U);  // An acquire that increments the counter requests no value.
    play(machine, {{10ms, acquired("77"), "wait 50", "granted; wait 300"},
                   {300ms, timer, "extend #1; wait 350"},
                   {301ms, extended('N', 2), "wait 350"},
                   {301ms, extended('G', 0), "wait 350"}});
    BOOST_TEST(machine.value() == 7U);
    play(machine, {{302ms, extended('G', 1), "heal 2; wait 600"}});
    const command heal = command_of(machine, lease_tag(purpose::heal));
    BOOST_TEST((heal.step == step::acquire));
    BOOST_TEST(heal.heals);
    BOOST_TEST(heal.value == 7U);
    BOOST_TEST((heal.ttl == 1s));
}

BOOST_AUTO_TEST_CASE(a_raise_goes_to_all_and_does_not_affect_release_targets) {
    lease machine = sent(fenced_settings);
    play(machine, {{5ms, acquired('D', 2), "wait 50"},
                   {5ms, acquired("79"), "wait 50", "confirm; wait 55"}});
    BOOST_TEST(command_of(machine, lease_tag(purpose::raise, 1)).value == 9U);
    play(machine, {{6ms, raised('G', 0), "wait 55"},
                   // The release goes to instances that have granted or may still grant.
                   {7ms, give_up, "release 01; wait 57"},
                   {8ms, raised('G', 1), "wait never"}});  // Too late.
}

/// Returns a lease that was granted at 10 ms with fence 7.
lease held_with_fence() {
    lease machine = sent(fenced_settings);
    play(machine, {{10ms, acquired("77"), "wait 50", "granted; wait 300"}});
    return machine;
}

// Hand-offs with a separate fence for each holder.

BOOST_AUTO_TEST_CASE(one_round_gives_the_next_holder_a_fence) {
    lease machine = held_with_fence();
    BOOST_TEST(machine.may_hand_off(at(20ms)));
    play(machine, {{20ms, next_holder, "confirm; wait 70"}});
    // Increments the counter.
    BOOST_TEST(command_of(machine, lease_tag(purpose::next_value, 1)).value == 0U);
    BOOST_TEST(!machine.held());
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.may_hand_off(at(20ms)));
    BOOST_TEST(wanted(machine, 0, purpose::next_value));
    BOOST_TEST(wanted(machine, 0, purpose::extend));
    play(machine, {{21ms, counted('8', 0), "wait 70"},
                   {22ms, counted('8', 2), "handed off; wait 300"},
                   {23ms, counted('9', 1), "wait never"}});  // Too late.
    BOOST_TEST(machine.held());
    BOOST_TEST(machine.value() == 8U);
    BOOST_TEST(!wanted(machine, 0, purpose::next_value));
}

BOOST_AUTO_TEST_CASE(differing_counters_need_a_second_round) {
    lease machine = held_with_fence();
    play(machine, {{20ms, next_holder, "confirm; wait 70"}, {21ms, counted('8', 0), "wait 70"}});
    const lease_step second = machine.resume(counted.with(12, 2, 1), at(22ms));
    BOOST_TEST(describe(machine, second) == "confirm; wait 72");
    BOOST_TEST(second.send->round() == 2U);
    BOOST_TEST(command_of(machine, *second.send).value == 12U);
    play(machine,
         {{23ms, counted('9', 1), "wait never"},  // A reply to the first round.
          {24ms, counted.with(12, 0, 2), "wait 72"},
          {25ms, counted.with(30, 1, 2), "handed off; wait 300"}});  // This counter is ahead.
    BOOST_TEST(machine.value() == 12U);
}

BOOST_AUTO_TEST_CASE(a_lease_with_missing_keys_is_released_and_not_handed_off) {
    play(held_with_fence(), {{20ms, next_holder, "confirm; wait 70"},
                             {22ms, counted("DN"), "wait 70", "release; wait 72"},
                             {23ms, released("DN"), "wait 72", "resolved lost; wait never"}});
}

BOOST_AUTO_TEST_CASE(a_hand_off_without_a_quorum_releases_the_lease) {
    play(held_with_fence(), {{20ms, next_holder, "confirm; wait 70"},
                             {21ms, counted('8', 0), "wait 70"},
                             {70ms, timer, "release; wait 120"}});
    play(held_with_fence(), {{20ms, next_holder, "confirm; wait 70"},
                             {22ms, counted("FF"), "wait 70", "release; wait 72"}});
}

BOOST_AUTO_TEST_CASE(a_lease_is_renewed_during_its_hand_off) {
    play(held_with_fence(), {{290ms, next_holder, "confirm; wait 300"},
                             {300ms, timer, "extend #1; wait 340"},
                             {302ms, extended("GG"), "wait 340"},
                             {303ms, counted('8', 0), "wait 340"},
                             {304ms, counted('8', 1), "handed off; wait 600"}});
}

BOOST_AUTO_TEST_CASE(a_lease_that_expires_during_its_hand_off_is_released) {
    play(held_with_fence(), {{400ms, next_holder, "confirm; wait 300"},
                             {400ms, timer, "extend #1; wait 450"},
                             {939ms, counted('8', 0), "release; wait 989"}});
}

BOOST_AUTO_TEST_CASE(closing_during_a_hand_off_releases_the_lease) {
    play(held_with_fence(),
         {{20ms, next_holder, "confirm; wait 70"},
          {21ms, release, "wait never"},  // A repeated release by the former holder.
          {22ms, close, "release; wait 72"}});
}

BOOST_AUTO_TEST_CASE(a_raise_is_withdrawn_once_its_attempt_is_rolled_back) {
    lease machine = sent(fenced_settings);
    play(machine, {{5ms, acquired("79"), "wait 50", "confirm; wait 55"}});
    BOOST_TEST(wanted(machine, 0, purpose::raise));
    play(machine, {{6ms, give_up, "release; wait 56"}});
    BOOST_TEST(!wanted(machine, 0, purpose::raise));
}

// The number of a permit, which must be the same on a quorum.

lease_settings three_numbered() {
    lease_settings s = three();
    s.agreement = agreement::same;
    return s;
}

const lease_settings numbered_settings = three_numbered();

BOOST_AUTO_TEST_CASE(one_number_at_a_quorum_is_granted) {
    lease machine = sent(numbered_settings);
    play(machine, {{10ms, acquired("3-3"), "wait 50", "granted; wait 300"},
                   {11ms, acquired('3', 1), "wait never"}});
    BOOST_TEST(machine.value() == 3U);
    BOOST_TEST((machine.valid_until() == at(988ms)));
}

BOOST_AUTO_TEST_CASE(an_instance_with_another_number_is_corrected) {
    lease machine = sent(numbered_settings);
    play(machine, {{5ms, acquired('4', 1), "wait 50"},
                   {5ms, acquired('3', 0), "wait 10"},
                   {8ms, acquired('3', 2), "granted; heal 1; wait 300"}});
    const command heal = command_of(machine, lease_tag(purpose::heal));
    BOOST_TEST(heal.heals);
    BOOST_TEST(heal.value == 3U);
    play(sent(numbered_settings),
         {{8ms, acquired("3-3"), "wait 50", "granted; wait 300"},
          {9ms, acquired('4', 1), "heal 1; wait 300"},
          // The instance is assumed to have the key, and may be about to execute the restore.
          {10ms, release, "release; wait 60"}});
}

BOOST_AUTO_TEST_CASE(different_numbers_take_another_round) {
    lease machine = sent(numbered_settings);
    // The third vote may complete a quorum for one number.
    play(machine, {{6ms, acquired("12"), "wait 50", "wait 12"}, {12ms, timer, "acquire; wait 62"}});
    const command retake = command_of(machine, lease_tag(purpose::retake, 1));
    BOOST_TEST(!retake.heals);
    BOOST_TEST(retake.value == 2U);
    play(machine, {{13ms, acquired('2', 2), "wait never"},  // A reply to the first round.
                   {14ms, retaken('2', 1), "wait 62"},
                   {15ms, retaken('2', 0), "granted; wait 300"}});
    BOOST_TEST(machine.value() == 2U);
    BOOST_TEST((machine.valid_until() == at(988ms)));  // Counted from the first round.
}

BOOST_AUTO_TEST_CASE(votes_that_cannot_bring_one_number_are_not_awaited) {
    lease machine = sent(numbered_settings);
    play(machine, {{5ms, acquired('F', 2), "wait 50"},
                   {6ms, acquired("12"), "wait 50", "acquire; wait 56"},
                   {8ms, retaken("32"), "wait 56", "wait 10"},
                   {9ms, retaken('F', 2), "acquire; wait 59"},
                   {11ms, retaken("33", 2), "wait 59", "granted; wait 300"}});
    BOOST_TEST(machine.value() == 3U);
}

BOOST_AUTO_TEST_CASE(a_denial_of_an_earlier_round_does_not_end_the_belief_in_a_later_grant) {
    play(sent(numbered_settings), {{6ms, acquired("12"), "wait 50", "wait 12"},
                                   {12ms, timer, "acquire; wait 62"},
                                   {13ms, acquired('D', 2), "wait never"},
                                   // It goes to all instances, because the third may still grant.
                                   {14ms, give_up, "release; wait 64"}});
}

BOOST_AUTO_TEST_CASE(a_round_that_is_not_executed_takes_nothing_away) {
    play(sent(numbered_settings),
         {{5ms, acquired('D', 2), "wait 50"},
          {6ms, acquired("12"), "wait 50", "acquire; wait 56"},
          {7ms, retaken('F', 0), "wait 56"},  // It still has the first number.
          {8ms, retaken('D', 2), "failed contended; release 01; wait 58"}});
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_an_earlier_round_does_not_end_the_wait_for_the_latest) {
    play(sent(numbered_settings),
         {{6ms, acquired("12"), "wait 50", "wait 12"},
          {12ms, timer, "acquire; wait 62"},
          {13ms, retaken('2', 0), "wait 62"},
          {14ms, give_up, "release; wait 64"},
          {16ms, released("GG"), "wait 64", "resolved released; wait never"},
          {17ms, acquired('D', 2), "wait never"},  // The latest may still grant.
          {18ms, retaken('D', 2), "wait 1030"}});
}

BOOST_AUTO_TEST_CASE(a_quorum_that_cannot_agree_is_contended) {
    lease machine = sent(numbered_settings);
    play(machine, {{0ms, acquired('F', 2), "wait 50"},
                   {0ms, acquired("12"), "wait 50", "acquire; wait 50"}});
    for (std::uint32_t round = 1; round != 8; ++round) {
        play(machine, {{0ms, retaken('F', 2, round), "wait 50"},
                       {0ms, retaken.with(round + 2, 0, round), "wait 50"},
                       {0ms, retaken.with(round + 3, 1, round), "acquire; wait 50"}});
    }
    play(machine, {{0ms, retaken('F', 2, 8), "wait 50"},
                   {0ms, retaken.with(11, 0, 8), "wait 50"},
                   {0ms, retaken.with(12, 1, 8), "failed contended; release 01; wait 50"}});
}

BOOST_AUTO_TEST_CASE(a_hand_off_keeps_the_number) {
    lease machine = sent(numbered_settings);
    play(machine, {{10ms, acquired("3-3"), "wait 50", "granted; wait 300"},
                   {20ms, next_holder, "handed off; wait 300"}});
    BOOST_TEST(machine.value() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
