// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "kinds/table.hpp"
#include "kinds/auxiliary_key.hpp"
#include "kinds/exclusive.hpp"
#include "kinds/fence.hpp"
#include "kinds/label.hpp"
#include "kinds/lock_key.hpp"
#include "kinds/remote_queue.hpp"
#include "kinds/shared.hpp"
#include "support/step_of_kind.hpp"
#include "support/vote_text.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The fence counters of the memory instance, with clocks that tests can set. (What it shares with
// servers is in the conformance test.)

namespace colock::kinds {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;
using core::step;
using core::vote;
using core::vote_kind;

constexpr wall_time second(std::uint64_t seconds, std::uint64_t microseconds = 0) {
    return std::chrono::seconds(seconds) + std::chrono::microseconds(microseconds);
}
constexpr std::uint64_t at_second(std::uint64_t seconds) {
    return seconds << fence_second_bits;
}

/// A store, and the time.
struct subject {
    table keys;
    core::time_point now{std::chrono::hours(1000)};
    wall_time wall = second(1000, 250);

    /// `number` is a value, or without a token a ticket.
    vote run(const test::step_of_kind& v, const std::string& token, std::uint64_t number = 0) {
        kinds::command c = v.command();
        c.ticket = token.empty() ? number : test::client_of(token);
        c.key = "k";
        c.token = token;
        c.ttl = 10s;
        c.value = number;
        return keys.execute(c, now, wall);
    }
    /// The fence that `token` gets, who then lets go.
    std::uint64_t next(std::uint64_t least = 0) {
        const vote v = run(test::fenced_acquire, "ann", least);
        BOOST_TEST_REQUIRE((v.kind == vote_kind::granted));
        BOOST_TEST_REQUIRE((run(step::release, "ann").kind == vote_kind::granted));
        return v.value;
    }
};

BOOST_AUTO_TEST_SUITE(kinds_in_memory)

BOOST_AUTO_TEST_CASE(the_first_fence_encodes_the_time_with_microseconds) {
    subject s;
    BOOST_TEST(s.next() == at_second(1000) + 250);
}

BOOST_AUTO_TEST_CASE(later_fences_increase_and_do_not_lag_behind_the_clock) {
    subject s;
    const auto first = s.next();
    s.wall = second(1000, 900'000);
    BOOST_TEST(s.next() == first + 1);
    BOOST_TEST(s.next() == first + 2);
    s.wall = second(1003, 900'000);
    BOOST_TEST(s.next() == at_second(1003));
    BOOST_TEST(s.next() == at_second(1003) + 1);
    s.wall = second(5);  // set back
    BOOST_TEST(s.next() == at_second(1003) + 2);
}

BOOST_AUTO_TEST_CASE(a_lost_counter_restarts_above_all_granted_fences) {
    subject s;
    std::uint64_t last = s.next();
    for (int i = 1; i != 100; ++i) {  // one a microsecond
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
    subject s;
    s.next();
    s.wall = second(5);  // only to see whether it is still there
    s.now += fence_idle - 1ms;
    BOOST_TEST(s.next() > at_second(1000));
    s.now += fence_idle - 1ms;  // counted from the last use
    BOOST_TEST(s.next() > at_second(1000));
    s.now += fence_idle;
    BOOST_TEST(s.next() == at_second(5));
}

BOOST_AUTO_TEST_CASE(a_denied_acquire_does_not_increment_the_counter) {
    subject s;
    const auto fence = s.run(test::fenced_acquire, "ann").value;
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST((s.run(test::fenced_acquire, "bob").kind == vote_kind::denied));
    }
    s.run(step::release, "ann");
    BOOST_TEST(s.run(test::fenced_acquire, "bob").value == fence + 1);
}

BOOST_AUTO_TEST_CASE(a_plain_lock_excludes_fenced_acquires_and_does_not_count) {
    subject s;
    const auto fence = s.next();
    BOOST_TEST((s.run(step::acquire, "bob").kind == vote_kind::granted));
    BOOST_TEST((s.run(test::fenced_acquire, "ann").kind == vote_kind::denied));
    s.run(step::release, "bob");
    BOOST_TEST(s.next() == fence + 1);
}

BOOST_AUTO_TEST_CASE(only_the_holder_raises_the_counter_and_never_lowers_it) {
    subject s;
    const auto fence = s.run(test::fenced_acquire, "ann").value;
    BOOST_TEST((s.run(step::confirm, "bob", fence + 50).kind == vote_kind::denied));
    BOOST_TEST(s.run(step::confirm, "ann", fence + 10).value == fence + 10);
    BOOST_TEST(s.run(step::confirm, "ann", fence).value == fence + 10);
    s.run(step::release, "ann");
    BOOST_TEST((s.run(step::confirm, "ann", fence + 90).key == core::key_state::absent));
    BOOST_TEST(s.next() == fence + 11);
}

BOOST_AUTO_TEST_CASE(raising_a_lost_counter_creates_it_again) {
    subject s;
    const auto fence = s.run(test::fenced_acquire, "ann").value;
    s.keys.erase(fence_key("k"));
    BOOST_TEST(s.run(step::confirm, "ann", fence + at_second(9)).value == fence + at_second(9));
    s.keys.erase(fence_key("k"));
    s.wall += 1us;
    BOOST_TEST(s.run(step::confirm, "ann", 1).value == fence + 1);  // by the clock
}

BOOST_AUTO_TEST_CASE(a_restored_key_gets_at_least_the_fence_of_its_lease) {
    subject s;
    const auto fence = s.next();
    BOOST_TEST(s.next(fence) == fence);
    BOOST_TEST(s.next(fence - 5) == fence);
    BOOST_TEST(s.next(fence + 5) == fence + 5);
    s.keys.clear();
    BOOST_TEST(s.next(at_second(2000)) == at_second(2000));
    s.keys.clear();
    BOOST_TEST(s.next(7) == at_second(1000) + 250);  // whatever it has forgotten was no more
}

BOOST_AUTO_TEST_CASE(a_counter_at_its_limit_fails_further_acquires) {
    subject s;
    s.run(test::fenced_acquire, "ann");
    s.run(step::confirm, "ann", core::value_limit - 2);
    s.run(step::release, "ann");
    BOOST_TEST(s.next() == core::value_limit - 1);
    for (int i = 0; i != 2; ++i) {  // it stays so
        const vote v = s.run(test::fenced_acquire, "ann");
        BOOST_TEST((v.kind == vote_kind::failed && v.reason == core::failure::server_error));
        BOOST_TEST(v.detail->starts_with("FENCE "));
        BOOST_TEST(
            (s.keys.find("k", s.now) == nullptr));  // nobody has the key whom it has not counted
    }
    s.run(step::acquire, "ann");
    BOOST_TEST((s.run(step::confirm, "ann", core::value_limit).kind == vote_kind::failed));
}

BOOST_AUTO_TEST_CASE(expired_keys_are_collected) {
    table keys;
    kinds::command c;
    c.step = step::acquire;
    c.kind = &exclusive;
    c.token = "ann";
    c.ttl = 1ms;
    core::time_point now{std::chrono::hours(1000)};
    for (int i = 0; i != 5000; ++i) {
        const std::string key = std::to_string(i);
        c.key = key;
        keys.execute(c, now, second(1000));
        now += 2ms;
    }
    BOOST_TEST(keys.size() < 5000U);
}

// --- The remote queue, as join.lua and leave.lua have it -----------------------------------------

BOOST_AUTO_TEST_CASE(joining_the_queue_returns_the_ticket_ahead) {
    subject s;
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
    subject s;
    s.run(step::join, "", 11);
    s.now += 6s;
    BOOST_TEST(s.run(step::join, "", 12).value == 11U);
    s.now += 6s;  // the ttl of the first is over
    BOOST_TEST(s.run(step::join, "", 12).value == 0U);
    s.now += 11s;
    BOOST_TEST(s.run(step::leave, "", 99).value == 0U);
}

// The waiter behind it is told of each change.
BOOST_AUTO_TEST_CASE(a_ticket_is_not_rewritten_on_every_join) {
    subject s;
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

/// Fault 21: the clock of a simulated server can be set back, as that of a real one.
BOOST_AUTO_TEST_CASE(a_writer_mark_ends_when_the_clock_is_set_back, *label("fault-21")) {
    const test::step_of_kind claims(step::acquire, writer, true);
    for (const bool waits : {true, false}) {
        subject s;
        s.run({step::acquire, shared}, "reader:a");
        s.run(claims, "bob");
        s.now -= 1min;
        s.run(waits ? claims : claims.without_waiting(), "cid");
        const core::time_point expected = waits ? s.now + writer_mark_ttl : core::time_point::min();
        BOOST_TEST((lock_key(s.keys, "k", s.now).marked_until() == expected));
    }
    subject s;
    s.run({step::acquire, shared}, "reader:a");
    s.run(claims, "bob");
    s.run({step::release, shared}, "reader:a");
    BOOST_TEST((s.keys.find("k", s.now) != nullptr));
    s.now -= 1min;
    BOOST_TEST((s.run(step::acquire, "cid").kind == vote_kind::granted));
    BOOST_TEST((s.run(step::extend, "cid").kind == vote_kind::granted));
}

BOOST_AUTO_TEST_CASE(only_a_token_has_a_label) {
    const std::string digits(40, 'a');
    const std::string longest(64, '~');
    for (const std::string& prefix : {std::string(), std::string("reader:")}) {
        BOOST_TEST(label_in(prefix + digits + "@web-1:4711") == "web-1:4711");
        BOOST_TEST(label_in(prefix + digits + "@@") == "@");
        BOOST_TEST(label_in(prefix + digits + "@" + longest) == longest);
        for (const std::string& other :
             {digits, digits + "@", digits + "@a b", digits + "@" + longest + "x",
              digits + "@\xc3\xa9", digits.substr(1) + "@a", digits + "a@a",
              std::string(40, 'A') + "@a", std::string(40, 'g') + "@a", std::string("@a"),
              std::string("somebody@else"), std::string()}) {
            BOOST_TEST(label_in(prefix + other).empty(), other);
        }
    }
    BOOST_TEST(label_in("reader:reader:" + digits + "@a").empty());
    BOOST_TEST(label_in("writer:" + digits + "@a").empty());
}

/// Clients that have asked for the key are told of each change.
BOOST_AUTO_TEST_CASE(a_writer_attempt_without_a_mark_changes_no_key) {
    subject s;
    const test::step_of_kind claims(step::acquire, writer, true);
    s.run({step::acquire, shared}, "reader:a");
    s.run(claims.without_waiting(), "bob");
    BOOST_TEST(s.keys.changes().empty());
    s.run(claims, "bob");
    BOOST_TEST(s.keys.changes().size() == 1U);
    s.run(claims.without_waiting(), "cid");
    BOOST_TEST(s.keys.changes().empty());
}

BOOST_AUTO_TEST_CASE(a_lock_named_like_a_ticket_is_not_overwritten) {
    subject s;
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

// --- Names, and what others have under them ------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_name_holds_a_value_of_one_type_until_its_end) {
    table keys;
    const core::time_point now{std::chrono::hours(1000)};
    BOOST_TEST((keys.find("k", now) == nullptr));
    keys.put("k", "text", now + 2ms);
    BOOST_TEST_REQUIRE((keys.find("k", now) != nullptr));
    BOOST_TEST(*keys.find("k", now)->as<std::string>() == "text");
    BOOST_TEST((keys.find("k", now)->as<int>() == nullptr));
    keys.put("k", 7, now + 1ms);
    BOOST_TEST((keys.find("k", now)->as<std::string>() == nullptr));
    BOOST_TEST((keys.find("k", now)->as<unsigned>() == nullptr));
    BOOST_TEST(*keys.find("k", now)->as<int>() == 7);
    const table copy = keys;
    BOOST_TEST((keys.find("k", now + 1ms) == nullptr));
    BOOST_TEST(keys.size() == 0U);
    BOOST_TEST(copy.size() == 1U);
    keys.put("k", std::string("text"), now + 1ms);
    keys.erase("k");
    keys.erase("k");
    BOOST_TEST(keys.size() == 0U);
}

/// As the scripts do with a list.
BOOST_AUTO_TEST_CASE(a_value_that_no_lock_wrote_denies_every_lock) {
    subject s;
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

BOOST_AUTO_TEST_CASE(a_value_in_the_place_of_a_counter_or_a_queue_is_not_touched) {
    subject s;
    s.keys.put(fence_key("k"), "text", s.now + 1min);
    const vote counted = s.run(test::fenced_acquire, "ann");
    BOOST_TEST((counted.kind == vote_kind::failed && counted.detail->starts_with("FENCE ")));
    BOOST_TEST((s.keys.find("k", s.now) == nullptr));
    s.keys.put(queue_key("k"), "text", s.now + 1min);
    const vote joined = s.run(step::join, "", 11);
    BOOST_TEST((joined.kind == vote_kind::failed && joined.detail->starts_with("QUEUE ")));
    BOOST_TEST(s.run(step::leave, "", 11).value == 0U);
    BOOST_TEST(s.keys.size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::kinds
