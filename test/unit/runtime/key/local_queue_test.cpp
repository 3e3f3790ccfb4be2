// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Which operations may be at a key together, and which have to wait. This test uses no client, no instance
// and no clock.

#include "runtime/key/local_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <list>
#include <random>
#include <vector>

using colock::kinds::admission;
using colock::runtime::local_queue;
using colock::runtime::member_at_key;

BOOST_AUTO_TEST_SUITE(local_queue_alone)

namespace {

const admission exclusive = admission::exclusive();
const admission shared = admission::shared();
const admission counted = admission::counted();

/// A granted operation, whose lease is at the key.
struct held {
    held(local_queue& queue, admission as) : operation(as), lease(as) {
        queue.enter(operation);
        queue.hold(lease);
    }
    member_at_key operation;
    member_at_key lease;
};

/// Puts the first waiter at the key, as `key_queue` does.
member_at_key& begin_next(local_queue& queue) {
    member_at_key& result = queue.front();
    queue.remove(result);
    queue.enter(result);
    return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_unused_queue_admits_anybody) {
    local_queue queue;
    BOOST_TEST(queue.unused());
    BOOST_TEST(queue.empty());
    BOOST_TEST(!queue.is_held());
    BOOST_TEST(!queue.needs_remote_queue());
    BOOST_TEST(!queue.admits_next());
    for (const admission one : {exclusive, shared, counted}) {
        BOOST_TEST(queue.admits(one));
    }
}

BOOST_AUTO_TEST_CASE(one_operation_attempts_at_a_time) {
    local_queue queue;
    member_at_key first(shared);
    queue.enter(first);
    BOOST_TEST(queue.attempting() == &first);
    BOOST_TEST(queue.needs_remote_queue());
    for (const admission one : {exclusive, shared, counted}) {
        BOOST_TEST(!queue.admits(one));
    }
    queue.leave();
    BOOST_TEST(queue.unused());
}

BOOST_AUTO_TEST_CASE(a_lease_admits_what_its_kind_admits) {
    for (const admission holder : {exclusive, shared, counted}) {
        for (const admission newcomer : {exclusive, shared, counted}) {
            local_queue queue;
            held one(queue, holder);
            const bool together = holder == newcomer && holder != exclusive;
            BOOST_TEST(queue.admits(newcomer) == together);
            BOOST_TEST(queue.is_held_against(newcomer) == !together);
            BOOST_TEST((queue.held_as() == holder));
            BOOST_TEST(queue.latest() == &one.lease);
            BOOST_TEST(queue.needs_remote_queue() == (holder == exclusive));
        }
    }
}

BOOST_AUTO_TEST_CASE(waiters_are_served_in_the_order_in_which_they_came) {
    local_queue queue;
    held holder(queue, exclusive);
    std::vector<member_at_key> waiters;
    waiters.reserve(5);
    for (int i = 0; i != 5; ++i) {
        queue.push(waiters.emplace_back(exclusive));
    }
    queue.remove(waiters[2]);
    queue.let_go(holder.lease);
    for (const std::size_t i : {0U, 1U, 3U, 4U}) {
        BOOST_TEST_REQUIRE(queue.admits_next());
        BOOST_TEST(&queue.front() == &waiters[i]);
        BOOST_TEST(&begin_next(queue) == &waiters[i]);
        BOOST_TEST(!waiters[i].is_linked());
        BOOST_TEST(!queue.admits_next());  // It attempts.
        queue.leave();
    }
    BOOST_TEST(queue.unused());
}

BOOST_AUTO_TEST_CASE(a_waiting_writer_stops_the_readers_behind_it) {
    local_queue queue;
    held reader(queue, shared);
    BOOST_TEST(queue.admits(shared));
    member_at_key writer(exclusive);
    queue.push(writer);
    BOOST_TEST(!queue.admits(shared));
    BOOST_TEST(!queue.admits_next());
    member_at_key late(shared);
    queue.push(late);
    BOOST_TEST(queue.has_rival_before(late));
    BOOST_TEST(queue.has_rival_before(writer) ==
               false);  // No operation waits before it, and none attempts.
    queue.remove(writer);
    BOOST_TEST(queue.admits_next());
    BOOST_TEST(!queue.has_rival_before(late));
}

BOOST_AUTO_TEST_CASE(an_operation_that_attempts_is_a_rival_of_what_it_does_not_admit) {
    for (const admission first : {exclusive, shared, counted}) {
        for (const admission second : {exclusive, shared, counted}) {
            local_queue queue;
            member_at_key attempt(first);
            queue.enter(attempt);
            member_at_key waiter(second);
            queue.push(waiter);
            BOOST_TEST(queue.has_rival_before(waiter) == !second.admits(first));
        }
    }
}

BOOST_AUTO_TEST_CASE(several_leases_are_at_a_key_until_the_last_lets_go) {
    local_queue queue;
    std::list<held> holders;
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST_REQUIRE(queue.admits(counted));
        holders.emplace_back(queue, counted);
        BOOST_TEST(queue.latest() == &holders.back().lease);
    }
    queue.let_go(holders.back().lease);
    BOOST_TEST(queue.latest() == nullptr);  // The other leases are older.
    BOOST_TEST(queue.is_held());
    queue.let_go(holders.front().lease);
    BOOST_TEST(queue.is_held_against(exclusive));
    queue.let_go(std::next(holders.begin())->lease);
    BOOST_TEST(queue.unused());
    BOOST_TEST(queue.admits(exclusive));
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_downgraded_admits_readers) {
    class downgraded : public member_at_key {
    public:
        downgraded() : member_at_key(exclusive) {}
        void downgrade() { set_admission(shared); }
    } lease;
    local_queue queue;
    member_at_key operation(exclusive);
    queue.enter(operation);
    queue.hold(lease);
    member_at_key reader(shared);
    queue.push(reader);
    lease.downgrade();
    BOOST_TEST(!queue.admits_next());  // The change was only requested.
    queue.hold_as(lease);
    BOOST_TEST(queue.admits_next());
    BOOST_TEST(!queue.needs_remote_queue());
}

