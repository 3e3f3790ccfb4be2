// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// How long acquires wait, how long holders hold, and which holders stay too long, in virtual time.

#include "core/outcome.hpp"
#include "core/time.hpp"
#include "runtime/statistics.hpp"

#include <boost/test/unit_test.hpp>

#include "shared.hpp"
#include "virtual_world.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using runtime::time_histogram;

BOOST_AUTO_TEST_SUITE(duration_histograms)

namespace {

const runtime::statistics& counts_of(client& of) {
    return of.engine().parts().counts;
}

std::uint64_t count_of(const time_histogram& all) {
    return all.read().count;
}

/// Expects that the durations have this number and this sum.
void expect(const time_histogram& all, std::uint64_t count, core::duration sum) {
    BOOST_TEST(count_of(all) == count);
    BOOST_TEST(all.read().sum.count() == std::chrono::round<time_histogram::unit>(sum).count());
}

std::uint64_t overstays(client& of) {
    return counts_of(of).overstays;
}

/// A detach that records nothing.
class virtual_detach final : public runtime::handover_operation {
public:
    using handover_operation::handover_operation;
    using handover_operation::result;
    void deliver() override {}
};

std::shared_ptr<virtual_detach> detach(const virtual_acquire& holder) {
    const auto made = std::make_shared<virtual_detach>(holder.lease, holder.holder_number);
    made->start(made);
    return made;
}

/// The servers do not answer any more, so the lease of their client is lost.
void silence(virtual_deployment& all, std::size_t servers) {
    for (std::size_t i = 0; i != servers; ++i) {
        all.server(i).is_silent = true;
    }
}

constexpr core::duration round_trip = 100us;

}  // namespace

BOOST_AUTO_TEST_CASE(a_bucket_includes_its_upper_bound) {
    constexpr core::duration step = 1ns;
    for (std::size_t i = 0; i != histogram::bounds.size(); ++i) {
        time_histogram all;
        all.add(histogram::bounds[i]);
        BOOST_TEST(all.read().buckets[i] == 1U);
        all.add(histogram::bounds[i] + step);
        BOOST_TEST(all.read().buckets[i + 1] == 1U);
        expect(all, 2, 2 * histogram::bounds[i] + step);
    }
}

BOOST_AUTO_TEST_CASE(the_outer_buckets_have_the_shortest_and_the_longest) {
    time_histogram all;
    all.add(0ns);
    all.add(-5s);  // The engine's time was older than the start.
    all.add(1h);
    BOOST_TEST(all.read().buckets[0] == 2U);
    BOOST_TEST(all.read().buckets[histogram().buckets.size() - 1] == 1U);
    expect(all, 3, 1h);
}

BOOST_AUTO_TEST_CASE(the_sum_lasts_for_many_long_durations) {
    time_histogram all;
    constexpr int count = 200'000;
    for (int i = 0; i != count; ++i) {
        all.add(24h);
    }
    BOOST_TEST((all.read().sum == count * time_histogram::unit(24h)));
}

BOOST_AUTO_TEST_CASE(bounds_grow) {
    for (std::size_t i = 1; i != histogram::bounds.size(); ++i) {
        BOOST_TEST((histogram::bounds[i - 1] < histogram::bounds[i]));
    }
}

// --- Waits --------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(an_uncontended_acquire_waits_for_one_round_trip, five_servers) {
    const auto lease = ann->lock("a");
    expect(counts_of(*ann).waits, 1, round_trip);
    expect(counts_of(*ann).holds, 0, 0ns);
}

BOOST_AUTO_TEST_CASE(a_wait_behind_another_client_counts_from_its_start) {
    virtual_deployment one(1);
    one.tell_changes();
    const auto first = one.make_client();
    const auto second = one.make_client();
    const auto lease = first->lock("a");
    const core::time_point began = one.world().now();
    const auto next = second->acquire("a");
    one.world().run_for(3s);
    lease->let_go();
    one.finish(next);
    expect(counts_of(*second).waits, 1, next->finished_at - began);
}

