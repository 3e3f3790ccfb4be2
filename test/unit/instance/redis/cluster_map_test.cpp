// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The slots that nodes of a cluster report.

#include "instance/redis/cluster_map.hpp"

#include "support/cluster_replies.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance::redis {

static std::ostream& operator<<(std::ostream& out, const slot_range& r) {
    return out << r.first << "-" << r.last << " at " << r.host << ":" << r.port << " " << r.id;
}

namespace {

using boost::unit_test::label;
using namespace colock::test;
using ranges = std::vector<slot_range>;
using strings = std::vector<std::string>;
using kind_type = redirection::kind_type;

constexpr std::size_t last_slot = 16383;

/// Returns a node of CLUSTER SHARDS at that host, with a port for TLS.
reported_node node_at(const std::string& host, std::size_t port, const std::string& role = "master",
                      const std::string& health = "online") {
    return {.port = port,
            .id = "id" + std::to_string(port),
            .role = role,
            .health = health,
            .endpoint = resp_bulk(host),
            .tls_port = port + 1000};
}

/// Returns an entry of CLUSTER SLOTS. `host` is the host of the master as RESP.
std::string entry(std::size_t first, const std::string& host, std::size_t port) {
    return resp_array({resp_number(first), resp_number(first + 1),
                       resp_array({host, resp_number(port), resp_bulk("id")})});
}

BOOST_AUTO_TEST_SUITE(cluster_map_test)

BOOST_AUTO_TEST_CASE(cluster_shards_replies_are_parsed) {
    const std::string reply =
        shards_reply({{{0, 5, 7, 7}, {node_at("b", 2, "replica"), node_at("a", 1)}},
                      {{}, {node_at("idle", 9)}},
                      {{6, 6}, {node_at("c", 3)}}});
    const cluster_map map = read_shards(reply, "asked", false);
    BOOST_TEST(
        map.ranges ==
            (ranges{{0, 5, "a", "1", "id1"}, {6, 6, "c", "3", "id3"}, {7, 7, "a", "1", "id1"}}),
        boost::test_tools::per_element());
    BOOST_TEST((map.ids == std::set<std::string>{"id1", "id2", "id3", "id9"}));
    BOOST_TEST(map.ignored.empty());
    BOOST_TEST(!map.is_complete());
    BOOST_TEST(!map.is_certain);
    BOOST_TEST(read_shards(reply, "asked", true).ranges.front() ==
               (slot_range{0, 5, "a", "1001", "id1"}));
}

// Null and the empty string mean the queried node. "?" means an unknown address.
BOOST_AUTO_TEST_CASE(announced_addresses_may_be_empty_or_unknown, *label("fault-77")) {
    reported_node null = node_at("", 1);
    null.endpoint = "_\r\n";
    const cluster_map shards = read_shards(
        shards_reply({{{0, 1}, {null}}, {{2, 3}, {node_at("", 2)}}, {{4, 5}, {node_at("?", 3)}}}),
        "asked", false);
    BOOST_TEST(shards.ranges == (ranges{{0, 1, "asked", "1", "id1"}, {2, 3, "asked", "2", "id2"}}),
               boost::test_tools::per_element());
    BOOST_TEST(shards.ignored == (strings{"node id3: its address is not known",
                                          "slots 4 to 5 are in a shard without a usable master"}),
               boost::test_tools::per_element());
    const cluster_map slots =
        read_slots(resp_array({entry(0, "_\r\n", 1), entry(2, resp_bulk(""), 2),
                               entry(4, resp_bulk("?"), 3), entry(6, resp_bulk("h"), 4)}),
                   "asked");
    BOOST_TEST(slots.ranges == (ranges{{0, 1, "asked", "1", "id"},
                                       {2, 3, "asked", "2", "id"},
                                       {6, 7, "h", "4", "id"}}),
               boost::test_tools::per_element());
    BOOST_TEST(slots.ignored == strings{"slots 4 to 5 have no master whose address is known"},
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_master_without_a_tls_port_is_ignored, *label("fault-77")) {
    reported_node without_tls = node_at("a", 1);
    without_tls.tls_port = 0;
    const cluster_map map =
        read_shards(shards_reply({{{0, last_slot}, {without_tls}}}), "asked", true);
    BOOST_TEST(map.ranges.empty());
    BOOST_TEST(map.ignored.front() == "node id1: it has no port for TLS");
}

BOOST_AUTO_TEST_CASE(cluster_slots_replies_are_parsed) {
    const std::string reply = resp_array(
        {resp_array({resp_number(0), resp_number(9),
                     resp_array({resp_bulk("a"), resp_number(1), resp_bulk("m"), resp_array({})}),
                     resp_array({resp_bulk("replica"), resp_number(2), resp_bulk("r")})}),
         resp_array({resp_number(10), resp_number(last_slot),
                     resp_array({resp_bulk("b"), resp_number(3)})})});
    const cluster_map map = read_slots(reply, "asked");
    BOOST_TEST(map.ranges == (ranges{{0, 9, "a", "1", "m"}, {10, last_slot, "b", "3", ""}}),
               boost::test_tools::per_element());
    BOOST_TEST((map.ids == std::set<std::string>{"m", "r"}));
    BOOST_TEST(map.is_complete());
    BOOST_TEST(map.is_certain);
}

// A replaced master stays in its shard, before or after its successor.
BOOST_AUTO_TEST_CASE(the_healthiest_master_owns_the_slots, *label("fault-92")) {
    for (const std::string health : {"fail", "loading", "handshake", "?"}) {
        std::vector<reported_node> nodes{node_at("new", 1), node_at("old", 2, "master", health)};
        for (int order = 0; order != 2; ++order) {
            const cluster_map map =
                read_shards(shards_reply({{{0, last_slot}, nodes}}), "asked", false);
            BOOST_TEST(map.ranges == (ranges{{0, last_slot, "new", "1", "id1"}}),
                       boost::test_tools::per_element());
            BOOST_TEST(map.is_certain);
            BOOST_TEST(map.ignored == strings{"the master at old:2 is reported as '" + health +
                                              "', and another one has its slots"},
                       boost::test_tools::per_element());
            std::ranges::reverse(nodes);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_failed_master_without_a_successor_keeps_its_slots, *label("fault-92")) {
    const cluster_map map = read_shards(
        shards_reply({{{0, last_slot}, {node_at("old", 2, "master", "fail")}}}), "asked", false);
    BOOST_TEST(map.ranges.size() == 1U);
    BOOST_TEST(map.is_complete());
    BOOST_TEST(!map.is_certain);
}

// Another source must decide which of two healthy masters owns the slots.
BOOST_AUTO_TEST_CASE(a_slot_with_two_healthy_masters_has_no_owner, *label("fault-92")) {
    std::vector<reported_shard> shards{{{0, 9}, {node_at("a", 1)}}, {{5, 20}, {node_at("b", 2)}}};
    for (int order = 0; order != 2; ++order) {
        const cluster_map map = read_shards(shards_reply(shards), "asked", false);
        BOOST_TEST(map.ranges == (ranges{{0, 4, "a", "1", "id1"}, {10, 20, "b", "2", "id2"}}),
                   boost::test_tools::per_element());
        BOOST_TEST(map.ignored == strings{"several masters claim slots 5 to 9"},
                   boost::test_tools::per_element());
        std::ranges::reverse(shards);
    }
}

BOOST_AUTO_TEST_CASE(malformed_entries_are_ignored_with_a_reason) {
    const auto check_without_slots = [](const cluster_map& map) {
        BOOST_TEST(map.ranges.empty());
        BOOST_TEST(!map.ignored.empty());
    };
    check_without_slots(read_shards("+OK\r\n", "asked", false));
    check_without_slots(
        read_shards(resp_array({resp_number(1), resp_bulk("x"), resp_array({resp_bulk("slots")})}),
                    "h", false));
    check_without_slots(
        read_shards(shards_reply({{{5, 4, 9, 16384}, {node_at("a", 1)}}}), "h", false));
    check_without_slots(read_shards(shards_reply({{{5}, {node_at("a", 1)}}}), "h", false));
    check_without_slots(read_slots("+OK\r\n", "asked"));
    check_without_slots(read_slots(
        resp_array({resp_number(1), resp_array({resp_bulk("x"), resp_number(2), resp_number(3)})}),
        "h"));
    check_without_slots(read_slots(
        resp_array({resp_array({resp_number(0), resp_number(1), resp_array({})})}), "h"));
}

// The parser handles any reply quickly, and limits the number of reported problems.
BOOST_AUTO_TEST_CASE(a_huge_reply_reports_a_bounded_number_of_problems) {
    const std::string claim = resp_number(0) + resp_number(last_slot);
    std::string slots = "*200000\r\n";
    for (int i = 0; i != 100'000; ++i) {
        slots += claim;
    }
    const std::string nodes = shards_reply({{{}, {node_at("a", 1)}}});
    const std::string reply = "*1\r\n%2\r\n" + resp_bulk("slots") + slots + resp_bulk("nodes") +
                              nodes.substr(nodes.rfind("*1\r\n"));
    const cluster_map map = read_shards(reply, "h", false);
    BOOST_TEST(map.is_complete());
    BOOST_TEST(map.ignored.size() == 1U);
    std::vector<reported_shard> nonsense;
    for (std::size_t i = 0; i != 1000; ++i) {
        nonsense.push_back({{20'000 + i, 5}, {}});
    }
    BOOST_TEST(read_shards(shards_reply(nonsense), "h", false).ignored.size() == 16U);
}

BOOST_AUTO_TEST_CASE(holes_are_filled_from_another_map, *label("fault-93")) {
    cluster_map map = read_shards(shards_reply({{{5, 9}, {node_at("a", 1)}}}), "h", false);
    fill_holes(map, read_shards(shards_reply({{{0, 5, 9, 12}, {node_at("b", 2)}},
                                              {{13, 13}, {node_at("a", 1)}}}),
                                "h", false));
    BOOST_TEST(map.ranges == (ranges{{0, 4, "b", "2", "id2"},
                                     {5, 9, "a", "1", "id1"},
                                     {10, 12, "b", "2", "id2"},
                                     {13, 13, "a", "1", "id1"}}),
               boost::test_tools::per_element());
    BOOST_TEST((map.ids == std::set<std::string>{"id1", "id2"}));
}

BOOST_AUTO_TEST_CASE(cluster_info_provides_state_and_epoch) {
    cluster_map map;
    read_cluster_info("cluster_state:ok\r\ncluster_current_epoch:42\r\ncluster_my_epoch:3\r\n",
                      map);
    BOOST_TEST(map.is_ok);
    BOOST_TEST(map.epoch == 42U);
    read_cluster_info("cluster_state:fail\r\n", map);
    BOOST_TEST(!map.is_ok);
    BOOST_TEST(map.epoch == 0U);
}

/// Returns a redirection as text, such as "moved 7 h 6379".
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

BOOST_AUTO_TEST_CASE(redirections_are_parsed) {
    BOOST_TEST(redirected("MOVED 3999 127.0.0.1:6381") == "moved 3999 127.0.0.1 6381");
    BOOST_TEST(redirected("ASK 0 some.host:1") == "ask 0 some.host 1");
    BOOST_TEST(redirected("MOVED 1 ::1:7000") == "moved 1 ::1 7000");
    BOOST_TEST(redirected("MOVED 1 [::1]:7000") == "moved 1 ::1 7000");
    BOOST_TEST(redirected("MOVED 1 :7000") == "moved 1  7000");
    BOOST_TEST(redirected("TRYAGAIN Multiple keys request during rehashing of slot") == "again");
    BOOST_TEST(redirected("CLUSTERDOWN Hash slot not served") == "down");
    for (const char* const nonsense :
         {"MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h:", "MOVED 1 h:x",
          "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:-1", "MOVED 1 ?:6379", "ASK 1 h"}) {
        BOOST_TEST(redirected(nonsense) == "again", nonsense);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis
