// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "instance/redis/slot_groups.hpp"
#include "instance/redis/key_slot.hpp"
#include "support/vote_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {
namespace {

using namespace std::chrono_literals;
using core::failure;
using core::key_state;
using core::step;
using core::vote;
using test::to_text;

kinds::command command_for(std::string_view first, const std::vector<std::string_view>& more) {
    kinds::command result;
    result.key = first;
    result.more_keys = more;
    return result;
}

/// Returns the vote that results from these answers of the groups.
vote vote_on(step what, const std::vector<vote>& answers) {
    group_votes votes;
    for (const vote& one : answers) {
        if (!votes.add(what, one)) {
            break;
        }
    }
    return votes.result();
}

std::string text_on(step what, const std::vector<vote>& answers) {
    return to_text(vote_on(what, answers));
}

const vote granted = vote::granted();
const vote another = vote::denied(key_state::foreign);
const vote nobody = vote::denied(key_state::absent);
const vote is_down = vote::failed(failure::down);

BOOST_AUTO_TEST_SUITE(slot_groups)

BOOST_AUTO_TEST_CASE(only_names_in_several_slots_are_divided) {
    const std::vector<std::string_view> same{"{a}2", "b{a}"};
    const std::vector<std::string_view> other{"{a}2", "b"};
    BOOST_TEST(!spans_slots(command_for("{a}1", {})));
    BOOST_TEST(!spans_slots(command_for("{a}1", same)));
    BOOST_TEST(spans_slots(command_for("{a}1", other)));
}

/// All clients acquire the slots in the same order, whatever the order of the names.
BOOST_AUTO_TEST_CASE(names_are_divided_by_their_slots_in_order) {
    const std::vector<std::string_view> all{"{b}1", "{a}1", "c", "{a}2", "{b}2", "d"};
    std::vector<std::string> orders;
    for (std::size_t first = 0; first != all.size(); ++first) {
        std::vector<std::string_view> more(all);
        std::rotate(more.begin(), more.begin() + static_cast<std::ptrdiff_t>(first), more.end());
        const std::string_view key = more.front();
        more.erase(more.begin());
        std::vector<std::string_view> names;
        std::string text;
        std::size_t last = 0;
        for (const kinds::command& group : divide_by_slot(command_for(key, more), names)) {
            BOOST_TEST(key_slot(group.key) + 1 > last);
            last = key_slot(group.key) + 1;
            text += group.key;
            for (const std::string_view one : group.more_keys) {
                BOOST_TEST(key_slot(one) == key_slot(group.key));
                text.append(" ").append(one);
            }
            text += ", ";
        }
        orders.push_back(text);
        BOOST_TEST(std::ranges::count(text, ',') == 4);
    }
    BOOST_TEST(std::ranges::count(orders, orders.front()) == 6);
}

BOOST_AUTO_TEST_CASE(an_acquire_needs_all_groups) {
    BOOST_TEST(text_on(step::acquire, {granted, granted}) == "granted");
    BOOST_TEST(text_on(step::acquire, {another, granted}) == "denied: another");
    // Some names have been acquired and must be released.
    BOOST_TEST(text_on(step::acquire, {granted, another}) == "denied: partial");
    BOOST_TEST(text_on(step::acquire, {is_down, granted}) == "failed: down");
    BOOST_TEST(text_on(step::acquire, {granted, is_down}) == "failed: unclear error");
    BOOST_TEST(text_on(step::acquire, {granted, vote::failed(failure::timeout)}) ==
               "failed: timeout");
}

BOOST_AUTO_TEST_CASE(a_renewal_needs_all_groups) {
    BOOST_TEST(text_on(step::extend, {granted, granted}) == "granted");
    BOOST_TEST(text_on(step::extend, {granted, nobody, another}) == "denied: nobody");
    BOOST_TEST(text_on(step::extend, {granted, is_down}) == "failed: down");
}

BOOST_AUTO_TEST_CASE(a_release_goes_to_all_groups) {
    BOOST_TEST(text_on(step::release, {granted, granted}) == "granted");
    BOOST_TEST(text_on(step::release, {nobody, another, granted}) == "denied: another");
    BOOST_TEST(text_on(step::release, {granted, nobody}) == "denied: nobody");
    BOOST_TEST(text_on(step::release, {another, is_down, granted}) == "failed: down");
    group_votes votes;
    BOOST_TEST(votes.add(step::release, is_down));
}

BOOST_AUTO_TEST_CASE(what_is_in_the_way_is_that_of_all_groups) {
    const vote free = vote::denied(key_state::absent, 0ms);
    BOOST_TEST(text_on(step::remaining, {free, free}) == "denied: nobody");
    const vote later = vote_on(step::remaining, {free, vote::denied(key_state::foreign, 70ms),
                                                 vote::denied(key_state::foreign, 50ms)});
    BOOST_TEST(to_text(later) == "denied: another");
    BOOST_TEST((later.remaining == 70ms));
    BOOST_TEST(text_on(step::remaining, {vote::denied(key_state::foreign, 70ms), is_down, free}) ==
               "failed: down");
}

/// The command was withdrawn, or its deadline passed, before the next group was queried.
BOOST_AUTO_TEST_CASE(what_was_granted_is_not_forgotten_at_an_early_end) {
    group_votes none;
    none.end(vote::failed(failure::withdrawn));
    BOOST_TEST(to_text(none.result()) == "failed: withdrawn");
    group_votes some;
    some.add(step::acquire, granted);
    some.end(vote::failed(failure::withdrawn));
    BOOST_TEST(to_text(some.result()) == "failed: unclear error");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis
