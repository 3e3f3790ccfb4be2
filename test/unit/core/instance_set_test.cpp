// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A subset of the instances of a client.

#include "core/instance_set.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <set>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(an_instance_set)

BOOST_AUTO_TEST_CASE(contains_exactly_the_added_indices) {
    for (std::size_t step = 1; step != 10; ++step) {
        instance_set subject;
        std::set<std::size_t> model;
        for (std::size_t i = 0; i < instance_set::most; i += step) {
            subject.add(i);
            subject.add(i);
            model.insert(i);
        }
        for (std::size_t i = 0; i != instance_set::most; ++i) {
            BOOST_TEST(subject.contains(i) == model.contains(i));
        }
        BOOST_TEST(subject.count(instance_set::most) == model.size());
        BOOST_TEST((subject == instance_set::all()) == (step == 1));
    }
}

BOOST_AUTO_TEST_CASE(does_not_contain_removed_indices) {
    instance_set subject = instance_set::all();
    for (std::size_t i = 0; i != instance_set::most; ++i) {
        subject.remove(i);
        subject.remove(i);
        BOOST_TEST(!subject.contains(i));
        BOOST_TEST(subject.count(instance_set::most) == instance_set::most - i - 1);
    }
}

BOOST_AUTO_TEST_CASE(counts_only_indices_below_the_limit) {
    instance_set some;
    for (const std::size_t i : {0U, 2U, 3U, 63U}) {
        some.add(i);
    }
    std::size_t expected = 0;
    for (std::size_t n = 0; n <= instance_set::most; ++n) {
        BOOST_TEST(some.count(n) == expected);
        BOOST_TEST(instance_set::all().count(n) == n);
        BOOST_TEST(instance_set().count(n) == 0U);
        expected += n != instance_set::most && some.contains(n) ? 1U : 0U;
    }
}

BOOST_AUTO_TEST_CASE(only_contains_a_single_index) {
    for (std::size_t i = 0; i != instance_set::most; ++i) {
        BOOST_TEST(instance_set::only(i).contains(i));
        BOOST_TEST(instance_set::only(i).count(instance_set::most) == 1U);
        BOOST_TEST(instance_set::only(i).count(i) == 0U);
        BOOST_TEST((instance_set::only(i) == instance_set::only(63)) == (i == 63));
    }
}

BOOST_AUTO_TEST_CASE(keep_intersects_two_sets) {
    for (std::size_t i = 0; i != instance_set::most; ++i) {
        instance_set some = instance_set::only(i);
        some.add(5);
        some.keep(instance_set::all());
        BOOST_TEST(some.count(instance_set::most) == (i == 5 ? 1U : 2U));
        some.keep(instance_set::only(i));
        BOOST_TEST((some == instance_set::only(i)));
        some.keep(instance_set::only((i + 1) % instance_set::most));
        BOOST_TEST((some == instance_set()));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
