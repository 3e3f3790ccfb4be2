// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "unit/core/acquire_support.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(acquiring_cancelled)

struct named_script {
    std::string name;
    attempts_settings settings;
    acquire_script steps;
};

attempts_settings with_deadline(attempts_settings s, time_point deadline) {
    s.deadline = deadline;
    return s;
}

/// Returns one script for each path through the machine. Each step has one event.
std::vector<named_script> scripts() {
    return {
        {"granted",
         five(),
         {
             {0ms, start, "attempt; wait 50"},
             {1ms, granted(0), "wait 50"},
             {2ms, denied(1), "wait 50"},
             {3ms, granted(2), "wait 50"},
             {4ms, granted(3), "granted 988"},
             {5ms, granted(4), "wait never"},
         }},
        {"contended, and then granted",
         instances(1),
         {
             {0ms, start, "attempt; wait 50"},
             {1ms, denied(0), "give_back; wait " + in_ms(1ms + pause(1))},
             {2ms, rest(0, 40ms), "wait " + in_ms(1ms + pause(1))},
             {30ms, timer, "attempt; wait 80"},
             {31ms, granted(0), "granted 1018"},
         }},
        {"silent, woken, and down",
         five(),
         {
             {0ms, start, "attempt; wait 50"},
             {1ms, granted(0), "wait 50"},
             {50ms, timer, "give_back; wait " + in_ms(50ms + pause(1))},
             {51ms, wake, "attempt; wait 101"},
             {52ms, failed(0), "wait 101"},
             {52ms, failed(1), "wait 101"},
             {52ms, failed(2), "give_back; wait " + in_ms(52ms + pause(2))},
             {80ms, timer, "attempt; wait 130"},
         }},
        {"cut by a deadline",
         with_deadline(five(), at(30ms)),
         {
             {0ms, start, "attempt; wait 30"},
             {1ms, granted(0), "wait 30"},
             {30ms, timer, "give_back; failed no_quorum"},
             {31ms, granted(1), "wait never"},
         }},
        {"a single attempt",
         once(),
         {
             {0ms, start, "attempt; wait 50"},
             {1ms, denied(0), "wait 50"},
             {1ms, denied(1), "wait 50"},
             {1ms, denied(2), "give_back; failed contended"},
         }},
    };
}

bool ends(const std::string& words) {
    return has(words, "granted") || has(words, "failed");
}

/// Replays a script, and cancels before each of its steps in turn.
BOOST_AUTO_TEST_CASE(cancellation_takes_effect_at_every_step) {
    for (const named_script& s : scripts()) {
        for (std::size_t before = 0; before <= s.steps.size(); ++before) {
            BOOST_TEST_CONTEXT(s.name << ", cancelled before step " << before) {
                attempts machine(s.settings, acquire_seed);
                play_some(machine, s.steps, before);

                // Computes from the script whether an attempt is open and whether the machine has ended.
                bool out = false;
                bool over = false;
                duration now{};
                for (std::size_t i = 0; i != before; ++i) {
                    const std::string& words = s.steps[i].expected;
                    out = has(words, "attempt") || (out && !has(words, "give_back"));
                    over = over || ends(words);
                    now = s.steps[i].time;
                }
                const std::string expected = over  ? "wait never"
                                             : out ? "give_back; failed cancelled"
                                                   : "failed cancelled";
                BOOST_TEST(said(machine, cancel, at(now)) == expected);

                // Later events have no effect. Late grants belong to the release.
                for (std::size_t i = 0; i != 5; ++i) {
                    BOOST_TEST(said(machine, granted(i), at(now + 1ms)) == "wait never");
                }
                for (const auto& late : {cancel, timer, wake, rest(0, 1ms)}) {
                    BOOST_TEST(said(machine, late, at(now + 1h)) == "wait never");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(cancellation_overrides_the_votes) {
    attempts machine = begun();
    play(machine, {{1ms, voted("GG"), "wait 50"},
                   {70ms, cancel, "give_back; failed cancelled"},
                   {70ms, granted(2), "wait never"}});
    BOOST_TEST(!machine.policy().backing_off());
    BOOST_TEST(machine.lease().votes().granted() == 2U);  // The release will find these.
}

BOOST_AUTO_TEST_CASE(cancellation_before_the_start_sends_nothing) {
    attempts machine(five(), acquire_seed);
    play(machine, {{0ms, cancel, "failed cancelled"}, {1ms, start, "wait never"}});
    BOOST_TEST(machine.policy().attempts() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
