// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// More work than the servers can handle, and outages with many waiters, in virtual time.

#include <boost/test/unit_test.hpp>

#include "kinds/exclusive/exclusive.hpp"
#include "kinds/shared/shared.hpp"
#include "virtual_world.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using core::acquire_outcome;

namespace {

/// The time for each command. It is longer than on real servers, so that fewer tasks cause an overload.
constexpr core::duration service_time = 200us;

class busy_servers : public virtual_deployment {
public:
    explicit busy_servers(std::size_t count) : virtual_deployment(count) {
        for (std::size_t i = 0; i != count; ++i) {
            server(i).service = service_time;
        }
    }
};

/// Tasks that repeatedly acquire and release one lock each.
class crowd {
public:
    crowd(virtual_deployment& servers, virtual_deployment::client& client, std::size_t tasks)
        : crowd(servers, client, tasks, client.usual_policy()) {}
    crowd(virtual_deployment& servers, virtual_deployment::client& client, std::size_t tasks,
          const runtime::lock_policy& policy)
        : servers_(servers), client_(client), policy_(policy), tasks_(tasks) {
        for (std::size_t i = 0; i != tasks; ++i) {
            take(i);
        }
    }

    /// Returns the number of cycles that complete in this time.
    std::size_t run_for(core::duration time) {
        const std::size_t before = cycles;
        servers_.world().run_for(time);
        return cycles - before;
    }

    std::size_t cycles = 0;
    std::size_t failed = 0;
    core::duration longest{};

private:
    void take(std::size_t number) {
        const core::time_point asked = servers_.world().now();
        const auto one = client_.acquire("task " + std::to_string(number), policy_);
        tasks_[number] = one;
        one->on_finished = [this, number, asked] {
            const auto done = tasks_[number];
            longest = std::max(longest, done->finished_at - asked);
            if (done->granted()) {
                ++cycles;
                done->let_go();
            } else {
                ++failed;
            }
            servers_.world().after(0ns, [this, number] { take(number); });
        };
    }

    virtual_deployment& servers_;
    virtual_deployment::client& client_;
    runtime::lock_policy policy_;
    std::vector<acquire> tasks_;
};

/// A server that takes 1 ms for each command, and a client that requests this many locks at once.
class slow_server : public virtual_deployment {
public:
    explicit slow_server(std::size_t wanted) : virtual_deployment(1) {
        server(0).service = 1ms;
        acquire(wanted, client->usual_policy());
    }
    void acquire(std::size_t count, const runtime::lock_policy& policy) {
        for (std::size_t i = 0; i != count; ++i) {
            all.push_back(client->acquire("a" + std::to_string(all.size()), policy));
        }
    }
    [[nodiscard]] std::uint64_t waiting() const {
        return client->engine().parts().counts.waiting_to_send;
    }

