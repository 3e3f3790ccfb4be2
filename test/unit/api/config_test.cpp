// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Configurations: which are accepted, and the errors for all others.

#include "api/instance_uri.hpp"
#include "api/label.hpp"
#include "support/contains.hpp"
#include "support/deadline.hpp"
#include "support/run.hpp"

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace data = boost::unit_test::data;
using boost::unit_test::label;
using colock::config;
using colock::config_error;
using colock::instance::redis::address;
using colock::test::contains;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

constexpr std::string_view secret = "hunter2";

/// Runs a function that must throw a `config_error`, and returns the error.
config_error error_of(const std::function<void()>& function) {
    try {
        function();
    } catch (const config_error& e) {
        return e;
    }
    throw std::logic_error("no config_error");
}

address parse_server(const std::string& uri) {
    return std::get<address>(colock::parse_instance_uri("uri", uri));
}

/// The URI of a server and its meaning.
struct good_uri {
    std::string uri;
    address expected;
};

std::ostream& operator<<(std::ostream& out, const good_uri& u) {
    return out << u.uri;
}

address tcp(std::string host, std::string port, std::string user, std::string password,
            int database, std::string display) {
    address a;
    a.host = std::move(host);
    a.port = std::move(port);
    a.user = std::move(user);
    a.password = std::move(password);
    a.database = database;
    a.display = std::move(display);
    return a;
}

address tls(address a, bool verify = true, std::string ca = {}, std::string cert = {},
            std::string key = {}) {
    a.tls = true;
    a.tls_verify = verify;
    a.tls_ca_file = std::move(ca);
    a.tls_cert_file = std::move(cert);
    a.tls_key_file = std::move(key);
    return a;
}

address unix_socket(std::string path, std::string user, std::string password, int database,
                    std::string display) {
    address a = tcp("", "6379", std::move(user), std::move(password), database, std::move(display));
    a.unix_path = std::move(path);
    return a;
}

const std::string longest_path = "/" + std::string(106, 's');

address with_password_in(address a, std::string file, std::string variable) {
    a.password_file = std::move(file);
    a.password_env = std::move(variable);
    return a;
}

const std::vector<good_uri> good_uris{
    {"redis://h", tcp("h", "6379", "", "", 0, "redis://h:6379")},
    {"redis://h/", tcp("h", "6379", "", "", 0, "redis://h:6379")},
    {"REDIS://h:1", tcp("h", "1", "", "", 0, "redis://h:1")},
    {"redis://h:65535", tcp("h", "65535", "", "", 0, "redis://h:65535")},
    {"redis://h:06380", tcp("h", "6380", "", "", 0, "redis://h:6380")},
    {"redis://10.0.0.1:7000/15", tcp("10.0.0.1", "7000", "", "", 15, "redis://10.0.0.1:7000/15")},
    {"redis://[::1]:7000", tcp("::1", "7000", "", "", 0, "redis://[::1]:7000")},
    {"redis://[fe80::1]/3", tcp("fe80::1", "6379", "", "", 3, "redis://[fe80::1]:6379/3")},
    {"redis://:hunter2@h", tcp("h", "6379", "", "hunter2", 0, "redis://h:6379")},
    {"redis://ann@h", tcp("h", "6379", "ann", "", 0, "redis://h:6379")},
    {"redis://ann:hunter2@h:1/2", tcp("h", "1", "ann", "hunter2", 2, "redis://h:1/2")},
    {"redis://a%40b:p%3A%2F%3F%23%40%25%20w@h",
     tcp("h", "6379", "a@b", "p:/?#@% w", 0, "redis://h:6379")},
    {"redis://ann:pass:word@h", tcp("h", "6379", "ann", "pass:word", 0, "redis://h:6379")},
    {"redis://h/2147483647", tcp("h", "6379", "", "", 2147483647, "redis://h:6379/2147483647")},
    {"rediss://h:1/4", tls(tcp("h", "1", "", "", 4, "rediss://h:1/4"))},
    {"rediss://u:hunter2@h?ca_file=/a/ca.pem&cert_file=c&key_file=%2Fk%20k&verify=none",
     tls(tcp("h", "6379", "u", "hunter2", 0, "rediss://h:6379"), false, "/a/ca.pem", "c", "/k k")},
    {"rediss://h?verify=peer", tls(tcp("h", "6379", "", "", 0, "rediss://h:6379"))},
    {"unix:///run/redis.sock", unix_socket("/run/redis.sock", "", "", 0, "unix:///run/redis.sock")},
    {"unix:///run/a%20b?db=3&user=ann&password=hunter2",
     unix_socket("/run/a b", "ann", "hunter2", 3, "unix:///run/a b?db=3")},
    {"redis://[fe80:0::1%25eth0]:7000",
     tcp("fe80::1%eth0", "7000", "", "", 0, "redis://[fe80::1%eth0]:7000")},
    {"unix:///s?password=a+b%20c", unix_socket("/s", "", "a+b c", 0, "unix:///s")},
    {"unix:///s?password=p%26w%3D", unix_socket("/s", "", "p&w=", 0, "unix:///s")},
    {"unix://" + longest_path, unix_socket(longest_path, "", "", 0, "unix://" + longest_path)},
    {"valkey://ann:hunter2@h/1", tcp("h", "6379", "ann", "hunter2", 1, "valkey://h:6379/1")},
    {"valkeys://h?verify=none", tls(tcp("h", "6379", "", "", 0, "valkeys://h:6379"), false)},
    {"redis://ann@h?password_file=/run/secret",
     with_password_in(tcp("h", "6379", "ann", "", 0, "redis://h:6379"), "/run/secret", "")},
    {"rediss://h?password_env=REDIS_PASSWORD",
     with_password_in(tls(tcp("h", "6379", "", "", 0, "rediss://h:6379")), "", "REDIS_PASSWORD")},
    {"unix:///s?password_env=P",
     with_password_in(unix_socket("/s", "", "", 0, "unix:///s"), "", "P")},
};

/// A rejected URI and a part of the error text.
struct bad_uri {
    std::string uri;
    std::string reason;
};

