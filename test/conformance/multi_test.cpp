// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A lock with several names holds all of them or none. It coexists with locks on one of these names.

#include "kinds/multi/multi.hpp"
#include "conformance.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(multi_test)

using namespace colock::test;

namespace {

/// A lock with these names.
struct names {
    std::string first;
    std::vector<std::string> more{};

    [[nodiscard]] step_of_kind of(step what) const {
        return step_of_kind(what, colock::kinds::multi).with_more_keys(more);
    }
};

const names abc{"a", {"b", "c"}};
const names bcd{"b", {"c", "d"}};

std::string ask(subject& s, const names& lock, const step_of_kind& what, const std::string& token,
                milliseconds ttl = 10min) {
    const vote answer = s.rig.ask(what, lock.first, token, ttl);
    const bool names_holder = answer.detail && answer.key == key_state::foreign;
    return to_text(answer) + (names_holder ? ", " + *answer.detail : "");
}
std::string ask(subject& s, const names& lock, step what, const std::string& token,
                milliseconds ttl = 10min) {
    return ask(s, lock, lock.of(what), token, ttl);
}

std::string heal(subject& s, const names& lock, const std::string& token) {
    return ask(s, lock, lock.of(step::acquire).healing(), token);
}

/// A native command does not report which name is taken.
bool is_denied(const std::string& answer, const std::string& name) {
    return answer == "denied: another" ||
           answer == "denied: another, the name '" + name + "' has another holder";
}

std::chrono::minutes left(subject& s, const names& lock) {
    const auto vote = s.rig.ask(lock.of(step::remaining), lock.first);
    return std::chrono::duration_cast<std::chrono::minutes>(vote.remaining + 30s);
}

}  // namespace

BOOST_DATA_TEST_CASE(all_names_are_taken_or_none, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, abc, step::acquire, "ann") == "granted");
    for (const char* const name : {"a", "b", "c"}) {
        BOOST_TEST(s.rig.acquire(name, "bob") == "denied: another");
    }
    BOOST_TEST(is_denied(ask(s, bcd, step::acquire, "bob"), "b"));
    BOOST_TEST(s.rig.acquire("d", "cid") == "granted");  // It was not acquired.
    BOOST_TEST(ask(s, abc, step::extend, "ann") == "granted");
    BOOST_TEST(ask(s, abc, step::release, "ann") == "granted");
    BOOST_TEST(is_denied(ask(s, bcd, step::acquire, "bob"), "d"));
    BOOST_TEST(s.rig.acquire("b", "ann") == "granted");
    BOOST_TEST(s.rig.acquire("c", "ann") == "granted");
    BOOST_TEST(is_denied(ask(s, abc, step::acquire, "ann"), "b"));  // Not reentrant.
    BOOST_TEST(s.rig.acquire("a", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(only_the_holder_of_all_names_is_confirmed, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, abc, step::extend, "ann") == "denied: nobody");
    BOOST_TEST(ask(s, abc, step::release, "ann") == "denied: nobody");
    BOOST_TEST(ask(s, abc, step::acquire, "ann") == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "bob") ==
               "denied: another, the name 'a' has another holder");
    BOOST_TEST(ask(s, abc, step::release, "bob") == "denied: another");
    BOOST_TEST(ask(s, abc, step::extend, "ann") == "granted");
    BOOST_TEST(s.rig.release("b", "ann") == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "ann") == "denied: nobody");
    BOOST_TEST(s.rig.acquire("b", "bob") == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "ann") ==
               "denied: another, the name 'b' has another holder");
    BOOST_TEST(ask(s, abc, step::release, "ann") == "denied: another");
    BOOST_TEST(s.rig.acquire("a", "cid") == "granted");  // Its own names were released.
    BOOST_TEST(s.rig.acquire("c", "cid") == "granted");
    BOOST_TEST(s.rig.extend("b", "bob") == "granted");
}

