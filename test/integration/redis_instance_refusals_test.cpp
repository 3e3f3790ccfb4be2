// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Passwords, rights and commands that a server may refuse to an instance.

#include "integration/locks.hpp"
#include "integration/redis_instance.hpp"
#include "kinds/fifo/fifo.hpp"
#include "kinds/script_commands.hpp"
#include "kinds/semaphore/semaphore.hpp"
#include "kinds/shared/shared.hpp"
#include "support/redis_server.hpp"

#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace colock::test;
using namespace std::chrono_literals;
using boost::unit_test::label;
using colock::core::step;
using colock::instance::state;
using colock::kinds::needed_by;
using colock::kinds::script_command;
using colock::kinds::script_commands;

namespace {

/// Checks that releases are sent to this server one by one, and that the batched form is not tried a second
/// time.
void check_releases_one_by_one(const redis_server& server, const std::string& uri) {
    instance_rig rig(uri);
    rig.run_until_ready();
    release_many(rig, 20);
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 20);
    BOOST_TEST(executed(server, "evalsha") == 20U);
    BOOST_TEST(server.keys().empty());
    BOOST_TEST(rig.status().reason.empty());
}

std::string error_of_client(const std::string& uri) {
    asio::io_context context;
    try {
        colock::client client(context, colock::config::from_uris({"memory://tls", uri}));
    } catch (const colock::config_error& e) {
        BOOST_TEST(e.field() == "instances[1]");
        return e.what();
    }
    return "no error";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(refusals)

namespace {

/// Checks that the instance does not become ready in ten attempts to connect, and writes nothing to any
/// database.
void check_refused(const redis_server& server, const std::string& uri,
                   const strings& parts_of_reason) {
    instance_rig rig(uri);
    const std::string reason = rig.run_until_down();
    for (const std::string& part : parts_of_reason) {
        BOOST_TEST(contains(reason, part), reason);
    }
    const auto connections = [&] { return info_number(server, "total_connections_received"); };
    // The count includes the instance's connections and those of this query.
    const long enough = connections() + 10;
    bool was_ready = false;
    for (int i = 0; connections() < enough; ++i) {
        rig.submit(step::acquire, "k" + std::to_string(i), "ann");
        rig.submit(step::release, "k" + std::to_string(i), "ann");
        rig.run_until_voted();
        rig.run_until([&, turns = 0]() mutable {
            was_ready |= rig.subject().ready() || rig.status().state == state::ready;
            return ++turns == 10;
        });
    }
    BOOST_TEST(!was_ready);
    for (const std::string& vote : rig.votes()) {
        BOOST_TEST(vote == "failed: down");
    }
    BOOST_TEST(server.command({"INFO", "keyspace"}).value().find("db") == std::string::npos);
    BOOST_TEST(info_number(server, "expired_keys") == 0);
    BOOST_TEST(info_number(server, "rdb_changes_since_last_save") == 0);
}

}  // namespace

/// The file is read for each connection.
BOOST_AUTO_TEST_CASE(a_password_file_is_read_for_each_connection) {
    redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">first", "allkeys", "allchannels", "+@all"});
    const temporary_folder folder;
    const std::string file = (folder.path() / "password").string();
    std::ofstream(file) << "first\n";
    instance_rig rig(local_uri(server, "ann@", "?password_file=" + file));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "a") == "granted");
    server.command({"ACL", "SETUSER", "ann", "resetpass", ">second"});
    std::ofstream(file) << "second\r\nnot this";
    const auto changes = rig.state_changes();
    server.command({"CLIENT", "KILL", "USER", "ann"});
    rig.run_until([&] { return rig.state_changes() > changes; });
    rig.run_until_ready();
    BOOST_TEST(rig.release("k", "a") == "granted");
    std::filesystem::remove(file);
    server.command({"CLIENT", "KILL", "USER", "ann"});
    const std::string gone = "password_file " + file + " cannot be read";
    rig.run_until([&] { return contains(rig.status().reason, gone); });
}

