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

/// The possible impairments of a server.
struct conditions {
    bool is_out_of_memory = false;  ///< It uses more than `maxmemory`.
    bool is_replica = false;        ///< It refuses writes, and removes no expired key.
    bool is_loading = false;        ///< It is loading its data.
    bool cannot_save = false;       ///< The last snapshot failed, so it refuses writes.
    bool lacks_replicas = false;    ///< It has fewer replicas than `min-replicas-to-write`.
};

/// The identity that a server reports.
struct identity {
    std::string run_id = std::string(40, '1');
    wall_microseconds started = 0;
    std::string replication_id = std::string(40, '2');
    std::string former_replication_id = std::string(40, '0');
    std::int64_t acknowledging_replicas = 0;  ///< The reply to WAIT.
};

/// A Redis server in this process. It has keys, executes commands and runs scripts. It has no clock and no
/// sockets.
///
/// Thread-safety: shared objects: unsafe. Objects of different threads share nothing.
class server {
public:
    explicit server(const dialect& speaks = redis_8) : dialect_(speaks) {}
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() = default;

    // Commands. They may come from a session.

    /// Executes a command, which must not be empty. `now` is the wall clock of the server.
    void execute(words command, wall_microseconds now, reply& out, session* client = nullptr);
    /// Executes a command, and returns the reply as RESP3.
    std::string execute(wall_microseconds now, std::initializer_list<std::string_view> command);
    std::string execute(wall_microseconds now, words command);
    /// Removes all expired keys. Redis does this from time to time, unless it is a replica.
    void expire_due(wall_microseconds now);

    // The state of the server.

    [[nodiscard]] const keyspace& keys() const noexcept { return keys_; }
    /// Replaces all keys. Sessions that track a changed key get an invalidation.
    void replace_keys(keyspace all);
    /// Restarts the process with the same keys. The caller must end the sessions first.
    void restart();
    /// Removes all scripts.
    void forget_scripts() noexcept { scripts_.clear(); }
    /// Adds all scripts of the other server.
    void add_scripts_of(const server& other);
    /// Returns the keys that the last command or `expire_due` changed, with repetitions.
    [[nodiscard]] std::span<const std::string> changed() const noexcept { return changed_; }
    /// Returns the number of changes so far.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] const small_redis::dialect& dialect() const noexcept { return dialect_; }

    conditions state;
    identity self;
    access_rules access;
    std::optional<cluster_slots> cluster;  ///< Set if the server is a node of a cluster.

    /// Is notified of each command. May be null.
    small_redis::observer* observer = nullptr;
    /// Called when a session gets a push that does not follow its own command.
    std::function<void(session& to)> on_push;

    // Members for the implementation of commands.

    /// Returns the text of a loaded script, or null.
    [[nodiscard]] const std::shared_ptr<const std::string>* find_script(
        std::string_view digest) const;
    void add_script(std::string_view digest, std::shared_ptr<const std::string> text);
    /// Executes a command that a script calls.
    void call_from_script(execution& e);
    /// Removes all keys.
    void flush();

private:
    friend struct execution;
    friend class session;

    /// The outcome of the routing of a command by its keys.
    enum class place : std::uint8_t { here, moved, ask, try_again, cross_slot, unserved, down };
    struct route {
        place where = place::here;
        std::size_t slot = 0;
    };

    void run(execution& e, const command& c);
    [[nodiscard]] bool refuses(execution& e, const command& c);
    [[nodiscard]] bool refuses_in_script(execution& e, const command& c);
    [[nodiscard]] bool refuses_write(execution& e) const;
    /// Returns true and writes an error if the command or one of its keys is denied.
    [[nodiscard]] bool lacks_rights(execution& e, const command& c, std::string_view code,
                                    std::string_view denied_command,
                                    std::string_view denied_key) const;
    [[nodiscard]] bool uses_undeclared_key(const execution& e, const command& c) const;
    [[nodiscard]] bool denies_keys(const command& c, words command) const;
    [[nodiscard]] route find_route(execution& e, const command& c);
    [[nodiscard]] std::string redirection(const route& to) const;
    void track(execution& e, const command& c);
    void remove_expired(std::string_view name);
    void signal(std::string_view name);
    void tell(const execution& e, const command* c, std::size_t changes_before) const;

    keyspace keys_;
    const small_redis::dialect& dialect_;
    std::map<std::string, std::shared_ptr<const std::string>, std::less<>>
        scripts_;  // The texts by their digests.
    tracking tracking_;
    std::vector<session*> sessions_;
    session* current_ = nullptr;  // The session whose command is being executed.
    std::vector<std::string> changed_;
    std::uint64_t version_ = 0;
    bool are_scripts_ended_ = false;  // See `dialect::cross_slot_ends_scripts`.
    std::int64_t last_session_ = 0;
};

}  // namespace colock::small_redis

#endif