std::ostream& operator<<(std::ostream& out, const bad_uri& u) {
    return out << u.uri;
}

const std::vector<bad_uri> bad_uris{
    {"", "the URI is empty. The forms are redis://"},
    {"redis://h:x", "malformed"},
    {"redis://h h", "malformed"},
    {"redis://h%zz", "malformed"},
    {"redis://[::1", "malformed"},
    {"redis://u:hunter2@x@h", "malformed"},
    {"redis://:hunter2/x@h", "malformed"},
    {"http://h", "the scheme 'http'"},
    {"redis+tls://h", "the scheme 'redis+tls'"},
    {"redis+sentinel://h", "the path names no master"},
    {"redis+sentinel://h/", "the path names no master"},
    {"redis+sentinel:///m", "the host is empty"},
    {"redis+sentinel://h,/m", "the host is empty"},
    {"redis+sentinel://,h/m", "the host is empty"},
    {"redis+sentinel://h,h:26379/m", "the host h:26379 is given twice"},
    {"redis+sentinel://h,i:x/m", "a host in the list is malformed"},
    {"redis+sentinel://h,i:0/m", "the port '0'"},
    {"redis+sentinel://h/m/x", "the database 'x'"},
    {"redis+sentinel://h/m/1/2", "the path has more than two parts"},
    {"redis+sentinel://h/m?ca_file=c", "the parameter 'ca_file'"},
    {"redis+sentinel://h/m?sentinel_tls=no",
     "the parameter 'sentinel_tls' requires TLS. Use rediss+sentinel://"},
    {"redis+sentinel://h/m?verify=hunter2",
     "the parameter 'verify' requires TLS. Use rediss+sentinel://"},
    {"rediss+sentinel://h/m?sentinel_tls=maybe",
     "sentinel_tls 'maybe' is not supported (yes or no)"},
    {"redis+sentinel://h/m?sentinel_password=hunter2&sentinel_password_env=P",
     "more than one password"},
    {"redis+sentinel://:hunter2@h,g/m?password_file=f", "more than one password"},
    {"redis+sentinel://:hunter2/x@h,g/m", "malformed"},
    {"redis+cluster://h/1", "the database '1'"},
    {"redis+cluster://h,h", "is given twice"},
    {"redis+cluster://h?replicas_acked=0", "replicas_acked '0'"},
    {"redis://h?replicas_acked=1001",
     "replicas_acked '1001' is not a number of replicas (1 to 1000)"},
    {"redis://h?replicas_acked=-1", "replicas_acked '-1'"},
    {"rediss://h?tls_host=", "the parameter 'tls_host' is empty"},
    {"redis://h,g", "a list of hosts is not supported with this scheme"},
    {"redis://", "host"},
    {"redis:///0", "host"},
    {"redis:h", "host"},
    {"redis://:6379", "host"},
    {"redis://:hunter2@:6379", "host"},
    {"redis://a%00b", "zero byte"},
    {"redis://h:0", "the port '0'"},
    {"redis://h:65536", "the port '65536'"},
    {"redis://h:99999999999999999999", "the port '99999999999999999999'"},
    {"redis://h:", "the port ''"},
    {"redis://h/x", "the database 'x'"},
    {"redis://h/-1", "the database '-1'"},
    {"redis://h/+1", "the database '+1'"},
    {"redis://h/1/2", "the database '1/2'"},
    {"redis://h/1x", "the database '1x'"},
    {"redis://h//1", "the database '/1'"},
    {"redis://h/2147483648",
     "the database '2147483648' is not a database number (0 to 2147483647)"},
    {"redis://h#x", "the fragment"},
    {"redis://h/0#", "the fragment"},
    {"redis://h?db=1", "the parameter 'db'"},
    {"redis://h?x=1",
     "the parameter 'x' is unknown. The parameters of redis:// are password_file, password_env"},
    {"redis://h?verify=none", "the parameter 'verify' requires TLS. Use rediss://"},
    {"rediss://h?verify=maybe", "verify 'maybe' is not supported (peer or none)"},
    {"rediss://u:1?verify=hunter2@h", "verify (is there a password in it?"},
    {"rediss://h?db=1", "replicas_acked, ca_file, cert_file, key_file, tls_host, verify"},
    {"rediss://h?password=hunter2", "the parameter 'password'"},
    {"unix://", "unix:// URI: the path is empty or not absolute"},
    {"unix:///", "unix:// URI: the path is empty or not absolute"},
    {"unix:relative", "unix:// URI: the path is empty or not absolute"},
    {"unix://host/path", "unix:// URI: user, host and port are not supported"},
    {"unix://u:hunter2@/path", "unix:// URI: user, host and port are not supported"},
    {"unix:///a%00b", "unix:// URI: the path contains a zero byte"},
    {"unix://" + longest_path + "s",
     "the path has 108 bytes, which is too long for a socket (at most 107)"},
    {"unix:///p?port=1", "the parameter 'port' is unknown. The parameters of unix:// are db, user, "
                         "password, password_file"},
    {"unix:///p?db=x&password=hunter2", "the database 'x'"},
    {"unix:///p#x", "the fragment"},
    {"memory://", "invalid memory:// URI: the name is missing (expected memory://name)"},
    {"memory:name", "invalid memory:// URI: the name is missing (expected memory://name)"},
    {"memory://name/x", "user, port, path and query are not supported (expected memory://name)"},
    {"memory://name?x=1", "user, port, path and query are not supported (expected memory://name)"},
    {"memory://name#x", "the fragment"},
    {"memory://name:1", "user, port, path and query are not supported (expected memory://name)"},
    {"memory://u:hunter2@name",
     "user, port, path and query are not supported (expected memory://name)"},
    // If a password is not percent-encoded, its characters end up in other parts of the URI.
    {"redis://u:1/hunter2@h", "the database (is there a password in it? Special characters"},
    {"redis://u:1?hunter2@h", "the parameter (is there a password in it?"},
    {"rediss://u:1?hunter2&x@h", "the parameter (is there a password in it?"},
    {"redis://u:99999/hunter2@h", "the port (is there a password in it?"},
    {"redis://u:1#hunter2@h", "the fragment (is there a password in it?"},
    {"redis://u:hunter2/@h", "malformed URI (is there a password in it?"},
    {"redis://u:hunter2#@h", "%40 for @, %3A for :, %2F for /, %3F for ?, %23 for #, %25 for %"},
    {"redis://:hunter2%@h", "malformed URI (is there a password in it?"},
    {"redis://h?password_file=", "the parameter 'password_file' is empty. Name a file"},
    {"unix:///s?password_env=",
     "the parameter 'password_env' is empty. Name an environment variable"},
    {"redis://:hunter2@h?password_file=f", "more than one password"},
    {"redis://h?password_env=V&password_file=f", "more than one password"},
    {"redis://h?replicas_acked=1&replicas_acked=2",
     "the parameter 'replicas_acked' is given twice"},
    {"unix:///s?db=1&d%62=1", "the parameter 'db' is given twice. Remove one of the two"},
    {"rediss+cluster://g,h?ca_file=a&verify=none&ca_file=b",
     "the parameter 'ca_file' is given twice"},
    {"redis+sentinel://h/m?sentinel_user=a&sentinel_user=b",
     "the parameter 'sentinel_user' is given twice"},
    {"unix:///s?password=hunter2&password=hunter2", "the parameter (is there a password in it?"},
    {"unix:///s?password=hunter2&password_env=V", "more than one password"},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(uris)

BOOST_DATA_TEST_CASE(valid_uris_are_parsed, data::make(good_uris), sample) {
    const address a = parse_server(sample.uri);
    const address& e = sample.expected;
    BOOST_TEST(a.host == e.host);
    BOOST_TEST(a.port == e.port);
    BOOST_TEST(a.unix_path == e.unix_path);
    BOOST_TEST(a.user == e.user);
    BOOST_TEST(a.password == e.password);
    BOOST_TEST(a.password_file == e.password_file);
    BOOST_TEST(a.password_env == e.password_env);
    BOOST_TEST(a.database == e.database);
    BOOST_TEST(a.tls == e.tls);
    BOOST_TEST(a.tls_verify == e.tls_verify);
    BOOST_TEST(a.tls_ca_file == e.tls_ca_file);
    BOOST_TEST(a.tls_cert_file == e.tls_cert_file);
    BOOST_TEST(a.tls_key_file == e.tls_key_file);
    BOOST_TEST(a.display == e.display);
    BOOST_TEST(!contains(a.display, secret));
}

BOOST_AUTO_TEST_CASE(memory_uris_are_parsed) {
    const auto parsed = colock::parse_instance_uri("uri", "memory://a%20b");
    BOOST_TEST(std::get<colock::instance::redis::memory_address>(parsed).name == "a b");
}

BOOST_TEST_DECORATOR(*label("fault-35"))
BOOST_DATA_TEST_CASE(invalid_uris_are_rejected, data::make(bad_uris), sample) {
    config c;
    c.instances = {"memory://first", sample.uri};
    const config_error e = error_of([&] { c.validate(); });
    BOOST_TEST(e.field() == "instances[1]");
    BOOST_TEST(contains(e.what(), "instances[1]: "), e.what());
    BOOST_TEST(contains(e.what(), sample.reason), e.what());
    BOOST_TEST(!contains(e.what(), secret), e.what());
}

namespace {

/// Addresses without a scheme, and the URIs that the error suggests.
const std::vector<std::pair<std::string, std::string>> addresses_without_a_scheme{
    {"localhost", "redis://localhost"},
    {"LOCALHOST", "redis://LOCALHOST"},
    {"localhost:6379", "redis://localhost:6379"},
    {"localhost.:6379", "redis://localhost.:6379"},
    {"localhost:6379/", "redis://localhost:6379/"},
    {"localhost:6379/2", "redis://localhost:6379/2"},
    {"h:6379", "redis://h:6379"},
    {"h/2", "redis://h/2"},
    {"db-1.example", "redis://db-1.example"},
    {"redis_1:6379", "redis://redis_1:6379"},
    {"redis:6379", "redis://redis:6379"},  // A common host name.
    {"VALKEY:6379", "redis://VALKEY:6379"},
    {"//h:1", "redis://h:1"},
    {"1.2.3.4", "redis://1.2.3.4"},
    {"1.2.3.4:6379", "redis://1.2.3.4:6379"},
    {"[::1]", "redis://[::1]"},
    {"[::1]:6379", "redis://[::1]:6379"},
    {"[fe80::1]:6379/1", "redis://[fe80::1]:6379/1"},
    {"::1", "redis://[::1]"},
    {"fe80::1", "redis://[fe80::1]"},
};

std::string without_a_scheme(const std::string& text) {
    return error_of([&] {
               config c;
               c.instances = {"memory://first", text};
               c.validate();
           })
        .what();
}

}  // namespace

BOOST_TEST_DECORATOR(*label("fault-35"))
BOOST_AUTO_TEST_CASE(a_missing_scheme_is_reported_with_the_correct_uri) {
    for (const auto& [text, uri] : addresses_without_a_scheme) {
        BOOST_TEST(without_a_scheme(text) == "instances[1]: '" + text +
                                                 "' is an address without a scheme: write " + uri +
                                                 ", or " + "rediss" + uri.substr(5) + " for TLS");
        parse_server(uri);  // The suggestion must be a valid URI.
    }
    for (const std::string path : {"/path/of/socket", "/run/redis-1_a.sock", "/s"}) {
        BOOST_TEST(without_a_scheme(path) ==
                   "instances[1]: '" + path + "' is a path without a scheme: write unix://" + path);
        parse_server("unix://" + path);
    }
    BOOST_TEST(without_a_scheme("///run/s").ends_with(": write unix:///run/s"));
}

BOOST_TEST_DECORATOR(*label("fault-35"))
BOOST_AUTO_TEST_CASE(an_address_that_may_contain_a_password_is_not_repeated) {
    const std::string address =
        "instances[1]: an address without a scheme: write redis://host[:port], or "
        "rediss://host[:port] for TLS";
    for (const std::string text : {"hunter2",
                                   "hunter2:x",
                                   "ann:hunter2@h:6379",
                                   ":hunter2@h",
                                   "hunter2@h",
                                   "//u:hunter2@h",
                                   "h?password=hunter2",
                                   "h:1?x=hunter2",
                                   "h#hunter2",
                                   "h:hunter2",
                                   "h:1/hunter2",
                                   "h:0",
                                   "h:65536",
                                   "h:99999999999999999999",
                                   "h:1:2",
                                   "h hunter2",
                                   "hunter2\n",
                                   "h:1,g:hunter2",
                                   "h%hunter2",
                                   "[::hunter2]:1",
                                   "[::1]hunter2",
                                   "[::1",
                                   "h:",
                                   ":6379",
                                   "-",
                                   "//",
                                   "h/-1"}) {
        BOOST_TEST(without_a_scheme(text) == address, text << ": " << without_a_scheme(text));
    }
    for (const std::string text : {"/s?password=hunter2", "/hunter2@h", "/hunter2#", "/", "/a b",
                                   "/s%20", "///", "/a:hunter2"}) {
        BOOST_TEST(without_a_scheme(text) ==
                       "instances[1]: a path without a scheme: write unix:///path/of/socket",
                   text << ": " << without_a_scheme(text));
    }
    BOOST_TEST(without_a_scheme("/" + std::string(200, 's')).ends_with("unix:///path/of/socket"));
}

BOOST_AUTO_TEST_CASE(an_empty_list_of_instances_is_rejected, *label("fault-35")) {
    const config_error e = error_of([] { config().validate(); });
    BOOST_TEST(e.field() == "instances");
    BOOST_TEST(std::string(e.what()) == "instances: the list is empty. Name at least one instance");
}

BOOST_AUTO_TEST_CASE(sentinel_uris_are_parsed) {
    using colock::instance::redis::sentinel_address;
    const auto parsed = std::get<sentinel_address>(colock::parse_instance_uri(
        "uri",
        "rediss+sentinel://ann:p%2Fw@a,b:1,[::1]/my%20master/3?sentinel_user=bob&sentinel_password="
        "hunter2&sentinel_tls=no&tls_host=db&ca_file=c&replicas_acked=2"));
    BOOST_TEST(parsed.master_name == "my master");
    BOOST_TEST(parsed.display == "rediss+sentinel://a:26379,b:1,[::1]:26379/my master/3");
    BOOST_TEST_REQUIRE(parsed.sentinels.size() == 3U);
    BOOST_TEST(parsed.sentinels[2].host == "::1");
    BOOST_TEST(parsed.sentinels[1].port == "1");
    BOOST_TEST(parsed.sentinels[1].user == "bob");
    BOOST_TEST(parsed.sentinels[1].password == secret);
    BOOST_TEST(!parsed.sentinels[1].tls);
    BOOST_TEST(parsed.sentinels[0].display == "redis://a:26379");
    BOOST_TEST(parsed.master.user == "ann");
    BOOST_TEST(parsed.master.password == "p/w");
    BOOST_TEST(parsed.master.database == 3);
    BOOST_TEST(parsed.master.tls);
    BOOST_TEST(parsed.master.tls_host == "db");
    BOOST_TEST(parsed.master.tls_ca_file == "c");
    BOOST_TEST(parsed.master.replicas_acked == 2U);
    const auto encrypted = std::get<sentinel_address>(
        colock::parse_instance_uri("uri", "valkeys+sentinel://a/m?verify=none&key_file=k"));
    BOOST_TEST(encrypted.sentinels[0].tls);
    BOOST_TEST(!encrypted.sentinels[0].tls_verify);
    BOOST_TEST(encrypted.sentinels[0].tls_key_file == "k");
    BOOST_TEST(encrypted.sentinels[0].password.empty());
}

BOOST_AUTO_TEST_CASE(cluster_uris_are_parsed) {
    using colock::instance::redis::cluster_address;
    const auto parsed = std::get<cluster_address>(colock::parse_instance_uri(
        "uri", "redis+cluster://ann:hunter2@a:7000,b/0?replicas_acked=1"));
    BOOST_TEST(parsed.display == "redis+cluster://a:7000,b:6379");
    BOOST_TEST_REQUIRE(parsed.seeds.size() == 2U);
    for (const address& seed : parsed.seeds) {
        BOOST_TEST(seed.user == "ann");
        BOOST_TEST(seed.password == secret);
        BOOST_TEST(seed.replicas_acked == 1U);
    }
}

BOOST_AUTO_TEST_CASE(an_instance_may_be_given_as_a_json_object) {
    const auto uri_of = [](const std::string& object) {
        return config::from_json(R"({"instances": [)" + object + "]}").instances.at(0);
    };
    BOOST_TEST(uri_of(R"({"uri": "redis://h"})") == "redis://h");
    BOOST_TEST(uri_of(R"({"uri": "redis://h", "replicas_acked": 2})") ==
               "redis://h?replicas_acked=2");
    BOOST_TEST(uri_of(R"({"replicas_acked": 2, "uri": "unix:///s?db=1"})") ==
               "unix:///s?db=1&replicas_acked=2");
    const auto field_of = [&](const std::string& object) {
        return error_of([&] { uri_of(object); }).field();
    };
    BOOST_TEST(field_of("{}") == "/instances/0/uri");
    BOOST_TEST(field_of(R"({"uri": 1})") == "/instances/0/uri");
    BOOST_TEST(field_of(R"({"uri": "redis://h", "replicas_acked": "1"})") ==
               "/instances/0/replicas_acked");
    BOOST_TEST(field_of(R"({"uri": "redis://h", "replicas_acked": 0})") == "/instances/0");
    BOOST_TEST(field_of(R"({"uri": "redis://h", "x/y": 0})") == "/instances/0/x~1y");
}

BOOST_AUTO_TEST_CASE(too_many_instances_are_rejected) {
    config c;
    for (int i = 0; i != 64; ++i) {
        c.instances.push_back("memory://" + std::to_string(i));
    }
    BOOST_CHECK_NO_THROW(config::from_uris(c.instances));
    c.instances.emplace_back("memory://one-too-many");
    const config_error e = error_of([&] { c.validate(); });
    BOOST_TEST(e.field() == "instances");
    BOOST_TEST(std::string_view(e.what()) == "instances: 65 instances are too many (1 to 64)");
}

BOOST_AUTO_TEST_CASE(different_instances_are_accepted) {
    config c;
    c.instances = {"redis://h",     "redis://h:6380",    "redis://i",   "redis://[::1]",
                   "unix:///s",     "unix:///S",         "memory://h",  "memory://H",
                   "redis://[::2]", "redis://127.0.0.1", "rediss://h:1"};
    BOOST_CHECK_NO_THROW(c.validate());
    BOOST_CHECK_NO_THROW(config::from_uris(c.instances));
    BOOST_CHECK_THROW(config::from_uris({}), config_error);
}

BOOST_AUTO_TEST_CASE(a_client_shows_addresses_without_credentials) {
    boost::asio::io_context context;
    const colock::client client(
        context,
        config::from_uris({"redis://ann:hunter2@h:1/2", "rediss://:hunter2@h:2?verify=none",
                           "unix:///s?db=1&password=hunter2", "memory://m"}));
    std::vector<std::string> addresses;
    for (const auto& info : client.instances()) {
        addresses.push_back(info.address);
    }
    const std::vector<std::string> expected{"redis://h:1/2", "rediss://h:2", "unix:///s?db=1",
                                            "memory://m"};
    BOOST_TEST(addresses == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(fields)

namespace {

/// The name and the member of a duration, with its smallest and largest valid value.
struct duration_field {
    std::string name;
    std::chrono::milliseconds config::*member;
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
    std::string allowed;
};

const std::vector<duration_field> duration_fields{
    {"instance_timeout", &config::instance_timeout, 1ms, 1min, "1 ms to 60000 ms"},
    {"connect_timeout", &config::connect_timeout, 1ms, 5min, "1 ms to 300000 ms"},
    {"silence_timeout", &config::silence_timeout, 10ms, 1h, "10 ms to 3600000 ms"},
    {"reconnect_initial", &config::reconnect_initial, 1ms, 500ms, "1 ms to 3600000 ms"},
    {"reconnect_maximum", &config::reconnect_maximum, 20ms, 1h, "1 ms to 3600000 ms"},
    {"drift_minimum", &config::drift_minimum, 0ms, 1s, "0 ms to 1000 ms"},
    {"close_timeout", &config::close_timeout, 0ms, 5min, "0 ms to 300000 ms"},
};

config with_memory() {
    return config::from_uris({"memory://m"});
}

}  // namespace

BOOST_DATA_TEST_CASE(durations_are_bounded, data::xrange(duration_fields.size()), i) {
    const duration_field& field = duration_fields[i];
    config c = with_memory();
    for (const auto allowed : {field.least, field.most}) {
        c.*field.member = allowed;
        BOOST_CHECK_NO_THROW(c.validate());
    }
    const auto beyond = {field.least - 1ms, field.most + 1ms, -1ms,
                         std::chrono::milliseconds::min(), std::chrono::milliseconds::max()};
    for (const auto refused : beyond) {
        c.*field.member = refused;
        const config_error e = error_of([&] { c.validate(); });
        // If two fields contradict each other, the error names the field that must not exceed the other.
        const bool above = field.name == "reconnect_maximum" && refused >= 1ms && refused <= 1h;
        BOOST_TEST(e.field() == (above ? "reconnect_initial" : field.name));
        const bool below = field.name == "reconnect_initial" && refused == 501ms;
        const std::string exceeds = above   ? "20 ms exceeds reconnect_maximum (19 ms)"
                                    : below ? "501 ms exceeds reconnect_maximum (500 ms)"
                                            : "";
        BOOST_TEST(std::string(e.what()) ==
                   e.field() + ": " +
                       (exceeds.empty() ? std::to_string(refused.count()) +
                                              " ms is out of range (" + field.allowed + ")"
                                        : exceeds + ". Lower it or raise reconnect_maximum"));
    }
}

BOOST_AUTO_TEST_CASE(drift_factor_is_bounded) {
    config c = with_memory();
    for (const double allowed : {0.0, 0.01, 0.5}) {
        c.drift_factor = allowed;
        BOOST_CHECK_NO_THROW(c.validate());
    }
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double refused : {-0.001, std::nextafter(0.5, 1.0), 1.0, infinity, -infinity,
                                 std::numeric_limits<double>::quiet_NaN()}) {
        c.drift_factor = refused;
        const config_error e = error_of([&] { c.validate(); });
        BOOST_TEST(e.field() == "drift_factor");
        BOOST_TEST(contains(e.what(), " is out of range (0 to 0.5)"), e.what());
    }
}

BOOST_AUTO_TEST_CASE(max_in_flight_is_bounded) {
    config c = with_memory();
    for (const std::size_t allowed : {std::size_t{1}, std::size_t{16777216}}) {
        c.max_in_flight = allowed;
        BOOST_CHECK_NO_THROW(c.validate());
    }
    for (const std::size_t refused :
         {std::size_t{0}, std::size_t{16777217}, std::numeric_limits<std::size_t>::max()}) {
        c.max_in_flight = refused;
        const config_error e = error_of([&] { c.validate(); });
        BOOST_TEST(std::string(e.what()) == "max_in_flight: " + std::to_string(refused) +
                                                " is out of range (1 to 16777216)");
    }
}

/// Attempts beyond max_in_flight wait until earlier attempts have been answered.
BOOST_AUTO_TEST_CASE(attempts_beyond_max_in_flight_wait, *label("fault-35")) {
    colock::test::run_test([]() -> boost::asio::awaitable<void> {
        config c = with_memory();
        c.max_in_flight = 10;
        colock::client locks(co_await boost::asio::this_coro::executor, c);
        std::vector<colock::lease> granted;
        std::vector<colock::error> errors;
        for (int i = 0; i != 30; ++i) {  // All in one turn.
            colock::mutex(locks, "x" + std::to_string(i))
                .try_acquire([&](colock::error e, colock::lease got) {
                    errors.push_back(std::move(e));
                    granted.push_back(std::move(got));
                });
        }
        co_await colock::test::async_wait_until([&] { return errors.size() == 30; });
        BOOST_TEST(locks.counters().unavailable == 0U);
        for (std::size_t i = 0; i != 30; ++i) {
            BOOST_TEST(!errors[i], errors[i].message());
            BOOST_TEST(granted[i].valid());
        }
        granted.clear();
        co_await colock::test::async_wait_until([&] { return locks.counters().releasing == 0; });
        const auto later = co_await colock::mutex(locks, "x29").try_acquire();
        BOOST_TEST(later.owns_lock());
    }());
}

BOOST_AUTO_TEST_CASE(max_reply_size_is_bounded) {
    config c = with_memory();
    for (const std::size_t allowed : {std::size_t{131072}, std::size_t{1073741824}}) {
        c.max_reply_size = allowed;
        BOOST_CHECK_NO_THROW(c.validate());
    }
    for (const std::size_t refused :
         {std::size_t{0}, std::size_t{131071}, std::size_t{1073741825}}) {
        c.max_reply_size = refused;
        const config_error e = error_of([&] { c.validate(); });
        BOOST_TEST(std::string(e.what()) == "max_reply_size: " + std::to_string(refused) +
                                                " is out of range (131072 to 1073741824)");
    }
}

BOOST_AUTO_TEST_CASE(a_label_is_one_word_of_at_most_64_characters) {
    config c = with_memory();
    for (const std::string& allowed : {""s, "a"s, "!"s, "~"s, "a@b"s, "%h:%p"s, "100%%"s, "%%h"s,
                                       "%h%h%p%p"s, std::string(64, 'x')}) {
        c.label = allowed;
        BOOST_CHECK_NO_THROW(c.validate());
    }
    const std::string bytes = " is out of range (0x21 to 0x7e). Use printable ASCII characters "
                              "without spaces";
    const std::string placeholders =
        " is unknown. Use %h for the host name, %p for the process id, "
        "or %% for a percent sign";
    const std::vector<std::pair<std::string, std::string>> refused{
        {std::string(65, 'x'), "65 characters are too many (at most 64). Shorten it"},
        {" ", "the byte 0x20 at position 1" + bytes},
        {"web 1", "the byte 0x20 at position 4" + bytes},
        {"web-1\n", "the byte 0x0a at position 6" + bytes},
        {"\0"s, "the byte 0x00 at position 1" + bytes},
        {"\x7f", "the byte 0x7f at position 1" + bytes},
        {"\xc3\xa9", "the byte 0xc3 at position 1" + bytes},
        {"a%", "'%' at position 2" + placeholders},
        {"%%%", "'%' at position 3" + placeholders},
        {"a%H", "'%H' at position 2" + placeholders},
        {"%h%x%p", "'%x' at position 3" + placeholders},
    };
    for (const auto& [text, reason] : refused) {
        c.label = text;
        const config_error e = error_of([&] { c.validate(); });
        BOOST_TEST(e.field() == "label");
        BOOST_TEST(std::string(e.what()) == "label: " + reason);
    }
}

BOOST_AUTO_TEST_CASE(a_label_is_expanded_with_host_and_process) {
    using colock::expand_label;
    BOOST_TEST(expand_label("label", "", "web-1", 7).empty());
    BOOST_TEST(expand_label("label", "a%%h%%%p", "web-1", 7) == "a%h%7");
    BOOST_TEST(expand_label("label", "%h:%p", "web-1", 4194304) == "web-1:4194304");
    BOOST_TEST(expand_label("label", "%h:%p", "web-1.eu.example.com", 4711) == "web-1:4711");
    BOOST_TEST(expand_label("label", "%h%h", "", 7).empty());
    // The limit does not depend on the process id.
    BOOST_TEST(expand_label("label", "%h:%p", std::string(56, 'h'), 1) ==
               std::string(56, 'h') + ":1");
    for (const long process : {1L, 4194304L}) {
        const std::string host(57, 'h');
        const config_error e =
            error_of([&] { expand_label("label", "%h:%p", host + ".example.com", process); });
        BOOST_TEST(e.field() == "label");
        BOOST_TEST(std::string(e.what()) ==
                   "label: '%h:%p' stands for '" + host + ":" + std::to_string(process) +
                       "' here, which has up to 65 characters (at most 64). Shorten it, or write a "
                       "name in place of %h");
    }
    const config_error e = error_of([&] { expand_label("label", "%h", "web 1", 1); });
    BOOST_TEST(std::string(e.what()) ==
               "label: the host name has a character other than printable ASCII. Write a name in "
               "place of %h");
}

BOOST_AUTO_TEST_CASE(a_client_rejects_an_invalid_configuration, *label("fault-35")) {
    boost::asio::io_context context;
    const auto field_of = [&](const config& c) {
        return error_of([&] { colock::client(context, c); }).field();
    };
    config c;
    BOOST_TEST(field_of(c) == "instances");
    c.instances = {"memory://a", "redis"};
    BOOST_TEST(field_of(c) == "instances[1]");
    c.instances = {"memory://a", "memory://b", "memory://a"};
    BOOST_TEST(field_of(c) == "instances[2]");
    c = with_memory();
    c.max_in_flight = 0;
    BOOST_TEST(field_of(c) == "max_in_flight");
    c = with_memory();
    c.label = "two words";
    BOOST_TEST(field_of(c) == "label");
    c.label.clear();
    for (int i = 0; i != 32; ++i) {
        c.label += "%p";
    }
    BOOST_CHECK_NO_THROW(c.validate());
    BOOST_TEST(field_of(c) == "label");  // The expanded label is too long.
    c = with_memory();
    c.instances = {"memory://a", "memory://b"};  // An even number is valid.
    BOOST_CHECK_NO_THROW(colock::client(context, c));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(all_members_are_read) {
    const config c = config::from_json(R"({
        "instances": ["memory://a", "redis://h:1"],
        "key_prefix": "locks:\u0000é",
        "label": "web:%p",
        "instance_timeout_ms": 1, "connect_timeout_ms": 2, "silence_timeout_ms": 30,
        "reconnect_initial_ms": 4, "reconnect_maximum_ms": 5,
        "drift_factor": 0.25, "drift_minimum_ms": 6,
        "max_in_flight": 7, "max_reply_size": 200000, "thread_safe": true, "close_timeout_ms": 8, "restart_quarantine_ms": 9
    })");
    const std::vector<std::string> expected{"memory://a", "redis://h:1"};
    BOOST_TEST(c.instances == expected, boost::test_tools::per_element());
    BOOST_TEST(c.key_prefix == "locks:\0é"s);
    BOOST_TEST(c.label == "web:%p");
    BOOST_TEST(c.instance_timeout.count() == 1);
    BOOST_TEST(c.connect_timeout.count() == 2);
    BOOST_TEST(c.silence_timeout.count() == 30);
    BOOST_TEST(c.reconnect_initial.count() == 4);
    BOOST_TEST(c.reconnect_maximum.count() == 5);
    BOOST_TEST(c.drift_factor == 0.25);
    BOOST_TEST(c.drift_minimum.count() == 6);
    BOOST_TEST(c.max_in_flight == 7U);
    BOOST_TEST(c.max_reply_size == 200000U);
    BOOST_TEST(c.thread_safe);
    BOOST_TEST(c.close_timeout.count() == 8);
    BOOST_TEST((c.restart_quarantine == std::chrono::milliseconds(9)));
}

BOOST_AUTO_TEST_CASE(missing_members_have_their_defaults) {
    const config c = config::from_json(R"({"instances": ["memory://a"]})");
    const config d;
    BOOST_TEST(c.key_prefix.empty());
    BOOST_TEST(c.label.empty());
    BOOST_TEST((c.instance_timeout == d.instance_timeout));
    BOOST_TEST((c.connect_timeout == d.connect_timeout));
    BOOST_TEST((c.silence_timeout == d.silence_timeout));
    BOOST_TEST((c.reconnect_initial == d.reconnect_initial));
    BOOST_TEST((c.reconnect_maximum == d.reconnect_maximum));
    BOOST_TEST(c.drift_factor == d.drift_factor);
    BOOST_TEST((c.drift_minimum == d.drift_minimum));
    BOOST_TEST(c.max_in_flight == d.max_in_flight);
    BOOST_TEST(c.max_reply_size == 16U * 1024 * 1024);
    BOOST_TEST(c.thread_safe == d.thread_safe);
    BOOST_TEST((c.close_timeout == d.close_timeout));
    BOOST_TEST(!c.restart_quarantine.has_value());
    BOOST_TEST(
        config::from_json(R"({"instances": ["memory://a"], "drift_factor": 0})").drift_factor ==
        0.0);
}

namespace {

struct bad_json {
    std::string text;
    std::string pointer;
    std::string reason;  // A part of the text.
};

std::ostream& operator<<(std::ostream& out, const bad_json& b) {
    return out << b.text;
}

/// Returns a configuration with `member` in addition to the required members.
std::string with(const std::string& member) {
    return R"({"instances": ["memory://a"], )" + member + "}";
}

const std::vector<bad_json> bad_texts{
    {"", "", "the text is empty. Write a JSON object"},
    {" \r\n\t", "", "the text is empty. Write a JSON object"},
    {"{", "", "the JSON ends too early, at line 1, column 2: is a bracket or a quote missing?"},
    {"{\n  \"instances\": [\n", "", "the JSON ends too early, at line 3, column 1: "},
    {"{\"a\": \"hunter2", "", "the JSON ends too early, at line 1, column 15: "},
    {R"({"instances": [})", "", "malformed JSON at line 1, column 16: "},
    {R"({"instances": ["memory://a"]} x)", "", "malformed JSON at line 1, column 31: "},
    {"{\r\n \"é\": x}", "", "malformed JSON at line 2, column 7: "},
    {"{\"key_prefix\": \"hunter2\n\"}", "", "malformed JSON at line 1, column 24: "},
    {"{\"a\": 1,\n \"b\": 2,}", "", "malformed JSON at line 2, column 9: "},
    {"{\"a\": \"\xff\"}", "", "malformed JSON at line 1, column 8: "},
    {with(R"("drift_factor": 1e999)"), "/drift_factor", "a number is too large"},
    {with(R"("a/b": [0, {"c": -1e999}])"), "/a~1b/1/c", "a number is too large"},
    {with(R"("redis://:hunter2@h": 1e999)"), "", "a number is too large"},
    {with(R"("drift_factor": NaN)"), "", "malformed JSON"},
    {"[]", "", "the text is not an object, but of the JSON type array"},
    {"null", "", "the text is not an object, but of the JSON type null"},
    {R"("redis://:hunter2@h")", "", "the text is not an object, but of the JSON type string"},
    {"{}", "/instances", "the list is empty"},
    {R"({"instances": []})", "/instances", "the list is empty"},
    {R"({"instances": "redis://:hunter2@h"})", "/instances", "this string is not an array of URIs"},
    {R"({"instances": {"a": "redis://:hunter2@h"}})", "/instances",
     "this object is not an array of URIs"},
    {R"({"instances": ["memory://a", 5]})", "/instances/1",
     "5 is not a string with a URI, nor an object with the member uri"},
    {R"({"instances": ["memory://a", "nonsense"]})", "/instances/1", "an address without a scheme"},
    {R"({"instances": [["redis://:hunter2@h"]]})", "/instances/0",
     "this array is not a string with a URI"},
    {R"({"instances": ["memory://a", "redis://:hunter2@h:0"]})", "/instances/1", "the port '0'"},
    {R"({"instances": ["memory://a", "memory://b", "memory://a"]})", "/instances/2",
     "memory://a duplicates /instances/0"},
    {with(R"("key_prefix": 1)"), "/key_prefix", "1 is not a string"},
    {with(R"("key_prefix": null)"), "/key_prefix", "null is not a string"},
    {with(R"("label": 1)"), "/label", "1 is not a string"},
    {with(R"("label": "two words")"), "/label", "the byte 0x20 at position 4 is out of range"},
    {with(R"("label": "é")"), "/label", "the byte 0xc3 at position 1 is out of range"},
    {with(R"("label": "%x")"), "/label", "'%x' at position 1 is unknown"},
    {with(R"("drift_factor": "0.1")"), "/drift_factor", "\"0.1\" is not a number"},
    {with(R"("drift_factor": 0.51)"), "/drift_factor", "0.510000 is out of range (0 to 0.5)"},
    {with(R"("drift_factor": -1)"), "/drift_factor", "-1.000000 is out of range (0 to 0.5)"},
    {with(R"("restart_quarantine_ms": -1)"), "/restart_quarantine_ms",
     "-1 ms is out of range (0 ms to 86400000 ms)"},
    {with(R"("restart_quarantine_ms": "1 s")"), "/restart_quarantine_ms",
     "\"1 s\" is not a whole number of milliseconds"},
    {with(R"("max_in_flight": -1)"), "/max_in_flight", "-1 is not a whole number from 1"},
    {with(R"("max_in_flight": 1.5)"), "/max_in_flight", "1.5 is not a whole number from 1"},
    {with(R"("max_in_flight": 0)"), "/max_in_flight", "0 is out of range (1 to 16777216)"},
    {with(R"("max_in_flight": 18446744073709551616)"), "/max_in_flight", "is not a whole number"},
    {with(R"("max_reply_size": "1 MiB")"), "/max_reply_size",
     "\"1 MiB\" is not a whole number of bytes"},
    {with(R"("max_reply_size": 1)"), "/max_reply_size", "1 is out of range (131072 to 1073741824)"},
    {with(R"("thread_safe": 1)"), "/thread_safe", "1 is not true or false"},
    {with(R"("thread_safe": "true")"), "/thread_safe", "\"true\" is not true or false"},
    {with(R"("reconnect_initial_ms": 501)"), "/reconnect_initial_ms",
     "501 ms exceeds /reconnect_maximum_ms (500 ms)"},
    // Unknown members.
    {with(R"("instance_timeout": 5)"), "/instance_timeout",
     "there is no such member. The members are: instances, key_prefix"},
    {with(R"("Instances": [])"), "/Instances", "there is no such member"},
    {with(R"("a/b~c": 1)"), "/a~1b~0c", "there is no such member"},
    {with(R"("": 1)"), "/", "there is no such member"},
    {with(R"("password": "hunter2")"), "/password", "there is no such member"},
    // Repeated members. The JSON parser would silently use the last one.
    {with(R"("instances": ["memory://b"])"), "/instances",
     "this member is given twice: remove one of the two"},
    {with(R"("max_in_flight": 1, "key_prefix": "a", "max_in_flight": 1)"), "/max_in_flight",
     "this member is given twice"},
    {with(R"("key_prefix": "a", "key\u005fprefix": "b")"), "/key_prefix",
     "this member is given twice"},
    {R"({"instances": ["memory://a", {"uri": "redis://:hunter2@h", "uri": "redis://i"}]})",
     "/instances/1/uri", "this member is given twice"},
    {R"({"instances": [{"uri": "redis://h", "replicas_acked": 1, "replicas_acked": 2}]})",
     "/instances/0/replicas_acked", "this member is given twice"},
    {with(R"("a": [[], {}, [{"b": {}}, {"b": {"c~d": 1, "c~d": 2}}]])"), "/a/2/1/b/c~0d",
     "this member is given twice"},
    {with(R"("": 1, "": 2)"), "/", "this member is given twice"},
    {with(R"("redis://:hunter2@h": 1, "redis://:hunter2@h": 2)"), "",
     "a member whose name or place contains a URI is given twice"},
    {with(R"("redis://:hunter2@h": {"a": 1, "a": 2})"), "",
     "a member whose name or place contains a URI is given twice"},
    {R"({"instances": [{"uri": "redis://h", "redis://:hunter2@h": 1}]})", "/instances/0",
     "a URI cannot be the name of a member. The members are: uri, replicas_acked"},
    {R"({"instances": [{"uri": "redis://h?replicas_acked=1", "replicas_acked": 2}]})",
     "/instances/0", "the parameter 'replicas_acked' is given twice"},
};

}  // namespace

BOOST_TEST_DECORATOR(*label("fault-35"))
BOOST_DATA_TEST_CASE(invalid_texts_are_rejected, data::make(bad_texts), sample) {
    const config_error e = error_of([&] { config::from_json(sample.text); });
    BOOST_TEST(e.field() == sample.pointer);
    const std::string beginning = sample.pointer.empty() ? "" : sample.pointer + ": ";
    BOOST_TEST(std::string(e.what()).starts_with(beginning), e.what());
    BOOST_TEST(!std::string(e.what()).starts_with(":"), e.what());
    BOOST_TEST(contains(e.what(), sample.reason), e.what());
    BOOST_TEST(!contains(e.what(), secret), e.what());
}

BOOST_AUTO_TEST_CASE(member_names_may_repeat_in_different_objects) {
    const config c = config::from_json(
        R"({"instances": [{"uri": "memory://a"}, {"uri": "memory://b"}], "key_prefix": "uri"})");
    BOOST_TEST(c.instances.size() == 2U);
}

BOOST_AUTO_TEST_CASE(durations_must_be_whole_milliseconds_in_range) {
    for (const auto& field : fields::duration_fields) {
        const std::string name = field.name + "_ms";
        for (const std::string value : {"1.5", "\"5\"", "null", "true", "[5]", "{}", "1e3",
                                        "18446744073709551615", "9223372036854775808"}) {
            const config_error e =
                error_of([&] { config::from_json(with("\"" + name + "\": " + value)); });
            BOOST_TEST(e.field() == "/" + name);
            BOOST_TEST(contains(e.what(), " is not a whole number of milliseconds"), e.what());
        }
        for (const std::string value : {"-1", "9223372036854775807", "-9223372036854775808"}) {
            const config_error e =
                error_of([&] { config::from_json(with("\"" + name + "\": " + value)); });
            BOOST_TEST(e.field() == "/" + name);
            BOOST_TEST(contains(e.what(), value + " ms is out of range ("), e.what());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
