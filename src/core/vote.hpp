// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_VOTE_HPP
#define COLOCK_CORE_VOTE_HPP

#include "core/time.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock::core {

enum class vote_kind : std::uint8_t {
    granted,  ///< done: acquired, extended, deleted
    denied,   ///< not done, because the key is not as the command wants it
    failed,   ///< no answer that tells
};

/// How the instance found the key: when it denied, unless it says otherwise.
enum class key_state : std::uint8_t {
    absent,   ///< there was none
    foreign,  ///< it held another token, or was no lock at all
    unknown,  ///< one of these: the instance tells only that the key was not as wanted
    /// Its holders leave no room, since a waiter has announced itself. A grant means that our token is one of the holders.
    announced,
    labelled,  ///< as `foreign`, and the detail of the vote is the label of the holder
    /// A lock of another kind has it, which the detail names. No wait helps: the two were not to have one name.
    other_kind,
    /// Likewise, a lock of this kind that admits another number of holders.
    other_limit,
    partial,  ///< as `foreign`, of a lock with several names of which our token has got some
    completed,  ///< there is a record of what the name's work has come to: it is the detail of the vote
};

/// Why a vote failed.
enum class failure : std::uint8_t {
    none,
    down,              ///< no ready connection; not sent. The instance tells when there is one
    overloaded,        ///< too many in flight; not sent
    stalled,           ///< it has not answered for too long; not sent
    quarantined,       ///< it may have forgotten locks in a restart; not sent
    withdrawn,         ///< taken back by its sender before it was sent
    too_late,          ///< its deadline passed before it was sent
    timeout,           ///< no answer in time; outcome unknown
    connection_lost,   ///< sent, and then the connection broke; outcome unknown
    server_error,      ///< refused by the server with an error, and so not executed
    unclear_error,     ///< an error that may have come after the execution; outcome unknown
    unexpected_reply,  ///< something that is no answer to the command; outcome unknown
    not_replicated,    ///< executed, but too few replicas have it
};

/// Whether a command with this failure may still have been, or be, executed.
constexpr bool outcome_unknown(failure f) noexcept {
    return f == failure::timeout || f == failure::connection_lost || f == failure::unclear_error ||
           f == failure::unexpected_reply || f == failure::not_replicated;
}

/// "no remaining time known".
inline constexpr milliseconds unknown_remaining{-1};

/// Whether the server has answered, though with an error.
constexpr bool answered(failure f) noexcept {
    return f == failure::server_error || f == failure::unclear_error ||
           f == failure::unexpected_reply || f == failure::not_replicated;
}

/// An instance's answer to a command.
struct vote {
    vote_kind kind = vote_kind::failed;
    failure reason = failure::none;
    core::key_state key = key_state::absent;
    union {  // as small as it can be: there is a vote for each command
        /// The value that a grant brings; 0 if it brings none. The grant of `join` brings the ticket ahead of the new one. That of
        /// `leave` brings the number of tickets that are left.
        std::uint64_t value;
        /// For `remaining` and a key that somebody holds: the rest of its life;
        /// `milliseconds::max()` for a key without ttl.
        milliseconds remaining = unknown_remaining;
        /// For `quarantined`: its end, since the epoch of the clock. See `quarantined_until`.
        duration quarantine_end;
    };
    /// What the server said, or why the instance is down. Of one that denied, the label of the holder if the key is `labelled`, or the
    /// lock of an `other_kind`, or the record of one that is `completed`, else what the key holds if no lock wrote it. Of a grant that
    /// brings several values, all of them, as `command::values`. Of a vote on a versioned value: the value. Null if there is nothing
    /// to say.
    std::shared_ptr<const std::string> detail;

    static vote granted(std::uint64_t value = 0) noexcept {
        return {vote_kind::granted, {}, {}, {.value = value}, {}};
    }
    static vote announced() noexcept {
        vote result = granted();
        result.key = core::key_state::announced;
        return result;
    }
    static vote denied(core::key_state key, milliseconds remaining = unknown_remaining) noexcept {
        return {vote_kind::denied, {}, key, {.remaining = remaining}, {}};
    }
    static vote failed(failure reason, std::shared_ptr<const std::string> detail = {}) noexcept {
        return {vote_kind::failed, reason, {}, {.remaining = unknown_remaining}, std::move(detail)};
    }
    static vote quarantined(time_point until,
                            std::shared_ptr<const std::string> detail = {}) noexcept {
        vote result = failed(failure::quarantined, std::move(detail));
        result.quarantine_end = until.time_since_epoch();
        return result;
    }

    /// When the quarantine ends for which it has failed; `never` if that is not known, or if it has not failed so.
    [[nodiscard]] time_point quarantined_until() const noexcept {
        return reason == failure::quarantined ? time_point(quarantine_end) : never;
    }
};

/// Whether it was denied because there is no key.
inline bool is_absent(const vote& v) noexcept {
    return v.kind == vote_kind::denied && v.key == key_state::absent;
}

/// Whether the vote is an answer of the server.
inline bool answered(const vote& v) noexcept {
    return v.kind != vote_kind::failed || answered(v.reason);
}

/// Whether an instance that has voted so on a command may execute it yet.
inline bool may_execute_later(const vote& v) noexcept {
    return v.reason == failure::connection_lost || v.reason == failure::timeout;
}

}  // namespace colock::core

#endif
