// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The handshake with a server before it may vote, and the result of its replies. No I/O.

#include "instance/redis/probe.hpp"
#include "instance/redis/info_field.hpp"
#include "kinds/script_commands.hpp"
#include "kinds/scripts.hpp"
#include "resp/reader.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using boost::unit_test::label;
using kinds::needed_by;
using kinds::script_command;
using kinds::script_commands;

std::string bulk(const std::string& text) {
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// Returns the questions of a probe, each as the words of its command.
std::vector<std::vector<std::string>> questions_of(const probe& asked) {
    std::vector<std::vector<std::string>> result;
    std::string_view rest = asked.text();
    while (!rest.empty()) {
        resp::reader reader(rest.size() + 1);
        BOOST_TEST_REQUIRE((reader.read(rest) == resp::reader::status::complete));
        resp::cursor values(rest);
        std::vector<std::string>& words = result.emplace_back();
        for (std::size_t i = values.next().children; i != 0; --i) {
            words.emplace_back(values.next().text);
        }
        rest.remove_prefix(reader.size());
    }
    return result;
}

/// Returns a probe of a server that refuses some commands inside scripts with these errors.
probe probed(const std::vector<std::pair<std::string, std::string>>& refused,
             const std::string& uptime = "1") {
    address to;
    to.host = "h";
    probe result(to, deployment::standalone, "app:");
    for (const auto& words : questions_of(result)) {
        if (words[0] == "HELLO") {
            result.on_reply("%1\r\n+proto\r\n:3\r\n");
        } else if (words[0] == "INFO") {
            result.on_reply(
                bulk("redis_version:7.0.0\r\nrun_id:r\r\nuptime_in_seconds:" + uptime + "\r\n"));
        } else if (words[0] == "EVALSHA") {
            result.on_reply("-NOSCRIPT No matching script.\r\n");
        } else if (words[0] == "EVAL") {
            BOOST_TEST(words[2] == "0");
            BOOST_TEST(words[3] == "app:colock:probe");
            std::string reply = "*" + std::to_string(script_commands.size()) + "\r\n";
            for (const script_command& one : script_commands) {
                const auto found = std::ranges::find_if(
                    refused, [&](const auto& other) { return other.first == one.name; });
                reply += bulk(found == refused.end() ? "" : found->second);
            }
            result.on_reply(reply);
        } else {
            result.on_reply("+OK\r\n");
        }
    }
    BOOST_TEST(result.answered());
    return result;
}

const std::string unknown = "ERR Unknown Redis command called from script";
const std::string forbidden =
    "ERR ACL failure in script: User ann has no permissions to run the 'x' command";

std::string text_of(const std::shared_ptr<const std::string>& reason) {
    return reason ? *reason : "";
}

BOOST_AUTO_TEST_SUITE(probe_test)

/// If a script begins to call another command, this test fails until the table contains it.
BOOST_AUTO_TEST_CASE(the_table_has_each_command_that_the_scripts_call, *label("fault-100")) {
    const std::regex call(R"((?:redis\.p?call\(|\blook\(|\{)'([a-z]+)')");
    // `look` passes its own arguments on.
    const std::regex other_call(
        R"((?:redis\.p?call\((?!'|unpack\(command\)|\.\.\.\))|\blook\((?!'|\.\.\.\))))");
    std::set<std::string> called;
    for (const kinds::script& script : kinds::scripts::all) {
        const std::string text(script.text);
        for (std::sregex_iterator it(text.begin(), text.end(), call); it != std::sregex_iterator();
             ++it) {
            called.insert((*it)[1]);
        }
        BOOST_TEST(!std::regex_search(text, other_call),
                   "a call that this test does not understand: " << text);
    }
    std::set<std::string> known;
    for (const script_command& one : script_commands) {
        BOOST_TEST(known.insert(std::string(one.name)).second, one.name << " is there twice");
        BOOST_TEST(one.harmless_call.empty() == (one.whom == needed_by::no_lock), one.name);
        BOOST_TEST((one.harmless_call.empty() ||
                    one.harmless_call.starts_with("'" + std::string(one.name) + "'")),
                   one.name);
    }
    BOOST_TEST(known == called, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_server_that_permits_every_command_may_vote, *label("fault-100")) {
    const probe p = probed({});
    BOOST_TEST(p.objection().value_or("") == "");
    BOOST_TEST(text_of(p.facts().refused_to_readers) == "");
    BOOST_TEST(text_of(p.facts().refused_to_semaphores) == "");
    BOOST_TEST(text_of(p.facts().refused_to_fenced) == "");
    BOOST_TEST(text_of(p.facts().refused_to_records) == "");
    BOOST_TEST(text_of(p.facts().refused_to_orders) == "");
}

BOOST_AUTO_TEST_CASE(a_server_without_a_required_command_must_not_vote, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        for (const std::string& error : {unknown, forbidden}) {
            const std::string reason =
                probed({{std::string(one.name), error}}).objection().value_or("");
            BOOST_TEST(reason.empty() == (one.whom != needed_by::every_lock), one.name << reason);
        }
    }
    BOOST_TEST(probed({{"del", unknown}, {"pexpire", forbidden}, {"zadd", unknown}})
                   .objection()
                   .value_or("") ==
               "scripts may not use DEL, PEXPIRE (" + unknown +
                   "), which every lock needs. The user's ACL must allow it, and rename-command "
                   "must leave it");
}

BOOST_AUTO_TEST_CASE(a_missing_command_bars_only_the_lock_kinds_that_need_it, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        if (one.whom == needed_by::every_lock) {
            continue;
        }
        const server_facts facts = probed({{std::string(one.name), forbidden}}).facts();
        const auto check = [&](const auto& refused, needed_by whom) {
            BOOST_TEST((refused != nullptr) == includes(one.whom, whom), one.name);
        };
        check(facts.refused_to_readers, needed_by::readers);
        check(facts.refused_to_semaphores, needed_by::semaphores);
        check(facts.refused_to_fenced, needed_by::fencing);
        check(facts.refused_to_records, needed_by::records);
        check(facts.refused_to_orders, needed_by::orders);
    }
    const server_facts facts = probed({{"zrem", unknown}, {"time", forbidden}}).facts();
    BOOST_TEST(text_of(facts.refused_to_readers).starts_with("scripts may not use TIME, ZREM ("));
    BOOST_TEST(text_of(facts.refused_to_fenced) ==
               "scripts may not use TIME (" + forbidden +
                   "), which a lock with fencing needs. The user's ACL must allow it, and "
                   "rename-command must leave it");
}

