// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What the service reports of its locks: percentiles of a histogram, the locks in use, and the counters.

#include "../status/status.hpp"
#include "../status/waits.hpp"

#include "support/run.hpp"

#include <colock/mutex.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace like_counter {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// Adds durations to a bucket.
void add(colock::histogram& to, std::size_t bucket, std::uint64_t count) {
    to.buckets.at(bucket) += count;
    to.count += count;
}

/// The bucket of durations up to this bound.
std::size_t up_to(nanoseconds bound) {
    const auto& bounds = colock::histogram::bounds;
    return static_cast<std::size_t>(std::ranges::find(bounds, bound) - bounds.begin());
}

/// Returns a histogram with the given count of durations in each bucket.
colock::histogram histogram_of(const std::map<std::size_t, std::uint64_t>& counts) {
    colock::histogram result;
    for (const auto& [bucket, count] : counts) {
        add(result, bucket, count);
    }
    return result;
}

void check(const colock::histogram& durations, double share, const percentile& expected) {
    const percentile found = percentile_of(durations, share).value();
    BOOST_TEST_CONTEXT("percentile " << share) {
        BOOST_TEST((found.value == expected.value));
        BOOST_TEST((found.from == expected.from));
        BOOST_TEST((found.to == expected.to));
    }
}

constexpr std::size_t last_bucket = colock::histogram::bounds.size();

BOOST_AUTO_TEST_SUITE(like_counter_percentile)

BOOST_AUTO_TEST_CASE(empty_histogram_has_no_percentile) {
    BOOST_TEST(!percentile_of(colock::histogram(), 0.5));
    BOOST_TEST(!percentile_of(colock::histogram(), 0.99));
}

BOOST_AUTO_TEST_CASE(one_value_is_estimated_inside_of_its_bucket) {
    const auto one = histogram_of({{up_to(5ms), 1}});
    check(one, 0.5, {3500us, 2ms, 5ms});
    check(one, 1, {5ms, 2ms, 5ms});
}

BOOST_AUTO_TEST_CASE(empty_buckets_are_skipped) {
    const auto two = histogram_of({{up_to(200us), 1}, {up_to(2ms), 1}});
    check(two, 0, {100us, 100us, 200us});
    check(two, 0.5, {200us, 100us, 200us});
    check(two, 0.75, {1500us, 1ms, 2ms});
}

BOOST_AUTO_TEST_CASE(values_are_spread_evenly_inside_of_a_bucket) {
    const auto many = histogram_of({{up_to(1ms), 90}, {up_to(20ms), 10}});
    check(many, 0.45, {750us, 500us, 1ms});
    check(many, 0.9, {1ms, 500us, 1ms});
    check(many, 0.95, {15ms, 10ms, 20ms});
    check(many, 0.99, {19ms, 10ms, 20ms});
}

BOOST_AUTO_TEST_CASE(first_bucket_gives_its_upper_bound) {
    check(histogram_of({{0, 10}}), 0.5, {100us, 0ns, 100us});
}

BOOST_AUTO_TEST_CASE(last_bucket_gives_its_lower_bound) {
    check(histogram_of({{up_to(1ms), 1}, {last_bucket, 1}}), 0.99, {60s, 60s, std::nullopt});
}

BOOST_AUTO_TEST_CASE(difference_has_what_came_in_between) {
    colock::histogram earlier = histogram_of({{0, 3}, {last_bucket, 1}});
    earlier.sum = 61s;
    colock::histogram later = earlier;
    add(later, 0, 2);
    add(later, 4, 5);
    later.sum = 62s;
    const colock::histogram between = difference(later, earlier);
    BOOST_TEST(between.count == 7U);
    BOOST_TEST(between.buckets[0] == 2U);
    BOOST_TEST(between.buckets[4] == 5U);
    BOOST_TEST(between.buckets[last_bucket] == 0U);
    BOOST_TEST((between.sum == 1s));
}

BOOST_AUTO_TEST_CASE(recent_waits_are_those_of_the_last_second) {
    recent_waits recent;
    steady_clock::time_point now;
    colock::histogram all = histogram_of({{0, 100}});
    BOOST_TEST(recent.add(now, all).count == 0U);  // It does not know when these came.
    add(all, 0, 1);
    BOOST_TEST(recent.add(now + 500ms, all).count == 1U);
    add(all, 0, 2);
    BOOST_TEST(recent.add(now + 1000ms, all).count == 3U);
    BOOST_TEST(recent.add(now + 1500ms, all).count == 2U);
    BOOST_TEST(recent.add(now + 2000ms, all).count == 0U);
}