/// Random events, compared with a simple model of the rules.
BOOST_AUTO_TEST_CASE(whatever_happens_the_rules_hold) {
    std::mt19937 dice(1);  // NOLINT(*-msc51-cpp): the same each time
    const admission all[] = {exclusive, shared, counted};
    for (int round = 0; round != 200; ++round) {
        local_queue queue;
        std::list<member_at_key> operations;
        std::list<member_at_key> leases;
        std::vector<member_at_key*> expected;  // The waiters in order.
        for (int step = 0; step != 60; ++step) {
            const auto event = dice() % 4;
            if (event == 0) {
                member_at_key& newcomer = operations.emplace_back(all[dice() % 3]);
                if (queue.admits(newcomer.admission())) {
                    BOOST_TEST(expected.empty());
                    queue.enter(newcomer);
                } else {
                    queue.push(newcomer);
                    expected.push_back(&newcomer);
                }
            } else if (event == 1 && queue.attempting() != nullptr) {
                if (dice() % 2 == 0) {
                    queue.hold(leases.emplace_back(queue.attempting()->admission()));
                } else {
                    queue.leave();
                }
            } else if (event == 2 && !leases.empty()) {
                queue.let_go(leases.front());
                leases.pop_front();
            } else if (event == 3 && queue.admits_next()) {
                BOOST_TEST(&begin_next(queue) == expected.front());
                expected.erase(expected.begin());
            }
            BOOST_TEST(queue.empty() == expected.empty());
            BOOST_TEST(queue.is_held() == !leases.empty());
            for (const member_at_key& one : leases) {
                const bool alone = leases.size() == 1 && queue.attempting() == nullptr;
                BOOST_TEST((alone || one.admission().leaves_room()));
                BOOST_TEST((one.admission() == leases.front().admission()));
                if (queue.attempting() != nullptr) {
                    BOOST_TEST(one.admission().admits(queue.attempting()->admission()));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