    const std::unique_ptr<virtual_deployment::client> client = make_client();
    std::vector<std::shared_ptr<virtual_acquire>> all;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(overloads, *label("fault-113"))

/// The goodput does not fall under more load.
BOOST_AUTO_TEST_CASE(throughput_does_not_fall_when_more_tasks_compete) {
    for (const std::size_t servers : {1U, 3U, 5U}) {
        std::size_t of_few = 0;
        for (const std::size_t tasks : {125U, 2'000U}) {
            busy_servers busy(servers);
            const auto client = busy.make_client();
            crowd all(busy, *client, tasks);
            all.run_for(500ms);
            const std::size_t cycles = all.run_for(1s);
            BOOST_TEST_CONTEXT(servers << " servers, " << tasks << " tasks") {
                BOOST_TEST(all.failed == 0U);
                BOOST_TEST(client->engine().parts().counts.lost == 0U);
                if (tasks == 125U) {
                    of_few = cycles;
                } else {
                    BOOST_TEST(static_cast<double>(cycles) > 0.9 * static_cast<double>(of_few));
                    // One cycle is two commands.
                    const auto mean = 2 * service_time * tasks;
                    BOOST_TEST((all.longest < 2 * mean), all.longest.count());
                }
            }
        }
    }
}

/// A renewal never waits behind acquires.
BOOST_AUTO_TEST_CASE(held_leases_are_renewed_in_time_while_acquires_queue_up) {
    busy_servers three(3);
    const auto client = three.make_client();
    runtime::lock_policy policy = client->usual_policy();
    policy.lease.ttl = 300ms;
    policy.lease.renew_interval = 100ms;
    std::vector<acquire> held;
    for (int i = 0; i != 100; ++i) {
        held.push_back(client->lock("held " + std::to_string(i), policy));
    }
    crowd all(three, *client, 2'000);
    all.run_for(1500ms);
    const auto& counts = client->engine().parts().counts;
    BOOST_TEST(counts.lost == 0U);
    BOOST_TEST(counts.renewals_failed == 0U);
    BOOST_TEST(counts.renewed >= 100U * 12U);
}

BOOST_AUTO_TEST_CASE(a_stopped_server_barely_reduces_throughput) {
    busy_servers five(5);
    const auto client = five.make_client();
    crowd all(five, *client, 1'500);
    all.run_for(500ms);
    const std::size_t before = all.run_for(1s);
    five.server(4).is_silent = true;
    const std::size_t after = all.run_for(1s);
    BOOST_TEST(all.failed == 0U);
    BOOST_TEST(static_cast<double>(after) > 0.7 * static_cast<double>(before));
}

BOOST_AUTO_TEST_CASE(a_distant_server_barely_reduces_throughput) {
    busy_servers five(5);
    five.server(4).latency = 50ms;
    const auto client = five.make_client();
    crowd all(five, *client, 1'500);
    all.run_for(500ms);
    const std::size_t cycles = all.run_for(1s);
    BOOST_TEST(all.failed == 0U);
    const double capacity = 1s / (2 * service_time);  // One cycle is two commands.
    BOOST_TEST(static_cast<double>(cycles) > 0.7 * capacity);
}

/// The timeout of a slow server counts from the send, not from the start of the wait in the client.
BOOST_AUTO_TEST_CASE(time_in_the_send_queue_does_not_count_as_a_timeout) {
    slow_server one(3000);  // Work for three seconds.
    BOOST_TEST_REQUIRE(one.world().run_until([&] {
        return std::ranges::all_of(one.all.rbegin(), one.all.rend(), &virtual_acquire::is_finished);
    }));
    BOOST_TEST(std::ranges::all_of(one.all, &virtual_acquire::granted));
    BOOST_TEST(std::ranges::is_sorted(one.all, {}, &virtual_acquire::finished_at));
}

BOOST_AUTO_TEST_CASE(an_acquire_not_sent_in_time_reports_overload) {
    slow_server one(2000);
    const core::time_point now = one.world().now();
    const auto timed = one.client->acquire("timed", one.client->usual_policy(), now + 400ms);
    const auto single = one.client->acquire("single", one.client->usual_policy(), now - 1ms);
    for (const auto& [late, limit] : {std::pair(timed, 400ms), std::pair(single, 250ms)}) {
        BOOST_TEST_REQUIRE(one.world().run_until([&late = late] { return late->is_finished; }));
        BOOST_TEST((late->outcome == acquire_outcome::no_quorum));
        BOOST_TEST((late->finished_at == now + limit));
        BOOST_TEST(late->text.find("the client is overloaded: ") != std::string::npos, late->text);
        BOOST_TEST(late->text.find(" others wait until the instances have room for them") !=
                       std::string::npos,
                   late->text);
    }
    one.world().run_for(3s);
    BOOST_TEST(one.waiting() == 0U);
}

/// Instance events affect only acquires that have been denied.
BOOST_AUTO_TEST_CASE(instance_events_do_not_prolong_an_unsent_acquire) {
    slow_server one(2000);
    const core::time_point now = one.world().now();
    const auto late = one.client->acquire("late", one.client->usual_policy(), now + 400ms);
    one.world().run_for(100ms);
    one.client->engine().observer().on_state_change(0);
    one.client->engine().observer().on_all_keys_changed(0);
    one.finish(late);
    BOOST_TEST((late->finished_at == now + 400ms));
}

/// A slow server, and a client that holds this many locks on it.
struct many_leases : slow_server {
    explicit many_leases(std::size_t count) : slow_server(count) { wait(); }
    void wait() {
        BOOST_TEST_REQUIRE(world().run_until([this] {
            return std::ranges::all_of(all.rbegin(), all.rend(), &virtual_acquire::granted);
        }));
    }

    /// Starts to release all of them at once.
    std::vector<std::shared_ptr<virtual_release>> release_all() {
        std::vector<std::shared_ptr<virtual_release>> result;
        std::ranges::transform(all, std::back_inserter(result), &virtual_acquire::release);
        return result;
    }
    [[nodiscard]] std::size_t keys() { return server(0).keys.size(); }
};

/// Checks in reverse order, because the last release is usually answered last.
bool is_each_told(const std::vector<std::shared_ptr<virtual_release>>& releases) {
    return std::ranges::all_of(releases.rbegin(), releases.rend(),
                               [](const auto& one) { return one->told.has_value(); });
}

/// The replies are not late, because the releases wait in the client most of the time.
BOOST_AUTO_TEST_CASE(many_releases_at_once_all_succeed) {
    many_leases held(3000);
    const core::time_point began = held.world().now();
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    BOOST_TEST(held.waiting() > 2000U);
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return is_each_told(releases); }));
    BOOST_TEST((held.world().now() - began < 3500ms));
    BOOST_TEST(std::ranges::all_of(
        releases, [](const auto& one) { return one->told == core::release_outcome::released; }));
    BOOST_TEST(held.client->engine().parts().counts.lost == 0U);
    BOOST_TEST(held.keys() == 0U);
}

/// The client expects a fast server. It sends so much at once that some replies come after the timeout.
BOOST_AUTO_TEST_CASE(releases_succeed_while_a_slow_server_answers, *label("fault-126")) {
    many_leases held(0);
    held.server(0).service = 20us;
    held.acquire(3000, held.client->usual_policy());
    held.wait();
    held.server(0).busy_until = held.world().now() + 240ms;
    held.server(0).service = 2ms;
    const auto releases = held.release_all();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return is_each_told(releases); }));
    BOOST_TEST(std::ranges::all_of(
        releases, [](const auto& one) { return one->told == core::release_outcome::released; }));
}

