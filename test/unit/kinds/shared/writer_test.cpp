// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/lock_key.hpp"
#include "kinds/shared/shared.hpp"
#include "unit/kinds/memory_store.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::kinds {
namespace {

using namespace std::chrono_literals;
using namespace colock::test;
using boost::unit_test::label;
using core::step;
using core::vote_kind;

BOOST_AUTO_TEST_SUITE(writer_marks)

/// Fault 21: the clock of a simulated server can be set back, like that of a real server.
BOOST_AUTO_TEST_CASE(a_writer_mark_ends_when_the_clock_is_set_back, *label("fault-21")) {
    const step_of_kind claims(step::acquire, writer, true);
    for (const bool waits : {true, false}) {
        memory_store s;
        s.run({step::acquire, shared}, "reader:a");
        s.run(claims, "bob");
        s.now -= 1min;
        s.run(waits ? claims : claims.without_waiting(), "cid");
        const core::time_point expected = waits ? s.now + writer_mark_ttl : core::time_point::min();
        BOOST_TEST((lock_key(s.keys, "k", s.now).marked_until() == expected));
    }
    memory_store s;
    s.run({step::acquire, shared}, "reader:a");
    s.run(claims, "bob");
    s.run({step::release, shared}, "reader:a");
    BOOST_TEST((s.keys.find("k", s.now) != nullptr));
    s.now -= 1min;
    BOOST_TEST((s.run(step::acquire, "cid").kind == vote_kind::granted));
    BOOST_TEST((s.run(step::extend, "cid").kind == vote_kind::granted));
}

/// A change would notify the clients that track the key.
BOOST_AUTO_TEST_CASE(a_writer_attempt_without_a_mark_changes_no_key) {
    memory_store s;
    const step_of_kind claims(step::acquire, writer, true);
    s.run({step::acquire, shared}, "reader:a");
    s.run(claims.without_waiting(), "bob");
    BOOST_TEST(s.keys.changes().empty());
    s.run(claims, "bob");
    BOOST_TEST(s.keys.changes().size() == 1U);
    s.run(claims.without_waiting(), "cid");
    BOOST_TEST(s.keys.changes().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