BOOST_FIXTURE_TEST_CASE(an_acquire_without_a_grant_is_not_in_the_waits, one_server) {
    const auto lease = ann->lock("a");
    const auto patient = ann->acquire("a", ann->usual_policy(), world().now() + 1s);
    const auto cancelled = ann->acquire("a");
    finish(patient);
    cancelled->cancel();
    finish(cancelled);
    BOOST_TEST(!patient->granted());
    expect(counts_of(*ann).waits, 1, round_trip);
}

// The holder's program runs long after the last event of the engine.
BOOST_AUTO_TEST_CASE(a_hand_off_ends_a_wait_and_a_hold_when_the_holder_releases) {
    for (const bool by_destructor : {false, true}) {
        virtual_deployment one(1);
        const auto client = one.make_client();
        runtime::lock_policy policy = client->usual_policy();
        policy.handoff = {64, 1h};
        const auto lease = client->lock("a", policy);
        const core::time_point granted = lease->finished_at;
        const auto next = client->acquire("a", policy);
        const core::time_point began = one.world().now();
        one.world().run_for(1s);
        one.world().be_busy_for(1s);
        const core::time_point released = one.world().now();
        if (by_destructor) {
            lease->let_go();
        } else {
            static_cast<void>(lease->release());
        }
        one.finish(next);
        BOOST_TEST(counts_of(*client).handed_off == 1U);
        expect(counts_of(*client).waits, 2, round_trip + (released - began));
        expect(counts_of(*client).holds, 1, released - granted);
        one.world().run_for(500ms);
        next->let_go();
        expect(counts_of(*client).holds, 2, released - granted + 500ms);
    }
}

BOOST_FIXTURE_TEST_CASE(waits_have_as_many_durations_as_acquired_counts, three_servers) {
    const auto fenced = [&] {
        const auto one = granted(ann->acquire("a", policy_of(*ann, kinds::fenced_shared)));
        return one;
    };
    const auto first = fenced();
    const auto share = virtual_share::begin(*ann, *first);
    BOOST_TEST_REQUIRE(world().run_until([&] { return share->ended_with.has_value(); }));
    const auto second = fenced();
    constexpr std::uint64_t anna = 1;
    const auto outer = ann->acquire("b", ann->usual_policy(), core::never, anna, true);
    finish(outer);
    const auto inner = ann->acquire("b", ann->usual_policy(), core::never, anna, true);
    finish(inner);
    const auto lock = std::make_shared<runtime::lock_spec>(*ann->spec_of("b", ann->usual_policy()));
    lock->is_reentrant = true;
    BOOST_TEST((ann->engine().parts().queues.reenter(*lock, {anna, true}) != nullptr));
    BOOST_TEST(counts_of(*ann).acquired == 6U);
    BOOST_TEST(count_of(counts_of(*ann).waits) == 6U);
}

