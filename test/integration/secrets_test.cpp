// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// No output of the library contains a password, in a run in which every operation fails.

#include "support/secrets.hpp"
#include "locks.hpp"
#include "support/fake_server.hpp"
#include "support/redis_server.hpp"
#include "support/reserved_port.hpp"
#include "support/run.hpp"

#include <boost/test/unit_test.hpp>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(secrets_test)

namespace {

using namespace colock::test;
using colock::client;
using colock::config;
using colock::lease;
using colock::lock_options;
using colock::mutex;
using nlohmann::json;
using strings = std::vector<std::string>;

std::string at(const std::string& user_info, std::uint16_t port, const std::string& query = {}) {
    return "redis://" + user_info + "@127.0.0.1:" + std::to_string(port) + query;
}

void add(transcript& said, const colock::error& failure) {
    said.add(failure.message());
    said.add(failure.details());
    said.add(colock::lock_error(failure).what());
}

void add(transcript& said, const client& locks) {
    for (const colock::instance_info& one : locks.instances()) {
        said.add(one.address);
        said.add(one.reason);
        said.add(one.version);
        said.add(one.run_id);
        said.add(std::string(colock::to_string(one.state)));
    }
}

/// Waits until the first connection to each instance has succeeded or failed.
asio::awaitable<void> all_tried(const client& locks) {
    const auto tried = [](const colock::instance_info& one) {
        return !one.reason.empty() || one.state == colock::instance_state::ready;
    };
    co_await async_wait_until([&] { return std::ranges::all_of(locks.instances(), tried); });
}

/// Records every text from a client of these instances when no lock can be acquired.
void fail_at(transcript& said, const strings& uris, milliseconds connect_timeout) {
    run_test([](transcript& to, strings instances, milliseconds patience) -> asio::awaitable<void> {
        config configuration = config::from_uris(std::move(instances));
        configuration.connect_timeout = patience;
        client locks(co_await asio::this_coro::executor, configuration);
        co_await all_tried(locks);
        add(to, locks);
        lock_options options;
        options.unavailable_timeout = 50ms;
        const mutex lock(locks, "k", options);
        const auto [not_tried, nothing] =
            co_await lock.try_acquire(asio::as_tuple(asio::use_awaitable));
        BOOST_TEST(not_tried.message() != "");
        BOOST_TEST(!nothing.owns_lock());
        add(to, not_tried);
        try {
            co_await lock.acquire();
            BOOST_ERROR("it was granted");
        } catch (const std::exception& failure) {
            to.add(failure.what());
        }
        try {
            co_await colock::with_lock(
                lock, [](lease&) -> asio::awaitable<void> { co_return; }, asio::use_awaitable);
            BOOST_ERROR("it was granted");
        } catch (const std::exception& failure) {
            to.add(failure.what());
        }
        add(to, locks);
        const auto [not_closed] = co_await locks.close(asio::as_tuple(asio::use_awaitable));
        add(to, not_closed);
        add(to, locks);
    }(said, uris, connect_timeout));
}

/// Checks that the client's texts contain the expected ones, and no part of the password.
void check_says(const strings& uris, const strings& expected,
                milliseconds connect_timeout = default_timeout) {
    transcript said;
    fail_at(said, uris, connect_timeout);
    said.check_has(expected);
    said.check_no_secret();
}

/// Records the error about an invalid configuration.
void add_refusal(transcript& said, const std::function<void()>& use) {
    try {
        use();
        BOOST_ERROR("it was not refused");
    } catch (const colock::config_error& failure) {
        said.add(failure.what());
        said.add(failure.field());
    }
}

/// Records the errors about a URI, for every way to pass one.
void add_refusals(transcript& said, const std::string& uri) {
    BOOST_TEST_CONTEXT(uri) {
        add_refusal(said, [&] { config::from_uris({"memory://a", uri}); });
        add_refusal(said, [&] {
            config configuration;
            configuration.instances = {uri};
            configuration.validate();
        });
        add_refusal(said, [&] { config::from_json(json{{"instances", {uri}}}.dump()); });
        add_refusal(said, [&] {
            asio::io_context context;
            config configuration;
            configuration.instances = {uri};
            client locks(context, configuration);
        });
    }
}

/// Parts of a secret, separated by all the characters that are special in a URI.
const std::string special = secret("Aa") + "@" + secret("Bb") + ":/?#[]%&=+ \"'\\" + secret("Cc");
const std::string special_encoded = secret("Aa") + "%40" + secret("Bb") +
                                    "%3A%2F%3F%23%5B%5D%25%26%3D%2B%20%22%27%5C" + secret("Cc");

}  // namespace

