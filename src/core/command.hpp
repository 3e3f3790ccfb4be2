// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_COMMAND_HPP
#define COLOCK_CORE_COMMAND_HPP

#include "core/time.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace colock::core {

/// What an instance is asked to do with a key. The lock kind decides how.
enum class step : std::uint8_t {
    acquire,  ///< have the token hold the key for `ttl`, if its holders leave room
    extend,   ///< have it hold the key for `ttl` from now on at least, if it does
    release,  ///< have it hold the key no more
    /// How long the key will live, under any holder. A kind whose waiters announce themselves leaves their announcements out.
    remaining,
    /// Of a kind whose grants bring a value: if the token holds the key, its value becomes `value`, or a new one without that.
    /// The vote has the value.
    confirm,
    withdraw,  ///< take back the announcement of a client of which nobody waits any more
    /// Wait in the remote queue of the key, with that `ticket`, for `ttl`: see `core::queue_ticket`. The vote has the
    /// ticket before it, or 0.
    ///
    /// If the order of the lock's waiters binds, it is one of two things. With the `value` 0, the waiter enters their queue. The
    /// vote has the waiter of its client that is directly before it: see `core::waiting_places`. Otherwise the client keeps its
    /// places, from `place` to the one with the number `value`: see `core::queue_place`. The vote has the client before that, or 0.
    /// It is a denial if places may be missing.
    join,
    leave,  ///< leave the remote queue. The vote has the number of tickets that are left
    /// Report the version and the value of a record. The grant has the version, and the value as its detail. It has no detail if the
    /// record has no value.
    read,
    /// Give the record another value if its version is `value`. The token tells this write from all others. So a write that is sent
    /// again is not carried out twice. The grant has the new version. A denial has the record's version and value, as `read`. Then
    /// the key is `foreign` if this write was and is not carried out, and `unknown` if the instance cannot tell that of another copy.
    write,
    /// Report the record of a name: what its work has come to. A denial says so as `key_state::completed`. If the command
    /// `explains`, which is slower, the denial also tells how long the record will live, and a grant that the token holds the key.
    look,
    /// If the token holds the key, give the name a record, `values`, for `ttl`. The token then holds it no more. An instance that has
    /// exactly this record grants it as well. So does one that has no key, if the command `heals`.
    complete,
};

/// Values and tickets are smaller: what a double, and so a script in the server, can count without a gap.
inline constexpr std::uint64_t value_limit = std::uint64_t{1} << 53;

/// Whether it is pointless once its sender has stopped waiting.
constexpr bool has_deadline(step s) noexcept {
    return s != step::release && s != step::remaining && s != step::leave;
}

/// One step of one lock for one instance, before it becomes a wire format. The views belong to the sender of the
/// command, and stay alive until its vote.
struct command {
    core::step step = step::acquire;
    /// Not 0 if it is only that part of the step. A kind divides a step while a cluster moves the keys that it needs.
    std::uint8_t part = 0;
    bool heals = false;  ///< it puts back what other instances still have
    /// An acquire whose sender was denied before, or knows that the key is contended.
    bool contended = false;
    /// A contended acquire whose sender waits if it is denied. Its kind may announce that, so that others make room.
    bool announces = true;
    /// A slower `remaining`, which also reports what the key holds if no lock wrote it.
    bool explains = false;
    /// Of a waiter of a lock whose order binds: how long the places of its client last, in milliseconds, if that does not refresh them.
    std::uint16_t place_ttl = 0;
    std::string_view key;  ///< the first one, by which an instance finds its node
    std::span<const std::string_view> more_keys;  ///< empty for a lock with one name
    std::string_view token;
    milliseconds ttl{};           ///< for those that acquire, extend and join
    time_point deadline = never;  ///< not sent after that
    /// What the lease has, or is to have, beside its keys: a fence, or the number of a permit. 0: none, or any.
    std::uint64_t value = 0;
    union {  // as small as it can be
        /// Of a lease that has several values: all of them in increasing order, each followed by a space. Then `value` is the first.
        /// Of a write: the new value of the record, or null to erase it. Of a `complete`: the record.
        const std::string* values = nullptr;
        /// Of a waiter of a lock whose order binds: its number among those of the client `ticket`. 0: it has no place.
        std::uint64_t place;
    };
    /// Of a waiting client: the number of its announcement or ticket. For a record: the longest value of a reply in bytes; 0: any.
    std::uint64_t ticket = 0;
};

/// Whether it can make the token a holder of the key.
constexpr bool takes_key(const command& c) noexcept {
    return c.step == step::acquire && c.part == 0;
}

/// Whether it works on a record: a value with a version.
constexpr bool is_of_record(step s) noexcept {
    return s == step::read || s == step::write;
}

/// Whether its grant has to be on replicas, if the instance waits for them. An error does not always say whether it was executed.
constexpr bool must_last(const command& c) noexcept {
    return takes_key(c) || c.step == step::write || c.step == step::complete;
}

/// Whether an instance that may have forgotten something must not do it: it could make a key that another lock has
/// elsewhere, or count a value that it has given out before. An acquire that heals puts back what a quorum still has. A record
/// that heals may come from a minority, and the token of another lock may be what was forgotten.
constexpr bool relies_on_memory(const command& c) noexcept {
    return (c.step == step::acquire && !c.heals) || (c.step == step::confirm && c.value == 0) ||
           (c.step == step::complete && c.heals);
}

}  // namespace colock::core

#endif
