// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// Plays random commands and scripts on the small Redis and on a real server, and compares each reply. The clock of the server
// stands still and jumps as that of the small Redis does, so times have to be equal, too.
//
// Another seed: COLOCK_SEED=4711. More commands: COLOCK_ROUNDS=10, for ten times as many.

#include "random_command.hpp"
#include "twins.hpp"

#include "kinds/scripts.hpp"
#include "support/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstdlib>
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

/// A real server and a small one, with one client.
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

    /// Time passes, or the clock jumps.
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

    /// Plays so many commands in chunks of which each has a moment of its own.
    void play(std::size_t count) {
        while (count != 0) {
            const std::size_t size = std::min(count, 1 + random.below(60));
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
    /// The server removes expired keys only when it comes across them, as the small Redis does here.
    redis_server real{{"--enable-debug-command", "yes", "--maxmemory-policy", "noeviction"},
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
        for (std::size_t i = 0; i != times(3000); ++i) {
            const std::size_t by = all.random.below(clients);
            std::vector<command> chunk;
            for (std::size_t j = all.random.below(5) + 1; j != 0; --j) {
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

/// It stays the replica of a master that does not exist.
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
