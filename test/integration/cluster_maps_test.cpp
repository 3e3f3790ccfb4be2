// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// How an instance reacts to the maps that cluster nodes report. They may be incomplete, contradictory, or
// those of another cluster. The nodes are fake servers, which can report anything.

#include "instance/redis/key_slot.hpp"
#include "instance/redis/map_selection.hpp"
#include "instance_rig.hpp"
#include "support/cluster_replies.hpp"
#include "support/contains.hpp"
#include "support/fake_server.hpp"
#include "support/meter.hpp"
#include "support/redis_cluster.hpp"
#include "support/reserved_port.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {
namespace {

BOOST_AUTO_TEST_SUITE(cluster_maps_test)

using boost::unit_test::label;
using instance::state;
using namespace std::chrono_literals;

constexpr std::size_t last_slot = 16383;
constexpr std::size_t middle = 8192;
const std::string in_lower_half = "b";  // Slot 3300.
const std::string in_upper_half = "a";  // Slot 15495.

const std::string refused = "-ERR unknown subcommand\r\n";

/// What a node reports about its cluster, and how it replies to an acquire.
struct report {
    std::size_t epoch = 1;
    std::string shards = refused;
    std::string slots = refused;
    bool is_ok = true;
    std::string to_acquire = "+OK\r\n";
    bool answers_about_cluster = true;
    std::string run_id = std::string(40, 'a');
};

/// A server that reports what the test sets. The test may change it at any time.
class fake_node {
public:
    /// Listens on `port` if one is given. The port must be reserved.
    explicit fake_node(std::uint16_t port = 0)
        : server_([this](const fake_server::words& command) { return answer(command); }, port) {}

    [[nodiscard]] std::uint16_t port() const { return server_.port(); }
    [[nodiscard]] std::size_t acquires() const { return acquires_; }
    /// Returns how often the node was asked for its map.
    [[nodiscard]] std::size_t asked() const { return asked_; }

    void change(const std::function<void(report&)>& how) {
        const std::lock_guard lock(mutex_);
        how(report_);
    }

    /// Simulates a replaced server. The current connections end, and new ones find another server.
    void replace(const std::function<void(report&)>& how) {
        change(how);
        server_.say("-bye\r\n");  // An unsolicited reply ends the connection.
    }

private:
    fake_reply answer(const fake_server::words& command) {
        const std::lock_guard lock(mutex_);
        if (command[0] == "CLUSTER") {
            if (command[1] == "INFO") {
                ++asked_;
                told_ = report_;
            }
            return !report_.answers_about_cluster ? refused
                   : command[1] == "INFO"         ? cluster_info_reply(told_.is_ok, told_.epoch)
                   : command[1] == "SHARDS"       ? told_.shards
                                                  : told_.slots;
        }
        if (command[0] == "INFO" && command.size() > 1 && command[1] == "replication") {
            return resp_bulk("master_replid2:0\r\n");  // It never was a replica.
        }
        if (command[0] == "SET") {
            ++acquires_;
            return report_.to_acquire;
        }
        return answer_as_server(command, {.run_id = report_.run_id});
    }