BOOST_DATA_TEST_CASE(a_lost_name_is_put_back_unless_it_is_taken, all_kinds) {
    subject s(sample);
    BOOST_TEST(heal(s, abc, "ann") == "granted");
    BOOST_TEST(heal(s, abc, "ann") == "granted");
    BOOST_TEST(s.rig.release("b", "ann") == "granted");
    BOOST_TEST(heal(s, abc, "ann") == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "ann") == "granted");
    BOOST_TEST(s.rig.release("b", "ann") == "granted");
    BOOST_TEST(s.rig.release("c", "ann") == "granted");
    BOOST_TEST(s.rig.acquire("c", "bob") == "granted");
    BOOST_TEST(heal(s, abc, "ann") == "denied: another, the name 'c' has another holder");
    BOOST_TEST(s.rig.acquire("b", "cid") == "granted");  // It was not restored.
}

BOOST_DATA_TEST_CASE(no_name_lives_for_less_than_was_granted, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, abc, step::acquire, "ann", 20min) == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "ann", 10min) == "granted");
    for (const char* const name : {"a", "b", "c"}) {
        BOOST_TEST((left(s, {name}) == 20min));
    }
    BOOST_TEST(s.rig.extend("b", "ann", 40min) == "granted");
    BOOST_TEST(ask(s, abc, step::extend, "ann", 30min) == "granted");
    BOOST_TEST((left(s, {"a"}) == 30min));
    BOOST_TEST((left(s, {"b"}) == 40min));
    BOOST_TEST(heal(s, abc, "ann") == "granted");
    BOOST_TEST((left(s, {"a"}) == 30min));
}

BOOST_DATA_TEST_CASE(remaining_tells_of_the_name_that_lives_longest, all_kinds) {
    subject s(sample);
    BOOST_TEST(ask(s, abc, step::remaining, "") == "denied: nobody");
    BOOST_TEST((left(s, abc) == 0min));
    BOOST_TEST(s.rig.acquire("b", token_of("b"), 5min) == "granted");
    BOOST_TEST(s.rig.acquire("c", token_of("c") + "@worker-7", 20min) == "granted");
    BOOST_TEST((left(s, abc) == 20min));
    BOOST_TEST(ask(s, abc, step::remaining, "") ==
               "denied: another, the name 'b' has another holder");
    BOOST_TEST(s.rig.release("b", token_of("b")) == "granted");
    BOOST_TEST(ask(s, abc, step::remaining, "") ==
               "denied: another, the name 'c' is held by worker-7");
    BOOST_TEST((left(s, abc) == 20min));
    BOOST_TEST((left(s, {"a", {"b"}}) == 0min));
}

BOOST_DATA_TEST_CASE(locks_of_other_kinds_exclude_it, all_kinds) {
    using namespace colock::kinds;
    subject s(sample);
    const step_of_kind permit{step::acquire, semaphore(2, 1), true};
    const std::string holder = "permit:2*1:" + token_of("a");
    BOOST_TEST(s.rig.acquire("a", "foreign") == "granted");
    BOOST_TEST(is_denied(ask(s, abc, step::acquire, "ann"), "a"));
    BOOST_TEST(s.rig.release("a", "foreign") == "granted");

    BOOST_TEST(to_text(s.rig.ask(looks, "b", ann_reads)) == "granted");
    BOOST_TEST(is_denied(ask(s, abc, step::acquire, "ann"), "b"));
    BOOST_TEST(to_text(s.rig.ask(joins, "b", bob_reads)) == "granted");
    BOOST_TEST(is_denied(ask(s, abc, step::acquire, "ann"), "b"));
    BOOST_TEST(ask(s, abc, step::release, "ann") == "denied: another");
    BOOST_TEST(to_text(s.rig.ask(of_reader(step::extend), "b", bob_reads)) == "granted");

    BOOST_TEST(to_text(s.rig.ask(permit, "d", holder)) == "granted");
    const std::string whose = "denied: the name 'd' belongs to a semaphore of 2 permits";
    BOOST_TEST(ask(s, {"c", {"d"}}, step::remaining, "") == whose);
    BOOST_TEST(heal(s, {"c", {"d"}}, "ann") == whose);
    BOOST_TEST(ask(s, {"c", {"d"}}, step::extend, "ann") == whose);
    BOOST_TEST(s.rig.acquire("c", "cid") == "granted");
}

