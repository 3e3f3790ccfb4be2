// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Runs random commands and scripts on the small Redis and on a real server, and compares each reply. The
// clock of the server stands still and jumps with the clock of the small Redis, so times must be equal too.
//
// COLOCK_SEED=4711 sets another seed. COLOCK_ROUNDS=10 runs ten times as many commands.

#include "random_command.hpp"
#include "twins.hpp"

#include "kinds/scripts.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

extern const char* const path_of_stopped_clock_preload;

namespace {

using command = twins::command;

std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
    const char* const text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? otherwise : std::stoull(text);
}

std::uint64_t seed() {
    static const std::uint64_t result = number_in("COLOCK_SEED", 1);
    return result;
}

std::size_t times(std::size_t count) {
    return count * number_in("COLOCK_ROUNDS", 1);
}

/// A real server and a small one, with one client or more.
struct pair {
    explicit pair(std::size_t clients = 1) {
        for (std::size_t i = 0; i != clients; ++i) {
            both.connect();
        }
        load_scripts();
    }

    void load_scripts() {
        for (const kinds::script& one : kinds::scripts::all) {
            both.play(0, {{"SCRIPT", "LOAD", std::string(one.text)}});
        }
    }

    /// Advances the time, or lets the clock jump.
    void move_clock() {
        const auto up_to = [this](std::int64_t most) {
            return static_cast<std::int64_t>(random.below(static_cast<std::size_t>(most)));
        };
        constexpr std::int64_t millisecond = 1000;
        constexpr std::int64_t second = 1000 * millisecond;
        const std::size_t kind = random.below(100);
        both.set_now(both.now() + (kind < 30   ? 0
                                   : kind < 70 ? up_to(20 * millisecond)
                                   : kind < 90 ? up_to(2 * second)
                                   : kind < 97 ? up_to(20 * second)
                                   : kind < 98 ? up_to(7200 * second)
                                               : -up_to(10 * second)));
    }

    /// Runs `count` random commands in chunks. Each chunk has a fixed time, because moving the clock can take
    /// some milliseconds on a busy machine.
    void play(std::size_t count) {
        while (count != 0) {
            const std::size_t size = std::min(count, 1 + random.below(200));
            std::vector<command> chunk;
            for (std::size_t i = 0; i != size; ++i) {
                chunk.push_back(random.next(both.now() / 1000));
            }
            both.play(0, chunk);
            count -= size;
            move_clock();
        }
    }

    stopped_clock clock{path_of_stopped_clock_preload};
    /// The server removes an expired key only when a command accesses it, as the small Redis does here.
    /// Hashes keep their order.
    redis_server real{{"--enable-debug-command", "yes", "--maxmemory-policy", "noeviction",
                       "--hash-max-listpack-value", "1024"},
                      clock.launcher()};
    random_command random{seed()};
    twins both{real, clock, seed()};

private:
    const std::string active_expiry_is_off =
        real.command({"DEBUG", "SET-ACTIVE-EXPIRE", "0"}).value();
};

