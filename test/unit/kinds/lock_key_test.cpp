// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/lock_key.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/shared/shared.hpp"
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

BOOST_AUTO_TEST_SUITE(key_of_a_lock)

/// The scripts treat a list in the same way.
BOOST_AUTO_TEST_CASE(a_value_that_no_lock_wrote_denies_every_lock) {
    memory_store s;
    s.keys.put("k", 7, s.now + 1min);
    for (const lock_kind* const kind :
         {&exclusive, &writer, &fenced, &fenced_writer, &shared, &fenced_shared}) {
        const std::string token = kind->traits().admission.shares_lease() ? "reader:ann" : "ann";
        for (const step what : {step::acquire, step::extend, step::release}) {
            const vote v = s.run({what, *kind, true}, token);
            BOOST_TEST((v.kind == vote_kind::denied && v.key == core::key_state::foreign));
        }
        BOOST_TEST((s.run({step::remaining, *kind}, token).remaining == 1min));
    }
    BOOST_TEST(*s.run({step::extend, exclusive}, "ann").detail == "a value");
    BOOST_TEST((s.run({step::withdraw, writer}, "ann").kind == vote_kind::denied));
    BOOST_TEST(*s.keys.find("k", s.now)->as<int>() == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
