// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The error texts of each server version, outside and inside scripts, and how each function classifies them.
// The texts of Redis 7.0, Redis 8 and Valkey 9 are recorded. Those of Redis 6 follow its scripting.c.

#include "instance/redis/error_text.hpp"
#include "instance/redis/decode.hpp"
#include "support/step_of_kind.hpp"
#include "support/vote_text.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis::test {
namespace {

namespace data = boost::unit_test::data;
using boost::unit_test::label;
using colock::test::step_of_kind;
using colock::test::to_text;
using core::step;

/// The expected result of each function.
struct verdict {
    std::string code;
    bool before_execution = false;
    bool command_refused = false;
    bool for_good = false;
    bool from_replica = false;
    bool redirected = false;
    bool unknown_script = false;
};

struct sample {
    std::string server;
    std::string place;  ///< The error is outside a script, raised by it, or returned by it.
    std::string text;
    verdict expected;
};

std::ostream& operator<<(std::ostream& out, const sample& s) {
    return out << s.server << ", " << s.place << ": " << s.text;
}

const std::string digest = "7b6149474e93dc3661a8a719fd6876221f0e5f0c";
const std::string redis_6 = "Redis 6.0 and 6.2";
const std::string redis_70 = "Redis 7.0";
const std::string redis_72 = "Redis 7.2 to 8, Valkey 7.2 and 8";
const std::string valkey_9 = "Valkey 9";
const std::vector<std::string> newer{redis_70, redis_72, valkey_9};

std::string raised_by_6(const std::string& text) {
    return "ERR Error running script (call to f_" + digest + "): @user_script:10: " + text;
}

std::string raised_by_newer(const std::string& server, const std::string& text) {
    return text + " script: " + (server == valkey_9 ? "" : digest + ", ") + "on @user_script:10.";
}

class table {
public:
    explicit table(std::vector<sample>& to) : to_(to) {}

    void outside(const std::string& server, const std::string& text, const verdict& v) {
        to_.push_back({server, "outside", text, v});
    }
    void outside_all(const std::string& text, const verdict& v) { outside("all", text, v); }

    /// Adds an error of a check in the server, before it executes the command of a script.
    void inside_6(const std::string& text, const verdict& v) {
        const std::string returned = "@user_script: 10: " + text;
        to_.push_back({redis_6, "raised", raised_by_6(returned), v});
        to_.push_back({redis_6, "returned", returned, v});
    }
    void inside(const std::string& server, const std::string& text, const verdict& v) {
        to_.push_back({server, "raised", raised_by_newer(server, text), v});
        to_.push_back({server, "returned", text, v});
    }

    /// Adds an error of a check that has its own error code.
    void everywhere(const std::string& text, const verdict& v) {
        outside_all(text, v);
        inside_6("-" + text, v);
        inside_6("-" + text + "\r\n", v);
        for (const std::string& server : newer) {
            inside(server, text, v);
        }
    }