/// Shows that the test can fail.
BOOST_AUTO_TEST_CASE(the_transcript_detects_encoded_and_partial_secrets) {
    BOOST_TEST(transcript::holds_secret("the password is " + special));
    BOOST_TEST(transcript::holds_secret(special_encoded));
    BOOST_TEST(transcript::holds_secret("...ZQ9Xa"));
    BOOST_TEST(transcript::holds_secret("%7aq9%78"));
    BOOST_TEST(!transcript::holds_secret("100%"));
    BOOST_TEST(percent_decoded(special_encoded) == special);
}

BOOST_AUTO_TEST_CASE(a_wrong_password_stays_secret) {
    const redis_server server({"--requirepass", "right"});
    const strings expected{"HELLO with AUTH was refused: WRONGPASS",
                           "0 of 1 instances granted the lock, 1 required [redis://127.0.0.1:"};
    check_says({at(":" + secret("Wrong"), server.port())}, expected);
    check_says({at("default:" + special_encoded, server.port())}, expected);
    check_says({at("nobody:" + secret("Wrong"), server.port(), "/3")}, expected);
    // A user name that was mistaken for the password.
    check_says({at(secret("User"), server.port())}, expected);
}

BOOST_AUTO_TEST_CASE(a_wrong_password_over_a_unix_socket_stays_secret) {
    const redis_server server({"--requirepass", secret("Right")});
    std::string uri = server.unix_uri();
    uri.resize(uri.find('?'));
    check_says({uri + "?password=" + special_encoded}, {"WRONGPASS"});
    check_says({uri + "?user=ann&password=" + secret("Wrong")}, {"WRONGPASS"});
    check_says({uri}, {"NOAUTH"});
}

BOOST_AUTO_TEST_CASE(a_password_from_a_file_or_the_environment_stays_secret) {
    const redis_server server({"--requirepass", "right"});
    const temporary_folder folder;
    const std::string file = (folder.path() / "password").string();
    std::ofstream(file) << special << "\nsecond line, " << secret("Line");
    check_says({at("", server.port(), "?password_file=" + file)}, {"WRONGPASS"});
    ::setenv("COLOCK_TEST_SECRET", special.c_str(), 1);
    check_says({at("", server.port(), "?password_env=COLOCK_TEST_SECRET")}, {"WRONGPASS"});
    ::unsetenv("COLOCK_TEST_SECRET");
}

BOOST_AUTO_TEST_CASE(the_password_of_a_user_without_rights_stays_secret) {
    const redis_server server;
    const auto make_user = [&](const std::string& rights) {
        server.command(
            {"ACL", "SETUSER", "ann", "reset", "on", ">" + special, "~*", "&*", "+@all", rights});
    };
    const std::string uri = at("ann:" + special_encoded, server.port());
    make_user("-evalsha");
    check_says({uri}, {"EVALSHA was refused: NOPERM"});
    make_user("-set");
    check_says({uri}, {"scripts may not use SET"});
    make_user("resetkeys");  // The probe succeeds, and every vote fails.
    check_says({uri}, {"ready", "NOPERM"});
}