/// Runs a test. A difference is a failure.
template <typename Function>
void compare(Function function) {
    BOOST_TEST_MESSAGE("seed " << seed());
    try {
        function();
    } catch (const difference& found) {
        BOOST_ERROR(found.what());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(small_redis_differential)

BOOST_AUTO_TEST_CASE(each_script_is_called) {
    random_command random(seed());
    std::set<std::string> called;
    constexpr std::size_t draws = 10'000;
    for (std::size_t i = 0; i != draws; ++i) {
        const command words = random.next(1'800'000'000'000);
        if (words.size() > 1 && (words[0] == "EVAL" || words[0] == "EVALSHA")) {
            called.insert(words[1]);
        }
    }
    for (const kinds::script& one : kinds::scripts::all) {
        BOOST_TEST(called.contains(std::string(one.digest)),
                   "not called: " << one.text.substr(0, 100));
        BOOST_TEST(called.contains(std::string(one.text)));
    }
}

BOOST_AUTO_TEST_CASE(commands_and_scripts_are_answered_as_by_the_server) {
    compare([] { pair().play(times(60'000)); });
}

BOOST_AUTO_TEST_CASE(a_full_memory_refuses_the_same) {
    compare([] {
        pair all;
        for (std::size_t i = 0; i != times(150); ++i) {
            const bool is_full = all.random.chance(0.6);
            all.real.command({"CONFIG", "SET", "maxmemory", is_full ? "1" : "0"});
            all.both.small().state.is_out_of_memory = is_full;
            all.play(100);
        }
    });
}

BOOST_AUTO_TEST_CASE(missing_rights_refuse_the_same) {
    static const std::vector<std::string> commands{
        "get",     "set",         "del",    "pttl",
        "pexpire", "time",        "rename", "zadd",
        "zrem",    "zrange",      "zscore", "exists",
        "type",    "lindex",      "mget",   "zremrangebyscore",
        "lpos",    "lrem",        "rpush",  "llen",
        "eval",    "script|load", "evalsha"};
    compare([] {
        pair all;
        for (std::size_t i = 0; i != times(100); ++i) {
            small_redis::access_rules rules;
            command change{"ACL", "SETUSER", "default", "+@all", "resetkeys"};
            for (std::size_t denied = all.random.below(4); denied != 0; --denied) {
                rules.denied_commands.push_back(all.random.one_of(commands));
                change.push_back("-" + rules.denied_commands.back());
            }
            if (all.random.chance(0.3)) {
                rules.may_use = [](std::string_view key) {
                    return key.starts_with("{k}") || key == "k";
                };
                change.insert(change.end(), {"~{k}*", "~k"});
            } else {
                change.emplace_back("~*");
            }
            all.real.command(change);
            all.both.small().access = rules;
            all.play(100);
        }
    });
}

BOOST_AUTO_TEST_CASE(the_same_changes_are_told_to_clients_that_track_keys) {
    compare([] {
        constexpr std::size_t clients = 3;
        pair all(clients);
        const std::vector<command> modes{{"CLIENT", "TRACKING", "ON", "OPTIN", "NOLOOP"},
                                         {"CLIENT", "TRACKING", "ON", "OPTIN"},
                                         {"CLIENT", "TRACKING", "ON"},
                                         {"CLIENT", "TRACKING", "OFF"}};
        for (std::size_t i = 0; i != clients; ++i) {
            all.both.play(i, {modes[i]});
        }
        for (std::size_t i = 0; i != times(700); ++i) {
            const std::size_t by = all.random.below(clients);
            std::vector<command> chunk;
            for (std::size_t j = all.random.below(20) + 1; j != 0; --j) {
                if (all.random.chance(0.4)) {
                    chunk.push_back({"CLIENT", "CACHING", "YES"});
                }
                chunk.push_back(all.random.chance(0.01) ? all.random.one_of(modes)
                                                        : all.random.next(all.both.now() / 1000));
            }
            all.both.play(by, chunk);
            if (all.random.chance(0.3)) {
                all.both.compare_pushes();
            }
            all.move_clock();
        }
        all.both.compare_pushes();
    });
}

/// The server stays a replica of a master that does not exist.
BOOST_AUTO_TEST_CASE(a_replica_refuses_the_same) {
    compare([] {
        pair all;
        for (std::size_t i = 0; i != times(10); ++i) {
            all.play(200);
            const reserved_port nobody;
            all.real.command({"REPLICAOF", "127.0.0.1", std::to_string(nobody.number())});
            all.both.small().state.is_replica = true;
            all.play(200);
            all.real.command({"REPLICAOF", "NO", "ONE"});
            all.both.small().state.is_replica = false;
        }
    });
}

/// Two nodes of a cluster, each with a small twin. The slot of `k` moves from the first to the second and
/// back.
BOOST_AUTO_TEST_CASE(nodes_of_a_cluster_redirect_the_same) {
    compare([] {
        stopped_clock clock(path_of_stopped_clock_preload);
        redis_cluster cluster(
            2, 0,
            {"--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no",
             "--enable-debug-command", "yes", "--hash-max-listpack-value", "1024"},
            clock.launcher());
        const std::size_t from = cluster.first_owner_of("k");
        const std::size_t slot = redis_cluster::slot_of(cluster[0], "k");
        const std::string slot_text = std::to_string(slot);
        const auto time = std::chrono::system_clock::now().time_since_epoch();
        const std::int64_t now =
            std::chrono::duration_cast<std::chrono::microseconds>(time).count();
        random_command random(seed());
        std::deque<twins> nodes;
        for (const std::size_t which : {from, 1 - from}) {
            twins& node = nodes.emplace_back(cluster[which], clock, seed(), now);
            const std::string peer = "127.0.0.1:" + std::to_string(cluster[1 - which].port());
            small_redis::cluster_slots& slots = node.small().cluster.emplace();
            constexpr std::size_t half = 8192;
            slots.serve(which * half, which * half + half - 1);
            slots.assign((1 - which) * half, (1 - which) * half + half - 1, peer);
            node.connect();
            cluster[which].command({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
        }
        // The first node has no owner for this slot.
        const std::string unserved = "b";
        BOOST_TEST_REQUIRE((cluster.first_owner_of(unserved) == from));
        const std::size_t hole = redis_cluster::slot_of(cluster[0], unserved);
        cluster[from].command({"CLUSTER", "DELSLOTS", std::to_string(hole)});
        nodes[0].small().cluster->leave_unserved(hole, hole);

        const auto play = [&](std::size_t chunks) {
            for (std::size_t i = 0; i != chunks; ++i) {
                for (twins& node : nodes) {
                    // A server counts expired keys by the time of its last command.
                    std::vector<command> chunk{{"PING"}};
                    for (std::size_t j = random.below(40); j != 0; --j) {
                        if (random.chance(0.4)) {
                            chunk.push_back({"ASKING"});
                        }
                        chunk.push_back(random.next(node.now() / 1000));
                        std::ranges::replace(chunk.back(), std::string("x"),
                                             random.chance(0.1) ? unserved : std::string("k"));
                    }
                    node.play(0, chunk);
                }
                constexpr std::size_t most_microseconds = 20'000;
                const std::int64_t later =
                    nodes[0].now() + static_cast<std::int64_t>(random.below(most_microseconds));
                for (twins& node : nodes) {
                    node.set_now(later);
                }
            }
        };
        constexpr std::size_t phases = 10;
        for (std::size_t i = 0; i != times(phases); ++i) {
            // After a script with keys in different slots, some servers run no further script.
            const bool is_last = i + 1 == times(phases);
            const bool is_safe = !nodes[0].small().dialect().cross_slot_ends_scripts || is_last;
            random.any_slot = is_safe ? 0.01 : 0;
            play(5);
            cluster[1 - from].command(
                {"CLUSTER", "SETSLOT", slot_text, "IMPORTING", cluster.id(from)});
            cluster[from].command(
                {"CLUSTER", "SETSLOT", slot_text, "MIGRATING", cluster.id(1 - from)});
            const auto address = [&](std::size_t which) {
                return "127.0.0.1:" + std::to_string(cluster[which].port());
            };
            nodes[0].small().cluster->migrate(slot, address(1 - from));
            nodes[1].small().cluster->import(slot, address(from));
            play(20);
            for (twins& node : nodes) {
                node.small().cluster->settle(slot);
            }
            cluster[0].command({"CLUSTER", "SETSLOT", slot_text, "STABLE"});
            cluster[1].command({"CLUSTER", "SETSLOT", slot_text, "STABLE"});
        }
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
