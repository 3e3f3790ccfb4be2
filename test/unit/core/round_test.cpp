// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/round.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(quorum)

/// Returns true if every two sets of `a` and of `b` members out of `n` share a member.
constexpr bool must_share(std::size_t a, std::size_t b, std::size_t n) {
    return a + b > n;
}

/// Returns a round of `n` instances that have voted by letters, in turn.
round round_of(std::size_t n, const std::string& letters) {
    round votes(n);
    for (std::size_t i = 0; i != letters.size(); ++i) {
        votes.record(i, vote_from(letters[i]));
    }
    return votes;
}

BOOST_AUTO_TEST_CASE(is_the_smallest_number_that_two_holders_cannot_both_reach) {
    static_assert(quorum_of(1) == 1 && quorum_of(2) == 2 && quorum_of(3) == 2);
    static_assert(quorum_of(4) == 3 && quorum_of(5) == 3 && quorum_of(6) == 4 && quorum_of(7) == 4);
    static_assert(spare_of(1) == 0 && spare_of(2) == 0 && spare_of(3) == 1);
    static_assert(spare_of(4) == 1 && spare_of(5) == 2 && spare_of(6) == 2 && spare_of(7) == 3);
    for (std::size_t n = 1; n != 200; ++n) {
        BOOST_TEST_CONTEXT(n << " instances") {
            const std::size_t q = quorum_of(n);
            BOOST_TEST(must_share(q, q, n));
            BOOST_TEST(!must_share(q - 1, q - 1, n));
            BOOST_TEST(q + spare_of(n) == n);
        }
    }
}

BOOST_AUTO_TEST_CASE(is_decided_when_no_further_vote_can_change_it) {
    for (std::size_t n = 1; n <= 7; ++n) {
        for (std::size_t granted = 0; granted <= n; ++granted) {
            for (std::size_t denied = 0; granted + denied <= n; ++denied) {
                for (std::size_t failed = 0; granted + denied + failed <= n; ++failed) {
                    BOOST_TEST_CONTEXT(n << ": " << granted << " G " << denied << " D " << failed
                                         << " F") {
                        const round votes =
                            round_of(n, std::string(granted, 'G') + std::string(denied, 'D') +
                                            std::string(failed, 'F'));
                        const std::size_t silent = n - granted - denied - failed;
                        BOOST_TEST(votes.instances() == n);
                        BOOST_TEST(votes.granted() == granted);
                        BOOST_TEST(votes.denied() == denied);
                        BOOST_TEST(votes.failed() == failed);
                        BOOST_TEST(votes.silent() == silent);
                        BOOST_TEST(votes.won() == (2 * granted > n));
                        BOOST_TEST(votes.impossible() == (2 * (granted + silent) <= n));
                        BOOST_TEST(votes.unreachable() == (2 * (n - failed) <= n));
                        BOOST_TEST(!(votes.won() && votes.impossible()));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(counts_only_the_first_vote_of_each_instance) {
    round votes(3);
    BOOST_TEST(votes.record(1, vote::denied(key_state::foreign)));
    BOOST_TEST(!votes.record(1, vote::granted()));
    BOOST_TEST(!votes.record(1, vote::denied(key_state::foreign)));
    BOOST_TEST(votes.granted() == 0U);
    BOOST_TEST(votes.denied() == 1U);
    BOOST_TEST((votes.vote_of(1)->kind == vote_kind::denied));
}

BOOST_AUTO_TEST_CASE(stores_the_vote_of_each_instance) {
    round votes(3);
    const auto detail = std::make_shared<const std::string>("LOADING");
    votes.record(0, vote::failed(failure::server_error, detail));
    votes.record(2, vote::denied(key_state::foreign, 700ms));
    BOOST_TEST((votes.vote_of(0)->reason == failure::server_error));
    BOOST_TEST(votes.vote_of(0)->detail == detail);
    BOOST_TEST(!votes.vote_of(1));
    BOOST_TEST((votes.vote_of(2)->kind == vote_kind::denied));
    BOOST_TEST((votes.vote_of(2)->key == key_state::foreign));
    BOOST_TEST((votes.vote_of(2)->remaining == unknown_remaining));  // Not queried in this case.
    BOOST_TEST(votes.vote_of(2)->detail == nullptr);
}

/// A quorum may fail only because instances are still quarantined.
BOOST_AUTO_TEST_CASE(reports_when_a_quorum_is_no_longer_quarantined) {
    using namespace std::chrono_literals;
    const auto at = [](duration d) { return time_point(d); };
    const struct {
        std::string what;
        std::vector<std::optional<vote>> votes;
        time_point expected;
    } rows[] = {
        {"no vote", {{}, {}, {}}, never},
        {"an outage", {vote::failed(failure::down), vote::failed(failure::timeout), {}}, never},
        {"one is spared", {vote::quarantined(at(5s)), vote::quarantined(at(3s)), {}}, at(3s)},
        {"the second of three",
         {vote::quarantined(at(5s)), vote::quarantined(at(9s)), vote::quarantined(at(3s))},
         at(5s)},
        {"one is down",
         {vote::quarantined(at(5s)), vote::failed(failure::down), vote::quarantined(at(9s))},
         at(9s)},
        {"two are down",
         {vote::quarantined(at(5s)), vote::failed(failure::down), vote::failed(failure::down)},
         never},
        {"one has an end that nobody knows",
         {vote::quarantined(never), vote::denied(key_state::foreign), vote::quarantined(at(4s))},
         at(4s)},
        {"two have", {vote::quarantined(never), vote::quarantined(never), vote::granted()}, never},
        {"one instance", {vote::quarantined(at(2s))}, at(2s)},
    };
    for (const auto& row : rows) {
        BOOST_TEST_CONTEXT(row.what) {
            round votes(row.votes.size());
            for (std::size_t i = 0; i != row.votes.size(); ++i) {
                if (row.votes[i]) {
                    votes.record(i, *row.votes[i]);
                }
            }
            BOOST_TEST((votes.reachable_from() == row.expected));
        }
    }
}

BOOST_AUTO_TEST_CASE(fail_silent_affects_only_silent_instances) {
    round votes(4);
    votes.record(1, vote::granted());
    votes.record(2, vote::failed(failure::down));
    votes.fail_silent(failure::timeout);
    BOOST_TEST(votes.silent() == 0U);
    BOOST_TEST(votes.granted() == 1U);
    BOOST_TEST(votes.failed() == 3U);
    BOOST_TEST((votes.vote_of(0)->reason == failure::timeout));
    BOOST_TEST((votes.vote_of(2)->reason == failure::down));
    votes.fail_silent(failure::down);
    BOOST_TEST(votes.failed() == 3U);
    BOOST_TEST((votes.vote_of(3)->reason == failure::timeout));
}

BOOST_AUTO_TEST_CASE(clear_removes_all_votes) {
    const auto detail = std::make_shared<const std::string>("gone with the votes");
    round votes(3);
    votes.record(0, vote::granted());
    votes.record(1, vote::denied(key_state::foreign));
    votes.record(2, vote::failed(failure::server_error, detail));
    votes.clear();
    BOOST_TEST(votes.instances() == 3U);
    BOOST_TEST(votes.silent() == 3U);
    BOOST_TEST(!votes.vote_of(2));
    BOOST_TEST(detail.use_count() == 1);
    BOOST_TEST(votes.record(0, vote::denied(key_state::absent)));
    BOOST_TEST(votes.denied() == 1U);
    BOOST_TEST(votes.granted() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
