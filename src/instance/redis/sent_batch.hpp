// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP
#define COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP

#include "instance/batch.hpp"
#include "instance/redis/encoder.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace colock::instance::redis {

/// A batch in flight on one connection: one write, and replies in order.
struct sent_batch {
    sent_batch() = default;
    sent_batch(std::shared_ptr<const batch> sent, script_form scripts_as)
        : commands(std::move(sent)), form(scripts_as), unanswered_(commands->submissions()) {}

    std::shared_ptr<const batch> commands;
    script_form form = script_form::shortest;
    bool prelude_answered = false;    ///< Of the next command, if it has a prelude.
    bool waits_for_replicas = false;  ///< A WAIT follows the commands and is not answered yet.

    /// Returns the next unanswered command. Null if all are answered.
    [[nodiscard]] const submission* next() const noexcept {
        return unanswered_.empty() ? nullptr : unanswered_.data();
    }

    /// Returns whether no command is answered.
    [[nodiscard]] bool is_unanswered() const noexcept {
        return commands && unanswered_.size() == commands->size();
    }

    /// Returns whether all replies have arrived.
    [[nodiscard]] bool answered() const noexcept {
        return unanswered_.empty() && !waits_for_replicas;
    }

    /// Returns the next unanswered command and all commands after it.
    [[nodiscard]] std::span<const submission> unanswered() const noexcept { return unanswered_; }

    /// Marks the next command as answered.
    void advance() noexcept {
        prelude_answered = false;
        unanswered_ = unanswered_.subspan(1);
    }

private:
    std::span<const submission> unanswered_;
};

}  // namespace colock::instance::redis

#endif
