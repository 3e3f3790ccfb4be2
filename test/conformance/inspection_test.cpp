// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// What an instance reports about a name, and the removal of a token by somebody else.

#include "kinds/inspection/inspection.hpp"
#include "conformance.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "kinds/fenced/fenced.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/inspection/report.hpp"
#include "kinds/multi/multi.hpp"
#include "kinds/once/once.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "kinds/versioned/versioned.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(inspection_test)

using namespace colock::test;
using colock::kinds::key_report;

inline const step_of_kind inspects{step::inspect, colock::kinds::inspection};

inline std::string permit_of(const std::string& digits, unsigned count = 1) {
    return "permit:4*" + std::to_string(count) + ":" + token_of(digits);
}

/// The steps on one name.
struct one_name {
    explicit one_name(kind k, std::string name = "k") : of(k), key(std::move(name)) {}

    std::string ask(const step_of_kind& what, const std::string& token = "",
                    milliseconds ttl = 10min) {
        return to_text(of.rig.ask(what, key, token, ttl));
    }
    std::string take(const std::string& token, milliseconds ttl = 10min) {
        return ask({step::acquire, colock::kinds::exclusive}, token, ttl);
    }
    std::string read(const std::string& token, milliseconds ttl = 10min) {
        return ask(joins, token, ttl);
    }
    std::string take_permits(const std::string& token, unsigned count = 1,
                             milliseconds ttl = 10min) {
        return ask({step::acquire, colock::kinds::semaphore(4, count), true}, token, ttl);
    }
    vote break_lock(const std::string& token) {
        const auto how = colock::kinds::removal_of(token).value();
        const bool is_mark = how.step == step::withdraw;
        return of.rig.ask_fence({how.step, *how.kind}, key, is_mark ? "" : token, how.ticket);
    }

    key_report report(const step_of_kind& what = inspects) {
        const vote answer = of.rig.ask(what, key);
        BOOST_TEST_REQUIRE(to_text(answer) == "granted");
        return colock::kinds::parse_report(*answer.detail).value();
    }

    subject of;
    std::string key;
};

inline bool is_about(milliseconds value, milliseconds expected) {
    return value <= expected && value > expected - 2min;
}

inline strings tokens_of(const key_report& report) {
    strings result;
    for (const auto& one : report.holders) {
        result.push_back(one.token);
    }
    return result;
}

BOOST_DATA_TEST_CASE(a_free_name_has_nothing, all_kinds) {
    one_name n(sample);
    BOOST_TEST((n.report() == key_report()));
}

BOOST_DATA_TEST_CASE(an_exclusive_holder_is_reported, all_kinds) {
    one_name n(sample);
    n.take(ann + "@web-1");
    const key_report report = n.report();
    BOOST_TEST(report.content == "token");
    BOOST_TEST(is_about(report.ttl, 10min));
    BOOST_TEST(report.holder_count == 1U);
    BOOST_TEST(tokens_of(report) == strings{ann + "@web-1"});
    BOOST_TEST((report.holders[0].remaining == report.ttl));
    BOOST_TEST(report.size == 0U);
    BOOST_TEST(report.fence == 0U);
}

BOOST_DATA_TEST_CASE(a_fence_outlives_its_holder, all_kinds) {
    one_name n(sample);
    const auto tag = n.of.rig.submit(fenced_acquire, "k", ann);
    n.of.rig.run_until_voted();
    const std::uint64_t fence = n.of.rig.vote_on(tag).value;
    BOOST_TEST(n.report().fence == fence);
    BOOST_TEST(to_text(n.break_lock(ann)) == "granted");
    const key_report after = n.report();
    BOOST_TEST(after.content == "nothing");
    BOOST_TEST((after.ttl == milliseconds(-2)));
    BOOST_TEST(after.fence == fence);
}

BOOST_DATA_TEST_CASE(readers_are_reported_with_the_longest_first, all_kinds) {
    one_name n(sample);
    n.read(ann_reads, 10min);
    BOOST_TEST(tokens_of(n.report()) == strings{ann_reads});
    n.read(bob_reads, 30min);
    n.read(cid_reads, 20min);
    const key_report report = n.report();
    BOOST_TEST(report.content == "readers");
    BOOST_TEST(report.holder_count == 3U);
    BOOST_TEST((tokens_of(report) == strings{bob_reads, cid_reads, ann_reads}));
    BOOST_TEST(is_about(report.holders[0].remaining, 30min));
    BOOST_TEST(is_about(report.holders[2].remaining, 10min));
    BOOST_TEST(is_about(report.ttl, 30min));
    BOOST_TEST(report.writer_count == 0U);
}

BOOST_DATA_TEST_CASE(a_reader_that_has_ended_is_not_reported, all_kinds) {
    one_name n(sample);
    n.read(ann_reads, 10min);
    n.read(bob_reads, 20ms);
    n.of.rig.run_until([&] { return n.report().holder_count == 1; });
    BOOST_TEST(tokens_of(n.report()) == strings{ann_reads});
}

BOOST_DATA_TEST_CASE(a_waiting_writer_is_reported, all_kinds) {
    one_name n(sample);
    n.read(ann_reads);
    // The mark lives for a second, and the machine may be slow.
    key_report report;
    n.of.rig.run_until([&] {
        n.ask(claims, bob);
        report = n.report();
        return report.writer_count == 1;
    });
    BOOST_TEST(report.content == "readers");
    BOOST_TEST(tokens_of(report) == strings{ann_reads});
    BOOST_TEST_REQUIRE(report.writers.size() == 1U);
    BOOST_TEST(report.writers[0].client == client_of(bob));
    BOOST_TEST((report.writers[0].remaining <= 1s));
    n.of.rig.run_until([&] {
        n.ask(claims, bob);
        return to_text(n.break_lock("writer:" + std::to_string(client_of(bob)))) == "granted";
    });
    BOOST_TEST(n.report().writer_count == 0U);
    BOOST_TEST(tokens_of(n.report()) == strings{ann_reads});
}

BOOST_DATA_TEST_CASE(the_permits_of_a_semaphore_are_reported, all_kinds) {
    one_name n(sample);
    n.take_permits(permit_of("a"));
    key_report report = n.report();
    BOOST_TEST(report.content == "permits");
    BOOST_TEST(report.limit == 4U);
    BOOST_TEST(report.in_use == 1U);
    BOOST_TEST(tokens_of(report) == strings{permit_of("a")});
    const std::string two = permit_of("b", 2) + "@a/2";
    BOOST_TEST(n.take_permits(two, 2, 20min) == "granted");
    report = n.report();
    BOOST_TEST(report.content == "permits");
    BOOST_TEST(report.limit == 4U);
    BOOST_TEST(report.in_use == 3U);
    BOOST_TEST(report.holder_count == 2U);
    std::ranges::sort(report.holders, {}, &key_report::holder::token);
    BOOST_TEST((tokens_of(report) == strings{permit_of("a"), two}));
    BOOST_TEST(report.holders[0].permits == 1U);
    BOOST_TEST(report.holders[1].permits == 2U);
    BOOST_TEST(is_about(report.holders[0].remaining, 10min));
    BOOST_TEST(is_about(report.holders[1].remaining, 20min));
    BOOST_TEST(n.take_permits(permit_of("c"), 1, 20ms) == "granted");
    n.of.rig.run_until([&] { return n.report().holder_count == 2; });
    BOOST_TEST(n.report().in_use == 3U);
}

BOOST_DATA_TEST_CASE(a_result_and_a_record_have_no_holder, all_kinds) {
    one_name n(sample);
    n.ask({step::acquire, colock::kinds::once}, ann);
    BOOST_TEST(n.report().content == "token");
    n.ask(step_of_kind(step::complete, colock::kinds::once)
              .with_values(colock::kinds::make_record({"", std::string(60000, 'x')})),
          ann);
    key_report report = n.report();
    BOOST_TEST(report.content == "result");
    BOOST_TEST(report.holder_count == 0U);
    BOOST_TEST(is_about(report.ttl, 10min));

    n.key = "v";
    const auto write = [&](const std::string& value, std::uint64_t version) {
        const auto tag =
            n.of.rig.submit(step_of_kind(step::write, colock::kinds::versioned).with_values(value),
                            "v", std::string(32, 'e'), 0ms, colock::core::never,
                            colock::core::instance_set::all(), version);
        n.of.rig.run_until_voted();
        return n.of.rig.vote_on(tag).value;
    };
    const std::uint64_t version = write("value", 0);
    report = n.report();
    BOOST_TEST(report.content == "record");
    BOOST_TEST(report.version == version);
    BOOST_TEST(report.has_value);
    BOOST_TEST(report.holder_count == 0U);
    BOOST_TEST((report.ttl == milliseconds(-1)));
}