/// A server may stand still while it deletes the keys of a slot that has moved.
BOOST_AUTO_TEST_CASE(a_release_succeeds_after_a_server_stood_still_for_half_a_second,
                     *label("fault-139")) {
    for (const core::milliseconds standstill : {550ms, 1500ms}) {
        many_leases held(1);
        held.world().run_for(2s);  // Until then there is nothing to answer.
        const core::time_point now = held.world().now();
        held.server(0).busy_until = now + standstill;
        const auto released = held.release_all().front();
        BOOST_TEST_REQUIRE(held.world().run_until([&] { return released->told.has_value(); }));
        if (standstill < 1s) {
            BOOST_TEST((released->told == core::release_outcome::released));
        } else {
            BOOST_TEST((released->told == core::release_outcome::no_quorum));
            BOOST_TEST((held.world().now() - now < 1200ms));
        }
    }
}

/// Releases are sent before acquires.
BOOST_AUTO_TEST_CASE(releases_are_sent_before_acquires) {
    many_leases held(1000);
    std::vector<acquire> wanted;
    for (int i = 0; i != 1000; ++i) {
        wanted.push_back(held.client->acquire("b" + std::to_string(i)));
    }
    const auto releases = held.release_all();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return is_each_told(releases); }));
    // Some acquires were sent in the same turn, before the first release.
    BOOST_TEST(std::ranges::count_if(wanted, &virtual_acquire::is_finished) < 500);
}

/// A waiting release takes the place of the renewal. Without renewals, it is sent before the lease ends.
BOOST_AUTO_TEST_CASE(a_release_is_sent_before_its_lease_is_lost) {
    many_leases held(0);
    runtime::lock_policy policy = held.client->usual_policy();
    policy.lease.ttl = 4s;
    policy.lease.renew_interval = 0s;
    held.acquire(3000, policy);
    held.wait();
    std::ranges::reverse(held.all);  // The lease that ends first is released last.
    const auto releases = held.release_all();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return is_each_told(releases); }));
    BOOST_TEST(held.client->engine().parts().counts.lost == 0U);
    BOOST_TEST(held.keys() == 0U);
}

