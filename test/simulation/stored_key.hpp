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

// What the key of a lock or of a record holds at a server, and who waits for it, read apart from the library.

namespace colock::simulation {

using small_redis::wall_milliseconds;

/// A token that holds a key: the only one, or one of the readers, or of those that have permits.
struct stored_holder {
    std::string_view token;
    wall_milliseconds expires = 0;
    slot_set slots = 0;  ///< of a semaphore
};

/// Of a client of which a writer waits.
struct stored_mark {
    std::uint64_t client = 0;
    wall_milliseconds expires = 0;
};

/// The views are valid as long as the keyspace has this key, or a copy of the keyspace does.
struct stored_key {
    bool exists = false;
    bool is_foreign = false;  ///< no lock wrote it
    wall_milliseconds expires = 0;
    std::uint32_t limit = 0;               ///< of a semaphore; 0 if another lock has it
    std::vector<stored_holder> holders{};  ///< those whose time is not over
    std::vector<stored_mark> marks{};      ///< those that count

    /// Null if that token holds nothing.
    [[nodiscard]] const stored_holder* find(std::string_view token) const;
    /// Whether it holds the key, be it as the writer that a reader has been.
    [[nodiscard]] bool is_held_by(std::string_view token) const;
    /// The slots of all holders but that one.
    [[nodiscard]] slot_set taken(std::string_view but = {}) const;
    /// When that client's mark ends, or the last mark; the least number if there is none.
    [[nodiscard]] wall_milliseconds mark_of(std::uint64_t client) const;
    [[nodiscard]] wall_milliseconds marked_until() const;
};

/// How long a mark may live. One that would live longer is from before the server's clock was set back.
inline constexpr wall_milliseconds longest_mark = 1000;

/// The key at that time of the server's wall clock.
stored_key read_key(const small_redis::keyspace& keys, std::string_view name,
                    wall_milliseconds now);

/// A value with its version.
struct stored_record {
    bool is_foreign = false;    ///< something else has the key
    std::uint64_t version = 0;  ///< 0: there is no key
    std::optional<std::string> value{};
    std::optional<core::milliseconds> left{};  ///< what the key has to live; none: it does not end

    friend bool operator==(const stored_record& a, const stored_record& b) = default;
    /// Whether a reader could not tell them apart.
    [[nodiscard]] bool is_same_state(const stored_record& other) const {
        return version == other.version && value == other.value && !is_foreign && !other.is_foreign;
    }
};

/// The same of a record. The end of a value is a change: the record has the next version then.
stored_record read_record(const small_redis::keyspace& keys, std::string_view name,
                          wall_milliseconds now);

/// What a name that is run once has: a token, or the record of a result.
struct stored_result {
    bool exists = false;
    std::string token{};
    std::string record{};
    core::milliseconds left{};  ///< what the key has to live

    friend bool operator==(const stored_result& a, const stored_result& b) = default;
};

/// The same before a command and after it, and when the key ends then.
struct result_change {
    stored_result before;
    stored_result after;
    true_time end;
};

stored_result read_result(const small_redis::keyspace& keys, std::string_view key,
                          wall_milliseconds now);

/// A waiter of a lock whose order binds.
struct stored_waiter {
    std::uint64_t client = 0;
    std::uint64_t place = 0;  ///< its number among those of its client
    bool lives = false;       ///< its client has a ticket

    [[nodiscard]] bool is_same(const stored_waiter& other) const {
        return client == other.client && place == other.place;
    }
};

/// All of them, the longest waiting first.
struct stored_waiters {
    bool is_foreign = false;  ///< no lock wrote their queue
    std::vector<stored_waiter> members{};

    /// Null if it does not wait.
    [[nodiscard]] const stored_waiter* find(const stored_waiter& one) const;
    /// Whether that waiter, or a later one of its client, is before all living waiters of other clients.
    [[nodiscard]] bool is_turn_of(const stored_waiter& one) const;
};

/// What the waiters of that key, and their tickets, are named.
std::string waiters_of(std::string_view key);

stored_waiters read_waiters(const small_redis::keyspace& keys, std::string_view key,
                            wall_milliseconds now);

/// Whether that client of that key has a ticket.
bool has_ticket(const small_redis::keyspace& keys, std::string_view key, std::uint64_t client,
                wall_milliseconds now);

}  // namespace colock::simulation

#endif
