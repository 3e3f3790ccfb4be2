// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The meaning of replies, including replies that no supported server gives.

#include "instance/redis/decode.hpp"
#include "kinds/holder_steps.hpp"
#include "kinds/shared/shared.hpp"
#include "support/step_of_kind.hpp"
#include "support/vote_text.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis::test {
namespace {

using colock::test::fenced_acquire;
using colock::test::step_of_kind;
using colock::test::to_text;
using core::step;
using resp::type;
using resp::value;

const std::string unexpected = "failed: unexpected reply";

value reply(type kind, std::string_view text) {
    return {kind, text, 0};
}

/// Returns the decoded reply to a step.
core::vote decoded(const step_of_kind& v, const value& root) {
    return decode(v.command(), root);
}

std::string meaning(const step_of_kind& v, type kind, std::string_view text) {
    return to_text(decoded(v, reply(kind, text)));
}

/// Checks each vote of a reply to as many releases as `answers` has.
void check_many(type kind, std::string_view text, const std::vector<std::string>& answers) {
    BOOST_TEST_CONTEXT("reply " << text) {
        for (std::size_t i = 0; i != answers.size(); ++i) {
            BOOST_TEST(to_text(kinds::releases_together.decode(i, answers.size(),
                                                               reply(kind, text))) == answers[i]);
        }
    }
}

BOOST_AUTO_TEST_SUITE(decode_reads)

BOOST_AUTO_TEST_CASE(decodes_acquire_replies) {
    BOOST_TEST(meaning(step::acquire, type::simple_string, "OK") == "granted");
    BOOST_TEST(meaning(step::acquire, type::null, "") == "denied: another");
    for (const std::string_view text : {"", "O", "ok", "OKAY", "QUEUED"}) {
        BOOST_TEST(meaning(step::acquire, type::simple_string, text) == unexpected);
    }
    BOOST_TEST(meaning(step::acquire, type::number, "1") == unexpected);
    BOOST_TEST(meaning(step::acquire, type::simple_error, "OOM") == "failed: server error");
}

BOOST_AUTO_TEST_CASE(decodes_replies_to_readers) {
    for (const auto* kind : {&kinds::shared, &kinds::fenced_shared}) {
        const step_of_kind acquire{step::acquire, *kind};
        BOOST_TEST(meaning(acquire, type::number, "-1") == "denied: another");
        BOOST_TEST(meaning(acquire, type::number, "-2") == "denied: announced");
        BOOST_TEST(meaning(acquire, type::number, "-3") == unexpected);
        BOOST_TEST(meaning(acquire, type::bulk_string, "-2") == unexpected);
    }
}

BOOST_AUTO_TEST_CASE(decodes_compare_and_extend_and_delete_replies) {
    for (const step v : {step::extend, step::release}) {
        BOOST_TEST(meaning(v, type::number, "1") == "granted");
        BOOST_TEST(meaning(v, type::number, "0") == "denied: nobody");
        BOOST_TEST(meaning(v, type::number, "-1") == "denied: another");
        for (const std::string_view text : {"", "2", "11", "-", "-2"}) {
            BOOST_TEST(meaning(v, type::number, text) == unexpected);
        }
        BOOST_TEST(meaning(v, type::simple_string, "1") == unexpected);
        BOOST_TEST(meaning(v, type::null, "") == unexpected);
        BOOST_TEST(meaning(v, type::bulk_error, "BUSY") == "failed: server error");
    }
    BOOST_TEST(to_text(kinds::decode_native_release(reply(type::number, "1"))) == "granted");
    BOOST_TEST(to_text(kinds::decode_native_release(reply(type::number, "0"))) ==
               "denied: not ours");
    BOOST_TEST(to_text(kinds::decode_native_release(reply(type::number, "-1"))) == unexpected);
}

namespace {

std::string detail_of(const core::vote& vote) {
    return vote.detail ? *vote.detail : "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(decodes_replies_about_values_that_are_not_locks,
                     *boost::unit_test::label("fault-34")) {
    const std::vector<step_of_kind> all{{step::acquire, kinds::shared},
                                        {step::acquire, kinds::fenced_shared},
                                        fenced_acquire,
                                        step::confirm,
                                        step::extend,
                                        {step::extend, kinds::shared},
                                        step::release,
                                        step::remaining};
    const std::vector<std::pair<std::string, std::string>> types{
        {"list", "a list"}, {"set", "a set"},       {"zset", "a sorted set"},
        {"hash", "a hash"}, {"stream", "a stream"}, {"ReJSON-RL", "a value of the type ReJSON-RL"}};
    for (const step_of_kind& one : all) {
        for (const auto& [type_name, what] : types) {
            const std::string text = "holds " + type_name;
            const auto vote = decoded(one, reply(type::simple_string, text));
            BOOST_TEST(to_text(vote) == "denied: another");
            BOOST_TEST(detail_of(vote) == what);
            BOOST_TEST((vote.remaining == core::unknown_remaining));
            BOOST_TEST(meaning(one, type::bulk_string, text) == unexpected);
        }
        BOOST_TEST(meaning(one, type::simple_string, "list") == unexpected);
    }
    const auto with_ttl = decoded(step::remaining, reply(type::simple_string, "holds zset 1500"));
    BOOST_TEST(detail_of(with_ttl) == "a sorted set");
    BOOST_TEST((with_ttl.remaining == core::milliseconds(1500)));
    const auto without = decoded(step::remaining, reply(type::simple_string, "holds list -1"));
    BOOST_TEST((without.remaining == core::milliseconds::max()));
    for (const std::string text :
         {"holds list ", "holds list x", "holds list -2", "holds list 1 2"}) {
        BOOST_TEST(meaning(step::remaining, type::simple_string, text) == unexpected);
    }
    check_many(type::bulk_string, "1!", {"granted", "denied: another"});
    BOOST_TEST(detail_of(kinds::releases_together.decode(1, 2, reply(type::bulk_string, "1!"))) ==
               "a value");
}

BOOST_AUTO_TEST_CASE(decodes_the_label_of_the_holder) {
    const std::vector<step_of_kind> all{{step::acquire, kinds::shared},
                                        {step::acquire, kinds::fenced_shared},
                                        fenced_acquire,
                                        step::confirm,
                                        step::extend,
                                        {step::extend, kinds::shared},
                                        step::release,
                                        step::remaining,
                                        {step::remaining, kinds::writer}};
    for (const step_of_kind& one : all) {
        for (const std::string label : {"a", "web-1:4711", "1", "@", "OK"}) {
            const auto vote = decoded(one, reply(type::simple_string, "@" + label));
            BOOST_TEST((vote.kind == core::vote_kind::denied));
            BOOST_TEST((vote.key == core::key_state::labelled));
            BOOST_TEST(detail_of(vote) == label);
            BOOST_TEST((vote.remaining == core::unknown_remaining));
            BOOST_TEST(meaning(one, type::bulk_string, "@" + label) == unexpected);
        }
        for (const std::string_view text : {"@", "@ 1", "web-1"}) {
            BOOST_TEST(meaning(one, type::simple_string, text) == unexpected);
        }
    }
    const auto with_ttl = decoded(step::remaining, reply(type::simple_string, "@1 1500"));
    BOOST_TEST(detail_of(with_ttl) == "1");
    BOOST_TEST((with_ttl.remaining == core::milliseconds(1500)));
    const auto without = decoded(step::remaining, reply(type::simple_string, "@web-1 -1"));
    BOOST_TEST(detail_of(without) == "web-1");
    BOOST_TEST((without.remaining == core::milliseconds::max()));
    for (const std::string_view text : {"@a ", "@a b", "@a -2", "@a 1 2"}) {
        BOOST_TEST(meaning(step::remaining, type::simple_string, text) == unexpected);
    }
}

BOOST_AUTO_TEST_CASE(decodes_replies_to_many_releases) {
    check_many(type::number, "1", {"granted", "granted", "granted"});
    check_many(type::bulk_string, "10-1",
               {"granted", "denied: nobody", "denied: another", "granted"});
    check_many(type::bulk_string, "1e", {"granted", "failed: server error"});
    check_many(type::bulk_string, "1?", {"granted", unexpected});
    for (const std::string_view text : {"", "1", "111"}) {  // The number of answers is not two.
        check_many(type::bulk_string, text, {unexpected, unexpected});
    }
    check_many(type::number, "11", {unexpected, unexpected});
    check_many(type::simple_string, "11", {unexpected, unexpected});
    check_many(type::null, "", {unexpected, unexpected});
}

BOOST_AUTO_TEST_CASE(decodes_fences_tickets_and_remaining_times) {
    BOOST_TEST(decoded(fenced_acquire, reply(type::number, "7")).value == 7U);
    BOOST_TEST(meaning(fenced_acquire, type::number, "-1") == "denied: another");
    BOOST_TEST(meaning(fenced_acquire, type::number, "-2") == unexpected);
    BOOST_TEST(meaning(step::confirm, type::number, "0") == "denied: nobody");
    BOOST_TEST(meaning(fenced_acquire, type::number, std::to_string(core::value_limit)) ==
               unexpected);
    BOOST_TEST(decoded(step::join, reply(type::number, "12")).value == 12U);
    BOOST_TEST(meaning(step::leave, type::number, "0") == "granted");
    BOOST_TEST(meaning(step::leave, type::number, "-1") == unexpected);
    BOOST_TEST(
        (decoded(step::remaining, reply(type::number, "15")).remaining == core::milliseconds(15)));
    BOOST_TEST((decoded(step::remaining, reply(type::number, "-1")).remaining ==
                core::milliseconds::max()));
    BOOST_TEST(meaning(step::remaining, type::number, "-2") == "denied: nobody");
    BOOST_TEST(meaning(step::remaining, type::number, "-3") == unexpected);
    BOOST_TEST(meaning(step::remaining, type::number, "15 ms") == unexpected);
}

/// The errors that Redis and Valkey return instead of executing a command, as in their sources.
BOOST_AUTO_TEST_CASE(recognizes_errors_before_execution) {
    for (const std::string_view text : {
             "NOAUTH Authentication required.",
             "NOPERM User ann has no permissions to run the 'set' command",
             "READONLY You can't write against a read only replica.",
             "LOADING Redis is loading the dataset in memory",
             "OOM command not allowed when used memory > 'maxmemory'.",
             "OOM",
             "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
             "persist",
             "NOREPLICAS Not enough good replicas to write.",
             "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
             "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
             "NOSAVE.",
             "MOVED 3999 127.0.0.1:6381",
             "ASK 3999 127.0.0.1:6381",
             "TRYAGAIN Multiple keys request during rehashing of slot",
             "CROSSSLOT Keys in request don't hash to the same slot",
             "CLUSTERDOWN Hash slot not served",
             "NOSCRIPT No matching script. Please use EVAL.",
             "FENCE the fence counter holds no number below 2^53 to go on with",
             "ERR unknown command 'SET', with args beginning with: ",
             "ERR wrong number of arguments for 'set' command",
             "ERR invalid expire time in 'set' command",
         }) {
        BOOST_TEST_CONTEXT(text) {
            for (const step_of_kind& v :
                 {step_of_kind(step::acquire), fenced_acquire, step_of_kind(step::release)}) {
                BOOST_TEST(meaning(v, type::simple_error, text) == "failed: server error");
            }
            BOOST_TEST(meaning(step::acquire, type::bulk_error, text) == "failed: server error");
        }
    }
}

BOOST_AUTO_TEST_CASE(treats_other_errors_of_an_acquire_as_unclear) {
    for (const std::string_view text : {
             "",
             "ERR",
             "ERR upstream timed out",
             "ERR unknown",
             "OOMPH",
             "READONLYISH and more",
             "upstream failure",
             "EXECABORT Transaction discarded because of previous errors.",
             "UNBLOCKED client unblocked via CLIENT UNBLOCK",
             "WRONGTYPE Operation against a key holding the wrong kind of value",
             "ERR Error running script (call to f_0): @user_script:1: ERR",
         }) {
        BOOST_TEST_CONTEXT(text) {
            for (const step_of_kind& v : {step_of_kind(step::acquire), fenced_acquire}) {
                BOOST_TEST(meaning(v, type::simple_error, text) == "failed: unclear error");
                BOOST_TEST(meaning(v, type::bulk_error, text) == "failed: unclear error");
            }
            // These steps create no key.
            for (const step v :
                 {step::extend, step::release, step::confirm, step::remaining, step::join}) {
                BOOST_TEST(meaning(v, type::simple_error, text) == "failed: server error");
            }
        }
    }
    BOOST_TEST(!is_refused_before_execution(reply(type::bulk_string, "OOM")));
}

BOOST_AUTO_TEST_CASE(recognizes_permanent_errors) {
    const auto for_good = [](std::string_view text) {
        return is_refused_for_good(reply(type::simple_error, text));
    };
    BOOST_TEST(for_good("ERR unknown command 'DELIFEQ', with args beginning with: "));
    BOOST_TEST(for_good("NOPERM User ann has no permissions to run the 'delifeq' command"));
    BOOST_TEST(for_good("CROSSSLOT Keys in request don't hash to the same slot"));
    BOOST_TEST(for_good("ERR The user executing the script can't run this command or subcommand "
                        "script: f00, on @user_script:1."));
    BOOST_TEST(for_good("ERR ACL failure in script: User ann has no permissions to run the 'mget' "
                        "command script: f00, on @user_script:1."));
    BOOST_TEST(for_good("ERR Unknown Redis command called from script script: f00"));
    BOOST_TEST(for_good("ERR Unknown command called from script script: on @user_script:1."));
    BOOST_TEST(!for_good("NOPERM No permissions to access a key"));
    BOOST_TEST(!for_good("LOADING Redis is loading the dataset in memory"));
    BOOST_TEST(!for_good("READONLY You can't write against a read only replica."));
    BOOST_TEST(!is_refused_for_good(reply(type::bulk_string, "CROSSSLOT")));
    BOOST_TEST(is_unknown_script(reply(type::simple_error, "NOSCRIPT No matching script.")));
    BOOST_TEST(!is_unknown_script(reply(type::bulk_string, "NOSCRIPT")));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
