// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/agreement.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(the_agreement_of_values)

constexpr std::uint64_t silent = 0;

/// Returns a round in which the instances have granted these values, or are `silent`.
round granted(std::initializer_list<std::uint64_t> values) {
    round result(values.size());
    std::size_t index = 0;
    for (const std::uint64_t value : values) {
        if (value != silent) {
            result.record(index, vote::granted(value));
        }
        ++index;
    }
    return result;
}

BOOST_AUTO_TEST_CASE(grants_without_values_need_none) {
    const agreed_value agreed = agree(agreement::none, granted({7, 8, silent}));
    BOOST_TEST(agreed.reached);
    BOOST_TEST(agreed.value == 0U);
}

BOOST_AUTO_TEST_CASE(the_largest_value_is_written_back_unless_all_have_it) {
    const agreed_value differ = agree(agreement::largest, granted({7, silent, 9}));
    BOOST_TEST(!differ.reached);
    BOOST_TEST(!differ.may_be_reached);
    BOOST_TEST(differ.value == 9U);
    const agreed_value agreed = agree(agreement::largest, granted({silent, 9, 9}));
    BOOST_TEST(agreed.reached);
    BOOST_TEST(agreed.value == 9U);
}

BOOST_AUTO_TEST_CASE(a_quorum_must_have_the_same_value) {
    BOOST_TEST(agree(agreement::same, granted({2})).value == 2U);
    const agreed_value agreed = agree(agreement::same, granted({5, 2, 5, 1, 5}));
    BOOST_TEST(agreed.reached);
    BOOST_TEST(agreed.value == 5U);
}

BOOST_AUTO_TEST_CASE(the_next_round_asks_for_the_quorum_th_smallest) {
    BOOST_TEST(agree(agreement::same, granted({3, 1, 2})).value == 2U);
    BOOST_TEST(agree(agreement::same, granted({1, silent, 2})).value == 2U);
    BOOST_TEST(agree(agreement::same, granted({9, 1, 7, 1, 8})).value == 7U);
    BOOST_TEST(!agree(agreement::same, granted({9, 1, 7, 1, 8})).reached);
}

/// The values of a lease with several permits.
BOOST_AUTO_TEST_CASE(a_quorum_must_have_the_same_list_of_values) {
    const auto with_lists = [](std::initializer_list<const char*> lists) {
        round result(lists.size());
        std::size_t index = 0;
        for (const char* const list : lists) {
            if (*list != 0) {
                vote v = vote::granted(static_cast<std::uint64_t>(std::stoi(list)));
                v.detail = std::make_shared<const std::string>(list);
                result.record(index, v);
            }
            ++index;
        }
        return agree(agreement::same, result);
    };
    const agreed_value agreed = with_lists({"2 5 ", "1 5 ", "2 5 "});
    BOOST_TEST(agreed.reached);
    BOOST_TEST(agreed.value == 2U);
    BOOST_TEST(agreed.values == "2 5 ");

    // The second place is compared too. The next round requests the second smallest value of each place.
    const agreed_value differ = with_lists({"2 5 ", "2 7 ", ""});
    BOOST_TEST(!differ.reached);
    BOOST_TEST(differ.may_be_reached);
    BOOST_TEST(differ.values == "2 7 ");
    const agreed_value apart = with_lists({"3 10 12 ", "1 11 15 ", "2 4 20 "});
    BOOST_TEST(!apart.may_be_reached);
    BOOST_TEST(apart.value == 2U);
    BOOST_TEST(apart.values == "2 10 15 ");
}

BOOST_AUTO_TEST_CASE(votes_that_are_out_may_bring_the_same_value) {
    BOOST_TEST(agree(agreement::same, granted({1, silent, 2})).may_be_reached);
    BOOST_TEST(!agree(agreement::same, granted({1, 2, 3, silent, 4})).may_be_reached);
    BOOST_TEST(!agree(agreement::same, granted({1, 3, 2})).may_be_reached);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
