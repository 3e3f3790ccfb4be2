// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A lock whose order binds: who gets its key, and the queue of its waiters as a server keeps it.

#include "kinds/fifo/fifo.hpp"
#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;

BOOST_AUTO_TEST_SUITE(conformance_of_locks_whose_order_binds)

namespace {

/// A waiter, or the holder that it becomes.
struct waiter {
    std::uint64_t client;
    std::uint64_t place;

    [[nodiscard]] std::string token() const {
        return token_of(std::to_string(client) + 'c' + std::to_string(place));
    }
};

/// What the waiters of "k" ask, and what they are told.
struct scene : subject {
    using subject::subject;

    const colock::kinds::lock_kind& lock = colock::kinds::fifo;
    std::uint16_t place_ttl = 60'000;

    std::string ask(const step_of_kind& what, const waiter& who, std::uint64_t value = 0) {
        const bool is_of_queue = what.step == step::join || what.step == step::leave;
        const auto tag = rig.submit(what.at_place(who.client, who.place, place_ttl), "k",
                                    is_of_queue ? "" : who.token(), 10min, colock::core::never,
                                    colock::core::instance_set::all(), value);
        rig.run_until_voted();
        const auto& vote = rig.vote_on(tag);
        std::string text = to_text(vote);
        if (vote.kind == colock::core::vote_kind::granted && is_of_queue) {
            text += " " + std::to_string(vote.value);
        }
        return text;
    }
    std::string attempt(const waiter& who) { return ask({step::acquire, lock}, who); }
    /// The fence of an attempt; 0 if it was denied.
    std::uint64_t fence_of(const waiter& who) {
        const auto tag = rig.submit(step_of_kind(step::acquire, colock::kinds::fenced_fifo)
                                        .at_place(who.client, who.place, place_ttl),
                                    "k", who.token());
        rig.run_until_voted();
        const auto& vote = rig.vote_on(tag);
        return vote.kind == colock::core::vote_kind::granted ? vote.value : 0;
    }
    std::string try_once(const waiter& who) {
        return ask(step_of_kind(step::acquire, lock).without_waiting(), who);
    }
    std::string release(const waiter& who) { return ask({step::release, lock}, who); }
    std::string enter(const waiter& who) { return ask({step::join, lock.queue()}, who); }
    std::string stay(const waiter& first, std::uint64_t last) {
        return ask({step::join, lock.queue()}, first, last);
    }
    std::string stay(const waiter& only) { return stay(only, only.place); }
    std::string leave(const waiter& who) { return ask({step::leave, lock.queue()}, who); }

    /// That client has died.
    void forget_client(std::uint64_t client) {
        rig.submit(step::release, ticket_of(client), "");
        rig.run_until_voted();
        BOOST_TEST(!has(ticket_of(client)));
    }

    [[nodiscard]] bool has(const std::string& key) {
        const auto tag = rig.submit(step::remaining, key);
        rig.run_until_voted();
        return !colock::core::is_absent(rig.vote_on(tag));
    }

    /// Nobody holds the lock, and nobody waits. A client's ticket may be there until its ttl is over.
    void expect_no_queue() {
        BOOST_TEST(!has("k"));
        BOOST_TEST(!has(colock::kinds::waiters_key("k")));
    }

    void expect_no_keys_soon() {
        for (const std::string& key : {std::string("k"), colock::kinds::waiters_key("k"),
                                       ticket_of(1), ticket_of(2), ticket_of(3)}) {
            expect_soon([&] { return !has(key); });
        }
    }

private:
    static std::string ticket_of(std::uint64_t client) {
        return colock::kinds::waiters_ticket_prefix("k") + std::to_string(client);
    }

    static void expect_soon(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + default_timeout;
        while (!condition()) {
            BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < deadline));
            std::this_thread::sleep_for(poll_interval);
        }
    }
};

constexpr waiter ann{1, 1};
constexpr waiter bob{2, 1};
constexpr waiter bob_too{2, 2};
constexpr waiter cid{3, 1};

}  // namespace

BOOST_DATA_TEST_CASE(a_lock_is_granted_in_the_order_of_the_attempts, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.stay(bob) == "granted 0");
    BOOST_TEST(s.stay(cid) == "granted 2");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.attempt(ann) == "denied: another");  // it is the last now
    BOOST_TEST(s.attempt(bob) == "granted");
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.stay(ann) == "granted 3");
    BOOST_TEST(s.release(bob) == "granted");
    BOOST_TEST(s.attempt(cid) == "granted");
    BOOST_TEST(s.release(cid) == "granted");
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.release(ann) == "granted");
    s.expect_no_queue();
}

BOOST_DATA_TEST_CASE(a_fence_is_counted_with_the_turn, all_kinds) {
    scene s(sample);
    const std::uint64_t first = s.fence_of(ann);
    BOOST_TEST(first != 0U);
    BOOST_TEST(s.fence_of(bob) == 0U);
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.fence_of(cid) == 0U);
    BOOST_TEST(s.fence_of(bob) > first);
}

