// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// A lock with a binding order: which waiter gets the key, and the queue of waiters on the server.

#include "kinds/fifo/fifo.hpp"
#include "conformance.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string>

BOOST_AUTO_TEST_SUITE(fifo_test)

using namespace colock::test;

namespace {

/// A waiter, which later becomes a holder.
struct waiter {
    std::uint64_t client;
    std::uint64_t place;

    [[nodiscard]] std::string token() const {
        return token_of(std::to_string(client) + 'c' + std::to_string(place));
    }
};

/// Sends the steps of the waiters of "k" and returns the votes.
struct scene : subject {
    using subject::subject;

    const colock::kinds::lock_kind& lock = colock::kinds::fifo;
    std::uint16_t place_ttl = 60'000;

    std::string ask(const step_of_kind& what, const waiter& who, std::uint64_t value = 0) {
        const bool is_of_queue = what.step == step::join || what.step == step::leave;
        const vote answer = subject::ask(what.at_place(who.client, who.place, place_ttl),
                                         is_of_queue ? "" : who.token(), 10min, value);
        std::string text = to_text(answer);
        if (answer.kind == vote_kind::granted && is_of_queue) {
            text += " " + std::to_string(answer.value);
        }
        return text;
    }
    std::string attempt(const waiter& who) { return ask({step::acquire, lock}, who); }
    /// Returns the fence of an attempt, or 0 if it was denied.
    std::uint64_t fence_of(const waiter& who) {
        const step_of_kind acquire{step::acquire, colock::kinds::fenced_fifo};
        const vote answer =
            subject::ask(acquire.at_place(who.client, who.place, place_ttl), who.token());
        return answer.kind == vote_kind::granted ? answer.value : 0;
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

    /// Expects that the holder gets the lock, and that it is then denied to the waiters, in this order.
    void begin(const waiter& holder, std::initializer_list<waiter> waiters) {
        BOOST_TEST(attempt(holder) == "granted");
        for (const waiter& one : waiters) {
            BOOST_TEST(attempt(one) == "denied: another");
        }
    }

    /// Expects that each waiter gets the lock, in this order, and that there is no queue afterwards.
    void end(std::initializer_list<waiter> waiters) {
        for (const waiter& one : waiters) {
            BOOST_TEST(attempt(one) == "granted");
            BOOST_TEST(release(one) == "granted");
        }
        expect_no_queue();
    }

    /// The waiter bob is first, and keeps asking. Behind it are 600 waiters of dead clients.
    void begin_with_many_dead();

    /// Simulates the death of that client.
    void forget_client(std::uint64_t client) {
        rig.submit(step::release, ticket_of(client), "");
        rig.run_until_voted();
        BOOST_TEST(!has(ticket_of(client)));
    }

    [[nodiscard]] bool has(const std::string& key) {
        return !colock::core::is_absent(rig.ask(step::remaining, key));
    }

    /// Expects no holder and no waiters. The ticket of a client may remain until its ttl ends.
    void expect_no_queue() {
        BOOST_TEST(!has("k"));
        BOOST_TEST(!has(colock::kinds::waiters_key("k")));
    }

    void wait_for(std::chrono::milliseconds time) {
        const auto end = std::chrono::steady_clock::now() + time;
        rig.run_until([&] { return std::chrono::steady_clock::now() >= end; });
    }

    static std::string ticket_of(std::uint64_t client) {
        return colock::kinds::waiters_ticket_prefix("k") + std::to_string(client);
    }
};

constexpr waiter ann{1, 1};
constexpr waiter bob{2, 1};
constexpr waiter bob_too{2, 2};
constexpr waiter cid{3, 1};

void scene::begin_with_many_dead() {
    place_ttl = 2000;
    BOOST_TEST(enter(bob) == "granted 1");
    constexpr std::uint64_t last = 700;
    for (std::uint64_t client = 101; client <= last; ++client) {
        enter({client, 1});
    }
    while (has(ticket_of(last))) {
        BOOST_TEST(stay(bob) == "granted 0");
    }
}

}  // namespace

BOOST_DATA_TEST_CASE(a_lock_is_granted_in_the_order_of_the_attempts, all_kinds) {
    scene s(sample);
    s.begin(ann, {bob, cid});
    BOOST_TEST(s.stay(bob) == "granted 0");
    BOOST_TEST(s.stay(cid) == "granted 2");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.attempt(ann) == "denied: another");  // It is the last waiter now.
    BOOST_TEST(s.attempt(bob) == "granted");
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.stay(ann) == "granted 3");
    BOOST_TEST(s.release(bob) == "granted");
    s.end({cid, ann});
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
    BOOST_TEST(s.try_once(bob) == "denied: another");  // The waiter cid is alive.
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    s.forget_client(cid.client);
    BOOST_TEST(s.try_once(bob) == "granted");
    BOOST_TEST(s.release(bob) == "granted");
    s.expect_no_queue();
}

