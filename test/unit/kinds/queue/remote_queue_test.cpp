// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/queue/remote_queue.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "unit/kinds/memory_store.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

namespace colock::kinds {
namespace {

using namespace std::chrono_literals;
using namespace colock::test;
using core::step;
using core::vote;
using core::vote_kind;

BOOST_AUTO_TEST_SUITE(remote_queue_in_memory)

BOOST_AUTO_TEST_CASE(joining_the_queue_returns_the_ticket_ahead) {
    memory_store s;
    BOOST_TEST(s.run(step::join, "", 11).value == 0U);
    BOOST_TEST(s.run(step::join, "", 12).value == 11U);
    BOOST_TEST(s.run(step::join, "", 13).value == 12U);
    BOOST_TEST(s.run(step::join, "", 12).value == 11U);
    BOOST_TEST(s.run(step::leave, "", 12).value == 2U);
    BOOST_TEST(s.run(step::join, "", 13).value == 11U);
    BOOST_TEST(s.run(step::leave, "", 11).value == 1U);
    BOOST_TEST(s.run(step::join, "", 13).value == 0U);
    BOOST_TEST(s.run(step::leave, "", 13).value == 0U);
    BOOST_TEST(s.keys.size() == 0U);
}

BOOST_AUTO_TEST_CASE(a_waiter_whose_ticket_has_expired_is_skipped) {
    memory_store s;
    s.run(step::join, "", 11);
    s.now += 6s;
    BOOST_TEST(s.run(step::join, "", 12).value == 11U);
    s.now += 6s;  // The ttl of the first ticket is over.
    BOOST_TEST(s.run(step::join, "", 12).value == 0U);
    s.now += 11s;
    BOOST_TEST(s.run(step::leave, "", 99).value == 0U);
}

/// A change of the ticket would notify the waiter behind it.
BOOST_AUTO_TEST_CASE(a_ticket_is_not_rewritten_on_every_join) {
    memory_store s;
    const auto changes = [&s] { return std::ranges::count(s.keys.changes(), ticket_key("k", 11)); };
    s.run(step::join, "", 11);
    BOOST_TEST(changes() == 1);
    s.now += 4s;
    s.run(step::join, "", 11);
    BOOST_TEST(s.keys.changes().empty());
    s.now += 2s;
    s.run(step::join, "", 11);
    BOOST_TEST(changes() == 1);
    s.run(step::leave, "", 11);
    BOOST_TEST(changes() == 1);
}

BOOST_AUTO_TEST_CASE(a_lock_named_like_a_ticket_is_not_overwritten) {
    memory_store s;
    kinds::command c;
    c.kind = &exclusive;
    c.key = "{k}:colock:ticket:11";
    c.token = "ann";
    c.ttl = 10s;
    s.keys.execute(c, s.now);
    BOOST_TEST((s.run(step::join, "", 11).kind == vote_kind::failed));
    s.run(step::leave, "", 11);
    c.step = step::extend;
    BOOST_TEST((s.keys.execute(c, s.now).kind == vote_kind::granted));
}

BOOST_AUTO_TEST_CASE(a_value_in_the_place_of_the_queue_is_not_overwritten) {
    memory_store s;
    s.keys.put(queue_key("k"), "text", s.now + 1min);
    const vote v = s.run(step::join, "", 11);
    BOOST_TEST((v.kind == vote_kind::failed && v.detail->starts_with("QUEUE ")));
    BOOST_TEST(s.run(step::leave, "", 11).value == 0U);
    BOOST_TEST(s.keys.size() == 1U);
    BOOST_TEST(*s.keys.find(queue_key("k"), s.now)->as<std::string>() == "text");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
