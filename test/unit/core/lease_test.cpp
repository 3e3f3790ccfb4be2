// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/lease.hpp"

#include "support/instance_set_text.hpp"
#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

// The life of one token. renew_test and release_test cover the decisions of renewals and releases. This test
// covers which instances are assumed to have a key, and which commands may be sent at which time.

namespace colock::core::test {
namespace {

using purpose = lease_tag::purpose_type;
using kind = lease::event::kind_type;
using event = std::function<lease_step(lease&, time_point)>;

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

event just(kind what) {
    return [what](lease& l, time_point now) { return l.resume(lease::event::just(what), now); };
}
event start() {
    return [](lease& l, time_point now) { return l.resume(lease::event::start({}), now); };
}
event give_up() {
    return just(kind::give_up);
}
event extend(duration ttl) {
    return [ttl](lease& l, time_point now) { return l.resume(lease::event::extend(ttl), now); };
}
event release() {
    return just(kind::release);
}
event next_holder() {
    return just(kind::next_holder);
}
event abandon() {
    return just(kind::abandon);
}
event close() {
    return just(kind::close);
}
event timer() {
    return just(kind::timer);
}
event voted(std::size_t i, lease_tag tag, const vote& v) {
    return [=](lease& l, time_point now) { return l.resume(lease::event::voted(i, tag, v), now); };
}
event voted(char letter, std::size_t i, lease_tag tag) {
    return voted(i, tag, vote_from(letter));
}
event acquired(char letter, std::size_t i) {
    return voted(letter, i, lease_tag(purpose::acquire));
}
event acquired_with(std::uint64_t fence, std::size_t i) {
    return voted(i, lease_tag(purpose::acquire), vote::granted(fence));
}
event extended(char letter, std::size_t i, std::uint32_t round = 1) {
    return voted(letter, i, lease_tag(purpose::extend, round));
}
event raised(char letter, std::size_t i) {
    return voted(letter, i, lease_tag(purpose::raise, 1));
}
event healed(char letter, std::size_t i) {
    return voted(letter, i, lease_tag(purpose::heal));
}
event accepting(std::size_t i) {
    return [i](lease& l, time_point now) { return l.resume(lease::event::accepting(i), now); };
}
event released(char letter, std::size_t i) {
    return voted(letter, i, lease_tag(purpose::release));
}

std::string name_of(step v) {
    switch (v) {
        case step::acquire:
            return "acquire";
        case step::extend:
            return "extend";
        case step::release:
            return "release";
        case step::remaining:
            return "remaining";
        case step::confirm:
            return "confirm";
        case step::join:
            return "join";
        case step::leave:
            return "leave";
        case step::withdraw:
            return "withdraw";
        case step::read:
            return "read";
        case step::look:
            return "look";
        case step::complete:
            return "complete";
        case step::inspect:
            return "inspect";
        case step::write:
            return "write";
    }
    return "?";
}

/// Returns the command with a tag.
command command_of(const lease& l, lease_tag tag) {
    command c;
    l.fill(c, tag);
    return c;
}

std::string describe(const lease& l, const lease_step& step) {
    std::vector<std::string> words;
    if (step.attempt) {
        words.push_back(*step.attempt == acquire_outcome::granted
                            ? "granted"
                            : "failed " + name(*step.attempt));
    }
    for (const std::string& one : words_of(step)) {
        words.push_back(one);
    }
    if (!step.heals.empty()) {
        words.push_back("heal " + colock::test::to_text(step.heals));
    }
    if (step.send) {
        std::string text = name_of(command_of(l, *step.send).step);
        if (step.send->purpose() == purpose::extend) {
            text += " #" + std::to_string(step.send->round());
        }
        if (step.targets != instance_set::all()) {
            text += " " + colock::test::to_text(step.targets);
        }
        words.push_back(text);
    }
    words.push_back(end_of(step));
    return joined(words);
}

struct scripted_step {
    duration time;
    test::event event;
    std::string expected;
};
using lease_script = std::vector<scripted_step>;

void play(lease& machine, const lease_script& steps) {
    for (std::size_t i = 0; i != steps.size(); ++i) {
        BOOST_TEST_CONTEXT("step " << i << ", at " << in_ms(steps[i].time) << " ms") {
            const lease_step step = steps[i].event(machine, at(steps[i].time));
            BOOST_TEST(describe(machine, step) == steps[i].expected);
        }
    }
}

/// Returns a lease whose attempt was sent to three instances at 0.
lease sent() {
    lease machine(settings, 42);
    play(machine, {{0ms, start(), "acquire; wait 50"}});
    return machine;
}

/// Returns a lease that was granted at 10 ms. Instance 2 has not voted yet.
lease held() {
    lease machine = sent();
    play(machine, {
                      {5ms, acquired('G', 0), "wait 50"},
                      {10ms, acquired('G', 1), "granted; wait 300"},
                  });
    return machine;
}

bool wanted(const lease& l, std::size_t i, purpose p) {
    return l.wanted(i, lease_tag(p));
}

BOOST_AUTO_TEST_SUITE(leases)

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
        start()(machine, at(0ms));
        acquired('G', 0)(machine, at(10ms));
        const lease_step step = acquired('G', 1)(machine, at(10ms));
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
    play(machine, {
                      {5ms, acquired('G', 0), "wait 50"},
                      {6ms, acquired('D', 1), "wait 50"},
                      {50ms, give_up(), "release 02; wait 100"},
                      {60ms, released('G', 0), "wait 100"},
                  });
    BOOST_TEST(machine.releasing());
    play(machine, {{61ms, released('N', 2), "resolved expired; ended"}});
    BOOST_TEST(machine.ended());
    BOOST_TEST(!machine.was_held());
}

BOOST_AUTO_TEST_CASE(rolls_back_on_all_silent_instances) {
    lease machine = sent();
    BOOST_TEST(machine.may_have_keys());
    play(machine, {{50ms, give_up(), "release; wait 100"}});
}

BOOST_AUTO_TEST_CASE(a_definite_failure_needs_no_rollback) {
    lease machine = sent();
    play(machine,
         {
             {1ms, voted(0, lease_tag(purpose::acquire), vote::failed(failure::down)), "wait 50"},
             {1ms, acquired('D', 1), "failed contended; resolved expired; release 2; wait never"},
             {1ms, acquired('N', 2), "wait 1013"},
         });
    BOOST_TEST(!machine.may_have_keys());
    BOOST_TEST(!wanted(machine, 2, purpose::release));
}

BOOST_AUTO_TEST_CASE(a_failure_with_unknown_outcome_is_rolled_back) {
    for (const failure f : {failure::timeout, failure::connection_lost, failure::unclear_error,
                            failure::unexpected_reply}) {
        const std::string wait = answered(f) ? "1013" : "never";  // It may be executed at any time.
        lease machine = sent();
        play(machine, {
                          {1ms, acquired('D', 1), "wait 50"},
                          {1ms, voted(0, lease_tag(purpose::acquire), vote::failed(f)),
                           "failed contended; release 02; wait 51"},
                          {1ms, acquired('D', 2), "wait 51"},
                          {2ms, released('N', 2), "resolved expired; wait " + wait},
                      });
    }
}

BOOST_AUTO_TEST_CASE(a_late_grant_after_an_answered_release_is_rolled_back) {
    lease machine = sent();
    play(machine, {
                      {50ms, give_up(), "release; wait 100"},
                      {60ms, released('N', 0), "wait 100"},
                      {61ms, acquired('G', 0), "release 0; wait 100"},
                      {62ms, released('G', 0), "wait 100"},
                      {63ms, released('G', 1), "resolved released; wait never"},
                      {64ms, released('G', 2), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(a_late_grant_during_its_release_needs_no_second_release) {
    lease machine = sent();
    play(machine, {
                      {50ms, give_up(), "release; wait 100"},
                      {61ms, acquired('G', 0), "wait 100"},
                      {62ms, released('G', 0), "wait 100"},
                  });
}

BOOST_AUTO_TEST_CASE(a_late_grant_overtaken_by_its_release_is_rolled_back) {
    for (const char nothing_there : {'N', 'D'}) {
        lease machine = sent();
        play(machine, {
                          {50ms, give_up(), "release; wait 100"},
                          {61ms, acquired('G', 0), "wait 100"},
                          {62ms, released(nothing_there, 0), "release 0; wait 100"},
                          {63ms, released('N', 1), "wait 100"},
                          {63ms, released('N', 2), "resolved expired; wait 1073"},
                          {64ms, released(nothing_there, 0), "ended"},  // The result is now final.
                      });
    }
}

BOOST_AUTO_TEST_CASE(events_after_the_end_are_ignored) {
    lease machine = sent();
    play(machine,
         {
             {1ms, acquired('D', 0), "wait 50"},
             {1ms, acquired('D', 1), "failed contended; resolved expired; release 2; wait never"},
             {1ms, released('N', 2), "ended"},
             {2ms, acquired('G', 0), "wait never"},
             {2ms, released('G', 0), "wait never"},
             {2ms, extended('G', 0), "wait never"},
             {2ms, timer(), "wait never"},
         });
}

// Commands that are withdrawn before they are sent.

BOOST_AUTO_TEST_CASE(an_acquire_is_withdrawn_once_its_attempt_is_rolled_back) {
    lease machine = sent();
    BOOST_TEST(wanted(machine, 0, purpose::acquire));
    BOOST_TEST(wanted(machine, 0, purpose::remaining));
    play(machine, {{0ms, give_up(), "release; wait 50"}});
    BOOST_TEST(!wanted(machine, 0, purpose::acquire));
    BOOST_TEST(wanted(machine, 0, purpose::release));
    BOOST_TEST(wanted(machine, 0, purpose::remaining));
}

BOOST_AUTO_TEST_CASE(a_release_is_withdrawn_where_the_acquire_was_not_sent) {
    const vote withdrawn = vote::failed(failure::withdrawn);
    lease machine = sent();
    play(machine, {
                      {0ms, give_up(), "release; wait 50"},
                      {0ms, voted(0, lease_tag(purpose::acquire), withdrawn), "wait 50"},
                  });
    BOOST_TEST(!wanted(machine, 0, purpose::release));
    BOOST_TEST(wanted(machine, 1, purpose::release));
    play(machine, {
                      {0ms, voted(0, lease_tag(purpose::release), withdrawn), "wait 50"},
                      {0ms, voted(1, lease_tag(purpose::acquire), withdrawn), "wait 50"},
                      {0ms, voted(1, lease_tag(purpose::release), withdrawn),
                       "resolved expired; wait never"},
                      {5ms, released('G', 2), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(extend_and_restore_are_sent_only_while_the_lease_is_held) {
    BOOST_TEST(!wanted(sent(), 0, purpose::extend));
    lease machine = held();
    BOOST_TEST(wanted(machine, 0, purpose::extend));
    BOOST_TEST(wanted(machine, 0, purpose::heal));
    BOOST_TEST(wanted(machine, 2, purpose::acquire));  // A late grant joins the lease.
    play(machine, {{20ms, release(), "release; wait 70"}});
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
    play(machine, {
                      {11ms, acquired('G', 2), "wait never"},
                      {20ms, release(), "release; wait 70"},
                  });
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.outcome().has_value());
    play(machine, {
                      {25ms, released('G', 0), "wait 70"},
                      {26ms, released('G', 2), "resolved released; wait 1032"},
                      {27ms, released('G', 1), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(a_failed_release_is_repeated_when_the_instance_recovers) {
    lease machine = held();
    play(machine, {
                      {11ms, accepting(0), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {21ms, released('F', 0), "wait 70"},
                      {22ms, released('G', 1), "wait 70"},
                      {23ms, released('G', 2), "resolved released; wait 1032"},
                      {300ms, accepting(1), "wait 1032"},
                      {400ms, accepting(0), "release 0; wait 1032"},
                      {401ms, released('G', 0), "ended"},
                      {402ms, accepting(0), "wait never"},
                  });
}

// An instance that has received an acquire without a reply may execute it at any time.

const vote lost_connection = vote::failed(failure::connection_lost);
const vote is_down = vote::failed(failure::down);

BOOST_AUTO_TEST_CASE(a_release_stays_pending_until_a_new_connection_answers) {
    lease machine = held();
    play(machine, {
                      {15ms, voted(2, lease_tag(purpose::acquire), lost_connection), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {21ms, voted(2, lease_tag(purpose::release), is_down), "wait 70"},
                      {22ms, released('G', 0), "wait 70"},
                      {23ms, released('G', 1), "resolved released; wait never"},
                      {5000ms, timer(), "wait never"},
                      {9000ms, accepting(2), "release 2; wait 10012"},
                      {9001ms, released('G', 2), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(a_pending_release_ends_one_ttl_after_the_recovery) {
    lease machine = held();
    play(machine, {
                      {15ms, voted(2, lease_tag(purpose::acquire), lost_connection), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {21ms, voted(2, lease_tag(purpose::release), is_down), "wait 70"},
                      {22ms, released('G', 0), "wait 70"},
                      {23ms, released('G', 1), "resolved released; wait never"},
                      {9000ms, accepting(2), "release 2; wait 10012"},
                      {10012ms, timer(), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(an_error_on_a_new_connection_counts_as_an_answer) {
    lease machine = held();
    play(machine, {
                      {15ms, voted(2, lease_tag(purpose::acquire), lost_connection), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {22ms, released('G', 0), "wait 70"},
                      {23ms, released('G', 1), "resolved released; wait never"},
                  });
    const lease_step step = voted(2, lease_tag(purpose::release),
                                  vote::failed(failure::server_error))(machine, at(500ms));
    BOOST_TEST((step.until < at(1512ms)));  // The retry.
    play(machine, {{1512ms, timer(), "ended"}});
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_the_acquire_limits_the_release_time) {
    lease machine = held();
    play(machine, {
                      {20ms, release(), "release; wait 70"},
                      {22ms, released('G', 0), "wait 70"},
                      {23ms, released('G', 1), "resolved released; wait never"},
                      {30ms, acquired('D', 2), "wait 1042"},  // It may have been executed just now.
                      {1042ms, timer(), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(an_answer_to_the_release_limits_the_release_time) {
    lease machine = held();
    play(machine, {
                      {15ms, voted(2, lease_tag(purpose::acquire), lost_connection), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {21ms, released('G', 2), "wait 70"},
                      {22ms, voted(0, lease_tag(purpose::release), is_down), "wait 70"},
                      {23ms, released('G', 1), "resolved released; wait 1032"},
                      {1032ms, timer(), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(no_release_is_sent_to_an_instance_that_denied) {
    lease machine = held();
    play(machine, {
                      {11ms, acquired('D', 2), "wait never"},
                      {20ms, release(), "release 01; wait 70"},
                      {25ms, released('G', 0), "wait 70"},
                      {26ms, released('G', 1), "resolved released; ended"},
                  });
}

BOOST_AUTO_TEST_CASE(a_restored_key_is_released_too) {
    lease machine = held();
    play(machine, {
                      {11ms, acquired('D', 2), "wait never"},
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('N', 2), "wait 350"},
                      {302ms, extended('G', 0), "wait 350"},
                      {303ms, extended('G', 1), "heal 2; wait 600"},
                      {310ms, healed('G', 2), "wait never"},
                      {320ms, release(), "release; wait 370"},
                  });
    BOOST_TEST(machine.releasing());
}

BOOST_AUTO_TEST_CASE(a_key_is_released_even_if_restoring_it_failed) {
    lease machine = held();
    play(machine, {
                      {11ms, acquired('D', 2), "wait never"},
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('N', 2), "wait 350"},
                      {302ms, extended('G', 0), "wait 350"},
                      {303ms, extended('G', 1), "heal 2; wait 600"},
                      {304ms, healed('F', 2), "wait never"},
                      {320ms, release(), "release; wait 370"},
                  });
}

BOOST_AUTO_TEST_CASE(a_key_restored_after_its_release_is_released_again) {
    lease machine = held();
    play(machine, {
                      {11ms, acquired('D', 2), "wait never"},
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('N', 2), "wait 350"},
                      {302ms, extended('G', 0), "wait 350"},
                      {303ms, extended('G', 1), "heal 2; wait 600"},
                      {320ms, release(), "release; wait 370"},
                      {321ms, released('N', 2), "wait 370"},
                      {322ms, released('G', 0), "wait 370"},
                      {323ms, healed('G', 2), "release 2; wait 370"},
                      {324ms, released('G', 2), "resolved released; wait 1332"},
                  });
}

BOOST_AUTO_TEST_CASE(votes_on_an_extend_are_ignored_after_the_release) {
    lease machine = held();
    play(machine, {
                      {300ms, timer(), "extend #1; wait 350"},
                      {310ms, release(), "release; wait 360"},
                      {311ms, extended('G', 0), "wait never"},
                      {311ms, extended('G', 1), "wait never"},
                      {311ms, extended('N', 2), "wait never"},
                      {312ms, extend(2s), "wait never"},
                      {313ms, timer(), "wait 360"},
                  });
}

BOOST_AUTO_TEST_CASE(keeps_releasing_for_the_longest_ttl_that_was_sent) {
    lease machine = held();
    play(machine, {
                      {15ms, acquired('G', 2), "wait never"},
                      {20ms, extend(5s), "extend #1; wait 70"},
                      {30ms, release(), "release; wait 80"},
                      {80ms, timer(), "resolved no_quorum; wait 5082"},
                      {5082ms, timer(), "ended"},
                  });
}

BOOST_AUTO_TEST_CASE(extends_again_right_after_the_answer) {
    lease machine = held();
    play(machine, {
                      {20ms, extend(2s), "extend #1; wait 70"},
                      {30ms, extended('G', 0), "wait 70"},
                  });
    play(machine, {
                      {31ms, extended('G', 1), "extended; wait 620"},
                      {31ms, extend(3s), "extend #2; wait 81"},
                  });
    BOOST_TEST(in_ms(machine.watchdog().ttl()) == "3000");
}

// A lost lease.

BOOST_AUTO_TEST_CASE(reports_the_loss_and_then_releases) {
    lease machine = held();
    play(machine, {
                      {300ms, timer(), "extend #1; wait 350"},
                      {310ms, extended('N', 0), "wait 350"},
                      {311ms, extended('D', 1), "lost keys_gone; wait 988"},
                      {320ms, release(), "release; wait 370"},
                      {321ms, released('G', 0), "wait 370"},
                      {322ms, released('G', 1), "resolved expired; wait never"},
                  });
}

// The holder may still be working when the loss is reported.

BOOST_AUTO_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_holder_releases_it) {
    lease machine = held();
    play(machine, {{938ms, timer(), "lost unrenewable; wait 988"}});  // The timer was late.
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.held());
    BOOST_TEST(machine.lost());
    BOOST_TEST(!wanted(machine, 0, purpose::extend));
    BOOST_TEST(!wanted(machine, 0, purpose::acquire));
    play(machine, {
                      {940ms, timer(), "wait 988"},
                      {941ms, extend(5s), "wait 988"},
                      {950ms, release(), "release; wait 1000"},
                      {951ms, release(), "wait never"},
                  });
    BOOST_TEST(machine.releasing());
}

BOOST_AUTO_TEST_CASE(a_lost_lease_keeps_its_keys_until_its_validity_ends) {
    lease machine = held();
    play(machine, {
                      {938ms, timer(), "lost unrenewable; wait 988"},
                      {987ms, timer(), "wait 988"},
                      {988ms, timer(), "release; wait 1038"},
                      {989ms, release(), "wait never"},
                  });
}

BOOST_AUTO_TEST_CASE(a_lease_found_expired_is_released_immediately) {
    lease machine = held();
    play(machine, {
                      {990ms, timer(), "lost unrenewable; wait 988"},
                      {990ms, timer(), "release; wait 1040"},
                  });
}

/// The loss is reported before the validity ends. The keys expire between this report and the release.
BOOST_AUTO_TEST_CASE(a_lease_whose_keys_expire_at_its_release_reports_expired) {
    for (const duration renewed_every : {duration(0), duration(300ms)}) {
        lease_settings some = settings;
        some.renew_interval = renewed_every;
        lease machine(some, 42);
        const std::string why = renewed_every == duration::zero() ? "expired" : "unrenewable";
        play(machine, {
                          {0ms, start(), "acquire; wait 50"},
                          {5ms, acquired('G', 0), "wait 50"},
                          {5ms, acquired('G', 1),
                           "granted; wait " + std::string(why == "expired" ? "938" : "300")},
                          {938ms, timer(), "lost " + why + "; wait 988"},
                          {987ms, release(), "release; wait 1037"},
                          {1001ms, released('N', 0), "wait 1037"},
                          {1001ms, released('N', 1), "resolved expired; wait never"},
                      });
    }
    lease machine = held();  // If another client has the key, two holders may have overlapped.
    play(machine, {
                      {938ms, timer(), "lost unrenewable; wait 988"},
                      {987ms, release(), "release; wait 1037"},
                      {988ms, released('N', 0), "wait 1037"},
                      {988ms, released('D', 1), "resolved lost; wait never"},
                  });
}

BOOST_AUTO_TEST_CASE(late_release_reports_missing_keys) {
    lease machine = held();
    play(machine, {
                      {300ms, timer(), "extend #1; wait 350"},
                      {310ms, extended('N', 0), "wait 350"},
                      {311ms, extended('N', 1), "lost keys_gone; wait 988"},
                      {988ms, timer(), "release; wait 1038"},
                      {989ms, released('N', 0), "wait 1038"},
                      {989ms, released('N', 1), "resolved lost; wait never"},
                  });
}

BOOST_AUTO_TEST_CASE(keys_are_kept_until_max_hold_ends) {
    lease_settings limited = settings;
    limited.max_hold = 200ms;
    lease machine(limited, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('G', 0), "wait 50"},
                      {5ms, acquired('G', 1), "granted; wait 195"},
                  });
    BOOST_TEST(in_ms(machine.valid_until()) == "205");
    play(machine, {
                      {195ms, timer(), "lost max_hold; wait 205"},
                      {205ms, timer(), "release; wait 255"},
                  });
}

BOOST_AUTO_TEST_CASE(is_lost_when_its_client_is_closed) {
    lease machine = held();
    play(machine, {
                      {20ms, close(), "lost closed; wait 988"},
                      {21ms, close(), "wait 988"},
                      {22ms, release(), "release; wait 72"},
                  });
}

// A client that is being closed waits for these releases.

BOOST_AUTO_TEST_CASE(settles_when_a_quorum_and_all_reachable_have_answered) {
    lease machine = held();
    BOOST_TEST(!machine.settled(at(11ms)));
    play(machine, {{20ms, close(), "lost closed; wait 988"}});
    BOOST_TEST(!machine.settled(at(500ms)));
    play(machine, {
                      {500ms, release(), "release; wait 550"},
                      {501ms, voted(0, lease_tag(purpose::release), vote::failed(failure::down)),
                       "wait 550"},
                      {502ms, released('G', 1), "wait 550"},
                  });
    BOOST_TEST(!machine.settled(at(502ms)));
    play(machine, {{503ms, released('G', 2), "resolved expired; wait 1512"}});
    BOOST_TEST(machine.settled(at(503ms)));  // Instance 0 is down.
    BOOST_TEST(!machine.ended());
}

BOOST_AUTO_TEST_CASE(settles_when_silent_instance_times_out) {
    lease machine = held();
    play(machine, {
                      {20ms, release(), "release; wait 70"},
                      {21ms, released('G', 0), "wait 70"},
                      {22ms, released('G', 1), "resolved released; wait never"},
                  });
    BOOST_TEST(!machine.settled(at(69ms)));
    BOOST_TEST(machine.settled(at(70ms)));
}

BOOST_AUTO_TEST_CASE(does_not_settle_without_a_quorum_of_answers) {
    lease machine = held();
    play(machine, {
                      {15ms, acquired('G', 2), "wait never"},
                      {20ms, release(), "release; wait 70"},
                      {21ms, released('G', 0), "wait 70"},
                      {70ms, timer(), "resolved no_quorum; wait 1032"},
                  });
    BOOST_TEST(!machine.answered());
    BOOST_TEST(!machine.settled(at(500ms)));
    play(machine, {{1032ms, timer(), "ended"}});
    BOOST_TEST(machine.settled(at(1032ms)));
}

/// Instance 1 had nothing to release at first, because the release had overtaken the acquire.
BOOST_AUTO_TEST_CASE(does_not_settle_if_a_late_grant_may_make_a_quorum) {
    lease machine = sent();
    play(machine, {
                      {1ms, acquired('F', 0), "wait 50"},
                      {2ms, give_up(), "release 12; wait 52"},
                      {3ms, released('N', 1), "resolved expired; wait never"},
                  });
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
    play(machine, {{20ms, release(), "release; wait 70"}});
    machine.disconnect();
    BOOST_TEST(machine.ended());
    BOOST_TEST((machine.outcome() == release_outcome::no_quorum));

    lease resolved = held();
    play(resolved, {
                       {20ms, release(), "release; wait 70"},
                       {25ms, released('G', 0), "wait 70"},
                       {26ms, released('G', 1), "resolved released; wait never"},
                   });
    resolved.disconnect();
    BOOST_TEST((resolved.outcome() == release_outcome::released));
}

// A lease that is abandoned without a release.

BOOST_AUTO_TEST_CASE(an_abandoned_lease_sends_nothing_and_ends) {
    lease machine = held();
    play(machine, {{20ms, abandon(), "ended"}});
    BOOST_TEST(machine.abandoned());
    BOOST_TEST(!machine.held());
    BOOST_TEST(machine.settled(at(20ms)));
    BOOST_TEST(!machine.outcome());
    BOOST_TEST(in_ms(machine.valid_until()) == "before all time");
    for (const purpose what : {purpose::extend, purpose::heal, purpose::acquire}) {
        BOOST_TEST(!wanted(machine, 0, what));
    }
    play(machine, {
                      {300ms, timer(), "wait never"},
                      {301ms, acquired('G', 2), "wait never"},
                      {302ms, abandon(), "wait never"},
                      {303ms, release(), "wait never"},
                      {304ms, close(), "wait never"},
                      {305ms, accepting(0), "wait never"},
                  });
    BOOST_TEST(machine.abandoned());
}

BOOST_AUTO_TEST_CASE(a_lost_lease_can_be_abandoned) {
    lease machine = held();
    play(machine, {
                      {20ms, close(), "lost closed; wait 988"},
                      {21ms, abandon(), "ended"},
                      {988ms, timer(), "wait never"},
                  });
}

BOOST_AUTO_TEST_CASE(an_attempt_and_a_release_cannot_be_abandoned) {
    lease attempt = sent();
    play(attempt, {{1ms, abandon(), "wait never"}});
    BOOST_TEST(attempt.acquiring());
    lease released = held();
    play(released, {
                       {20ms, release(), "release; wait 70"},
                       {21ms, abandon(), "wait never"},
                   });
    BOOST_TEST(released.releasing());
}

// The adoption of a lease of another process.

event adopt(const adopted_values& has) {
    return [&has](lease& l, time_point now) {
        attempt made;
        made.adopted = &has;
        return l.resume(lease::event::start(made), now);
    };
}
event adopted(char letter, std::size_t i) {
    return voted(letter, i, lease_tag(purpose::adopt, 1));
}

BOOST_AUTO_TEST_CASE(an_adopted_lease_is_extended_and_held) {
    const adopted_values has{42, "42 43 "};
    lease machine(settings, 42);
    play(machine, {{0ms, adopt(has), "extend; wait 50"}});
    const command sent = command_of(machine, lease_tag(purpose::adopt, 1));
    BOOST_TEST((sent.step == step::extend));
    BOOST_TEST((sent.ttl == 1s));
    BOOST_TEST(sent.value == 42U);
    BOOST_TEST(*sent.values == "42 43 ");
    BOOST_TEST(wanted(machine, 2, purpose::adopt));
    BOOST_TEST(!machine.held());
    play(machine, {
                      {5ms, adopted('G', 0), "wait 50"},
                      {10ms, adopted('G', 1), "granted; wait 300"},
                      {11ms, adopted('N', 2), "wait never"},
                  });
    BOOST_TEST(machine.value() == 42U);
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    // From here on, it is an ordinary lease.
    play(machine, {
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('G', 0), "wait 350"},
                      {302ms, extended('G', 1), "wait 600"},
                      {303ms, extended('N', 2), "heal 2; wait 600"},
                      {304ms, release(), "release; wait 354"},
                  });
}

/// An instance may have granted other permits than the quorum, or have lost one of several names. Its denial
/// only means that it does not have everything that the lease has.
BOOST_AUTO_TEST_CASE(an_adopted_lease_is_released_everywhere) {
    const adopted_values has{2, ""};
    for (const agreement rule : {agreement::same, agreement::none}) {
        lease_settings of_permits = settings;
        of_permits.agreement = rule;
        lease machine(of_permits, 42);
        play(machine, {
                          {0ms, adopt(has), "extend; wait 50"},
                          {5ms, adopted('N', 2), "wait 50"},
                          {6ms, adopted('G', 0), "wait 50"},
                          {7ms, adopted('G', 1), "granted; wait 300"},
                      });
        const event let_go = release();
        let_go(machine, at(10ms));
        BOOST_TEST(wanted(machine, 0, purpose::release));
        BOOST_TEST(wanted(machine, 2, purpose::release));
    }
}

/// The keys keep the ttl that the other process gave them. So the release may have to wait for this time.
BOOST_AUTO_TEST_CASE(an_adopted_lease_is_released_until_its_longest_ttl_has_ended) {
    for (const duration ttl : {duration(1ms), duration(30s)}) {
        const adopted_values has{.ttl = ttl};
        lease machine(settings, 42);
        play(machine, {
                          {0ms, adopt(has), "extend; wait 50"},
                          {5ms, adopted('G', 0), "wait 50"},
                          {6ms, adopted('G', 1), "granted; wait 300"},
                      });
        const event let_go = release();
        let_go(machine, at(10ms));
        BOOST_TEST(machine.releasing());
        const time_point end = gone_at(at(10ms), std::max(ttl, settings.ttl), settings.drift);
        timer()(machine, end - 1ms);
        BOOST_TEST(machine.releasing());
        timer()(machine, end);
        BOOST_TEST(!machine.releasing());
    }
}

BOOST_AUTO_TEST_CASE(an_adoption_that_fails_leaves_the_keys_as_they_are) {
    const adopted_values has;
    {
        lease gone(settings, 42);
        play(gone, {
                       {0ms, adopt(has), "extend; wait 50"},
                       {5ms, adopted('G', 0), "wait 50"},
                       {6ms, adopted('N', 1), "wait 50"},
                       {7ms, adopted('D', 2), "failed contended; ended"},
                   });
        BOOST_TEST(gone.abandoned());
    }
    {
        // A quorum may have the keys: instance 0, and instance 2, which has not answered.
        lease uncertain(settings, 42);
        play(uncertain, {
                            {0ms, adopt(has), "extend; wait 50"},
                            {5ms, adopted('G', 0), "wait 50"},
                            {6ms, adopted('N', 1), "wait 50"},
                            {50ms, timer(), "failed no_quorum; ended"},
                        });
    }
    {
        lease silent(settings, 42);
        play(silent, {
                         {0ms, adopt(has), "extend; wait 50"},
                         {5ms, adopted('G', 0), "wait 50"},
                         {50ms, timer(), "failed no_quorum; ended"},
                         {51ms, adopted('G', 1), "wait never"},
                     });
    }
    {
        lease cancelled(settings, 42);
        play(cancelled, {
                            {0ms, adopt(has), "extend; wait 50"},
                            {5ms, give_up(), "ended"},
                        });
        BOOST_TEST(!wanted(cancelled, 0, purpose::adopt));
    }
}

BOOST_AUTO_TEST_CASE(an_adoption_that_comes_too_late_is_no_lease) {
    const adopted_values has;
    lease_settings patient = settings;
    patient.instance_timeout = 2s;
    lease machine(patient, 42);
    play(machine, {
                      {0ms, adopt(has), "extend; wait 2000"},
                      {5ms, adopted('G', 0), "wait 2000"},
                      {940ms, adopted('G', 1), "failed too_slow; ended"},
                  });
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
    lease machine(early, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('G', 0), "wait 50"},
                      {5ms, acquired('G', 1), "granted; wait 300"},
                  });
    BOOST_TEST(machine.may_hand_off(at(238ms)));  // The loss is due at 488 ms.
    BOOST_TEST(!machine.may_hand_off(at(238ms) + 1ns));
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_only_while_it_is_held) {
    const lease attempt = sent();
    BOOST_TEST(!attempt.may_hand_off(at(10ms)));
    lease released = held();
    release()(released, at(11ms));
    BOOST_TEST(!released.may_hand_off(at(11ms)));
    lease lost = held();
    close()(lost, at(11ms));  // It must still be released.
    BOOST_TEST(!lost.may_hand_off(at(11ms)));
}

BOOST_AUTO_TEST_CASE(may_not_be_handed_off_without_a_watchdog) {
    lease_settings unrenewed = settings;
    unrenewed.renew_interval = 0ms;
    lease machine(unrenewed, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('G', 0), "wait 50"},
                      {5ms, acquired('G', 1), "granted; wait 938"},
                  });
    BOOST_TEST(!machine.may_hand_off(at(10ms)));
}

BOOST_AUTO_TEST_CASE(may_not_be_handed_off_during_or_after_a_change_of_ttl) {
    for (const duration other : {duration(2s), duration(999ms)}) {
        lease machine = held();
        extend(other)(machine, at(20ms));
        BOOST_TEST(!machine.may_hand_off(at(20ms)));
        play(machine, {{21ms, extended('G', 0), "wait 70"}});
        extended('G', 1)(machine, at(22ms));
        BOOST_TEST(!machine.may_hand_off(at(22ms)));
    }
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_during_a_renewal_and_after_one) {
    lease machine = held();
    play(machine, {{300ms, timer(), "extend #1; wait 350"}});
    BOOST_TEST(machine.may_hand_off(at(300ms)));
    play(machine, {
                      {301ms, extended('G', 0), "wait 350"},
                      {302ms, extended('G', 1), "wait 600"},
                  });
    BOOST_TEST(machine.may_hand_off(at(302ms)));
    BOOST_TEST(machine.may_hand_off(at(788ms)));
}

BOOST_AUTO_TEST_CASE(may_be_handed_off_after_an_extension_to_the_same_ttl) {
    lease machine = held();
    extend(settings.ttl)(machine, at(20ms));
    BOOST_TEST(!machine.may_hand_off(at(20ms)));
    play(machine, {
                      {21ms, extended('G', 0), "wait 70"},
                      {22ms, extended('G', 1), "extended; wait 320"},
                  });
    BOOST_TEST(machine.may_hand_off(at(22ms)));
}

BOOST_AUTO_TEST_CASE(max_hold_starts_again_for_the_next_holder) {
    lease_settings limited = settings;
    limited.max_hold = 400ms;
    lease machine(limited, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('G', 0), "wait 50"},
                      {5ms, acquired('G', 1), "granted; wait 300"},
                  });
    play(machine, {
                      {250ms, next_holder(), "handed off; wait 300"},
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('G', 0), "wait 350"},
                      {302ms, extended('G', 1), "wait 600"},
                      {400ms, timer(), "wait 600"},
                      {600ms, timer(), "extend #2; wait 630"},
                      {630ms, timer(), "lost max_hold; wait 650"},
                      {650ms, timer(), "release; wait 700"},
                  });
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
    lease machine(fenced_settings, 42);
    play(machine, {{0ms, start(), "acquire; wait 50"}});
    BOOST_TEST(machine.value() == 0U);  // An acquire that increments the counter requests no value.
    play(machine, {
                      {5ms, acquired_with(7, 0), "wait 50"},
                      {10ms, acquired_with(7, 1), "granted; wait 300"},
                      {300ms, timer(), "extend #1; wait 350"},
                      {301ms, extended('N', 2), "wait 350"},
                      {301ms, extended('G', 0), "wait 350"},
                  });
    BOOST_TEST(machine.value() == 7U);
    play(machine, {{302ms, extended('G', 1), "heal 2; wait 600"}});
    const command heal = command_of(machine, lease_tag(purpose::heal));
    BOOST_TEST((heal.step == step::acquire));
    BOOST_TEST(heal.heals);
    BOOST_TEST(heal.value == 7U);
    BOOST_TEST((heal.ttl == 1s));
}

BOOST_AUTO_TEST_CASE(a_raise_goes_to_all_and_does_not_affect_release_targets) {
    lease machine(fenced_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('D', 2), "wait 50"},
                      {5ms, acquired_with(7, 0), "wait 50"},
                      {5ms, acquired_with(9, 1), "confirm; wait 55"},
                  });
    BOOST_TEST(command_of(machine, lease_tag(purpose::raise, 1)).value == 9U);
    play(machine, {
                      {6ms, raised('G', 0), "wait 55"},
                      // The release goes to instances that have granted or may still grant.
                      {7ms, give_up(), "release 01; wait 57"},
                      {8ms, raised('G', 1), "wait never"},  // Too late.
                  });
}

/// Returns a lease that was granted at 10 ms with fence 7.
lease held_with_fence() {
    lease machine(fenced_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(7, 0), "wait 50"},
                      {10ms, acquired_with(7, 1), "granted; wait 300"},
                  });
    return machine;
}

event counted(std::size_t i, std::uint64_t fence, std::uint32_t round = 1) {
    return voted(i, lease_tag(purpose::next_value, round), vote::granted(fence));
}
event not_counted(char letter, std::size_t i, std::uint32_t round = 1) {
    return voted(letter, i, lease_tag(purpose::next_value, round));
}

// Hand-offs with a separate fence for each holder.

BOOST_AUTO_TEST_CASE(one_round_gives_the_next_holder_a_fence) {
    lease machine = held_with_fence();
    BOOST_TEST(machine.may_hand_off(at(20ms)));
    play(machine, {{20ms, next_holder(), "confirm; wait 70"}});
    // Increments the counter.
    BOOST_TEST(command_of(machine, lease_tag(purpose::next_value, 1)).value == 0U);
    BOOST_TEST(!machine.held());
    BOOST_TEST((machine.valid_until() == time_point::min()));
    BOOST_TEST(!machine.may_hand_off(at(20ms)));
    BOOST_TEST(wanted(machine, 0, purpose::next_value));
    BOOST_TEST(wanted(machine, 0, purpose::extend));
    play(machine, {
                      {21ms, counted(0, 8), "wait 70"},
                      {22ms, counted(2, 8), "handed off; wait 300"},
                      {23ms, counted(1, 9), "wait never"},  // Too late.
                  });
    BOOST_TEST(machine.held());
    BOOST_TEST(machine.value() == 8U);
    BOOST_TEST(!wanted(machine, 0, purpose::next_value));
}

BOOST_AUTO_TEST_CASE(differing_counters_need_a_second_round) {
    lease machine = held_with_fence();
    play(machine, {
                      {20ms, next_holder(), "confirm; wait 70"},
                      {21ms, counted(0, 8), "wait 70"},
                  });
    const lease_step second = counted(2, 12)(machine, at(22ms));
    BOOST_TEST(describe(machine, second) == "confirm; wait 72");
    BOOST_TEST(second.send->round() == 2U);
    BOOST_TEST(command_of(machine, *second.send).value == 12U);
    play(machine, {
                      {23ms, counted(1, 9), "wait never"},  // A reply to the first round.
                      {24ms, counted(0, 12, 2), "wait 72"},
                      {25ms, counted(1, 30, 2), "handed off; wait 300"},  // This counter is ahead.
                  });
    BOOST_TEST(machine.value() == 12U);
}

BOOST_AUTO_TEST_CASE(a_lease_with_missing_keys_is_released_and_not_handed_off) {
    lease machine = held_with_fence();
    play(machine, {
                      {20ms, next_holder(), "confirm; wait 70"},
                      {21ms, not_counted('D', 0), "wait 70"},
                      {22ms, not_counted('N', 1), "release; wait 72"},
                      {23ms, released('D', 0), "wait 72"},
                      {23ms, released('N', 1), "resolved lost; wait never"},
                  });
}

BOOST_AUTO_TEST_CASE(a_hand_off_without_a_quorum_releases_the_lease) {
    lease silent = held_with_fence();
    play(silent, {
                     {20ms, next_holder(), "confirm; wait 70"},
                     {21ms, counted(0, 8), "wait 70"},
                     {70ms, timer(), "release; wait 120"},
                 });
    lease failed = held_with_fence();
    play(failed, {
                     {20ms, next_holder(), "confirm; wait 70"},
                     {21ms, not_counted('F', 0), "wait 70"},
                     {22ms, not_counted('F', 1), "release; wait 72"},
                 });
}

BOOST_AUTO_TEST_CASE(a_lease_is_renewed_during_its_hand_off) {
    lease machine = held_with_fence();
    play(machine, {
                      {290ms, next_holder(), "confirm; wait 300"},
                      {300ms, timer(), "extend #1; wait 340"},
                      {301ms, extended('G', 0), "wait 340"},
                      {302ms, extended('G', 1), "wait 340"},
                      {303ms, counted(0, 8), "wait 340"},
                      {304ms, counted(1, 8), "handed off; wait 600"},
                  });
}

BOOST_AUTO_TEST_CASE(a_lease_that_expires_during_its_hand_off_is_released) {
    lease machine = held_with_fence();
    play(machine, {
                      {400ms, next_holder(), "confirm; wait 300"},
                      {400ms, timer(), "extend #1; wait 450"},
                      {939ms, counted(0, 8), "release; wait 989"},
                  });
}

BOOST_AUTO_TEST_CASE(closing_during_a_hand_off_releases_the_lease) {
    lease machine = held_with_fence();
    play(machine, {
                      {20ms, next_holder(), "confirm; wait 70"},
                      {21ms, release(), "wait never"},  // A repeated release by the former holder.
                      {22ms, close(), "release; wait 72"},
                  });
}

BOOST_AUTO_TEST_CASE(a_raise_is_withdrawn_once_its_attempt_is_rolled_back) {
    lease machine(fenced_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(7, 0), "wait 50"},
                      {5ms, acquired_with(9, 1), "confirm; wait 55"},
                  });
    BOOST_TEST(wanted(machine, 0, purpose::raise));
    play(machine, {{6ms, give_up(), "release; wait 56"}});
    BOOST_TEST(!wanted(machine, 0, purpose::raise));
}

// The number of a permit, which must be the same on a quorum.

lease_settings three_numbered() {
    lease_settings s = three();
    s.agreement = agreement::same;
    return s;
}

const lease_settings numbered_settings = three_numbered();

event retaken_with(std::uint64_t number, std::size_t i, std::uint32_t round = 1) {
    return voted(i, lease_tag(purpose::retake, round), vote::granted(number));
}
event retaken(char letter, std::size_t i, std::uint32_t round = 1) {
    return voted(letter, i, lease_tag(purpose::retake, round));
}

BOOST_AUTO_TEST_CASE(one_number_at_a_quorum_is_granted) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(3, 0), "wait 50"},
                      {10ms, acquired_with(3, 2), "granted; wait 300"},
                      {11ms, acquired_with(3, 1), "wait never"},
                  });
    BOOST_TEST(machine.value() == 3U);
    BOOST_TEST((machine.valid_until() == at(988ms)));
}

BOOST_AUTO_TEST_CASE(an_instance_with_another_number_is_corrected) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(4, 1), "wait 50"},
                      {5ms, acquired_with(3, 0), "wait 10"},
                      {8ms, acquired_with(3, 2), "granted; heal 1; wait 300"},
                  });
    const command heal = command_of(machine, lease_tag(purpose::heal));
    BOOST_TEST(heal.heals);
    BOOST_TEST(heal.value == 3U);
    lease late(numbered_settings, 42);
    play(late, {
                   {0ms, start(), "acquire; wait 50"},
                   {5ms, acquired_with(3, 0), "wait 50"},
                   {8ms, acquired_with(3, 2), "granted; wait 300"},
                   {9ms, acquired_with(4, 1), "heal 1; wait 300"},
               });
    // The instance is assumed to have the key, and may be about to execute the restore.
    play(late, {{10ms, release(), "release; wait 60"}});
}

BOOST_AUTO_TEST_CASE(different_numbers_take_another_round) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(1, 0), "wait 50"},
                      // The third vote may complete a quorum for one number.
                      {6ms, acquired_with(2, 1), "wait 12"},
                      {12ms, timer(), "acquire; wait 62"},
                  });
    const command retake = command_of(machine, lease_tag(purpose::retake, 1));
    BOOST_TEST(!retake.heals);
    BOOST_TEST(retake.value == 2U);
    play(machine, {
                      {13ms, acquired_with(2, 2), "wait never"},  // A reply to the first round.
                      {14ms, retaken_with(2, 1), "wait 62"},
                      {15ms, retaken_with(2, 0), "granted; wait 300"},
                  });
    BOOST_TEST(machine.value() == 2U);
    BOOST_TEST((machine.valid_until() == at(988ms)));  // Counted from the first round.
}

