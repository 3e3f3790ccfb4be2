// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(releasing)

using release_script = script<sized_release>;

constexpr std::uint64_t seed = 42;

/// Settings of five instances that have 50 ms to vote. The lease is valid until 988 ms, and its keys have
/// expired at 1012 ms. The waits are 10 to 20 ms.
release_settings five() {
    release_settings s;
    s.instances = 5;
    s.instance_timeout = 50ms;
    s.retry = {20ms, 20ms};
    s.valid_until = at(988ms);
    s.gone_at = at(1012ms);
    return s;
}

/// Returns the wait of a machine with this seed before retry number `retry`, counted from 1.
duration pause(std::size_t retry, const release_settings& settings = five()) {
    return settings.retry.delay(retry - 1, random_number(seed, retry));
}

/// Returns a release that concerns the first `concerned` instances.
sized_release giving_back(std::size_t concerned = 5, const release_settings& settings = five(),
                          instance_set open = {}) {
    instance_set holding;
    for (std::size_t i = 0; i != concerned; ++i) {
        holding.add(i);
    }
    return {settings, holding, open, seed};
}

const release::event start = release::event::start();
const release::event timer = release::event::timer();
constexpr auto* accepting = release::event::accepting;

release::event late(std::size_t i, const vote& v) {
    return release::event::late(i, kept(v));
}
release::event late_grant(std::size_t i) {
    return late(i, vote::granted());
}
release::event voted(char letter, std::size_t i) {
    return release::event::voted(i, kept(vote_from(letter)));
}
std::vector<release::event> voted(std::string_view letters) {
    return votes_from(letters, [](char letter, std::size_t i) { return voted(letter, i); });
}
release::event deleted(std::size_t i) {
    return voted('G', i);
}
release::event failed(std::size_t i, failure why = failure::server_error) {
    return release::event::voted(i, kept(vote::failed(why)));
}

/// The key did not exist.
release::event nothing(std::size_t i) {
    return voted('N', i);
}

/// The key belonged to another holder.
release::event taken(std::size_t i) {
    return voted('D', i);
}

std::string say(sized_release& machine, const release::event& e, duration now) {
    return said(machine, e, at(now));
}

/// Returns a release that was sent to the first `concerned` instances at 0.
sized_release sent(std::size_t concerned = 5, const release_settings& settings = five(),
                   instance_set open = {}) {
    sized_release machine = giving_back(concerned, settings, open);
    BOOST_TEST(say(machine, start, 0ms) ==
               "send " + std::string("01234567", concerned) + "; wait 50");
    return machine;
}

// The outcome for the caller.

BOOST_AUTO_TEST_CASE(is_resolved_by_exactly_a_quorum_and_ended_by_the_last_vote) {
    for (std::size_t n = 1; n <= 7; ++n) {
        BOOST_TEST_CONTEXT(n << " instances") {
            release_settings settings = five();
            settings.instances = n;
            sized_release machine = sent(n, settings);
            for (std::size_t i = 0; i != n; ++i) {
                const bool decides = i + 1 == quorum_of(n);
                const bool last = i + 1 == n;
                BOOST_TEST(say(machine, deleted(n - 1 - i), 1ms) ==
                           std::string(decides ? "resolved released; " : "") +
                               (last                   ? "ended"
                                : i + 1 < quorum_of(n) ? "wait 50"
                                                       : "wait 1012"));
            }
        }
    }
}

/// The replies to earlier commands come first.
BOOST_AUTO_TEST_CASE(waits_while_the_instances_answer_other_commands) {
    sized_release machine = sent();
    const release::event busy = release::event::timer(true);
    BOOST_TEST(say(machine, busy, 50ms) == "wait 62.5");
    BOOST_TEST(say(machine, busy, 63ms) == "wait 75.5");
    BOOST_TEST(say(machine, deleted(0), 64ms) == "wait 75.5");
    BOOST_TEST(say(machine, timer, 76ms) == "resolved no_quorum; wait 1012");
}

