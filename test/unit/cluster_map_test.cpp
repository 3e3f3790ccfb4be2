// What nodes of a cluster say about its slots.

#include "instance/redis/cluster_map.hpp"

#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

static std::ostream& operator<<(std::ostream& out, const slot_range& r) {
    return out << r.first << "-" << r.last << " at " << r.host << ":" << r.port;
}

namespace {

using boost::unit_test::label;
using ranges = std::vector<slot_range>;
using kind_type = redirection::kind_type;

std::string bulk(std::string_view text) {
    return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

std::string array(const std::vector<std::string>& of) {
    std::string result = "*" + std::to_string(of.size()) + "\r\n";
    for (const std::string& one : of) {
        result += one;
    }
    return result;
}

std::string number(int value) {
    return ":" + std::to_string(value) + "\r\n";
}

std::string map(const std::vector<std::string>& of) {
    return "%" + std::to_string(of.size() / 2) + array(of).substr(array(of).find('\r'));
}

/// A node as CLUSTER SHARDS tells of it; `endpoint` is RESP.
std::string node(const std::string& endpoint, int port, std::string_view role) {
    return map({bulk("id"), bulk("x"), bulk("port"), number(port), bulk("tls-port"),
                number(port + 1000), bulk("ip"), bulk("10.9.9.9"), bulk("endpoint"), endpoint,
                bulk("role"), bulk(role), bulk("health"), bulk("online")});
}

std::string shard(const std::vector<int>& slots, const std::vector<std::string>& nodes) {
    std::vector<std::string> numbers;
    for (const int slot : slots) {
        numbers.push_back(number(slot));
    }
    return map({bulk("slots"), array(numbers), bulk("nodes"), array(nodes)});
}

BOOST_AUTO_TEST_SUITE(cluster_map_test)

BOOST_AUTO_TEST_CASE(shards) {
    const std::string reply =
        array({shard({0, 5, 7, 7}, {node(bulk("b"), 2, "replica"), node(bulk("a"), 1, "master")}),
               shard({}, {node(bulk("idle"), 9, "master")}),
               shard({6, 6}, {node(bulk("c"), 3, "master")})});
    BOOST_TEST(read_shards(reply, "asked", false) ==
                   (ranges{{0, 5, "a", "1"}, {7, 7, "a", "1"}, {6, 6, "c", "3"}}),
               boost::test_tools::per_element());
    BOOST_TEST(read_shards(reply, "asked", true).front() == (slot_range{0, 5, "a", "1001"}));
}

// Null and the empty string mean the node that was asked, and "?" means that the address is not known.
BOOST_AUTO_TEST_CASE(announced_addresses, *label("fault-77")) {
    const std::string reply = array({shard({0, 1}, {node("_\r\n", 1, "master")}),
                                     shard({2, 3}, {node(bulk(""), 2, "master")}),
                                     shard({4, 5}, {node(bulk("?"), 3, "master")})});
    BOOST_TEST(
        read_shards(reply, "asked", false) == (ranges{{0, 1, "asked", "1"}, {2, 3, "asked", "2"}}),
        boost::test_tools::per_element());
    const auto entry = [](int first, const std::string& host, int port) {
        return array({number(first), number(first + 1), array({host, number(port), bulk("id")})});
    };
    BOOST_TEST(read_slots(array({entry(0, "_\r\n", 1), entry(2, bulk(""), 2),
                                 entry(4, bulk("?"), 3), entry(6, bulk("h"), 4)}),
                          "asked") ==
                   (ranges{{0, 1, "asked", "1"}, {2, 3, "asked", "2"}, {6, 7, "h", "4"}}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(slots_of_old_servers) {
    const std::string reply =
        array({array({number(0), number(9), array({bulk("a"), number(1), bulk("id"), array({})}),
                      array({bulk("replica"), number(2), bulk("id")})}),
               array({number(10), number(16383), array({bulk("b"), number(3)})})});
    BOOST_TEST(read_slots(reply, "asked") == (ranges{{0, 9, "a", "1"}, {10, 16383, "b", "3"}}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_left_out) {
    BOOST_TEST(read_shards("+OK\r\n", "asked", false).empty());
    BOOST_TEST(
        read_shards(array({number(1), bulk("x"), array({bulk("slots")})}), "h", false).empty());
    BOOST_TEST(
        read_shards(array({shard({5, 4, 9, 16384}, {node(bulk("a"), 1, "master")})}), "h", false)
            .empty());
    BOOST_TEST(read_slots("+OK\r\n", "asked").empty());
    BOOST_TEST(
        read_slots(array({number(1), array({bulk("x"), number(2), number(3)})}), "h").empty());
    BOOST_TEST(read_slots(array({array({number(0), number(1), array({})})}), "h").empty());
}

BOOST_AUTO_TEST_CASE(state_and_epoch) {
    cluster_map map;
    read_cluster_info("cluster_state:ok\r\ncluster_current_epoch:42\r\ncluster_my_epoch:3\r\n",
                      map);
    BOOST_TEST(map.is_ok);
    BOOST_TEST(map.epoch == 42U);
    read_cluster_info("cluster_state:fail\r\n", map);
    BOOST_TEST(!map.is_ok);
    BOOST_TEST(map.epoch == 0U);
}

/// As text: "moved 7 h 6379".
std::string redirected(std::string_view error) {
    const redirection to = read_redirection(error);
    switch (to.kind) {
        case kind_type::moved:
        case kind_type::ask:
            return (to.kind == kind_type::moved ? "moved " : "ask ") + std::to_string(to.slot) +
                   " " + to.host + " " + to.port;
        case kind_type::again:
            return "again";
        case kind_type::down:
            break;
    }
    return "down";
}

BOOST_AUTO_TEST_CASE(redirections) {
    BOOST_TEST(redirected("MOVED 3999 127.0.0.1:6381") == "moved 3999 127.0.0.1 6381");
    BOOST_TEST(redirected("ASK 0 some.host:1") == "ask 0 some.host 1");
    BOOST_TEST(redirected("MOVED 1 ::1:7000") == "moved 1 ::1 7000");
    BOOST_TEST(redirected("MOVED 1 [::1]:7000") == "moved 1 ::1 7000");
    BOOST_TEST(redirected("MOVED 1 :7000") == "moved 1  7000");
    BOOST_TEST(redirected("TRYAGAIN Multiple keys request during rehashing of slot") == "again");
    BOOST_TEST(redirected("CLUSTERDOWN Hash slot not served") == "down");
    for (const char* const nonsense : {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1",
                                       "MOVED 1 h:", "MOVED 1 ?:6379", "ASK 1 h"}) {
        BOOST_TEST(redirected(nonsense) == "again", nonsense);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis
