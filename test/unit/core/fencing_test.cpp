// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "unit/core/acquire_support.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Fencing in an acquire: the values of the grants, and the second round if they differ.

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(fencing)

attempts_settings fenced(attempts_settings s = five()) {
    s.fencing = true;
    return s;
}

attempts::event counted(std::size_t i, std::uint64_t fence) {
    return attempts::event::voted(i, vote::granted(fence));
}
/// The grants of several instances. A digit is the fence.
std::vector<attempts::event> counted(std::string_view digits) {
    return votes_from(digits, [](char digit, std::size_t i) { return counted(i, digit - '0'); });
}

/// The votes on the second round. An F is a lost connection here.
attempts::event raised(std::size_t i, char letter = 'G') {
    return attempts::event::raised(
        i, letter == 'F' ? vote::failed(failure::connection_lost) : vote_from(letter));
}
std::vector<attempts::event> raised(std::string_view letters) {
    return votes_from(letters, [](char letter, std::size_t i) { return raised(i, letter); });
}

/// Returns a machine of five instances that has to write back 9, since 5 ms.
attempts raising(const attempts_settings& settings = fenced()) {
    attempts machine = begun(settings);
    play(machine, {{1ms, counted(3, 7), "wait 50"},
                   {2ms, counted(1, 9), "wait 50"},
                   {5ms, counted(4, 8), "raise 9; wait 55"}});
    return machine;
}

BOOST_AUTO_TEST_CASE(an_agreeing_quorum_needs_only_one_round) {
    for (std::size_t n = 1; n <= 7; ++n) {
        BOOST_TEST_CONTEXT(n << " instances") {
            attempts machine = begun(fenced(once(n)));
            for (std::size_t i = 1; i < quorum_of(n); ++i) {
                BOOST_TEST(said(machine, counted(i, 7), at(1ms)) == "wait 50");
            }
            BOOST_TEST(said(machine, counted(0, 7), at(2ms)) == "granted 988");
            BOOST_TEST(machine.lease().value() == 7U);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_largest_fence_is_written_back) {
    for (std::size_t largest = 0; largest != 3; ++largest) {
        attempts machine = begun(fenced());
        for (std::size_t i = 0; i != 3; ++i) {
            const auto words = said(machine, counted(i, i == largest ? 9 : 7), at(3ms));
            BOOST_TEST(words == (i == 2 ? "raise 9; wait 53" : "wait 50"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_single_different_fence_requires_a_second_round) {
    play(begun(fenced()), {{1ms, counted("799"), "wait 50", "raise 9; wait 51"}});
}

BOOST_AUTO_TEST_CASE(the_fence_of_a_repeated_or_late_vote_is_ignored) {
    attempts machine = begun(fenced());
    play(machine, {{1ms, {counted(0, 7), counted(0, 99)}, "wait 50"},
                   {1ms, counted("-99"), "wait 50", "raise 9; wait 51"},
                   {2ms, counted(3, 11), "wait 51"},  // A late value does not count either.
                   {3ms, raised("GGG"), "wait 51", "granted 988"}});
    BOOST_TEST(machine.lease().value() == 9U);
}

BOOST_AUTO_TEST_CASE(a_fence_is_granted_when_a_majority_of_all_has_raised_it) {
    for (std::size_t n = 2; n <= 7; ++n) {
        for (std::size_t first = 0; first != n; ++first) {  // Any of them.
            BOOST_TEST_CONTEXT(n << " instances, from " << first) {
                attempts machine = begun(fenced(once(n)));
                for (std::size_t i = 0; i + 1 < quorum_of(n); ++i) {
                    said(machine, counted(i, 7 + i), at(1ms));
                }
                const std::uint64_t fence = 100;
                BOOST_TEST(said(machine, counted(n - 1, fence), at(2ms)) == "raise 100; wait 52");
                for (std::size_t k = 1; k < quorum_of(n); ++k) {
                    BOOST_TEST(said(machine, raised((first + k) % n), at(3ms)) == "wait 52");
                    BOOST_TEST(said(machine, raised((first + k) % n), at(3ms)) == "wait 52");
                }
                BOOST_TEST(said(machine, raised(first), at(4ms)) == "granted 988");
                // The validity counts from the first round.
                BOOST_TEST((machine.policy().sent() == at(0ms)));
                BOOST_TEST(machine.lease().value() == fence);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_attempt_fails_without_a_majority_of_all) {
    struct row {
        acquire_script script;
        std::string what;
    };
    const std::string retry = "give_back; wait ";
    const row rows[] = {
        {{{8ms, raised("GGDDD"), "wait 55", retry + in_ms(8ms + pause(1))}},
         "too many have lost the key"},
        {{{6ms, raised("GFFF"), "wait 55", retry + in_ms(6ms + pause(1))}},
         "too many cannot be asked"},
        {{{6ms, raised("---GG"), "wait 55"}, {55ms, timer, retry + in_ms(55ms + pause(1))}},
         "too many are silent"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.what) {
            attempts machine = raising();
            play(machine, r.script);
            BOOST_TEST(machine.policy().attempts() == 1U);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_failed_second_round_reports_the_reason) {
    attempts contended = raising(fenced(once()));
    play(contended, {{6ms, raised("DDF"), "wait 55", "give_back; failed contended"}});
    attempts unreachable = raising(fenced(once()));
    play(unreachable,
         {{6ms, raised("GG"), "wait 55"}, {55ms, timer, "give_back; failed no_quorum"}});
    BOOST_TEST((unreachable.lease().votes().vote_of(4)->reason == failure::timeout));
}

BOOST_AUTO_TEST_CASE(the_next_attempt_ignores_earlier_fences) {
    attempts machine = raising();
    play(machine, {{55ms, timer, "give_back; wait " + in_ms(55ms + pause(1))},
                   {80ms, timer, "attempt; wait 130"},
                   {81ms, counted("333"), "wait 130", "granted 1068"}});
    BOOST_TEST(machine.lease().value() == 3U);
}

BOOST_AUTO_TEST_CASE(a_late_grant_of_the_first_round_changes_nothing) {
    attempts machine = raising();
    play(machine, {{6ms, counted(0, 50), "wait 55"},
                   {6ms, counted(2, 1), "wait 55"},
                   {8ms, raised("G-GG"), "wait 55", "granted 988"},
                   {9ms, raised(1), "wait never"}});
    BOOST_TEST(machine.lease().value() == 9U);
}

BOOST_AUTO_TEST_CASE(cancelling_the_second_round_rolls_the_attempt_back) {
    attempts machine = raising();
    play(machine, {{6ms, raised(0), "wait 55"},
                   {7ms, cancel, "give_back; failed cancelled"},
                   {8ms, raised("-GG"), "wait never"}});
    BOOST_TEST(!machine.policy().backing_off());
}

BOOST_AUTO_TEST_CASE(a_second_round_that_outlasts_the_validity_is_too_slow) {
    attempts_settings brief = fenced(once());
    brief.ttl = 40ms;  // Valid until 37.6 ms, and lost 2 ms earlier.
    play(begun(brief), {{30ms, counted("123"), "wait 50", "raise 3; wait 35.6"},
                        {31ms, raised(0), "wait 35.6"},
                        {36ms, timer, "give_back; failed too_slow"}});
    play(begun(brief), {{30ms, counted("123"), "wait 50", "raise 3; wait 35.6"},
                        {31ms, raised("GG"), "wait 35.6"},
                        {36ms, raised(2), "give_back; failed too_slow"}});
    play(begun(brief),
         {{30ms, counted("12"), "wait 50"}, {36ms, counted(2, 3), "give_back; failed too_slow"}});
}

BOOST_AUTO_TEST_CASE(the_callers_deadline_ends_the_second_round_too) {
    attempts_settings s = fenced();
    s.deadline = at(20ms);
    attempts machine = begun(s, "attempt; wait 20");
    play(machine, {{1ms, counted("12"), "wait 20"},
                   {5ms, counted(2, 3), "raise 3; wait 20"},
                   {6ms, raised(0), "wait 20"},
                   {20ms, timer, "give_back; failed no_quorum"}});
}

BOOST_AUTO_TEST_CASE(a_wake_does_not_disturb_the_second_round) {
    play(raising(), {{6ms, wake, "wait 55"}, {7ms, rest(0, 1ms), "wait 55"}});
}

BOOST_AUTO_TEST_CASE(without_fencing_the_fences_are_ignored) {
    attempts machine = begun(once(3));
    play(machine, {{1ms, counted("12"), "wait 50", "granted 988"}});
    BOOST_TEST(machine.lease().value() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
