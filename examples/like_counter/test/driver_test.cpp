// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What the driver's verdict rests on: its book of likes, its latencies, its choice of entities.

#include "../demo/driver/records.hpp"
#include "../demo/driver/workload.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

namespace like_counter::driver {
namespace {

constexpr like_key one{3, 7};

BOOST_AUTO_TEST_SUITE(like_counter_ledger)

BOOST_AUTO_TEST_CASE(sums_an_entitys_likes) {
    ledger book;
    book.added({3, 1});
    book.added({3, 2});
    book.removed({3, 1});
    book.added({4, 1});
    BOOST_TEST(book.likes_of(3) == 1);
    BOOST_TEST(book.likes_of(4) == 1);
    BOOST_TEST(book.likes_of(5) == 0);
    BOOST_TEST(book.unsettled().empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_like_is_settled_by_the_stored_state) {
    ledger there;
    there.unknown(one, true);
    BOOST_TEST(there.unsettled().size() == 1U);
    BOOST_TEST(there.settle(one, true));
    BOOST_TEST(there.likes_of(3) == 1);
    BOOST_TEST(there.unsettled().empty());

    ledger not_there;
    not_there.unknown(one, true);
    BOOST_TEST(not_there.settle(one, false));
    BOOST_TEST(not_there.likes_of(3) == 0);
}

BOOST_AUTO_TEST_CASE(an_unknown_unlike_may_have_come_before_a_known_like) {
    ledger book;
    book.added(one);
    book.unknown(one, false);
    book.added(one);  // so the unlike has worked, in between
    BOOST_TEST(book.settle(one, true));
    BOOST_TEST(book.likes_of(3) == 1);
}

BOOST_AUTO_TEST_CASE(an_unexplained_state_is_not_settled) {
    ledger lost;
    lost.added(one);
    lost.unknown(one, true);
    BOOST_TEST(!lost.settle(one, false));
    BOOST_TEST(lost.likes_of(3) == 1);

    ledger doubled;
    doubled.added(one);
    doubled.added(one);
    doubled.unknown(one, true);
    BOOST_TEST(!doubled.settle(one, true));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(like_counter_latencies)

BOOST_AUTO_TEST_CASE(percentiles_are_exact) {
    latencies small;
    for (int i = 1; i <= 50; ++i) {
        small.record(std::chrono::microseconds(i));
    }
    BOOST_TEST(small.percentile(0.5).count() == 25);
    BOOST_TEST(small.percentile(1).count() == 50);
    BOOST_TEST(latencies().percentile(0.5).count() == 0);

    for (std::int64_t value : {63, 64, 65, 127, 128, 1000, 123'456, 98'765'432}) {
        latencies single;
        single.record(std::chrono::microseconds(value));
        const auto told = single.percentile(0.99).count();
        BOOST_TEST(told == value);
    }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(like_counter_workload)

BOOST_AUTO_TEST_CASE(zipf_prefers_the_first_and_reaches_the_last) {
    std::mt19937_64 random(1);
    zipf_distribution draw(10, 1.0);
    std::vector<int> times(10);
    for (int i = 0; i != 20'000; ++i) {
        ++times.at(draw(random));
    }
    BOOST_TEST(std::is_sorted(times.rbegin(), times.rend()));
    BOOST_TEST(times.front() > 6000);  // 1 / (1 + 1/2 + ... + 1/10) = 34 %
    BOOST_TEST(times.back() > 400);    // a tenth of that
}

BOOST_AUTO_TEST_CASE(the_same_seed_gives_the_same_requests) {
    workload_options options;
    workload first(options);
    workload second(options);
    for (int i = 0; i != 1000; ++i) {
        const operation a = first.next();
        const operation b = second.next();
        BOOST_TEST((a.what == b.what && a.entity == b.entity && a.user == b.user));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter::driver
