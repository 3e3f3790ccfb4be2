// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/backoff.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>

namespace colock::core::test {
namespace {

BOOST_AUTO_TEST_SUITE(backing_off)

constexpr std::uint64_t largest_random = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t most_tries = std::numeric_limits<std::size_t>::max();

/// Returns a random number that draws the longest delay below a ceiling.
std::uint64_t longest_of(duration ceiling) {
    return static_cast<std::uint64_t>(ceiling.count()) / 2;
}

BOOST_AUTO_TEST_CASE(doubles_up_to_the_maximum) {
    struct row {
        backoff bounds;
        std::size_t tries;
        duration ceiling;
    };
    const row rows[] = {
        {{}, 0, 4ms},
        {{}, 1, 8ms},
        {{}, 2, 16ms},
        {{}, 5, 128ms},
        {{}, 6, 250ms},
        {{}, 7, 250ms},
        {{}, 1000, 250ms},
        {{}, most_tries, 250ms},
        {{10ms, 10ms}, 0, 10ms},
        {{10ms, 10ms}, 3, 10ms},
        {{10ms, 4ms}, 0, 4ms},  // The maximum takes precedence.
        {{10ms, 4ms}, 3, 4ms},
        {{0ms, 0ms}, 3, 0ms},
        {{1ms, 0ms}, 3, 0ms},
        {{4h, duration::max()}, 18, 4h * (1 << 18)},
        {{4h, duration::max()}, 200, duration::max()},
    };
    for (const row& r : rows) {
        BOOST_TEST_CONTEXT("initial " << in_ms(r.bounds.initial) << ", maximum "
                                      << in_ms(r.bounds.maximum) << ", tries " << r.tries) {
            const duration shortest = r.bounds.delay(r.tries, 0);
            const duration longest = r.bounds.delay(r.tries, longest_of(r.ceiling));
            BOOST_TEST(shortest.count() == r.ceiling.count() / 2);
            BOOST_TEST(longest.count() == r.ceiling.count() / 2 * 2);
            BOOST_TEST(r.bounds.delay(r.tries, largest_random).count() >= shortest.count());
            BOOST_TEST(r.bounds.delay(r.tries, largest_random).count() <= longest.count());
        }
    }
}

/// A user may request no wait at all. The computation must be fast for any number of retries.
BOOST_AUTO_TEST_CASE(a_zero_backoff_stays_zero, *boost::unit_test::timeout(5)) {
    const backoff bounds{0ms, 250ms};
    BOOST_TEST(bounds.delay(0, largest_random).count() == 0);
    BOOST_TEST(bounds.delay(most_tries, largest_random).count() == 0);
    BOOST_TEST((backoff{-1ms, 250ms}.delay(most_tries, largest_random).count()) == 0);
}

BOOST_AUTO_TEST_CASE(fills_the_upper_half_of_its_range) {
    const backoff bounds;
    std::uint64_t state = 1;
    duration shortest = duration::max();
    duration longest{};
    for (int i = 0; i != 10000; ++i) {
        const duration d = bounds.delay(2, next_random(state));
        shortest = std::min(shortest, d);
        longest = std::max(longest, d);
    }
    BOOST_TEST(shortest.count() >= duration(8ms).count());
    BOOST_TEST(shortest.count() < duration(8010us).count());
    BOOST_TEST(longest.count() <= duration(16ms).count());
    BOOST_TEST(longest.count() > duration(15990us).count());
}

BOOST_AUTO_TEST_CASE(longest_total_counts_the_delays_between_tries) {
    const backoff bounds{20ms, 50ms};
    BOOST_TEST((bounds.longest_total(0) == 0ms));
    BOOST_TEST((bounds.longest_total(1) == 0ms));
    BOOST_TEST((bounds.longest_total(2) == 20ms));
    BOOST_TEST((bounds.longest_total(3) == 60ms));
    BOOST_TEST((bounds.longest_total(4) == 110ms));
    BOOST_TEST((bounds.longest_total(5) == 160ms));
    BOOST_TEST((bounds.longest_total(most_tries) == duration::max()));
    BOOST_TEST((backoff{0ms, 0ms}.longest_total(most_tries) == 0ms));
    BOOST_TEST((backoff{50ms, 20ms}.longest_total(3) == 40ms));
}

BOOST_AUTO_TEST_CASE(longest_total_equals_the_sum_of_the_longest_delays) {
    const backoff bounds{3ms, 100ms};
    duration sum{};
    for (std::size_t tries = 1; tries != 20; ++tries) {
        BOOST_TEST((bounds.longest_total(tries) == sum));
        const auto ceiling = std::min<duration>(100ms, 3ms * (1 << (tries - 1)));
        BOOST_TEST((bounds.delay(tries - 1, longest_of(ceiling)) == ceiling));
        sum += ceiling;
    }
}

BOOST_AUTO_TEST_CASE(random_numbers_match_splitmix64) {
    std::uint64_t state = 1234567;  // The values of the reference implementation with this seed.
    BOOST_TEST(next_random(state) == 6457827717110365317U);
    BOOST_TEST(next_random(state) == 3203168211198807973U);
    BOOST_TEST(next_random(state) == 9817491932198370423U);
}

BOOST_AUTO_TEST_CASE(random_numbers_repeat_only_from_the_same_state) {
    std::uint64_t one = 7;
    std::uint64_t same = 7;
    std::uint64_t other = 8;
    std::set<std::uint64_t> seen;
    for (int i = 0; i != 1000; ++i) {
        const std::uint64_t r = next_random(one);
        BOOST_TEST(next_random(same) == r);
        seen.insert(r);
        seen.insert(next_random(other));
    }
    BOOST_TEST(seen.size() == 2000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::core::test