BOOST_AUTO_TEST_CASE(a_password_from_the_environment_is_used) {
    const redis_server server({"--requirepass", "secret"});
    ::setenv("COLOCK_TEST_PASSWORD", "secret", 1);
    instance_rig rig(local_uri(server, "", "?password_env=COLOCK_TEST_PASSWORD"));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "a") == "granted");
    ::setenv("COLOCK_TEST_PASSWORD", "hunter2", 1);
    const redis_server other({"--requirepass", "secret"});
    check_refused(other, local_uri(other, "", "?password_env=COLOCK_TEST_PASSWORD"),
                  {"HELLO with AUTH was refused: WRONGPASS"});
    ::unsetenv("COLOCK_TEST_PASSWORD");
}

BOOST_AUTO_TEST_CASE(an_unreadable_password_is_a_configuration_error) {
    const temporary_folder folder;
    const std::string empty = (folder.path() / "empty").string();
    std::ofstream{empty};
    const std::vector<std::pair<std::string, std::string>> bad{
        {"?password_file=/none", "password_file /none cannot be read (No such file"},
        {"?password_file=" + folder.path().string(),
         " cannot be read (Is a directory). Check its path"},
        {"?password_file=" + empty, "the first line of password_file " + empty + " is empty"},
        {"?password_env=COLOCK_NO_SUCH", "password_env COLOCK_NO_SUCH is not set. Set this"},
    };
    for (const auto& [parameters, reason] : bad) {
        const std::string text = error_of_client("redis://127.0.0.1:1" + parameters);
        BOOST_TEST(contains(text, reason), text);
    }
}

BOOST_AUTO_TEST_CASE(a_user_without_script_load_is_rejected) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-script"});
    check_refused(server, local_uri(server, "ann:x@"), {"SCRIPT LOAD was refused: NOPERM"});
}

BOOST_AUTO_TEST_CASE(a_user_without_evalsha_is_rejected) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-evalsha"});
    check_refused(server, local_uri(server, "ann:x@"), {"EVALSHA was refused: NOPERM"});
}

/// Such a server loads scripts but refuses a command inside them. It would grant locks that it cannot renew
/// or release.
BOOST_AUTO_TEST_CASE(a_server_without_a_command_every_lock_needs_is_rejected, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        if (one.whom != needed_by::every_lock) {
            continue;
        }
        const std::string name(one.name);
        BOOST_TEST_CONTEXT("without " << name) {
            std::string upper;
            std::ranges::transform(name, std::back_inserter(upper), [](char c) {
                return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
            });
            const std::string reason = "scripts may not use " + upper + " (ERR ";
            const redis_server by_acl;
            by_acl.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-" + name});
            check_refused(by_acl, local_uri(by_acl, "ann:x@"), {reason, "which every lock needs"});
            const redis_server renamed({"--rename-command", upper, ""});
            check_refused(renamed, renamed.uri(), {reason, "which every lock needs"});
        }
    }
}

/// If the server has lost its scripts, they are sent in full by EVAL.
BOOST_AUTO_TEST_CASE(a_user_without_eval_is_rejected, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-eval"});
    check_refused(server, local_uri(server, "ann:x@"), {"EVAL was refused: NOPERM"});
}

