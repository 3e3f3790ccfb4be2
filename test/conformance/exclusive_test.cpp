// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// An exclusive lock: which token gets the key, for how long, and which token may release it.

#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

BOOST_AUTO_TEST_SUITE(exclusive_test)

using namespace colock::test;

BOOST_DATA_TEST_CASE(a_lock_is_granted_once_and_released_only_by_its_holder, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.acquire("k", "bob") == "denied: another");
    BOOST_TEST(rig.acquire("k", "ann") == "denied: another");  // Not reentrant.
    BOOST_TEST(rig.extend("k", "bob") == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.remaining("k") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.release("k", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(an_absent_key_denies_all_but_an_acquire, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    const auto vote = rig.ask(step::remaining, "k");
    BOOST_TEST(to_text(vote) == "denied: nobody");
    BOOST_TEST(vote.remaining.count() == 0);
    BOOST_TEST(rig.acquire("k", "ann") == "granted");  // No earlier step has created the key.
}

BOOST_DATA_TEST_CASE(only_remaining_reports_the_remaining_time, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    for (const auto& vote :
         {rig.ask(step::acquire, "k", "ann"), rig.ask(step::acquire, "k", "ann"),
          rig.ask(step::extend, "k", "bob"), rig.ask(step::release, "k", "bob"),
          rig.ask(step::extend, "no", "bob"), rig.ask(step::release, "no", "b")}) {
        const bool is_granted = vote.kind == vote_kind::granted;
        BOOST_TEST((is_granted || vote.remaining == colock::core::unknown_remaining));
        BOOST_TEST((vote.detail == nullptr));
    }
}

BOOST_DATA_TEST_CASE(the_ttl_is_set_by_acquire_and_only_lengthened_by_extend, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann", 1h) == "granted");
    auto left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 50min && left <= 1h));
    BOOST_TEST(rig.extend("k", "ann", 3h) == "granted");
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 2h + 50min && left <= 3h));
    BOOST_TEST(rig.extend("k", "ann", 2h) == "granted");  // Extends by less than the time left.
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left > 2h + 50min && left <= 3h));
    BOOST_TEST(rig.extend("k", "bob", 9h) == "denied: another");
    BOOST_TEST(rig.acquire("k", "bob", 9h) == "denied: another");
    left = rig.ask(step::remaining, "k").remaining;
    BOOST_TEST((left <= 3h));
}

BOOST_DATA_TEST_CASE(a_key_expires, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "ann", 20ms) == "granted");
    rig.run_until([&] { return rig.remaining("k") == "denied: nobody"; });
    BOOST_TEST(rig.extend("k", "ann") == "denied: nobody");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release("k", "bob") == "granted");
    // An extended key expires too. On a busy machine it may expire before the extend.
    BOOST_TEST(rig.acquire("k", "cat", 500ms) == "granted");
    rig.extend("k", "cat", 600ms);
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
}

BOOST_DATA_TEST_CASE(ttls_from_a_millisecond_to_a_day_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("day", "ann", 24h) == "granted");
    BOOST_TEST((rig.ask(step::remaining, "day").remaining > 23h));
    BOOST_TEST(rig.acquire("blink", "ann", 1ms) == "granted");
    rig.run_until([&] { return rig.remaining("blink") == "denied: nobody"; });
}

BOOST_DATA_TEST_CASE(a_foreign_key_counts_as_another_holder, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    s.plant_foreign_key("k");
    BOOST_TEST(rig.acquire("k", "ann") == "denied: another");
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == "denied: another");
    const auto vote = rig.ask(step::remaining, "k");
    BOOST_TEST(to_text(vote) == "denied: another");
    BOOST_TEST((vote.remaining > 1min && vote.remaining <= 10min));
}

BOOST_DATA_TEST_CASE(keys_and_tokens_may_contain_any_bytes, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    std::string all_bytes;
    for (int byte = 0; byte != 256; ++byte) {
        all_bytes += static_cast<char>(byte);
    }
    const strings keys{"\0"s, "\0\0"s,    "\r\n",    "$5\r\nhello\r\n", " ", "{k}", "k\0"s,
                       "k",   "\xff\xfe", all_bytes, all_bytes + "1",   "*"};
    for (const std::string& key : keys) {
        BOOST_TEST(rig.acquire(key, all_bytes) == "granted");
    }
    for (const std::string& key : keys) {
        BOOST_TEST(rig.remaining(key) == "denied: another");
        BOOST_TEST(rig.release(key, all_bytes.substr(0, 255)) ==
                   refusal(sample, "denied: another"));
        BOOST_TEST(rig.release(key, all_bytes + "\0"s) == refusal(sample, "denied: another"));
        BOOST_TEST(rig.extend(key, all_bytes) == "granted");
        BOOST_TEST(rig.release(key, all_bytes) == "granted");
        BOOST_TEST(rig.remaining(key) == "denied: nobody");
    }
}

BOOST_DATA_TEST_CASE(tokens_are_compared_as_bytes_not_as_numbers_or_text, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "10") == "granted");
    for (const std::string& token : strings{"10.0", "010", "1e1", " 10", "10 ", "10\0"s, "1", ""}) {
        BOOST_TEST(rig.release("k", token) == refusal(sample, "denied: another"));
        BOOST_TEST(rig.extend("k", token) == "denied: another");
    }
    BOOST_TEST(rig.release("k", "10") == "granted");
    BOOST_TEST(rig.acquire("k", "Ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
}

BOOST_DATA_TEST_CASE(keys_of_64_kib_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    const std::string key(64 * 1024, 'k');
    BOOST_TEST(rig.acquire(key, "ann") == "granted");
    BOOST_TEST(rig.acquire(key + "k", "ann") == "granted");
    BOOST_TEST(rig.acquire(key, "bob") == "denied: another");
    BOOST_TEST(rig.extend(key, "ann") == "granted");
    BOOST_TEST(rig.release(key, "bob") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.release(key, "ann") == "granted");
    BOOST_TEST(rig.remaining(key) == "denied: nobody");
    BOOST_TEST(rig.remaining(key + "k") == "denied: another");
}

BOOST_DATA_TEST_CASE(empty_tokens_and_empty_keys_are_supported, all_kinds) {
    subject s(sample);
    auto& rig = s.rig;
    BOOST_TEST(rig.acquire("k", "") == "granted");
    BOOST_TEST(rig.acquire("k", "") == "denied: another");
    BOOST_TEST(rig.release("k", "ann") == refusal(sample, "denied: another"));
    BOOST_TEST(rig.extend("k", "ann") == "denied: another");
    BOOST_TEST(rig.extend("k", "") == "granted");
    BOOST_TEST(rig.release("k", "") == "granted");
    BOOST_TEST(rig.release("k", "") == refusal(sample, "denied: nobody"));
    BOOST_TEST(rig.acquire("", "ann") == "granted");
    BOOST_TEST(rig.release("", "ann") == "granted");
}

BOOST_AUTO_TEST_SUITE_END()
