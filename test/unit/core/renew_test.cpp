// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(renewing)

using boost::unit_test::label;
using renew_script = script<renew>;

/// Settings of five instances that have 50 ms to vote, with a ttl of 1 s. A grant is valid for 988 ms, and
/// its loss is reported after 938 ms. The lease is renewed every 300 ms.
renew_settings five() {
    renew_settings s;
    s.instances = 5;
    s.ttl = 1s;
    s.interval = 300ms;
    s.instance_timeout = 50ms;
    return s;
}

renew_settings instances(std::size_t n) {
    renew_settings s = five();
    s.instances = n;
    return s;
}

renew_settings unrenewed() {
    renew_settings s = five();
    s.interval = 0ms;
    return s;
}

renew_settings held_at_most(duration limit) {
    renew_settings s = five();
    s.max_hold = limit;
    return s;
}

/// Returns the watchdog of a lease whose acquire was sent at 0.
renew watchdog(const renew_settings& settings = five()) {
    return renew(settings, at(0ms), core::valid_until(at(0ms), settings.ttl, settings.drift));
}

const renew::event timer = renew::event::timer();
constexpr auto* extend = renew::event::extend;

renew::event voted(char letter, std::size_t i, std::uint32_t round) {
    return renew::event::voted(i, round, kept(vote_from(letter)));
}
std::vector<renew::event> voted(std::string_view letters, std::uint32_t round = 1) {
    return votes_from(letters, [=](char letter, std::size_t i) { return voted(letter, i, round); });
}

renew::event granted(std::size_t i, std::uint32_t round = 1) {
    return voted('G', i, round);
}
renew::event failed(std::size_t i, std::uint32_t round = 1) {
    return voted('F', i, round);
}

/// The key has expired.
renew::event gone(std::size_t i, std::uint32_t round = 1) {
    return voted('N', i, round);
}

/// The key belongs to another holder.
renew::event taken(std::size_t i, std::uint32_t round = 1) {
    return voted('D', i, round);
}

/// The steps up to the first round, which starts at 300 ms.
const renew_script to_round_1 = {
    {0ms, timer, "wait 300"},
    {300ms, timer, "send #1 1000; wait 350"},
};

/// Returns a watchdog that has sent its first round.
renew in_round_1(const renew_settings& settings = five()) {
    renew machine = watchdog(settings);
    play(machine, to_round_1);
    return machine;
}

// The rounds.