/// A mutex does not need these commands. A reader could join but could not leave again.
BOOST_AUTO_TEST_CASE(a_missing_command_disables_only_the_locks_that_need_it, *label("fault-100")) {
    for (const script_command& one : script_commands) {
        if (one.whom == needed_by::every_lock || one.whom == needed_by::no_lock) {
            continue;
        }
        BOOST_TEST_CONTEXT("without " << one.name) {
            const redis_server server;
            server.command(
                {"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-" + std::string(one.name)});
            instance_rig rig(local_uri(server, "ann:x@"));
            rig.run_until_ready();
            BOOST_TEST(rig.acquire("k", "ann") == "granted");
            BOOST_TEST(rig.extend("k", "ann") == "granted");
            BOOST_TEST(rig.release("k", "ann") == "granted");
            const bool no_readers = includes(one.whom, needed_by::readers);
            const bool no_permits = includes(one.whom, needed_by::semaphores);
            const bool no_fences = includes(one.whom, needed_by::fencing);
            const auto read = rig.ask({step::acquire, colock::kinds::shared}, "s", "reader:a");
            BOOST_TEST(to_text(read) == (no_readers ? "failed: server error" : "granted"));
            BOOST_TEST(
                contains(detail_of(read), no_readers ? "a reader of a shared_mutex needs" : ""));
            const auto permit = rig.ask({step::acquire, colock::kinds::semaphore(2, 1)}, "p",
                                        "permit:2*1:" + std::string(40, 'a'));
            BOOST_TEST(to_text(permit) == (no_permits ? "failed: server error" : "granted"));
            BOOST_TEST(contains(detail_of(permit), no_permits ? "a semaphore needs" : ""));
            const auto fenced = rig.ask(fenced_acquire, "f", "ann");
            BOOST_TEST(to_text(fenced) == (no_fences ? "failed: server error" : "granted"));
            BOOST_TEST(contains(detail_of(fenced), no_fences ? "a lock with fencing needs" : ""));
            const bool no_orders = includes(one.whom, needed_by::orders);
            const auto ordered = rig.ask(
                step_of_kind(step::acquire, colock::kinds::fifo).at_place(1, 1), "o", "ann");
            BOOST_TEST(to_text(ordered) == (no_orders ? "failed: server error" : "granted"));
            BOOST_TEST(
                contains(detail_of(ordered), no_orders ? "a lock with a binding order needs" : ""));
            BOOST_TEST(rig.acquire("k", "bob") == "granted");  // The connection is kept.
            BOOST_TEST(rig.status().reason.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_right_granted_later_is_detected, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-zrem"});
    auto settings = quick_settings();
    settings.connection.silence_timeout = 200ms;
    instance_rig rig(local_uri(server, "ann:x@"), settings);
    rig.run_until_ready();
    const auto read = [&] {
        return to_text(rig.ask({step::acquire, colock::kinds::shared}, "s", "reader:a"));
    };
    BOOST_TEST(read() == "failed: server error");
    server.command({"ACL", "SETUSER", "ann", "+zrem"});
    rig.run_until([&] { return read() == "granted"; });
    BOOST_TEST(contains(rig.status().reason, "it is asked again for the commands"));
}

/// None of these errors means a missing right, and trying each command changes nothing.
BOOST_AUTO_TEST_CASE(the_probe_tries_commands_without_changing_data, *label("fault-100")) {
    const redis_server full({"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
    const redis_server alone({"--min-replicas-to-write", "1"});
    const redis_server usual;
    const redis_server limited;
    limited.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    for (const auto& [server, uri] : {std::pair{&full, full.uri()},
                                      {&alone, alone.uri()},
                                      {&usual, usual.uri()},
                                      {&limited, local_uri(limited, "ann:x@")}}) {
        server->command({"CONFIG", "RESETSTAT"});
        instance_rig rig(uri);
        rig.run_until_ready();
        BOOST_TEST(contains(server->command({"INFO", "commandstats"}).value(), "cmdstat_zadd:"));
        BOOST_TEST(info_number(*server, "rdb_changes_since_last_save") == 0);
        BOOST_TEST(!contains(server->command({"INFO", "keyspace"}).value(), "db"));
        const auto read = rig.ask({step::acquire, colock::kinds::shared}, "mine:s", "reader:a");
        BOOST_TEST(!contains(detail_of(read), "scripts may not use"));
    }
}

/// The commands are tried on a key with the prefix of the locks. An ACL by prefix therefore allows it and
/// logs nothing.
BOOST_AUTO_TEST_CASE(the_probe_uses_a_key_with_the_clients_prefix, *label("fault-100")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    auto settings = quick_settings();
    settings.connection.key_prefix = "mine:";
    instance_rig rig(local_uri(server, "ann:x@"), settings);
    rig.run_until_ready();
    BOOST_TEST(server.command({"ACL", "LOG"}).value_or("") == "");
}

/// The rights that docs/permissions.md lists, and PING, which checks an idle connection.
BOOST_AUTO_TEST_CASE(the_documented_rights_suffice_for_a_mutex) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "-@all", "+hello", "+auth",
                    "+select", "+ping", "+set", "+pttl", "+eval", "+evalsha", "+script|load",
                    "+get", "+del", "+pexpire"});
    auto settings = quick_settings();
    settings.connection.silence_timeout = 1s;
    instance_rig rig(local_uri(server, "ann:x@", "/1"), settings);
    rig.run_until_ready();
    const std::size_t changes = rig.state_changes();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.extend("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    rig.run_until([&] {
        return contains(server.command({"INFO", "commandstats"}).value(), "cmdstat_ping:calls=2");
    });
    BOOST_TEST(rig.state_changes() == changes);
}

BOOST_AUTO_TEST_CASE(a_user_without_info_is_accepted) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-info"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    BOOST_TEST(rig.status().version.empty());
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

// The instance logs in again as soon as the server accepts it.
BOOST_AUTO_TEST_CASE(an_instance_logs_in_once_the_server_accepts_the_password) {
    const redis_server server({"--requirepass", "secret"});
    instance_rig rig(local_uri(server, ":other@"));
    rig.run_until_down();
    server.command({"ACL", "SETUSER", "default", ">other"});
    rig.run_until_ready();
    BOOST_TEST(contains(rig.status().reason, "WRONGPASS"));  // The reason of its last failure.
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

BOOST_AUTO_TEST_CASE(a_refused_release_does_not_fail_the_others_of_its_batch) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    for (int times = 0; times != 2; ++times) {
        for (int i = 0; i != 9; ++i) {
            rig.submit(step::acquire, "mine:" + std::to_string(i), "ann");
        }
        BOOST_TEST(rig.votes() == strings(9, "granted"), boost::test_tools::per_element());
        strings expected;
        for (int i = 0; i != 9; ++i) {
            rig.submit(step::release, (i == 5 ? "yours:" : "mine:") + std::to_string(i), "ann");
            expected.emplace_back(i == 5 ? "failed: server error" : "granted");
        }
        server.command({"SCRIPT", "FLUSH"});
        BOOST_TEST(rig.votes() == expected, boost::test_tools::per_element());
        BOOST_TEST(rig.release("mine:5", "ann") == "granted");
    }
    server.command({"CONFIG", "RESETSTAT"});
    release_many(rig, 20, "mine:");  // The next releases are batched again.
    BOOST_TEST(executed(server, "evalsha") == 1U);
}

BOOST_AUTO_TEST_CASE(a_user_without_mget_releases_keys_one_by_one) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "-mget"});
    check_releases_one_by_one(server, local_uri(server, "ann:x@"));
}

