// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_COMMAND_HPP
#define COLOCK_CORE_COMMAND_HPP

#include "core/time.hpp"

#include <cstdint>
#include <string_view>

namespace colock::kinds {
class lock_kind;
}

namespace colock::core {

/// What an instance is asked to do with a key. How it does that is the lock kind's to say: see `kinds::lock_kind`.
enum class step : std::uint8_t {
    acquire,  ///< have the token hold the key for `ttl`, if its holders leave room
    extend,   ///< have it hold the key for `ttl` from now on at least, if it does
    release,  ///< have it hold the key no more
    /// How long the key will live, under any holder. A kind whose acquire clears the way (`kind_traits::clears_the_way`)
    /// leaves out what that clears.
    remaining,
    /// Of a kind with fences: moves the key's fence counter on, if the token holds the key; given a `fence`, only to that
    /// at least. The vote has the counter's value.
    confirm,
    /// Moves the key's fence counter on, to `fence` at least, without a look at the key: half of an `acquire`, for an
    /// instance that cannot do both at once. Only for a client that has the key there.
    count,
    /// Wait in the remote queue of the key, with that `ticket`, for `ttl`: see `core::queue_ticket`. The vote has the
    /// ticket before it, or 0.
    join,
    leave,  ///< give the ticket up; the vote has how many others there are
    /// Of a kind whose acquire clears the way: take back the mark of a client of which nobody waits any more.
    unmark,
};

/// Fences are smaller: what a double, and so a script in the server, can count without a gap.
inline constexpr std::uint64_t fence_limit = std::uint64_t{1} << 53;

/// Whether it is pointless once its sender has stopped waiting.
constexpr bool has_deadline(step s) noexcept {
    return s != step::release && s != step::remaining && s != step::leave;
}

/// One step of one lock for one instance, before it becomes a wire format. The views belong to the sender of the
/// command, and stay alive until its vote.
struct command {
    core::step step = step::acquire;
    bool heals = false;  ///< an acquire that puts back what a quorum still has
    /// An acquire whose sender was denied before, or knows that the key is contended.
    bool contended = false;
    /// A contended acquire whose sender waits if it is denied. Its kind may leave a mark, so that others make room.
    bool announces = true;
    /// A slower `remaining`, which also reports what the key holds if no lock wrote it.
    bool explains = false;
    const kinds::lock_kind* kind = nullptr;
    /// A number of the sender's client, below 2^53: by it the mark of its waiting writer is told from those of others.
    std::uint64_t client = 0;
    std::string_view key;
    std::string_view token;
    milliseconds ttl{};           ///< for those that acquire, extend and join
    time_point deadline = never;  ///< not sent after that
    union {
        /// For `confirm` and `count`; for `acquire`, the least that will do.
        std::uint64_t fence = 0;
        std::uint64_t ticket;
    };
};

/// Whether an instance that may have forgotten something must not do it: it could make a key that another lock has
/// elsewhere, or count a fence that it has given out before. An acquire that heals puts back what a quorum still has.
constexpr bool relies_on_memory(const command& c) noexcept {
    return (c.step == step::acquire && !c.heals) ||
           ((c.step == step::confirm || c.step == step::count) && c.fence == 0);
}

}  // namespace colock::core

#endif
