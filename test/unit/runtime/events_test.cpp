// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The events that the receiver of a client gets, in virtual time.

#include "runtime/events.hpp"
#include "core/outcome.hpp"
#include "core/time.hpp"
#include "kinds/fenced/fenced.hpp"

#include <boost/test/unit_test.hpp>

#include "shared.hpp"
#include "virtual_world.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(client_events)

namespace {

/// Keeps all events.
class recorder final : public runtime::event_receiver {
public:
    void receive(runtime::acquired_event one) noexcept override {
        order += "acquired ";
        acquired.push_back(std::move(one));
        if (on_acquired) {
            on_acquired();
        }
    }
    void receive(runtime::denied_event one) noexcept override {
        order += "denied ";
        denied.push_back(std::move(one));
    }
    void receive(runtime::lost_event one) noexcept override {
        order += "lost ";
        lost.push_back(std::move(one));
    }
    void receive(runtime::instance_event one) noexcept override {
        instances.push_back(std::move(one));
    }
    void receive(runtime::blocked_event one) noexcept override { blocked.push_back(one.time); }

    std::string order;  ///< Of the events that concern locks.
    std::vector<runtime::acquired_event> acquired;
    std::vector<runtime::denied_event> denied;
    std::vector<runtime::lost_event> lost;
    std::vector<runtime::instance_event> instances;
    std::vector<core::duration> blocked;
    std::function<void()> on_acquired;
};

/// A deployment with one client, whose events are recorded.
struct watched : virtual_deployment {
    explicit watched(std::size_t servers, core::duration threshold = {})
        : virtual_deployment(servers), own(make_client(events, threshold)) {}

    std::shared_ptr<recorder> events = std::make_shared<recorder>();
    std::unique_ptr<client> own;

    [[nodiscard]] const runtime::statistics& counts() const { return own->engine().parts().counts; }
    void run_until(const std::function<bool()>& condition) {
        BOOST_TEST_REQUIRE(world().run_until(condition));
    }
};

/// Returns a holder of a lock, and a waiter of the same client that gets it by a hand-off.
std::pair<acquire, acquire> holder_and_waiter(client& of) {
    runtime::lock_policy policy = of.usual_policy();
    policy.handoff = {64, 1h};
    auto holder = of.lock("a", policy);
    return {std::move(holder), of.acquire("a", policy)};
}

constexpr core::duration round_trip = 100us;

}  // namespace

// --- Acquired -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_acquire_is_reported_before_its_handler) {
    watched one(3);
    const auto policy = policy_of(*one.own, kinds::fenced);
    const auto lease = one.own->acquire("a", policy);
    std::size_t known_to_handler = 0;
    lease->on_finished = [&] { known_to_handler = one.events->acquired.size(); };
    one.finish(lease);
    BOOST_TEST(known_to_handler == 1U);
    const runtime::acquired_event& event = one.events->acquired.at(0);
    BOOST_TEST(event.resource == "a");
    BOOST_TEST(event.token == lease->lease->token());
    BOOST_TEST(event.fence == lease->fence_number);
    BOOST_TEST(event.fence != 0U);
    BOOST_TEST(!event.is_shared);
    BOOST_TEST((event.waited == round_trip));
}

BOOST_AUTO_TEST_CASE(each_holder_of_a_lease_is_reported) {
    watched one(3);
    const auto fenced = [&] {
        const auto made = one.own->acquire("a", policy_of(*one.own, kinds::fenced_shared));
        one.granted(made);
        return made;
    };
    const auto first = fenced();
    const auto share = virtual_share::begin(*one.own, *first);
    one.run_until([&] { return share->ended_with.has_value(); });
    const auto second = fenced();
    constexpr std::uint64_t anna = 1;
    const auto enter = [&] {
        const auto made = one.own->acquire("b", one.own->usual_policy(), core::never, anna, true);
        one.finish(made);
        return made;
    };
    const auto outer = enter();
    const auto inner = enter();
    const auto lock =
        std::make_shared<runtime::lock_spec>(*one.own->spec_of("b", one.own->usual_policy()));
    lock->is_reentrant = true;
    BOOST_TEST((one.own->engine().parts().queues.reenter(*lock, {anna, true}) != nullptr));
    one.world().run_for(1ms);
    BOOST_TEST(one.counts().acquired == 6U);
    const auto& events = one.events->acquired;
    BOOST_TEST_REQUIRE(events.size() == 6U);
    BOOST_TEST(events[0].is_shared);
    BOOST_TEST(events[0].fence == first->fence_number);
    BOOST_TEST(events[1].is_shared);
    BOOST_TEST(events[1].fence == share->fence_number);
    BOOST_TEST(events[2].fence == second->fence_number);
    BOOST_TEST(!events[5].is_shared);
    BOOST_TEST((events[5].waited == 0ns));
}