/// The caller of a release need not keep the lease.
BOOST_AUTO_TEST_CASE(destroying_a_lease_keeps_its_unsent_release) {
    many_leases held(3000);
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    const std::uint64_t waiting = held.waiting();
    for (const auto& each : held.all) {
        each->let_go();
    }
    BOOST_TEST(held.waiting() == waiting);
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return is_each_told(releases); }));
    BOOST_TEST(std::ranges::all_of(
        releases, [](const auto& one) { return one->told == core::release_outcome::released; }));
}

/// The second release completes with the first, and takes no place in the send queue.
BOOST_AUTO_TEST_CASE(releasing_twice_sends_one_release) {
    many_leases held(1000);
    const auto releases = held.release_all();
    const auto again = held.release_all();
    held.world().run_for(1ms);
    BOOST_TEST(held.waiting() > 0U);
    BOOST_TEST(held.waiting() <= 1000U);
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return again.back()->told.has_value(); }));
    for (const auto& all : {releases, again}) {
        BOOST_TEST(std::ranges::all_of(
            all, [](const auto& one) { return one->told == core::release_outcome::released; }));
    }
    BOOST_TEST(held.waiting() == 0U);
    BOOST_TEST(held.server(0).executed == 2000U);
}

/// No reader may share the lease of a writer that has begun its release.
BOOST_AUTO_TEST_CASE(a_lease_with_an_unsent_release_is_not_shared_or_downgraded) {
    many_leases held(1000);
    runtime::lock_policy policy = held.client->usual_policy();
    policy.set_kind(kinds::writer);
    const auto writer = held.client->lock("b", policy);
    policy.set_kind(kinds::shared);
    held.release_all();
    const auto release = writer->release();
    const auto downgrade = std::make_shared<virtual_downgrade>(writer->lease, writer->holder_number,
                                                               held.client->spec_of("b", policy));
    downgrade->start(downgrade);
    const auto reader = held.client->acquire("b", policy);
    held.world().run_for(1ms);
    BOOST_TEST(release->waits_to_be_sent());
    BOOST_TEST((downgrade->told == runtime::lease_result::not_held));

    BOOST_TEST_REQUIRE(held.world().run_until([&] { return release->told.has_value(); }));
    BOOST_TEST((release->told == core::release_outcome::released));
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return reader->is_finished; }));
    BOOST_TEST(reader->granted());
    BOOST_TEST((reader->lease != writer->lease));
}

/// The owner has begun the release of that lease.
BOOST_AUTO_TEST_CASE(an_owner_does_not_enter_a_lease_with_an_unsent_release) {
    many_leases held(1000);
    const runtime::lock_policy policy = held.client->usual_policy();
    const auto enter = [&] { return held.client->acquire("b", policy, core::never, 1, true); };
    const auto outer = enter();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return outer->is_finished; }));
    held.release_all();
    const auto release = outer->release();
    const auto again = enter();
    held.world().run_for(1ms);
    BOOST_TEST(release->waits_to_be_sent());
    BOOST_TEST(!again->is_finished);
    BOOST_TEST(held.client->engine().parts().queues.reenter(*outer->spec(), {1, true}) == nullptr);
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return again->is_finished; }));
    BOOST_TEST((release->told == core::release_outcome::released));
    BOOST_TEST_REQUIRE(again->granted());
    BOOST_TEST((again->lease != outer->lease));
}

/// The share of the last entry ends immediately, so its release is sent immediately.
BOOST_AUTO_TEST_CASE(the_release_of_the_last_of_several_entries_does_not_wait) {
    many_leases held(1000);
    const runtime::lock_policy policy = held.client->usual_policy();
    const auto enter = [&] { return held.client->acquire("b", policy, core::never, 1, true); };
    const auto outer = enter();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return outer->is_finished; }));
    const auto inner = enter();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return inner->is_finished; }));
    held.release_all();
    outer->let_go();
    const auto release = inner->release();
    held.world().run_for(1ms);
    BOOST_TEST(!release->waits_to_be_sent());
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return release->told.has_value(); }));
    BOOST_TEST((release->told == core::release_outcome::released));
}