/// The largest numbers overflow a duration in nanoseconds.
BOOST_AUTO_TEST_CASE(implausible_times_are_rejected, *label("fault-105")) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    BOOST_TEST(read_time<seconds>("0").value().count() == 0);
    BOOST_TEST(read_time<seconds>("86400").value().count() == 86400);
    BOOST_TEST(read_time<milliseconds>("1500").value().count() == 1500);
    const auto longest = std::to_string(seconds(longest_credible_time).count());
    BOOST_TEST(read_time<seconds>(longest).has_value());
    for (const std::string text :
         {"", "-1", "x", "1x", " 1", "9223372036854775807", "-9223372036854775808",
          "99999999999999999999", "9223372036854"}) {
        BOOST_TEST(!read_time<seconds>(text).has_value(), text);
    }
    BOOST_TEST(!read_time<milliseconds>("9223372036854775807").has_value());
    BOOST_TEST(!probed({}, "9223372036854775807").facts().uptime.has_value());
    BOOST_TEST(probed({}, "1").facts().uptime.has_value());
}

/// Some services check which keys a script uses. A mutex can do without others, and its waiters poll.
BOOST_AUTO_TEST_CASE(a_server_that_wants_declared_keys_keeps_no_queue, *label("fault-141")) {
    BOOST_TEST(probed({}).facts().allows_undeclared_keys);
    for (const std::string error : {"ERR Script attempted to access a key that was not declared",
                                    "ERR script tried accessing undeclared key"}) {
        const probe p = probed({{"get", error}, {"zadd", error}});
        BOOST_TEST(p.objection().value_or("") == "");
        const server_facts facts = p.facts();
        BOOST_TEST(!facts.allows_undeclared_keys);
        BOOST_TEST(text_of(facts.refused_to_orders) ==
                   "scripts may use declared keys only (" + error +
                       "), so the server cannot keep the places of a binding order. Use "
                       "queue_order::hint");
        BOOST_TEST(text_of(facts.refused_to_readers) == "");
        BOOST_TEST(text_of(facts.refused_to_semaphores) == "");
        BOOST_TEST(text_of(facts.refused_to_fenced) == "");
    }
}

/// The command itself is allowed, but not at this time or not on this key.
BOOST_AUTO_TEST_CASE(other_errors_do_not_count_as_refusals, *label("fault-100")) {
    for (const std::string error :
         {"OOM command not allowed when used memory > 'maxmemory'.",
          "READONLY You can't write against a read only replica.",
          "@user_script: 1: -READONLY You can't write against a read only replica.",
          "NOREPLICAS Not enough good replicas to write.",
          "MISCONF Redis is configured to save RDB snapshots",
          "ERR Script attempted to access a non local key in a cluster node",
          "ERR Attempted to access a non local key in a cluster node",
          "ERR ACL failure in script: No permissions to access a key",
          "ERR The user executing the script can't access at least one of the keys mentioned in "
          "the command arguments",
          "WRONGTYPE Operation against a key holding the wrong kind of value"}) {
        const probe p = probed({{"get", error}, {"set", error}, {"zadd", error}, {"time", error}});
        BOOST_TEST(p.objection().value_or("") == "");
        BOOST_TEST(text_of(p.facts().refused_to_readers) == "");
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