    /// Adds an error reply of the command itself.
    void replied_everywhere(const std::string& text, const verdict& v) {
        outside_all(text, v);
        to_.push_back({redis_6, "raised", raised_by_6(text), v});
        for (const std::string& server : newer) {
            inside(server, text, v);
        }
    }

private:
    std::vector<sample>& to_;
};

std::vector<sample> samples() {
    std::vector<sample> result;
    table t(result);
    const auto before = [](std::string code) {
        return verdict{.code = std::move(code), .before_execution = true};
    };

    verdict replica = before("READONLY");
    replica.from_replica = true;
    t.everywhere("READONLY You can't write against a read only replica.", replica);
    replica.code = "MASTERDOWN";
    const std::string masterdown =
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    t.everywhere(masterdown, replica);
    t.inside(redis_72, "-" + masterdown, replica);

    t.everywhere("OOM command not allowed when used memory > 'maxmemory'.", before("OOM"));
    t.everywhere("NOREPLICAS Not enough good replicas to write.", before("NOREPLICAS"));
    t.everywhere("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to "
                 "persist to disk. Commands that may modify the data set are disabled.",
                 before("MISCONF"));
    t.everywhere("MISCONF Errors writing to the AOF file: No space left on device",
                 before("MISCONF"));
    t.outside_all("LOADING Redis is loading the dataset in memory", before("LOADING"));
    t.outside_all(
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        before("BUSY"));
    t.outside(
        valkey_9,
        "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        before("BUSY"));
    t.outside_all("NOAUTH Authentication required.", before("NOAUTH"));
    t.outside_all("UNKILLABLE Sorry the script already executed write commands against the "
                  "dataset. You can either wait the script termination or kill the server in a "
                  "hard way using the SHUTDOWN NOSAVE command.",
                  {.code = "UNKILLABLE"});
    t.replied_everywhere("WRONGTYPE Operation against a key holding the wrong kind of value",
                         {.code = "WRONGTYPE"});

    verdict forgotten = before("NOSCRIPT");
    forgotten.unknown_script = true;
    t.outside_all("NOSCRIPT No matching script. Please use EVAL.", forgotten);
    t.outside(valkey_9, "NOSCRIPT No matching script.", forgotten);

    // Cluster redirections. A script gets none of these codes. The server checks its declared keys before it
    // begins. It rejects other keys later, with other texts.
    const auto moved = [](std::string code) {
        return verdict{.code = std::move(code), .before_execution = true, .redirected = true};
    };
    t.outside_all("MOVED 7629 127.0.0.1:38253", moved("MOVED"));
    t.outside_all("ASK 7629 127.0.0.1:35719", moved("ASK"));
    t.outside_all("TRYAGAIN Multiple keys request during rehashing of slot", moved("TRYAGAIN"));
    t.outside_all("CLUSTERDOWN Hash slot not served", moved("CLUSTERDOWN"));
    t.outside_all("CLUSTERDOWN The cluster is down", moved("CLUSTERDOWN"));
    t.outside_all("CROSSSLOT Keys in request don't hash to the same slot",
                  {.code = "CROSSSLOT", .before_execution = true, .for_good = true});
    t.inside_6("Lua script attempted to access a non local key in a cluster node", {.code = "ERR"});
    t.inside_6("Lua script attempted to execute a command while the cluster is down",
               {.code = "ERR"});
    t.inside(redis_70, "ERR Script attempted to access a non local key in a cluster node",
             {.code = "ERR"});
    t.inside(valkey_9, "ERR Attempted to access a non local key in a cluster node",
             {.code = "ERR"});

    // Commands that are forbidden or missing.
    const auto refused = [](std::string code) {
        return verdict{.code = std::move(code),
                       .before_execution = true,
                       .command_refused = true,
                       .for_good = true};
    };
    t.outside(redis_6,
              "NOPERM this user has no permissions to run the 'set' command or its subcommand",
              refused("NOPERM"));
    t.outside(redis_70, "NOPERM this user has no permissions to run the 'set' command",
              refused("NOPERM"));
    t.outside(redis_72, "NOPERM User ann has no permissions to run the 'set' command",
              refused("NOPERM"));
    t.inside_6("The user executing the script can't run this command or subcommand",
               refused("ERR"));
    t.inside(redis_70, "ERR The user executing the script can't run this command or subcommand",
             refused("ERR"));
    for (const std::string& server : {redis_72, valkey_9}) {
        t.inside(server,
                 "ERR ACL failure in script: User ann has no permissions to run the 'set' command",
                 refused("ERR"));
    }
    t.outside(redis_6, "ERR unknown command `SET`, with args beginning with: `k`, `v`, ",
              refused("ERR"));
    t.outside(redis_70, "ERR unknown command 'SET', with args beginning with: 'k' 'v' ",
              refused("ERR"));
    t.inside_6("Unknown Redis command called from Lua script", refused("ERR"));
    t.inside(redis_70, "ERR Unknown Redis command called from script", refused("ERR"));
    t.inside(redis_72, "ERR Unknown Redis command called from script", refused("ERR"));
    t.inside(valkey_9, "ERR Unknown command called from script", refused("ERR"));

    // Forbidden keys. Another key may be allowed.
    for (const std::string& server : {redis_6, redis_70}) {
        t.outside(server,
                  "NOPERM this user has no permissions to access one of the keys used as arguments",
                  before("NOPERM"));
    }
    t.outside(redis_72, "NOPERM No permissions to access a key", before("NOPERM"));
    const std::string key_in_script = "The user executing the script can't access at least one of "
                                      "the keys mentioned in the command arguments";
    t.inside_6(key_in_script, before("ERR"));
    t.inside(redis_70, "ERR " + key_in_script, before("ERR"));
    t.inside(redis_72, "ERR ACL failure in script: No permissions to access a key", before("ERR"));
    t.inside(valkey_9, "ERR ACL failure in script: No permissions to access a key", before("ERR"));

    // Errors that may occur in the middle of a script, or come from a proxy.
    t.outside(redis_6, raised_by_6("Script killed by user with SCRIPT KILL..."), {.code = "ERR"});
    t.outside(redis_70, raised_by_newer(redis_70, "ERR Script killed by user with SCRIPT KILL..."),
              {.code = "ERR"});
    t.outside_all("ERR upstream timed out", {.code = "ERR"});
    t.outside_all("ERR the server says READONLY", {.code = "ERR"});
    t.outside_all("READONLYISH and more", {.code = "READONLYISH"});
    t.outside_all("OOM", before("OOM"));
    t.outside_all("ERR", {.code = "ERR"});
    t.outside_all("", {.code = "ERR"});
    t.outside_all("@user_script:", {.code = "ERR"});
    t.outside_all("@user_script: 10", {.code = "ERR"});
    t.outside_all("ERR Error running script (call to f_", {.code = "ERR"});
    t.outside_all("-", {.code = "ERR"});
    return result;
}

BOOST_AUTO_TEST_SUITE(error_text_test)

BOOST_TEST_DECORATOR(*label("fault-99"))
BOOST_DATA_TEST_CASE(every_function_classifies_the_error_text, data::make(samples()), one) {
    const resp::value root{resp::type::simple_error, one.text, 0};
    const error_text read = read_error(one.text);
    BOOST_TEST(read.code == one.expected.code);
    BOOST_TEST(is_command_refused(read) == one.expected.command_refused);
    BOOST_TEST(is_refused_before_execution(root) == one.expected.before_execution);
    BOOST_TEST(is_refused_for_good(root) == one.expected.for_good);
    BOOST_TEST(is_from_replica(root) == one.expected.from_replica);
    BOOST_TEST(is_redirection(root) == one.expected.redirected);
    BOOST_TEST(is_unknown_script(root) == one.expected.unknown_script);
    kinds::command acquire;
    acquire.kind = step_of_kind(step::acquire).kind;
    BOOST_TEST(to_text(decode(acquire, root)) ==
               (one.expected.before_execution ? "failed: server error" : "failed: unclear error"));
    // The same text in a string is not an error.
    const resp::value string{resp::type::bulk_string, one.text, 0};
    BOOST_TEST(!is_refused_before_execution(string));
    BOOST_TEST(!is_refused_for_good(string));
    BOOST_TEST(!is_from_replica(string));
    BOOST_TEST(!is_redirection(string));
    BOOST_TEST(!is_unknown_script(string));
}

/// The exact text from issue 33.
BOOST_AUTO_TEST_CASE(a_readonly_error_in_a_redis_6_script_is_recognized, *label("fault-99")) {
    const std::string text = "ERR Error running script (call to f_" + digest +
                             "): @user_script:10: @user_script: 10: -READONLY You can't write "
                             "against a read only replica.";
    BOOST_TEST(is_from_replica({resp::type::simple_error, text, 0}));
    BOOST_TEST(read_error(text).message == "You can't write against a read only replica.");
}

/// A code without a row is not tested.
BOOST_AUTO_TEST_CASE(the_sample_table_covers_every_code, *label("fault-99")) {
    std::set<std::string> codes;
    for (const sample& one : samples()) {
        codes.insert(one.expected.code);
    }
    for (const char* const code :
         {"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MISCONF", "LOADING", "BUSY",
          "OOM", "NOSCRIPT", "NOPERM", "NOAUTH", "WRONGTYPE", "MASTERDOWN", "NOREPLICAS",
          "UNKILLABLE", "CROSSSLOT", "ERR"}) {
        BOOST_TEST(codes.contains(code), code);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis::test