BOOST_AUTO_TEST_CASE(a_server_without_mget_releases_keys_one_by_one) {
    const redis_server server({"--rename-command", "MGET", ""});
    check_releases_one_by_one(server, server.uri());
}

// The client publishes nothing. A user without channels can therefore do everything, and a waiter is still
// notified of a release.
BOOST_AUTO_TEST_CASE(a_user_without_channels_is_notified_of_releases, *label("fault-80")) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~*", "+@all", "resetchannels"});
    instance_rig rig(local_uri(server, "ann:x@"));
    instance_rig other(server.uri());
    rig.run_until_ready();
    other.run_until_ready();
    BOOST_TEST(other.acquire("k", "bob") == "granted");
    BOOST_TEST(rig.remaining("k") == "denied: another");
    BOOST_TEST(other.release("k", "bob") == "granted");
    rig.run_until([&] { return !rig.changed.empty(); });
    BOOST_TEST(rig.changed == strings{"k"}, boost::test_tools::per_element());
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
    BOOST_TEST(rig.release("k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_CASE(a_key_outside_the_users_pattern_is_a_failed_vote) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ann", "on", ">x", "~mine:*", "+@all"});
    instance_rig rig(local_uri(server, "ann:x@"));
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("mine:k", "ann") == "granted");
    for (const step v : {step::acquire, step::extend, step::release, step::remaining}) {
        const auto vote = rig.ask(v, "yours:k", "ann");
        BOOST_TEST(to_text(vote) == "failed: server error");
        BOOST_TEST(contains(detail_of(vote), "NOPERM"), detail_of(vote));
    }
    BOOST_TEST(rig.release("mine:k", "ann") == "granted");
    BOOST_TEST(rig.status().reason.empty());
}

BOOST_AUTO_TEST_SUITE_END()
