// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests each family of commands of the small Redis. The differential test shows that servers give the same
// replies.

#include "play.hpp"
#include "support/small_redis/number_text.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>

namespace colock::small_redis {
namespace {

const std::string wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const std::string no_integer = "-ERR value is not an integer or out of range";

BOOST_AUTO_TEST_SUITE(small_redis_numbers)

BOOST_AUTO_TEST_CASE(integers_are_canonical) {
    BOOST_TEST(*to_integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
    BOOST_TEST(*to_integer("0") == 0);
    for (const char* const wrong :
         {"", "-", "+1", "01", "-0", "-01", " 1", "1 ", "1.0", "9223372036854775808", "abc"}) {
        BOOST_TEST(!to_integer(wrong).has_value(), wrong);
    }
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_may_be_infinite_but_must_be_numbers) {
    BOOST_TEST(*to_double("+inf") == std::numeric_limits<double>::infinity());
    BOOST_TEST(*to_double("-1.5e3") == -1500);
    for (const char* const wrong : {"", "nan", " 1", "1 ", "1e400", "+-1", "x"}) {
        BOOST_TEST(!to_double(wrong).has_value(), wrong);
    }
}

BOOST_AUTO_TEST_CASE(floating_point_numbers_have_the_text_of_their_dialect) {
    const auto shortest = [](double value) { return std::string(number_text(value, true).text()); };
    const auto longest = [](double value) { return std::string(number_text(value, false).text()); };
    BOOST_TEST(shortest(0.1) == "0.1");
    BOOST_TEST(longest(0.1) == "0.10000000000000001");
    BOOST_TEST(shortest(1e-7) == "1e-7");
    BOOST_TEST(longest(1e-7) == "9.9999999999999995e-08");
    BOOST_TEST(shortest(1e25) == "1e+25");
    BOOST_TEST(shortest(1e17) == "100000000000000000");
    BOOST_TEST(longest(1e17) == "1e+17");
    BOOST_TEST(shortest(1795838404772.5) == "1795838404772.5");
    BOOST_TEST(longest(1795838404772) == "1795838404772");
    BOOST_TEST(shortest(-0.25) == "-0.25");
    BOOST_TEST(shortest(9223372036854775808.0) == "9223372036854776000");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(small_redis_commands)

BOOST_AUTO_TEST_CASE(set_obeys_its_options) {
    play redis;
    BOOST_TEST(redis({"GET", "k"}) == "_");
    BOOST_TEST(redis({"SET", "k", "a", "XX"}) == "_");
    BOOST_TEST(redis({"set", "k", "a", "nx", "px", "1000"}) == "+OK");
    BOOST_TEST(redis({"SET", "k", "b", "NX"}) == "_");
    BOOST_TEST(redis({"PTTL", "k"}) == ":1000");
    BOOST_TEST(redis({"SET", "k", "b", "KEEPTTL", "GET"}) == "$a");
    BOOST_TEST(redis({"PTTL", "k"}) == ":1000");
    BOOST_TEST(redis({"SET", "k", "c"}) == "+OK");
    BOOST_TEST(redis({"PTTL", "k"}) == ":-1");
    BOOST_TEST(redis({"SET", "k", "d", "NX", "GET"}) == "$c");
    BOOST_TEST(redis({"GET", "k"}) == "$c");
    BOOST_TEST(redis({"SET", "k", "d", "PX", "0"}) == "-ERR invalid expire time in 'set' command");
    BOOST_TEST(redis({"SET", "k", "d", "PX", "x"}) == no_integer);
    BOOST_TEST(redis({"SET", "k", "d", "PX"}) == "-ERR syntax error");
    BOOST_TEST(redis({"SET", "k", "d", "NX", "XX"}) == "-ERR syntax error");
    BOOST_TEST(redis({"SET", "k", "d", "IFEQ", "c"}) == "-ERR syntax error");
    BOOST_TEST(redis({"SET", "k"}) == "-ERR wrong number of arguments for 'set' command");
    BOOST_TEST(redis({"RPUSH", "l", "a"}) == ":1");
    BOOST_TEST(redis({"SET", "l", "a", "GET"}) == wrong_type);
    BOOST_TEST(redis({"SET", "l", "a"}) == "+OK");
}

BOOST_AUTO_TEST_CASE(conditional_writes_exist_where_the_dialect_has_them) {
    play valkey(valkey_9);
    valkey({"SET", "k", "a"});
    BOOST_TEST(valkey({"SET", "k", "b", "IFEQ", "x"}) == "_");
    BOOST_TEST(valkey({"SET", "k", "b", "IFEQ", "a", "GET"}) == "$a");
    BOOST_TEST(valkey({"DELIFEQ", "k", "x"}) == ":0");
    BOOST_TEST(valkey({"DELIFEQ", "k", "b"}) == ":1");
    BOOST_TEST(valkey({"DELIFEQ"}) == "-ERR wrong number of arguments for 'delifeq' command");
    BOOST_TEST(valkey({"DELEX"}) == "-ERR unknown command 'DELEX', with args beginning with: ");
    BOOST_TEST(valkey({"MSETEX", "2", "a", "1", "b", "2", "NX", "PX", "100"}) == ":1");
    BOOST_TEST(valkey({"MSETEX", "2", "c", "1", "b", "2", "NX", "PX", "100"}) == ":0");
    BOOST_TEST(valkey({"EXISTS", "a", "b", "c"}) == ":2");
    BOOST_TEST(valkey({"MSETEX", "0", "a", "1"}) == "-ERR invalid numkeys value or out of range");
    BOOST_TEST(valkey({"MSETEX", "2", "a", "1"}) == "-ERR syntax error");

    play redis(redis_8_4);
    redis({"SET", "k", "a"});
    BOOST_TEST(redis({"DELEX", "k", "IFEQ", "b"}) == ":0");
    BOOST_TEST(redis({"DELEX", "k", "IFNE", "a"}) == ":0");
    BOOST_TEST(redis({"DELEX", "k", "IFEQ", "a"}) == ":1");
    BOOST_TEST(redis({"DELEX", "k"}) == ":0");
    BOOST_TEST(redis({"SET", "k", "b", "IFNE", "a"}) == "+OK");
}

BOOST_AUTO_TEST_CASE(counters_refuse_what_is_no_number) {
    play redis;
    BOOST_TEST(redis({"INCR", "n"}) == ":1");
    BOOST_TEST(redis({"INCRBY", "n", "-5"}) == ":-4");
    redis({"SET", "n", "9223372036854775807", "PX", "1000"});
    BOOST_TEST(redis({"INCR", "n"}) == "-ERR increment or decrement would overflow");
    redis({"SET", "n", "1", "KEEPTTL"});
    BOOST_TEST(redis({"INCR", "n"}) == ":2");
    BOOST_TEST(redis({"PTTL", "n"}) == ":1000");
    redis({"SET", "n", "x"});
    BOOST_TEST(redis({"INCR", "n"}) == no_integer);
}

BOOST_AUTO_TEST_CASE(a_key_is_there_at_its_expiry_and_gone_behind_it) {
    play redis;
    redis({"SET", "k", "a", "PX", "10"});
    redis.pass_milliseconds(10);
    BOOST_TEST(redis({"GET", "k"}) == "$a");
    BOOST_TEST(redis({"PTTL", "k"}) == ":0");
    redis.pass_milliseconds(1);
    BOOST_TEST(redis.host.keys().contains("k"));
    BOOST_TEST(redis({"PTTL", "k"}) == ":-2");
    BOOST_TEST(!redis.host.keys().contains("k"));
    BOOST_TEST((redis.host.changed().size() == 1));
}

BOOST_AUTO_TEST_CASE(a_clock_that_jumps_back_prolongs_keys) {
    play redis;
    redis({"SET", "k", "a", "PX", "10"});
    redis.pass_milliseconds(-1000);
    BOOST_TEST(redis({"PTTL", "k"}) == ":1010");
}

BOOST_AUTO_TEST_CASE(the_active_cycle_removes_what_has_expired) {
    play redis;
    redis({"SET", "a", "1", "PX", "10"});
    redis({"SET", "b", "1", "PX", "20"});
    redis({"SET", "c", "1"});
    redis.pass_milliseconds(15);
    redis.host.expire_due(redis.now);
    BOOST_TEST(redis.host.keys().size() == 2U);
    BOOST_TEST((redis.host.changed().size() == 1 && redis.host.changed()[0] == "a"));
}

BOOST_AUTO_TEST_CASE(ttls_obey_their_conditions) {
    play redis;
    BOOST_TEST(redis({"PEXPIRE", "k", "100"}) == ":0");
    redis({"SET", "k", "a"});
    BOOST_TEST(redis({"PEXPIRE", "k", "100", "XX"}) == ":0");
    BOOST_TEST(redis({"PEXPIRE", "k", "100", "GT"}) == ":0");
    BOOST_TEST(redis({"PEXPIRE", "k", "100", "LT"}) == ":1");
    BOOST_TEST(redis({"PEXPIRE", "k", "100", "NX"}) == ":0");
    BOOST_TEST(redis({"PEXPIRE", "k", "50", "GT"}) == ":0");
    BOOST_TEST(redis({"EXPIRE", "k", "2"}) == ":1");
    BOOST_TEST(redis({"PTTL", "k"}) == ":2000");
    BOOST_TEST(redis({"PERSIST", "k"}) == ":1");
    BOOST_TEST(redis({"PERSIST", "k"}) == ":0");
    BOOST_TEST(redis({"PEXPIRE", "k", "1", "FOO"}) == "-ERR Unsupported option FOO");
    BOOST_TEST(redis({"PEXPIRE", "k", "9223372036854775807"}) ==
               "-ERR invalid expire time in 'pexpire' command");
    BOOST_TEST(redis({"PEXPIREAT", "k", "1"}) == ":1");
    BOOST_TEST(redis({"EXISTS", "k"}) == ":0");
}

BOOST_AUTO_TEST_CASE(of_two_forms_of_a_command_the_one_of_the_server_counts) {
    play old(redis_7);
    BOOST_TEST(old({"ZRANK", "z", "a", "WITHSCORE"}) ==
               "-ERR wrong number of arguments for 'zrank' command");
    play recent(redis_8);
    recent({"ZADD", "z", "1.5", "a"});
    BOOST_TEST(recent({"ZRANK", "z", "a", "WITHSCORE"}) == "*[:0 ,1.5]");
    BOOST_TEST(recent({"ZRANK", "z", "a", "more"}) == "-ERR syntax error");
    BOOST_TEST(recent({"ZRANK", "z", "a", "WITHSCORE", "more"}) ==
               "-ERR wrong number of arguments for 'zrank' command");
}

BOOST_AUTO_TEST_CASE(a_part_of_a_text_is_cut_at_its_ends) {
    play redis;
    redis({"SET", "k", "abcd"});
    BOOST_TEST(redis({"GETRANGE", "k", "1", "2"}) == "$bc");
    BOOST_TEST(redis({"GETRANGE", "k", "-2", "100"}) == "$cd");
    BOOST_TEST(redis({"GETRANGE", "k", "0", "-100"}) == "$a");
    BOOST_TEST(redis({"GETRANGE", "k", "-1", "-2"}) == "$");
    BOOST_TEST(redis({"GETRANGE", "none", "0", "100"}) == "$");
}

BOOST_AUTO_TEST_CASE(rename_moves_value_and_ttl) {
    play redis;
    BOOST_TEST(redis({"RENAME", "a", "b"}) == "-ERR no such key");
    redis({"SET", "a", "1", "PX", "1000"});
    redis({"RPUSH", "b", "x"});
    BOOST_TEST(redis({"RENAME", "a", "a"}) == "+OK");
    BOOST_TEST(redis({"RENAME", "a", "b"}) == "+OK");
    BOOST_TEST(redis({"GET", "b"}) == "$1");
    BOOST_TEST(redis({"PTTL", "b"}) == ":1000");
    BOOST_TEST(redis({"TYPE", "a"}) == "+none");
}

BOOST_AUTO_TEST_CASE(sorted_sets_order_by_score_and_name) {
    play redis;
    BOOST_TEST(redis({"ZADD", "z", "2", "b", "1", "c", "1", "a"}) == ":3");
    BOOST_TEST(redis({"ZRANGE", "z", "0", "-1"}) == "*[$a $c $b]");
    BOOST_TEST(redis({"ZRANGE", "z", "-1", "-1", "WITHSCORES"}) == "*[*[$b ,2]]");
    BOOST_TEST(redis({"ZRANGE", "z", "0", "1", "REV"}) == "*[$b $c]");
    BOOST_TEST(redis({"ZRANGE", "z", "(1", "+inf", "BYSCORE"}) == "*[$b]");
    BOOST_TEST(redis({"ZRANGE", "z", "2", "1", "BYSCORE", "REV", "LIMIT", "1", "1"}) == "*[$c]");
    BOOST_TEST(redis({"ZRANGEBYSCORE", "z", "-inf", "1", "WITHSCORES"}) == "*[*[$a ,1] *[$c ,1]]");
    BOOST_TEST(redis({"ZADD", "z", "GT", "CH", "1", "b", "3", "c"}) == ":1");
    BOOST_TEST(redis({"ZADD", "z", "XX", "INCR", "1", "x"}) == "_");
    BOOST_TEST(redis({"ZADD", "z", "INCR", "1", "a"}) == ",2");
    BOOST_TEST(redis({"ZCOUNT", "z", "2", "3"}) == ":3");
    BOOST_TEST(redis({"ZREMRANGEBYSCORE", "z", "(2", "inf"}) == ":1");
    BOOST_TEST(redis({"ZSCORE", "z", "c"}) == "_");
    BOOST_TEST(redis({"ZRANK", "z", "b"}) == ":1");
    BOOST_TEST(redis({"ZRANK", "z", "c"}) == "_");
    BOOST_TEST(redis({"ZREM", "z", "a", "b", "c"}) == ":2");
    BOOST_TEST(redis({"EXISTS", "z"}) == ":0");
    BOOST_TEST(redis({"ZADD", "z", "NX", "XX", "1", "a"}) ==
               "-ERR XX and NX options at the same time are not compatible");
    BOOST_TEST(redis({"ZADD", "z", "x", "a"}) == "-ERR value is not a valid float");
    BOOST_TEST(redis({"ZCOUNT", "z", "x", "1"}) == "-ERR min or max is not a float");
    redis({"SET", "k", "a"});
    BOOST_TEST(redis({"ZADD", "k", "1", "a"}) == wrong_type);
    BOOST_TEST(redis({"ZRANGE", "k", "0", "0"}) == wrong_type);
}

BOOST_AUTO_TEST_CASE(lists_have_two_ends) {
    play redis;
    BOOST_TEST(redis({"RPUSH", "l", "a", "b", "a"}) == ":3");
    BOOST_TEST(redis({"LPUSH", "l", "x", "y"}) == ":5");
    BOOST_TEST(redis({"LRANGE", "l", "0", "-1"}) == "*[$y $x $a $b $a]");
    BOOST_TEST(redis({"LPOS", "l", "a"}) == ":2");
    BOOST_TEST(redis({"LPOS", "l", "a", "RANK", "-1"}) == ":4");
    BOOST_TEST(redis({"LPOS", "l", "a", "COUNT", "0"}) == "*[:2 :4]");
    BOOST_TEST(redis({"LPOS", "l", "q"}) == "_");
    BOOST_TEST(redis({"LINDEX", "l", "-2"}) == "$b");
    BOOST_TEST(redis({"LINDEX", "l", "9"}) == "_");
    BOOST_TEST(redis({"LREM", "l", "-1", "a"}) == ":1");
    BOOST_TEST(redis({"LRANGE", "l", "0", "-1"}) == "*[$y $x $a $b]");
    BOOST_TEST(redis({"LPOP", "l"}) == "$y");
    BOOST_TEST(redis({"LPOP", "l", "9"}) == "*[$x $a $b]");
    BOOST_TEST(redis({"EXISTS", "l"}) == ":0");
    BOOST_TEST(redis({"LLEN", "l"}) == ":0");
    BOOST_TEST(redis({"LPOP", "l", "-1"}) == "-ERR value is out of range, must be positive");
}

BOOST_AUTO_TEST_CASE(hashes_keep_the_order_of_their_fields) {
    play redis;
    BOOST_TEST(redis({"HSET", "h", "b", "1", "a", "2"}) == ":2");
    BOOST_TEST(redis({"HSET", "h", "b", "3"}) == ":0");
    BOOST_TEST(redis({"HGETALL", "h"}) == "%[$b $3 $a $2]");
    BOOST_TEST(redis({"HGET", "h", "a"}) == "$2");
    BOOST_TEST(redis({"HEXISTS", "h", "x"}) == ":0");
    BOOST_TEST(redis({"HINCRBY", "h", "n", "4"}) == ":4");
    BOOST_TEST(redis({"HLEN", "h"}) == ":3");
    BOOST_TEST(redis({"HDEL", "h", "a", "b", "n", "x"}) == ":3");
    BOOST_TEST(redis({"EXISTS", "h"}) == ":0");
}

BOOST_AUTO_TEST_CASE(unknown_commands_are_named) {
    play redis;
    BOOST_TEST(redis({"FOO", "a", "b"}) ==
               "-ERR unknown command 'FOO', with args beginning with: 'a' 'b' ");
    BOOST_TEST(redis({"CLIENT", "FOO"}) == "-ERR unknown subcommand 'FOO'. Try CLIENT HELP.");
    BOOST_TEST(redis({"CLIENT"}) == "-ERR wrong number of arguments for 'client' command");
    BOOST_TEST(redis({"SCRIPT", "LOAD"}) ==
               "-ERR wrong number of arguments for 'script|load' command");
}

BOOST_AUTO_TEST_CASE(copies_of_the_keys_share_nothing_that_changes) {
    play redis;
    redis({"SET", "a", "1"});
    redis({"RPUSH", "l", "1"});
    const keyspace before = redis.host.keys();
    redis({"SET", "a", "2"});
    redis({"RPUSH", "l", "2"});
    redis({"SET", "b", "1"});
    BOOST_TEST(before.size() == 2U);
    BOOST_TEST(std::get<std::string>(before.find("a")->content) == "1");
    BOOST_TEST(std::get<list>(before.find("l")->content).size() == 1U);
    redis.host.replace_keys(before);
    BOOST_TEST(redis.host.changed().size() == 3U);
    BOOST_TEST((redis.host.keys() == before));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::small_redis