    std::mutex mutex_;
    report report_;
    report told_;  // A client asks for the epoch and then for its map. Both must be of one report.
    std::atomic<std::size_t> acquires_{0};
    std::atomic<std::size_t> asked_{0};
    fake_server server_;
};

std::string uri_of(const std::vector<const fake_node*>& seeds) {
    std::string result;
    for (const fake_node* const one : seeds) {
        result += (result.empty() ? "redis+cluster://127.0.0.1:" : ",127.0.0.1:") +
                  std::to_string(one->port());
    }
    return result;
}

instance::redis::redis_settings settings_with(core::milliseconds failover_quarantine) {
    auto settings = quick_settings();
    settings.failover_quarantine = failover_quarantine;
    settings.stall_timeout = 3s;
    // If a node has not reported its map for two seconds, the others decide. No node here may be too slow.
    settings.connection.connect_timeout = 25s;
    return settings;
}

/// Returns a map with all slots on one node.
std::string all_slots_at(std::size_t port, const std::string& id) {
    return shards_reply({{{0, last_slot}, {{.port = port, .id = id}}}});
}

/// Returns a map with the lower half of the slots on one node and the rest on another.
std::string halves(std::size_t lower, const std::string& lower_id, std::size_t upper,
                   const std::string& upper_id) {
    return shards_reply({{{0, middle - 1}, {{.port = lower, .id = lower_id}}},
                         {{middle, last_slot}, {{.port = upper, .id = upper_id}}}});
}

void run_until_reason(instance_rig& rig, std::string_view part) {
    rig.run_until([&] { return contains(rig.status().reason, part); });
}

/// Runs until a quarantine of all slots has begun after `since` and "k" is acquired. Every vote before its end
/// must be "quarantined". On a busy machine there may be none.
void run_through_quarantine(instance_rig& rig, core::time_point since) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    core::time_point end;
    rig.run_until([&] {
        const instance::status status = rig.status();
        end = status.quarantined_until;
        return end > since && (status.state == state::quarantined || now() >= end);
    });
    rig.run_until([&] {
        const std::string vote = rig.acquire("k", "bob");
        BOOST_TEST((vote == "failed: quarantined" || now() >= end), vote);
        return vote == "granted";
    });
}

// The replaced master stays in the shard as a failed master.
BOOST_AUTO_TEST_CASE(a_failed_master_beside_its_successor_is_ignored, *label("fault-92")) {
    for (const std::string health : {"fail", "loading"}) {
        for (const bool is_last : {false, true}) {
            const reserved_port old_master;
            fake_node node;
            std::vector<reported_node> nodes{
                {.port = node.port(), .id = "new"},
                {.port = old_master.number(), .id = "old", .health = health}};
            if (!is_last) {
                std::ranges::reverse(nodes);
            }
            node.change([&](report& r) { r.shards = shards_reply({{{0, last_slot}, nodes}}); });
            instance_rig rig(uri_of({&node}), settings_with(0ms));
            const meter costs(rig.executor(), loop_may_rest);
            rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
            BOOST_TEST(rig.status().nodes.size() == 1U);
            BOOST_TEST(contains(rig.status().reason, health), rig.status().reason);
        }
    }
}

