// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The permits of a semaphore: which slots a token gets, for how long, and what other locks on the name see.

#include "kinds/semaphore/semaphore.hpp"
#include "conformance.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/shared/shared.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(semaphore_test)

using namespace colock::test;

/// Returns the token of a permit. The digits choose the preferred slot.
inline std::string permit_of(std::uint32_t limit, std::uint32_t count, const std::string& digits) {
    return "permit:" + std::to_string(limit) + "*" + std::to_string(count) + ":" + token_of(digits);
}

/// Returns eight digits that prefer that slot, followed by a suffix that distinguishes tokens.
inline std::string prefers(unsigned slot, const std::string& who) {
    return "0000000" + std::to_string(slot) + who;
}

/// The steps of a semaphore with that limit.
struct steps {
    std::uint32_t limit;
    std::uint32_t count = 1;

    [[nodiscard]] const colock::kinds::lock_kind& kind() const {
        return colock::kinds::semaphore(limit, count);
    }
    [[nodiscard]] step_of_kind of(step what) const { return {what, kind()}; }
    /// Returns the step of an attempt after a denial.
    [[nodiscard]] step_of_kind joins() const { return {step::acquire, kind(), true}; }
    [[nodiscard]] std::string token(unsigned slot, const std::string& who) const {
        return permit_of(limit, count, prefers(slot, who));
    }
};

namespace {

/// Returns the vote of an instance as text, with the number of a grant.
std::string ask(subject& s, const step_of_kind& what, const std::string& token,
                std::uint64_t value = 0, milliseconds ttl = 10min) {
    const vote answer = s.ask(what, token, ttl, value);
    std::string text = to_text(answer);
    if (answer.kind == vote_kind::granted && what.step == step::acquire) {
        text += " " + (answer.detail ? *answer.detail : std::to_string(answer.value));
    }
    return text;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_semaphore_grants_as_many_permits_as_it_has, all_kinds) {
    subject s(sample);
    const steps three{3};
    BOOST_TEST(ask(s, three.of(step::acquire), three.token(0, "a")) == "granted 1");
    BOOST_TEST(ask(s, three.of(step::acquire), three.token(0, "b")) == "denied: another");
    BOOST_TEST(ask(s, three.joins(), three.token(0, "b")) == "granted 2");
    BOOST_TEST(ask(s, three.joins(), three.token(2, "c")) == "granted 1");
    BOOST_TEST(ask(s, three.joins(), three.token(1, "d")) == "denied: another");
    BOOST_TEST(ask(s, three.joins(), three.token(0, "b")) == "granted 2");  // A repeated acquire.
    BOOST_TEST(ask(s, three.of(step::release), three.token(0, "a")) == "granted");
    BOOST_TEST(ask(s, three.of(step::release), three.token(0, "a")) == "denied: nobody");
    BOOST_TEST(ask(s, three.joins(), three.token(1, "d")) == "granted 3");
    for (const std::string& one : {three.token(0, "b"), three.token(2, "c"), three.token(1, "d")}) {
        BOOST_TEST(ask(s, three.of(step::release), one) == "granted");
    }
    BOOST_TEST(s.rig.acquire("k", "ann") == "granted");  // No permit remains.
}

BOOST_DATA_TEST_CASE(a_permit_is_extended_only_with_its_number, all_kinds) {
    subject s(sample);
    const steps five{5};
    BOOST_TEST(ask(s, five.joins(), five.token(1, "a")) == "granted 1");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "a"), 1) == "granted");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "a"), 2) == "denied: nobody");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "b"), 1) == "denied: nobody");
    BOOST_TEST(ask(s, five.joins(), five.token(1, "b")) == "granted 2");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "b"), 2) == "granted");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "b"), 1) == "denied: nobody");
    BOOST_TEST(ask(s, five.of(step::extend), five.token(1, "a"), 1) == "granted");
}

