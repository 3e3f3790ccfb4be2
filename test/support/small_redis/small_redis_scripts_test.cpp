// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests scripts on the small Redis.

#include "kinds/scripts.hpp"
#include "play.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::small_redis {
namespace {

BOOST_AUTO_TEST_SUITE(small_redis_scripts)

BOOST_AUTO_TEST_CASE(lua_values_become_replies) {
    play redis;
    BOOST_TEST(redis.eval("return {1.9, -1.9, 'x', true, false, 3}") == "*[:1 :-1 $x :1 _ :3]");
    BOOST_TEST(redis.eval("return {1, 2, nil, 4}") == "*[:1 :2]");
    BOOST_TEST(redis.eval("return nil") == "_");
    BOOST_TEST(redis.eval("return {a = 1}") == "*[]");
    BOOST_TEST(redis.eval("return {ok = 'a b'}") == "+a b");
    BOOST_TEST(redis.eval("return {err = 'MY a b'}") == "-MY a b");
    BOOST_TEST(redis.eval("return {double = 3.5}") == ",3.5");
    BOOST_TEST(redis.eval("return {map = {a = 1}}") == "%[$a :1]");
    BOOST_TEST(redis.eval("return 2 ^ 53") == ":9007199254740992");
    BOOST_TEST(redis.eval("return 1e300") == ":-9223372036854775808");
    BOOST_TEST(redis.eval("return redis.error_reply('word')") == "-ERR word");
    BOOST_TEST(redis.eval("return redis.error_reply('MY word')") == "-MY word");
    BOOST_TEST(redis.eval("return redis.status_reply('fine')") == "+fine");
    BOOST_TEST(redis.eval("return redis.sha1hex('')") ==
               "$da39a3ee5e6b4b0d3255bfef95601890afd80709");
    BOOST_TEST(redis.eval("return {KEYS[1], ARGV[2], #KEYS}", {"k"}, {"a", "b"}) == "*[$k $b :1]");
}

BOOST_AUTO_TEST_CASE(replies_become_lua_values) {
    play redis;
    redis({"SET", "k", "v"});
    redis({"ZADD", "z", "1.5", "a"});
    redis({"HSET", "h", "f", "v"});
    BOOST_TEST(redis.eval("return type(redis.call('get', 'none'))") == "$boolean");
    BOOST_TEST(redis.eval("return redis.call('set', 'k', 'v').ok") == "$OK");
    BOOST_TEST(redis.eval("return redis.call('zscore', 'z', 'a')") == "$1.5");
    BOOST_TEST(redis.eval("return redis.call('zrange', 'z', 0, -1, 'withscores')") == "*[$a $1.5]");
    BOOST_TEST(redis.eval("return redis.call('hgetall', 'h')") == "*[$f $v]");
    BOOST_TEST(redis.eval("return redis.call('mget', 'k', 'none')") == "*[$v _]");
    BOOST_TEST(redis.eval("return redis.pcall('llen', 'k').err") ==
               "$WRONGTYPE Operation against a key holding the wrong kind of value");
    BOOST_TEST(redis.eval("redis.call('set', 'k', 2 ^ 53) return redis.call('get', 'k')") ==
               "$9007199254740992");
}

BOOST_AUTO_TEST_CASE(errors_name_the_place) {
    play redis;
    const std::string script = "\nredis.call('set', 'k', 'v', 'px', 'x')";
    const std::string digest = redis.eval("return redis.sha1hex(ARGV[1])", {}, {script}).substr(1);
    BOOST_TEST(redis.eval(script) == "-ERR value is not an integer or out of range script: " +
                                         digest + ", on @user_script:2.");
    BOOST_TEST(redis.eval("return redis.pcall('set', 'k')") ==
               "-ERR Wrong number of args calling Redis command from script");
    play valkey(valkey_9);
    BOOST_TEST(valkey.eval("return redis.call('foo')") ==
               "-ERR Unknown command called from script script: on @user_script:1.");
    BOOST_TEST(valkey.eval("error('boom')") ==
               "-ERR user_script:1: boom script: on @user_script:1.");
    BOOST_TEST(valkey.eval("error({err = 'MY boom'})") == "-MY boom script: on @user_script:1.");
    BOOST_TEST(valkey.eval("return redis.call('eval', 'return 1', 0)") ==
               "-ERR This Valkey command is not allowed from script script: on @user_script:1.");
    BOOST_TEST(valkey.eval("a b") ==
               "-ERR Error compiling script (new function): user_script:1: '=' expected near 'b'");
    BOOST_TEST(valkey.eval("local ok, e = pcall(redis.call, 'incr', 'k', 1) return e") ==
               "$ERR Wrong number of args calling command from script");
}

BOOST_AUTO_TEST_CASE(scripts_have_no_globals_of_their_own) {
    play valkey(valkey_9);
    const std::string readonly =
        "-ERR user_script:1: Attempt to modify a readonly table script: on @user_script:1.";
    for (const char* const script :
         {"x = 1", "redis = nil", "redis.call = nil", "string.x = 1", "KEYS = 1", "_G.x = 1"}) {
        BOOST_TEST(valkey.eval(script) == readonly, script);
    }
    BOOST_TEST(valkey.eval("return print") ==
               "-ERR user_script:1: Script attempted to access nonexistent global variable "
               "'print' script: on @user_script:1.");
    BOOST_TEST(valkey.eval("rawset(_G, 'x', 1)") ==
               "-ERR Attempt to modify a readonly table script: on @user_script:1.");
    BOOST_TEST(valkey.eval("return ('x'):rep(3)") == "$xxx");
}

BOOST_AUTO_TEST_CASE(a_script_that_fails_leaves_what_it_has_written) {
    play redis;
    redis({"SET", "text", "x"});
    const std::string answer = redis.eval(
        "redis.call('set', 'a', 1) redis.call('incr', 'text') redis.call('set', 'b', 1)");
    BOOST_TEST(answer.starts_with("-ERR value is not an integer"));
    BOOST_TEST(redis({"EXISTS", "a", "b"}) == ":1");
    BOOST_TEST((redis.host.changed().empty()));
}

BOOST_AUTO_TEST_CASE(time_stands_still_within_a_script) {
    play redis;
    redis.now += 123456;
    BOOST_TEST(redis.eval("return redis.call('time')") == "*[$1800000000 $123456]");
    redis({"SET", "k", "v", "PX", "5"});
    redis.pass_milliseconds(5);
    BOOST_TEST(redis.eval("redis.call('pexpire', 'x', 1) return redis.call('pttl', 'k')") == ":0");
    BOOST_TEST(redis.eval("redis.call('set', 'k', 'v') redis.call('pexpire', 'k', 0) return "
                          "redis.call('get', 'k')") == "_");
}

BOOST_AUTO_TEST_CASE(each_server_knows_its_own_scripts) {
    play first;
    play second;
    const std::string digest = first({"SCRIPT", "LOAD", "return 7"}).substr(1);
    BOOST_TEST(first({"EVALSHA", digest, "0"}) == ":7");
    BOOST_TEST(second({"EVALSHA", digest, "0"}) ==
               "-NOSCRIPT No matching script. Please use EVAL.");
    BOOST_TEST(second.eval("return 7") == ":7");
    BOOST_TEST(second({"EVALSHA", digest, "0"}) == ":7");
    BOOST_TEST(second({"SCRIPT", "EXISTS", digest, "x"}) == "*[:1 :0]");
    BOOST_TEST(second({"SCRIPT", "FLUSH"}) == "+OK");
    BOOST_TEST(second({"SCRIPT", "EXISTS", digest}) == "*[:0]");
    first.host.forget_scripts();
    BOOST_TEST(first({"EVALSHA", digest, "0"}).starts_with("-NOSCRIPT"));
}

BOOST_AUTO_TEST_CASE(the_number_of_keys_has_to_fit) {
    play redis;
    BOOST_TEST(redis({"EVAL", "return 1", "x"}) == "-ERR value is not an integer or out of range");
    BOOST_TEST(redis({"EVAL", "return 1", "-1"}) == "-ERR Number of keys can't be negative");
    BOOST_TEST(redis({"EVAL", "return 1", "2", "a"}) ==
               "-ERR Number of keys can't be greater than number of args");
}

/// Covers readers, writer marks and the clock of the set, all through the scripts.
BOOST_AUTO_TEST_CASE(the_production_scripts_share_a_lock) {
    play redis(valkey_9);
    const std::string a = "reader:" + std::string(40, 'a');
    const std::string b = "reader:" + std::string(40, 'b');
    const std::string beside = "{k}:colock:readers";
    const auto call = [&](const kinds::script& script,
                          std::initializer_list<std::string_view> rest) {
        return redis.eval(script.text, {"k"}, rest);
    };
    using namespace kinds::scripts;
    BOOST_TEST(redis({"SET", "k", a, "NX", "PX", "1000"}) == "+OK");
    BOOST_TEST(call(share, {b, "2000", beside}) == "+OK");
    BOOST_TEST(redis({"TYPE", "k"}) == "+zset");
    BOOST_TEST(redis({"PTTL", "k"}) == ":2000");
    BOOST_TEST(call(claim, {"500", "9", beside}) == ":0");
    BOOST_TEST(call(share, {a, "2000", beside}) == ":-2");
    BOOST_TEST(call(extend, {a, "3000"}) == ":2");
    BOOST_TEST(call(unmark, {"9"}) == ":1");
    BOOST_TEST(call(release, {a}) == ":1");
    BOOST_TEST(call(obstacle, {}) == ":2000");
    redis.pass_milliseconds(2001);
    BOOST_TEST(call(obstacle, {}) == ":-2");
    BOOST_TEST(redis.host.keys().size() == 0U);
}

BOOST_AUTO_TEST_CASE(an_observer_learns_about_commands_and_scripts) {
    struct : observer {
        void on_executed(const executed& what) override {
            seen.push_back(std::string(what.name) + (what.is_in_script ? " in script" : "") +
                           (what.has_failed ? " failed" : "") + " " +
                           std::to_string(what.changed.size()));
        }
        std::vector<std::string> seen;
    } watcher;
    play redis;
    redis.host.observer = &watcher;
    redis.eval("redis.call('set', 'a', 1) redis.call('del', 'a', 'b') return redis.call('foo')");
    redis({"GET", "a"});
    const std::vector<std::string> expected{"set in script 1", "del in script 1",
                                            " in script failed 0", "eval failed 2", "get 0"};
    BOOST_TEST(watcher.seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::small_redis