/// The time of the last turn is older than the start of the second acquire.
BOOST_AUTO_TEST_CASE(a_share_without_a_wait_has_waited_for_no_time) {
    watched one(3);
    const auto first = one.own->lock("a", policy_of(*one.own, kinds::shared));
    one.world().be_busy_for(10ms);
    const auto second = one.own->lock("a", policy_of(*one.own, kinds::shared));
    BOOST_TEST_REQUIRE(one.events->acquired.size() == 2U);
    BOOST_TEST((one.events->acquired[1].waited == 0ms));
}

BOOST_AUTO_TEST_CASE(a_share_that_a_receiver_acquires_is_reported_before_its_handler) {
    watched one(3);
    acquire second;
    std::size_t known_to_handler = 0;
    one.events->on_acquired = [&] {
        if (one.events->acquired.size() == 1) {
            second = one.own->acquire("a", policy_of(*one.own, kinds::shared));
            second->on_finished = [&] { known_to_handler = one.events->acquired.size(); };
        }
    };
    const auto first = one.own->lock("a", policy_of(*one.own, kinds::shared));
    one.finish(second);
    BOOST_TEST(known_to_handler == 2U);
}

BOOST_AUTO_TEST_CASE(a_hand_off_is_reported_with_the_token_of_the_lease) {
    watched one(1);
    const auto both = holder_and_waiter(*one.own);
    const acquire& lease = both.first;
    const acquire& next = both.second;
    one.world().run_for(1s);
    lease->let_go();
    one.finish(next);
    BOOST_TEST(one.counts().handed_off == 1U);
    BOOST_TEST_REQUIRE(one.events->acquired.size() == 2U);
    BOOST_TEST(one.events->acquired[1].token == lease->lease->token());
    BOOST_TEST((one.events->acquired[1].waited == 1s));
}

// --- Denied -------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(each_failed_attempt_is_reported) {
    watched one(3);
    const auto other = one.make_client();
    const auto lease = other->lock("a");
    const auto patient = one.own->acquire("a", one.own->usual_policy(), one.world().now() + 1s);
    one.finish(patient);
    BOOST_TEST(!patient->granted());
    const auto& events = one.events->denied;
    BOOST_TEST_REQUIRE(events.size() >= 2U);
    BOOST_TEST(one.counts().contended == events.size());
    for (std::size_t i = 0; i != events.size(); ++i) {
        BOOST_TEST(events[i].resource == "a");
        BOOST_TEST(events[i].attempts == i + 1);
        BOOST_TEST(events[i].is_contended);
        BOOST_TEST((i == 0 || events[i].waited > events[i - 1].waited));
    }
}

BOOST_AUTO_TEST_CASE(an_attempt_without_a_quorum_is_reported_as_such) {
    watched one(3);
    one.server(0).is_silent = one.server(1).is_silent = true;
    const auto single = one.own->acquire("a", one.own->usual_policy(), core::time_point::min());
    one.finish(single);
    BOOST_TEST(one.counts().unavailable == 1U);
    BOOST_TEST_REQUIRE(one.events->denied.size() == 1U);
    BOOST_TEST(!one.events->denied[0].is_contended);
    BOOST_TEST(one.events->denied[0].attempts == 1U);
}

BOOST_AUTO_TEST_CASE(a_denial_that_is_known_when_its_acquire_is_cancelled_is_reported) {
    watched one(3);
    const auto other = one.make_client();
    const auto lease = other->lock("a");
    one.server(1).is_silent = one.server(2).is_silent = true;
    const auto cancelled = one.own->acquire("a");
    one.world().run_for(1ms);
    cancelled->cancel();
    one.finish(cancelled);
    BOOST_TEST(one.counts().contended == 1U);
    BOOST_TEST(one.events->order == "denied ");
}

// --- Lost ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_loss_is_reported_with_its_reason) {
    watched one(3);
    runtime::lock_policy policy = policy_of(*one.own, kinds::fenced);
    policy.lease.max_hold = 4s;
    const auto lease = one.own->lock("a", policy);
    one.run_until([&] { return !one.events->lost.empty(); });
    const runtime::lost_event& event = one.events->lost.at(0);
    BOOST_TEST(event.resource == "a");
    BOOST_TEST(event.token == lease->lease->token());
    BOOST_TEST(event.fence == lease->fence_number);
    BOOST_TEST(event.holders == 1U);
    BOOST_TEST((event.why == core::loss::max_hold));
    BOOST_TEST(event.details == lease->lease->loss_details());
    one.world().run_for(20s);
    BOOST_TEST(one.events->lost.size() == 1U);
    BOOST_TEST(one.events->order == "acquired lost ");
}