/// Many releases travel in one call.
BOOST_DATA_TEST_CASE(releases_of_several_locks_go_together, all_kinds) {
    subject s(sample);
    const names ab{"a", {"b"}};
    const names cde{"c", {"d", "e"}};
    const names fg{"f", {"g"}};
    for (const bool are_all_held : {true, false}) {
        BOOST_TEST(ask(s, ab, step::acquire, "ann") == "granted");
        BOOST_TEST(ask(s, cde, step::acquire, "bob") == "granted");
        BOOST_TEST(ask(s, fg, step::acquire, "cid") == "granted");
        if (!are_all_held) {
            BOOST_TEST(s.rig.release("b", "ann") == "granted");
            BOOST_TEST(s.rig.release("d", "bob") == "granted");
            BOOST_TEST(s.rig.acquire("d", "eve") == "granted");
        }
        const auto of_ab = s.rig.submit(ab.of(step::release), "a", "ann");
        const auto of_cde = s.rig.submit(cde.of(step::release), "c", "bob");
        const auto of_fg = s.rig.submit(fg.of(step::release), "f", "cid");
        s.rig.run_until_voted();
        const auto vote = [&](auto tag) { return to_text(s.rig.vote_on(tag)); };
        BOOST_TEST(vote(of_ab) == (are_all_held ? "granted" : "denied: nobody"));
        BOOST_TEST(vote(of_cde) == (are_all_held ? "granted" : "denied: another"));
        BOOST_TEST(vote(of_fg) == "granted");
    }
    BOOST_TEST(s.rig.release("d", "eve") == "granted");
    BOOST_TEST(ask(s, {"a", {"b", "c", "d", "e", "f", "g"}}, step::acquire, "ann") == "granted");
}

BOOST_DATA_TEST_CASE(sixty_four_names_are_one_lock, all_kinds) {
    subject s(sample);
    names all{"name 0"};
    for (int i = 1; i != 64; ++i) {
        all.more.push_back("name " + std::to_string(i));
    }
    BOOST_TEST(ask(s, all, step::acquire, "ann") == "granted");
    BOOST_TEST(ask(s, all, step::extend, "ann") == "granted");
    BOOST_TEST(s.rig.acquire("name 63", "bob") == "denied: another");
    BOOST_TEST(heal(s, all, "ann") == "granted");
    BOOST_TEST(ask(s, all, step::release, "ann") == "granted");
    BOOST_TEST(s.rig.acquire("name 63", "bob") == "granted");
}

/// Memory and servers give equal votes for any steps of locks with overlapping names.
BOOST_DATA_TEST_CASE(memory_and_servers_agree_on_several_names, compared_kinds) {
    const std::vector<names> locks{
        {"a"}, {"b"}, {"a", {"b"}}, {"b", {"c"}}, {"a", {"b", "c"}}, {"c", {"d"}}};
    std::map<std::string, int> seen;
    for_each_seed(20, [&](std::mt19937& random, unsigned /*seed*/) {
        subject server(sample);
        subject memory(kind::memory);
        for (int i = 0; i != 300; ++i) {
            const names& lock = locks[random() % locks.size()];
            const step what = random_step(random);
            step_of_kind asked = random() % 3 == 0 ? step_of_kind(what) : lock.of(what);
            asked.heals =
                what == step::acquire && asked.kind == &colock::kinds::multi && random() % 4 == 0;
            const std::string token =
                token_of(std::string(1, "ab"[random() % 2])) + (random() % 2 == 0 ? "" : "@x");
            const milliseconds ttl = random_ttl(random);
            const std::string theirs = ask(server, lock, asked, token, ttl);
            const std::string ours = ask(memory, lock, asked, token, ttl);
            const bool says_less = (what == step::acquire && theirs == "denied: another") ||
                                   (what == step::release && theirs == refusal(sample, ours));
            BOOST_TEST_REQUIRE((theirs == ours || (says_less && ours != "granted")),
                               i << ": " << asked.kind->traits().name << " step "
                                 << static_cast<int>(what) << " of " << token << " at "
                                 << lock.first << " and " << lock.more.size() << " more: " << theirs
                                 << ", in memory " << ours);
            ++seen[ours];
        }
    });
    BOOST_TEST(seen["granted"] != 0);
    BOOST_TEST(seen["denied: another, the name 'b' is held by x"] != 0);
}

BOOST_AUTO_TEST_SUITE_END()
