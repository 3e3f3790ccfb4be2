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
    granted,  ///< Executed: for example acquired, extended or released.
    denied,   ///< Not executed, because the key is not in the state that the command needs.
    failed,   ///< No reply, or none that shows the outcome.
};

/// The state in which the instance found the key. It applies to denials, unless noted otherwise.
enum class key_state : std::uint8_t {
    absent,       ///< There was no key.
    unconnected,  ///< As `absent`. The instance was not connected when the lease was acquired.
    foreign,      ///< It held another token, or was not a lock at all.
    unknown,      ///< Either of these: the instance reports only that the key was not as needed.
    /// A waiter has announced itself, so the holders leave no room. In a grant, it means that the token is
    /// one of the holders.
    announced,
    labelled,  ///< As `foreign`. The detail of the vote is the label of the holder.
    /// A lock of another kind has the key, and the detail names it. Waiting does not help: the two locks
    /// should not share a name.
    other_kind,
    /// A lock of this kind that admits another number of holders has the key, and the detail names it.
    /// Waiting does not help.
    other_limit,
    partial,    ///< As `foreign`, for a lock with several names of which the token holds some.
    completed,  ///< The name has a record of the result of its work: the detail of the vote.
};

/// The reason why a vote failed.
enum class failure : std::uint8_t {
    none,
    down,              ///< Not sent: no connection is ready. The instance reports when one is.
    overloaded,        ///< Not sent: too many commands are in flight.
    stalled,           ///< Not sent: the instance has not replied for too long.
    quarantined,       ///< Not sent: the instance may have lost locks in a restart.
    withdrawn,         ///< Not sent: the sender withdrew the command.
    too_late,          ///< Not sent: the deadline passed.
    timeout,           ///< No reply in time. The outcome is unknown.
    connection_lost,   ///< The connection broke after the command was sent. The outcome is unknown.
    server_error,      ///< The server refused the command with an error, and did not execute it.
    unclear_error,     ///< The error may have come after the execution. The outcome is unknown.
    unexpected_reply,  ///< The reply does not fit the command. The outcome is unknown.
    not_replicated,    ///< Executed, but too few replicas have it.
};

/// Returns whether a command with this failure may have been executed, or may still be.
constexpr bool outcome_unknown(failure f) noexcept {
    return f == failure::timeout || f == failure::connection_lost || f == failure::unclear_error ||
           f == failure::unexpected_reply || f == failure::not_replicated;
}

/// The remaining time is unknown.
inline constexpr milliseconds unknown_remaining{-1};

/// Returns whether the server has replied, though with an error.
constexpr bool answered(failure f) noexcept {
    return f == failure::server_error || f == failure::unclear_error ||
           f == failure::unexpected_reply || f == failure::not_replicated;
}

/// The reply of an instance to a command.
struct vote {
    vote_kind kind = vote_kind::failed;
    failure reason = failure::none;
    core::key_state key = key_state::absent;
    union {  // A union keeps it small: there is a vote for each command.
        /// The value of a grant, or 0 if it has none. For `join`, it is the ticket ahead of the new one. For
        /// `leave`, it is the number of tickets left.
        std::uint64_t value;
        /// For a key that is held: how long it will live. `milliseconds::max()` for a key without a ttl.
        milliseconds remaining = unknown_remaining;
        /// For `quarantined`: the end of the quarantine, since the epoch of the clock. See
        /// `quarantined_until`.
        duration quarantine_end;
    };
    /// The text of the vote, or null if it has none:
    /// - For a failure, the server's error, or why the instance is down.
    /// - For a denial, the label of the holder if the key is `labelled`, the lock if it is an `other_kind`,
    ///   or the record if it is `completed`. Otherwise it is the content of a key that no lock wrote.
    /// - For a grant with several values, all of them, as in `command::values`.
    /// - For a record, its value.
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

    /// Returns the end of the quarantine for which the vote failed. Returns `never` if it is unknown, or if
    /// the vote did not fail for this reason.
    [[nodiscard]] time_point quarantined_until() const noexcept {
        return reason == failure::quarantined ? time_point(quarantine_end) : never;
    }
};

/// Returns whether the instance denied because there is no key.
inline bool is_absent(const vote& v) noexcept {
    return v.kind == vote_kind::denied &&
           (v.key == key_state::absent || v.key == key_state::unconnected);
}

/// Returns whether the vote is a reply of the server.
inline bool answered(const vote& v) noexcept {
    return v.kind != vote_kind::failed || answered(v.reason);
}

/// Returns whether an instance with this vote may still execute the command.
inline bool may_execute_later(const vote& v) noexcept {
    return v.reason == failure::connection_lost || v.reason == failure::timeout;
}

}  // namespace colock::core

#endif