BOOST_AUTO_TEST_CASE(cancelling_an_unsent_release_still_releases_the_lock) {
    many_leases held(1000);
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    BOOST_TEST(held.waiting() > 500U);
    for (const auto& each : releases) {
        each->cancel();
    }
    BOOST_TEST(held.waiting() == 0U);
    held.world().run_for(1ms);
    BOOST_TEST(std::ranges::count_if(releases, [](const auto& one) { return one->was_cancelled; }) >
               500);
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return held.keys() == 0U; }));
}

/// A hand-off inside the client sends nothing.
BOOST_AUTO_TEST_CASE(a_hand_off_does_not_wait_in_the_send_queue) {
    many_leases held(1000);
    const auto next = held.client->acquire("a999");
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    BOOST_TEST(held.waiting() > 500U);
    BOOST_TEST(next->granted());
    BOOST_TEST((releases.back()->told == core::release_outcome::released));
}

BOOST_AUTO_TEST_CASE(closing_a_client_sends_its_unsent_releases) {
    many_leases held(1000);
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    BOOST_TEST(held.waiting() > 500U);
    const auto closed = held.client->close();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST((closed->told == virtual_close::outcome_type::closed));
    BOOST_TEST(std::ranges::all_of(
        releases, [](const auto& one) { return one->told == core::release_outcome::released; }));
    BOOST_TEST(held.keys() == 0U);
}