BOOST_TEST_DECORATOR(*label("fault-56"))
BOOST_DATA_TEST_CASE(dead_clients_are_skipped, all_kinds) {
    scene s(sample);
    s.begin(ann, {bob});
    BOOST_TEST(s.enter(bob_too) == "granted 1");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.stay(cid) == "granted 2");
    s.forget_client(bob.client);
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.stay(bob, 2) == "denied: nobody");  // Some of its places are missing.
    BOOST_TEST(s.release(ann) == "granted");
    s.end({cid});
}

/// Any place may have been skipped while its client had no ticket. The next waiter of the client that enters
/// creates the ticket again.
BOOST_DATA_TEST_CASE(a_client_without_a_ticket_enters_again, all_kinds) {
    scene s(sample);
    s.begin(ann, {bob});
    s.forget_client(bob.client);
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    BOOST_TEST(s.enter(bob) == "granted 0");
    BOOST_TEST(s.stay(bob) == "granted 0");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    s.forget_client(bob.client);
    BOOST_TEST(s.attempt(bob) == "denied: another");  // This also creates the ticket again.
    BOOST_TEST(s.stay(cid) == "granted 2");
}

/// A waiter that has lost its place enters again behind other clients. A later waiter of its own client may
/// be first at that time. The two clients must not wait for each other then.
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
    BOOST_TEST(s.stay(bob_too) == "granted 0");  // It keeps its place.
}

/// The leave of the first waiter was lost. The next waiter of its client does not take over that place.
BOOST_DATA_TEST_CASE(a_place_that_was_left_behind_is_nobodys, all_kinds) {
    scene s(sample);
    s.begin(ann, {bob, cid, bob_too});
    BOOST_TEST(s.stay(bob_too) == "granted 3");
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.attempt(bob_too) == "denied: another");
    s.end({cid, bob_too});
}

/// The locks of one client may have different heartbeat intervals.
BOOST_DATA_TEST_CASE(no_ticket_ends_earlier_by_another_lock, all_kinds) {
    scene s(sample);
    s.begin(ann, {bob});
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
    s.begin(ann, {bob, cid});
    BOOST_TEST(s.leave(bob) == "granted 0");
    BOOST_TEST(s.leave(bob) == "granted 0");  // A repeated leave.
    BOOST_TEST(s.stay(cid) == "granted 0");
    BOOST_TEST(s.release(ann) == "granted");
    s.end({cid});
}

/// A client may hand off a lease to a waiter directly behind another of its own waiters. It may also hand it
/// off to a waiter that is first in the queue.
BOOST_DATA_TEST_CASE(a_waiter_that_enters_is_told_who_of_its_client_is_before_it, all_kinds) {
    scene s(sample);
    BOOST_TEST(s.attempt(ann) == "granted");
    BOOST_TEST(s.enter(bob_too) == "granted 2");  // No waiter is before it: its own number.
    BOOST_TEST(s.enter({bob.client, 3}) == "granted 2");
    BOOST_TEST(s.enter(cid) == "granted 0");  // Another client.
    BOOST_TEST(s.enter({bob.client, 4}) == "granted 0");
    BOOST_TEST(s.enter({bob.client, 5}) == "granted 4");
    BOOST_TEST(s.enter({bob.client, 5}) == "granted 0");  // It was in the queue already.
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
    s.begin(ann, {bob});
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.ask(step_of_kind(step::acquire, s.lock).healing(), ann) == "granted");
    BOOST_TEST(s.attempt(bob) == "denied: another");
}