// --- Holds --------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(each_way_to_end_a_hold_counts_once, three_servers) {
    const auto held = [&](const auto& end) {
        const auto lease = ann->lock("a");
        world().run_for(700ms);
        end(*lease);
        lease->let_go();
        lease->lease->abandon(lease->holder_number);
        world().run_for(20s);
    };
    held([](virtual_acquire& one) { static_cast<void>(one.release()); });
    expect(counts_of(*ann).holds, 1, 700ms);
    held([](virtual_acquire& one) { one.let_go(); });
    expect(counts_of(*ann).holds, 2, 1400ms);
    held([](virtual_acquire& one) { one.lease->abandon(one.holder_number); });
    expect(counts_of(*ann).holds, 3, 2100ms);
    held([](virtual_acquire& one) { static_cast<void>(detach(one)); });
    expect(counts_of(*ann).holds, 4, 2800ms);
    BOOST_TEST(overstays(*ann) == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_hold_that_ends_by_a_detach_counts_once, three_servers) {
    const auto first = read(*ann);
    const auto second = read(*ann);
    expect_granted({first, second});
    BOOST_TEST_REQUIRE((second->lease == first->lease));
    world().run_for(1s);
    first->let_go();
    static_cast<void>(detach(*second));
    world().run_for(1s);
    static_cast<void>(second->release());
    second->let_go();
    world().run_for(20s);
    BOOST_TEST(count_of(counts_of(*ann).holds) == 2U);
    BOOST_TEST(counts_of(*ann).held == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_holder_that_has_detached_its_lease_does_not_release_it, three_servers) {
    const auto first = read(*ann);
    const auto second = read(*ann);
    expect_granted({first, second});
    second->let_go();
    const auto made = detach(*first);
    world().run_for(1s);
    BOOST_TEST((made->result() == runtime::lease_result::done));
    const auto release = first->release();
    BOOST_TEST_REQUIRE(world().run_until([&] { return release->told.has_value(); }));
    BOOST_TEST(release->was_not_held);
    BOOST_TEST(count_of(counts_of(*ann).holds) == 2U);
}

// The blocked event loop detaches the lease before any timer has run.
BOOST_FIXTURE_TEST_CASE(a_lease_that_is_over_is_lost_and_not_detached, three_servers) {
    const auto lease = ann->lock("a");
    world().be_busy_for(11s);
    const auto made = detach(*lease);
    BOOST_TEST((made->result() != runtime::lease_result::done));
    BOOST_TEST((lease->lease->loss(lease->holder_number) != core::loss::none));
    BOOST_TEST(counts_of(*ann).detached == 0U);
    BOOST_TEST(counts_of(*ann).lost == 1U);
    world().run_for(20s);
    lease->let_go();
}

BOOST_FIXTURE_TEST_CASE(a_loss_ends_a_hold, three_servers) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.lease.max_hold = 4s;
    const auto lease = ann->lock("a", policy);
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return lease->lease->loss(0) != core::loss::none; }));
    expect(counts_of(*ann).holds, 1, world().now() - lease->finished_at);
    world().run_for(20s);
    lease->let_go();
    BOOST_TEST(count_of(counts_of(*ann).holds) == 1U);
}

BOOST_FIXTURE_TEST_CASE(each_share_of_a_lease_has_its_own_hold, three_servers) {
    const auto first = granted(read(*ann));
    world().run_for(20ms);
    const auto second = granted(read(*ann));
    BOOST_TEST_REQUIRE((second->lease == first->lease));
    const core::time_point began = world().now();
    world().be_busy_for(1s);
    first->let_go();
    expect(counts_of(*ann).holds, 1, world().now() - first->finished_at);
    world().be_busy_for(1s);
    second->let_go();
    expect(counts_of(*ann).holds, 2,
           (began + 1s - first->finished_at) + (began + 2s - second->finished_at));
}

BOOST_FIXTURE_TEST_CASE(a_release_that_waits_to_be_sent_has_ended_the_hold, one_server) {
    const auto lease = ann->lock("a");
    server(0).service = 1ms;
    std::vector<acquire> load;
    for (int i = 0; i != 2000; ++i) {
        load.push_back(ann->acquire("load " + std::to_string(i)));
    }
    world().run_for(50ms);
    const core::time_point released = world().now();
    const auto before = count_of(counts_of(*ann).holds);
    const auto release = lease->release();
    BOOST_TEST(release->waits_to_be_sent());
    BOOST_TEST(count_of(counts_of(*ann).holds) == before + 1);
    BOOST_TEST_REQUIRE(world().run_until([&] { return release->told.has_value(); }));
    BOOST_TEST(count_of(counts_of(*ann).holds) == before + 1);
    BOOST_TEST((counts_of(*ann).holds.read().sum ==
                std::chrono::round<time_histogram::unit>(released - lease->finished_at)));
}

