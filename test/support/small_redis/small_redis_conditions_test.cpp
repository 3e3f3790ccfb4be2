// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests a small Redis that is out of memory, is a replica, is a node of a cluster, or denies rights.

#include "play.hpp"

#include "instance/redis/key_slot.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::small_redis {
namespace {

const std::string no_memory = "-OOM command not allowed when used memory > 'maxmemory'.";

BOOST_AUTO_TEST_SUITE(small_redis_conditions)

BOOST_AUTO_TEST_CASE(without_memory_only_commands_that_need_some_are_refused) {
    play redis;
    redis({"SET", "k", "a"});
    redis.host.state.is_out_of_memory = true;
    BOOST_TEST(redis({"SET", "k", "b"}) == no_memory);
    BOOST_TEST(redis({"SET", "k"}) == "-ERR wrong number of arguments for 'set' command");
    BOOST_TEST(redis({"PEXPIRE", "k", "1000"}) == ":1");
    BOOST_TEST(redis({"RENAME", "k", "l"}) == "+OK");
    BOOST_TEST(redis({"DEL", "l"}) == ":1");
}

BOOST_AUTO_TEST_CASE(the_first_write_of_a_script_decides_about_memory) {
    play redis;
    redis.host.state.is_out_of_memory = true;
    BOOST_TEST(redis.eval("return redis.pcall('set', 'k', 'v')") == no_memory);
    BOOST_TEST(redis.eval("redis.call('del', 'none') return redis.call('set', 'k', 'v')") == "+OK");
    BOOST_TEST(redis.eval("redis.pcall('pexpire', 'k', 'x') return redis.call('set', 'k', 'v')") ==
               "+OK");
    BOOST_TEST(redis.eval("redis.pcall('set', 'k') return redis.pcall('set', 'k', 'v')") ==
               no_memory);
}

BOOST_AUTO_TEST_CASE(a_replica_refuses_writes_and_keeps_expired_keys) {
    play redis;
    redis({"SET", "k", "a", "PX", "10"});
    redis.host.state.is_replica = true;
    const std::string readonly = "-READONLY You can't write against a read only replica.";
    BOOST_TEST(redis({"SET", "k", "b"}) == readonly);
    BOOST_TEST(redis.eval("return redis.pcall('del', 'k')") == readonly);
    redis.pass_milliseconds(20);
    BOOST_TEST(redis({"GET", "k"}) == "_");
    redis.host.expire_due(redis.now);
    BOOST_TEST(redis.host.keys().contains("k"));
}

BOOST_AUTO_TEST_CASE(other_conditions_have_their_errors) {
    play redis;
    redis.host.state.lacks_replicas = true;
    BOOST_TEST(redis({"SET", "k", "b"}) == "-NOREPLICAS Not enough good replicas to write.");
    redis.host.state = {.cannot_save = true};
    BOOST_TEST(redis({"DEL", "k"}).starts_with("-MISCONF Redis is configured to save"));
    BOOST_TEST(redis({"PING"}).starts_with("-MISCONF"));
    BOOST_TEST(redis({"GET", "k"}) == "_");
    redis.host.state = {.is_loading = true};
    BOOST_TEST(redis({"GET", "k"}) == "-LOADING Redis is loading the dataset in memory");
    BOOST_TEST(redis({"TIME"}).starts_with("*["));
}

BOOST_AUTO_TEST_CASE(rights_are_checked_before_and_inside_scripts) {
    play redis;
    redis.host.access.denied_commands = {"get", "script"};
    redis.host.access.may_use = [](std::string_view key) { return key != "secret"; };
    BOOST_TEST(redis({"GET", "k"}) ==
               "-NOPERM User default has no permissions to run the 'get' command");
    BOOST_TEST(redis({"SCRIPT", "LOAD", "return 1"}) ==
               "-NOPERM User default has no permissions to run the 'script|load' command");
    BOOST_TEST(redis({"MGET", "k", "secret"}) == "-NOPERM No permissions to access a key");
    BOOST_TEST(redis({"EVAL", "return 1", "1", "secret"}) ==
               "-NOPERM No permissions to access a key");
    BOOST_TEST(
        redis.eval("return redis.pcall('get', 'k')") ==
        "-ERR ACL failure in script: User default has no permissions to run the 'get' command");
    BOOST_TEST(redis.eval("return redis.pcall('set', 'secret', 1)") ==
               "-ERR ACL failure in script: No permissions to access a key");

    play old(redis_7);
    old.host.access.denied_commands = {"get"};
    BOOST_TEST(old({"GET", "k"}) ==
               "-NOPERM this user has no permissions to run the 'get' command");
    BOOST_TEST(old.eval("return redis.pcall('get', 'k')") ==
               "-ERR The user executing the script can't run this command or subcommand");
}

/// A node that serves only the slot of `a`. The slot of `c` has no owner.
struct node : play {
    explicit node(const dialect& speaks) : play(speaks) {
        host.cluster.emplace();
        host.cluster->assign(0, instance::redis::slot_count - 1, "10.0.0.2:6379");
        host.cluster->leave_unserved(other_slot, other_slot);
        host.cluster->serve(slot, slot);
    }
    std::size_t slot = instance::redis::key_slot("a");
    std::size_t other_slot = instance::redis::key_slot("c");
};

BOOST_AUTO_TEST_CASE(a_node_sends_clients_to_the_owner_of_a_slot) {
    node redis(redis_8);
    const std::string slot_of_b = std::to_string(instance::redis::key_slot("b"));
    BOOST_TEST(redis({"SET", "a", "1"}) == "+OK");
    BOOST_TEST(redis({"SET", "b", "1"}) == "-MOVED " + slot_of_b + " 10.0.0.2:6379");
    BOOST_TEST(redis({"GET", "c"}) == "-CLUSTERDOWN Hash slot not served");
    BOOST_TEST(redis({"MGET", "a", "b"}) ==
               "-CROSSSLOT Keys in request don't hash to the same slot");
    BOOST_TEST(redis({"EVAL", "return 1", "1", "b"}) == "-MOVED " + slot_of_b + " 10.0.0.2:6379");
    BOOST_TEST(redis.eval("return redis.pcall('get', 'b')") ==
               "-ERR Script attempted to access a non local key in a cluster node");
    BOOST_TEST(redis.eval("return redis.pcall('get', 'c')") ==
               "-ERR Script attempted to access a slot not served");
    redis.host.cluster->is_down = true;
    BOOST_TEST(redis({"GET", "a"}) == "-CLUSTERDOWN The cluster is down");
    BOOST_TEST(redis({"PING"}) == "+PONG");
}

BOOST_AUTO_TEST_CASE(a_slot_that_migrates_is_served_while_its_keys_are_there) {
    node redis(valkey_9);
    redis({"SET", "a", "1"});
    redis.host.cluster->migrate(redis.slot, "10.0.0.3:6379");
    BOOST_TEST(redis({"GET", "a"}) == "$1");
    const std::string ask = "-ASK " + std::to_string(redis.slot) + " 10.0.0.3:6379";
    BOOST_TEST(redis({"GET", "{a}1"}) == ask);
    BOOST_TEST(redis({"MGET", "a", "{a}1"}) ==
               "-TRYAGAIN Multiple keys request during rehashing of slot");
    BOOST_TEST(redis.eval("return redis.pcall('get', '{a}1')", {"a"}) ==
               "-ERR Attempted to access a non local key in a cluster node");
    redis.host.cluster->settle(redis.slot);
    BOOST_TEST(redis({"GET", "{a}1"}) == "_");
}

/// Valkey 9.1.2 behaves in this way.
BOOST_AUTO_TEST_CASE(a_cross_slot_command_of_a_script_ends_all_scripts_on_valkey) {
    node redis(valkey_9);
    const std::string refused = "-ERR Attempted to access a non local key in a cluster node";
    BOOST_TEST(redis.eval("return redis.call('get', 'a')") == "_");
    BOOST_TEST(redis.eval("return redis.pcall('mget', 'a', 'b')") == refused);
    BOOST_TEST(redis.eval("return redis.pcall('get', 'a')") == refused);
    redis({"SCRIPT", "FLUSH"});
    BOOST_TEST(redis.eval("return redis.pcall('ping')") == refused);
    BOOST_TEST(redis({"GET", "a"}) == "_");
    redis.host.restart();
    BOOST_TEST(redis.eval("return redis.call('get', 'a')") == "_");
}

BOOST_AUTO_TEST_CASE(a_slot_that_is_imported_is_served_after_asking) {
    node redis(redis_8);
    redis.host.cluster->assign(redis.slot, redis.slot, "10.0.0.2:6379");
    redis.host.cluster->import(redis.slot, "10.0.0.2:6379");
    const std::string moved = "-MOVED " + std::to_string(redis.slot) + " 10.0.0.2:6379";
    player client(redis);
    BOOST_TEST(client({"SET", "a", "1"}) == moved);
    BOOST_TEST(client({"ASKING"}) == "+OK");
    BOOST_TEST(client({"SET", "a", "1"}) == "+OK");
    BOOST_TEST(client({"GET", "a"}) == moved);
    client({"ASKING"});
    BOOST_TEST(client({"MGET", "a", "{a}1"}) ==
               "-TRYAGAIN Multiple keys request during rehashing of slot");
    client({"ASKING"});
    BOOST_TEST(client({"EVAL", "return redis.call('get', KEYS[1])", "1", "a"}) == "$1");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::small_redis
