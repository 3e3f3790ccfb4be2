// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The clients that wait for one key in the queue of an instance, in virtual time.

#include <boost/test/unit_test.hpp>

#include "../virtual_world.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

BOOST_AUTO_TEST_SUITE(remote_queue)

namespace {

/// Clients of three servers that support remote queues.
struct crowd {
    explicit crowd(std::size_t size, std::size_t servers = 3) : deployment(servers) {
        deployment.tell_changes();
        for (std::size_t i = 0; i != size; ++i) {
            clients.push_back(deployment.make_client());
        }
    }

    virtual_world& world() { return deployment.world(); }

    /// Returns one waiter of each client except the first, in order.
    std::vector<acquire> queue_up(const std::string& key) {
        std::vector<acquire> result;
        for (std::size_t i = 1; i != clients.size(); ++i) {
            result.push_back(clients[i]->acquire(key));
            world().run_for(2ms);
        }
        world().run_for(500ms);
        return result;
    }

    virtual_deployment deployment;
    std::vector<std::unique_ptr<client>> clients;
};

/// Returns the release counters of a client.
std::pair<std::uint64_t, std::uint64_t> releases(client& of) {
    const auto& counts = of.engine().parts().counts;
    return {counts.released, counts.releasing};
}

}  // namespace

BOOST_AUTO_TEST_CASE(clients_acquire_in_order_of_arrival) {
    crowd all(6);
    auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    for (const auto& waiter : waiters) {
        const core::time_point released = all.world().now();
        holder->let_go();
        BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiter->is_finished; }));
        BOOST_TEST(waiter->granted());
        BOOST_TEST((waiter->finished_at - released < 1ms));  // It was notified.
        holder = waiter;
        all.world().run_for(10ms);
    }
}

// A release wakes only the first waiter, and no waiter polls.
BOOST_AUTO_TEST_CASE(remote_waiters_send_few_commands) {
    crowd all(11);
    const auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    const std::size_t before = all.deployment.executed();
    all.world().run_for(1s);
    // Each waiter refreshes its ticket at one server four times a second. The holder renews now and then.
    BOOST_TEST(all.deployment.executed() - before <= 10 * 10 + 6U);
    const std::size_t waiting = all.deployment.executed();
    holder->let_go();
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiters[0]->is_finished; }));
    BOOST_TEST(all.deployment.executed() - waiting < 30U);
}

// The head of the queue dies, and so do several waiters behind it. The next live waiter enters after the ttl
// of one ticket.
BOOST_AUTO_TEST_CASE(dead_waiters_are_skipped) {
    crowd all(7);
    const auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    for (std::size_t i = 1; i != 5; ++i) {
        all.clients[i].reset();
    }
    const core::time_point released = all.world().now();
    holder->let_go();
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiters[4]->is_finished; }));
    BOOST_TEST(waiters[4]->granted());
    BOOST_TEST((waiters[4]->finished_at - released < 1500ms));
    BOOST_TEST(!waiters[5]->is_finished);
}

BOOST_AUTO_TEST_CASE(the_next_client_acquires_when_the_head_gives_up) {
    crowd all(4);
    const auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    holder->let_go();
    all.world().run_for(50us);  // The notification of the first waiter is on its way.
    waiters[0]->cancel();
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiters[1]->is_finished; }, 100ms));
    BOOST_TEST(waiters[1]->granted());
    BOOST_TEST((waiters[0]->outcome == acquire_outcome::cancelled));
}

// The queue is only a hint. Without the queue server, waiters poll.
BOOST_AUTO_TEST_CASE(waiters_acquire_after_the_queue_server_has_failed) {
    crowd all(3);
    const auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    std::size_t keeper = 3;
    for (std::size_t i = 0; i != 3; ++i) {
        if (!all.deployment.server(i).asked.empty()) {
            keeper = i;
        }
    }
    BOOST_TEST_REQUIRE(keeper != 3U);
    all.deployment.server(keeper).is_up = false;
    for (const auto& client : all.clients) {
        client->engine().observer().on_state_change(keeper);
    }
    holder->let_go();
    BOOST_TEST_REQUIRE(all.world().run_until(
        [&] { return waiters[0]->is_finished || waiters[1]->is_finished; }, 600ms));
    const auto& winner = waiters[0]->granted() ? waiters[0] : waiters[1];
    const auto& other = waiters[0]->granted() ? waiters[1] : waiters[0];
    BOOST_TEST(winner->granted());
    winner->let_go();
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return other->is_finished; }, 600ms));
    BOOST_TEST(other->granted());
}

// A queue server that accepts commands without a reply does not delay a waiter for long.
BOOST_AUTO_TEST_CASE(waiters_acquire_although_the_queue_server_is_silent) {
    crowd all(2);
    for (std::size_t i = 0; i != 3; ++i) {
        const auto holder = all.clients[0]->lock("a");
        const auto waiter = all.clients[1]->acquire("a");
        all.world().run_for(500ms);
        all.deployment.server(i).is_silent = true;
        all.world().run_for(1s);
        holder->let_go();
        BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiter->is_finished; }, 1s));
        BOOST_TEST(waiter->granted());
        waiter->let_go();
        all.deployment.server(i).is_silent = false;
        all.world().run_for(20s);
    }
}

