// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/per_instance.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(one_per_instance)

// Up to five elements are stored in place, and more on the heap. The behaviour must be the same.

BOOST_AUTO_TEST_CASE(has_the_requested_size_and_initial_value) {
    for (std::size_t n = 0; n != 12; ++n) {
        BOOST_TEST_CONTEXT(n) {
            const per_instance<int> sevens(n, 7);
            BOOST_TEST(sevens.size() == n);
            BOOST_TEST(static_cast<std::size_t>(sevens.end() - sevens.begin()) == n);
            BOOST_TEST(std::count(sevens.begin(), sevens.end(), 7) ==
                       static_cast<std::ptrdiff_t>(n));
            const per_instance<int> defaults(n);
            BOOST_TEST(std::count(defaults.begin(), defaults.end(), 0) ==
                       static_cast<std::ptrdiff_t>(n));
        }
    }
}

BOOST_AUTO_TEST_CASE(elements_are_independent) {
    for (const std::size_t n : {1U, 4U, 5U, 6U, 7U, 100U}) {
        BOOST_TEST_CONTEXT(n) {
            per_instance<std::size_t> numbers(n);
            std::iota(numbers.begin(), numbers.end(), std::size_t{1});
            for (std::size_t i = 0; i != n; ++i) {
                BOOST_TEST(numbers[i] == i + 1);
            }
            numbers.assign(3);
            BOOST_TEST(static_cast<std::size_t>(std::count(numbers.begin(), numbers.end(), 3U)) ==
                       n);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_copy_shares_nothing) {
    for (const std::size_t n : {3U, 5U, 6U, 9U}) {
        BOOST_TEST_CONTEXT(n) {
            per_instance<std::size_t> original(n);
            std::iota(original.begin(), original.end(), std::size_t{1});
            per_instance<std::size_t> copy(original);
            BOOST_TEST(std::equal(copy.begin(), copy.end(), original.begin(), original.end()));
            copy[n - 1] = 77;
            BOOST_TEST(original[n - 1] == n);
            original[0] = 88;
            BOOST_TEST(copy[0] == 1U);
        }
    }
}

BOOST_AUTO_TEST_CASE(assign_destroys_the_old_values) {
    for (const std::size_t n : {5U, 6U}) {
        const auto kept = std::make_shared<const int>(1);
        per_instance<std::shared_ptr<const int>> owners(n, kept);
        BOOST_TEST(static_cast<std::size_t>(kept.use_count()) == n + 1);
        owners.assign(nullptr);
        BOOST_TEST(kept.use_count() == 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
