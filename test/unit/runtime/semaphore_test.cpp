// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Semaphores in virtual time: the round trips of an acquire, and the agreement of a quorum on numbers.

#include "kinds/semaphore/semaphore.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/kind.hpp"
#include "virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

struct scene : three_servers {
    scene() { tell_changes(); }

    static acquire take(client& by, std::uint32_t limit, std::uint32_t count = 1,
                        core::time_point deadline = core::never) {
        runtime::lock_policy policy = by.usual_policy();
        policy.set_kind(kinds::semaphore(limit, count));
        return by.acquire("a", policy, deadline);
    }
    acquire taken(client& by, std::uint32_t limit, std::uint32_t count = 1) {
        acquire result = take(by, limit, count);
        granted(result);
        world().run_for(1ms);  // All servers have answered.
        return result;
    }
    /// Returns the number of commands that an acquire and its release take on one server.
    std::size_t cost_of(client& by, std::uint32_t limit) {
        const std::size_t before = server(0).executed;
        taken(by, limit)->let_go();
        world().run_for(1ms);
        return server(0).executed - before;
    }
    /// Returns the number of slots in use on a server.
    std::size_t out_at(std::size_t index) {
        auto* const found = server(index).keys.find("a", world().now());
        return found == nullptr ? 0 : found->as<kinds::permits>()->slots.size();
    }
};

BOOST_FIXTURE_TEST_SUITE(semaphores, scene)

BOOST_AUTO_TEST_CASE(a_free_semaphore_costs_what_a_mutex_costs) {
    for (const std::uint32_t limit : {1U, 16U}) {
        BOOST_TEST(cost_of(*ann, limit) == 2U);
    }
}

/// The first acquire only checks whether the semaphore is free. The client remembers the result.
BOOST_AUTO_TEST_CASE(a_client_remembers_for_a_while_that_others_have_permits) {
    const acquire held = taken(*bob, 16);
    BOOST_TEST(cost_of(*ann, 16) == 3U);
    for (int i = 0; i != 30; ++i) {
        BOOST_TEST(cost_of(*ann, 16) == 2U);
    }
    std::size_t looks = 0;
    for (int i = 0; i != 100; ++i) {
        looks += cost_of(*ann, 16) - 2U;
    }
    BOOST_TEST((looks >= 2U && looks <= 8U), looks);  // Includes one command of a remote queue.
}

BOOST_AUTO_TEST_CASE(all_permits_are_granted_and_no_more) {
    std::vector<acquire> held;
    for (int i = 0; i != 5; ++i) {
        held.push_back(taken(i % 2 == 0 ? *ann : *bob, 5));
    }
    const acquire refused = take(*ann, 5, 1, core::time_point::min());
    finish(refused);
    BOOST_TEST((refused->outcome == acquire_outcome::contended));
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(out_at(i) == 5U);
    }
    for (const acquire& one : held) {
        one->let_go();
    }
    world().run_for(100ms);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(out_at(i) == 0U);
    }
}

/// The commands of the two acquires reach the servers in different orders. They therefore get different
/// numbers at first.
BOOST_AUTO_TEST_CASE(those_that_come_together_agree_on_different_slots) {
    for (const std::uint32_t count : {1U, 2U}) {
        for (std::size_t i = 0; i != 200; ++i) {
            for (std::size_t n = 0; n != 3; ++n) {
                server(n).latency = std::chrono::microseconds(20 + 10 * ((i + n) % 7));
            }
            const acquire first = take(*ann, 2 * count, count);
            world().run_for(std::chrono::microseconds(i % 50));
            const acquire second = take(*bob, 2 * count, count);
            BOOST_TEST_REQUIRE(
                world().run_until([&] { return first->is_finished && second->is_finished; }));
            BOOST_TEST_REQUIRE(first->granted());
            BOOST_TEST_REQUIRE(second->granted());
            world().run_for(2ms);  // Wrong numbers are corrected.
            for (std::size_t n = 0; n != 3; ++n) {
                BOOST_TEST_REQUIRE(out_at(n) == 2 * count);
            }
            first->let_go();
            second->let_go();
            world().run_for(2ms);
        }
    }
}

/// Fault 51: the error comes without a wait.
BOOST_AUTO_TEST_CASE(another_limit_or_kind_fails_at_once, *label("fault-51")) {
    const acquire held = taken(*bob, 5);
    for (const std::uint32_t limit : {2U, 6U}) {
        const acquire refused = take(*ann, limit);
        finish(refused, 10ms);
        BOOST_TEST((refused->outcome == acquire_outcome::wrong_limit));
        BOOST_TEST(refused->text.find("a semaphore of 5 permits") != std::string::npos,
                   refused->text);
    }
    held->let_go();
    world().run_for(10ms);
    runtime::lock_policy policy = bob->usual_policy();
    policy.set_kind(kinds::exclusive);
    const acquire exclusive = bob->acquire("a", policy);
    finish(exclusive);
    const acquire refused = take(*ann, 5);
    finish(refused, 10ms);
    BOOST_TEST((refused->outcome == acquire_outcome::wrong_kind));
    BOOST_TEST(refused->text.find("a mutex") != std::string::npos, refused->text);
    exclusive->let_go();
    world().run_for(10ms);
    taken(*ann, 5)->let_go();
}

/// A minority does not count, because it may have the key of a dead program.
BOOST_AUTO_TEST_CASE(another_limit_at_a_minority_is_no_obstacle, *label("fault-51")) {
    kinds::command left_behind;
    left_behind.kind = &kinds::semaphore(9, 1);
    left_behind.step = core::step::acquire;
    left_behind.key = "a";
    left_behind.token = "permit:9*1:0000000000000000000000000000000000000000";
    left_behind.ttl = 1h;
    server(1).keys.execute(left_behind, world().now());
    const acquire first = taken(*ann, 2);
    const acquire second = taken(*bob, 2);
    BOOST_TEST(out_at(1) == 1U);
    first->let_go();
    second->let_go();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
