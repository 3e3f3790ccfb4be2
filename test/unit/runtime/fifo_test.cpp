// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Locks with a binding order, in virtual time: whole clients on one server.

#include "kinds/fifo/fifo.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

namespace {

constexpr core::duration refresh = 250ms;
constexpr core::duration ticket_ttl = 4 * refresh;

runtime::lock_policy policy_of(const client& by, const kinds::lock_kind& kind = kinds::fifo) {
    runtime::lock_policy policy = by.usual_policy();
    policy.set_kind(kind);
    policy.place_refresh = refresh;
    return policy;
}

acquire begin(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", policy_of(by), deadline);
}
acquire attempt(client& by) {
    return begin(by, core::time_point::min());
}

/// A server that notifies of changes, its queue of waiters, and three clients.
struct scene : one_server {
    scene() { tell_changes(); }

    /// Acquires the free lock.
    acquire hold(client& by) { return granted(begin(by)); }
    /// Begins an acquire, which reaches the server.
    acquire arrive(client& by) {
        acquire one = begin(by);
        world().run_for(1ms);
        return one;
    }
    std::size_t waiting() {
        auto* const found = server(0).keys.find(kinds::waiters_key("a"), world().now());
        return found != nullptr ? found->as<kinds::waiters>()->members.size() : 0;
    }
    std::size_t waiting_of(client& one) {
        auto* const found = server(0).keys.find(kinds::waiters_key("a"), world().now());
        const std::uint64_t number = one.engine().parts().client_number;
        return found == nullptr ? 0
                                : static_cast<std::size_t>(
                                      std::ranges::count(found->as<kinds::waiters>()->members,
                                                         number, &kinds::waiters::member::client));
    }
    /// Expects no waiters after a round trip. All keys must disappear soon, and no client may send anything.
    void expect_nothing_left() {
        world().run_for(2 * server(0).latency + 1ms);
        BOOST_TEST(waiting() == 0U);
        world().run_for(2 * ticket_ttl);
        BOOST_TEST(server(0).keys.find(kinds::waiters_key("a"), world().now()) == nullptr);
        const std::size_t before = executed();
        world().run_for(10s);
        BOOST_TEST(executed() == before);
    }
    /// Releases the lock of the last holder.
    void expect_end(const acquire& last) {
        last->let_go();
        expect_nothing_left();
    }
};

/// Acquires that are each released some time after their grant.
class queue_of_holders {
public:
    queue_of_holders(scene& in, core::duration hold) : in_(in), hold_(hold) {}

    /// The interval between heartbeats.
    core::duration place_refresh = refresh;

    /// Returns the number of the waiter.
    std::size_t add(client& by, const kinds::lock_kind& kind = kinds::fifo) {
        const std::size_t number = all_.size();
        runtime::lock_policy policy = policy_of(by, kind);
        policy.place_refresh = place_refresh;
        all_.push_back(by.acquire("a", policy));
        watch(all_.back(), number);
        return number;
    }
    /// Adds a waiter that reaches the server before the next one.
    void arrive(client& by, const kinds::lock_kind& kind = kinds::fifo) {
        add(by, kind);
        in_.world().run_for(1ms);
    }
    void expect_granted_in_order(core::duration at_most = 30s) {
        BOOST_TEST_REQUIRE(
            in_.world().run_until([&] { return granted_.size() == all_.size(); }, at_most));
        BOOST_TEST(std::ranges::is_sorted(granted_));
    }
    [[nodiscard]] const acquire& at(std::size_t number) const { return all_[number]; }
    [[nodiscard]] const std::vector<std::size_t>& granted() const noexcept { return granted_; }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

private:
    void watch(const acquire& one, std::size_t number) {
        one->on_finished = [this, weak = std::weak_ptr(one), number] {
            const acquire finished = weak.lock();
            if (finished->granted()) {
                granted_.push_back(number);
                in_.world().after(hold_, [finished] { finished->let_go(); });
            }
        };
    }