/// Fault 88: if the queue server has not replied by the deadline, no other client is known to hold the lock.
BOOST_AUTO_TEST_CASE(a_silent_queue_server_is_reported_as_no_quorum, *label("fault-88")) {
    crowd all(3, 1);
    const auto holder = all.clients[0]->lock("a");
    const auto waiters = all.queue_up("a");
    waiters[1]
        // The queue server reports other waiters, so this client joins immediately the next time.
        ->cancel();
    all.world().run_for(1ms);
    const auto behind =
        all.clients[2]->acquire("a", all.clients[2]->usual_policy(), all.world().now() + 30ms);
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return behind->is_finished; }));
    BOOST_TEST((behind->outcome == acquire_outcome::contended));
    all.world().run_for(1ms);
    all.deployment.server(0).is_silent = true;
    const auto unanswered =
        all.clients[2]->acquire("a", all.clients[2]->usual_policy(), all.world().now() + 30ms);
    BOOST_TEST_REQUIRE(all.world().run_until([&] { return unanswered->is_finished; }));
    BOOST_TEST((unanswered->outcome == acquire_outcome::no_quorum));
    BOOST_TEST(unanswered->text.find("server 0") != std::string::npos, unanswered->text);
}

// A waiter leaves the queue with its release. No key of it remains.
BOOST_AUTO_TEST_CASE(no_queue_keys_remain_after_the_last_release) {
    crowd all(4);
    auto holder = all.clients[0]->lock("a");
    for (const auto& waiter : all.queue_up("a")) {
        holder->let_go();
        BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiter->is_finished; }));
        holder = waiter;
    }
    holder->let_go();
    all.world().run_for(10ms);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(all.deployment.server(i).keys.size() == 0U);
    }
    for (const auto& client : all.clients) {
        client->engine().close();
    }
    BOOST_TEST(all.world().run_until(
        [&] {
            return std::ranges::all_of(all.clients,
                                       [](const auto& c) { return c->engine().closed(); });
        },
        10ms));
}

// The queue is only a hint. No operation waits for the reply to a `leave`, and a leave is not a release.
BOOST_AUTO_TEST_CASE(an_unanswered_leave_does_not_count_as_a_release) {
    enum class end { gives_up, releases, closes };
    for (const end how : {end::gives_up, end::releases, end::closes}) {
        crowd all(2);
        auto& waiting = *all.clients[1];
        const auto holder = all.clients[0]->lock("a");
        const auto waiter = all.queue_up("a").front();
        for (std::size_t i = 0; i != 3; ++i) {
            all.deployment.server(i).loses_leaves = true;
        }
        std::uint64_t released = 0;
        if (how == end::gives_up) {
            waiter->cancel();
        } else if (how == end::releases) {
            holder->let_go();
            BOOST_TEST_REQUIRE(all.world().run_until([&] { return waiter->is_finished; }));
            BOOST_TEST_REQUIRE(waiter->granted());
            waiter->let_go();
            released = 1;  // The lease.
        }
        all.world().run_for(10ms);
        const std::pair<std::uint64_t, std::uint64_t> expected{released, 0};
        BOOST_TEST((releases(waiting) == expected));
        const auto close = waiting.close();
        BOOST_TEST(all.world().run_until([&] { return close->told.has_value(); }, 10ms));
        BOOST_TEST((close->told == virtual_close::outcome_type::closed));
        BOOST_TEST((releases(waiting) == expected));
        std::size_t lost = 0;
        for (std::size_t i = 0; i != 3; ++i) {
            lost += all.deployment.server(i).lost_leaves;
        }
        BOOST_TEST(lost == 1U);
    }
}

// Two clients repeatedly acquire the lock. Neither of them starves.
BOOST_AUTO_TEST_CASE(clients_take_turns) {
    crowd all(2, 1);
    std::size_t visits[2] = {0, 0};
    std::vector<std::function<void()>> again(2);
    std::vector<acquire> current(2);
    for (std::size_t i = 0; i != 2; ++i) {
        again[i] = [&, i] {
            current[i] = all.clients[i]->acquire("a");
            current[i]->on_finished = [&, i] {
                ++visits[i];
                all.world().after(500us, [&, i] {
                    current[i]->let_go();
                    all.world().after(100us, again[i]);
                });
            };
        };
        again[i]();
    }
    all.world().run_for(10s);
    BOOST_TEST(visits[0] + visits[1] > 5000U);
    BOOST_TEST(visits[0] > visits[1] / 2);
    BOOST_TEST(visits[1] > visits[0] / 2);
}

BOOST_AUTO_TEST_SUITE_END()
