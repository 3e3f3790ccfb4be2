// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Tests client connections to a small Redis, and client tracking.

#include "play.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::small_redis {
namespace {

BOOST_AUTO_TEST_SUITE(small_redis_session)

BOOST_AUTO_TEST_CASE(commands_may_arrive_in_pieces_and_in_rows) {
    play redis;
    session client(redis.host);
    const std::string_view set[] = {"SET", "k", "a\r\nb"};
    const std::string_view get[] = {"GET", "k"};
    const std::string bytes = encoded(set) + encoded(get) + encoded(get);
    for (const char& one : bytes) {
        BOOST_TEST(client.receive({&one, 1}, redis.now));
    }
    BOOST_TEST(shown(client.output()) == "+OK; $a\r\nb; $a\r\nb");
    client.output().clear();
    BOOST_TEST(client.receive(bytes, redis.now));
    BOOST_TEST(shown(client.output()) == "+OK; $a\r\nb; $a\r\nb");
    BOOST_TEST(!client.receive("GET k\r\n", redis.now));
}

BOOST_AUTO_TEST_CASE(the_greeting_tells_what_clients_look_at) {
    play redis(valkey_9);
    redis.host.self.started = redis.now - 5'000'000;
    player client(redis);
    BOOST_TEST(client({"HELLO", "3", "SETNAME", "me"}) ==
               "%[$server $valkey $version $9.1.2 $proto :3 $id :1 $mode $standalone $role $master "
               "$modules *[]]");
    BOOST_TEST(client({"CLIENT", "GETNAME"}) == "$me");
    BOOST_TEST(client({"HELLO", "2"}) == "-NOPROTO unsupported protocol version");
    const std::string info = client({"INFO", "server"});
    BOOST_TEST(info.find("valkey_version:9.1.2\r\n") != std::string::npos);
    BOOST_TEST(info.find("uptime_in_seconds:5\r\n") != std::string::npos);
    BOOST_TEST(client({"INFO", "replication"}).find("master_replid2:0000") != std::string::npos);
    redis.host.self.acknowledging_replicas = 2;
    BOOST_TEST(client({"WAIT", "1", "100"}) == ":2");
}

/// Two clients, one of which tracks keys.
struct trackers {
    explicit trackers(const dialect& speaks = redis_8)
        : redis(speaks), waiter(redis), other(redis) {
        waiter({"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"});
        redis({"SET", "k", "v"});
    }
    void track(std::string_view key = "k") {
        waiter({"CLIENT", "CACHING", "YES"});
        waiter({"PTTL", key});
    }
    play redis;
    player waiter;
    player other;
    const std::string told = ">[$invalidate *[$k]]";
};

BOOST_AUTO_TEST_CASE(a_change_is_told_once) {
    trackers all;
    all.track();
    all.other({"SET", "k", "1"});
    all.other({"SET", "k", "2"});
    BOOST_TEST(all.waiter.received() == all.told);
}

BOOST_AUTO_TEST_CASE(only_the_command_behind_caching_counts) {
    trackers all;
    all.waiter({"GET", "k"});
    all.other({"SET", "k", "1"});
    all.waiter({"CLIENT", "CACHING", "YES"});
    all.waiter({"PING"});
    all.waiter({"GET", "k"});
    all.other({"SET", "k", "1"});
    BOOST_TEST(all.waiter.received().empty());
    all.waiter({"CLIENT", "CACHING", "YES"});
    all.waiter({"CLIENT", "ID"});
    all.waiter({"GET", "k"});
    all.other({"SET", "k", "1"});
    BOOST_TEST(all.waiter.received() == all.told);
}

BOOST_AUTO_TEST_CASE(own_changes_are_told_behind_the_reply_or_not_at_all) {
    trackers all;
    all.track();
    BOOST_TEST(all.waiter({"SET", "k", "1"}) == "+OK");
    all.other({"SET", "k", "1"});
    BOOST_TEST(all.waiter.received().empty());
    all.waiter({"CLIENT", "TRACKING", "ON", "OPTIN"});
    all.track();
    BOOST_TEST(all.waiter({"SET", "k", "1"}) == "+OK; " + all.told);
}

BOOST_AUTO_TEST_CASE(an_absent_key_is_tracked) {
    trackers all;
    all.track("new");
    all.other({"SET", "new", "1"});
    BOOST_TEST(all.waiter.received() == ">[$invalidate *[$new]]");
}

BOOST_AUTO_TEST_CASE(expiry_is_told_when_the_key_is_removed) {
    trackers all;
    all.redis({"PEXPIRE", "k", "10"});
    all.track();
    all.redis.pass_milliseconds(11);
    BOOST_TEST(all.waiter.received().empty());
    all.redis.host.expire_due(all.redis.now);
    BOOST_TEST(all.waiter.received() == all.told);
    all.redis({"SET", "k", "v", "PX", "10"});
    all.track();
    all.redis.pass_milliseconds(11);
    all.other({"EXISTS", "k"});
    BOOST_TEST(all.waiter.received() == all.told);
}

BOOST_AUTO_TEST_CASE(a_flush_is_told_to_all_who_track) {
    trackers all;
    all.other({"FLUSHALL"});
    BOOST_TEST(all.waiter.received() == ">[$invalidate _]");
    BOOST_TEST(all.other.received().empty());
}

BOOST_AUTO_TEST_CASE(keys_that_scripts_read_are_tracked) {
    trackers all;
    const std::string_view script = "redis.call('get', 'other') return redis.call('get', KEYS[1])";
    all.waiter({"CLIENT", "CACHING", "YES"});
    all.waiter({"EVAL", script, "1", "k"});
    all.other({"MGET", "k"});
    all.other({"SET", "other", "1"});
    all.other({"SET", "k", "1"});
    BOOST_TEST(all.waiter.received() == ">[$invalidate *[$other]]; " + all.told);

    trackers old(redis_7);
    old.waiter({"CLIENT", "CACHING", "YES"});
    old.waiter({"EVAL", script, "1", "k"});
    old.other({"SET", "other", "1"});
    old.other({"SET", "k", "1"});
    BOOST_TEST(old.waiter.received() == old.told);
}

BOOST_AUTO_TEST_CASE(changes_by_scripts_are_told) {
    trackers all;
    all.track();
    all.other({"EVAL", "redis.call('rename', 'k', 'l')", "0"});
    BOOST_TEST(all.waiter.received() == all.told);
}

BOOST_AUTO_TEST_CASE(a_replaced_state_is_told_key_by_key) {
    trackers all;
    const keyspace before = all.redis.host.keys();
    all.track();
    all.track("l");
    all.redis({"SET", "l", "1"});
    all.waiter.received();
    all.track("l");
    all.redis.host.replace_keys(before);
    BOOST_TEST(all.waiter.received() == ">[$invalidate *[$l]]");
}

BOOST_AUTO_TEST_CASE(a_session_that_ends_is_told_nothing) {
    play redis;
    {
        player gone(redis);
        gone({"CLIENT", "TRACKING", "ON"});
        gone({"GET", "k"});
    }
    BOOST_TEST(redis({"SET", "k", "v"}) == "+OK");
}

BOOST_AUTO_TEST_CASE(a_push_reaches_whoever_watches_the_session) {
    trackers all;
    int calls = 0;
    all.redis.host.on_push = [&](session& to) { calls += &to == &all.waiter.connection ? 1 : 0; };
    all.track();
    all.other({"SET", "k", "1"});
    BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::small_redis
