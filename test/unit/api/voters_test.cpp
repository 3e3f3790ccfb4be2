// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Each server has one vote. One table of pairs is checked against the configuration and against connected
// instances.

#include "instance/redis/voters.hpp"
#include "api/instance_uri.hpp"

#include <colock/colock.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <ostream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace data = boost::unit_test::data;
using boost::unit_test::label;
using colock::instance::redis::address;
using colock::instance::redis::any_address;
using colock::instance::redis::voter;
using colock::instance::redis::voters;

namespace {

/// The relation of two URIs without I/O. They name one server, or the answer is unknown before both are
/// connected.
enum class by_uri { same, unknown };

struct pair {
    std::string first;
    std::string second;
    by_uri verdict;
};

std::ostream& operator<<(std::ostream& out, const pair& p) {
    return out << p.first << " and " << p.second;
}

const std::vector<pair> pairs{
    {"redis://h", "redis://h", by_uri::same},
    {"redis://h", "redis://h:6379", by_uri::same},
    {"redis://h", "redis://h:6380", by_uri::unknown},
    {"redis://h", "redis://i", by_uri::unknown},
    // None of these differences names another server.
    {"redis://h/0", "redis://h/1", by_uri::same},
    {"redis://h", "redis://h/15", by_uri::same},
    {"redis://h", "redis://u:hunter2@h", by_uri::same},
    {"redis://u:hunter2@h", "redis://v:other@h", by_uri::same},
    {"redis://h", "redis://h?password_env=X", by_uri::same},
    {"redis://h", "rediss://h", by_uri::same},
    {"redis://h", "valkey://h", by_uri::same},
    {"rediss://h?verify=none", "rediss://h?tls_host=i", by_uri::same},
    {"redis://h?replicas_acked=1", "redis://h?replicas_acked=2", by_uri::same},
    // Forms of one name or address.
    {"redis://h", "redis://H", by_uri::same},
    {"redis://h.example", "redis://H.Example.", by_uri::same},
    {"redis://127.0.0.1", "redis://127.0.0.1:6379/1", by_uri::same},
    {"redis://127.0.0.1", "redis://127.1", by_uri::same},
    {"redis://127.0.0.1", "redis://0x7f000001", by_uri::same},
    {"redis://127.0.0.1", "redis://[::ffff:127.0.0.1]", by_uri::same},
    {"redis://[::1]", "redis://[0:0:0:0:0:0:0:1]", by_uri::same},
    {"redis://[fe80::A]", "redis://[fe80::a]", by_uri::same},
    {"redis://[::1]", "redis://[::2]", by_uri::unknown},
    // A comparison of these would need a name lookup or a query to the servers.
    {"redis://127.0.0.1/0", "redis://localhost/1", by_uri::unknown},
    {"redis://127.0.0.1", "redis://127.0.0.2", by_uri::unknown},
    {"redis://127.0.0.1", "redis://[::1]", by_uri::unknown},
    {"redis://127.0.0.1", "unix:///s?db=2", by_uri::unknown},
    {"redis://h:1", "rediss://h:2", by_uri::unknown},
    // UNIX sockets.
    {"unix:///s", "unix:///s?db=1", by_uri::same},
    {"unix:///s?user=u&password=hunter2", "unix:///s", by_uri::same},
    {"unix:///run/./s", "unix:///run//s", by_uri::same},
    {"unix:///s", "unix:///S", by_uri::unknown},
    {"unix:///a/../s", "unix:///s", by_uri::unknown},  // The folder `a` may be a symbolic link.
    {"memory://a", "memory://a", by_uri::same},
    {"memory://a", "memory://A", by_uri::unknown},
    // Several servers that count as one instance.
    {"redis+sentinel://a,b/m", "redis+sentinel://B,a:26379/m", by_uri::same},
    {"redis+sentinel://a,b/m", "redis+sentinel://b,c/m/1", by_uri::same},
    {"redis+sentinel://a,b/m", "redis+sentinel://a,b/n", by_uri::unknown},
    {"redis+sentinel://a,b/m", "redis+sentinel://c,d/m", by_uri::unknown},
    {"redis+sentinel://a/m", "redis://a:26379", by_uri::unknown},  // A Sentinel does not vote.
    {"redis+cluster://a,b", "rediss+cluster://:hunter2@b,a", by_uri::same},
    {"redis+cluster://a,b", "redis+cluster://c,B.", by_uri::same},
    {"redis+cluster://a,b", "redis+cluster://c,d", by_uri::unknown},
    {"redis+cluster://a,b:7001", "redis://b:7001", by_uri::same},
    {"redis+cluster://a,b", "redis+sentinel://a,b/m", by_uri::unknown},
};

/// Returns the server to which an instance with that URI may connect. This is the named server, or else any
/// server.
address server_of(const std::string& uri) {
    const any_address parsed = colock::parse_instance_uri("uri", uri);
    if (const auto* const server = std::get_if<address>(&parsed)) {
        return *server;
    }
    address any;
    any.host = "10.0.0.1";
    any.display = "redis://10.0.0.1:6379";
    return any;
}

const std::string run_id(40, 'a');
const std::string other_run_id(40, 'b');

BOOST_AUTO_TEST_SUITE(voters_test)

BOOST_TEST_DECORATOR(*label("fault-89"))
BOOST_DATA_TEST_CASE(the_configuration_rejects_duplicate_servers, data::make(pairs), sample) {
    colock::config c;
    c.instances = {sample.first, "memory://other", sample.second};
    if (sample.verdict == by_uri::unknown) {
        BOOST_CHECK_NO_THROW(c.validate());
        return;
    }
    std::string text;
    std::string field;
    try {
        c.validate();
    } catch (const colock::config_error& e) {
        text = e.what();
        field = e.field();
    }
    BOOST_TEST(field == "instances[2]");
    BOOST_TEST(
        text ==
        "instances[2]: " +
            colock::instance::redis::display_of(colock::parse_instance_uri("uri", sample.second)) +
            " duplicates instances[0] (database number, credentials and TLS are ignored). "
            "Every instance must be a different server, so remove one of the two");
    BOOST_TEST(text.find("hunter2") == std::string::npos);
}

BOOST_TEST_DECORATOR(*label("fault-89"))
BOOST_DATA_TEST_CASE(connected_instances_are_identified_by_run_id, data::make(pairs), sample) {
    const address first = server_of(sample.first);
    const address second = server_of(sample.second);
    voters of_one_server;
    BOOST_TEST(of_one_server.join(0, run_id, first) == "");
    BOOST_TEST(of_one_server.join(1, run_id, second) ==
               "it is the same server as " + first.display + " (run_id " + run_id +
                   "). Every instance must be a different server, so remove one of the two");
    voters of_two;
    BOOST_TEST(of_two.join(0, run_id, first) == "");
    BOOST_TEST(of_two.join(1, other_run_id, second) == "");
}

/// If the user may not use INFO, only the address can identify the server.
BOOST_TEST_DECORATOR(*label("fault-89"))
BOOST_DATA_TEST_CASE(without_a_run_id_the_address_decides, data::make(pairs), sample) {
    const any_address a = colock::parse_instance_uri("uri", sample.first);
    const any_address b = colock::parse_instance_uri("uri", sample.second);
    if (!std::holds_alternative<address>(a) || !std::holds_alternative<address>(b)) {
        return;  // The instance connects to a master or a node, not to the address in the URI.
    }
    for (const std::string& known : {std::string(), run_id}) {
        voters all;
        BOOST_TEST(all.join(0, known, server_of(sample.first)) == "");
        BOOST_TEST(all.join(1, "", server_of(sample.second)).empty() ==
                   (sample.verdict == by_uri::unknown));
    }
}

BOOST_AUTO_TEST_CASE(a_server_may_vote_for_another_instance_once_the_first_has_left,
                     *label("fault-89")) {
    const address by_address = server_of("redis://127.0.0.1");
    const address by_name = server_of("redis://localhost/3");
    voters all;
    BOOST_TEST(all.join(0, run_id, by_address) == "");
    BOOST_TEST(all.join(0, run_id, by_address) == "");  // The instance has reconnected.
    BOOST_TEST(all.join(1, run_id, by_name) != "");
    all.leave(1, by_name);
    BOOST_TEST(all.join(1, run_id, by_name) != "");
    all.leave(0, by_address);
    BOOST_TEST(all.join(1, run_id, by_name) == "");
    BOOST_TEST(all.join(0, run_id, by_address) != "");
}

/// The nodes of one cluster belong to one instance. A standalone URI or a Sentinel master may name the same
/// server as one of these nodes.
BOOST_AUTO_TEST_CASE(every_node_of_an_instance_is_checked_for_duplicates, *label("fault-89")) {
    voters all;
    BOOST_TEST(all.join(0, run_id, server_of("redis://n1")) == "");
    BOOST_TEST(all.join(0, other_run_id, server_of("redis://n2")) == "");
    BOOST_TEST(all.join(0, run_id, server_of("redis://n3")) == "");  // Two names of one node.
    BOOST_TEST(all.join(1, other_run_id, server_of("redis://elsewhere")) != "");
    BOOST_TEST(all.join(2, std::string(40, 'c'), server_of("redis://master")) == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