BOOST_AUTO_TEST_CASE(the_loss_of_a_shared_lease_is_reported_once) {
    watched one(3);
    const auto first = read(*one.own);
    one.granted(first);
    const auto second = read(*one.own);
    one.granted(second);
    for (std::size_t i = 0; i != 3; ++i) {
        one.server(i).is_silent = true;
    }
    one.run_until([&] { return !one.events->lost.empty(); });
    BOOST_TEST(one.events->lost[0].holders == 2U);
    BOOST_TEST(one.counts().lost == 2U);
    one.world().run_for(20s);
    BOOST_TEST(one.events->lost.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_held_when_its_client_closes_is_reported_as_lost) {
    watched one(3);
    const auto lease = one.own->lock("a");
    const auto closing = one.own->close();
    one.run_until([&] { return closing->told.has_value(); });
    one.world().run_for(1ms);
    BOOST_TEST_REQUIRE(one.events->lost.size() == 1U);
    BOOST_TEST((one.events->lost[0].why == core::loss::closed));
    lease->let_go();
}

// --- Instances ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_instance_is_reported_when_its_state_changes) {
    watched one(1);
    const auto states = [&] {
        std::string text;
        for (const runtime::instance_event& event : one.events->instances) {
            BOOST_TEST(event.index == 0U);
            using enum instance::state;
            text += event.status.state == ready         ? "ready "
                    : event.status.state == quarantined ? "quarantined "
                    : event.status.state == down        ? "down "
                                                        : "? ";
        }
        return text;
    };
    one.world().run_for(1ms);
    BOOST_TEST(states() == "ready ");
    auto& observer = one.own->engine().observer();
    observer.on_state_change(0);  // It still is.
    one.server(0).is_up = false;
    observer.on_state_change(0);
    one.world().run_for(1ms);
    BOOST_TEST(states() == "ready down ");
    one.world().run_for(5s);
    one.server(0).is_up = true;
    one.server(0).quarantined_until = one.world().now() + 1s;
    one.world().run_for(1s);  // It was not ready before, either, so nobody is notified.
    BOOST_TEST(states() == "ready down quarantined ");
    BOOST_TEST(one.events->instances.back().status.why_quarantined == "too young");
    observer.on_state_change(0);
    one.world().run_for(1ms);
    BOOST_TEST(states() == "ready down quarantined ready ");
}

// A Cluster is ready again when its quarantine ends, and does not notify anybody.
BOOST_AUTO_TEST_CASE(a_change_without_a_notification_is_reported_within_a_second) {
    watched one(1);
    one.world().run_for(10s);
    one.server(0).quarantined_until = one.world().now() + 3s;
    one.world().run_for(1s);
    BOOST_TEST_REQUIRE(one.events->instances.size() == 2U);
    BOOST_TEST((one.events->instances[1].status.state == instance::state::quarantined));
    one.world().run_for(3s);
    BOOST_TEST_REQUIRE(one.events->instances.size() == 3U);
    BOOST_TEST((one.events->instances[2].status.state == instance::state::ready));
}

// A Sentinel's instance connects to another master.
BOOST_AUTO_TEST_CASE(an_instance_that_was_ready_and_connects_again_is_down) {
    watched one(1);
    one.world().run_for(1ms);
    one.server(0).is_connecting = true;
    one.own->engine().observer().on_state_change(0);
    one.world().run_for(5s);
    BOOST_TEST_REQUIRE(one.events->instances.size() == 2U);
    BOOST_TEST((one.events->instances[1].status.state == instance::state::down));
    one.server(0).is_connecting = false;
    one.own->engine().observer().on_state_change(0);
    one.world().run_for(1ms);
    BOOST_TEST_REQUIRE(one.events->instances.size() == 3U);
    BOOST_TEST((one.events->instances[2].status.state == instance::state::ready));
}

BOOST_AUTO_TEST_CASE(the_first_try_to_connect_is_not_reported) {
    virtual_deployment all(1);
    all.server(0).is_connecting = true;
    const auto events = std::make_shared<recorder>();
    const auto client = all.make_client(events);
    all.world().run_for(5s);
    BOOST_TEST(events->instances.empty());
}

// --- The event loop -----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_blocked_event_loop_is_reported) {
    watched one(1, 100ms);
    one.world().run_for(10s);
    BOOST_TEST(one.events->blocked.empty());
    one.world().be_busy_for(126ms);
    one.world().run_for(1s);
    BOOST_TEST_REQUIRE(one.events->blocked.size() == 1U);
    BOOST_TEST((one.events->blocked[0] > 100ms));
    BOOST_TEST((one.events->blocked[0] <= 126ms));
    one.world().be_busy_for(5s);
    one.world().run_for(1s);
    BOOST_TEST_REQUIRE(one.events->blocked.size() == 2U);
    BOOST_TEST((one.events->blocked[1] > 4974ms));
    BOOST_TEST((one.events->blocked[1] <= 5s));
}

