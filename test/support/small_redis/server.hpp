// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SUPPORT_SMALL_REDIS_SERVER_HPP
#define COLOCK_TEST_SUPPORT_SMALL_REDIS_SERVER_HPP

#include "support/small_redis/access_rules.hpp"
#include "support/small_redis/cluster_slots.hpp"
#include "support/small_redis/command_table.hpp"
#include "support/small_redis/dialect.hpp"
#include "support/small_redis/execution.hpp"
#include "support/small_redis/keyspace.hpp"
#include "support/small_redis/observer.hpp"
#include "support/small_redis/tracking.hpp"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::small_redis {

/// What may be wrong with a server.
struct conditions {
    bool is_out_of_memory = false;  ///< it uses more than `maxmemory`
    bool is_replica = false;        ///< it refuses writes, and removes no expired key
    bool is_loading = false;        ///< its data
    bool cannot_save = false;       ///< the last snapshot failed, so that it refuses writes
    bool lacks_replicas = false;    ///< fewer than `min-replicas-to-write`
};

/// What a server reports about itself.
struct identity {
    std::string run_id = std::string(40, '1');
    wall_microseconds started = 0;
    std::string replication_id = std::string(40, '2');
    std::string former_replication_id = std::string(40, '0');
    std::int64_t acknowledging_replicas = 0;  ///< what WAIT answers
};

/// A Redis server in this process: it has keys, executes commands and runs scripts. It has no clock and no sockets.
///
/// Thread-safety: shared objects unsafe. Objects of different threads share nothing.
class server {
public:
    explicit server(const dialect& speaks = redis_8) : dialect_(speaks) {}
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() = default;

    // Commands. They come from a session, or from nobody.

    /// Executes a command, which must not be empty. The server's wall clock shows `now`.
    void execute(words command, wall_microseconds now, reply& out, session* client = nullptr);
    /// The same. Returns the reply as RESP3.
    std::string execute(wall_microseconds now, std::initializer_list<std::string_view> command);
    std::string execute(wall_microseconds now, words command);
    /// Removes all keys that have expired. Redis does that from time to time, unless it is a replica.
    void expire_due(wall_microseconds now);

    // What it knows.

    [[nodiscard]] const keyspace& keys() const noexcept { return keys_; }
    /// From now on it has these keys. Sessions that track a key that differs are told.
    void replace_keys(keyspace all);
    /// The process ends, and another one begins with the same keys. The caller ends the sessions before.
    void restart();
    /// It knows no scripts any more.
    void forget_scripts() noexcept { scripts_.clear(); }
    /// It knows all scripts that the other server knows, as well.
    void add_scripts_of(const server& other);
    /// The keys that the last command changed, or `expire_due`, with repetitions.
    [[nodiscard]] std::span<const std::string> changed() const noexcept { return changed_; }
    /// How many changes there were.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] const small_redis::dialect& dialect() const noexcept { return dialect_; }

    conditions state;
    identity self;
    access_rules access;
    std::optional<cluster_slots> cluster;  ///< if it is a node of a cluster

    /// Learns about each command, or null.
    small_redis::observer* observer = nullptr;
    /// Called when a session gets a push that does not follow a command of its own.
    std::function<void(session& to)> on_push;

    // For the commands.

    /// The text of a script that it knows, else null.
    [[nodiscard]] const std::shared_ptr<const std::string>* find_script(
        std::string_view digest) const;
    void add_script(std::string_view digest, std::shared_ptr<const std::string> text);
    /// Executes a command of a script.
    void call_from_script(execution& e);
    /// Removes all keys.
    void flush();

private:
    friend struct execution;
    friend class session;

    /// Where a command with these keys belongs.
    enum class place : std::uint8_t { here, moved, ask, try_again, cross_slot, unserved, down };
    struct route {
        place where = place::here;
        std::size_t slot = 0;
    };

    void run(execution& e, const command& c);
    [[nodiscard]] bool refuses(execution& e, const command& c);
    [[nodiscard]] bool refuses_in_script(execution& e, const command& c);
    [[nodiscard]] bool refuses_write(execution& e) const;
    [[nodiscard]] bool denies_keys(const command& c, words command) const;
    [[nodiscard]] route find_route(execution& e, const command& c);
    void redirect(const route& to, reply& out) const;
    void track(execution& e, const command& c);
    void remove_expired(std::string_view name);
    void signal(std::string_view name);
    void tell(const execution& e, const command* c, std::size_t changes_before) const;

    keyspace keys_;
    const small_redis::dialect& dialect_;
    std::map<std::string, std::shared_ptr<const std::string>, std::less<>>
        scripts_;  // texts by their digests
    tracking tracking_;
    std::vector<session*> sessions_;
    session* current_ = nullptr;  // whose command is being executed
    std::vector<std::string> changed_;
    std::uint64_t version_ = 0;
    bool are_scripts_ended_ = false;  // see dialect
    std::int64_t last_session_ = 0;
};

}  // namespace colock::small_redis

#endif
