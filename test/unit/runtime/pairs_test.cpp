// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Each pair of kinds, holder and waiter in one client, and each way to end the hold, in virtual time.

#include "kinds/fenced/fenced.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/inspection/inspection.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "runtime/operations/inquiry_operation.hpp"
#include "unit/runtime/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace colock;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;

/// A lock on the name "a".
struct lock_case {
    std::string name;
    const kinds::lock_kind& kind;
    bool is_reentrant = false;
    std::vector<std::string> more_names{};
    std::uint32_t permits =
        0;  ///< Of a semaphore. Locks with different numbers must not share a name.
};

const std::vector<lock_case>& lock_cases() {
    static const std::vector<lock_case> all{
        {"mutex", kinds::exclusive},
        {"fenced mutex", kinds::fenced},
        {"reentrant_mutex", kinds::exclusive, true},
        {"fifo mutex", kinds::fifo},
        {"writer", kinds::writer},
        {"reader", kinds::shared},
        {"fenced reader", kinds::fenced_shared},
        {"permit of one", kinds::semaphore(1, 1), false, {}, 1},
        {"permit of two", kinds::semaphore(2, 1), false, {}, 2},
        {"two permits", kinds::semaphore(2, 2), false, {}, 2},
        {"multi_mutex", kinds::multi, false, {"b"}},
    };
    return all;
}

std::shared_ptr<const runtime::lock_spec> spec_of(const client& by, const lock_case& lock) {
    runtime::lock_policy policy = by.usual_policy();
    policy.set_kind(lock.kind);
    policy.place_refresh = 250ms;
    const auto spec =
        std::make_shared<runtime::lock_spec>(*by.spec_of("a", policy, lock.more_names));
    spec->is_reentrant = lock.is_reentrant;
    spec->more_keys.assign(spec->more_names.begin(), spec->more_names.end());
    return spec;
}

class noted_detach final : public runtime::handover_operation {
public:
    using handover_operation::handover_operation;
    void deliver() override { lease = std::make_shared<runtime::handover>(handed_over()); }
    std::shared_ptr<const runtime::handover> lease;
};

class noted_adoption final : public runtime::acquire_operation {
public:
    using acquire_operation::acquire_operation;
    void deliver() override { lease = take_lease(); }
    std::shared_ptr<runtime::lease_driver> lease;
};

class noted_break final : public runtime::inquiry_operation {
public:
    using inquiry_operation::inquiry_operation;
    void deliver() override { is_finished = true; }
    bool is_finished = false;
};

/// Some servers, and a client that has a holder and a waiter.
struct scene : virtual_deployment {
    explicit scene(std::size_t servers) : virtual_deployment(servers), count(servers) {
        tell_changes();
    }

    acquire begin(const lock_case& lock, std::uint64_t owner) {
        auto made = std::make_shared<virtual_acquire>(world(), spec_of(*ann, lock), core::never,
                                                      lock.is_reentrant ? owner : 0);
        made->start(made);
        return made;
    }
    void break_lock(const std::string& name) {
        runtime::inquiry question;
        question.owner = {std::shared_ptr<void>(), &ann->engine().parts()};
        question.key = name;
        question.token = holder->lease->token();
        const kinds::removal how = kinds::removal_of(question.token).value();
        question.kind = how.kind;
        question.step = how.step;
        const auto made = std::make_shared<noted_break>(std::move(question));
        made->start(made);
        finish(made);
    }
    void lose_keys() {
        for (std::size_t i = 0; i != count; ++i) {
            server(i).keys.erase("a");
            server(i).keys.erase("b");
        }
        BOOST_TEST_REQUIRE(world().run_until([&] { return is_lost(); }));
    }
    [[nodiscard]] bool is_lost() const {
        return holder->lease->loss(holder->holder_number) != core::loss::none;
    }
    std::shared_ptr<runtime::lease_driver> move_to_bob(const lock_case& lock) {
        const auto detach = std::make_shared<noted_detach>(holder->lease, holder->holder_number);
        detach->start(detach);
        BOOST_TEST_REQUIRE(world().run_until([&] { return detach->lease != nullptr; }));
        const auto adoption = std::make_shared<noted_adoption>(spec_of(*bob, lock), detach->lease);
        adoption->start(adoption);
        BOOST_TEST_REQUIRE(world().run_until([&] { return adoption->lease != nullptr; }));
        world().run_for(1s);
        return adoption->lease;
    }

