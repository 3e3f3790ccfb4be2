#ifndef COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP
#define COLOCK_INSTANCE_REDIS_SENT_BATCH_HPP

#include "core/prefetch.hpp"
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
        prefetch();
    }

    /// One that will be answered soon after that; null if there is none.
    [[nodiscard]] const submission* soon() const noexcept { return ahead(2); }

private:
    /// Brings into the cache what it takes to ask those after it for their `vote_receiver::prefetch`.
    COLOCK_PREFETCHES void prefetch() const noexcept {
        if (const submission* const later = ahead(6)) {
            constexpr std::size_t beginning = 3 * core::cache_line;
            core::prefetch(later->receiver, beginning);
        }
        if (const submission* const much_later = ahead(20)) {
            core::prefetch(much_later);
        }
    }

    [[nodiscard]] const submission* ahead(std::size_t by) const noexcept {
        return by < unanswered_.size() ? &unanswered_[by] : nullptr;
    }

    std::span<const submission> unanswered_;
};

}  // namespace colock::instance::redis

#endif
