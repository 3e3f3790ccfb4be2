// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_COMMAND_HPP
#define COLOCK_CORE_COMMAND_HPP

#include "core/time.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colock::core {

/// The operation that an instance performs on a key. The lock kind defines how.
enum class step : std::uint8_t {
    acquire,  ///< Make the token a holder of the key for `ttl`, if the holders leave room.
    extend,   ///< Set the key's ttl to at least `ttl`, if the token holds the key.
    release,  ///< Remove the token from the holders of the key.
    /// Report how long the key will live, under any holder. Announcements of waiters do not count.
    remaining,
    /// For kinds whose grants have a value: set the value to `value`, if the token holds the key. If `value`
    /// is 0, the instance chooses a new one. The vote contains the value.
    confirm,
    withdraw,  ///< Remove the announcement of a client that has no waiters any more.
    /// Keep the ticket `ticket` in the remote queue of the key for `ttl`: see `core::queue_ticket`. The vote
    /// contains the ticket ahead of it, or 0.
    ///
    /// If the order of the lock's waiters is binding, the step has two forms:
    /// - If `value` is 0, a waiter enters the queue of the waiters. The vote contains the waiter of the same
    ///   client that is directly ahead of it: see `core::waiting_places`.
    /// - Otherwise the client keeps its places, from number `place` to number `value`: see
    ///   `core::queue_place`. The vote contains the client ahead of these places, or 0. The instance denies
    ///   if places may be missing.
    join,
    leave,  ///< Leave the remote queue. The vote contains the number of tickets left.
    /// Report the version and the value of a record. The grant contains the version as its value, and the
    /// record's value as its detail. A record without a value has no detail.
    read,
    /// Set the value of a record if its version is `value`. The token identifies the write, so a repeated
    /// command is not executed twice. The grant contains the new version. A denial contains the record's
    /// version and value, as for `read`. The key state is `foreign` if neither this command nor an earlier
    /// copy of it was executed. It is `unknown` if the instance cannot tell about earlier copies.
    write,
    /// Report the record of a name, that is, the result of its work. A denial reports the record as
    /// `key_state::completed`. With `explains`, which is slower, it also reports how long the record will
    /// live, and a grant means that the token holds the key.
    look,
    /// Replace the token by the record `values` for `ttl`, if the token holds the key. The instance also
    /// grants if it already has exactly this record. If the command `heals`, it also grants if it has no key.
    complete,
    /// Report who holds the key and who waits for it, and change nothing. The grant contains the report
    /// as its detail.
    inspect,
};

/// The limit of values and tickets, which are smaller. A script in the server counts with doubles, which are
/// exact up to here.
inline constexpr std::uint64_t value_limit = std::uint64_t{1} << 53;

/// Returns whether the step is pointless once its sender has stopped waiting.
constexpr bool has_deadline(step s) noexcept {
    return s != step::release && s != step::remaining && s != step::leave;
}

/// One step of one lock for one instance, before it is encoded for the wire. The views refer to data of the
/// sender, which must live until the vote arrives.
struct command {
    core::step step = step::acquire;
    /// 0 for the whole step, otherwise the part of it to execute. A kind splits a step while a cluster moves
    /// the keys that the step needs.
    std::uint8_t part = 0;
    bool heals = false;  ///< It restores what other instances still have.
    /// For an acquire: an earlier attempt was denied, or the key is known to be contended.
    bool contended = false;
    /// For a contended acquire: the sender waits if it is denied. The kind may announce this, so that others
    /// make room.
    bool announces = true;
    /// For a `remaining`, which becomes slower: also report what the key holds if no lock wrote it.
    bool explains = false;
    /// For a waiter of a lock whose order is binding: the life of its client's places in milliseconds, unless
    /// the client refreshes them.
    std::uint16_t place_ttl = 0;
    std::string_view key;  ///< The first key, by which an instance finds its node.
    std::span<const std::string_view> more_keys;  ///< Empty for a lock with one name.
    std::string_view token;
    milliseconds ttl{};           ///< For the steps `acquire`, `extend`, `join` and `complete`.
    time_point deadline = never;  ///< The command is not sent after this time.
    /// What the lease has, or shall have, in addition to its keys: a fence, or the number of a permit. 0
    /// means none, or any. For other uses see `step`.
    std::uint64_t value = 0;
    union {  // A union keeps the command small.
        /// For a lease with several values: all of them in increasing order, each followed by a space.
        /// `value` is then the first one.
        /// For a `write`: the new value of the record, or null to erase it. For a `complete`: the record.
        const std::string* values = nullptr;
        /// For a waiter of a lock whose order is binding: its number among the waiters of the client
        /// `ticket`. 0 means that it has no place.
        std::uint64_t place;
    };
    /// For a waiting client: the number of its announcement or ticket. For a record: the maximum size of a
    /// value in a reply in bytes, or 0 for any size.
    std::uint64_t ticket = 0;
};

/// Returns whether the command can make the token a holder of the key.
constexpr bool takes_key(const command& c) noexcept {
    return c.step == step::acquire && c.part == 0;
}

/// Returns whether the step works on a record, that is, a value with a version.
constexpr bool is_of_record(step s) noexcept {
    return s == step::read || s == step::write;
}

/// Returns whether a grant must be on replicas, if the instance waits for them. An error does not always show
/// whether such a command was executed.
constexpr bool must_last(const command& c) noexcept {
    return takes_key(c) || c.step == step::write || c.step == step::complete;
}

/// Returns whether an instance that may have lost data must not execute the command. It could create a key
/// that another lock has elsewhere, or issue a value a second time. An acquire that heals is safe, because it
/// restores what a quorum still has. A record that heals is not: it may come from a minority, and the
/// instance may have lost the token of another lock.
constexpr bool relies_on_memory(const command& c) noexcept {
    // mutant: fence_counted_in_quarantine, retake_passes_the_quarantine
    return (c.step == step::acquire && !c.heals) || (c.step == step::confirm && c.value == 0) ||
           (c.step == step::complete && c.heals);
}

}  // namespace colock::core

#endif