/// The close timeout is two seconds.
BOOST_AUTO_TEST_CASE(an_unsent_release_fails_if_closing_times_out) {
    many_leases held(3000);
    const auto releases = held.release_all();
    held.world().run_for(1ms);
    const auto closed = held.client->close();
    BOOST_TEST_REQUIRE(held.world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST((closed->told == virtual_close::outcome_type::unanswered));
    const auto cut_off = std::ranges::count_if(releases, &virtual_release::was_closed);
    const auto count = [&](core::release_outcome what) {
        return std::ranges::count_if(
            releases, [=](const auto& one) { return !one->was_closed && one->told == what; });
    };
    BOOST_TEST(count(core::release_outcome::released) > 1500);
    BOOST_TEST(cut_off > 500);
    BOOST_TEST(count(core::release_outcome::released) + count(core::release_outcome::no_quorum) +
                   cut_off ==
               3000);
    BOOST_TEST(releases.back()->was_closed);
    const auto& counts = held.client->engine().parts().counts;
    BOOST_TEST(counts.held == 0U);
    BOOST_TEST(counts.releasing == 0U);
    BOOST_TEST(held.waiting() == 0U);
}

/// Its turn in the client comes after its deadline.
BOOST_AUTO_TEST_CASE(an_expired_acquire_does_not_wait_to_be_sent) {
    slow_server one(2000);
    const core::time_point deadline = one.world().now() + 100ms;
    const auto first = one.client->acquire("x");
    const auto second = one.client->acquire("x", one.client->usual_policy(), deadline);
    one.world().at(deadline - 1ns, [&] {
        first->cancel();
        one.world().be_busy_for(1ms);
    });
    one.finish(second);
    BOOST_TEST((second->outcome == acquire_outcome::no_quorum));
    BOOST_TEST((second->finished_at <= deadline + 2ms));
}

BOOST_AUTO_TEST_CASE(an_unsent_acquire_can_be_cancelled) {
    slow_server one(1000);
    one.world().run_for(1ms);
    BOOST_TEST(one.waiting() > 500U);
    for (const auto& each : one.all) {
        each->cancel();
    }
    BOOST_TEST(one.waiting() == 0U);
    const std::size_t executed = one.executed();
    one.world().run_for(3s);
    BOOST_TEST(std::ranges::all_of(one.all, &virtual_acquire::is_finished));
    BOOST_TEST(one.executed() - executed < 600U);
}

BOOST_AUTO_TEST_CASE(closing_a_client_ends_its_unsent_acquires) {
    slow_server one(1000);
    one.world().run_for(1ms);
    one.client->engine().close();
    one.world().run_for(3s);
    BOOST_TEST(std::ranges::all_of(one.all, &virtual_acquire::is_finished));
    BOOST_TEST(one.client->engine().closed());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(outages)

namespace {

/// Servers of which all but the first go down and come back.
class failing_servers : public busy_servers {
public:
    failing_servers() : busy_servers(3) {}
    void set_up(bool is_up) {
        for (const std::size_t i : {1U, 2U}) {
            server(i).is_up = is_up;
            client->engine().observer().on_state_change(i);
        }
        world().run_for(1ms);
    }
    [[nodiscard]] std::uint64_t attempts() const {
        return client->engine().parts().counts.attempts;
    }

    const std::unique_ptr<virtual_deployment::client> client = make_client();
};

}  // namespace

/// Each acquire is sent at most twice: before the outage, and after it.
BOOST_AUTO_TEST_CASE(the_rate_after_an_outage_is_that_before, *label("fault-119")) {
    failing_servers three;
    runtime::lock_policy policy = three.client->usual_policy();
    policy.lease.ttl = 20s;
    std::vector<acquire> held;
    for (int i = 0; i != 100; ++i) {
        held.push_back(three.client->lock("held " + std::to_string(i), policy));
    }
    policy.unavailable_timeout = 1min;
    crowd all(three, *three.client, 2'000, policy);
    all.run_for(500ms);
    const std::size_t before = all.run_for(1s);
    const std::uint64_t attempts = three.attempts();
    three.set_up(false);
    BOOST_TEST(all.run_for(3s) < before);
    three.set_up(true);
    const std::size_t cycles = all.run_for(500ms) + all.run_for(1s);
    BOOST_TEST(cycles > before);
    BOOST_TEST(three.attempts() - attempts <= 2 * (cycles + 2'000));
    BOOST_TEST(all.failed == 0U);
    BOOST_TEST(three.client->engine().parts().counts.lost == 0U);
}

BOOST_AUTO_TEST_CASE(waiters_without_a_quorum_make_no_attempt, *label("fault-120")) {
    failing_servers three;
    three.set_up(false);
    runtime::lock_policy patient = three.client->usual_policy();
    patient.unavailable_timeout = 1min;
    std::vector<acquire> waiters;
    waiters.push_back(three.client->acquire("notices", patient));  // Its attempt fails.
    three.world().run_for(100ms);
    const std::uint64_t before = three.attempts();
    for (int i = 0; i != 100; ++i) {
        waiters.push_back(three.client->acquire("a" + std::to_string(i), patient));
    }
    const core::time_point now = three.world().now();
    const auto impatient = three.client->acquire("b", three.client->usual_policy());
    const auto timed = three.client->acquire("c", patient, now + 400ms);
    three.world().run_for(3s);
    BOOST_TEST(three.attempts() == before);
    for (const auto& [late, limit] : {std::pair(impatient, 1000ms), std::pair(timed, 400ms)}) {
        BOOST_TEST((late->outcome == acquire_outcome::no_quorum));
        BOOST_TEST((late->finished_at == now + limit));
        BOOST_TEST(
            late->text.find("not tried yet, too few instances are connected") != std::string::npos,
            late->text);
    }
    three.set_up(true);
    BOOST_TEST_REQUIRE(three.world().run_until(
        [&] { return std::ranges::all_of(waiters, &virtual_acquire::granted); }));
    BOOST_TEST(three.attempts() == before + waiters.size());
}

/// An acquire without time to wait shows what the instances say. So does one with a limited number of
/// attempts.
BOOST_AUTO_TEST_CASE(counted_attempts_are_made_without_a_quorum, *label("fault-120")) {
    failing_servers three;
    three.set_up(false);
    runtime::lock_policy twice = three.client->usual_policy();
    twice.attempts = 2;
    const auto counted = three.client->acquire("a", twice);
    const auto single =
        three.client->acquire("b", three.client->usual_policy(), core::time_point::min());
    three.world().run_for(500ms);
    BOOST_TEST(three.attempts() == 3U);
    for (const auto& one : {counted, single}) {
        BOOST_TEST((one->outcome == acquire_outcome::no_quorum));
        BOOST_TEST(one->text.find("[server 1: down]") != std::string::npos, one->text);
    }
}

BOOST_AUTO_TEST_SUITE_END()