BOOST_AUTO_TEST_CASE(votes_that_cannot_bring_one_number_are_not_awaited) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('F', 2), "wait 50"},
                      {5ms, acquired_with(1, 0), "wait 50"},
                      {6ms, acquired_with(2, 1), "acquire; wait 56"},
                      {7ms, retaken_with(3, 0), "wait 56"},
                      {8ms, retaken_with(2, 1), "wait 10"},
                      {9ms, retaken('F', 2), "acquire; wait 59"},
                      {10ms, retaken_with(3, 0, 2), "wait 59"},
                      {11ms, retaken_with(3, 1, 2), "granted; wait 300"},
                  });
    BOOST_TEST(machine.value() == 3U);
}

BOOST_AUTO_TEST_CASE(a_denial_of_an_earlier_round_does_not_end_the_belief_in_a_later_grant) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(1, 0), "wait 50"},
                      {6ms, acquired_with(2, 1), "wait 12"},
                      {12ms, timer(), "acquire; wait 62"},
                      {13ms, acquired('D', 2), "wait never"},
                      // It goes to all instances, because the third may still grant.
                      {14ms, give_up(), "release; wait 64"},
                  });
}

BOOST_AUTO_TEST_CASE(a_round_that_is_not_executed_takes_nothing_away) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired('D', 2), "wait 50"},
                      {5ms, acquired_with(1, 0), "wait 50"},
                      {6ms, acquired_with(2, 1), "acquire; wait 56"},
                      {7ms, retaken('F', 0), "wait 56"},  // It still has the first number.
                      {8ms, retaken('D', 2), "failed contended; release 01; wait 58"},
                  });
}