// --- Overstays ----------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_holder_that_ignores_its_loss_overstays, three_servers) {
    const auto lease = ann->lock("a");
    const core::time_point end = lease->valid_until();
    silence(*this, 2);
    world().run_for(end - world().now() - 1ms);
    BOOST_TEST((lease->lease->loss(0) == core::loss::unrenewable));
    BOOST_TEST(overstays(*ann) == 0U);
    world().run_for(1ms);
    BOOST_TEST(overstays(*ann) == 1U);
    world().run_for(1min);
    lease->let_go();
    world().run_for(1min);
    BOOST_TEST(overstays(*ann) == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_holder_that_heeds_its_loss_does_not_overstay, three_servers) {
    const auto lease = ann->lock("a");
    silence(*this, 2);
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return lease->lease->loss(0) != core::loss::none; }));
    lease->let_go();
    world().run_for(1min);
    BOOST_TEST(overstays(*ann) == 0U);
    BOOST_TEST(counts_of(*ann).lost == 1U);
}

// The blocked event loop releases the lease before any timer has run.
BOOST_AUTO_TEST_CASE(a_late_release_of_a_blocked_client_is_an_overstay) {
    for (const bool by_release : {false, true}) {
        virtual_deployment three(3);
        const auto client = three.make_client();
        const auto lease = client->lock("a");
        three.world().be_busy_for(11s);
        if (by_release) {
            static_cast<void>(lease->release());
        } else {
            lease->lease->abandon(lease->holder_number);
        }
        BOOST_TEST(overstays(*client) == 1U);
        three.world().run_for(1min);
        BOOST_TEST(overstays(*client) == 1U);
        expect(counts_of(*client).holds, 1, 11s);
    }
}

BOOST_FIXTURE_TEST_CASE(the_end_of_max_hold_and_of_an_unrenewed_lease_count, three_servers) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.lease.max_hold = 2s;
    const auto bounded = ann->lock("a", policy);
    policy.lease.max_hold = {};
    policy.lease.renew_interval = {};
    policy.lease.ttl = 4s;
    const auto unrenewed = ann->lock("b", policy);
    world().run_for(2500ms);
    BOOST_TEST(overstays(*ann) == 1U);
    world().run_for(2s);
    BOOST_TEST(overstays(*ann) == 2U);
}

BOOST_FIXTURE_TEST_CASE(each_reader_that_stays_counts, three_servers) {
    const std::vector<acquire> readers{read(*ann), read(*ann), read(*ann), read(*ann)};
    expect_granted(readers);
    BOOST_TEST_REQUIRE((readers[3]->lease == readers[0]->lease));
    const core::time_point end = readers[0]->valid_until();
    silence(*this, 2);
    readers[0]->let_go();
    BOOST_TEST_REQUIRE(
        world().run_until([&] { return readers[1]->lease->loss(1) != core::loss::none; }));
    readers[1]->let_go();
    world().run_for(end - world().now());
    BOOST_TEST(overstays(*ann) == 2U);
    readers[2]->let_go();
    readers[3]->let_go();
    world().run_for(1min);
    BOOST_TEST(overstays(*ann) == 2U);
    BOOST_TEST(count_of(counts_of(*ann).holds) == 4U);
}

BOOST_FIXTURE_TEST_CASE(a_late_share_counts_before_the_end_is_noticed, three_servers) {
    const auto first = read(*ann);
    const auto second = read(*ann);
    expect_granted({first, second});
    world().be_busy_for(11s);
    first->let_go();
    BOOST_TEST(overstays(*ann) == 1U);
    world().run_for(1s);
    BOOST_TEST(overstays(*ann) == 2U);
    second->let_go();
    BOOST_TEST(overstays(*ann) == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_closed_client_counts_the_holders_until_it_is_closed, three_servers) {
    runtime::lock_policy policy = ann->usual_policy();
    policy.lease.ttl = 1500ms;
    policy.lease.renew_interval = 500ms;
    const auto ends_in_time = ann->lock("a", policy);
    const auto ends_later = ann->lock("b");
    const auto closed = ann->close();
    BOOST_TEST_REQUIRE(world().run_until([&] { return closed->told.has_value(); }));
    BOOST_TEST(overstays(*ann) == 1U);
    world().run_for(1min);
    BOOST_TEST(overstays(*ann) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
