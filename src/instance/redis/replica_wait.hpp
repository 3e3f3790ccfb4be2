// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_REPLICA_WAIT_HPP
#define COLOCK_INSTANCE_REDIS_REPLICA_WAIT_HPP

#include "core/time.hpp"
#include "resp/writer.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

namespace colock::instance::redis {

/// Decides when a connection sends WAIT to ask whether replicas have acknowledged its grants. Does no I/O.
///
/// While a WAIT blocks a connection, the server executes none of its commands. At most one WAIT is therefore
/// in flight. Commands sent after it are executed before the next WAIT, so a renewal waits for at most one.
/// While replicas keep up, the WAIT is part of the same write as the acquire. If a WAIT fell short, the next
/// one is sent only for a grant. Denied attempts then do not block the connection.
///
/// A server ends a WAIT late. It checks expired WAITs only at an event, or ten times a second (`hz`). The
/// connection should therefore send a command at `wake_at`. See https://redis.io/docs/latest/commands/wait/
class replica_wait {
public:
    /// `wanted` replicas must acknowledge a grant. The server waits for them for `timeout`.
    replica_wait(unsigned wanted, core::milliseconds timeout)
        : timeout_(std::max(timeout, core::milliseconds(1))) {
        if (wanted != 0) {
            resp::command_writer writer(text_);
            writer.write(resp::words<"WAIT">, resp::number(wanted).text(),
                         resp::number(timeout_.count()).text());
            text_.resize(writer.text().size());
        }
    }

    /// Returns whether grants need replicas.
    [[nodiscard]] bool needed() const noexcept { return !text_.empty(); }

    /// Returns the WAIT command.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }

    /// Returns whether a WAIT should be sent after an acquire, or for grants that have arrived.
    [[nodiscard]] bool follows_acquires() const noexcept {
        return needed() && !under_way_ && !fell_short_;
    }
    [[nodiscard]] bool follows_grants() const noexcept { return needed() && !under_way_; }

    void on_sent(core::time_point now) noexcept {
        under_way_ = true;
        pause_ = core::milliseconds(1);
        wake_at_ = now + timeout_ + pause_;
    }
    void on_answered(bool enough) noexcept {
        under_way_ = false;
        fell_short_ = !enough;
    }
    /// Resets the state, because the connection has ended.
    void on_ended() noexcept { under_way_ = fell_short_ = false; }

    /// Returns when to wake the server. `core::never` if no WAIT is in flight.
    [[nodiscard]] core::time_point wake_at() const noexcept {
        return under_way_ ? wake_at_ : core::never;
    }
    /// Sets the next time to wake the server. This one may have been too early, because the WAIT reached the
    /// server later than it was sent.
    void on_woken(core::time_point now) noexcept {
        wake_at_ = now + pause_;
        pause_ *= 2;
    }

private:
    core::milliseconds timeout_;
    std::string text_;
    bool under_way_ = false;
    bool fell_short_ = false;  // The last WAIT.
    core::time_point wake_at_ = core::never;
    core::milliseconds pause_{1};
};

}  // namespace colock::instance::redis

#endif