BOOST_AUTO_TEST_CASE(renews_at_its_interval_counted_from_the_send) {
    renew machine = watchdog();
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    play(machine, to_round_1);
    play(machine, {{320ms, voted("G--G"), "wait 350"}, {340ms, granted(4), "wait 600"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "1288");
    BOOST_TEST(machine.won() == 1U);
    play(machine, {{600ms - 1ns, timer, "wait 600"},
                   {605ms, timer, "send #2 1000; wait 655"},
                   {607ms, voted("GGG", 2), "wait 655", "wait 905"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "1593");
    BOOST_TEST(machine.won() == 2U);
    BOOST_TEST(machine.failed() == 0U);
    BOOST_TEST(machine.round_number() == 2U);
    BOOST_TEST(machine.votes()->granted() == 3U);
}

BOOST_AUTO_TEST_CASE(needs_exactly_a_quorum) {
    for (std::size_t n = 1; n <= 7; ++n) {
        BOOST_TEST_CONTEXT(n << " instances") {
            renew winner = in_round_1(instances(n));
            renew loser = in_round_1(instances(n));
            renew retrier = in_round_1(instances(n));
            for (std::size_t i = 1; i < quorum_of(n); ++i) {
                BOOST_TEST(said(winner, granted(n - i), at(301ms)) == "wait 350");
            }
            BOOST_TEST(said(winner, granted(0), at(302ms)) == "wait 600");

            for (std::size_t i = 0; i != spare_of(n); ++i) {
                BOOST_TEST(said(loser, taken(i), at(301ms)) == "wait 350");
                BOOST_TEST(said(retrier, failed(i), at(301ms)) == "wait 350");
            }
            BOOST_TEST(said(loser, taken(n - 1), at(302ms)) == "lost keys_gone");
            BOOST_TEST(said(retrier, failed(n - 1), at(302ms)) == "wait 311.375");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_late_start_of_the_watchdog_does_not_delay_the_renewal) {
    // The acquire was sent at 0, and granted when much of the validity had passed.
    play(renew(five(), at(900ms), at(988ms)), {{900ms, timer, "send #1 1000; wait 938"},
                                               {901ms, voted("GGG"), "wait 938", "wait 1200"}});
}

BOOST_AUTO_TEST_CASE(a_grant_too_close_to_its_end_is_lost_immediately) {
    play(renew(five(), at(940ms), at(988ms)), {{940ms, timer, "lost unrenewable"}});
}

BOOST_AUTO_TEST_CASE(waits_for_votes_until_the_instance_timeout) {
    renew machine = in_round_1();
    play(machine, {{302ms, voted("GG"), "wait 350"},
                   {349ms, timer, "wait 350"},
                   {350ms, timer, "wait 359.375"}});
    BOOST_TEST(machine.failed() == 1U);
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    BOOST_TEST((machine.votes()->vote_of(2)->reason == failure::timeout));
}

BOOST_AUTO_TEST_CASE(a_vote_processed_before_the_timer_counts) {
    play(in_round_1(), {{360ms, voted("GGG"), "wait 350", "wait 600"}});
}

BOOST_AUTO_TEST_CASE(counts_each_instance_once_per_round) {
    play(in_round_1(), {{301ms, {granted(0), granted(0), granted(0)}, "wait 350"},
                        {301ms, {taken(1), taken(1), taken(1)}, "wait 350"},
                        {302ms, voted("-GGG"), "wait 350", "wait 600"}});
}

BOOST_AUTO_TEST_CASE(late_votes_of_an_old_round_are_ignored) {
    play(in_round_1(), {{350ms, timer, "wait 359.375"},
                        {355ms, granted(0), "wait 359.375"},
                        {360ms, timer, "send #2 1000; wait 410"},
                        {361ms, voted("GGG"), "wait never"},
                        {361ms, voted("--DDD"), "wait never"},
                        {362ms, voted("GG", 2), "wait 410"},
                        // Votes of a nonexistent round are ignored too.
                        {362ms, granted(2, 7), "wait never"},
                        {363ms, granted(2, 2), "wait 660"}});
}

// Failed rounds.

BOOST_AUTO_TEST_CASE(retries_with_growing_pauses_until_shortly_before_the_end) {
    renew machine = in_round_1();
    std::uint32_t round = 1;
    time_point now = at(300ms);
    std::vector<std::string> pauses;
    std::string words;
    for (;; ++round) {
        BOOST_TEST_REQUIRE(round < 100U);
        said(machine, failed(0, round), now);
        said(machine, failed(1, round), now);
        const auto before = now;
        BOOST_TEST(in_ms(machine.valid_until()) == "988");
        const auto step = machine.resume(failed(2, round), now);
        BOOST_TEST_REQUIRE(describe(machine, step) == "wait " + in_ms(step.until));
        BOOST_TEST(machine.failed() == round);
        now = step.until;
        pauses.push_back(in_ms(now - before));
        BOOST_TEST((now - before).count() <= ((at(988ms) - before) / 4).count());
        words = said(machine, timer, now);
        if (!has(words, "send")) {
            break;
        }
    }
    BOOST_TEST(words == "lost unrenewable");
    BOOST_TEST(in_ms(now) == "938");
    BOOST_TEST(round > 15U);
    BOOST_TEST(round < 40U);
    const std::vector<std::string> first(pauses.begin(), pauses.begin() + 5);
    BOOST_TEST(first == (std::vector<std::string>{"9.375", "18.75", "37.5", "37.5", "37.5"}),
               boost::test_tools::per_element());
}

// The grid is that of the clock. at(0ms) lies on the grid.
BOOST_AUTO_TEST_CASE(renewals_begin_at_multiples_of_the_grid) {
    BOOST_TEST_REQUIRE((at(0ms).time_since_epoch() % 8ms).count() == 0);
    renew_settings on_a_grid = five();
    on_a_grid.grid = 8ms;
    play(watchdog(on_a_grid),
         {{1ms, timer, "wait 296"},
          {296ms, timer, "send #1 1000; wait 346"},
          {297ms, voted("GGG"), "wait 346", "wait 592"},
          {595ms, timer, "send #2 1000; wait 645"},
          {596ms, voted("FFF", 2), "wait 645", "wait 605.375"}});  // A retry ignores the grid.
}

BOOST_AUTO_TEST_CASE(a_won_round_resets_the_retry_pauses) {
    renew machine = in_round_1();
    play(machine, {{301ms, voted("FFF"), "wait 350", "wait 310.375"},
                   {311ms, timer, "send #2 1000; wait 361"},
                   {312ms, voted("GGG", 2), "wait 361", "wait 611"},
                   {611ms, timer, "send #3 1000; wait 661"},
                   {612ms, voted("FFF", 3), "wait 661", "wait 621.375"}});
    BOOST_TEST(machine.won() == 1U);
    BOOST_TEST(machine.failed() == 2U);
    BOOST_TEST(in_ms(machine.valid_until()) == "1299");
}

BOOST_AUTO_TEST_CASE(a_round_without_a_quorum_does_not_lose_the_lease) {
    for (const std::string letters : {"NNF", "NFN", "FFF", "NFF", "GGFFN", "NGGFF", "DDF"}) {
        BOOST_TEST_CONTEXT(letters) {
            play(in_round_1(), {{301ms, voted(letters), "wait 350", "wait 310.375"},
                                {311ms, timer, "send #2 1000; wait 361"}});
        }
    }
}

// The loss.

BOOST_AUTO_TEST_CASE(a_lease_is_lost_when_too_few_keys_are_left_for_a_quorum) {
    for (const std::string letters : {"NNN", "DDD", "NDN", "GNDN", "GGDNN"}) {
        BOOST_TEST_CONTEXT(letters) {
            play(in_round_1(), {{301ms, voted(letters), "wait 350", "lost keys_gone"}});
        }
    }
}

BOOST_AUTO_TEST_CASE(keys_found_missing_after_a_failed_round_lose_the_lease) {
    play(in_round_1(), {{301ms, voted("FFN"), "wait 350", "wait 310.375"},
                        {303ms, voted("---DN"), "wait 310.375", "lost keys_gone"}});
}

BOOST_AUTO_TEST_CASE(a_loss_is_reported_by_the_loss_margin_before_the_validity_ends) {
    renew_settings settings = five();
    settings.loss_margin = 400ms;
    play(watchdog(settings), {{0ms, timer, "wait 300"}, {588ms, timer, "lost unrenewable"}});

    // A shorter ttl keeps at least half of its time.
    renew extended = watchdog(settings);
    play(extended, {{0ms, timer, "wait 300"},
                    {100ms, extend(200ms), "send #1 200; wait 150"},
                    {101ms, voted("GGG"), "wait 150", "extended; wait 160"},
                    {196ms, timer, "lost unrenewable"}});

    settings.max_hold = 500ms;
    play(watchdog(settings), {{0ms, timer, "wait 250"}, {250ms, timer, "lost max_hold"}});
}

BOOST_AUTO_TEST_CASE(a_loss_is_reported_before_the_validity_ends) {
    // Covers a loss while waiting, and a loss in the middle of a round.
    play(watchdog(), {{0ms, timer, "wait 300"}, {938ms, timer, "lost unrenewable"}});

    play(watchdog(), {{0ms, timer, "wait 300"},
                      {938ms - 1ns, timer, "send #1 1000; wait 938"},
                      {938ms, timer, "lost unrenewable"}});

    play(watchdog(), {{0ms, timer, "wait 300"},
                      {930ms, timer, "send #1 1000; wait 938"},
                      {931ms, voted("GG"), "wait 938"},
                      {938ms, granted(2), "wait 1230"}});
}

BOOST_AUTO_TEST_CASE(an_expired_validity_is_never_renewed) {
    struct row {
        duration third_grant;
        std::string expected;
    };
    const row rows[] = {
        {988ms - 1ns, "wait 1230"},  // This is late, but the loss has not been reported yet.
        {988ms, "lost unrenewable"}, {1000ms, "lost unrenewable"},
        {5s, "lost unrenewable"},    {1000h, "lost unrenewable"},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("won at " << in_ms(r.third_grant)) {
            play(watchdog(), {{0ms, timer, "wait 300"},
                              {930ms, timer, "send #1 1000; wait 938"},
                              {931ms, voted("GG"), "wait 938"},
                              {r.third_grant, granted(2), r.expected}});
        }
    }
}

BOOST_AUTO_TEST_CASE(a_lease_is_lost_after_a_long_pause_of_the_process) {
    struct row {
        std::string name;
        renew_script before;
        renew::event first;
    };
    const row rows[] = {
        {"waiting", {{0ms, timer, "wait 300"}}, timer},
        {"asked to extend", {{0ms, timer, "wait 300"}}, extend(10s)},
        {"in a round, the timer first", to_round_1, timer},
        {"in a round, a grant first", to_round_1, granted(0)},
        {"in a round, an extend first", to_round_1, extend(10s)},
        {"in a round, one short of a quorum",
         {to_round_1[0], to_round_1[1], {301ms, voted("GG"), "wait 350"}},
         granted(2)},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.name) {
            renew machine = watchdog();
            play(machine, r.before);
            BOOST_TEST(said(machine, r.first, at(5s)) == "lost unrenewable");
            for (std::size_t i = 0; i != 5; ++i) {
                BOOST_TEST(said(machine, granted(i), at(5s)) == "wait never");
            }
            BOOST_TEST(in_ms(machine.valid_until()) == "988");
        }
    }
}

BOOST_AUTO_TEST_CASE(a_loss_is_reported_once_and_is_final) {
    play(in_round_1(instances(1)), {{301ms, gone(0), "lost keys_gone"},
                                    {302ms, granted(0), "wait never"},
                                    {302ms, timer, "wait never"},
                                    {302ms, extend(1s), "wait never"},
                                    {5s, timer, "wait never"}});
}

// Leases without renewal, and leases with a limit.

BOOST_AUTO_TEST_CASE(without_renewal_the_lease_expires) {
    play(watchdog(unrenewed()),
         {{0ms, timer, "wait 938"}, {900ms, timer, "wait 938"}, {938ms, timer, "lost expired"}});
}

BOOST_AUTO_TEST_CASE(without_renewal_the_holder_may_still_extend) {
    play(watchdog(unrenewed()), {{0ms, timer, "wait 938"},
                                 {500ms, extend(1s), "send #1 1000; wait 550"},
                                 {501ms, voted("GGG"), "wait 550", "extended; wait 1438"},
                                 {1000ms, extend(2s), "send #2 2000; wait 1050"},
                                 {1001ms, voted("FFF", 2), "wait 1050", "not extended; wait 1438"},
                                 {1438ms, timer, "lost expired"}});
}

BOOST_AUTO_TEST_CASE(max_hold_ends_a_lease_despite_renewals, *label("fault-17")) {
    // Covers an end between rounds, an end in a round, and a round that wins too late. Each loss is reported
    // max_hold / 20 before the end.
    play(watchdog(held_at_most(200ms)),
         {{0ms, timer, "wait 190"}, {189ms, timer, "wait 190"}, {190ms, timer, "lost max_hold"}});

    play(watchdog(held_at_most(320ms)), {{0ms, timer, "wait 300"},
                                         {300ms, timer, "send #1 1000; wait 304"},
                                         {303ms, timer, "wait 304"},
                                         {304ms, timer, "lost max_hold"}});

    renew_settings single = held_at_most(320ms);
    single.instances = 1;
    play(watchdog(single), {{0ms, timer, "wait 300"},
                            {300ms, timer, "send #1 1000; wait 304"},
                            {304ms, granted(0), "lost max_hold"}});

    play(watchdog(held_at_most(500ms)), {{0ms, timer, "wait 300"},
                                         {300ms, timer, "send #1 1000; wait 350"},
                                         {301ms, voted("GGG"), "wait 350", "wait 475"},
                                         {400ms, extend(10s), "send #2 10000; wait 450"},
                                         {401ms, voted("GGG", 2), "wait 450", "extended; wait 475"},
                                         {475ms, timer, "lost max_hold"}});
}

/// Each of about 200 renewals wins, and no wait exceeds max_hold.
BOOST_AUTO_TEST_CASE(max_hold_ends_a_lease_after_many_renewals, *label("fault-17")) {
    using event = renew::event;
    renew_settings settings = instances(3);
    settings.max_hold = 1min;
    renew machine = watchdog(settings);
    time_point now = at(0ms);
    lease_step step = machine.resume(event::timer(), now);
    while (!step.lost) {
        BOOST_TEST_REQUIRE((step.until <= at(settings.max_hold)));
        if (step.send) {
            const auto round = machine.round_number();
            const vote granted = vote::granted();
            for (std::size_t i = 0; i != quorum_of(3) && !step.lost; ++i) {
                step = machine.resume(event::voted(i, round, granted), now);
            }
        } else {
            now = std::max(now, step.until);
            step = machine.resume(event::timer(), now);
        }
    }
    BOOST_TEST((step.lost == loss::max_hold));
    BOOST_TEST((now == at(settings.max_hold) - loss_notice(settings.ttl)));
    BOOST_TEST((machine.valid_until() == at(settings.max_hold)));
    BOOST_TEST(machine.won() > 190U);
}

// If rounds are slow, the next round starts earlier. Two rounds as slow as the last one must fit into the
// remaining time.

BOOST_AUTO_TEST_CASE(a_renewal_leaves_time_for_two_slow_rounds) {
    const time_point until = core::valid_until(at(0ms), five().ttl, five().drift);  // 988 ms.
    renew quick(five(), at(319ms), until);
    play(quick, {{319ms, timer, "send #1 1000; wait 369"}});              // 300 ms have passed.
    play(renew(five(), at(200ms), until), {{200ms, timer, "wait 300"}});  // 938 - 2 * 200 is later.
    renew_settings rare = five();
    rare.interval = 500ms;
    play(renew(rare, at(250ms), until),
         {{250ms, timer, "wait 438"},
          {438ms, timer, "send #1 1000; wait 488"},
          {448ms, voted("GGG"), "wait 488", "wait 938"}});  // That round was quick.
}

BOOST_AUTO_TEST_CASE(validity_never_exceeds_max_hold, *label("fault-17")) {
    renew machine = watchdog(held_at_most(500ms));
    BOOST_TEST(in_ms(machine.valid_until()) == "500");
    play(machine, {{0ms, timer, "wait 300"},
                   {300ms, timer, "send #1 1000; wait 350"},
                   {301ms, voted("GGG"), "wait 350", "wait 475"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "500");
}

BOOST_AUTO_TEST_CASE(max_hold_counts_from_the_grant, *label("fault-17")) {
    play(renew(held_at_most(200ms), at(30ms), at(988ms)),
         {{30ms, timer, "wait 220"}, {220ms, timer, "lost max_hold"}});
}

// Restored keys.

BOOST_AUTO_TEST_CASE(restores_missing_keys_once_the_same_round_is_won) {
    struct row {
        std::string letters;  // All at 301 ms.
        std::vector<std::string> expected;
    };
    const std::string wait = "wait 350";
    const std::string done = "wait 600";
    const row rows[] = {
        {"GGG", {wait, wait, done}},
        {"NGGG", {wait, wait, wait, "heal 0 1000; wait 600"}},
        {"NNGGG", {wait, wait, wait, wait, "heal 0 1000; heal 1 1000; wait 600"}},
        {"GNGG", {wait, wait, wait, "heal 1 1000; wait 600"}},
        {"GGGN", {wait, wait, done, "heal 3 1000; wait 600"}},
        {"GGGNN", {wait, wait, done, "heal 3 1000; wait 600", "heal 4 1000; wait 600"}},
        {"NGGGN", {wait, wait, wait, "heal 0 1000; wait 600", "heal 4 1000; wait 600"}},
        {"DGGG", {wait, wait, wait, done}},  // Another holder has the key, so it is not restored.
        {"GGGDF", {wait, wait, done, done, done}},
        {"FGGG", {wait, wait, wait, done}},  // It has reported nothing, and may have the key.
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT(r.letters) {
            renew machine = in_round_1();
            for (std::size_t i = 0; i != r.letters.size(); ++i) {
                BOOST_TEST(said(machine, voted(r.letters[i], i, 1), at(301ms)) == r.expected[i]);
            }
            for (std::size_t i = 0; i != r.letters.size(); ++i) {  // Once each.
                BOOST_TEST(said(machine, gone(i), at(302ms)) == done);
            }
            BOOST_TEST(said(machine, timer, at(303ms)) == done);
        }
    }
}

BOOST_AUTO_TEST_CASE(restores_a_key_again_if_it_is_missing_again) {
    play(in_round_1(instances(3)), {{301ms, gone(1), "wait 350"},
                                    {301ms, voted("G-G"), "wait 350", "heal 1 1000; wait 600"},
                                    {600ms, timer, "send #2 1000; wait 650"},
                                    {601ms, gone(1, 2), "wait 650"},
                                    {601ms, voted("G-G", 2), "wait 650", "heal 1 1000; wait 900"}});
}

BOOST_AUTO_TEST_CASE(restores_no_keys_after_a_failed_round) {
    play(in_round_1(), {{301ms, voted("NGFF"), "wait 350", "wait 310.375"},
                        {302ms, gone(4), "wait 310.375"},
                        {303ms, timer, "wait 310.375"},
                        {311ms, timer, "send #2 1000; wait 361"},
                        {312ms, voted("-GG", 2), "wait 361"},
                        // The report in round 1 does not count.
                        {312ms, granted(3, 2), "wait 611"},
                        {313ms, gone(0, 1), "wait never"},
                        {313ms, gone(0, 2), "heal 0 1000; wait 611"}});
}

BOOST_AUTO_TEST_CASE(restores_no_keys_once_the_next_round_is_sent) {
    play(in_round_1(), {{301ms, voted("GGG"), "wait 350", "wait 600"},
                        {600ms, timer, "send #2 1000; wait 650"},
                        {601ms, gone(3, 1), "wait never"},
                        {601ms, gone(4, 2), "wait 650"},
                        {650ms, timer, "wait 659.375"},
                        {651ms, gone(4, 2), "wait 659.375"}});
}

BOOST_AUTO_TEST_CASE(restores_no_keys_of_a_lease_about_to_be_lost) {
    play(in_round_1(),
         {{301ms, voted("GGG"), "wait 350", "wait 600"}, {1238ms, gone(3), "lost unrenewable"}});
}

BOOST_AUTO_TEST_CASE(restores_keys_with_the_ttl_of_the_round) {
    play(watchdog(), {{0ms, timer, "wait 300"},
                      {100ms, extend(2s), "send #1 2000; wait 150"},
                      {101ms, voted("NGGG"), "wait 150", "extended; heal 0 2000; wait 700"}});
}

/// Until the next round has won, a restored key lives no longer than the other keys.
BOOST_AUTO_TEST_CASE(restores_keys_with_the_ttl_in_force_during_an_extension) {
    for (const duration next : {2000ms, 400ms}) {
        renew machine = in_round_1();
        const std::string ttl = in_ms(next);
        play(machine,
             {{301ms, voted("N--N"), "wait 350"},
              {302ms, extend(next), "wait 350"},
              {303ms, voted("-GG"), "wait 350"},
              {304ms, granted(4), "heal 0 1000; heal 3 1000; send #2 " + ttl + "; wait 354"},
              {305ms, gone(0), "wait never"}});
        BOOST_TEST(machine.won() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(restores_a_key_after_a_late_vote_when_a_round_is_due) {
    play(in_round_1(), {{301ms, voted("GGG"), "wait 350", "wait 600"},
                        {600ms, gone(4), "heal 4 1000; send #2 1000; wait 650"}});
}

// Extensions by the holder.

BOOST_AUTO_TEST_CASE(a_longer_ttl_takes_effect_when_its_round_is_won) {
    renew machine = watchdog();
    play(machine, {{0ms, timer, "wait 300"}, {100ms, extend(2s), "send #1 2000; wait 150"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    play(machine, {{101ms, voted("GG"), "wait 150"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    // From then on, the lease is renewed at the same fraction of the new ttl, which is 600 ms.
    play(machine, {{101ms, granted(2), "extended; wait 700"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "2078");
    play(machine, {{700ms, timer, "send #2 2000; wait 750"},
                   {701ms, voted("GGG", 2), "wait 750", "wait 1300"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "2678");
    // The loss is reported 1/20 of the ttl before the end, which is 100 ms.
    play(machine,
         {{2577ms, timer, "send #3 2000; wait 2578"}, {2578ms, timer, "lost unrenewable"}});
}

BOOST_AUTO_TEST_CASE(a_failed_extension_to_a_longer_ttl_changes_nothing) {
    renew machine = watchdog();
    play(machine, {{0ms, timer, "wait 300"},
                   {100ms, extend(2s), "send #1 2000; wait 150"},
                   {150ms, timer, "not extended; wait 159.375"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    BOOST_TEST(in_ms(machine.ttl()) == "1000");
    play(machine, {{160ms, timer, "send #2 1000; wait 210"},
                   {161ms, voted("GGG", 2), "wait 210", "wait 460"}});
}

BOOST_AUTO_TEST_CASE(extending_to_a_shorter_ttl_shortens_the_validity) {
    renew machine = watchdog();
    play(machine, {{0ms, timer, "wait 300"},
                   {100ms, extend(400ms), "send #1 400; wait 150"},
                   {101ms, voted("GGG"), "wait 150", "extended; wait 220"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "494");
    BOOST_TEST(in_ms(machine.ttl()) == "400");
    play(machine, {{473ms, timer, "send #2 400; wait 474"}, {474ms, timer, "lost unrenewable"}});
}

/// The scaled interval of a very long ttl is less than a nanosecond for a ttl of 10 ms. An interval of 0
/// would disable the renewal.
BOOST_AUTO_TEST_CASE(extending_to_a_far_shorter_ttl_keeps_renewing) {
    renew_settings settings = five();
    settings.ttl = 24h * 365 * 30;
    play(watchdog(settings), {{0ms, timer, "wait 300"},
                              {100ms, extend(10ms), "send #1 10; wait 150"},
                              {100ms, voted("GGG"), "wait 150", "extended; wait 101"},
                              {101ms, timer, "send #2 10; wait 107.4"}});
}

BOOST_AUTO_TEST_CASE(a_shorter_ttl_that_is_already_over_has_no_effect) {
    renew machine = watchdog();
    play(machine, {{0ms, timer, "wait 300"},
                   {100ms, extend(40ms), "send #1 40; wait 150"},
                   {101ms, voted("GG"), "wait 150"},
                   {140ms, granted(2), "not extended; wait 149.375"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
}

BOOST_AUTO_TEST_CASE(a_failed_extension_to_a_shorter_ttl_changes_nothing) {
    renew machine = watchdog();
    play(machine, {{0ms, timer, "wait 300"},
                   {100ms, extend(400ms), "send #1 400; wait 150"},
                   {101ms, voted("FFF"), "wait 150", "not extended; wait 110.375"}});
    BOOST_TEST(in_ms(machine.valid_until()) == "988");
    BOOST_TEST(in_ms(machine.ttl()) == "1000");
}

BOOST_AUTO_TEST_CASE(extending_waits_for_the_round_in_flight) {
    for (const std::string rest_of_round_1 : {"--G", "--FFF"}) {  // It is won, or it fails.
        BOOST_TEST_CONTEXT(rest_of_round_1) {
            renew machine = in_round_1();
            play(machine, {{301ms, granted(0), "wait 350"},
                           {302ms, extend(2s), "wait 350"},
                           {303ms, granted(1), "wait 350"},
                           {310ms, voted(rest_of_round_1), "wait 350", "send #2 2000; wait 360"},
                           {311ms, granted(3, 1), "wait never"},
                           {311ms, voted("GGG", 2), "wait 360", "extended; wait 910"}});
            BOOST_TEST(in_ms(machine.valid_until()) == "2288");
        }
    }
}

BOOST_AUTO_TEST_CASE(an_extension_is_answered_once) {
    play(watchdog(instances(1)),
         {{0ms, timer, "wait 300"},
          {100ms, extend(1s), "send #1 1000; wait 150"},
          {101ms, granted(0), "extended; wait 400"},
          {102ms, timer, "wait 400"},
          {400ms, timer, "send #2 1000; wait 450"},
          {401ms, granted(0, 2), "wait 700"},  // The holder has not requested this round.
          {402ms, extend(1s), "send #3 1000; wait 452"},
          {403ms, failed(0, 3), "not extended; wait 412.375"}});
}

BOOST_AUTO_TEST_CASE(a_second_extension_may_follow_immediately) {
    play(watchdog(instances(1)), {{0ms, timer, "wait 300"},
                                  {100ms, extend(1s), "send #1 1000; wait 150"},
                                  {101ms, granted(0), "extended; wait 400"},
                                  {101ms, extend(2s), "send #2 2000; wait 151"},
                                  {102ms, granted(0, 2), "extended; wait 701"}});
}

/// A hand-off to another holder must wait for the extension.
BOOST_AUTO_TEST_CASE(an_extension_blocks_hand_offs_until_it_is_answered) {
    renew machine = in_round_1(instances(1));
    BOOST_TEST(machine.undisturbed());  // The holder has not requested this round.
    play(machine, {{301ms, extend(2s), "wait 350"}});
    BOOST_TEST(!machine.undisturbed());
    play(machine, {{302ms, granted(0), "send #2 2000; wait 352"}});
    BOOST_TEST(!machine.undisturbed());
    play(machine, {{303ms, granted(0, 2), "extended; wait 902"}});
    BOOST_TEST(machine.undisturbed());
}

/// In this case, the runtime itself answers the holder.
BOOST_AUTO_TEST_CASE(an_extension_of_a_lost_lease_is_reported_as_a_loss) {
    play(watchdog(), {{0ms, timer, "wait 300"},
                      {100ms, extend(2s), "send #1 2000; wait 150"},
                      {101ms, voted("NNN"), "wait 150", "lost keys_gone"}});
}

BOOST_AUTO_TEST_CASE(an_ended_extension_is_answered_before_the_loss) {
    play(watchdog(instances(3)), {{0ms, timer, "wait 300"},
                                  {930ms, extend(1s), "send #1 1000; wait 938"},
                                  {931ms, granted(0), "wait 938"},
                                  {988ms, granted(1), "not extended; lost unrenewable"}});
}

BOOST_AUTO_TEST_CASE(repeated_extensions_keep_the_renewal_fraction) {
    renew machine = watchdog(instances(1));
    said(machine, timer, at(0ms));
    std::uint32_t round = 0;
    for (const duration ttl : {700ms, 30000ms, 123ms, 1000ms}) {
        BOOST_TEST(has(said(machine, extend(ttl), at(0ms)), "send"));
        BOOST_TEST(has(said(machine, granted(0, ++round), at(0ms)), "extended"));
    }
    const auto step = machine.resume(timer, at(0ms));
    BOOST_TEST((step.until > at(300ms - 10ns) && step.until <= at(300ms)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
