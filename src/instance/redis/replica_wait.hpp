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

/// Decides when a connection asks its server, by WAIT, whether replicas have acknowledged its grants. No I/O.
///
/// The server executes nothing of a connection while a WAIT blocks it. Therefore at most one WAIT is under way, and what
/// was sent behind it is executed before the next one: a renewal waits for one WAIT at most. While replicas keep up, the
/// WAIT goes in the same write as the acquire. After one that fell short it is sent for a grant only, so that attempts
/// that are denied do not block the connection.
///
/// A server ends a WAIT late: it looks for those whose time is over when something happens, else ten times a second (`hz`).
/// So the connection is to send something at `wake_at`. (https://redis.io/docs/latest/commands/wait/)
class replica_wait {
public:
    /// How many replicas are to acknowledge a grant, and for how long the server waits for them.
    replica_wait(unsigned wanted, core::milliseconds timeout)
        : timeout_(std::max(timeout, core::milliseconds(1))) {
        if (wanted != 0) {
            resp::command_writer writer(text_);
            writer.write(resp::words<"WAIT">, resp::number(wanted).text(),
                         resp::number(timeout_.count()).text());
            text_.resize(writer.text().size());
        }
    }

    /// Whether replicas matter at all.
    [[nodiscard]] bool needed() const noexcept { return !text_.empty(); }

    /// The command.
    [[nodiscard]] std::string_view text() const noexcept { return text_; }

    /// Whether it is to be sent behind an acquire, and for grants that have come.
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
    /// The connection is over.
    void on_ended() noexcept { under_way_ = fell_short_ = false; }

    /// When the server is to be woken; `core::never` if no WAIT is under way.
    [[nodiscard]] core::time_point wake_at() const noexcept {
        return under_way_ ? wake_at_ : core::never;
    }
    /// It has been. That may have been too early, since the WAIT came later to the server than it was sent.
    void on_woken(core::time_point now) noexcept {
        wake_at_ = now + pause_;
        pause_ *= 2;
    }

private:
    core::milliseconds timeout_;
    std::string text_;
    bool under_way_ = false;
    bool fell_short_ = false;  // the last one
    core::time_point wake_at_ = core::never;
    core::milliseconds pause_{1};
};

}  // namespace colock::instance::redis

#endif
