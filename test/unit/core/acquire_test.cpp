// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "unit/core/acquire_support.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(acquiring)

// The votes.

BOOST_AUTO_TEST_CASE(needs_exactly_a_quorum) {
    for (std::size_t n = 1; n <= 7; ++n) {
        for (std::size_t first = 0; first != n; ++first) {  // Any of them.
            BOOST_TEST_CONTEXT(n << " instances, from " << first) {
                attempts machine(once(n), acquire_seed);
                BOOST_TEST(said(machine, start, at(5ms)) == "attempt; wait 55");
                for (std::size_t k = 1; k < quorum_of(n); ++k) {
                    BOOST_TEST(said(machine, granted((first + k) % n), at(6ms)) == "wait 55");
                }
                BOOST_TEST(said(machine, granted(first), at(7ms)) == "granted 993");
                BOOST_TEST((machine.policy().sent() == at(5ms)));
                BOOST_TEST(machine.lease().votes().granted() == quorum_of(n));
                BOOST_TEST(machine.policy().attempts() == 1U);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(ends_with_the_deciding_vote) {
    struct row {
        std::size_t instances;
        std::string letters;  // The last one decides. '.' is silence until the timeout.
        std::string expected;
    };
    const row rows[] = {
        {1, "G", "granted 988"},
        {1, "D", "give_back; failed contended"},
        {1, "F", "give_back; failed no_quorum"},
        {1, ".", "give_back; failed no_quorum"},
        {2, "GG", "granted 988"},
        {2, "D", "give_back; failed contended"},
        {2, "GD", "give_back; failed contended"},
        {2, "F", "give_back; failed no_quorum"},
        {2, "G.", "give_back; failed no_quorum"},
        {3, "GG", "granted 988"},
        {3, "DGG", "granted 988"},
        {3, "FGG", "granted 988"},
        {3, "DD", "give_back; failed contended"},
        {3, "DGD", "give_back; failed contended"},
        {3, "FGD", "give_back; failed contended"},
        {3, "FF", "give_back; failed no_quorum"},
        {3, "GFF", "give_back; failed no_quorum"},
        {3, "GD.", "give_back; failed contended"},
        {4, "GGG", "granted 988"},
        {4, "GGDG", "granted 988"},
        {4, "DD", "give_back; failed contended"},
        {4, "GGDD", "give_back; failed contended"},
        {4, "DF", "give_back; failed contended"},
        {4, "FF", "give_back; failed no_quorum"},
        {5, "GGG", "granted 988"},
        {5, "GDGDG", "granted 988"},
        {5, "FGFGG", "granted 988"},
        {5, "NGNGG", "granted 988"},
        {5, "DDD", "give_back; failed contended"},
        {5, "GGDDD", "give_back; failed contended"},
        {5, "DFD", "give_back; failed contended"},
        {5, "GFFD", "give_back; failed contended"},
        {5, "FFF", "give_back; failed no_quorum"},
        {5, "GGFFF", "give_back; failed no_quorum"},
        {5, ".", "give_back; failed no_quorum"},
        {5, "GG.", "give_back; failed no_quorum"},
        {5, "DD.", "give_back; failed no_quorum"},
        {5, "GGD.", "give_back; failed contended"},
        {5, "GGF.", "give_back; failed no_quorum"},
        {6, "GGGG", "granted 988"},
        {6, "GGGDDD", "give_back; failed contended"},
        {6, "FFF", "give_back; failed no_quorum"},
        {7, "GGGG", "granted 988"},
        {7, "GGGDDDD", "give_back; failed contended"},
        {7, "FFFF", "give_back; failed no_quorum"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.instances << " instances: " << r.letters) {
            attempts machine = begun(once(r.instances));
            for (std::size_t i = 0; i != r.letters.size(); ++i) {
                const bool last = i + 1 == r.letters.size();
                const char letter = r.letters[i];
                const auto words =
                    letter == '.'
                        ? said(machine, timer, at(50ms))
                        : said(machine, attempts::event::voted(i, vote_from(letter)), at(1ms));
                BOOST_TEST(words == (last ? r.expected : "wait 50"));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(counts_each_instance_once) {
    play(begun(), {{3ms, {granted(0), granted(0), granted(0)}, "wait 50"},
                   {5ms, {denied(1), failed(1)}, "wait 50"},
                   {8ms, voted("-GGG"), "wait 50", "granted 988"}});
}

BOOST_AUTO_TEST_CASE(votes_remain_readable_after_a_failure) {
    attempts machine = begun(once(3));
    play(machine, {{1ms, denied(2), "wait 50"}, {50ms, timer, "give_back; failed no_quorum"}});
    BOOST_TEST((machine.lease().votes().vote_of(0)->reason == failure::timeout));
    BOOST_TEST((machine.lease().votes().vote_of(2)->key == key_state::foreign));
}

BOOST_AUTO_TEST_CASE(ignores_events_after_the_end) {
    struct row {
        std::string name;
        acquire_script until_the_end;
    };
    const row rows[] = {
        {"granted",
         {{0ms, start, "attempt; wait 50"}, {1ms, voted("GGG"), "wait 50", "granted 988"}}},
        {"failed",
         {{0ms, start, "attempt; wait 50"},
          {1ms, voted("FFF"), "wait 50", "give_back; failed no_quorum"}}},
        {"cancelled",
         {{0ms, start, "attempt; wait 50"}, {1ms, cancel, "give_back; failed cancelled"}}},
        {"cancelled before the start", {{0ms, cancel, "failed cancelled"}}},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.name) {
            attempts machine(once(), acquire_seed);
            play(machine, r.until_the_end);
            for (const auto& late :
                 {granted(3), granted(4), denied(3), failed(3), timer, wake, cancel, rest(3, 5ms),
                  changed(3), poll, parked, unparked, start}) {
                BOOST_TEST(said(machine, late, at(2ms)) == "wait never");
            }
        }
    }
}

// The duration of an attempt.

BOOST_AUTO_TEST_CASE(fails_as_too_slow_if_the_lease_would_be_lost_immediately) {
    struct row {
        duration decided;
        std::string expected;
    };
    const row rows[] = {
        {937ms, "granted 988"},
        {938ms - 1ns, "granted 988"},
        {938ms, "give_back; failed too_slow"},  // Its loss would be reported immediately.
        {988ms, "give_back; failed too_slow"},
        {1500ms, "give_back; failed too_slow"},
        {100h, "give_back; failed too_slow"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("decided at " << in_ms(r.decided)) {
            attempts_settings settings = once();
            settings.instance_timeout = 2s;
            attempts machine = begun(settings, "attempt; wait 2000");
            play(machine, {{1ms, voted("GG"), "wait 2000"}, {r.decided, granted(2), r.expected}});
        }
    }
}

BOOST_AUTO_TEST_CASE(validity_uses_the_configured_drift_and_ttl) {
    attempts_settings settings = once(1);
    settings.ttl = 100ms;
    settings.drift = {0.1, 5ms};
    play(attempts(settings, acquire_seed),
         {{10ms, start, "attempt; wait 60"}, {20ms, granted(0), "granted 95"}});
}

BOOST_AUTO_TEST_CASE(a_ttl_shorter_than_the_drift_is_never_granted) {
    attempts_settings settings = once(1);
    settings.ttl = 1ms;
    play(attempts(settings, acquire_seed),
         {{0ms, start, "attempt; wait 50"}, {0ms, granted(0), "give_back; failed too_slow"}});
}

BOOST_AUTO_TEST_CASE(waits_for_votes_until_the_instance_timeout) {
    play(begun(once()), {{10ms, timer, "wait 50"},
                         {50ms - 1ns, timer, "wait 50"},
                         {50ms, timer, "give_back; failed no_quorum"}});
}

/// The own process may have been slow. The timer event then arrives no earlier than the votes.
BOOST_AUTO_TEST_CASE(a_vote_processed_before_the_timer_counts) {
    play(attempts(once(), acquire_seed),
         {{0ms, start, "attempt; wait 50"}, {70ms, voted("GGG"), "wait 50", "granted 988"}});
}

BOOST_AUTO_TEST_CASE(a_vote_after_the_timeout_does_not_make_silence_a_denial) {
    play(begun(once()),
         {{70ms, voted("GD"), "wait 50"}, {70ms, timer, "give_back; failed no_quorum"}});
}

// Retries.

BOOST_AUTO_TEST_CASE(retries_with_backoff_without_a_limit) {
    attempts_settings settings = five();
    settings.retry = {4ms, 250ms};
    attempts machine(settings, acquire_seed);
    duration now{};
    std::string expected = "attempt; wait 50";
    attempts::event event = start;
    for (std::size_t attempt = 1; attempt != 40; ++attempt) {
        BOOST_TEST_CONTEXT("attempt " << attempt) {
            BOOST_TEST(said(machine, event, at(now)) ==
                       "attempt; wait " + in_ms(now + settings.instance_timeout));
            BOOST_TEST(machine.policy().attempts() == attempt);
            BOOST_TEST((machine.policy().sent() == at(now)));
            BOOST_TEST(machine.lease().votes().silent() == 5U);
            for (std::size_t i = 0; i != 2; ++i) {
                said(machine, denied(i), at(now + 1ms));
            }
            const duration wait = pause(attempt, settings);
            const duration ceiling =
                std::min<duration>(250ms, 4ms * (1LL << std::min<std::size_t>(attempt - 1, 10)));
            BOOST_TEST(wait.count() >= ceiling.count() / 2);
            BOOST_TEST(wait.count() <= ceiling.count());
            BOOST_TEST(said(machine, denied(2), at(now + 2ms)) ==
                       "give_back; wait " + in_ms(now + 2ms + wait));
            BOOST_TEST(said(machine, timer, at(now + 2ms + wait - 1ns)) ==
                       "wait " + in_ms(now + 2ms + wait));
            now += 2ms + wait;
            event = timer;
        }
    }
}

/// The keys on these instances may expire.
BOOST_AUTO_TEST_CASE(asks_denying_and_silent_instances_for_the_remaining_ttl) {
    attempts_settings settings = five();
    settings.attempts = 2;
    attempts machine(settings, acquire_seed);
    const auto asked = [&] {
        std::string result;
        for (std::size_t i = 0; i != 5; ++i) {
            result += machine.policy().asks_remaining(i) ? std::to_string(i) : "";
        }
        return result;
    };
    play(machine, {{0ms, start, "attempt; wait 50"}, {1ms, voted("GF-D"), "wait 50"}});
    BOOST_TEST(!machine.policy().backing_off());
    BOOST_TEST(asked().empty());
    play(machine, {{1ms, denied(4), "give_back; wait " + in_ms(1ms + pause(1))}});
    BOOST_TEST(machine.policy().backing_off());
    BOOST_TEST(asked() == "234");
    play(machine, {{2ms, denied(0), "wait " + in_ms(1ms + pause(1))},  // Too late.
                   {2ms, wake, "attempt; wait 52"}});
    BOOST_TEST(asked().empty());
    play(machine, {{3ms, voted("DDD"), "wait 52", "give_back; failed contended"}});
    BOOST_TEST(!machine.policy().backing_off());  // No other attempt follows.
    BOOST_TEST(asked().empty());
}

BOOST_AUTO_TEST_CASE(makes_no_more_attempts_than_allowed) {
    attempts_settings settings = instances(1);
    for (std::size_t allowed = 1; allowed != 5; ++allowed) {
        settings.attempts = allowed;
        attempts machine = begun(settings);
        for (std::size_t attempt = 1; attempt != allowed; ++attempt) {
            BOOST_TEST(has(said(machine, denied(0), at(1ms)), "give_back; wait"));
            BOOST_TEST(has(said(machine, wake, at(1ms)), "attempt"));
        }
        BOOST_TEST(said(machine, denied(0), at(1ms)) == "give_back; failed contended");
        BOOST_TEST(machine.policy().attempts() == allowed);
    }
}

BOOST_AUTO_TEST_CASE(the_votes_of_one_attempt_do_not_count_in_the_next) {
    play(begun(instances(3)), {{1ms, voted("GD"), "wait 50"},
                               {1ms, denied(2), "give_back; wait " + in_ms(1ms + pause(1))},
                               // It does not count between the attempts either.
                               {2ms, granted(1), "wait " + in_ms(1ms + pause(1))},
                               {30ms, timer, "attempt; wait 80"},
                               {32ms, voted("-GG"), "wait 80", "granted 1018"}});
}

BOOST_AUTO_TEST_CASE(a_wake_only_ends_the_backoff) {
    play(begun(instances(1)), {{1ms, wake, "wait 50"},
                               {2ms, denied(0), "give_back; wait " + in_ms(2ms + pause(1))},
                               {3ms, wake, "attempt; wait 53"},
                               {3ms, wake, "wait 53"},
                               {3ms, granted(0), "granted 991"},
                               {3ms, wake, "wait never"}});
}

// An outside signal decides when to retry.

/// Returns a machine that was denied at 2 ms and parked at 3 ms.
attempts parked_machine(attempts_settings settings = five()) {
    settings.instances = 1;
    attempts machine(settings, acquire_seed);
    const std::string until = settings.deadline == never ? "never" : in_ms(settings.deadline);
    play(machine,
         {{0ms, start, settings.deadline == never ? "attempt; wait 50" : "attempt; wait " + until},
          {2ms, denied(0), "give_back; wait " + in_ms(2ms + pause(1))},
          {3ms, parked, "wait " + until}});
    BOOST_TEST(machine.policy().backing_off());
    BOOST_TEST(machine.policy().asks_remaining(0));
    return machine;
}

BOOST_AUTO_TEST_CASE(a_parked_acquire_waits_to_be_woken) {
    play(parked_machine(), {{40ms, timer, "wait never"},
                            {41ms, rest(0, 10ms), "wait never"},
                            {42ms, changed(0), "wait never"},
                            {43ms, wake, "attempt; wait 93"},
                            {43ms, parked, "wait 93"},  // Too late for this attempt.
                            {44ms, granted(0), "granted 1031"}});
}

BOOST_AUTO_TEST_CASE(backs_off_after_unpark) {
    play(parked_machine(), {{40ms, unparked, "wait " + in_ms(40ms + pause(2))},
                            {41ms, unparked, "wait " + in_ms(40ms + pause(2))},
                            {41ms, changed(0), "attempt; wait 91"}});
}

/// Returns the short wait that belongs to random number `number`, counted from 1.
duration short_pause(std::size_t number) {
    return backoff{2ms, 2ms}.delay(0, random_number(number));
}

BOOST_AUTO_TEST_CASE(polling_retries_soon) {
    attempts machine(instances(1), acquire_seed);
    const duration soon = short_pause(2);  // The first number was used for the interrupted pause.
    BOOST_TEST((soon >= 1ms && soon <= 2ms));
    play(machine, {{0ms, start, "attempt; wait 50"},
                   {1ms, poll, "wait 50"},  // It is not waiting yet.
                   {1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1))},
                   {1ms, poll, "wait " + in_ms(1ms + soon)},
                   // The short wait overrides notifications.
                   {1500us, changed(0), "wait " + in_ms(1ms + soon)},
                   {1500us, rest(0, 0ms), "wait " + in_ms(1ms + soon)},
                   {1ms + soon, timer, "attempt; wait " + in_ms(51ms + soon)},
                   {5ms, denied(0), "give_back; wait " + in_ms(5ms + pause(3))},
                   {6ms, changed(0), "attempt; wait 56"}});  // Notifications count again.
}

BOOST_AUTO_TEST_CASE(polling_does_not_wait_beyond_the_deadline) {
    attempts_settings settings = instances(1);
    settings.deadline = at(2ms);
    attempts machine = begun(settings, "attempt; wait 2");
    play(machine, {{1500us, denied(0), "give_back; wait 2"},
                   {1500us, poll, "wait 2"},
                   {2ms, timer, "failed contended"}});
}

BOOST_AUTO_TEST_CASE(a_parked_acquire_does_not_poll) {
    play(parked_machine(), {{4ms, poll, "wait never"}, {5ms, wake, "attempt; wait 55"}});
}

BOOST_AUTO_TEST_CASE(a_parked_acquire_ends_by_cancellation_or_deadline) {
    attempts cancelled = parked_machine();
    play(cancelled, {{40ms, cancel, "failed cancelled"}});
    attempts_settings settings = five();
    settings.deadline = at(30ms);
    play(parked_machine(settings), {{29ms, timer, "wait 30"}, {30ms, wake, "failed contended"}});
}

// Attempts that follow immediately or unconditionally.

BOOST_AUTO_TEST_CASE(tries_twice_makes_an_immediate_second_attempt) {
    attempts_settings settings = instances(1);
    settings.attempts = 2;
    settings.tries_twice = true;
    attempts machine(settings, acquire_seed);
    BOOST_TEST(!machine.policy().current_attempt().contended);
    play(machine,
         {{0ms, start, "attempt; wait 50"}, {1ms, denied(0), "give_back; attempt; wait 51"}});
    BOOST_TEST(machine.policy().current_attempt().contended);
    BOOST_TEST((machine.policy().sent() == at(1ms)));
    BOOST_TEST(machine.policy().attempts() == 1U);  // The two count as one.
    play(machine, {{2ms, denied(0), "give_back; wait " + in_ms(2ms + pause(1))},
                   {30ms, timer, "attempt; wait 80"}});
    BOOST_TEST(machine.policy().attempts() == 2U);
    play(machine, {{31ms, denied(0), "give_back; failed contended"}});  // No other second attempt.
}

BOOST_AUTO_TEST_CASE(does_not_try_twice_if_contention_is_expected) {
    attempts_settings settings = instances(1);
    settings.tries_twice = true;
    attempts machine(settings, acquire_seed);
    machine.policy().expect_others();
    BOOST_TEST(machine.policy().current_attempt().contended);
    play(machine, {{0ms, start, "attempt; wait 50"},
                   {1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1))}});
}

BOOST_AUTO_TEST_CASE(does_not_try_twice_without_an_answer) {
    attempts_settings settings = instances(1);
    settings.tries_twice = true;
    attempts machine = begun(settings);
    play(machine, {{1ms, failed(0), "give_back; wait " + in_ms(1ms + pause(1))},
                   {30ms, timer, "attempt; wait 80"},
                   {31ms, denied(0), "give_back; attempt; wait 81"}});
    BOOST_TEST(machine.policy().attempts() == 2U);
}

BOOST_AUTO_TEST_CASE(an_immediate_second_attempt_respects_the_deadline) {
    struct row {
        time_point deadline;
        std::string expected;
    };
    const row rows[] = {
        {at(2ms), "give_back; attempt; wait 2"},
        {at(1ms), "give_back; failed contended"},
        {at(0ms), "give_back; attempt; wait 51"},
        {time_point::min(), "give_back; attempt; wait 51"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("deadline " << in_ms(r.deadline)) {
            attempts_settings settings = instances(1);
            settings.tries_twice = true;
            settings.deadline = r.deadline;
            attempts machine(settings, acquire_seed);
            said(machine, start, at(0ms));
            BOOST_TEST(said(machine, denied(0), at(1ms)) == r.expected);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_claiming_acquire_retries_immediately_if_it_may_wait) {
    struct row {
        time_point deadline;
        std::size_t attempts;
        std::string expected;
        bool announces;
    };
    const row rows[] = {
        {never, 0, "give_back; attempt; wait 51", true},
        {at(100ms), 0, "give_back; attempt; wait 51", true},
        {at(100ms), 9, "give_back; attempt; wait 51", true},
        {never, 2, "give_back; attempt; wait 51", true},
        {at(5ms), 2, "give_back; attempt; wait 5", true},
        {at(100ms), 1, "give_back; failed contended", false},
        {never, 1, "give_back; failed contended", false},
        {at(0ms), 0, "give_back; failed contended", false},
        {time_point::min(), 0, "give_back; failed contended", false},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("deadline " << in_ms(r.deadline) << ", attempts " << r.attempts) {
            attempts_settings settings = instances(1);
            settings.announces = true;
            settings.deadline = r.deadline;
            settings.attempts = r.attempts;
            attempts machine(settings, acquire_seed);
            said(machine, start, at(0ms));
            BOOST_TEST(said(machine, denied(0), at(1ms)) == r.expected);
            BOOST_TEST(machine.policy().current_attempt().announces == r.announces);
            BOOST_TEST(machine.policy().attempts() == 1U);  // The two count as one.
        }
    }
}

BOOST_AUTO_TEST_CASE(the_last_attempt_does_not_announce_a_wait) {
    attempts_settings settings = instances(1);
    settings.attempts = 3;
    attempts machine(settings, acquire_seed);
    said(machine, start, at(0ms));
    time_point now = at(0ms);
    for (const bool expected : {true, true, false}) {
        now += 1ms;
        BOOST_TEST(machine.policy().current_attempt().announces == expected);
        said(machine, denied(0), now);
        if (machine.policy().backing_off()) {
            now = machine.policy().next_attempt();
            said(machine, timer, now);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_attempt_interval_limits_each_wait) {
    attempts_settings settings = instances(1);
    settings.retry = {1s, 1s};
    settings.attempt_interval = 100ms;
    play(begun(settings), {{10ms, denied(0), "give_back; wait 100"},  // Counted from the send.
                           {99ms, timer, "wait 100"},
                           {100ms, timer, "attempt; wait 150"},
                           {110ms, denied(0), "give_back; wait 200"},
                           {111ms, parked, "wait 200"},
                           {112ms, changed(0), "wait 200"},
                           {200ms, timer, "attempt; wait 250"}});
}

/// Fault 97: the waiter does not rely on the queue indefinitely.
BOOST_AUTO_TEST_CASE(a_parked_acquire_makes_an_occasional_attempt,
                     *boost::unit_test::label("fault-97")) {
    attempts_settings settings = instances(1);
    settings.longest_parking = 100ms;
    play(begun(settings), {{10ms, denied(0), "give_back; wait " + in_ms(10ms + pause(1))},
                           {11ms, parked, "wait 100"},  // Counted from the send.
                           {99ms, timer, "wait 100"},
                           {100ms, timer, "attempt; wait 150"},
                           {110ms, denied(0), "give_back; wait " + in_ms(110ms + pause(2))},
                           {111ms, parked, "wait 200"},
                           {150ms, wake, "attempt; wait 200"}});
}

// Change notifications.

attempts_settings relying_on(std::size_t n) {
    attempts_settings settings = instances(n);
    settings.longest_reliance = 1s;
    return settings;
}

/// A long wait costs the instances little. If an instance fails to report a change, the wait at most doubles.
BOOST_AUTO_TEST_CASE(tracked_waits_grow_with_the_time_already_waited) {
    play(begun(relying_on(1)), {{1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1))},
                                {2ms, told(0), "wait " + in_ms(1ms + pause(1))},
                                {30ms, timer, "attempt; wait 80"},
                                {31ms, denied(0), "give_back; wait " + in_ms(31ms + pause(2))},
                                {40ms, told(0), "wait 80"},
                                {79ms, timer, "wait 80"},
                                {80ms, timer, "attempt; wait 130"},
                                {90ms, denied(0), "give_back; wait " + in_ms(90ms + pause(3))},
                                {91ms, told(0), "wait 182"},
                                {100ms, changed(0), "attempt; wait 150"},
                                {3s, denied(0), "give_back; wait " + in_ms(3s + pause(5))},
                                {3s, told(0), "wait 4000"}});
}

BOOST_AUTO_TEST_CASE(tracked_waits_end_when_the_key_expires) {
    attempts_settings settings = relying_on(1);
    settings.attempt_interval = 500ms;
    play(begun(settings), {{1s, denied(0), "give_back; wait 500"},
                           {1s, timer, "attempt; wait 1050"},
                           {1s, denied(0), "give_back; wait " + in_ms(1s + pause(2))},
                           {1s, told(0, 99ms), "wait 1100"},
                           {1s, changed(0), "attempt; wait 1050"},
                           {1s, denied(0), "give_back; wait " + in_ms(1s + pause(4))},
                           {1s, told(0), "wait 1500"}});  // Limited by the attempt interval.
}

BOOST_AUTO_TEST_CASE(relies_on_tracking_only_if_every_obstacle_is_tracked) {
    attempts machine = begun(relying_on(3));
    const std::string regular = "wait " + in_ms(1s + pause(1));
    play(machine, {{1s, voted("GD"), "wait 50"},
                   {1s, denied(2), "give_back; " + regular},
                   {1s, told(0), regular},  // This instance has granted, and is no obstacle.
                   {1s, told(1), regular},
                   {1s, rest(2, 1h), regular},
                   {1s, told(2), "wait 2000"}});
    BOOST_TEST(has(said(machine, changed(1), at(1100ms)), "wait 11"));

    play(begun(relying_on(3)),
         {{1s, denied(1), "wait 50"},
          {1s, denied(2), "give_back; " + regular},
          {1s, told(1), regular},
          {1s, told(2), regular}});  // One instance is silent, and may still deny.
}

/// The instance does not report another change, and the other keys may be free already.
BOOST_AUTO_TEST_CASE(polls_again_after_a_change_notification) {
    play(begun(relying_on(3)), {{1s, denied(0), "wait 50"},
                                {1s, denied(2), "give_back; wait " + in_ms(1s + pause(1))},
                                {1s, told(0), "wait " + in_ms(1s + pause(1))},
                                {1s, told(1), "wait " + in_ms(1s + pause(1))},
                                {1s, told(2), "wait 2000"},
                                {1100ms, changed(2), "wait " + in_ms(1100ms + pause(2))},
                                {1100ms, told(0), "wait " + in_ms(1100ms + pause(2))}});
}

/// In this case, each further attempt counts against unavailable_timeout.
BOOST_AUTO_TEST_CASE(polls_when_too_few_instances_have_answered) {
    play(begun(relying_on(3)), {{1s, failed(0), "wait 50"},
                                {1s, failed(1), "give_back; wait " + in_ms(1s + pause(1))},
                                {1s, told(2), "wait " + in_ms(1s + pause(1))}});
}

BOOST_AUTO_TEST_CASE(does_not_rely_on_tracking_unless_configured) {
    play(begun(instances(1)), {{1s, denied(0), "give_back; wait " + in_ms(1s + pause(1))},
                               {1s, told(0), "wait " + in_ms(1s + pause(1))}});
}

// The end of the wait.

/// Fault 88: another client holds the lock only if an instance has denied.
BOOST_AUTO_TEST_CASE(a_deadline_in_the_first_round_reports_no_quorum,
                     *boost::unit_test::label("fault-123")) {
    struct row {
        std::string name;
        std::vector<attempts::event> votes;  // At 10 ms.
    };
    const row rows[] = {
        {"silent ones may yet grant", {granted(0), granted(1)}},
        {"all are silent", {}},
        {"one short of impossible", {failed(0), failed(1)}},
        {"one has denied", {denied(0)}},
        {"one has denied, others have not answered", {granted(1), denied(2)}},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.name) {
            attempts_settings settings = five();
            settings.deadline = at(30ms);
            attempts machine(settings, acquire_seed);
            BOOST_TEST(said(machine, start, at(0ms)) == "attempt; wait 30");
            for (const auto& e : r.votes) {
                BOOST_TEST(said(machine, e, at(10ms)) == "wait 30");
            }
            BOOST_TEST(said(machine, timer, at(30ms - 1ns)) == "wait 30");
            BOOST_TEST(said(machine, timer, at(30ms)) == "give_back; failed no_quorum");
        }
    }
}

/// Fault 88: an attempt without replies keeps the outcome of the attempt before it.
BOOST_AUTO_TEST_CASE(an_attempt_cut_short_keeps_the_earlier_outcome,
                     *boost::unit_test::label("fault-88")) {
    for (const bool is_denied : {true, false}) {
        attempts_settings settings = instances(1);
        settings.deadline = at(30ms);
        attempts machine(settings, acquire_seed);
        play(machine,
             {{0ms, start, "attempt; wait 30"},
              {1ms, is_denied ? denied(0) : failed(0), "give_back; wait " + in_ms(1ms + pause(1))},
              {25ms, wake, "attempt; wait 30"},
              {30ms, timer,
               is_denied ? "give_back; failed contended" : "give_back; failed no_quorum"}});
        BOOST_TEST((machine.policy().no_quorum_since() == (is_denied ? never : at(0ms))));
    }
}

/// Fault 88: a short deadline does not prove an outage.
BOOST_AUTO_TEST_CASE(an_attempt_cut_short_does_not_count_as_an_outage,
                     *boost::unit_test::label("fault-88")) {
    attempts_settings settings = five();
    settings.deadline = at(1ms);
    attempts machine(settings, acquire_seed);
    play(machine, {{0ms, start, "attempt; wait 1"}, {1ms, timer, "give_back; failed no_quorum"}});
    BOOST_TEST((machine.policy().no_quorum_since() == never));
}

/// Instance 0 has extended the lease, instance 1 does not have it, and instance 2 has not answered.
BOOST_AUTO_TEST_CASE(an_adoption_without_a_quorum_is_repeated) {
    acquire_settings settings;
    settings.instances = 3;
    settings.retry = {10ms, 100ms};
    settings.unavailable_timeout = 1s;
    acquire machine(settings, acquire_seed);
    round votes(3);
    votes.record(0, vote::granted());
    votes.record(1, vote::denied(key_state::absent));
    votes.record(2, vote::failed(failure::timeout));
    BOOST_TEST(machine.resume(acquire::event::start(), at(0ms)).attempt);
    const auto no_quorum = acquire::event::attempted(acquire_outcome::no_quorum, votes);
    BOOST_TEST(!machine.resume(no_quorum, at(50ms)).failed);
    BOOST_TEST(
        machine.resume(acquire::event::just(acquire::event::kind_type::timer), at(200ms)).attempt);
    BOOST_TEST((machine.resume(no_quorum, at(1100ms)).failed == acquire_outcome::no_quorum));
}

BOOST_AUTO_TEST_CASE(a_vote_processed_before_the_deadline_timer_counts) {
    attempts_settings settings = five();
    settings.deadline = at(30ms);
    play(attempts(settings, acquire_seed),
         {{0ms, start, "attempt; wait 30"}, {31ms, voted("GGG"), "wait 30", "granted 988"}});
}

BOOST_AUTO_TEST_CASE(no_quorum_is_retried_and_reported_at_the_deadline) {
    attempts_settings settings = five();
    settings.deadline = at(30ms);
    attempts machine = begun(settings, "attempt; wait 30");
    play(machine, {{1ms, voted("FF"), "wait 30"},
                   {1ms, failed(2), "give_back; wait " + in_ms(1ms + pause(1))},
                   {29ms, timer, "attempt; wait 30"},
                   {29ms, voted("FFF"), "wait 30", "give_back; wait 30"},
                   {30ms, timer, "failed no_quorum"}});
}

BOOST_AUTO_TEST_CASE(a_deadline_equal_to_the_timeout_reports_no_quorum) {
    attempts_settings settings = five();
    settings.deadline = at(50ms);
    play(attempts(settings, acquire_seed),
         {{0ms, start, "attempt; wait 50"}, {50ms, timer, "give_back; failed no_quorum"}});
}

BOOST_AUTO_TEST_CASE(a_deadline_during_backoff_reports_the_last_outcome) {
    attempts_settings settings = instances(1);
    settings.deadline = at(5ms);
    const acquire_script to_the_backoff = {
        {0ms, start, "attempt; wait 5"},
        {1ms, denied(0), "give_back; wait 5"},
    };
    for (const auto& last : {timer, wake, rest(0, 100ms), changed(0), poll, parked}) {
        attempts machine(settings, acquire_seed);
        play(machine, to_the_backoff);
        BOOST_TEST(said(machine, last, at(5ms)) == "failed contended");
        BOOST_TEST(machine.policy().attempts() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(no_attempt_follows_after_the_deadline) {
    attempts_settings settings = instances(1);
    settings.deadline = at(5ms);
    play(attempts(settings, acquire_seed),
         {{0ms, start, "attempt; wait 5"}, {5ms, denied(0), "give_back; failed contended"}});
}

BOOST_AUTO_TEST_CASE(a_past_deadline_still_allows_one_full_attempt) {
    for (const time_point deadline : {time_point::min(), at(-1h), at(0ms)}) {
        attempts_settings settings = five();
        settings.deadline = deadline;
        play(begun(settings), {{1ms, voted("DDD"), "wait 50", "give_back; failed contended"}});
        play(begun(settings), {{1ms, voted("GG"), "wait 50"}, {49ms, granted(2), "granted 988"}});
    }
}

// Too few replies.

BOOST_AUTO_TEST_CASE(zero_unavailable_timeout_fails_immediately) {
    for (const auto& first : {failed(0), granted(0)}) {
        attempts_settings settings = instances(1);
        settings.ttl = 2ms;  // A grant is too slow.
        settings.unavailable_timeout = 0ms;
        attempts machine = begun(settings);
        BOOST_TEST(has(said(machine, first, at(0ms)), "give_back; failed"));
    }
}

BOOST_AUTO_TEST_CASE(zero_unavailable_timeout_still_waits_for_a_holder) {
    attempts_settings settings = instances(1);
    settings.unavailable_timeout = 0ms;
    play(begun(settings), {{1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1))},
                           {30ms, timer, "attempt; wait 80"},
                           {31ms, failed(0), "give_back; failed no_quorum"}});
}

BOOST_AUTO_TEST_CASE(unavailable_timeout_starts_with_the_first_failed_attempt) {
    attempts_settings settings = instances(1);
    settings.unavailable_timeout = 100ms;
    const acquire_script to_the_last_attempt = {
        {10ms, start, "attempt; wait 60"},
        {30ms, failed(0), "give_back; wait " + in_ms(30ms + pause(1))},
        {70ms, timer, "attempt; wait 120"},
        {110ms - 1ns, failed(0), "give_back; wait " + in_ms(110ms - 1ns + pause(2))},
        {150ms, timer, "attempt; wait 200"},
    };
    attempts machine(settings, acquire_seed);
    play(machine, to_the_last_attempt);
    BOOST_TEST(said(machine, failed(0), at(151ms)) == "give_back; failed no_quorum");

    attempts exactly(settings, acquire_seed);
    play_some(exactly, to_the_last_attempt, 3);
    BOOST_TEST(said(exactly, failed(0), at(110ms)) == "give_back; failed no_quorum");

    attempts served(settings, acquire_seed);
    play(served, to_the_last_attempt);
    BOOST_TEST(said(served, granted(0), at(151ms)) == "granted 1138");
}

BOOST_AUTO_TEST_CASE(an_answering_quorum_restarts_unavailable_timeout) {
    attempts_settings settings = instances(1);
    settings.unavailable_timeout = 100ms;
    play(begun(settings), {{1ms, failed(0), "give_back; wait " + in_ms(1ms + pause(1))},
                           {90ms, timer, "attempt; wait 140"},
                           {91ms, denied(0), "give_back; wait " + in_ms(91ms + pause(2))},
                           {120ms, timer, "attempt; wait 170"},
                           {150ms, failed(0), "give_back; wait " + in_ms(150ms + pause(3))},
                           {190ms, timer, "attempt; wait 240"},
                           {220ms, failed(0), "give_back; failed no_quorum"}});
}

BOOST_AUTO_TEST_CASE(waiting_for_a_quarantine_uses_up_no_time_and_no_attempts) {
    attempts_settings settings = instances(1);
    settings.unavailable_timeout = 100ms;
    settings.attempts = 2;
    settings.deadline = at(10s);
    play(begun(settings),
         {{1ms, failed(0), "give_back; wait " + in_ms(1ms + pause(1))},
          {60ms, timer, "attempt; wait 110"},
          {61ms, quarantined(0, 5s), "give_back; wait 5000"},
          {2s, changed(0), "wait 5000"},
          {3s, wake, "attempt; wait 3050"},
          {3s, quarantined(0, 6s), "give_back; wait 6000"},
          {6s, timer, "attempt; wait 6050"},
          {6s + 1ms, failed(0), "give_back; failed no_quorum"}});  // The second one.

    attempts too_late(settings, acquire_seed);
    settings.unavailable_timeout = 0ms;
    attempts impatient(settings, acquire_seed);
    for (attempts* const one : {&too_late, &impatient}) {
        BOOST_TEST(said(*one, start, at(0ms)) == "attempt; wait 50");
    }
    BOOST_TEST(said(too_late, quarantined(0, 10s), at(1ms)) ==
               "give_back; wait " + in_ms(1ms + pause(1)));
    BOOST_TEST(said(impatient, quarantined(0, 10s), at(1ms)) == "give_back; failed no_quorum");

    // The instance detects the end of its quarantine a moment later.
    attempts early = begun(settings);
    play(early,
         {{1ms, quarantined(0, 5s), "give_back; wait 5000"}, {5s, timer, "attempt; wait 5050"}});
    BOOST_TEST(has(said(early, quarantined(0, 5s), at(5s)), "give_back; wait 500"));
    BOOST_TEST(said(early, timer, at(5s + 2ms)) == "attempt; wait 5052");

    settings.attempt_interval = 200ms;  // The writer mark on other instances must be renewed.
    play(begun(settings), {{1ms, quarantined(0, 5s), "give_back; wait 200"},
                           {200ms, timer, "attempt; wait 250"},
                           {201ms, quarantined(0, 5s), "give_back; wait 400"}});
}

/// If the other instances are quarantined or down, the acquire waits for the end of the quarantine. An
/// instance that was only late may grant immediately, so the attempts continue.
BOOST_AUTO_TEST_CASE(attempts_continue_in_a_quarantine_if_others_may_recover) {
    attempts_settings settings = instances(3);
    settings.retry = {20ms, 80ms};
    // Each attempt also draws one number for the end of the quarantine.
    const auto pause = [&settings](std::size_t attempt) {
        return settings.retry.delay(attempt - 1, random_number(2 * attempt));
    };
    for (const failure reason : {failure::down, failure::timeout, failure::connection_lost,
                                 failure::server_error, failure::stalled}) {
        BOOST_TEST_CONTEXT(static_cast<int>(reason)) {
            const bool is_known = reason == failure::down;
            attempts machine(settings, acquire_seed);
            const auto other = attempts::event::voted(0, vote::failed(reason));
            play(
                machine,
                {{0ms, start, "attempt; wait 50"},
                 {1ms, granted(2), "wait 50"},
                 {1ms, quarantined(1, 5s), "wait 50"},
                 {1ms, other, "give_back; wait " + (is_known ? "5000" : in_ms(1ms + pause(1)))},
                 {100ms, wake, "attempt; wait 150"},
                 {101ms, quarantined(1, 5s), "wait 150"},
                 {101ms, other, "give_back; wait " + (is_known ? "5000" : in_ms(101ms + pause(2)))},
                 {200ms, is_known ? wake : timer, "attempt; wait 250"},
                 {201ms, voted("G-G"), "wait 250", "granted 1188"}});
        }
    }
}

BOOST_AUTO_TEST_CASE(an_earlier_outage_counts_against_unavailable_timeout) {
    attempts_settings settings = five();
    settings.unavailable_timeout = 100ms;
    attempts machine(settings, acquire_seed);
    BOOST_TEST((machine.policy().no_quorum_since() == never));
    machine.policy().no_quorum_since(at(0ms) - 100ms);
    play(machine, {{0ms, start, "attempt; wait 50"},
                   {1ms, voted("FFF"), "wait 50", "give_back; failed no_quorum"}});
    BOOST_TEST((machine.policy().no_quorum_since() == at(0ms) - 100ms));
}

BOOST_AUTO_TEST_CASE(too_slow_counts_as_unavailable_and_is_retried) {
    attempts_settings settings = instances(1);
    settings.ttl = 20ms;  // Valid for 17.8 ms.
    settings.unavailable_timeout = 100ms;
    play(begun(settings), {{40ms, granted(0), "give_back; wait " + in_ms(40ms + pause(1))},
                           {60ms, timer, "attempt; wait 110"},
                           {101ms, granted(0), "give_back; failed too_slow"}});
}

// The remaining ttl of the holder.

BOOST_AUTO_TEST_CASE(waits_at_most_until_a_quorum_of_keys_has_expired) {
    struct row {
        std::string name;
        std::string letters;  // The votes up to the deciding one. '.' is silence up to 50 ms.
        std::vector<std::pair<std::size_t, milliseconds>> rests;
        duration wait;  // The expected wait after the last report. A long value means the backoff.
    };
    const row rows[] = {
        {"three must run out", "DDD", {{0, 5ms}, {1, 3ms}, {2, 4ms}}, 6ms},
        {"two are too few", "DDD", {{0, 5ms}, {1, 3ms}}, 1h},
        {"of five the third to run out is enough",
         "DDD",
         {{0, 7ms}, {1, 4ms}, {2, 9ms}, {3, 5ms}, {4, 8ms}},
         8ms},
        {"longer than the backoff", "DDD", {{0, 60ms}, {1, 60ms}, {2, 60ms}}, 1h},
        {"about to run out", "DDD", {{0, 0ms}, {1, 0ms}, {2, 0ms}}, 1ms},
        {"unknown", "DDD", {{0, 1ms}, {1, 1ms}, {2, unknown_remaining}}, 1h},
        {"no ttl", "DDD", {{0, 1ms}, {1, 1ms}, {2, milliseconds::max()}}, 1h},
        {"an hour", "DDD", {{0, 1ms}, {1, 1ms}, {2, 1h}}, 1h},
        {"no ttl, and enough that have",
         "DDD",
         {{0, milliseconds::max()}, {1, 3ms}, {3, 3ms}, {4, 2ms}},
         4ms},
        {"two must run out", "DDG.", {{0, 3ms}}, 1h},
        {"two must run out, and will", "DDG.", {{0, 3ms}, {1, 6ms}}, 7ms},
        {"two must run out, one never does", "DDG.", {{0, 3ms}, {1, milliseconds::max()}}, 1h},
        {"two must run out, one is unknown", "DDG.", {{0, 3ms}, {1, unknown_remaining}}, 1h},
        {"the failed ones will not", "FDF", {{1, 3ms}, {3, 2ms}}, 1h},
        {"the others will", "FDF", {{1, 3ms}, {3, 2ms}, {4, 1ms}}, 4ms},
        {"nor will the silent ones", "D.", {{0, 3ms}}, 1h},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.name) {
            attempts machine(five(), acquire_seed);
            std::string words = said(machine, start, at(0ms));
            duration now{};
            for (std::size_t i = 0; i != r.letters.size(); ++i) {
                BOOST_TEST(words.ends_with("wait 50"));
                now = r.letters[i] == '.' ? 50ms : 0ms;
                words = r.letters[i] == '.'
                            ? said(machine, timer, at(now))
                            : said(machine, attempts::event::voted(i, vote_from(r.letters[i])),
                                   at(now));
            }
            BOOST_TEST(words == "give_back; wait " + in_ms(now + pause(1)));
            for (const auto& [index, time] : r.rests) {
                words = said(machine, rest(index, time), at(now));
            }
            const duration until = now + std::min(pause(1), r.wait);
            BOOST_TEST(words == "wait " + in_ms(until));
            BOOST_TEST(said(machine, timer, at(until)) == "attempt; wait " + in_ms(until + 50ms));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_remaining_ttl_counts_from_its_reply) {
    attempts_settings settings = five();
    settings.retry = {1s, 1s};
    attempts machine = begun(settings);
    const std::string backoff = "wait " + in_ms(50ms + pause(1, settings));
    play(machine, {{0ms, voted("G--DD"), "wait 50"},
                   {50ms, timer, "give_back; " + backoff},
                   {51ms, rest(3, 100ms), backoff},   // Two of the keys must expire.
                   {90ms, rest(4, 3ms), "wait 152"},  // Not 90 + 100 + 1.
                   {152ms, timer, "attempt; wait 202"}});
}

BOOST_AUTO_TEST_CASE(an_attempt_starts_when_the_remaining_ttl_has_passed) {
    attempts_settings settings = instances(1);
    settings.retry = {1s, 1s};
    play(begun(settings), {{1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1, settings))},
                           {2ms, rest(0, 300ms), "wait 303"},
                           {3ms, rest(0, 400ms), "wait 303"},  // Does not extend the wait.
                           {302ms, timer, "wait 303"},
                           {303ms, timer, "attempt; wait 353"},
                           {304ms, rest(0, 0ms), "wait 353"},  // Too late for this attempt.
                           {305ms, granted(0), "granted 1291"}});
}

/// All clients that poll one key find it missing at the same time.
BOOST_AUTO_TEST_CASE(a_missing_key_is_retried_after_a_short_jittered_backoff) {
    std::set<time_point> waits;
    for (std::uint64_t seed = 0; seed != 20; ++seed) {
        attempts_settings settings = instances(1);
        settings.retry = {8ms, 1s};
        attempts machine(settings, seed);
        time_point now = at(0ms);
        said(machine, start, now);
        for (int attempt = 0; attempt != 7; ++attempt) {
            said(machine, denied(0), now);
            now += 1s;
            said(machine, timer, now);
        }
        said(machine, denied(0), now);  // The eighth backoff takes at least half a second.
        const vote gone = vote::denied(key_state::absent, 0ms);
        const auto step = machine.policy().resume(acquire::event::remaining(0, gone, false), now);
        BOOST_TEST((!step.attempt && !step.failed));
        BOOST_TEST((step.until >= now + 4ms));
        BOOST_TEST((step.until <= now + 8ms));
        waits.insert(step.until);
    }
    BOOST_TEST(waits.size() > 10U);
}

BOOST_AUTO_TEST_CASE(the_next_attempt_ignores_earlier_remaining_ttls) {
    attempts machine = begun(instances(3));
    const duration second = 60ms + pause(2);
    play(machine, {{0ms, denied(0), "wait 50"},
                   {0ms, denied(1), "give_back; wait " + in_ms(pause(1))},
                   {1ms, rest(0, 2ms), "wait " + in_ms(pause(1))},
                   {1ms, rest(1, 2ms), "wait 4"},
                   {30ms, timer, "attempt; wait 80"},
                   {60ms, denied(0), "wait 80"},
                   {60ms, denied(1), "give_back; wait " + in_ms(second)},
                   {60ms, rest(1, unknown_remaining), "wait " + in_ms(second)}});
}

// Notifications of a change.

BOOST_AUTO_TEST_CASE(retries_when_a_quorum_may_be_free) {
    attempts machine = begun();
    const std::string backoff = "wait " + in_ms(pause(1));
    play(machine, {{0ms, voted("DD"), "wait 50"},
                   {0ms, denied(2), "give_back; " + backoff},
                   {1ms, rest(0, 1h), backoff},
                   {1ms, changed(0), backoff},
                   {1ms, changed(0), backoff},  // The same instance counts once.
                   {2ms, changed(4), backoff},
                   {3ms, changed(2), "attempt; wait 53"},
                   {4ms, changed(3), "wait 53"}});  // Too late for this attempt.
}

BOOST_AUTO_TEST_CASE(a_split_vote_delays_the_next_attempt) {
    attempts_settings settings = five();
    settings.retry = {20ms, 1s};
    attempts machine = begun(settings);
    const duration backoff = pause(1, settings);
    play(machine,
         {{0ms, voted("GGDD"), "wait 50"}, {0ms, denied(4), "give_back; wait " + in_ms(backoff)}});
    const auto next = machine.policy().resume(acquire::event::changed(2), at(1ms));
    BOOST_TEST((!next.attempt && !next.failed));
    BOOST_TEST((next.until >= at(6ms)));  // The upper half of 10 ms.
    BOOST_TEST((next.until <= at(11ms)));
}

/// A minority may deny in a round that is won too late. Its keys are not an obstacle.
BOOST_AUTO_TEST_CASE(a_remaining_ttl_after_a_too_slow_round_changes_nothing) {
    for (const char minority : {'D', 'G'}) {
        attempts_settings settings = instances(3);
        settings.ttl = 20ms;
        attempts machine = begun(settings);
        const std::string backoff = "wait " + in_ms(40ms + pause(1));
        play(machine, {{39ms, attempts::event::voted(0, vote_from(minority)), "wait 50"}});
        std::string words = said(machine, granted(1), at(40ms));
        if (minority == 'D') {
            words = said(machine, granted(2), at(40ms));
        }
        BOOST_TEST(words == "give_back; " + backoff);
        BOOST_TEST(said(machine, rest(0, 1ms), at(40ms)) == backoff);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
