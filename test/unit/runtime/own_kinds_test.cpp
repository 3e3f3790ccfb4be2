// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The wake-up of waiters for other kinds than those of the library. Some wait for room next to other holders,
// and some for several names. In virtual time.

#include <boost/test/unit_test.hpp>

#include "kinds/kind.hpp"
#include "kinds/table.hpp"
#include "virtual_world.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using core::acquire_outcome;
using core::key_state;
using core::step;
using core::vote;

/// A kind without an implementation for servers.
class memory_kind : public kinds::lock_kind {
public:
    using lock_kind::lock_kind;

    void encode(const kinds::command& /*command*/, const kinds::capabilities& /*server*/,
                kinds::script_form /*form*/, resp::command_writer& /*to*/) const override {
        BOOST_FAIL("sent to a server");
    }
    [[nodiscard]] vote decode(const kinds::command& /*command*/,
                              const resp::value& /*reply*/) const override {
        BOOST_FAIL("sent to a server");
        return {};
    }

protected:
    ~memory_kind() = default;
};

vote remaining_until(core::time_point end, core::time_point now) {
    return end > now ? vote::denied(key_state::foreign,
                                    std::chrono::duration_cast<core::milliseconds>(end - now))
                     : vote::denied(key_state::absent, core::milliseconds(0));
}

/// A kind with at most two holders at the same time.
class counted_kind final : public memory_kind {
public:
    constexpr counted_kind()
        : memory_kind({.name = "counted", .admission = kinds::admission::counted()}) {}

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        auto* const found = keys.find(command.key, at.now);
        holders all = found != nullptr ? *found->as<holders>() : holders();
        std::erase_if(all, [&](const auto& one) { return one.second <= at.now; });
        const bool ours = all.contains(command.token);
        const bool is_full = all.size() == 2;
        if (command.step == step::remaining) {
            return remaining_until(
                is_full ? std::ranges::min_element(all, {}, &holders::value_type::second)->second
                        : at.now,
                at.now);
        }
        if (command.step == step::acquire ? is_full && !ours : !ours) {
            return vote::denied(command.step == step::acquire ? key_state::foreign
                                                              : key_state::absent);
        }
        if (command.step == step::release) {
            all.erase(all.find(command.token));
        } else {
            core::time_point& end = all[std::string(command.token)];
            end = std::max(end, at.now + command.ttl);
        }
        if (all.empty()) {
            keys.erase(command.key);
        } else {
            keys.put(command.key, all,
                     std::ranges::max_element(all, {}, &holders::value_type::second)->second);
        }
        return vote::granted();
    }

private:
    using holders =
        std::map<std::string, core::time_point, std::less<>>;  // The expiry time of each token.
};

/// A kind with one holder of several names.
class names_kind final : public memory_kind {
public:
    constexpr names_kind() : memory_kind({.name = "names", .joins_remote_queue = false}) {}

    vote execute(const kinds::command& command, kinds::table& keys,
                 const kinds::instant& at) const override {
        std::vector<std::string_view> all{command.key};
        all.insert(all.end(), command.more_keys.begin(), command.more_keys.end());
        core::time_point end = at.now;
        for (const std::string_view key : all) {
            auto* const found = keys.find(key, at.now);
            if (found != nullptr && *found->as<std::string>() != command.token) {
                end = std::max(end, found->expires);
            }
        }
        if (command.step == step::remaining || end > at.now) {
            return remaining_until(end, at.now);
        }
        for (const std::string_view key : all) {
            if (command.step == step::release) {
                keys.erase(key);
            } else {
                keys.put(key, command.token, at.now + command.ttl);
            }
        }
        return vote::granted();
    }
};

constexpr counted_kind counted;
constexpr names_kind names;

/// Returns a policy whose next attempt would come after a minute.
runtime::lock_policy patient(const client& of, const kinds::lock_kind& kind) {
    runtime::lock_policy policy = of.usual_policy();
    policy.set_kind(kind);
    policy.retry = {1min, 1min};
    policy.handoff.limit = 0;
    return policy;
}

/// Returns the policy of `patient` with hand-offs.
runtime::lock_policy generous(const client& of) {
    runtime::lock_policy policy = patient(of, counted);
    policy.handoff = of.usual_policy().handoff;
    return policy;
}

acquire take(client& by, core::time_point deadline = core::never) {
    return by.acquire("a", patient(by, counted), deadline);
}

acquire take_both(virtual_deployment& in, client& by) {
    auto result = std::make_shared<virtual_acquire>(
        in.world(), by.spec_of("a", patient(by, names), {"b"}), core::never);
    result->start(result);
    return result;
}

std::uint64_t attempts(client& of) {
    return of.engine().parts().counts.attempts;
}

/// Three servers that notify of changes, and three clients.
struct scene : three_servers {
    scene() { tell_changes(); }

    acquire taken(client& by) {
        acquire result = take(by);
        granted(result, 10ms);
        return result;
    }
    /// Returns an acquire that has found no room.
    acquire waiting(client& by) {
        acquire result = take(by);
        world().run_for(500ms);
        BOOST_TEST_REQUIRE(!result->is_finished);
        return result;
    }
};

BOOST_FIXTURE_TEST_SUITE(own_kinds, scene)

BOOST_AUTO_TEST_CASE(a_waiter_takes_the_room_that_its_own_client_makes) {
    for (const bool tells : {true, false}) {
        tell_changes(tells);
        const acquire first = taken(*ann);
        const acquire second = taken(*ann);
        const acquire third = waiting(*ann);
        const acquire fourth = waiting(*ann);
        first->let_go();
        granted(third, 1ms);
        world().run_for(10ms);
        BOOST_TEST(!fourth->is_finished);
        second->let_go();
        granted(fourth, 1ms);
        third->let_go();
        fourth->let_go();
        world().run_for(100ms);
    }
}

/// The hand-off needs no round trip, like for an exclusive kind. The key does not change, and no other client
/// is notified.
BOOST_AUTO_TEST_CASE(a_waiter_is_handed_the_lease_of_its_own_client) {
    const acquire beside = taken(*bob);
    const acquire first = ann->acquire("a", generous(*ann));
    granted(first, 10ms);
    const acquire second = ann->acquire("a", generous(*ann));
    world().run_for(10ms);  // It has found no room.
    BOOST_TEST_REQUIRE(!second->is_finished);
    const std::uint64_t before = executed();
    const core::time_point released = world().now();
    first->let_go();
    granted(second, 1ms);
    BOOST_TEST((second->finished_at == released));
    BOOST_TEST(second->lease->token() == first->lease->token());
    BOOST_TEST(ann->engine().parts().counts.handed_off == 1U);
    BOOST_TEST(executed() - before <= 1U);  // It leaves the remote queue.
    second->let_go();
    world().run_for(100ms);
    const acquire other = taken(*cyd);  // There is room again.
}

BOOST_AUTO_TEST_CASE(a_lease_is_not_handed_off_for_ever_beside_other_clients) {
    acquire holder = ann->acquire("a", generous(*ann));
    granted(holder, 10ms);
    const acquire second = taken(*bob);
    const acquire other = waiting(*cyd);
    int handed = 0;
    while (!other->is_finished && handed != 1000) {
        const acquire next = ann->acquire("a", generous(*ann));
        world().run_for(1ms);
        holder->let_go();
        BOOST_TEST_REQUIRE(
            world().run_until([&] { return next->is_finished || other->is_finished; }, 1s));
        if (next->is_finished) {
            holder = next;
            ++handed;
        }
    }
    BOOST_TEST(other->granted());
    BOOST_TEST(handed <= 100);
}

/// The client of the waiter renews another lease of the same key. After that write, the servers notify the
/// client only if it queries the key again.
BOOST_AUTO_TEST_CASE(a_waiter_takes_the_room_that_another_client_makes) {
    runtime::lock_policy not_renewed = patient(*ann, counted);
    not_renewed.lease.ttl = 10min;
    not_renewed.lease.renew_interval = {};
    const acquire first = ann->lock("a", not_renewed);
    const acquire second = taken(*bob);
    const acquire third = waiting(*bob);
    world().run_for(5s);
    BOOST_TEST(!third->is_finished);
    first->let_go();
    granted(third, 1ms);
}

/// The holders renew every 3.3 s. For a waiter, each renewal may look like a release.
BOOST_AUTO_TEST_CASE(renewals_cause_no_attempts) {
    const acquire first = taken(*ann);
    const acquire second = taken(*bob);
    const acquire third = waiting(*cyd);
    const std::uint64_t before = attempts(*cyd);
    world().run_for(30s);
    BOOST_TEST(attempts(*cyd) == before);
    second->let_go();
    granted(third, 1ms);
}

/// This holds for any waiting time. A reader would pass other waiters after five seconds.
BOOST_AUTO_TEST_CASE(a_waiter_does_not_pass_those_before_it) {
    const acquire first = taken(*ann);
    const acquire second = taken(*ann);
    const acquire third = waiting(*bob);
    const acquire fourth = waiting(*cyd);
    const std::uint64_t before = attempts(*cyd);
    world().run_for(30s);
    BOOST_TEST(attempts(*cyd) == before);
    first->let_go();
    granted(third, 1ms);
    BOOST_TEST(!fourth->is_finished);
    second->let_go();
    granted(fourth, 1ms);
}

