// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Names that run once: which token gets the name, which may record a result, and what locks on the name see.

#include "kinds/once/once.hpp"
#include "conformance.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/versioned/versioned.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(once_test)

using namespace colock::test;

inline const step_of_kind takes{step::acquire, colock::kinds::once};
inline const step_of_kind sees{step::look, colock::kinds::once};
inline const step_of_kind inspects = sees.explaining();

inline step_of_kind records(const std::string& result, const std::string& fingerprint = "") {
    return step_of_kind(step::complete, colock::kinds::once)
        .with_values(colock::kinds::make_record({fingerprint, result}));
}
inline step_of_kind of_once(step s) {
    return {s, colock::kinds::once};
}

/// The steps on the name "k".
struct one_name : subject {
    using subject::subject;

    std::string text(const step_of_kind& what, const std::string& token = "",
                     milliseconds ttl = 1h) {
        return to_text(ask(what, token, ttl));
    }
};

BOOST_DATA_TEST_CASE(the_holder_gives_its_name_a_record, all_kinds) {
    one_name n(sample);
    BOOST_TEST(n.text(sees) == "denied: nobody");
    BOOST_TEST(n.text(inspects, ann) == "denied: nobody");
    BOOST_TEST(n.text(takes, ann) == "granted");
    BOOST_TEST(n.text(takes, bob) == "denied: another");
    BOOST_TEST(n.text(sees) == "denied: another");
    BOOST_TEST(n.text(inspects, ann) == "granted");
    BOOST_TEST(n.text(inspects, bob) == "denied: another");
    BOOST_TEST(n.text(inspects) == "denied: another");
    BOOST_TEST(n.text(of_once(step::extend), ann) == "granted");
    BOOST_TEST(n.text(records("x"), bob) == "denied: another");
    BOOST_TEST(n.text(records("x"), ann, 1h) == "granted");
    BOOST_TEST(n.text(sees) == "denied: has done:0:x");
    const vote told = n.ask(inspects, ann);
    BOOST_TEST(to_text(told) == "denied: has done:0:x");
    BOOST_TEST((told.remaining > 50min && told.remaining <= 1h));
    const vote denied = n.ask(takes, bob);
    BOOST_TEST(to_text(denied) == "denied: has done:0:x");
    BOOST_TEST((denied.remaining > 50min && denied.remaining <= 1h));
}

BOOST_DATA_TEST_CASE(a_record_that_is_sent_again_is_granted, all_kinds) {
    one_name n(sample);
    n.ask(takes, ann);
    BOOST_TEST(n.text(records("x", "f:"), ann) == "granted");
    BOOST_TEST(n.text(records("x", "f:"), ann) == "granted");
    BOOST_TEST(n.text(records("y", "f:"), ann) == "denied: a result of once");
    BOOST_TEST(n.text(records("x", "f"), ann) == "denied: a result of once");
    BOOST_TEST(n.text(sees) == "denied: has done:2:f:x");
}

BOOST_DATA_TEST_CASE(a_record_needs_the_token, all_kinds) {
    one_name n(sample);
    BOOST_TEST(n.text(records("x"), ann) == "denied: nobody");
    BOOST_TEST(n.text(records("x")) == "denied: nobody");
    n.ask(takes, ann);
    BOOST_TEST(n.text(records("x")) == "denied: another");
    BOOST_TEST(n.text(of_once(step::release), ann) == "granted");
    BOOST_TEST(n.text(records("x"), ann) == "denied: nobody");
    BOOST_TEST(n.text(sees) == "denied: nobody");
}

BOOST_DATA_TEST_CASE(a_record_that_heals_needs_a_free_name, all_kinds) {
    one_name n(sample);
    n.ask(takes, bob);
    BOOST_TEST(n.text(records("x").healing()) == "denied: another");
    BOOST_TEST(n.text(records("x").healing(), ann) == "denied: another");
    n.ask(of_once(step::release), bob);
    BOOST_TEST(n.text(records("x").healing(), "", 1h) == "granted");
    BOOST_TEST(n.text(records("x").healing()) == "granted");
    BOOST_TEST(n.text(records("y").healing(), ann) == "denied: a result of once");
    const auto left = n.ask(inspects).remaining;
    BOOST_TEST((left > 50min && left <= 1h));
}

BOOST_DATA_TEST_CASE(the_token_has_nothing_after_the_record, all_kinds) {
    one_name n(sample);
    n.ask(takes, ann);
    n.ask(records("x"), ann);
    BOOST_TEST(n.text(of_once(step::extend), ann) == "denied: a result of once");
    BOOST_TEST(n.text(of_once(step::release), ann) == refusal(sample, "denied: a result of once"));
    BOOST_TEST(n.text(sees) == "denied: has done:0:x");
}