BOOST_AUTO_TEST_CASE(json_has_nulls_for_what_is_unknown) {
    BOOST_TEST(to_json(colock::histogram()) ==
               nlohmann::json({{"count", 0}, {"p50", nullptr}, {"p99", nullptr}}));
    const auto told = to_json(histogram_of({{up_to(5ms), 2}, {last_bucket, 2}}));
    BOOST_TEST(told["count"] == 4);
    BOOST_TEST(told["p50"] == nlohmann::json({{"ms", 5.0}, {"from_ms", 2.0}, {"to_ms", 5.0}}));
    BOOST_TEST(told["p99"] ==
               nlohmann::json({{"ms", 60'000.0}, {"from_ms", 60'000.0}, {"to_ms", nullptr}}));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(like_counter_locks_in_use)

colock::lease_info lease(std::string name, steady_clock::time_point since) {
    colock::lease_info result;
    result.resource = std::move(name);
    result.token = "0123";
    result.since = since;
    return result;
}

colock::waiter_info waiter(std::string name, steady_clock::time_point since, bool is_queued) {
    colock::waiter_info result;
    result.resource = std::move(name);
    result.is_queued = is_queued;
    result.since = since;
    result.answers = is_queued ? "queued" : "denied";
    return result;
}

BOOST_AUTO_TEST_CASE(nothing_in_use_gives_empty_lists) {
    const auto empty = nlohmann::json::array();
    const nlohmann::json nothing{
        {"leases", empty}, {"waiting", empty}, {"all_leases", 0}, {"all_waiters", 0}};
    BOOST_TEST(to_json(locks_in_use(), steady_clock::now()) == nothing);
}

BOOST_AUTO_TEST_CASE(lease_has_its_holder_fence_and_age) {
    const auto now = steady_clock::now();
    locks_in_use used;
    used.leases = {lease("x", now - 250ms), lease("y", now - 100ms)};
    used.leases[0].label = "web-1:7";
    used.leases[0].fence = std::numeric_limits<std::uint64_t>::max();
    used.leases[1].is_lost = true;
    used.leases[1].holders = 3;
    used.leases[1].answers = "1 of 3 instances confirmed";
    const auto told = to_json(used, now)["leases"];
    BOOST_TEST(told[0] == nlohmann::json({{"name", "x"},
                                          {"holder", "web-1:7"},
                                          {"holders", 1},
                                          {"fence", "18446744073709551615"},
                                          {"age_ms", 250.0},
                                          {"is_lost", false},
                                          {"answers", ""}}));
    BOOST_TEST(told[1] == nlohmann::json({{"name", "y"},
                                          {"holder", "0123"},
                                          {"holders", 3},
                                          {"fence", nullptr},
                                          {"age_ms", 100.0},
                                          {"is_lost", true},
                                          {"answers", "1 of 3 instances confirmed"}}));
}

BOOST_AUTO_TEST_CASE(waiters_are_grouped_by_name) {
    const auto now = steady_clock::now();
    locks_in_use used;
    used.waiters = {waiter("x", now - 1ms, true), waiter("y", now - 5ms, true),
                    waiter("x", now - 9ms, false), waiter("x", now - 2ms, true)};
    const auto told = to_json(used, now);
    BOOST_TEST(told["all_waiters"] == 4);
    BOOST_TEST(
        told["waiting"] ==
        nlohmann::json({{{"name", "x"}, {"waiters", 3}, {"longest_ms", 9.0}, {"answers", "denied"}},
                        {{"name", "y"}, {"waiters", 1}, {"longest_ms", 5.0}, {"answers", ""}}}));
}

BOOST_AUTO_TEST_CASE(only_the_oldest_are_listed) {
    const auto now = steady_clock::now();
    const int all = static_cast<int>(most_in_use) + 5;
    locks_in_use used;
    for (int age = 1; age <= all; ++age) {
        used.leases.push_back(lease(std::to_string(age), now - age * 1ms));
        used.waiters.push_back(waiter(std::to_string(age), now - age * 1ms, false));
    }
    const auto told = to_json(used, now);
    BOOST_TEST(told["all_leases"] == all);
    BOOST_TEST(told["all_waiters"] == all);
    BOOST_TEST(told["leases"].size() == most_in_use);
    BOOST_TEST(told["waiting"].size() == most_in_use);
    for (const char* list : {"leases", "waiting"}) {
        BOOST_TEST(told[list].front()["name"] == std::to_string(all));
        BOOST_TEST(told[list].back()["name"] == "6");
    }
}

colock::config in_memory() {
    return colock::config::from_uris({"memory://a", "memory://b", "memory://c"});
}

/// Checks how many locks a client has in use. Nobody waits.
asio::awaitable<void> check_in_use(const colock::client* locks, std::size_t leases) {
    const locks_in_use used = co_await ask_locks_in_use(locks);
    BOOST_TEST(used.leases.size() == leases);
    BOOST_TEST(used.waiters.empty());
}

BOOST_AUTO_TEST_CASE(client_is_asked_for_its_leases_and_waiters) {
    colock::test::run_test([]() -> asio::awaitable<void> {
        colock::client locks(co_await asio::this_coro::executor, in_memory());
        colock::lease held = co_await colock::mutex(locks, "x").acquire(asio::use_awaitable);
        co_await check_in_use(&locks, 1);
        co_await held.release(asio::use_awaitable);
        co_await check_in_use(&locks, 0);
        co_await locks.close(asio::use_awaitable);
    }());
}

BOOST_AUTO_TEST_CASE(closed_client_has_no_locks_in_use) {
    colock::test::run_test([]() -> asio::awaitable<void> {
        colock::client locks(co_await asio::this_coro::executor, in_memory());
        co_await locks.close(asio::use_awaitable);
        co_await check_in_use(&locks, 0);
        const colock::client moved = std::move(locks);
        co_await check_in_use(&locks, 0);  // NOLINT(bugprone-use-after-move)
        co_await check_in_use(nullptr, 0);
    }());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE(like_counter_status)

BOOST_AUTO_TEST_CASE(each_counter_of_the_client_is_reported) {
    constexpr std::size_t size = sizeof(colock::counters) / sizeof(std::uint64_t);
    std::array<std::uint64_t, size> values{};
    std::set<std::uint64_t> expected;
    for (std::size_t i = 0; i != size; ++i) {
        values[i] = 100 + i;
        expected.insert(values[i]);
    }
    const auto told = to_json(std::bit_cast<colock::counters>(values));
    std::set<std::uint64_t> found;
    for (const auto& value : told) {
        found.insert(value.get<std::uint64_t>());
    }
    BOOST_TEST((found == expected));
    BOOST_TEST(told.size() == size);
    BOOST_TEST(told["attempts"] == 100);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace like_counter