BOOST_AUTO_TEST_CASE(reports_the_outcome_with_the_deciding_vote) {
    constexpr duration in_time = 0ms;
    constexpr duration expired = 990ms;
    struct row {
        std::size_t instances;
        std::size_t concerned;
        duration started;
        std::string letters;  // The last one decides. '.' is silence until the timeout.
        std::string expected;
    };
    const row rows[] = {
        {1, 1, in_time, "G", "released"},
        {1, 1, in_time, "N", "lost"},
        {1, 1, in_time, "D", "lost"},
        {1, 1, in_time, "F", "no_quorum"},
        {1, 1, in_time, ".", "no_quorum"},
        {1, 1, expired, "G", "released"},  // The key outlived the validity.
        {1, 1, expired, "N", "expired"},
        {1, 1, expired, "F", "no_quorum"},
        {2, 2, in_time, "GG", "released"},
        {2, 2, in_time, "N", "lost"},
        {2, 2, in_time, "GN", "lost"},
        {2, 2, in_time, "GF", "no_quorum"},
        {3, 3, in_time, "GG", "released"},
        {3, 3, in_time, "NGG", "released"},
        {3, 3, in_time, "NN", "lost"},
        {3, 3, in_time, "NGN", "lost"},
        {3, 3, in_time, "GNF", "released"},  // Two instances have answered, and none contradicts.
        {3, 3, in_time, "GFF", "no_quorum"},
        {4, 4, in_time, "NN", "lost"},
        {4, 4, in_time, "GGFG", "released"},
        {4, 4, in_time, "GGFF", "no_quorum"},
        {5, 5, in_time, "GGG", "released"},
        {5, 5, in_time, "NNGGG", "released"},
        {5, 5, in_time, "DDGGG", "released"},
        {5, 5, in_time, "FFGGG", "released"},
        {5, 5, in_time, "NNN", "lost"},
        {5, 5, in_time, "GGDNN", "lost"},
        {5, 5, in_time, "DDD", "lost"},
        {5, 5, in_time, "GNFFG", "released"},
        {5, 5, in_time, "GGFFF", "no_quorum"},
        {5, 5, in_time, "FFFNN", "no_quorum"},
        {5, 5, in_time, ".", "no_quorum"},
        {5, 5, in_time, "GG.", "no_quorum"},
        {5, 5, in_time, "GGN.", "released"},
        {5, 5, in_time, "GGF.", "no_quorum"},
        {5, 5, expired, "NNN", "expired"},
        {5, 5, expired, "GGG", "released"},
        {5, 5, expired, "GGNNN", "expired"},
        {5, 5, expired, "GG.", "expired"},  // After 1012 ms, the remaining keys have expired.
        {5, 5, expired, "NND", "lost"},
        // The key has another value. Whether another holder has it is unknown.
        {1, 1, in_time, "U", "lost"},
        {1, 1, expired, "U", "expired"},
        {5, 5, in_time, "UUU", "lost"},
        {5, 5, in_time, "UUGGG", "released"},
        {5, 5, in_time, "GUFFG", "released"},
        {5, 5, expired, "UNU", "expired"},
        {5, 5, expired, "UUD", "lost"},
        // Instances without the key are not asked, and do not count as votes for it.
        {5, 3, in_time, "GGG", "released"},
        {5, 3, in_time, "N", "lost"},
        {5, 3, in_time, "GGN", "lost"},
        {5, 3, in_time, "GGF", "released"},
        {5, 3, in_time, "GFF", "released"},
        {5, 3, in_time, "FFF", "no_quorum"},
        {5, 4, in_time, "GNN", "lost"},
        {5, 4, expired, "GNN", "expired"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.concerned << " of " << r.instances << ", from " << in_ms(r.started)
                                       << " on: " << r.letters) {
            release_settings settings = five();
            settings.instances = r.instances;
            sized_release machine = giving_back(r.concerned, settings);
            BOOST_TEST(say(machine, start, r.started).starts_with("send 0"));
            bool ended = false;
            for (std::size_t i = 0; i != r.letters.size(); ++i) {
                const std::string words =
                    r.letters[i] == '.' ? say(machine, timer, r.started + 50ms)
                                        : say(machine, voted(r.letters[i], i), r.started + 1ms);
                ended = ended || has(words, "ended");
                if (i + 1 == r.letters.size()) {
                    BOOST_TEST(words.starts_with("resolved " + r.expected + "; "));
                } else {
                    BOOST_TEST(words.starts_with("wait "));
                }
            }
            // The outcome is reported once, whatever else happens.
            for (std::size_t i = 0; i != r.instances; ++i) {
                for (const char letter : {'G', 'N', 'D', 'F'}) {
                    const std::string words = say(machine, voted(letter, i), r.started + 60ms);
                    BOOST_TEST(!has(words, "resolved"));
                    ended = ended || has(words, "ended");
                }
            }
            BOOST_TEST(say(machine, timer, 2h) == (ended ? "wait never" : "ended"));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_fast_quorum_does_not_wait_for_silent_instances) {
    play(sent(), {{2ms, voted("G-G-G"), "wait 50", "resolved released; wait 1012"},
                  {50ms, timer, "wait 1012"},
                  {700ms, deleted(1), "wait 1012"},
                  {1012ms, timer, "ended"}});
}

BOOST_AUTO_TEST_CASE(an_expired_lease_is_resolved_immediately_without_sending) {
    for (const duration started : {1012ms, 5000ms}) {
        sized_release machine = giving_back();
        BOOST_TEST(say(machine, start, started) == "resolved expired; ended");
    }
}

BOOST_AUTO_TEST_CASE(is_resolved_at_the_latest_when_the_keys_have_expired) {
    struct row {
        duration started;
        std::string letters;
        std::string expected;
    };
    const row rows[] = {
        {1000ms, "", "resolved expired; ended"},
        {1000ms, "GN", "resolved expired; ended"},
        // The lease was valid at the start, but no reply confirms it.
        {987ms, "", "resolved no_quorum; ended"},
        {987ms, "GNF", "resolved no_quorum; ended"},
        {987ms, "GNG", "resolved released; ended"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("from " << in_ms(r.started) << " on: " << r.letters) {
            sized_release machine = giving_back();
            say(machine, start, r.started);
            for (std::size_t i = 0; i != r.letters.size(); ++i) {
                BOOST_TEST(!has(say(machine, voted(r.letters[i], i), r.started), "resolved"));
            }
            BOOST_TEST(say(machine, timer, 1012ms) == r.expected);
        }
    }
}

// The same machine rolls back a failed attempt.

release_settings attempt() {
    release_settings s = five();
    s.valid_until = time_point::min();
    return s;
}

BOOST_AUTO_TEST_CASE(fewer_grants_than_a_quorum_are_rolled_back_too) {
    for (std::size_t concerned = 1; concerned != 3; ++concerned) {
        BOOST_TEST_CONTEXT(concerned << " concerned") {
            sized_release machine = giving_back(concerned, attempt());
            const std::string all = concerned == 1 ? "0" : "01";
            // No caller waits for the outcome, but it is reported once.
            BOOST_TEST(say(machine, start, 0ms) == "resolved expired; send " + all + "; wait 1012");
            for (std::size_t i = 0; i != concerned; ++i) {
                BOOST_TEST(say(machine, deleted(i), 1ms) ==
                           (i + 1 == concerned ? "ended" : "wait 1012"));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(ends_immediately_if_no_instance_is_concerned) {
    sized_release machine = giving_back(0, attempt());
    BOOST_TEST(say(machine, start, 0ms) == "resolved expired; ended");
}

BOOST_AUTO_TEST_CASE(silent_instances_are_sent_a_release_and_awaited) {
    play(sent(5, attempt()), {{1ms, deleted(0), "wait 50"},
                              {50ms, timer, "resolved no_quorum; wait 1012"},
                              {90ms, voted("-NNGD"), "wait 1012", "ended"}});
}

BOOST_AUTO_TEST_CASE(reports_the_answer_of_each_instance) {
    release_settings settings = five();
    settings.instances = 8;
    sized_release machine = sent(7, settings);
    say(machine, deleted(0), 1ms);
    say(machine, nothing(1), 1ms);
    say(machine, taken(2), 1ms);
    const auto why_not = std::make_shared<const std::string>("why not");
    say(machine, release::event::voted(3, kept(vote::failed(failure::down, why_not))), 1ms);
    say(machine, failed(4), 1ms);
    say(machine, voted('U', 6), 1ms);
    const round votes = machine.votes();
    BOOST_TEST(votes.granted() == 1U);
    BOOST_TEST((votes.vote_of(1)->key == key_state::absent));
    BOOST_TEST((votes.vote_of(2)->key == key_state::foreign));
    BOOST_TEST((votes.vote_of(3)->reason == failure::down));
    BOOST_TEST(*votes.vote_of(3)->detail == "why not");
    BOOST_TEST((votes.vote_of(4)->kind == vote_kind::failed));
    BOOST_TEST((votes.vote_of(5)->reason == failure::timeout));  // Silent.
    BOOST_TEST((votes.vote_of(6)->key == key_state::unknown));
    BOOST_TEST((votes.vote_of(7)->key == key_state::absent));  // It never had the key.

    // The last of several replies counts.
    say(machine, timer, 1ms + pause(1));
    say(machine, deleted(3), 40ms);
    BOOST_TEST((machine.votes().vote_of(3)->kind == vote_kind::granted));
}

BOOST_AUTO_TEST_CASE(a_holder_with_a_label_is_another_holder) {
    sized_release machine = sent(4);
    say(machine, release::event::voted(0, kept(vote::denied(key_state::labelled))), 1ms);
    BOOST_TEST((machine.votes().vote_of(0)->key == key_state::foreign));
}

// Retries.

BOOST_AUTO_TEST_CASE(retries_only_the_failed_instances) {
    sized_release machine = sent();
    const duration second = 1ms + pause(1);
    const duration third = second + 1ms + pause(2);
    play(machine, {{1ms, failed(1), "wait " + in_ms(second)},
                   {2ms, deleted(0), "wait " + in_ms(second)},
                   {3ms, failed(3), "wait " + in_ms(second)},  // Retried with the first.
                   {4ms, deleted(2), "wait " + in_ms(second)},
                   {second - 1ns, timer, "wait " + in_ms(second)},
                   {second, timer, "send 13; wait 50"},
                   {second + 1ms, failed(3), "wait " + in_ms(third)},
                   {second + 2ms, deleted(1), "resolved released; wait " + in_ms(third)},
                   {third, timer, "send 3; wait 1012"},
                   {third + 1ms, nothing(3), "wait 1012"},
                   {third + 2ms, deleted(4), "ended"}});
}

BOOST_AUTO_TEST_CASE(retries_with_growing_backoff_until_the_keys_have_expired) {
    release_settings settings = five();
    settings.instances = 1;
    settings.retry = {4ms, 100ms};
    sized_release machine = sent(1, settings);
    duration now = 0ms;
    std::size_t retry = 1;
    for (;; ++retry) {
        const duration next = now + pause(retry, settings);
        const std::string resolved = retry == 1 ? "resolved no_quorum; " : "";
        if (next >= 1012ms) {
            BOOST_TEST(say(machine, failed(0), now) == resolved + "wait 1012");
            break;
        }
        BOOST_TEST(say(machine, failed(0), now) == resolved + "wait " + in_ms(next));
        BOOST_TEST(say(machine, timer, next) == "send 0; wait 1012");
        now = next;
    }
    BOOST_TEST(retry > 10U);
    BOOST_TEST(say(machine, timer, 1012ms) == "ended");
}

// Instances that were down.

BOOST_AUTO_TEST_CASE(retries_a_down_instance_when_it_has_recovered) {
    play(sent(), {{1ms, voted("-FF"), "wait 50"},
                  {2ms, voted("G--G"), "wait 50"},
                  {50ms, timer, "resolved no_quorum; wait 1012"},
                  {300ms, timer, "wait 1012"},
                  {400ms, accepting(1), "send 1; wait 1012"},
                  {401ms, accepting(1), "wait 1012"},  // It has been asked already.
                  {402ms, failed(1, failure::down), "wait 1012"},
                  {500ms, accepting(0), "wait 1012"},  // It has nothing to release.
                  {500ms, accepting(4), "wait 1012"},  // Its request is still pending.
                  {600ms, accepting(1), "send 1; wait 1012"},
                  {601ms, deleted(1), "wait 1012"},
                  {700ms, accepting(2), "send 2; wait 1012"},
                  {701ms, nothing(2), "wait 1012"},
                  {1012ms, timer, "ended"},
                  {1013ms, accepting(4), "wait never"}});
}

BOOST_AUTO_TEST_CASE(an_instance_that_recovers_in_time_decides_the_outcome) {
    play(sent(), {{1ms, voted("FGG"), "wait 50"},
                  {2ms, accepting(0), "send 0; wait 50"},
                  {3ms, deleted(0), "resolved released; wait 1012"}});
}

// An additional attempt is cheap in this case.
BOOST_AUTO_TEST_CASE(retries_down_instances_together_with_failed_ones) {
    sized_release machine = sent();
    const duration second = 2ms + pause(1);
    play(machine, {{1ms, failed(0, failure::down), "wait 50"},
                   {2ms, failed(1), "wait " + in_ms(second)},
                   {second, timer, "send 01; wait 50"}});
}

BOOST_AUTO_TEST_CASE(any_failure_is_retried_when_the_instance_has_recovered) {
    sized_release machine = sent();
    const duration second = 1ms + pause(1);
    play(machine, {{1ms, failed(1), "wait " + in_ms(second)},
                   {2ms, accepting(1), "send 1; wait " + in_ms(second)},
                   {second, timer, "wait 50"}});
}

BOOST_AUTO_TEST_CASE(a_retry_may_decide_the_outcome_in_time) {
    release_settings settings = five();
    settings.instances = 3;
    sized_release machine = sent(3, settings);
    const duration second = 1ms + pause(1);
    play(machine, {{1ms, failed(0), "wait " + in_ms(second)},
                   {1ms, failed(1), "wait " + in_ms(second)},
                   {second, timer, "send 01; wait 50"},
                   {second, voted("GG"), "wait 50", "resolved released; wait 1012"}});
}

// The instances that are asked.

BOOST_AUTO_TEST_CASE(sends_one_release_to_each_instance_concerned) {
    for (std::size_t n = 1; n <= 7; ++n) {
        for (std::size_t mask = 0; mask != std::size_t{1} << n; ++mask) {
            release_settings settings = five();
            settings.instances = n;
            instance_set holding;
            for (std::size_t i = 0; i != n; ++i) {
                if ((mask >> i & 1U) != 0) {
                    holding.add(i);
                }
            }
            sized_release machine(settings, holding, {}, seed);
            const lease_step step = machine.resume(start, at(0ms));
            BOOST_TEST(step.send.has_value() == (mask != 0));
            BOOST_TEST(step.ended == (mask == 0));
            if (step.send) {
                BOOST_TEST((step.send->purpose() == lease_tag::purpose_type::release));
                for (std::size_t i = 0; i != n; ++i) {
                    BOOST_TEST(step.targets.contains(i) == ((mask >> i & 1U) != 0),
                               mask << " of " << n);
                }
            }
            BOOST_TEST(!machine.resume(timer, at(0ms)).send);  // They have been asked already.
        }
    }
}

BOOST_AUTO_TEST_CASE(retries_failed_instances_when_the_backoff_has_passed) {
    for (std::size_t n = 1; n <= 7; ++n) {
        for (const bool all_fail : {true, false}) {
            BOOST_TEST_CONTEXT(n << " instances, all fail: " << all_fail) {
                release_settings settings = five();
                settings.instances = n;
                sized_release machine = sent(n, settings);
                for (std::size_t i = 0; i != n; ++i) {
                    const auto words =
                        say(machine, all_fail || i != 0 ? failed(i) : deleted(i), 1ms);
                    BOOST_TEST(!has(words, "send"));  // Not before the backoff has passed.
                }
                const lease_step step = machine.resume(timer, at(40ms));
                const bool sends = all_fail || n != 1;
                BOOST_TEST(step.send.has_value() == sends);
                if (sends) {
                    BOOST_TEST(step.targets.count(n) == (all_fail ? n : n - 1));
                    BOOST_TEST(step.targets.contains(0) == all_fail);
                }
            }
        }
    }
}

// Repeated and late votes.

BOOST_AUTO_TEST_CASE(counts_each_instance_once) {
    play(sent(), {{1ms, {deleted(0), deleted(0), nothing(0)}, "wait 50"},
                  {1ms, {nothing(1), nothing(1), deleted(1)}, "wait 50"},
                  {1ms, {taken(2), failed(2)}, "wait 50"},
                  {3ms, voted("---GG"), "wait 50", "resolved released; ended"},
                  {4ms, {deleted(1), failed(1), timer}, "wait never"}});
}

BOOST_AUTO_TEST_CASE(votes_of_instances_without_a_release_are_ignored) {
    play(sent(3), {{1ms, voted("---GG"), "wait 50"},
                   {1ms, deleted(0), "wait 50"},
                   {1ms, failed(3), "wait 50"},
                   {1ms, voted("-GG"), "wait 50", "resolved released; ended"}});
}

BOOST_AUTO_TEST_CASE(ends_when_the_keys_have_expired_despite_missing_votes) {
    play(sent(), {{1ms, failed(0), "wait " + in_ms(1ms + pause(1))},
                  {50ms, timer, "resolved no_quorum; send 0; wait 1012"},
                  {1012ms, timer, "ended"},
                  {1013ms, deleted(0), "wait never"},
                  {1013ms, failed(1), "wait never"},
                  {2000ms, timer, "wait never"}});
}

// Late grants of an acquire that is being rolled back.

BOOST_AUTO_TEST_CASE(a_late_grant_where_nothing_was_found_is_released_again) {
    for (const auto& before : {nothing(3), taken(3)}) {
        play(sent(4, attempt()),
             {{1ms, before, "wait 50"},
              {2ms, late_grant(3), "send 3; wait 50"},
              {3ms, late_grant(4), "send 4; wait 50"},  // It had not been asked.
              {4ms, voted("---GG"), "wait 50"},
              {5ms, deleted(0), "resolved released; wait 1012"},
              {6ms, voted("-NN"), "wait 1012", "ended"}});
    }
}

BOOST_AUTO_TEST_CASE(a_late_grant_is_ignored_if_a_release_is_pending_or_done) {
    play(sent(4, attempt()), {{1ms, late_grant(0), "wait 50"},
                              {2ms, deleted(1), "wait 50"},
                              {3ms, late_grant(1), "wait 50"},
                              {4ms, failed(2), "wait " + in_ms(4ms + pause(1))},
                              {5ms, late_grant(2), "wait " + in_ms(4ms + pause(1))},
                              {30ms, timer, "send 2; wait 50"}});
}

BOOST_AUTO_TEST_CASE(a_late_grant_repeats_a_release_that_found_nothing) {
    play(sent(4, attempt()), {{1ms, late_grant(0), "wait 50"},
                              {1ms, late_grant(1), "wait 50"},
                              {2ms, nothing(0), "send 0; wait 50"},
                              {2ms, deleted(1), "wait 50"},
                              {3ms, nothing(0), "wait 50"},  // It is not repeated again.
                              {4ms, nothing(2), "resolved expired; wait 1012"},
                              {5ms, late_grant(0), "send 0; wait 1012"},
                              {5ms, late_grant(1), "wait 1012"}});  // Deleted after that grant.
}

/// The grant may have come before or after the release.
BOOST_AUTO_TEST_CASE(a_late_grant_is_still_released_after_a_failed_release) {
    sized_release machine = sent(5, attempt());
    const duration second = 2ms + pause(1);
    play(machine, {{1ms, late_grant(0), "wait 50"},
                   {2ms, failed(0), "wait " + in_ms(second)},
                   {second, timer, "send 0; wait 50"},
                   {second + 1ms, nothing(0), "send 0; wait 50"},
                   {second + 2ms, nothing(0), "wait 50"}});
}

BOOST_AUTO_TEST_CASE(a_late_vote_that_is_not_a_grant_sends_nothing) {
    for (const vote& v :
         {vote::denied(key_state::foreign), vote::denied(key_state::absent),
          vote::failed(failure::down), vote::failed(failure::timeout),
          vote::failed(failure::server_error), vote::failed(failure::connection_lost)}) {
        play(sent(4, attempt()), {{1ms, nothing(0), "wait 50"},
                                  {2ms, {late(0, v), late(1, v), late(4, v)}, "wait 50"},
                                  {3ms, nothing(1), "resolved expired; wait 1012"},
                                  {4ms, late(0, v), "wait 1012"}});
    }
}

BOOST_AUTO_TEST_CASE(the_end_is_final) {
    play(giving_back(1, attempt()), {{0ms, start, "resolved expired; send 0; wait 1012"},
                                     {1ms, nothing(0), "ended"},
                                     {30ms, late_grant(0), "wait never"},
                                     {70ms, timer, "wait never"}});
}

BOOST_AUTO_TEST_CASE(a_late_grant_with_the_resolving_event_is_released) {
    play(sent(5, attempt()),
         {{2ms, voted("NN"), "wait 50"},
          // The timeout of the others ends now. This is the first event after it.
          {50ms, late_grant(0), "resolved no_quorum; send 0; wait 1012"},
          {51ms, deleted(0), "wait 1012"}});
}

// Open instances may be about to execute the acquire.

/// Returns the rollback of an attempt on one open instance, which has not answered within its 50 ms.
sized_release open_one() {
    release_settings settings = attempt();
    settings.instances = 1;
    settings.longest_life = 1012ms;
    sized_release machine = sent(1, settings, instance_set::only(0));
    play(machine, {{50ms, timer, "resolved no_quorum; wait never"}});
    return machine;
}

BOOST_AUTO_TEST_CASE(an_open_instance_keeps_the_release_pending) {
    play(open_one(), {{1012ms, timer, "wait never"},
                      {5s, failed(0, failure::down), "wait never"},
                      {3600s, accepting(0), "send 0; wait " + in_ms(3600s + 1012ms)},
                      {3601s, nothing(0), "ended"}});
}

BOOST_AUTO_TEST_CASE(an_answer_of_an_open_instance_limits_the_release_time) {
    struct row {
        std::string name;
        release::event answer;
        bool closes;
    };
    const row rows[] = {
        {"granted", late_grant(0), true},
        {"denied", late(0, vote::denied(key_state::foreign)), true},
        {"not sent", late(0, vote::failed(failure::withdrawn)), true},
        {"refused", late(0, vote::failed(failure::server_error)), true},
        {"cut", late(0, vote::failed(failure::connection_lost)), false},
        {"silent", late(0, vote::failed(failure::timeout)), false},
        {"accepting", accepting(0), true},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.name) {
            sized_release machine = open_one();
            const std::string until = r.closes ? in_ms(300ms + 1012ms) : "never";
            play(machine, {{300ms, r.answer, "wait " + until},
                           {400ms, r.answer, "wait " + until},  // Only the first reply counts.
                           {1012ms, timer, "wait " + until},
                           {1312ms, timer, r.closes ? "ended" : "wait never"}});
        }
    }
}

BOOST_AUTO_TEST_CASE(an_answer_to_the_release_closes_an_open_instance) {
    struct row {
        failure why;
        bool closes;
    };
    for (const auto& [why, closes] : {row{failure::server_error, true},
                                      {failure::unexpected_reply, true},
                                      {failure::timeout, false},
                                      {failure::connection_lost, false},
                                      {failure::stalled, false}}) {
        sized_release machine = open_one();
        const duration second = 60ms + pause(1);
        const std::string until = closes ? in_ms(60ms + 1012ms) : "never";
        play(machine, {{60ms, failed(0, why), "wait " + in_ms(second)},
                       {second, timer, "send 0; wait " + until}});
    }
}

BOOST_AUTO_TEST_CASE(the_last_open_instance_decides_the_end) {
    release_settings settings = attempt();
    settings.longest_life = 1012ms;
    instance_set open;
    open.add(1);
    open.add(3);
    play(sent(5, settings, open), {{50ms, timer, "resolved no_quorum; wait never"},
                                   {60ms, deleted(1), "wait never"},
                                   {70ms, late(3, vote::denied(key_state::foreign)), "wait 1082"},
                                   {1081ms, timer, "wait 1082"},
                                   {1082ms, timer, "ended"}});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
