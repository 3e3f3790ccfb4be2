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

/// A batch on its way through one connection: one write, and the replies matched by their order.
struct sent_batch {
    sent_batch() = default;
    sent_batch(std::shared_ptr<const batch> sent, script_form scripts_as)
        : commands(std::move(sent)), form(scripts_as), unanswered_(commands->submissions()) {}

    std::shared_ptr<const batch> commands;
    script_form form = script_form::shortest;
    bool prelude_answered = false;    ///< of the next command, if it has one
    bool waits_for_replicas = false;  ///< there is a WAIT behind them, which is not answered yet

    /// The next command that has not been answered; null when all are.
    [[nodiscard]] const submission* next() const noexcept {
        return unanswered_.empty() ? nullptr : unanswered_.data();
    }

    /// Whether none of its commands is answered.
    [[nodiscard]] bool is_unanswered() const noexcept {
        return commands && unanswered_.size() == commands->size();
    }

    /// Whether there is no reply missing.
    [[nodiscard]] bool answered() const noexcept {
        return unanswered_.empty() && !waits_for_replicas;
    }

    /// It, and all those behind it.
    [[nodiscard]] std::span<const submission> unanswered() const noexcept { return unanswered_; }

    /// It has been.
    void advance() noexcept {
        prelude_answered = false;
        unanswered_ = unanswered_.subspan(1);
    }

private:
    std::span<const submission> unanswered_;
};

}  // namespace colock::instance::redis

#endif
