// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_STORED_KEY_HPP
#define COLOCK_TEST_SIMULATION_STORED_KEY_HPP

#include "simulation/permit.hpp"
#include "simulation/time.hpp"

#include "core/time.hpp"
#include "support/small_redis/keyspace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The content of a lock's or a record's key on a server, and its waiters. This code is independent of the
// library.

namespace colock::simulation {

using small_redis::wall_milliseconds;

/// A token that holds a key: the only one, one of the readers, or a holder of permits.
struct stored_holder {
    std::string_view token;
    wall_milliseconds expires = 0;
    slot_set slots = 0;  ///< For a semaphore.
};

/// The mark of a client with a waiting writer.
struct stored_mark {
    std::uint64_t client = 0;
    wall_milliseconds expires = 0;
};

/// The views are valid as long as the keyspace, or a copy of it, has this key.
struct stored_key {
    bool exists = false;
    bool is_foreign = false;  ///< No lock wrote it.
    wall_milliseconds expires = 0;
    std::uint32_t limit = 0;               ///< For a semaphore. 0 if another lock has the key.
    std::vector<stored_holder> holders{};  ///< Holders that have not expired.
    std::vector<stored_mark> marks{};      ///< Marks that are valid.

    /// Returns null if the token holds nothing.
    [[nodiscard]] const stored_holder* find(std::string_view token) const;
    /// Returns whether the token holds the key, possibly as the writer that a reader was before.
    [[nodiscard]] bool is_held_by(std::string_view token) const;
    /// Returns the slots of all holders except this one.
    [[nodiscard]] slot_set taken(std::string_view but = {}) const;
    /// Returns when the client's mark ends, or the last mark. Returns the least number if there is none.
    [[nodiscard]] wall_milliseconds mark_of(std::uint64_t client) const;
    [[nodiscard]] wall_milliseconds marked_until() const;
};

/// The maximum lifetime of a mark in ms. A longer mark is from before the server's clock was set back.
inline constexpr wall_milliseconds longest_mark = 1000;

/// Reads the key as of this time of the server's wall clock.
stored_key read_key(const small_redis::keyspace& keys, std::string_view name,
                    wall_milliseconds now);

/// A value with its version.
struct stored_record {
    bool is_foreign = false;    ///< Another value has the key.
    std::uint64_t version = 0;  ///< 0: there is no key.
    std::optional<std::string> value{};
    std::optional<core::milliseconds> left{};  ///< The remaining ttl. Empty: no end.

    friend bool operator==(const stored_record& a, const stored_record& b) = default;
    /// Returns whether a reader could not distinguish the two.
    [[nodiscard]] bool is_same_state(const stored_record& other) const {
        return version == other.version && value == other.value && !is_foreign && !other.is_foreign;
    }
};

/// Reads a record. The end of a value is a change, so the record then has the next version.
stored_record read_record(const small_redis::keyspace& keys, std::string_view name,
                          wall_milliseconds now);

/// The content of a name that is run once: a token, or the record of a result.
struct stored_result {
    bool exists = false;
    std::string token{};
    std::string record{};
    core::milliseconds left{};  ///< The key's remaining ttl.

    friend bool operator==(const stored_result& a, const stored_result& b) = default;
};

/// The content before and after a command, and the end of the key afterwards.
struct result_change {
    stored_result before;
    stored_result after;
    true_time end;
};

stored_result read_result(const small_redis::keyspace& keys, std::string_view key,
                          wall_milliseconds now);

/// A waiter of a lock with a binding order.
struct stored_waiter {
    std::uint64_t client = 0;
    std::uint64_t place = 0;  ///< Its number among the waiters of its client.
    bool lives = false;       ///< Its client has a ticket.

    [[nodiscard]] bool is_same(const stored_waiter& other) const {
        return client == other.client && place == other.place;
    }
};

/// All waiters, with the longest waiting one first.
struct stored_waiters {
    bool is_foreign = false;  ///< No lock wrote their queue.
    std::vector<stored_waiter> members{};
    wall_milliseconds remaining = 0;  ///< How long their queue will live.

    /// After a standstill of the server, a queue lives longer than this, and nobody counts as dead.
    static constexpr wall_milliseconds usual_life = 60'000;
    /// It never lives longer than this.
    static constexpr wall_milliseconds longest_life = 25 * usual_life;

    /// Returns null if it does not wait.
    [[nodiscard]] const stored_waiter* find(const stored_waiter& one) const;
    /// Returns whether this waiter, or a later one of its client, is ahead of all living waiters of other
    /// clients.
    [[nodiscard]] bool is_turn_of(const stored_waiter& one) const;
};

/// Returns the name prefix of the keys for the waiters and their tickets.
std::string waiters_of(std::string_view key);

stored_waiters read_waiters(const small_redis::keyspace& keys, std::string_view key,
                            wall_milliseconds now);

/// Returns whether this client has a ticket for this key.
bool has_ticket(const small_redis::keyspace& keys, std::string_view key, std::uint64_t client,
                wall_milliseconds now);

}  // namespace colock::simulation

#endif