BOOST_DATA_TEST_CASE(the_string_of_another_program_is_reported, all_kinds) {
    one_name n(sample);
    const std::string bytes("\0\xff 7:\r\n", 7);
    n.take(bytes);
    BOOST_TEST(n.report().content == "string");
    BOOST_TEST(n.report().size == bytes.size());
    BOOST_TEST((tokens_of(n.report()) == strings{bytes}));
    BOOST_TEST(to_text(n.break_lock(bytes)) == "granted");
    n.take(std::string(1025, 'x'));
    const key_report report = n.report();
    BOOST_TEST(report.content == "string");
    BOOST_TEST(report.size == 1025U);
    BOOST_TEST(report.holder_count == 0U);
}

BOOST_AUTO_TEST_CASE(values_that_no_lock_wrote_are_reported) {
    one_name n(kind::tcp);
    redis_server& server = shared_server();
    const auto content = [&] {
        const key_report report = n.report();
        BOOST_TEST(report.holder_count == 0U);
        BOOST_TEST((report.ttl == milliseconds(-1)));
        BOOST_TEST((n.break_lock(ann).kind == vote_kind::denied));
        server.command({"DEL", "k"});
        return report.content;
    };
    server.command({"RPUSH", "k", "x"});
    BOOST_TEST(content() == "list");
    server.command({"SADD", "k", "x"});
    BOOST_TEST(content() == "set");
    server.command({"HSET", "k", "w", "x"});
    BOOST_TEST(content() == "hash");
    server.command({"ZADD", "k", "1", "x"});
    BOOST_TEST(content() == "zset");
    server.command({"ZADD", "k", "-5", "semaphore:4", "1", permit_of("a")});
    BOOST_TEST(content() == "zset");  // Without a ttl, nobody knows when a permit ends.
    server.command({"XADD", "k", "*", "a", "b"});
    BOOST_TEST(content() == "stream");
}

/// What stands where colock writes its own keys does not prevent a report.
BOOST_AUTO_TEST_CASE(foreign_keys_beside_a_lock_are_not_reported) {
    one_name n(kind::tcp);
    redis_server& server = shared_server();
    n.take(ann);
    for (const std::string& name :
         {"{k}:colock:fence"s, "{k}:colock:queue"s, "{k}:colock:waiters"s}) {
        for (const strings& command :
             {strings{"SET", name, "x"}, strings{"RPUSH", name, "x"},
              strings{"ZADD", name, "1", "x"}, strings{"HSET", name, "x", "x"}}) {
            server.command({"DEL", name});
            server.command(command);
            const key_report report = n.report();
            BOOST_TEST(tokens_of(report) == strings{ann});
            BOOST_TEST(report.fence == 0U);
            BOOST_TEST(report.waiter_count == 0U);
        }
        server.command({"DEL", name});
    }
}

BOOST_DATA_TEST_CASE(waiting_clients_are_reported_in_their_order, all_kinds) {
    one_name n(sample);
    n.take(ann);
    for (const std::uint64_t number : {30U, 10U, 20U}) {
        n.of.rig.ask_fence(step::join, "k", "", number);
    }
    const key_report report = n.report();
    BOOST_TEST(report.waiter_count == 3U);
    BOOST_TEST((report.waiters == std::vector<key_report::waiter>{{30, 0}, {10, 0}, {20, 0}}));
    n.of.rig.submit(step::release, "{k}:colock:ticket:10", "");  // Its client dies.
    const key_report later = n.report();
    BOOST_TEST(later.waiter_count == 2U);
    BOOST_TEST((later.waiters == std::vector<key_report::waiter>{{30, 0}, {20, 0}}));
    BOOST_TEST(n.report(inspects.only_part(colock::kinds::key_part)).content == "token");
}

BOOST_DATA_TEST_CASE(the_waiters_of_a_binding_order_are_reported, all_kinds) {
    one_name n(sample);
    n.take(ann);
    for (const std::uint64_t client : {3U, 1U}) {
        for (const std::uint64_t place : {1U, 2U}) {
            n.ask(step_of_kind(step::acquire, colock::kinds::fifo).at_place(client, place), bob);
        }
    }
    const key_report report = n.report();
    BOOST_TEST(report.waiter_count == 4U);
    BOOST_TEST((report.waiters == std::vector<key_report::waiter>{{3, 1}, {3, 2}, {1, 1}, {1, 2}}));
}

