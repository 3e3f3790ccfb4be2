#ifndef COLOCK_CORE_COMMAND_HPP
#define COLOCK_CORE_COMMAND_HPP

#include "core/time.hpp"

#include <cstdint>
#include <string_view>

namespace colock::core {

/// What an instance is asked to do with a key.
enum class verb : std::uint8_t {
    acquire,    ///< set the key to the token for `ttl`, if there is no key
    extend,     ///< let the key live for `ttl` at least, if it holds the token
    release,    ///< delete the key, if it holds the token
    remaining,  ///< how long the key will live, whoever holds it
    /// As `acquire`, and counts: the vote has the next value of the key's fence counter, or, given a
    /// `fence`, one that is no less.
    acquire_fenced,
    /// Moves the key's fence counter on, if the key holds the token; given a `fence`, only to that at least.
    /// The vote has the counter's value.
    raise_fence,
    /// Wait in the remote queue of the key, with ticket number `fence`, for `ttl`: see `core::queue_ticket`. The vote's
    /// fence is the number of the ticket before it, or 0.
    join_queue,
    leave_queue,  ///< give the ticket up; the vote's fence is how many others there are
    /// Moves the key's fence counter on, to `fence` at least, without a look at the key: half of `acquire_fenced`, for
    /// an instance that cannot do both at once. Only for a client that has the key there.
    count_fence,
};

/// Fences are smaller: what a double, and so a script in the server, can count without a gap.
inline constexpr std::uint64_t fence_limit = std::uint64_t{1} << 53;

/// Whether it may make a key.
constexpr bool acquires(verb v) noexcept {
    return v == verb::acquire || v == verb::acquire_fenced;
}

/// Whether it moves the key's fence counter on.
constexpr bool counts(verb v) noexcept {
    return v == verb::acquire_fenced || v == verb::raise_fence || v == verb::count_fence;
}

/// Whether it is pointless once its sender has stopped waiting. A release never is.
constexpr bool has_deadline(verb v) noexcept {
    return acquires(v) || v == verb::extend || v == verb::raise_fence || v == verb::join_queue ||
           v == verb::count_fence;
}

/// One verb for one instance, before it becomes a wire format. The views belong to whoever submits
/// the command, and stay alive until its vote.
struct command {
    core::verb verb = verb::acquire;
    bool heals = false;  ///< an acquire that puts back what a quorum still has
    std::string_view key;
    std::string_view token;
    milliseconds ttl{};           ///< for those that acquire, extend, and join_queue
    time_point deadline = never;  ///< not sent after that
    /// For raise_fence; for acquire_fenced, the least that will do; for those of a queue, the number of the ticket.
    std::uint64_t fence = 0;
};

/// Whether an instance that may have forgotten something must not do it: it could make a key that another lock has
/// elsewhere, or count a fence that it has given out before. An acquire that heals puts back what a quorum still has.
constexpr bool relies_on_memory(const command& c) noexcept {
    return (acquires(c.verb) && !c.heals) || (c.verb == verb::raise_fence && c.fence == 0) ||
           (c.verb == verb::count_fence && c.fence == 0);
}

}  // namespace colock::core

#endif
