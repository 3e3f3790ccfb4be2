// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// An exclusive lock with fences. The first fence of a name depends on the time.

#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>

BOOST_AUTO_TEST_SUITE(fenced_test)

using namespace colock::test;

namespace {

constexpr std::uint64_t far = 1ULL << 52U;  // Ahead of the clock.

/// The two kinds of exclusive locks with fences.
const auto fenced_kinds = {&colock::kinds::fenced, &colock::kinds::fenced_writer};

}  // namespace

BOOST_DATA_TEST_CASE(each_holder_gets_a_larger_fence, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::uint64_t last = 0;
    for (int i = 0; i != 100; ++i) {
        const auto vote = rig.ask_fence(fenced_acquire, "k", "ann");
        BOOST_TEST_REQUIRE(to_text(vote) == "granted");
        BOOST_TEST(vote.value > last);
        BOOST_TEST(vote.value < colock::core::value_limit);
        last = vote.value;
        BOOST_TEST(rig.release("k", "ann") == "granted");
    }
    // The seconds of a clock between the years 2001 and 2242.
    BOOST_TEST((last >> 20U) > 1'000'000'000U);
    BOOST_TEST((last >> 20U) < (1ULL << 33U));
}

/// A hand-off uses this step. The key does not change.
BOOST_DATA_TEST_CASE(a_holder_increments_the_fence_counter, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann", far).value == far);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann").value == far + 1);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann").value == far + 2);
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "bob")) == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann")) == "denied: nobody");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob").value == far + 3);
}

BOOST_DATA_TEST_CASE(a_denied_fenced_acquire_does_not_count, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "granted");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "granted");
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "bob")) == "denied: another");
        BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
        BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "denied: another");
    }
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "k", "ann")) == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == "granted");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann").value == far + 1);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire, "list", "ann")) == "denied: another");
}

BOOST_DATA_TEST_CASE(a_fenced_key_is_extended_and_released_like_a_plain_key, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    rig.ask_fence(fenced_acquire, "k", "ann");
    const auto left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 9min && left <= 10min));
    BOOST_TEST(rig.extend("k", "bob") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_counter_is_raised_only_by_the_holder_and_never_lowered, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "denied: nobody");
    rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "bob", far)) == "denied: another");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", far - 5).value == far - 5);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", far - 9).value == far - 5);
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", 1).value == far - 5);
    rig.release("k", "ann");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", far)) == "denied: nobody");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob").value == far - 4);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "list", "ann", far)) == "denied: another");
}

BOOST_DATA_TEST_CASE(a_restore_raises_the_counter_to_its_fence_without_counting, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (const auto* kind : fenced_kinds) {
        const std::string key(kind->traits().name);
        const auto heal = [&](const std::string& of, std::uint64_t fence) {
            const auto vote =
                rig.ask_fence(step_of_kind(step::acquire, *kind).healing(), of, "ann", fence);
            BOOST_TEST(to_text(vote) == "granted");
            BOOST_TEST(rig.release(of, "ann") == "granted");
            return vote.value;
        };
        BOOST_TEST(heal(key, far) == far);
        BOOST_TEST(heal(key, far) == far);
        BOOST_TEST(heal(key, 7) == far);
        BOOST_TEST(heal(key, far + 3) == far + 3);
        BOOST_TEST(heal("fresh " + key, 7) > 7U);  // Starts at the clock.
        BOOST_TEST(rig.ask_fence({step::acquire, *kind}, key, "bob").value == far + 4);
    }
}

BOOST_DATA_TEST_CASE(a_restore_of_a_held_key_is_denied_and_does_not_count, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "bob", far).value == far);
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "k", "ann", far + 9)) ==
               "denied: another");
    // A restore is not reentrant. It goes only to an instance that reported a missing key.
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "k", "bob", far + 9)) ==
               "denied: another");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "bob").value == far + 1);
    s.plant_foreign_key("list");
    BOOST_TEST(to_text(rig.ask_fence(fenced_acquire.healing(), "list", "ann", far)) ==
               "denied: another");
}

