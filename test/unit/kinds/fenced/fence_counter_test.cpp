// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/fenced/fence_counter.hpp"
#include "kinds/fenced/fenced.hpp"
#include "unit/kinds/memory_store.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::kinds {
namespace {

using namespace std::chrono_literals;
using namespace colock::test;
using core::step;
using core::vote;
using core::vote_kind;

BOOST_AUTO_TEST_SUITE(fence_counter)

BOOST_AUTO_TEST_CASE(the_first_fence_encodes_the_time_with_microseconds) {
    memory_store s;
    BOOST_TEST(s.next() == at_second(1000) + 250);
}

BOOST_AUTO_TEST_CASE(later_fences_increase_and_do_not_lag_behind_the_clock) {
    memory_store s;
    const auto first = s.next();
    s.wall = second(1000, 900'000);
    BOOST_TEST(s.next() == first + 1);
    BOOST_TEST(s.next() == first + 2);
    s.wall = second(1003, 900'000);
    BOOST_TEST(s.next() == at_second(1003));
    BOOST_TEST(s.next() == at_second(1003) + 1);
    s.wall = second(5);  // The clock is set back.
    BOOST_TEST(s.next() == at_second(1003) + 2);
}

BOOST_AUTO_TEST_CASE(a_lost_counter_restarts_above_all_granted_fences) {
    memory_store s;
    std::uint64_t last = s.next();
    for (int i = 1; i != 100; ++i) {  // One per microsecond.
        s.wall += 1us;
        if (i % 7 == 0) {
            s.keys.erase(fence_key("k"));
        }
        const auto fence = s.next();
        BOOST_TEST(fence > last);
        last = fence;
    }
}

BOOST_AUTO_TEST_CASE(an_idle_counter_expires) {
    memory_store s;
    s.next();
    s.wall = second(5);  // Shows whether the counter still exists.
    s.now += fence_idle - 1ms;
    BOOST_TEST(s.next() > at_second(1000));
    s.now += fence_idle - 1ms;  // The time counts from the last use.
    BOOST_TEST(s.next() > at_second(1000));
    s.now += fence_idle;
    BOOST_TEST(s.next() == at_second(5));
}

BOOST_AUTO_TEST_CASE(a_denied_acquire_does_not_increment_the_counter) {
    memory_store s;
    const auto fence = s.run(fenced_acquire, "ann").value;
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST((s.run(fenced_acquire, "bob").kind == vote_kind::denied));
    }
    s.run(step::release, "ann");
    BOOST_TEST(s.run(fenced_acquire, "bob").value == fence + 1);
}

BOOST_AUTO_TEST_CASE(a_plain_lock_excludes_fenced_acquires_and_does_not_count) {
    memory_store s;
    const auto fence = s.next();
    BOOST_TEST((s.run(step::acquire, "bob").kind == vote_kind::granted));
    BOOST_TEST((s.run(fenced_acquire, "ann").kind == vote_kind::denied));
    s.run(step::release, "bob");
    BOOST_TEST(s.next() == fence + 1);
}

BOOST_AUTO_TEST_CASE(only_the_holder_raises_the_counter_and_never_lowers_it) {
    memory_store s;
    const auto fence = s.run(fenced_acquire, "ann").value;
    BOOST_TEST((s.run(step::confirm, "bob", fence + 50).kind == vote_kind::denied));
    BOOST_TEST(s.run(step::confirm, "ann", fence + 10).value == fence + 10);
    BOOST_TEST(s.run(step::confirm, "ann", fence).value == fence + 10);
    s.run(step::release, "ann");
    BOOST_TEST((s.run(step::confirm, "ann", fence + 90).key == core::key_state::absent));
    BOOST_TEST(s.next() == fence + 11);
}

BOOST_AUTO_TEST_CASE(raising_a_lost_counter_creates_it_again) {
    memory_store s;
    const auto fence = s.run(fenced_acquire, "ann").value;
    s.keys.erase(fence_key("k"));
    BOOST_TEST(s.run(step::confirm, "ann", fence + at_second(9)).value == fence + at_second(9));
    s.keys.erase(fence_key("k"));
    s.wall += 1us;
    BOOST_TEST(s.run(step::confirm, "ann", 1).value == fence + 1);  // The clock gives this value.
}

BOOST_AUTO_TEST_CASE(a_restored_key_gets_at_least_the_fence_of_its_lease) {
    memory_store s;
    const auto fence = s.next();
    BOOST_TEST(s.next(fence) == fence);
    BOOST_TEST(s.next(fence - 5) == fence);
    BOOST_TEST(s.next(fence + 5) == fence + 5);
    s.keys.clear();
    BOOST_TEST(s.next(at_second(2000)) == at_second(2000));
    s.keys.clear();
    BOOST_TEST(s.next(7) == at_second(1000) + 250);  // The lost counter was not larger.
}

BOOST_AUTO_TEST_CASE(a_counter_at_its_limit_fails_further_acquires) {
    memory_store s;
    s.run(fenced_acquire, "ann");
    s.run(step::confirm, "ann", core::value_limit - 2);
    s.run(step::release, "ann");
    BOOST_TEST(s.next() == core::value_limit - 1);
    for (int i = 0; i != 2; ++i) {  // The failure is permanent.
        const vote v = s.run(fenced_acquire, "ann");
        BOOST_TEST((v.kind == vote_kind::failed && v.reason == core::failure::server_error));
        BOOST_TEST(v.detail->starts_with("FENCE "));
        BOOST_TEST(
            (s.keys.find("k", s.now) == nullptr));  // Without a count, there is no key either.
    }
    s.run(step::acquire, "ann");
    BOOST_TEST((s.run(step::confirm, "ann", core::value_limit).kind == vote_kind::failed));
}

BOOST_AUTO_TEST_CASE(a_value_in_the_place_of_the_counter_is_not_overwritten) {
    memory_store s;
    s.keys.put(fence_key("k"), "text", s.now + 1min);
    const vote v = s.run(fenced_acquire, "ann");
    BOOST_TEST((v.kind == vote_kind::failed && v.detail->starts_with("FENCE ")));
    BOOST_TEST(s.keys.size() == 1U);
    BOOST_TEST(*s.keys.find(fence_key("k"), s.now)->as<std::string>() == "text");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