BOOST_AUTO_TEST_CASE(the_password_stays_secret_if_no_server_listens) {
    const reserved_port port;
    check_says({at(":" + special_encoded, port.number())}, {"refused"});
    check_says({"unix:///no/such/socket?password=" + special_encoded}, {"No such file"});
    check_says({"redis://:" + special_encoded + "@no-such-host.invalid"}, {"cannot resolve"});
    check_says({"rediss://:" + special_encoded + "@127.0.0.1:" + std::to_string(port.number())},
               {"refused"});
}

BOOST_AUTO_TEST_CASE(the_password_stays_secret_if_the_server_lacks_tls) {
    const redis_server server;
    check_says({"rediss://:" + special_encoded + "@127.0.0.1:" + std::to_string(server.port())},
               {"the TLS handshake was not done in time"}, 300ms);
}

/// Redis before 6.0 does not support HELLO.
BOOST_AUTO_TEST_CASE(the_password_stays_secret_in_an_error_about_hello) {
    const fake_server server(unknown_command);
    const strings expected{"HELLO with AUTH was refused: ERR unknown command `HELLO`"};
    check_says({at(":" + secret("Echoed"), server.port())}, expected);
    check_says({at("ann:" + special_encoded, server.port())}, expected);
    check_says({at(":" + secret(std::string(300, 'x')), server.port())}, expected);
}

BOOST_AUTO_TEST_CASE(the_password_stays_secret_in_replies_that_repeat_it) {
    const auto repeating = [](const std::string& before, const std::string& after) {
        return fake_server([=](const fake_server::words& command) -> fake_reply {
            return command[0] == "HELLO" ? before + command.at(3) + "|" + command.at(4) + after
                                         : answer_as_server(command);
        });
    };
    for (const std::string& uri_secret : {secret("Echoed"), special_encoded}) {
        const fake_server error = repeating("-ERR no user ", " is known\r\n");
        check_says({at(":" + uri_secret, error.port())}, {"was refused: ERR no user default|"});
        const fake_server bulk = repeating("!1000\r\n", std::string(1000, 'x') + "\r\n");
        check_says({at(":" + uri_secret, bulk.port())}, {});
        const fake_server no_resp = repeating("you said ", ", which is no command\r\n");
        check_says({at(":" + uri_secret, no_resp.port())},
                   {"it sent what is not RESP3: \"you said default|"});
        // The library truncates the text in the middle of the password.
        const fake_server far = repeating("what have you said? ", ", which is no command\r\n");
        check_says({at(":" + uri_secret, far.port())}, {"not RESP3: \"what have you said? def"});
    }
    // The rest of the text has not arrived yet.
    const fake_server cut([](const fake_server::words& command) -> fake_reply {
        return command[0] == "HELLO" ? "you said " + command.at(4).substr(0, 6) : "";
    });
    check_says({at(":" + secret("Echoed"), cut.port())}, {"not RESP3: \"you said "});
}

/// The server echoes each request.
BOOST_AUTO_TEST_CASE(the_password_stays_secret_if_the_server_echoes_requests) {
    const fake_server server([](const fake_server::words& command) -> fake_reply {
        std::string reply = "*" + std::to_string(command.size()) + "\r\n";
        for (const std::string& word : command) {
            reply += bulk_string(word);
        }
        return reply;
    });
    check_says({at(":" + special_encoded, server.port())}, {"EVALSHA was refused"});
}

BOOST_AUTO_TEST_CASE(passwords_of_several_failing_instances_stay_secret) {
    const redis_server one({"--requirepass", "right"});
    const fake_server two(unknown_command);
    const reserved_port three;
    check_says({at(":" + special_encoded, one.port()), at(":" + special_encoded, two.port()),
                at(":" + special_encoded, three.number())},
               {"WRONGPASS", "unknown command", "refused", "0 of 3 instances granted the lock"});
}