/// The tickets end with their clients. The queue ends soon after the last command.
BOOST_TEST_DECORATOR(*label("fault-57"))
BOOST_DATA_TEST_CASE(places_end_with_their_ttl, all_kinds) {
    scene s(sample);
    s.place_ttl = 200;
    s.begin(ann, {bob});
    BOOST_TEST(s.release(ann) == "granted");
    s.rig.run_until([&] { return !s.has(scene::ticket_of(bob.client)); });
    const vote left = s.rig.ask(step::remaining, colock::kinds::waiters_key("k"));
    BOOST_TEST((left.remaining > 0ms && left.remaining <= 1min));
}

/// No command has arrived for longer than a ticket lives. The server may have stood still, so bob could not renew
/// its ticket.
BOOST_TEST_DECORATOR(*label("fault-115"))
BOOST_DATA_TEST_CASE(after_a_standstill_nobody_is_dead_for_one_ticket, all_kinds) {
    scene s(sample);
    s.place_ttl = 500;
    s.begin(ann, {bob});
    s.wait_for(700ms);
    BOOST_TEST(s.release(ann) == "granted");
    BOOST_TEST(s.try_once(cid) == "denied: another");
    BOOST_TEST(s.attempt(cid) == "denied: another");
    BOOST_TEST(s.stay(cid) == "granted 2");
    BOOST_TEST(s.stay(bob) == "denied: nobody");
    BOOST_TEST(s.enter(bob) == "granted 0");
    s.end({bob, cid});
}

BOOST_TEST_DECORATOR(*label("fault-115"))
BOOST_DATA_TEST_CASE(the_dead_are_skipped_one_ticket_after_a_standstill, all_kinds) {
    scene s(sample);
    s.place_ttl = 200;
    s.begin(ann, {bob});
    s.wait_for(400ms);
    BOOST_TEST(s.release(ann) == "granted");
    s.rig.run_until([&] { return s.try_once(cid) == "granted"; });
    BOOST_TEST(s.release(cid) == "granted");
    s.expect_no_queue();
}

/// If nobody else asks, the silence between two tries looks like a standstill. That must end.
BOOST_TEST_DECORATOR(*label("fault-115"))
BOOST_DATA_TEST_CASE(rare_tries_are_denied_a_few_times_because_of_the_dead, all_kinds) {
    scene s(sample);
    s.place_ttl = 200;
    s.begin(ann, {bob});
    BOOST_TEST(s.release(ann) == "granted");
    for (int i = 0; i != 3; ++i) {
        s.wait_for(400ms);
        BOOST_TEST(s.try_once(cid) == "denied: another");
    }
    s.wait_for(400ms);
    BOOST_TEST(s.try_once(cid) == "granted");
}

/// The longer walk of a single command would block the server.
BOOST_TEST_DECORATOR(*label("fault-136"))
BOOST_DATA_TEST_CASE(one_command_skips_a_limited_number_of_dead_waiters, all_kinds) {
    for (const bool is_attempt : {true, false}) {
        scene s(sample);
        s.begin_with_many_dead();
        int unfinished = 0;
        if (is_attempt) {
            BOOST_TEST(s.leave(bob) == "granted 0");
            s.rig.run_until([&] { return s.try_once(ann) == "granted" || ++unfinished == 100; });
            BOOST_TEST(s.release(ann) == "granted");
            s.expect_no_queue();
        } else {
            BOOST_TEST(s.enter(cid) == "granted 0");
            s.rig.run_until([&] { return s.stay(cid) == "granted 2" || ++unfinished == 100; });
        }
        BOOST_TEST((unfinished >= 2 && unfinished < 100), unfinished);
    }
}

BOOST_AUTO_TEST_SUITE_END()