    scene& in_;
    core::duration hold_;
    std::vector<acquire> all_;
    std::vector<std::size_t> granted_;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(locks_whose_order_binds, scene)

BOOST_AUTO_TEST_CASE(a_free_lock_takes_one_round_trip) {
    for (const kinds::lock_kind* const kind : {&kinds::fifo, &kinds::fenced_fifo}) {
        scene in;
        const core::time_point asked = in.world().now();
        const acquire lock = in.granted(in.ann->acquire("a", policy_of(*in.ann, *kind)));
        BOOST_TEST((in.world().now() - asked <= 3 * in.server(0).latency));
        BOOST_TEST(in.executed() == 1U);
        BOOST_TEST((lock->fence_number != 0) == (kind == &kinds::fenced_fifo));
        in.expect_end(lock);
    }
}

BOOST_AUTO_TEST_CASE(waiters_of_all_clients_are_granted_in_the_order_of_arrival) {
    std::vector<std::unique_ptr<client>> clients;
    for (int i = 0; i != 5; ++i) {
        clients.push_back(make_client());
    }
    queue_of_holders queue(*this, 7ms);
    std::mt19937 random(1);
    for (int i = 0; i != 60; ++i) {
        queue.arrive(*clients[random() % clients.size()]);
    }
    queue.expect_granted_in_order();
    expect_nothing_left();
}

/// No other client can wait between them. The lease is therefore handed off without a round trip.
BOOST_AUTO_TEST_CASE(waiters_of_one_client_are_handed_the_lease) {
    for (const kinds::lock_kind* const kind : {&kinds::fifo, &kinds::fenced_fifo}) {
        scene in;
        acquire holder = in.ann->acquire("a", policy_of(*in.ann, *kind));
        in.granted(holder);
        std::vector<acquire> waiters;
        for (int i = 0; i != 5; ++i) {
            waiters.push_back(in.ann->acquire("a", policy_of(*in.ann, *kind)));
        }
        in.world().run_for(10ms);
        for (const acquire& next : waiters) {
            holder->let_go();
            in.granted(next, 5ms);
            BOOST_TEST(next->lease->token() == holder->lease->token());
            BOOST_TEST((kind == &kinds::fifo) == (next->fence_number == holder->fence_number));
            holder = next;
        }
        BOOST_TEST(in.ann->engine().parts().counts.handed_off == 5U);
        in.expect_end(holder);
    }
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_past_another_client, *label("fault-57")) {
    queue_of_holders queue(*this, 7ms);
    for (const auto& by : {ann.get(), ann.get(), bob.get(), ann.get(), ann.get()}) {
        queue.arrive(*by);
    }
    queue.expect_granted_in_order();
    BOOST_TEST(ann->engine().parts().counts.handed_off == 2U);
    expect_nothing_left();
}

/// The next waiter in the queue is now behind the other client.
BOOST_AUTO_TEST_CASE(a_waiter_that_leaves_lets_nobody_past_another_client, *label("fault-58")) {
    const acquire holder = hold(*ann);
    const acquire bobs = arrive(*bob);
    const acquire leaving = begin(*ann);
    const acquire last = arrive(*ann);
    leaving->cancel();
    world().run_for(1ms);
    holder->let_go();
    granted(bobs, 10ms);
    BOOST_TEST(!last->is_finished);
    bobs->let_go();
    granted(last, 10ms);
    expect_end(last);
}

/// The waiter behind a cancelled one is now directly behind the holder.
BOOST_AUTO_TEST_CASE(a_waiter_that_leaves_keeps_nobody_from_a_hand_off) {
    const acquire holder = hold(*ann);
    const acquire leaving = begin(*ann);
    const acquire next = arrive(*ann);
    leaving->cancel();
    world().run_for(1ms);
    holder->let_go();
    granted(next, 1us);
    expect_end(next);
}

/// The command of the first waiter is lost, so only the second is in the queue. It keeps its place when the
/// first has its turn.
BOOST_AUTO_TEST_CASE(a_lost_command_changes_no_order) {
    server(0).is_silent = true;
    const acquire first = arrive(*ann);
    server(0).is_silent = false;
    const acquire second = arrive(*ann);
    const acquire bobs = begin(*bob);
    granted(first, 1s);
    first->let_go();
    granted(second, 10ms);
    BOOST_TEST(!bobs->is_finished);
    second->let_go();
    granted(bobs, 10ms);
    expect_end(bobs);
}

/// Locks without an order are handed off too. Such a hand-off is not a turn in the queue.
BOOST_AUTO_TEST_CASE(a_hand_off_without_order_is_no_turn) {
    acquire plain = ann->lock("a");
    const acquire next_plain = ann->acquire("a");
    const acquire first = arrive(*ann);
    const acquire bobs = arrive(*bob);
    const acquire second = arrive(*ann);
    plain->let_go();
    granted(next_plain, 1ms);
    next_plain->let_go();
    granted(first, 20ms);
    first->let_go();
    granted(bobs, 10ms);
    BOOST_TEST(!second->is_finished);
    bobs->let_go();
    granted(second, 10ms);
    expect_end(second);
}

/// After a release, the next waiter needs a notification and an attempt.
BOOST_AUTO_TEST_CASE(the_next_client_has_the_lock_a_round_trip_after_it_was_told) {
    const acquire holder = hold(*ann);
    const acquire next = begin(*bob);
    world().run_for(3s);
    holder->let_go();
    const core::time_point released = world().now();
    granted(next);
    BOOST_TEST((world().now() - released <= 5 * server(0).latency));
}

BOOST_AUTO_TEST_CASE(a_try_does_not_go_past_a_live_waiter, *label("fault-58")) {
    server(0).latency = 10ms;
    const acquire holder = hold(*ann);
    const acquire next = begin(*bob);
    world().run_for(100ms);
    holder->let_go();
    // The release arrives before the try, and the try before the attempt of the waiter.
    world().run_for(5ms);
    const acquire tried = attempt(*cyd);
    finish(tried);
    BOOST_TEST((tried->outcome == acquire_outcome::contended));
    granted(next, 1s);
    BOOST_TEST(waiting() == 0U);  // The try has left no place.
}

BOOST_AUTO_TEST_CASE(the_releasing_client_queues_behind_others) {
    queue_of_holders queue(*this, 5ms);
    queue.arrive(*ann);
    queue.arrive(*bob);
    queue.add(*ann);  // Its client releases the lock, and would be the fastest.
    queue.expect_granted_in_order();
}

// Fault 56: any number of dead waiters costs the ttl of one ticket, not one ttl each.
BOOST_AUTO_TEST_CASE(dead_waiters_are_skipped_within_one_ttl, *label("fault-56")) {
    const acquire holder = hold(*ann);
    std::vector<std::unique_ptr<client>> dying;
    for (int i = 0; i != 10; ++i) {
        dying.push_back(make_client());
        for (int j = 0; j != 3; ++j) {
            begin(*dying.back());
        }
        world().run_for(10ms);
    }
    const acquire next = begin(*bob);
    world().run_for(5s);
    dying.clear();
    holder->let_go();
    const core::time_point died = world().now();
    granted(next);
    BOOST_TEST((world().now() - died <= ticket_ttl + 10ms));
    expect_end(next);
}

// Fault 56: the waiters die one after the other, each when it is next.
BOOST_AUTO_TEST_CASE(the_death_of_a_waiter_in_the_middle_is_no_stall, *label("fault-56")) {
    const acquire holder = hold(*ann);
    std::vector<std::unique_ptr<client>> dying;
    for (int i = 0; i != 5; ++i) {
        dying.push_back(make_client());
        begin(*dying.back());
        world().run_for(10ms);
    }
    const acquire next = begin(*bob);
    for (auto& each : dying) {
        world().run_for(300ms);
        each.reset();
    }
    holder->let_go();
    const core::time_point died = world().now();
    granted(next);
    BOOST_TEST((world().now() - died <= ticket_ttl + 10ms));
}

// Fault 57: a place depends only on the heartbeats of its own client. The number of earlier waiters and the
// time for which they hold the lock do not matter.
BOOST_AUTO_TEST_CASE(a_long_wait_keeps_its_place, *label("fault-57")) {
    queue_of_holders queue(*this, 1h);
    queue.arrive(*ann);
    queue.arrive(*bob);
    queue.add(*cyd);
    queue.expect_granted_in_order(3h);
    const auto late = make_client();
    queue.add(*late);
    world().run_for(1s);
    BOOST_TEST(waiting() == 1U);
}

// Fault 58: the turn passes to the next waiter immediately.
BOOST_AUTO_TEST_CASE(a_cancelled_waiter_leaves_at_once, *label("fault-58")) {
    for (const bool is_released_first : {false, true}) {
        scene in;
        in.server(0).latency = 10ms;
        const acquire holder = in.hold(*in.ann);
        const acquire head = in.arrive(*in.bob);
        const acquire next = begin(*in.cyd);
        in.world().run_for(3s);
        if (is_released_first) {
            holder->let_go();
            in.world().run_for(25ms);  // The head has been notified, and attempts.
            head->cancel();
        } else {
            head->cancel();
            in.world().run_for(25ms);
            BOOST_TEST(in.waiting() == 1U);
            holder->let_go();
        }
        in.granted(next, 150ms);
        BOOST_TEST((head->outcome == acquire_outcome::cancelled));
        in.expect_end(next);
    }
}

BOOST_AUTO_TEST_CASE(a_waiter_that_times_out_leaves_at_once, *label("fault-58")) {
    const acquire holder = hold(*ann);
    const acquire timed = begin(*bob, world().now() + 100ms);
    const acquire behind = begin(*bob, world().now() + 100ms);
    world().run_for(50ms);
    BOOST_TEST(waiting() == 2U);
    world().run_for(60ms);
    BOOST_TEST(timed->is_finished);
    BOOST_TEST(behind->is_finished);
    BOOST_TEST((timed->outcome == acquire_outcome::contended));
    BOOST_TEST(waiting() == 0U);
    expect_end(holder);
}

/// The second waiter inherits the place of the first only if no other client is between them.
BOOST_AUTO_TEST_CASE(a_cancelled_waiter_leaves_its_place_to_nobody) {
    const acquire holder = hold(*ann);
    queue_of_holders queue(*this, 5ms);
    queue.arrive(*bob);
    queue.arrive(*cyd);
    queue.arrive(*bob);
    queue.at(0)->cancel();
    holder->let_go();
    BOOST_TEST_REQUIRE(world().run_until([&] { return queue.granted().size() == 2; }));
    BOOST_TEST(queue.granted().front() == 1U);
}

// Fault 59: a release at any moment is detected immediately.
BOOST_AUTO_TEST_CASE(a_release_at_any_moment_is_noticed, *label("fault-59")) {
    for (int step = 0; step != 100; ++step) {
        scene in;
        in.server(0).latency = 1ms;
        const acquire holder = in.hold(*in.ann);
        const acquire head = begin(*in.bob);
        in.world().run_for(step * 100us);
        const acquire next = begin(*in.cyd);
        in.world().run_for((100 - step) * 100us);
        holder->let_go();
        in.granted(head, 20ms);
        in.world().run_for(step * 100us);
        head->let_go();
        in.granted(next, 20ms);
    }
}

/// The client ahead leaves at any moment.
BOOST_AUTO_TEST_CASE(a_leave_at_any_moment_is_noticed, *label("fault-59")) {
    for (int step = 0; step != 100; ++step) {
        scene in;
        in.server(0).latency = 1ms;
        const acquire holder = in.hold(*in.ann);
        const acquire head = begin(*in.bob);
        in.world().run_for(5ms);
        const acquire next = begin(*in.cyd);
        in.world().run_for(step * 100us);
        head->cancel();
        in.world().run_for((100 - step) * 100us);
        holder->let_go();
        in.granted(next, 20ms);
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_forgets_everything_gets_the_places_again) {
    const acquire holder = hold(*ann);
    queue_of_holders queue(*this, 5ms);
    for (int i = 0; i != 3; ++i) {
        queue.add(*bob);
        queue.arrive(*cyd);
    }
    server(0).keys.clear();
    holder->let_go();
    world().run_for(ticket_ttl);
    BOOST_TEST_REQUIRE(world().run_until([&] { return queue.granted().size() == 6; }));
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_tell_is_polled_in_order) {
    tell_changes(false);
    queue_of_holders queue(*this, 5ms);
    for (int i = 0; i != 10; ++i) {
        queue.arrive(i % 3 == 0 ? *ann : *bob);
    }
    queue.expect_granted_in_order(60s);
    expect_nothing_left();
}

BOOST_AUTO_TEST_CASE(a_server_that_is_away_for_a_while_costs_no_waiter) {
    const acquire holder = hold(*ann);
    const acquire next = begin(*bob);
    world().run_for(100ms);
    server(0).is_up = false;
    world().run_for(300ms);
    ann->reach(0);
    bob->reach(0);
    world().run_for(100ms);
    holder->let_go();
    granted(next, 1s);
}

BOOST_AUTO_TEST_CASE(a_client_that_closes_leaves) {
    const acquire holder = hold(*ann);
    const acquire first = begin(*bob);
    const acquire second = begin(*bob);
    world().run_for(100ms);
    BOOST_TEST(waiting() == 2U);
    const auto closed = bob->close();
    world().run_for(10ms);
    BOOST_TEST((first->outcome == acquire_outcome::closed));
    BOOST_TEST((second->outcome == acquire_outcome::closed));
    BOOST_TEST(waiting() == 0U);
}

/// A lock without an order on the same name is acquired as soon as it is free. No waiter is lost by that.
BOOST_AUTO_TEST_CASE(locks_without_order_may_wait_beside) {
    queue_of_holders queue(*this, 5ms);
    for (int i = 0; i != 20; ++i) {
        queue.arrive(i % 2 == 0 ? *ann : *bob, i % 3 == 0 ? kinds::exclusive : kinds::fifo);
    }
    BOOST_TEST_REQUIRE(world().run_until([&] { return queue.granted().size() == queue.size(); }));
    std::vector<std::size_t> ordered;
    std::ranges::copy_if(queue.granted(), std::back_inserter(ordered),
                         [](std::size_t number) { return number % 3 != 0; });
    BOOST_TEST(std::ranges::is_sorted(ordered));
}

/// Random arrivals, cancellations and deaths. The remaining waiters are granted in the order of arrival.
BOOST_AUTO_TEST_CASE(whatever_others_do_the_order_stays, *label("fault-56")) {
    for (unsigned seed = 1; seed != 200; ++seed) {
        scene in;
        // A reply may take longer than the pause of a waiter before its next attempt.
        constexpr std::array<core::duration, 3> latencies{300us, 5ms, 40ms};
        const bool is_quick = seed % 4 == 1;
        in.server(0).latency = is_quick ? latencies[0] : latencies.at(seed % latencies.size());
        std::mt19937 random(seed);
        std::vector<std::unique_ptr<client>> clients;
        for (int i = 0; i != 6; ++i) {
            clients.push_back(in.make_client());
        }
        queue_of_holders queue(in, 4ms);
        queue.place_refresh = is_quick ? 3ms : refresh;
        std::vector<std::size_t> of;  // The client of each waiter.
        for (int i = 0; i != 40; ++i) {
            const std::size_t who = random() % clients.size();
            if (clients[who] != nullptr) {
                of.push_back(who);
                queue.add(*clients[who]);
            }
            in.world().run_for(std::chrono::microseconds(500 + random() % 4000));
            const auto what = random() % 20;
            if (what == 0) {
                clients[random() % (clients.size() - 1)].reset();  // The last client survives.
            } else if (what < 5 && queue.size() != 0) {
                const std::size_t drawn = random() % queue.size();
                const acquire& one = queue.at(drawn);
                if (!one->is_finished && clients[of[drawn]] != nullptr) {
                    one->cancel();
                }
            }
        }
        const auto all_done = [&] {
            for (std::size_t i = 0; i != queue.size(); ++i) {
                if (clients[of[i]] != nullptr && !queue.at(i)->is_finished) {
                    return false;
                }
            }
            return true;
        };
        BOOST_TEST_CONTEXT("seed " << seed) {
            BOOST_TEST_REQUIRE(in.world().run_until(all_done, 60s));
            BOOST_TEST(std::ranges::is_sorted(queue.granted()));
            in.world().run_for(2 * in.server(0).latency + 1ms);
            for (const auto& one : clients) {
                BOOST_TEST((one == nullptr || in.waiting_of(*one) == 0U));
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
