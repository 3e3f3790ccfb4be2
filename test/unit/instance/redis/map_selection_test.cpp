// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Which of the reported slot maps is used, and which slots get a quarantine after a change.

#include "instance/redis/map_selection.hpp"

#include "support/cluster_replies.hpp"
#include "support/contains.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::instance::redis {
namespace {

using boost::unit_test::label;
using namespace colock::test;
using namespace std::chrono_literals;
using relation = map_selection::relation;
using strings = std::vector<std::string>;

constexpr core::time_point start = core::time_point() + 1h;
constexpr std::size_t last_slot = slot_count - 1;
constexpr std::size_t middle = slot_count / 2;

/// Returns a map in which these nodes share the slots evenly. Node "a1" is at the host of that name.
cluster_map map_of(const strings& ids, std::uint64_t epoch = 1, bool is_ok = true) {
    cluster_map result;
    for (std::size_t i = 0; i != ids.size(); ++i) {
        result.ranges.push_back({i * slot_count / ids.size(), (i + 1) * slot_count / ids.size() - 1,
                                 ids[i], "1", ids[i]});
        result.ids.insert(ids[i]);
    }
    result.epoch = epoch;
    result.is_ok = is_ok;
    return result;
}

/// Returns the map without the slots of one node.
cluster_map without(cluster_map map, const std::string& id) {
    std::erase_if(map.ranges, [&](const slot_range& one) { return one.id == id; });
    return map;
}

/// Runs a sweep in which nodes n0, n1, and so on report these maps.
map_decision sweep(map_selection& selection, const std::vector<cluster_map>& maps,
                   core::time_point now = start) {
    selection.begin();
    for (std::size_t i = 0; i != maps.size(); ++i) {
        selection.add("n" + std::to_string(i), maps[i]);
    }
    return selection.decide(now);
}

std::string owner_of(const cluster_map& in, std::size_t slot) {
    for (const slot_range& one : in.ranges) {
        if (one.first <= slot && slot <= one.last) {
            return one.id;
        }
    }
    return "";
}

BOOST_AUTO_TEST_SUITE(map_selection_test)

BOOST_AUTO_TEST_CASE(a_complete_map_is_enough, *label("fault-96")) {
    map_selection selection;
    selection.begin();
    BOOST_TEST((selection.add("n0", cluster_map{}) == relation::empty));
    BOOST_TEST(!selection.is_enough());
    selection.add("n1", without(map_of({"a1", "a2"}), "a2"));
    BOOST_TEST(!selection.is_enough());
    selection.add("n2", map_of({"a1", "a2"}, 1, false));
    BOOST_TEST(!selection.is_enough());
    selection.add("n3", map_of({"a1", "a2"}));
    BOOST_TEST(selection.is_enough());
    const map_decision decided = selection.decide(start);
    BOOST_TEST_REQUIRE(decided.map.has_value());
    BOOST_TEST(decided.map->is_complete());
    BOOST_TEST(contains(decided.reason, "n0 reports a map without slots"), decided.reason);
    BOOST_TEST(contains(decided.reason, "n2 reports that its cluster is not ok"), decided.reason);
}

BOOST_AUTO_TEST_CASE(a_missing_map_is_reported_with_the_reasons) {
    map_selection selection;
    selection.begin();
    selection.add_failure("n0", "is gone");
    selection.add("n1", cluster_map{});
    const map_decision decided = selection.decide(start);
    BOOST_TEST(!decided.map);
    BOOST_TEST(
        decided.reason ==
        "no node reports the map of the cluster: n1 reports a map without slots. n0 is gone");
}

BOOST_AUTO_TEST_CASE(the_newest_map_of_a_healthy_cluster_is_chosen, *label("fault-70")) {
    map_selection selection;
    const map_decision decided = sweep(selection, {map_of({"a1", "a2", "cut off"}, 9, false),
                                                   map_of({"a1", "a2"}, 3), map_of({"a2"}, 5)});
    BOOST_TEST(owner_of(*decided.map, 0) == "a2");
    // The map of an isolated node is used if no other node replies.
    BOOST_TEST(sweep(selection, {map_of({"a1", "a2"}, 5, false)}).map.has_value());
}

BOOST_AUTO_TEST_CASE(a_hole_is_filled_from_the_next_map, *label("fault-93")) {
    map_selection selection;
    const cluster_map map = map_of({"a1", "a2"}, 5);
    sweep(selection, {without(map, "a2")});
    map_decision decided = sweep(selection, {without(map, "a2"), map_of({"b1"}, 4)});
    BOOST_TEST(owner_of(*decided.map, 0) == "a1");
    BOOST_TEST(owner_of(*decided.map, last_slot) == "");  // n1 has no node in common with n0.
    BOOST_TEST(contains(decided.reason, "n1 reports another cluster"), decided.reason);
    decided = sweep(selection, {without(map, "a2"), map_of({"a1", "a2"}, 5)});
    BOOST_TEST(owner_of(*decided.map, last_slot) == "a2");
    decided = sweep(selection, {without(map, "a2")});
    BOOST_TEST(owner_of(*decided.map, last_slot) == "");
    BOOST_TEST(contains(decided.reason, "8192 slots, of which 8192 is the first"), decided.reason);
}

BOOST_AUTO_TEST_CASE(a_slot_changes_only_with_its_owner, *label("fault-94")) {
    map_selection selection;
    const cluster_map map = map_of({"a1", "a2"});
    BOOST_TEST(sweep(selection, {map}).changed.none());
    for (int i = 0; i != 3; ++i) {
        BOOST_TEST(sweep(selection, {without(map, "a2")}).changed.none());
        BOOST_TEST(sweep(selection, {map}).changed.none());
    }
    // The slot has moved to another node while no node reported its owner.
    BOOST_TEST(sweep(selection, {without(map, "a2")}).changed.none());
    const map_decision decided = sweep(selection, {map_of({"a1", "a3", "a1"})});
    BOOST_TEST(decided.changed.count() == slot_count - slot_count / 3);
    BOOST_TEST(!decided.changed[0]);
    BOOST_TEST(decided.changed[middle]);
    BOOST_TEST(decided.changed[last_slot]);
}

// A node is identified by its id, or by its address if it reports no id.
BOOST_AUTO_TEST_CASE(an_owner_is_identified_by_id_or_address, *label("fault-94")) {
    map_selection selection;
    cluster_map map = map_of({"a1"});
    sweep(selection, {map});
    map.ranges[0].host = "another name";
    BOOST_TEST(sweep(selection, {map}).changed.none());
    map.ranges[0].id = "";
    map.ids.clear();
    BOOST_TEST(sweep(selection, {map}).changed.none());
    map.ranges[0].id = "a1";
    BOOST_TEST(sweep(selection, {map}).changed.none());
    map.ranges[0].id = "";
    map.ranges[0].host = "another host";
    BOOST_TEST(sweep(selection, {map}).changed.all());
    map.ranges[0].id = "a2";
    BOOST_TEST(sweep(selection, {map}).changed.none());
    map.ranges[0].id = "a3";
    BOOST_TEST(sweep(selection, {map}).changed.all());
}

BOOST_AUTO_TEST_CASE(a_redirected_slot_changes_its_owner_once, *label("fault-94")) {
    map_selection selection;
    sweep(selection, {map_of({"a1", "a2"})});
    BOOST_TEST(!selection.move(0, "a1", "1"));
    BOOST_TEST(selection.move(0, "a2", "1"));
    BOOST_TEST(!selection.move(0, "a2", "1"));
    BOOST_TEST(selection.move(1, "a9", "1"));
    // A later map confirms this move, and reports that the other slots have moved as well.
    const map_decision decided = sweep(selection, {map_of({"a2"})});
    BOOST_TEST(!decided.changed[0]);
    BOOST_TEST(decided.changed[1]);
    BOOST_TEST(decided.changed.count() == middle - 1);
    // A slot that never had an owner does not count as changed.
    map_selection partial;
    sweep(partial, {without(map_of({"a1", "a2"}), "a2")});
    BOOST_TEST(!partial.move(last_slot, "a2", "1"));
}

BOOST_AUTO_TEST_CASE(slots_keep_their_owners_when_unused_owners_are_dropped) {
    map_selection selection;
    sweep(selection, {map_of({"a1", "a2"})});
    for (int i = 0; i != 1000; ++i) {
        BOOST_TEST(selection.move(0, "other" + std::to_string(i), "1"));
    }
    BOOST_TEST(!selection.move(0, "other999", "1"));
    BOOST_TEST(!selection.move(1, "a1", "1"));
    BOOST_TEST(!selection.move(last_slot, "a2", "1"));
    BOOST_TEST(selection.move(1, "a2", "1"));
    const map_decision decided = sweep(selection, {map_of({"a1", "a2"})});
    BOOST_TEST(decided.changed.count() == 2U);
    BOOST_TEST(decided.changed[0]);
    BOOST_TEST(decided.changed[1]);
}

BOOST_AUTO_TEST_CASE(a_lower_epoch_is_followed_if_all_nodes_report_it, *label("fault-95")) {
    map_selection selection;
    sweep(selection, {map_of({"a1", "a2"}, 7)});
    map_decision decided = sweep(selection, {map_of({"a1"}, 3), map_of({"a1"}, 3)});
    BOOST_TEST(!decided.map);
    BOOST_TEST(decided.is_undecided);
    BOOST_TEST(contains(decided.reason, "n0 reports an older map, of epoch 3"), decided.reason);
    BOOST_TEST(contains(decided.reason, "n1 reports an older map, of epoch 3"), decided.reason);
    BOOST_TEST(!sweep(selection, {map_of({"a1"}, 3)}, start + map_selection::patience - 1ms).map);
    decided = sweep(selection, {map_of({"a1"}, 3)}, start + map_selection::patience);
    BOOST_TEST_REQUIRE(decided.map.has_value());
    BOOST_TEST(decided.is_another);
    BOOST_TEST(!decided.is_undecided);
    BOOST_TEST(decided.changed.all());
    BOOST_TEST(contains(decided.reason, "an older map"), decided.reason);
    BOOST_TEST(contains(decided.reason, "epoch 3"), decided.reason);
    BOOST_TEST(contains(decided.reason, "epoch 7"), decided.reason);
    // From now on, this is the map in use.
    decided = sweep(selection, {map_of({"a1"}, 3)}, start + 1h);
    BOOST_TEST(!decided.is_another);
    BOOST_TEST(decided.changed.none());
    BOOST_TEST(contains(decided.reason, "an older map"), decided.reason);
}

BOOST_AUTO_TEST_CASE(a_lower_epoch_is_not_followed_unless_healthy_nodes_agree, *label("fault-95")) {
    const cluster_map older = map_of({"a1"}, 3);
    // In each of these sweeps, one node reports the older map and a healthy cluster.
    const std::vector<std::vector<cluster_map>> sweeps{
        {older, map_of({"a1", "a2"}, 7)},         // Another node has the newer map.
        {older, map_of({"a1", "a2"}, 7, false)},  // An isolated node has the newer map.
        {older, map_of({"a1", "a2"}, 4)},         // The nodes do not agree.
        {older, map_of({"a1"}, 3, false)},        // One node is isolated.
        {older, map_of({"b1"}, 3)},               // One node has joined another cluster.
        {cluster_map{}},
        {}};
    for (const auto& maps : sweeps) {
        map_selection selection;
        sweep(selection, {map_of({"a1", "a2"}, 7)});
        for (int i = 0; i != 5; ++i) {
            const map_decision decided = sweep(selection, maps, start + i * 1h);
            BOOST_TEST(!decided.is_another);
            BOOST_TEST(!decided.is_undecided);
            BOOST_TEST(decided.changed.none());
            BOOST_TEST((maps.size() < 2 || contains(decided.reason, "epoch 3") ||
                        contains(decided.reason, "not ok")),
                       decided.reason);
        }
        // The time counts from the first sweep in which all nodes agree.
        BOOST_TEST(!sweep(selection, {older}, start + 10h).map);
        BOOST_TEST(!sweep(selection, maps, start + 11h).is_another);
        BOOST_TEST(!sweep(selection, {older}, start + 12h).map);
        BOOST_TEST(sweep(selection, {older}, start + 13h).is_another);
    }
}

BOOST_AUTO_TEST_CASE(another_cluster_is_followed_if_all_nodes_report_it, *label("fault-91")) {
    map_selection selection;
    sweep(selection, {map_of({"a1", "a2"}, 7)});
    // One node still reports the first cluster.
    map_decision decided = sweep(selection, {map_of({"b1"}, 99), map_of({"a2", "a3"}, 7)});
    BOOST_TEST(owner_of(*decided.map, 0) == "a2");
    BOOST_TEST(contains(decided.reason, "n0 reports another cluster"), decided.reason);
    // No node reports the first cluster.
    for (const std::uint64_t epoch : {3U, 7U, 99U}) {
        map_selection same = selection;
        BOOST_TEST((same.add("n", map_of({"b1"}, epoch)) == relation::foreign));
        BOOST_TEST(!sweep(same, {map_of({"b1"}, epoch)}).map);
        decided = sweep(same, {map_of({"b1"}, epoch)}, start + map_selection::patience);
        BOOST_TEST_REQUIRE(decided.map.has_value());
        BOOST_TEST(decided.is_another);
        BOOST_TEST(decided.changed.all());
        BOOST_TEST(contains(decided.reason, "the map of another cluster"), decided.reason);
        // The first cluster now counts as a foreign one.
        decided = sweep(same, {map_of({"a1"}, 100), map_of({"b1"}, epoch)}, start + 1h);
        BOOST_TEST(owner_of(*decided.map, 0) == "b1");
        BOOST_TEST(!decided.is_another);
        BOOST_TEST(decided.changed.none());
    }
}

BOOST_AUTO_TEST_CASE(another_cluster_is_not_followed_unless_healthy_nodes_agree,
                     *label("fault-91")) {
    for (const auto& maps :
         std::vector<std::vector<cluster_map>>{
             {map_of({"b1"}, 9, false)},                      // It is not ok.
             {map_of({"b1"}, 9), map_of({"c1"}, 9)},          // There are two of them.
             {map_of({"b1"}, 9), map_of({"b1", "b2"}, 10)}})  // It is changing.
    {
        map_selection selection;
        sweep(selection, {map_of({"a1", "a2"}, 7)});
        for (int i = 0; i != 5; ++i) {
            const map_decision decided = sweep(selection, maps, start + i * 1h);
            BOOST_TEST(!decided.map);
            BOOST_TEST(contains(decided.reason, "n0 reports another cluster"), decided.reason);
        }
    }
}

// The other nodes are down. Even if they stay down, one node does not decide.
BOOST_AUTO_TEST_CASE(a_minority_of_the_nodes_moves_nobody_to_another_cluster, *label("fault-131")) {
    for (const cluster_map& other : {map_of({"b1"}, 99), map_of({"a1"}, 3)}) {
        for (std::size_t nodes = 1; nodes != 7; ++nodes) {
            for (std::size_t reporting = 1; reporting <= nodes; ++reporting) {
                map_selection selection;
                sweep(selection, {map_of({"a1", "a2"}, 7)});
                map_decision decided;
                for (int i = 0; i != 3; ++i) {
                    selection.begin();
                    for (std::size_t k = 0; k != nodes; ++k) {
                        if (k < reporting) {
                            selection.add("n" + std::to_string(k), other);
                        } else {
                            selection.add_failure("n" + std::to_string(k), "is gone");
                        }
                    }
                    decided = selection.decide(start + i * map_selection::patience / 2);
                }
                BOOST_TEST(decided.is_another == (2 * reporting > nodes));
                BOOST_TEST(decided.map.has_value() == decided.is_another);
                BOOST_TEST(!decided.is_undecided);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(nodes_that_report_two_clusters_are_an_error_with_both_names,
                     *label("fault-131")) {
    map_selection selection;
    map_decision decided = sweep(selection, {without(map_of({"a1", "a2"}), "a2"), map_of({"b1"})});
    BOOST_TEST(!decided.map);
    BOOST_TEST(decided.reason ==
               "n0 reports the cluster of node a1, and other nodes report another one. n1 reports "
               "the cluster of node b1, and other nodes report another one. Give nodes of one "
               "cluster only");
    // The first cluster that all nodes report is used.
    decided = sweep(selection, {map_of({"a1", "a2"}), map_of({"a1", "a2"})});
    BOOST_TEST(owner_of(*decided.map, 0) == "a1");
    decided = sweep(selection, {map_of({"b1"}), map_of({"c1"})}, start + 1h);
    BOOST_TEST(!decided.map);
    BOOST_TEST(contains(decided.reason, "n0 reports another cluster, that of node b1, "),
               decided.reason);
    BOOST_TEST(contains(decided.reason, "n1 reports another cluster, that of node c1, "),
               decided.reason);
}

// --- A generator of replies ----------------------------------------------------------------------

/// Generates random replies of a cluster with known owners. Each shard has two nodes. One node is the master.
/// The other is its replica, or a failed master.
class generated_cluster {
public:
    static constexpr std::size_t shard_count = 3;

    struct reply {
        cluster_map map;
        strings broken;  // Nodes with a missing field.
    };

    generated_cluster(std::string name, std::uint64_t seed)
        : name_(std::move(name)), random_(seed) {}

    std::size_t up_to(std::size_t largest) { return random_() % (largest + 1); }
    bool once_in(std::size_t times) { return up_to(times - 1) == 0; }

    void fail_over() {
        shard& one = shards_[up_to(shard_count - 1)];
        one.master = 1 - one.master;
        one.former_has_failed = once_in(2);
        ++epoch_;
    }

    /// Toggles whether any node reports the owner of the slots of a random shard.
    void flicker() {
        bool& is_hole = shards_[up_to(shard_count - 1)].is_hole;
        is_hole = !is_hole;
    }

    /// Returns the report of a node that has all information. Checks that the order of its parts has no
    /// effect.
    reply report() {
        const bool has_slots = once_in(2);
        reply result;
        for (std::size_t i = 0; i != shard_count; ++i) {
            shard& one = shards_[i];
            one.lacks_slots = has_slots && once_in(4);
            one.broken_node.reset();
            if (has_slots && once_in(4)) {
                one.broken_node = up_to(1);
                one.missing_field = std::array{"role", "endpoint", "port"}[up_to(2)];
                const bool is_replica = *one.broken_node != one.master && !one.former_has_failed;
                if (!is_replica || one.missing_field == "role") {
                    result.broken.push_back(id_of(i, *one.broken_node));
                }
            }
            one.reports_health = !once_in(4) || (one.former_has_failed && !has_slots);
        }
        const cluster_map shards = read_shards(shards_text(), "asked", false);
        for (int i = 0; i != 2; ++i) {
            BOOST_TEST((read_shards(shards_text(), "asked", false) == shards), "another order");
        }
        result.map = shards;
        if (!shards.is_certain && has_slots) {
            const cluster_map slots = read_slots(slots_text(), "asked");
            BOOST_TEST((read_slots(slots_text(), "asked") == slots), "another order");
            result.map = combine(slots, shards);
        }
        result.map.epoch = epoch_;
        result.map.is_ok = true;
        check(result.map);
        return result;
    }

private:
    struct shard {
        std::size_t master = 0;
        bool former_has_failed = false;
        bool is_hole = false;
        bool lacks_slots = false;  // The slots are missing in CLUSTER SHARDS.
        bool reports_health = true;
        std::optional<std::size_t> broken_node{};
        std::string missing_field{};
    };
    using fields = std::vector<std::pair<std::string, std::string>>;

    [[nodiscard]] std::string id_of(std::size_t in_shard, std::size_t node) const {
        return name_ + std::to_string(in_shard) + std::to_string(node);
    }
    static std::size_t port_of(std::size_t in_shard, std::size_t node) {
        return 7000 + 10 * in_shard + node;
    }
    static std::size_t first_slot(std::size_t of_shard) {
        return of_shard * slot_count / shard_count;
    }

    /// Checks that each slot belongs to the master of its shard, or has no known owner.
    void check(const cluster_map& map) const {
        for (std::size_t i = 0; i != shard_count; ++i) {
            const std::string expected = shards_[i].is_hole ? "" : id_of(i, shards_[i].master);
            for (const std::size_t slot : {first_slot(i), first_slot(i + 1) - 1}) {
                BOOST_TEST(owner_of(map, slot) == expected);
            }
        }
    }

    /// Returns the fields in random order, as a map or as an array.
    std::string text_of(fields of) {
        std::ranges::shuffle(of, random_);
        strings all;
        for (const auto& [name, content] : of) {
            all.push_back(resp_bulk(name));
            all.push_back(content);
        }
        return once_in(2) ? resp_map(all) : resp_array(all);
    }

    std::string node_text(std::size_t in_shard, std::size_t node) {
        const shard& one = shards_[in_shard];
        const bool is_master = node == one.master;
        fields all{{"id", resp_bulk(id_of(in_shard, node))},
                   {"port", resp_number(port_of(in_shard, node))},
                   {"endpoint", resp_bulk("h")},
                   {"ip", resp_bulk("10.9.9.9")},
                   {"replication-offset", resp_number(up_to(9))},
                   {"role", resp_bulk(is_master || one.former_has_failed ? "master" : "replica")}};
        if (one.reports_health) {
            all.emplace_back("health", resp_bulk(is_master ? "online" : "fail"));
        }
        if (one.broken_node == node) {
            std::erase_if(all, [&](const auto& field) { return field.first == one.missing_field; });
        }
        return text_of(all);
    }

    std::string shards_text() {
        strings all;
        for (std::size_t i = 0; i != shard_count; ++i) {
            strings nodes{node_text(i, 0), node_text(i, 1)};
            std::ranges::shuffle(nodes, random_);
            const shard& one = shards_[i];
            const strings slots{resp_number(first_slot(i)), resp_number(first_slot(i + 1) - 1)};
            all.push_back(
                text_of({{"slots", resp_array(one.lacks_slots || one.is_hole ? strings() : slots)},
                         {"nodes", resp_array(nodes)}}));
        }
        // A node that the others have only met has no slots, and may have no known address.
        const strings met{text_of({{"id", resp_bulk(name_ + "met")},
                                   {"endpoint", resp_bulk("?")},
                                   {"port", resp_number(1)},
                                   {"role", resp_bulk("replica")},
                                   {"health", resp_bulk("handshake")}})};
        all.push_back(text_of({{"slots", resp_array({})}, {"nodes", resp_array(met)}}));
        std::ranges::shuffle(all, random_);
        return resp_array(all);
    }

    std::string slots_text() {
        strings all;
        for (std::size_t i = 0; i != shard_count; ++i) {
            const std::size_t master = shards_[i].master;
            strings entry{resp_number(first_slot(i)), resp_number(first_slot(i + 1) - 1)};
            for (const std::size_t node : {master, 1 - master}) {
                entry.push_back(resp_array(
                    {resp_bulk("h"), resp_number(port_of(i, node)), resp_bulk(id_of(i, node))}));
            }
            if (!shards_[i].is_hole) {
                all.push_back(resp_array(entry));
            }
        }
        std::ranges::shuffle(all, random_);
        return resp_array(all);
    }

    std::string name_;
    std::mt19937_64 random_;
    std::array<shard, shard_count> shards_{};
    std::uint64_t epoch_ = 1;
};

/// The owner of each slot as far as the test can expect it.
using known_owners = std::vector<std::string>;

/// Checks the rules for the decision of a sweep.
void check_rules(const map_decision& decided, const std::vector<generated_cluster::reply>& told,
                 const std::vector<relation>& relations, std::size_t sources, known_owners& known) {
    const bool some_are_ours = std::ranges::count(relations, relation::ours) != 0;
    BOOST_TEST(decided.map.has_value() == some_are_ours);
    BOOST_TEST(!decided.is_another);
    for (std::size_t slot = 0; decided.map && slot < slot_count; slot += 331) {
        const std::string owner = owner_of(*decided.map, slot);
        // An owner is unknown only if all sources were queried and none reported it.
        for (std::size_t i = 0; owner.empty() && i != told.size(); ++i) {
            BOOST_TEST((relations[i] != relation::ours || owner_of(told[i].map, slot).empty()));
        }
        BOOST_TEST((!owner.empty() || told.size() == sources));
        // The slot has changed if, and only if, its owner differs from the last known one.
        const bool is_another = !owner.empty() && !known[slot].empty() && owner != known[slot];
        BOOST_TEST(decided.changed[slot] == is_another);
        if (!owner.empty()) {
            known[slot] = owner;
        }
    }
    // Every ignored map or entry leaves a reason.
    for (std::size_t i = 0; i != told.size(); ++i) {
        const std::string who = "n" + std::to_string(i);
        BOOST_TEST((relations[i] == relation::ours || contains(decided.reason, who + " reports ")),
                   decided.reason);
        for (const std::string& id : told[i].broken) {
            BOOST_TEST(contains(decided.reason,
                                std::string(who).append(": node ").append(id).append(": ")),
                       decided.reason);
        }
    }
}

void follow_generated_cluster(std::uint64_t seed) {
    constexpr std::size_t sources = 3;
    generated_cluster ours("a", seed);
    generated_cluster foreign("b", seed + 1);
    map_selection selection;
    known_owners known(slot_count);
    std::vector<generated_cluster::reply> history{ours.report()};
    bool is_first = true;
    for (int step = 0; step != 12; ++step) {
        if (ours.once_in(3)) {
            ours.fail_over();
        }
        if (ours.once_in(2)) {
            ours.flicker();
        }
        history.push_back(ours.report());
        selection.begin();
        std::vector<generated_cluster::reply> told;
        std::vector<relation> relations;
        while (told.size() != sources && !selection.is_enough()) {
            generated_cluster::reply next = history.back();
            if (!is_first && ours.once_in(4)) {
                next = history[ours.up_to(history.size() - 1)];  // Its map is outdated.
            } else if (!is_first && ours.once_in(6)) {
                next = foreign.report();
                next.map.epoch = ours.up_to(20);
            } else if (ours.once_in(6)) {
                next = {};  // Its map is empty.
            }
            next.map.is_ok = !ours.once_in(6);
            relations.push_back(selection.add("n" + std::to_string(told.size()), next.map));
            told.push_back(next);
        }
        // The time is constant, so the map of another cluster is never followed.
        const map_decision decided = selection.decide(start);
        check_rules(decided, told, relations, sources, known);
        is_first = is_first && !decided.map;
    }
}

BOOST_AUTO_TEST_CASE(generated_replies_follow_the_selection_rules) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            follow_generated_cluster(seed);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::instance::redis