/// A later round asks for a larger number. A token moves only to larger numbers.
BOOST_DATA_TEST_CASE(a_permit_moves_to_a_larger_number, all_kinds) {
    subject s(sample);
    const steps four{4};
    BOOST_TEST(ask(s, four.of(step::acquire), four.token(0, "a")) == "granted 1");
    BOOST_TEST(ask(s, four.joins(), four.token(0, "a"), 2) == "granted 2");
    BOOST_TEST(ask(s, four.joins(), four.token(0, "a"), 1) == "granted 2");
    BOOST_TEST(ask(s, four.joins(), four.token(0, "b")) == "granted 1");
    BOOST_TEST(ask(s, four.joins(), four.token(0, "b"), 2) == "granted 3");
    BOOST_TEST(ask(s, four.joins(), four.token(0, "b"), 4) == "granted 4");
    BOOST_TEST(ask(s, four.joins(), four.token(3, "c"), 4) == "granted 4");  // Takes slot 2.
    BOOST_TEST(ask(s, four.joins(), four.token(3, "c"), 5) == "denied: another");
    BOOST_TEST(ask(s, four.of(step::release), four.token(3, "c")) == "denied: nobody");
}

/// A lease restores its permit on an instance with another number. The instance grants exactly the agreed
/// number, or denies.
BOOST_DATA_TEST_CASE(a_restored_permit_has_its_number_or_none, all_kinds) {
    subject s(sample);
    const steps four{4};
    const step_of_kind holds = four.of(step::acquire).healing();
    BOOST_TEST(ask(s, holds, four.token(0, "a"), 3) == "granted 3");
    BOOST_TEST(ask(s, holds, four.token(1, "b"), 2) == "denied: another");  // Also slot 2.
    BOOST_TEST(ask(s, four.joins(), four.token(1, "b")) == "granted 1");
    BOOST_TEST(ask(s, holds, four.token(1, "b"), 2) == "denied: another");
    BOOST_TEST(ask(s, four.of(step::extend), four.token(1, "b"), 1) == "denied: nobody");
    BOOST_TEST(ask(s, holds, four.token(1, "b"), 1) == "granted 1");
    BOOST_TEST(ask(s, holds, four.token(1, "b"), 3) == "granted 3");
    BOOST_TEST(ask(s, four.joins(), four.token(1, "c")) == "granted 1");
}

BOOST_DATA_TEST_CASE(several_permits_are_taken_all_or_none, all_kinds) {
    subject s(sample);
    const steps one{5};
    const steps two{5, 2};
    const steps three{5, 3};
    BOOST_TEST(ask(s, three.of(step::acquire), three.token(0, "a")) == "granted 1 2 3 ");
    BOOST_TEST(ask(s, three.of(step::acquire), three.token(0, "b")) == "denied: another");
    BOOST_TEST(ask(s, one.joins(), one.token(4, "c")) == "granted 1");
    BOOST_TEST(ask(s, two.joins(), two.token(3, "d")) == "denied: another");
    BOOST_TEST(ask(s, one.of(step::release), one.token(4, "c")) == "granted");
    BOOST_TEST(ask(s, two.joins(), two.token(4, "d")) == "granted 1 5 ");
    const auto extends = two.of(step::extend);
    BOOST_TEST(ask(s, extends.with_values("1 5 "), two.token(4, "d"), 1) == "granted");
    BOOST_TEST(ask(s, extends.with_values("1 4 "), two.token(4, "d"), 1) == "denied: nobody");
    BOOST_TEST(ask(s, two.of(step::release), two.token(4, "d")) == "granted");
    BOOST_TEST(ask(s, two.of(step::release), two.token(4, "d")) == "denied: nobody");
    BOOST_TEST(ask(s, two.joins(), two.token(0, "e")) == "granted 4 5 ");
    BOOST_TEST(ask(s, three.of(step::release), three.token(0, "a")) == "granted");
    BOOST_TEST(ask(s, two.joins().with_values("2 4 "), two.token(1, "f"), 2) == "granted 2 5 ");
    BOOST_TEST(ask(s, two.joins().with_values("1 2 "), two.token(1, "f"), 1) == "granted 2 5 ");
}

/// Fault 50: the permit of a dead holder becomes free when its own ttl ends, whatever other holders do.
BOOST_TEST_DECORATOR(*label("fault-50"))
BOOST_DATA_TEST_CASE(a_permit_expires_although_others_are_renewed, all_kinds) {
    subject s(sample);
    const steps two{2};
    BOOST_TEST(ask(s, two.of(step::acquire), two.token(0, "a")) == "granted 1");
    BOOST_TEST(ask(s, two.joins(), two.token(1, "b"), 0, 150ms) == "granted 1");
    BOOST_TEST(ask(s, two.joins(), two.token(0, "c")) == "denied: another");
    s.rig.run_until([&] {
        BOOST_TEST(ask(s, two.of(step::extend), two.token(0, "a"), 1) == "granted");
        return ask(s, two.joins(), two.token(0, "c")) == "granted 2";
    });
    BOOST_TEST(ask(s, two.of(step::release), two.token(1, "b")) == "denied: nobody");
    BOOST_TEST(ask(s, two.of(step::extend), two.token(0, "c"), 2) == "granted");
}

BOOST_DATA_TEST_CASE(vacancy_tells_when_enough_permits_are_free, all_kinds) {
    subject s(sample);
    const steps one{3};
    const steps two{3, 2};
    const auto left = [&](const steps& of) {
        const auto vote = s.rig.ask(of.of(step::remaining), "k");
        return std::chrono::duration_cast<std::chrono::minutes>(vote.remaining + 30s).count();
    };
    BOOST_TEST(left(one) == 0);
    BOOST_TEST(ask(s, one.of(step::acquire), one.token(0, "a"), 0, 10min) == "granted 1");
    BOOST_TEST(left(two) == 0);
    BOOST_TEST(ask(s, one.joins(), one.token(1, "b"), 0, 5min) == "granted 1");
    BOOST_TEST(left(one) == 0);
    BOOST_TEST(left(two) == 5);
    BOOST_TEST(ask(s, one.joins(), one.token(2, "c"), 0, 20min) == "granted 1");
    BOOST_TEST(left(one) == 5);
    BOOST_TEST(left(two) == 10);
}

/// Fault 51: two limits are never in use at the same time.
BOOST_TEST_DECORATOR(*label("fault-51"))
BOOST_DATA_TEST_CASE(another_limit_is_refused_while_a_permit_is_out, all_kinds) {
    subject s(sample);
    const steps three{3};
    const steps five{5};
    const std::string of_three = "denied: a semaphore of 3 permits";
    for (const bool is_set : {false, true}) {
        BOOST_TEST(ask(s, three.joins(), three.token(0, "a")) == "granted 1");
        if (is_set) {
            BOOST_TEST(ask(s, three.joins(), three.token(1, "b")) == "granted 1");
        }
        BOOST_TEST(ask(s, five.joins(), five.token(0, "c")) == of_three);
        BOOST_TEST(ask(s, five.of(step::extend), five.token(0, "c"), 1) == of_three);
        BOOST_TEST(ask(s, five.of(step::remaining), "") == of_three);
        BOOST_TEST(ask(s, five.of(step::release), five.token(0, "c")) == "denied: another");
        BOOST_TEST(ask(s, three.of(step::release), three.token(0, "a")) == "granted");
        if (is_set) {
            BOOST_TEST(ask(s, three.of(step::release), three.token(1, "b")) == "granted");
        }
    }
    BOOST_TEST(ask(s, five.joins(), five.token(0, "c")) == "granted 1");
}

