// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Cluster commands that wait for a resend: when, in which order, and how many are sent at once.

#include "instance/redis/detour_queue.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using boost::unit_test::label;
using namespace std::chrono_literals;
using reason = detour_queue::reason;

constexpr core::time_point start{1h};

/// A command with a name.
struct command : detour_queue::entry {
    command(std::string n, std::string of_key) : name(std::move(n)), own_key(std::move(of_key)) {
        key = own_key;
    }
    command(const command&) = delete;
    std::string name;
    std::string own_key;
};

struct fixture {
    detour_queue queue{{2ms, 50ms}, 7};
    std::deque<command> all{};

    command& add(const std::string& name, const std::string& key,
                 core::time_point not_before = start, core::time_point give_up_at = core::never) {
        command& one = all.emplace_back(name, key);
        one.not_before = not_before;
        one.give_up_at = give_up_at;
        queue.add(one);
        return one;
    }

    std::vector<command*> take(core::time_point now) {
        std::vector<command*> result;
        while (auto* const one = queue.next(now)) {
            result.push_back(static_cast<command*>(one));
        }
        return result;
    }

    /// Returns the names of the commands to send now, in order, such as "a b".
    std::string taken(core::time_point now) {
        std::string result;
        for (const command* const one : take(now)) {
            result += (result.empty() ? "" : " ") + one->name;
        }
        return result;
    }

    /// Shuts this many slots, and adds a waiting command for each.
    void shut_many(std::size_t count, reason why) {
        for (std::size_t i = 0; i != count; ++i) {
            const std::string key = std::to_string(why == reason::hole ? i : i + 1'000'000);
            queue.shut(key_slot(key), why);
            add(key, key);
        }
    }

    ~fixture() {
        while (queue.any() != nullptr) {
        }
    }
};

BOOST_FIXTURE_TEST_SUITE(detour_queue_test, fixture)

BOOST_AUTO_TEST_CASE(an_empty_queue_delays_no_command) {
    BOOST_TEST(queue.empty());
    BOOST_TEST(!queue.holds_up(key_slot("k"), "k"));
    BOOST_TEST(taken(start).empty());
    BOOST_TEST((queue.next_time(start) == core::never));
    BOOST_TEST((queue.next_end() == core::never));
}

BOOST_AUTO_TEST_CASE(commands_for_one_key_stay_in_their_order, *label("fault-74")) {
    command& first = add("1", "k", start + 5ms);
    add("2", "k");
    add("3", "{k}");  // Another key of the same slot.
    BOOST_TEST(queue.holds_up(key_slot("k"), "k"));
    BOOST_TEST(!queue.holds_up(key_slot("k"), "{k}2"));
    BOOST_TEST(taken(start) == "3");
    BOOST_TEST((queue.next_time(start) == start + 5ms));
    BOOST_TEST(taken(start + 5ms) == "1 2");
    BOOST_TEST(!queue.holds_up(key_slot("k"), "k"));
    add("4", "k");
    queue.add(first);  // It was redirected again.
    BOOST_TEST(taken(start + 5ms) == "1 4");
}

BOOST_AUTO_TEST_CASE(a_command_expires_at_its_deadline) {
    add("1", "k", start + 1h, start + 9ms);
    add("2", "k", start, start + 7ms);
    BOOST_TEST((queue.next_end() == start + 7ms));
    BOOST_TEST(queue.next_over(start + 6ms) == nullptr);
    BOOST_TEST(static_cast<command*>(queue.next_over(start + 7ms))->name == "2");
    BOOST_TEST(queue.next_over(start + 7ms) == nullptr);
    BOOST_TEST(static_cast<command*>(queue.next_over(start + 9ms))->name == "1");
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_shut_slot_is_sent_one_command_at_a_time, *label("fault-103")) {
    queue.shut(key_slot("k"), reason::hole);
    BOOST_TEST(queue.holds_up(key_slot("k"), "{k}other"));
    BOOST_TEST(!queue.holds_up(key_slot("other"), "other"));
    add("1", "k");
    add("2", "k");
    add("3", "{k}3");
    const auto probe = take(start);
    BOOST_TEST_REQUIRE(probe.size() == 1U);
    BOOST_TEST(probe[0]->name == "1");
    BOOST_TEST(taken(start + 1h).empty());
    queue.ended(*probe[0], true, start + 1h);
    BOOST_TEST(!queue.holds_up(key_slot("k"), "{k}other"));
    BOOST_TEST(taken(start + 1h) == "3 2");
}