// A turn may come before the timer.
BOOST_AUTO_TEST_CASE(a_blockage_is_reported_once_and_before_what_follows_it) {
    watched one(1, 100ms);
    const auto lease = one.own->lock("a");
    std::size_t known = 0;
    one.events->on_acquired = [&] { known = one.events->blocked.size(); };
    one.world().be_busy_for(1s);
    const auto next = one.own->acquire("b");
    one.finish(next);
    BOOST_TEST(known == 1U);
    one.world().run_for(1s);
    BOOST_TEST(one.events->blocked.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_shorter_blockage_is_not_reported) {
    watched one(1, 100ms);
    for (int i = 0; i != 100; ++i) {
        one.world().be_busy_for(100ms);
        one.world().run_for(7ms);
    }
    BOOST_TEST(one.events->blocked.empty());
}

BOOST_AUTO_TEST_CASE(without_a_threshold_no_blockage_is_reported) {
    watched one(1);
    one.world().run_for(1ms);
    one.world().be_busy_for(10s);
    one.world().run_for(1min);
    BOOST_TEST(one.events->blocked.empty());
}

// A program makes its client, and starts its event loop later.
BOOST_AUTO_TEST_CASE(the_time_before_the_first_turn_is_no_blockage) {
    watched one(1, 100ms);
    one.world().be_busy_for(10s);
    one.world().run_for(1s);
    BOOST_TEST(one.events->blocked.empty());
    one.world().be_busy_for(1s);
    one.world().run_for(1s);
    BOOST_TEST(one.events->blocked.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_closed_client_does_not_watch_its_loop) {
    watched one(1, 100ms);
    const auto closing = one.own->close();
    one.run_until([&] { return closing->told.has_value(); });
    one.world().run_for(1s);
    one.world().be_busy_for(10s);
    one.world().run_for(1s);
    BOOST_TEST(one.events->blocked.empty());
}

// --- The receiver -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_receiver_may_start_operations) {
    watched one(3);
    std::vector<acquire> started;
    one.events->on_acquired = [&] {
        if (started.size() != 3) {
            started.push_back(one.own->acquire("b" + std::to_string(started.size())));
        }
    };
    const auto lease = one.own->lock("a");
    one.run_until([&] { return started.size() == 3 && started.back()->is_finished; });
    BOOST_TEST(one.events->acquired.size() == 4U);
}

BOOST_AUTO_TEST_CASE(an_event_is_never_reported_inside_the_call_that_causes_it) {
    watched one(3);
    const auto both = holder_and_waiter(*one.own);
    const acquire& lease = both.first;
    const acquire& next = both.second;
    one.world().run_for(1ms);
    lease->let_go();  // Hands it off at once.
    BOOST_TEST(one.counts().handed_off == 1U);
    BOOST_TEST(one.events->acquired.size() == 1U);
    one.finish(next);
    BOOST_TEST(one.events->acquired.size() == 2U);
}

// The receiver destroys the execution context.
BOOST_AUTO_TEST_CASE(a_receiver_may_abandon_the_client) {
    watched one(3);
    const auto first = one.own->acquire("a");
    const auto second = one.own->acquire("b");
    one.events->on_acquired = [&] { one.own->engine().abandon(); };
    one.world().run_for(1s);
    BOOST_TEST(one.events->acquired.size() == 1U);
    BOOST_TEST(!first->is_finished);
    BOOST_TEST(!second->is_finished);
}

// It may own a lease, and so the client.
BOOST_AUTO_TEST_CASE(the_receiver_is_freed_after_the_last_event) {
    watched one(1);
    const std::weak_ptr<recorder> alive = one.events;
    one.world().run_for(1ms);
    const auto closing = one.own->close();
    one.run_until([&] { return closing->told.has_value(); });
    one.world().run_for(1ms);
    one.events.reset();
    BOOST_TEST(alive.expired());
}

BOOST_AUTO_TEST_CASE(without_memory_an_event_is_lost_and_the_work_goes_on) {
    watched one(1);
    runtime::events events(one.own->engine().parts().turn, one.events);
    events.add([]() -> runtime::blocked_event { throw std::bad_alloc(); });
    events.deliver();
    BOOST_TEST(one.events->blocked.empty());
    events.add([] { return runtime::blocked_event{1s}; });
    events.deliver();
    BOOST_TEST(one.events->blocked.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