BOOST_TEST_DECORATOR(*label("fault-58"))
BOOST_DATA_TEST_CASE(a_try_enters_no_queue, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.try_once(ann) == "granted");
    BOOST_TEST(s.try_once(bob) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.try_once(bob) == "denied: another");  // cid lives
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    s.forget_client(cid.client);
    BOOST_TEST(s.try_once(bob) == "granted");
    BOOST_TEST(s.release(bob) == "granted");
    s.expect_no_queue();
}

BOOST_TEST_DECORATOR(*label("fault-56"))
BOOST_DATA_TEST_CASE(dead_clients_are_skipped, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.enter(bob_too) == "granted 1");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.stay(cid) == "granted 2");
    s.forget_client(bob.client);
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.stay(bob, 2) == "denied: nobody");  // its places are missing
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(cid) == "granted");
    BOOST_TEST(s.release(cid) == "granted");
    s.expect_no_queue();
}

/// While there was no ticket, any of the places may have been skipped. It is there again with the next that enters.
BOOST_DATA_TEST_CASE(a_client_without_a_ticket_enters_again, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    s.forget_client(bob.client);
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    BOOST_TEST(s.enter(bob) == "granted 0");
    BOOST_TEST(s.stay(bob) == "granted 0");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    s.forget_client(bob.client);
    BOOST_TEST(s.attempt(bob) == "denied: another");  // this brings it back, too
    BOOST_TEST(s.stay(cid) == "granted 2");
}

/// A waiter that has lost its place enters behind others, though another one of its client is first. The two clients must not wait for
/// each other then.
BOOST_DATA_TEST_CASE(a_client_whose_later_waiter_is_first_has_its_turn, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.enter(bob_too) == "granted 2");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.stay(bob, 2) == "granted 0");
    BOOST_TEST(s.stay(cid) == "granted 2");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.attempt(bob) == "granted");
    BOOST_TEST(s.stay(cid) == "granted 2");
    BOOST_TEST(s.stay(bob_too) == "granted 0");  // it keeps its place
}

/// The leave of the first one was lost. The next of its client does not use that place.
BOOST_DATA_TEST_CASE(a_place_that_was_left_behind_is_nobodys, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.attempt(bob_too) == "denied: another");
    BOOST_TEST(s.stay(bob_too) == "granted 3");
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(bob_too) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "granted");
    BOOST_TEST(s.release(cid) == "granted");
    BOOST_TEST(s.attempt(bob_too) == "granted");
    BOOST_TEST(s.release(bob_too) == "granted");
    s.expect_no_queue();
}

/// Lock objects of one client may have different times between heartbeats.
BOOST_DATA_TEST_CASE(no_ticket_ends_earlier_by_another_lock, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    s.place_ttl = 1;
    BOOST_TEST(s.enter(bob_too) == "granted 1");
    BOOST_TEST(s.leave(bob_too) == "granted 0");
    s.place_ttl = 60'000;
    const auto later = std::chrono::steady_clock::now() + 20ms;
    while (std::chrono::steady_clock::now() < later) {
        BOOST_TEST(s.attempt(cid) == "denied: another");
    }
    BOOST_TEST(s.stay(cid) == "granted 2");
}

BOOST_TEST_DECORATOR(*label("fault-58"))
BOOST_DATA_TEST_CASE(a_waiter_that_leaves_is_in_nobodys_way, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.leave(bob) == "granted 0");
    BOOST_TEST(s.leave(bob) == "granted 0");  // once more
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(cid) == "granted");
    BOOST_TEST(s.release(cid) == "granted");
    s.expect_no_queue();
}

/// A lease of the client may go to a waiter that is directly behind another one of the client, or behind nobody.
BOOST_DATA_TEST_CASE(a_waiter_that_enters_is_told_who_of_its_client_is_before_it, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.enter(bob_too) == "granted 2");  // nobody: it is told its own number
    BOOST_TEST(s.enter({bob.client, 3}) == "granted 2");
    BOOST_TEST(s.enter(cid) == "granted 0");  // another client
    BOOST_TEST(s.enter({bob.client, 4}) == "granted 0");
    BOOST_TEST(s.enter({bob.client, 5}) == "granted 4");
    BOOST_TEST(s.enter({bob.client, 5}) == "granted 0");  // it was there
}

BOOST_DATA_TEST_CASE(a_waiter_that_enters_twice_has_one_place, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(s.attempt(bob) == "denied: another");
        BOOST_TEST(s.enter(bob) == "granted 0");
    }
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "granted");
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    BOOST_TEST(s.release(bob) == "granted");
    s.expect_no_queue();
}

BOOST_DATA_TEST_CASE(a_lock_that_is_restored_goes_past_all, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.ask(step_of_kind(step::acquire, s.lock).healing(), ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
}

/// The queue ends with the tickets, and they with their clients.
BOOST_TEST_DECORATOR(*label("fault-57"))
BOOST_DATA_TEST_CASE(places_end_with_their_ttl, all_kinds) {
    scene s(sample);
    s.place_ttl = 200;
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
    BOOST_TEST(s.release(ann) == "granted");
    s.expect_no_keys_soon();
}

BOOST_AUTO_TEST_SUITE_END()