BOOST_AUTO_TEST_CASE(cluster_slots_is_used_if_cluster_shards_lacks_slots, *label("fault-93")) {
    fake_node node;
    node.change([&](report& r) {
        r.shards = shards_reply({{{}, {{.port = node.port(), .id = "n"}}}});
        r.slots = slots_reply({{0, last_slot, {{.port = node.port(), .id = "n"}}}});
    });
    instance_rig rig(uri_of({&node}), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

// The client sends the command to some node, which redirects it to the owner.
BOOST_AUTO_TEST_CASE(a_command_for_a_slot_without_an_owner_is_redirected, *label("fault-93")) {
    fake_node first;
    fake_node second;
    first.change([&](report& r) {
        r.shards = shards_reply({{{0, middle - 1}, {{.port = first.port(), .id = "1"}}}});
        r.to_acquire = "-MOVED 15495 127.0.0.1:" + std::to_string(second.port()) + "\r\n";
    });
    instance_rig rig(uri_of({&first}), settings_with(60s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until_ready();
    BOOST_TEST(rig.acquire(in_upper_half, "ann") == "granted");
    BOOST_TEST(second.acquires() == 1U);
    run_until_reason(rig, "8192");
}

// A defect created a node for each redirect, and a connection attempt of at least five seconds.
BOOST_AUTO_TEST_CASE(redirects_to_ever_new_nodes_add_only_a_bounded_number) {
    std::atomic<std::size_t> named{0};
    const reserved_port here;
    const fake_server node(
        [&](const fake_server::words& command) -> fake_reply {
            if (command[0] == "CLUSTER") {
                return command[1] == "INFO"     ? cluster_info_reply(true, 1)
                       : command[1] == "SHARDS" ? all_slots_at(here.number(), "n")
                                                : refused;
            }
            if (command[0] == "SET") {
                const std::size_t number = ++named;
                return (number % 2 == 0 ? "-ASK " : "-MOVED ") +
                       std::to_string(instance::redis::key_slot(command[1])) + " 127.0.3." +
                       std::to_string(number % 250 + 1) + ":" + std::to_string(number + 1000) +
                       "\r\n";
            }
            return answer_as_server(command);
        },
        here.number());
    auto settings = settings_with(0ms);
    settings.stall_timeout = 1s;
    instance_rig rig("redis+cluster://127.0.0.1:" + std::to_string(here.number()), settings);
    const meter costs(rig.executor(), {.threads = 8, .descriptors = 64});
    rig.run_until_ready();
    constexpr int count = 600;
    for (int i = 0; i != count; ++i) {
        rig.submit(core::step::acquire, std::to_string(i), "ann");
    }
    std::size_t most = 0;
    rig.run_until(
        [&] {
            most = std::max(most, rig.status().nodes.size());
            return named >= count && rig.voted(count - 1);
        },
        BOOST_CURRENT_LOCATION, 90s);  // This computes for seconds with a sanitizer.
    BOOST_TEST(most > 2U);
    BOOST_TEST(most <= 17U);
}

// No other node of the cluster reports the owner, but the next seed does.
BOOST_AUTO_TEST_CASE(a_missing_owner_is_found_through_another_seed, *label("fault-96")) {
    fake_node first;
    fake_node second;
    first.change([&](report& r) {
        r.shards = shards_reply({{{0, middle - 1}, {{.port = first.port(), .id = "1"}}}});
    });
    second.change([&](report& r) { r.shards = halves(first.port(), "1", second.port(), "2"); });
    instance_rig rig(uri_of({&first, &second}), settings_with(60s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    BOOST_TEST(second.acquires() == 1U);
}

BOOST_AUTO_TEST_CASE(an_empty_map_of_the_first_seed_is_skipped, *label("fault-96")) {
    fake_node first;
    fake_node second;
    first.change([&](report& r) {
        r.shards = shards_reply({});
        r.slots = slots_reply({});
    });
    second.change([&](report& r) { r.shards = all_slots_at(second.port(), "2"); });
    instance_rig rig(uri_of({&first, &second}), settings_with(0ms));
    const meter costs(rig.executor(), loop_may_rest);
    // The next maps are requested from the second node alone, and the reason ends. On a busy machine this may
    // be before the client is ready.
    bool is_explained = false;
    rig.run_until([&] {
        is_explained = is_explained || contains(rig.status().reason, std::to_string(first.port()));
        return is_explained && rig.subject().ready();
    });
    BOOST_TEST(rig.acquire("k", "ann") == "granted");
}

// The owner stays the same and is reachable all the time.
BOOST_AUTO_TEST_CASE(a_temporarily_incomplete_map_causes_no_quarantine, *label("fault-94")) {
    fake_node first;
    fake_node second;
    const std::string complete = halves(first.port(), "1", second.port(), "2");
    const std::string partial =
        shards_reply({{{0, middle - 1}, {{.port = first.port(), .id = "1"}}}});
    first.change([&](report& r) { r.shards = complete; });
    instance_rig rig(uri_of({&first}), settings_with(60s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    for (int i = 0; i != 3; ++i) {
        first.replace([&](report& r) { r.shards = partial; });
        run_until_reason(rig, "8192");
        BOOST_TEST(rig.acquire(in_upper_half, "ann") == "granted");
        first.change([&](report& r) { r.shards = complete; });
        rig.run_until([&] { return !contains(rig.status().reason, "8192"); });
        BOOST_TEST(rig.acquire(in_upper_half, "ann") == "granted");
        rig.run_until([&] { return rig.acquire(in_lower_half, "ann") == "granted"; });
    }
}

// All reachable nodes report the restored map, and none reports the newer map any longer.
BOOST_AUTO_TEST_CASE(a_cluster_restored_from_a_backup_is_quarantined, *label("fault-95")) {
    fake_node node;
    node.change([&](report& r) {
        r.epoch = 7;
        r.shards = all_slots_at(node.port(), "n");
    });
    instance_rig rig(uri_of({&node}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
    const auto replaced_at = std::chrono::steady_clock::now();
    node.replace([&](report& r) { r.epoch = 3; });
    run_until_reason(rig, "epoch 3");
    run_through_quarantine(rig, replaced_at);
    BOOST_TEST(contains(rig.status().reason, "epoch 3"), rig.status().reason);
}

// The map of a lagging node is rejected while another node has the newer map.
BOOST_AUTO_TEST_CASE(the_older_map_of_a_lagging_node_is_ignored, *label("fault-95")) {
    fake_node first;
    fake_node second;
    const std::string map = halves(first.port(), "1", second.port(), "2");
    for (fake_node* const one : {&first, &second}) {
        one->change([&](report& r) {
            r.epoch = 7;
            r.shards = map;
        });
    }
    instance_rig rig(uri_of({&first, &second}), settings_with(60s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    second.replace([](report& r) { r.is_ok = false; });  // This node has the newer map.
    first.replace([&](report& r) {
        r.epoch = 3;
        r.shards = all_slots_at(first.port(), "1");
    });
    run_until_reason(rig, "epoch 3");
    const std::size_t before = second.acquires();
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    BOOST_TEST(second.acquires() > before);
}

// The address of one node now belongs to another cluster, which has a higher epoch. The other node of the
// first cluster is still reachable.
BOOST_AUTO_TEST_CASE(an_address_taken_over_by_another_cluster_is_quarantined, *label("fault-91")) {
    fake_node taken;
    fake_node kept;
    fake_node foreign;
    const std::string map = halves(taken.port(), "a1", kept.port(), "a2");
    for (fake_node* const one : {&taken, &kept}) {
        one->change([&](report& r) { r.shards = map; });
    }
    instance_rig rig(uri_of({&taken, &kept}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire(in_lower_half, "ann") == "granted"; });
    const std::size_t before = taken.acquires();
    taken.replace([&](report& r) {
        r.epoch = 99;
        r.shards = halves(taken.port(), "b1", foreign.port(), "b2");
        r.run_id = std::string(40, 'b');
    });
    run_until_reason(rig, "another cluster");
    rig.run_until([&] { return rig.acquire(in_lower_half, "bob") == "failed: quarantined"; });
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    BOOST_TEST(taken.acquires() == before);
    BOOST_TEST(foreign.acquires() == 0U);
}

// The node was down from the start. Then another cluster uses its address.
BOOST_AUTO_TEST_CASE(another_cluster_found_at_first_connect_is_quarantined, *label("fault-91")) {
    const reserved_port address;
    fake_node kept;
    kept.change([&](report& r) { r.shards = halves(address.number(), "a1", kept.port(), "a2"); });
    instance_rig rig(uri_of({&kept}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] {
        return std::ranges::any_of(rig.status().nodes,
                                   [](const auto& one) { return !one.reason.empty(); });
    });
    fake_node taken(address.number());
    taken.change([&](report& r) {
        r.epoch = 99;
        r.shards = all_slots_at(taken.port(), "b1");
    });
    run_until_reason(rig, "another cluster");
    rig.run_until([&] { return rig.acquire(in_lower_half, "bob") == "failed: quarantined"; });
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    BOOST_TEST(taken.acquires() == 0U);
}

// Two of three nodes are down, and another cluster uses the address of the third one.
BOOST_AUTO_TEST_CASE(another_cluster_at_one_of_three_nodes_is_not_followed, *label("fault-131")) {
    std::optional<fake_node> first(std::in_place);
    std::optional<fake_node> second(std::in_place);
    fake_node taken;
    const std::size_t third = last_slot / 3;
    const std::string map =
        shards_reply({{{0, third}, {{.port = first->port(), .id = "a1"}}},
                      {{third + 1, 2 * third}, {{.port = second->port(), .id = "a2"}}},
                      {{2 * third + 1, last_slot}, {{.port = taken.port(), .id = "a3"}}}});
    for (fake_node* const one : {&*first, &*second, &taken}) {
        one->change([&](report& r) { r.shards = map; });
    }
    instance_rig rig(uri_of({&*first, &*second, &taken}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire(in_upper_half, "ann") == "granted"; });
    const std::size_t before = taken.acquires();
    first.reset();
    second.reset();
    taken.replace([&](report& r) {
        r.epoch = 99;
        r.shards = all_slots_at(taken.port(), "b1");
        r.run_id = std::string(40, 'b');
    });
    run_until_reason(rig, "another cluster, that of node b1");
    // Its map would be followed after `patience`, in one of the next sweeps.
    const auto since = std::chrono::steady_clock::now();
    rig.run_until([&] {
        return std::chrono::steady_clock::now() - since > instance::redis::map_selection::patience;
    });
    const std::size_t asked = taken.asked();
    rig.run_until([&] { return taken.asked() > asked + 1; });
    BOOST_TEST(rig.acquire(in_upper_half, "bob") == "failed: quarantined");
    BOOST_TEST(taken.acquires() == before);
    BOOST_TEST(!contains(rig.status().reason, "is in use, of epoch 99"), rig.status().reason);
}

// The first seed lacks slots, so the second one is asked too. It belongs to another cluster.
BOOST_AUTO_TEST_CASE(seeds_of_two_clusters_are_an_error_with_both_names, *label("fault-131")) {
    fake_node first;
    fake_node second;
    first.change([&](report& r) {
        r.shards = shards_reply({{{0, middle - 1}, {{.port = first.port(), .id = "a1"}}}});
    });
    second.change([&](report& r) { r.shards = all_slots_at(second.port(), "b1"); });
    instance_rig rig(uri_of({&first, &second}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    run_until_reason(rig, "Give nodes of one cluster only");
    const std::string reason = rig.status().reason;
    BOOST_TEST(contains(reason, "reports the cluster of node a1"), reason);
    BOOST_TEST(contains(reason, "reports the cluster of node b1"), reason);
    BOOST_TEST(rig.acquire("k", "ann") == "failed: down");
    BOOST_TEST(first.acquires() + second.acquires() == 0U);
    // The second seed joins the first cluster.
    for (fake_node* const one : {&first, &second}) {
        one->change([&](report& r) { r.shards = halves(first.port(), "a1", second.port(), "a2"); });
    }
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
}

// The client has not yet read the map of the server at this address.
BOOST_AUTO_TEST_CASE(a_replaced_server_grants_nothing_before_its_map_is_read, *label("fault-91")) {
    fake_node node;
    node.change([&](report& r) { r.shards = all_slots_at(node.port(), "a"); });
    instance_rig rig(uri_of({&node}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
    const std::size_t before = node.acquires();
    node.replace([&](report& r) {
        r.answers_about_cluster = false;
        r.run_id = std::string(40, 'b');
    });
    rig.run_until([&] { return rig.status().run_id == std::string(40, 'b'); });
    rig.run_until([&] { return rig.acquire("k", "bob") == "failed: quarantined"; });
    BOOST_TEST(node.acquires() == before);
    // The server is a restarted node of the same cluster.
    node.change([](report& r) { r.answers_about_cluster = true; });
    rig.run_until([&] { return rig.acquire("k", "bob") == "granted"; });
}

/// Replaces the cluster by a new one with this epoch. Nothing of the first cluster remains.
void remake_cluster_with_epoch(std::size_t epoch) {
    fake_node node;
    node.change([&](report& r) {
        r.epoch = 7;
        r.shards = all_slots_at(node.port(), "a");
    });
    instance_rig rig(uri_of({&node}), settings_with(1s));
    const meter costs(rig.executor(), loop_may_rest);
    rig.run_until([&] { return rig.acquire("k", "ann") == "granted"; });
    const std::size_t before = node.acquires();
    const auto replaced_at = std::chrono::steady_clock::now();
    node.replace([&](report& r) {
        r.epoch = epoch;
        r.shards = all_slots_at(node.port(), "b");
    });
    run_until_reason(rig, "another cluster");
    BOOST_TEST(rig.acquire("k", "bob") == "failed: quarantined");
    BOOST_TEST(node.acquires() == before);
    run_through_quarantine(rig, replaced_at);
    BOOST_TEST(contains(rig.status().reason, "another cluster"), rig.status().reason);
}

BOOST_AUTO_TEST_CASE(a_recreated_cluster_with_a_lower_epoch_is_quarantined, *label("fault-95")) {
    remake_cluster_with_epoch(3);
}

BOOST_AUTO_TEST_CASE(a_recreated_cluster_with_a_higher_epoch_is_quarantined, *label("fault-91")) {
    remake_cluster_with_epoch(99);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace colock::test