BOOST_AUTO_TEST_CASE(a_waiter_whose_time_ends_does_not_pass_those_before_it) {
    const acquire first = taken(*ann);
    const acquire second = taken(*ann);
    const acquire third = waiting(*bob);
    for (int i = 0; i != 2; ++i) {  // The second time, it joins the queue before it attempts.
        const acquire fourth = take(*cyd, world().now() + 1s);
        world().run_for(2s);
        BOOST_TEST_REQUIRE(fourth->is_finished);
        BOOST_TEST((fourth->outcome == acquire_outcome::contended));
    }
    BOOST_TEST(attempts(*cyd) == 1U);
}

/// The waiter watches all of its names. Its client identifies the lock by only one of them.
BOOST_AUTO_TEST_CASE(a_release_of_one_name_wakes_a_waiter_for_several) {
    for (const std::string name : {"a", "b"}) {
        for (client* const holder : {ann.get(), bob.get()}) {
            for (const core::duration waited : {10ms, 20'000ms}) {
                // A waiter that has waited long may have just queried the key. After a long hold there is a
                // cool-down.
                const core::duration within = waited < 1s ? 1ms : 20ms;
                const acquire held = holder->lock(name, patient(*holder, kinds::exclusive));
                const acquire both = take_both(*this, *ann);
                world().run_for(waited);
                BOOST_TEST_REQUIRE(!both->is_finished);
                held->let_go();
                granted(both, within);
                both->let_go();
                world().run_for(100ms);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_release_of_several_names_wakes_a_waiter_for_one) {
    for (const std::string name : {"a", "b"}) {
        for (client* const waiter : {ann.get(), bob.get()}) {
            for (const core::duration waited : {10ms, 20'000ms}) {
                // A waiter that has waited long may have just queried the key. After a long hold there is a
                // cool-down.
                const core::duration within = waited < 1s ? 1ms : 20ms;
                const acquire both = take_both(*this, *ann);
                granted(both, 10ms);
                const acquire one = waiter->acquire(name, patient(*waiter, kinds::exclusive));
                world().run_for(waited);
                BOOST_TEST_REQUIRE(!one->is_finished);
                both->let_go();
                granted(one, within);
                one->let_go();
                world().run_for(100ms);
            }
        }
    }
}

/// The holder of the other name may need the first name before it releases its own.
BOOST_AUTO_TEST_CASE(a_waiter_for_several_names_lets_those_behind_it_have_the_first) {
    for (const core::duration waited : {10ms, 90ms, 20'000ms}) {
        const acquire held = ann->lock("b", patient(*ann, kinds::exclusive));
        const acquire both = take_both(*this, *ann);
        world().run_for(waited);
        const acquire first = ann->acquire("a", patient(*ann, kinds::exclusive));
        granted(first, 101ms);
        BOOST_TEST(!both->is_finished);
        held->let_go();
        world().run_for(10ms);
        BOOST_TEST(!both->is_finished);
        first->let_go();
        granted(both, 20ms);
        both->let_go();
        world().run_for(100ms);
    }
}

/// Other waiters for the same names could not proceed either.
BOOST_AUTO_TEST_CASE(waiters_for_the_same_names_keep_their_order) {
    const acquire held = ann->lock("b", patient(*ann, kinds::exclusive));
    const acquire first = take_both(*this, *ann);
    const acquire second = take_both(*this, *ann);
    world().run_for(10ms);
    const std::uint64_t before = attempts(*ann);
    world().run_for(1s);
    BOOST_TEST(attempts(*ann) == before);
    held->let_go();
    granted(first, 20ms);
    BOOST_TEST(!second->is_finished);
    first->let_go();
    granted(second, 20ms);
    second->let_go();
}

/// It has been denied itself, whatever the outcome of its predecessor was.
BOOST_AUTO_TEST_CASE(a_waiter_for_several_names_that_times_out_tells_what_it_has_found) {
    const acquire held = ann->lock("b", patient(*ann, kinds::exclusive));
    const auto both = std::make_shared<virtual_acquire>(
        world(), ann->spec_of("a", patient(*ann, names), {"b"}), world().now() + 500ms);
    both->start(both);
    const acquire first = ann->acquire("a", patient(*ann, kinds::exclusive));
    finish(both, 501ms);
    BOOST_TEST(first->granted());
    BOOST_TEST((both->outcome == acquire_outcome::contended));
    first->let_go();
    held->let_go();
}

BOOST_AUTO_TEST_CASE(a_waiter_for_several_names_that_has_let_others_pass_may_be_cancelled) {
    const acquire held = ann->lock("b", patient(*ann, kinds::exclusive));
    const acquire both = take_both(*this, *ann);
    const acquire first = ann->acquire("a", patient(*ann, kinds::exclusive));
    granted(first, 150ms);
    both->cancel();
    finish(both, 1ms);
    BOOST_TEST((both->outcome == acquire_outcome::cancelled));
    BOOST_TEST(ann->engine().parts().counts.queued == 0U);
    first->let_go();
    held->let_go();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