BOOST_DATA_TEST_CASE(long_lists_are_cut_and_counted, all_kinds) {
    one_name n(sample);
    constexpr std::size_t many = 130;
    for (std::size_t i = 0; i != many; ++i) {
        n.of.rig.submit(joins, "k", reader_of(std::to_string(i) + "c"),
                        10min + std::chrono::seconds(i));
        n.of.rig.submit(step::join, "k", "", 10min, colock::core::never,
                        colock::core::instance_set::all(), i + 1);
    }
    const key_report report = n.report();
    BOOST_TEST(report.holder_count == many);
    BOOST_TEST(report.holders.size() == colock::kinds::most_listed);
    BOOST_TEST(report.holders[0].token == reader_of("129c"));
    BOOST_TEST(report.waiter_count == many);
    BOOST_TEST(report.waiters.size() == colock::kinds::most_listed);
    BOOST_TEST(report.waiters[0].client == 1U);
}

BOOST_DATA_TEST_CASE(a_report_changes_nothing, all_kinds) {
    one_name n(sample);
    n.read(ann_reads);
    n.read(bob_reads);
    n.ask(step::join, "", 10min);
    const key_report before = n.report();
    const key_report after = n.report();
    BOOST_TEST(tokens_of(before) == tokens_of(after));
    BOOST_TEST((after.ttl <= before.ttl));
    BOOST_TEST(to_text(n.of.rig.ask({step::extend, colock::kinds::shared}, "k", ann_reads)) ==
               "granted");
}

BOOST_DATA_TEST_CASE(breaking_a_lock_needs_the_token_that_holds_it, all_kinds) {
    one_name n(sample);
    n.take(ann);
    for (const std::string& other : {bob, reader_of("b"), permit_of("a"), permit_of("a", 2),
                                     "writer:5"s, ann + "@web-1", ann.substr(1)}) {
        BOOST_TEST((n.break_lock(other).kind == vote_kind::denied), other);
    }
    BOOST_TEST(tokens_of(n.report()) == strings{ann});
    BOOST_TEST(to_text(n.break_lock(ann)) == "granted");
    BOOST_TEST(to_text(n.break_lock(ann)) == "denied: nobody");
}

BOOST_DATA_TEST_CASE(one_reader_of_several_can_be_removed, all_kinds) {
    one_name n(sample);
    n.read(ann_reads);
    n.read(bob_reads);
    BOOST_TEST(to_text(n.break_lock(cid_reads)) == "denied: nobody");
    BOOST_TEST((n.break_lock(permit_of("a")).kind == vote_kind::denied));
    BOOST_TEST(to_text(n.break_lock(ann_reads)) == "granted");
    BOOST_TEST(tokens_of(n.report()) == strings{bob_reads});
    BOOST_TEST(to_text(n.break_lock(bob_reads)) == "granted");
    BOOST_TEST(n.report().content == "nothing");
}

BOOST_DATA_TEST_CASE(one_lease_of_a_semaphore_can_be_removed, all_kinds) {
    one_name n(sample);
    n.take_permits(permit_of("a"));
    n.take_permits(permit_of("b", 2), 2);
    BOOST_TEST((n.break_lock(permit_of("c")).kind == vote_kind::denied));
    BOOST_TEST((n.break_lock(ann).kind == vote_kind::denied));
    BOOST_TEST(to_text(n.break_lock(permit_of("b", 2))) == "granted");
    BOOST_TEST(n.report().in_use == 1U);
    BOOST_TEST(to_text(n.break_lock(permit_of("a"))) == "granted");
    BOOST_TEST(n.report().content == "nothing");
}

BOOST_DATA_TEST_CASE(a_name_of_any_bytes_is_inspected_and_broken, all_kinds) {
    for (const std::string& name : {"\0\xff\r\n$1"s, "a}b"s, "{}"s, "x{tag}y"s, " "s}) {
        one_name n(sample, name);
        n.take(ann);
        BOOST_TEST(tokens_of(n.report()) == strings{ann});
        BOOST_TEST(to_text(n.break_lock(ann)) == "granted");
        BOOST_TEST(n.report().content == "nothing");
    }
}

BOOST_AUTO_TEST_SUITE_END()