BOOST_DATA_TEST_CASE(locks_of_other_kinds_are_named, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    const steps two{2};
    const auto asks_semaphore = [&](const std::string& answer) {
        BOOST_TEST(ask(s, two.of(step::acquire), two.token(0, "a")) == "denied: another");
        BOOST_TEST(ask(s, two.joins(), two.token(0, "a")) == answer);
        BOOST_TEST(ask(s, two.of(step::extend), two.token(0, "a"), 1) == answer);
        BOOST_TEST(ask(s, two.of(step::remaining), "") == answer);
        BOOST_TEST(ask(s, two.of(step::release), two.token(0, "a")) == "denied: another");
    };
    BOOST_TEST(ask(s, step::acquire, ann) == "granted 0");
    asks_semaphore("denied: a mutex");
    BOOST_TEST(ask(s, step::release, ann) == "granted");
    BOOST_TEST(ask(s, looks, ann_reads) == "granted 0");
    asks_semaphore("denied: a shared mutex");
    BOOST_TEST(ask(s, joins, bob_reads) == "granted 0");
    asks_semaphore("denied: a shared mutex");
    BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == "granted");
    BOOST_TEST(ask(s, of_reader(step::release), bob_reads) == "granted");

    for (const bool is_set : {false, true}) {
        BOOST_TEST(ask(s, two.joins(), two.token(0, "a")) == "granted 1");
        if (is_set) {
            BOOST_TEST(ask(s, two.joins(), two.token(0, "b")) == "granted 2");
        }
        const std::string answer = "denied: a semaphore of 2 permits";
        BOOST_TEST(ask(s, step::acquire, ann) == "denied: another");
        BOOST_TEST(ask(s, step::extend, ann) == answer);
        BOOST_TEST(ask(s, fenced_acquire, ann) == answer);
        BOOST_TEST(ask(s, joins, ann_reads) == answer);
        BOOST_TEST(ask(s, {step::remaining, writer}, "") == answer);
        BOOST_TEST(ask(s, of_reader(step::release), ann_reads) == answer);
        BOOST_TEST(ask(s, two.of(step::release), two.token(0, "a")) == "granted");
        if (is_set) {
            BOOST_TEST(ask(s, two.of(step::release), two.token(0, "b")) == "granted");
        }
    }
}

/// Memory and servers give equal votes for any steps of semaphores and of a mutex on the same name.
BOOST_DATA_TEST_CASE(memory_and_servers_agree_on_permits, compared_kinds) {
    const std::vector<steps> all{{1}, {2}, {5}, {5, 2}, {5, 3}, {64}};
    std::map<std::string, int> seen;
    for_each_seed(30, [&](std::mt19937& random, unsigned seed) {
        subject server(sample);
        subject memory(kind::memory);
        // Most steps use one limit, because the server refuses any other limit.
        const std::uint32_t limit = std::array<std::uint32_t, 4>{1, 2, 5, 64}.at(seed % 4);
        for (int i = 0; i != 300; ++i) {
            steps of = all[random() % all.size()];
            while (of.limit != limit && random() % 20 != 0) {
                of = all[random() % all.size()];
            }
            const std::string who(1, "abcdef"[random() % 6]);
            const std::string token = of.token(static_cast<unsigned>(random() % 3), who);
            const bool is_of_mutex = random() % 40 == 0;
            const step what = random_step(random);
            step_of_kind asked = is_of_mutex ? step_of_kind(what) : of.of(what);
            asked.contended = random() % 4 != 0;
            asked.heals = what == step::acquire && random() % 4 == 0;
            std::uint64_t value = 0;
            if (asked.heals || what == step::extend || random() % 3 == 0) {
                std::uint32_t last = 0;
                for (std::uint32_t n = 0; n != of.count; ++n) {
                    last += 1 + static_cast<std::uint32_t>(random() % 2);
                    value = value == 0 ? last : value;
                    asked.values += std::to_string(last) + ' ';
                }
            }
            const milliseconds ttl = random_ttl(random);
            const std::string holder = is_of_mutex ? token_of(who) : token;
            const std::string theirs = ask(server, asked, holder, value, ttl);
            const std::string ours = ask(memory, asked, holder, value, ttl);
            const bool is_native = what == step::release && ours != "granted" &&
                                   asked.kind->traits().released_natively &&
                                   theirs == refusal(sample, ours);
            BOOST_TEST_REQUIRE((theirs == ours || is_native),
                               i << ": " << asked.kind->traits().name << " step "
                                 << static_cast<int>(what) << " of " << holder << " values "
                                 << asked.values << ": " << theirs << ", in memory " << ours);
            ++seen[ours.substr(0, 9)];
        }
    });
    BOOST_TEST(seen["granted 2"] != 0);
    BOOST_TEST(seen["denied: a"] != 0);
}

BOOST_AUTO_TEST_SUITE_END()