    std::size_t count;
    std::unique_ptr<client> ann = make_client();
    std::unique_ptr<client> bob = make_client();
    acquire holder;
    acquire waiter;
};

/// Prepares and carries out the end of a hold. The waiter must be woken when the returned function was called.
using ending = std::function<std::function<void()>(scene&, const lock_case&)>;

const std::vector<std::pair<std::string, ending>>& endings() {
    static const std::vector<std::pair<std::string, ending>> all{
        {"release",
         [](scene& in, const lock_case&) {
             return [&in] { static_cast<void>(in.holder->release()); };
         }},
        {"destructor", [](scene& in, const lock_case&) { return [&in] { in.holder->let_go(); }; }},
        {"break_lock", [](scene& in, const lock_case&) { return [&in] { in.break_lock("a"); }; }},
        {"release after a loss",
         [](scene& in, const lock_case&) {
             in.lose_keys();
             return [&in] { in.holder->let_go(); };
         }},
        {"break_lock after a loss",
         [](scene& in, const lock_case&) {
             in.holder->lease->on_close();  // Lost, and the keys are still there.
             return [&in] { in.break_lock("a"); };
         }},
        {"detach, and release by another client",
         [](scene& in, const lock_case& lock) {
             const auto moved = in.move_to_bob(lock);
             return [moved] { moved->let_go(0); };
         }},
    };
    return all;
}

BOOST_AUTO_TEST_SUITE(pairs)

BOOST_AUTO_TEST_CASE(a_waiter_is_woken_when_a_hold_of_its_client_ends, *label("fault-132")) {
    std::size_t pairs = 0;
    for (const std::size_t servers : {1U, 3U}) {
        for (const lock_case& held : lock_cases()) {
            for (const lock_case& wanted : lock_cases()) {
                for (const auto& [name, end] : endings()) {
                    const bool is_ordered =
                        &held.kind == &kinds::fifo || &wanted.kind == &kinds::fifo;
                    if ((servers != 1 && is_ordered) || held.permits != wanted.permits) {
                        continue;
                    }
                    BOOST_TEST_CONTEXT(held.name << ", " << wanted.name << ", " << name << ", "
                                                 << servers << " servers") {
                        scene in(servers);
                        in.holder = in.granted(in.begin(held, 1));
                        in.world().run_for(1s);
                        in.waiter = in.begin(wanted, 2);
                        in.world().run_for(1s);
                        if (in.waiter->is_finished) {  // Both may have the name.
                            BOOST_TEST(in.waiter->granted());
                            continue;
                        }
                        end(in, held)();
                        BOOST_TEST(
                            in.world().run_until([&] { return in.waiter->granted(); }, 100ms));
                        ++pairs;
                    }
                }
            }
        }
    }
    BOOST_TEST(pairs == 678U);
}

// A lease with several names ends when any of them is broken.
BOOST_AUTO_TEST_CASE(a_break_ends_the_lease_and_says_so, *label("fault-132")) {
    for (const char* const name : {"a", "b"}) {
        scene in(3);
        in.holder = in.granted(in.begin(lock_cases().back(), 0));
        in.waiter = in.begin(lock_cases().front(), 0);
        in.world().run_for(1s);
        in.break_lock(name);
        BOOST_TEST_REQUIRE((in.holder->lease->loss(0) == core::loss::keys_gone));
        BOOST_TEST(in.holder->lease->loss_details().ends_with(
            ": break_lock of this client has removed it"));
        in.finish(in.waiter, 100ms);
        BOOST_TEST(in.waiter->granted());
        const auto late = in.holder->release();
        BOOST_TEST_REQUIRE(in.world().run_until([&] { return late->told.has_value(); }));
        BOOST_TEST((late->told == core::release_outcome::lost));
        BOOST_TEST((in.waiter->valid_until() > in.world().now()));
    }
}

// The token of another name, and a token that no quorum had, end no lease.
BOOST_AUTO_TEST_CASE(a_break_without_effect_ends_no_lease) {
    scene in(3);
    in.holder = in.granted(in.begin(lock_cases().front(), 0));
    in.break_lock("c");
    in.world().run_for(1s);
    BOOST_TEST((in.holder->valid_until() > in.world().now()));
    in.server(0).is_silent = true;
    in.server(1).is_silent = true;
    in.break_lock("a");
    BOOST_TEST(!in.is_lost());
    BOOST_TEST((in.holder->valid_until() > in.world().now()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