BOOST_AUTO_TEST_CASE(an_unescaped_password_in_a_uri_stays_secret) {
    transcript said;
    for (const char* const between :
         {"@",  ":", "/",   "?",  "#",   "[",   "]",    "%",  "&",   "=",   " ", "\"",
          "\\", "^", "/5?", "@@", ":0@", "/0#", "?db=", "#@", "/1/", "%zz", "\n"}) {
        const std::string password = secret("One") + between + secret("Two");
        const std::string numeric = std::string("12") + between + secret("Two");
        for (const std::string& rest : {password, numeric}) {
            // Some of these URIs are valid, although they do not mean what their author intends.
            for (const std::string& uri :
                 {"redis://:" + rest + "@127.0.0.1:1/x", "redis://ann:" + rest + "@127.0.0.1:1/x",
                  "rediss://ann:" + rest + "@127.0.0.1/0/1", "redis://" + rest + "@h/x",
                  "unix:///socket?db=x&password=" + rest,
                  "unix:///socket?password=" + rest + "&db=x",
                  "unix:///socket?password=" + rest + "&x=1", "unix://:" + rest + "@/socket",
                  "memory://:" + rest + "@name", rest + "@h", ":" + rest + "@127.0.0.1:1",
                  "//:" + rest + "@127.0.0.1:1/x", "http://:" + rest + "@127.0.0.1:1"}) {
                add_refusals(said, uri);
            }
        }
    }
    said.check_has({"malformed URI", "Special characters are written", "the fragment",
                    "invalid unix:// URI", "the database", "the parameter", "the scheme 'http'",
                    "instances[1]", "/instances/0"});
    said.check_no_secret();
}

BOOST_AUTO_TEST_CASE(the_password_in_an_invalid_configuration_stays_secret) {
    transcript said;
    const std::string uri = at(":" + special_encoded, 1);
    for (const char* const query :
         {"?x=1", "/x", "?password_env=X", "?password_file=", "?verify=none", "/-1", ":1/"}) {
        add_refusals(said, uri + query);
    }
    add_refusals(said, at(":" + special_encoded, 0));
    add_refusal(said, [&] {
        asio::io_context context;
        client locks(context, config::from_uris({"rediss://:" + special_encoded +
                                                 "@127.0.0.1?ca_file=/no/such/file"}));
    });
    add_refusals(said, "redis://:" + secret("One") + "@");

    const auto refuse = [&](const std::string& text) {
        BOOST_TEST_CONTEXT(text) {
            add_refusal(said, [&] { config::from_json(text); });
        }
    };
    refuse("{\"instances\": [\"" + uri + "\"");
    refuse("\"" + uri + "\"");
    refuse(uri);
    refuse(json{uri}.dump());
    refuse(json{{"instances", uri}}.dump());
    refuse(json{{"instances", {{uri}}}}.dump());
    refuse(json{{"instances", {{uri, 1}}}}.dump());
    refuse(json{{"instances", {uri, uri}}}.dump());
    refuse(json{{"instances", {uri}}, {"password", secret("Member")}}.dump());
    refuse(json{{"instances", {uri}}, {"connect_timeout_ms", 0}}.dump());
    refuse(json{{uri, 1}}.dump());
    for (const std::string field :
         {"drift_factor", "max_in_flight", "max_reply_size", "thread_safe", "connect_timeout_ms"}) {
        refuse(json{{field, uri}}.dump());
    }
    config configuration;
    configuration.instances = {uri, uri};
    add_refusal(said, [&] { configuration.validate(); });
    add_refusal(said, [&] { config::from_uris({uri, uri}); });
    said.check_has({"malformed JSON", "an array of URIs", "duplicates", "/password",
                    "/connect_timeout_ms", "more than one password", "/no/such/file",
                    "a URI cannot be the name of a member",
                    "/thread_safe: this string is not true or false"});
    said.check_no_secret();
}

BOOST_AUTO_TEST_SUITE_END()