BOOST_DATA_TEST_CASE(a_record_ends, all_kinds) {
    one_name n(sample);
    n.ask(takes, ann);
    n.ask(records("x"), ann, 20ms);
    n.rig.run_until([&] { return n.text(sees) == "denied: nobody"; });
    BOOST_TEST(n.text(takes, bob) == "granted");
}

BOOST_DATA_TEST_CASE(a_result_has_any_bytes, all_kinds) {
    one_name n(sample);
    std::string bytes;
    for (int i = 0; i != 256; ++i) {
        bytes += static_cast<char>(i);
    }
    const std::string longest(colock::kinds::longest_result, '@');
    for (const std::string& result : {""s, bytes, longest}) {
        n.ask(takes, ann);
        BOOST_TEST(n.text(records(result, bytes), ann, 100ms) == "granted");
        const std::string record = colock::kinds::make_record({bytes, result});
        const vote told = n.ask(sees);
        if (told.key == key_state::completed) {  // True unless this machine stalled.
            BOOST_TEST((*told.detail == record));
        }
        n.rig.run_until([&] { return n.text(sees) == "denied: nobody"; });
    }
}

/// While a body runs, its name acts as a mutex. The holder may have a label.
BOOST_DATA_TEST_CASE(a_mutex_excludes_and_is_excluded, all_kinds) {
    one_name n(sample);
    auto& rig = n.rig;
    BOOST_TEST(rig.acquire("k", bob + "@host-7") == "granted");
    BOOST_TEST(n.text(takes, ann) == "denied: @host-7");
    BOOST_TEST(n.text(sees) == "denied: another");
    BOOST_TEST(n.text(records("x").healing(), ann) == "denied: @host-7");
    BOOST_TEST(rig.release("k", bob + "@host-7") == "granted");
    BOOST_TEST(n.text(takes, ann) == "granted");
    BOOST_TEST(rig.acquire("k", bob) == "denied: another");
}

BOOST_DATA_TEST_CASE(other_locks_are_told_of_a_result, all_kinds) {
    one_name n(sample);
    n.ask(takes, ann);
    n.ask(records("x@y"), ann);
    check_is_no_lock(n.rig, "a result of once");
    for (const vote& denial : {n.ask(of_once(step::remaining).explaining(), bob),
                               n.ask({step::read, colock::kinds::versioned})}) {
        BOOST_TEST((denial.kind == vote_kind::denied));
        BOOST_TEST((denial.key == key_state::other_kind));
        BOOST_TEST((denial.detail && *denial.detail == "a result of once"));
    }
    BOOST_TEST(n.text(sees) == "denied: has done:0:x@y");
}

BOOST_DATA_TEST_CASE(a_name_of_another_kind_is_left_alone, all_kinds) {
    one_name n(sample);
    auto& rig = n.rig;
    const auto& three = colock::kinds::semaphore(3, 1);
    rig.ask({step::acquire, three}, "k", "permit:3*1:" + bob);
    for (const auto& what : {takes, inspects, records("x"), records("x").healing()}) {
        BOOST_TEST(n.text(what, ann) == "denied: a semaphore of 3 permits");
    }
    BOOST_TEST(n.text(sees) == "denied: another");
}

BOOST_DATA_TEST_CASE(a_value_that_colock_did_not_write_is_no_name, all_kinds) {
    one_name n(sample);
    n.plant_foreign_key("k");
    for (const auto& what : {takes, inspects, records("x"), records("x").healing()}) {
        BOOST_TEST(n.text(what, ann).starts_with("denied: another"));
    }
}

/// Memory and servers give equal votes for any steps.
BOOST_DATA_TEST_CASE(memory_and_servers_say_the_same, compared_kinds) {
    for_each_seed(10, [&](std::mt19937& random, unsigned /*seed*/) {
        one_name server(sample);
        one_name memory(kind::memory);
        for (int i = 0; i != 200; ++i) {
            const std::string token = random() % 4 == 0 ? "" : random() % 2 == 0 ? ann : bob;
            const auto record = records(std::to_string(random() % 2));
            const step_of_kind all[] = {
                takes,
                takes,
                sees,
                inspects,
                random() % 8 == 0 ? record : sees,
                random() % 16 == 0 ? record.healing() : sees,
                of_once(step::extend),
                of_once(step::release),
            };
            const step_of_kind& what = all[random() % std::size(all)];
            if (what == takes && token.empty()) {
                continue;
            }
            const bool is_release = what.step == step::release;
            const std::string by_server = server.text(what, token);
            const std::string by_memory = memory.text(what, token);
            BOOST_TEST_REQUIRE(
                (by_memory == by_server || (is_release && refusal(sample, by_memory) == by_server)),
                by_memory << " instead of " << by_server);
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()