BOOST_AUTO_TEST_CASE(failed_probes_are_repeated_with_growing_pauses, *label("fault-103")) {
    queue.shut(key_slot("k"), reason::hole);
    add("1", "k");
    core::time_point now = start;
    std::size_t probes = 0;
    for (; now < start + 1s; now += 1ms) {
        for (command* const one : take(now)) {
            ++probes;
            queue.add(*one);
        }
    }
    BOOST_TEST(probes >= 20U);
    BOOST_TEST(probes <= 60U);
    queue.hurry(now);
    BOOST_TEST(taken(now) == "1");
}

BOOST_AUTO_TEST_CASE(many_shut_slots_are_probed_a_few_at_a_time, *label("fault-103")) {
    shut_many(1'000, reason::hole);
    std::size_t probes = 0;
    for (core::time_point now = start; now < start + 1s; now += 1ms) {
        const auto sent = take(now);
        BOOST_TEST(sent.size() <= detour_queue::round_size);
        probes += sent.size();
        for (command* const one : sent) {
            queue.add(*one);
        }
    }
    BOOST_TEST(probes <= 60 * detour_queue::round_size);
    BOOST_TEST((queue.next_time(start + 2s) == start + 2s));
}

BOOST_AUTO_TEST_CASE(successful_probes_allow_more_probes, *label("fault-103")) {
    shut_many(1'000, reason::hole);
    std::size_t executed = 0;
    for (int i = 0; i != 10; ++i) {
        for (command* const one : take(start)) {
            queue.ended(*one, true, start);
            ++executed;
        }
    }
    BOOST_TEST(executed == 1'000U);
    BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(holes_do_not_delay_probes_of_refused_slots, *label("fault-103")) {
    shut_many(1'000, reason::hole);
    for (command* const one : take(start)) {
        queue.add(*one);
    }
    shut_many(1, reason::refused);
    BOOST_TEST(take(start).size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_opened_slot_no_longer_delays_commands, *label("fault-103")) {
    shut_many(100, reason::refused);
    const std::string key = all.back().name;
    queue.open(key_slot(key));
    BOOST_TEST(!queue.holds_up(key_slot(key), key + "}"));
    BOOST_TEST(take(start).front()->name == key);
}

BOOST_AUTO_TEST_CASE(a_skipped_command_does_not_count_as_a_probe, *label("fault-103")) {
    queue.shut(key_slot("k"), reason::hole);
    add("1", "k");
    add("2", "k");
    auto* const first = queue.next(start);
    queue.skip(*first);
    BOOST_TEST(taken(start) == "2");
}

BOOST_AUTO_TEST_CASE(a_shut_slot_without_commands_waits_for_a_command) {
    queue.shut(key_slot("k"), reason::refused);
    BOOST_TEST((queue.next_time(start) == core::never));
    BOOST_TEST(queue.holds_up(key_slot("k"), "k"));
    add("1", "k");
    BOOST_TEST(taken(start) == "1");
    queue.shut(key_slot("k"), reason::hole);  // Another reason arises while the probe is under way.
    queue.ended(*all.begin(), false, start);
    BOOST_TEST(queue.holds_up(key_slot("k"), "k"));
    queue.open(key_slot("k"));
    BOOST_TEST(!queue.holds_up(key_slot("k"), "k"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