BOOST_AUTO_TEST_CASE(a_late_answer_to_an_earlier_round_does_not_end_the_wait_for_the_latest) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(1, 0), "wait 50"},
                      {6ms, acquired_with(2, 1), "wait 12"},
                      {12ms, timer(), "acquire; wait 62"},
                      {13ms, retaken_with(2, 0), "wait 62"},
                      {14ms, give_up(), "release; wait 64"},
                      {15ms, released('G', 0), "wait 64"},
                      {16ms, released('G', 1), "resolved released; wait never"},
                      {17ms, acquired('D', 2), "wait never"},  // The latest may still grant.
                      {18ms, retaken('D', 2), "wait 1030"},
                  });
}

BOOST_AUTO_TEST_CASE(a_quorum_that_cannot_agree_is_contended) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {0ms, acquired('F', 2), "wait 50"},
                      {0ms, acquired_with(1, 0), "wait 50"},
                      {0ms, acquired_with(2, 1), "acquire; wait 50"},
                  });
    for (std::uint32_t round = 1; round != 8; ++round) {
        play(machine, {
                          {0ms, retaken('F', 2, round), "wait 50"},
                          {0ms, retaken_with(round + 2, 0, round), "wait 50"},
                          {0ms, retaken_with(round + 3, 1, round), "acquire; wait 50"},
                      });
    }
    play(machine, {
                      {0ms, retaken('F', 2, 8), "wait 50"},
                      {0ms, retaken_with(11, 0, 8), "wait 50"},
                      {0ms, retaken_with(12, 1, 8), "failed contended; release 01; wait 50"},
                  });
}

BOOST_AUTO_TEST_CASE(a_hand_off_keeps_the_number) {
    lease machine(numbered_settings, 42);
    play(machine, {
                      {0ms, start(), "acquire; wait 50"},
                      {5ms, acquired_with(3, 0), "wait 50"},
                      {10ms, acquired_with(3, 2), "granted; wait 300"},
                      {20ms, next_holder(), "handed off; wait 300"},
                  });
    BOOST_TEST(machine.value() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