/// A node of a cluster that has only one of the two keys uses this step.
BOOST_DATA_TEST_CASE(a_count_ignores_the_lock_key, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (const auto* kind : fenced_kinds) {
        const std::string key(kind->traits().name);
        const auto count = [&](const std::string& of, const std::string& token,
                               std::uint64_t fence) {
            const auto vote = rig.ask_fence(counts_of(*kind), of, token, fence);
            BOOST_TEST(to_text(vote) == "granted");
            return vote.value;
        };
        const std::uint64_t first = count(key, "ann", 7);
        BOOST_TEST((first >> 20U) > 1'000'000'000U);  // Starts at the clock.
        BOOST_TEST(count(key, "ann", 0) > first);
        BOOST_TEST(count(key, "ann", far) == far);
        BOOST_TEST(count(key, "ann", far - 1) == far);
        BOOST_TEST(count(key, "ann", 0) == far + 1);
        BOOST_TEST(rig.remaining(key) == "denied: nobody");
        // The holders of the key use the same counter.
        BOOST_TEST(rig.ask_fence({step::acquire, *kind}, key, "bob").value == far + 2);
        BOOST_TEST(count(key, "ann", 0) == far + 3);
        BOOST_TEST(count(key, "bob", far + 5) == far + 5);
        BOOST_TEST(rig.ask_fence({step::confirm, *kind}, key, "bob").value == far + 6);
        const auto left = rig.ask(step::remaining, key).remaining;
        BOOST_TEST((left > 9min && left <= 10min));
        BOOST_TEST(rig.release(key, "bob") == "granted");
    }
    s.plant_foreign_key("list");
    BOOST_TEST(rig.ask_fence(counts_of(colock::kinds::fenced), "list", "ann", far).value == far);
    using colock::core::value_limit;
    BOOST_TEST(to_text(rig.ask_fence(counts_of(colock::kinds::fenced), "k", "ann", value_limit)) ==
               "failed: server error");
    BOOST_TEST(rig.ask_fence(counts_of(colock::kinds::fenced), "k", "ann", value_limit - 1).value ==
               value_limit - 1);
    const auto vote = rig.ask_fence(counts_of(colock::kinds::fenced), "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(vote.detail->starts_with("FENCE the fence counter"), *vote.detail);
}

BOOST_DATA_TEST_CASE(counters_end_below_2_to_the_53, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    using colock::core::value_limit;
    rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(rig.ask_fence(step::confirm, "k", "ann", value_limit - 2).value == value_limit - 2);
    BOOST_TEST(to_text(rig.ask_fence(step::confirm, "k", "ann", value_limit)) ==
               "failed: server error");
    rig.release("k", "ann");
    BOOST_TEST(rig.ask_fence(fenced_acquire, "k", "ann").value == value_limit - 1);
    rig.release("k", "ann");
    const auto vote = rig.ask_fence(fenced_acquire, "k", "ann");
    BOOST_TEST(to_text(vote) == "failed: server error");
    BOOST_TEST(vote.detail->starts_with("FENCE the fence counter"), *vote.detail);
    BOOST_TEST(rig.remaining("k") == "denied: nobody");
    BOOST_TEST(rig.acquire("k", "ann") == "granted");  // A lock without fences still works.
}

BOOST_DATA_TEST_CASE(every_key_has_a_counter_of_its_own, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::uint64_t fence = far;
    const strings keys{"k",    "{k",  "k}",     "{}k",     "{k}",           "a{k}",
                       "\r\n", "\0"s, ":fence", "k:fence", "k:colock:fence"};
    for (const std::string& key : keys) {
        BOOST_TEST(rig.ask_fence(fenced_acquire, key, "ann", fence += 10).value == fence);
        BOOST_TEST(rig.release(key, "ann") == "granted");
    }
    fence = far;
    for (const std::string& key : keys) {
        BOOST_TEST(rig.ask_fence(fenced_acquire, key, "bob").value == (fence += 10) + 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
