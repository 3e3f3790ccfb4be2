// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_LOOP_OUTBOX_HPP
#define COLOCK_RUNTIME_LOOP_OUTBOX_HPP

#include "core/instance_set.hpp"
#include "core/time.hpp"
#include "instance/batch.hpp"
#include "instance/shared_pool.hpp"
#include "kinds/command.hpp"
#include "runtime/instance_group.hpp"
#include "runtime/loop/turn_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace colock::runtime {

/// The commands of a turn. They are sent at its end, as one batch to all instances.
class outbox {
public:
    explicit outbox(turn_clock& when) : turns_(when) {}

    /// Adds a command that is sent at the end of the turn. Only its deadline is set, and the caller fills in
    /// the rest.
    kinds::command& submit(instance::vote_receiver& receiver, instance::command_tag tag,
                           core::instance_set targets, core::time_point deadline) {
        turns_.schedule();
        return batch_->submit(&receiver, tag, targets, deadline);
    }

    /// Returns the number of the turn in which the current submissions are sent.
    [[nodiscard]] std::uint32_t turn_number() const noexcept { return turn_number_; }

    /// Marks that a submission of that turn may not be wanted any more. No effect after the turn.
    void reconsider(std::uint32_t turn) noexcept {
        if (turn == turn_number_) {
            batch_->reconsider();
        }
    }

    /// Sends the batch of this turn to that instance last.
    void send_last(std::size_t index) noexcept { first_ = index + 1; }

    /// Returns how many commands will be sent at the end of this turn.
    [[nodiscard]] std::size_t size() const noexcept { return batch_->size(); }

    /// Schedules a flush even without submissions, because an instance has commands of its own to send.
    void flush_anyway() {
        instances_want_to_send_ = true;
        turns_.schedule();
    }

    /// Sends the batch at the end of a turn.
    void flush(instance_group& instances) {
        if (!std::exchange(instances_want_to_send_, false) && batch_->empty()) {
            return;
        }
        const auto sent = std::exchange(batch_, empty_batch());
        ++turn_number_;
        instances.send(sent, std::exchange(first_, 0), turns_.now());
    }

private:
    std::shared_ptr<instance::batch> empty_batch() {
        auto result = batches_.take([] { return std::make_shared<instance::batch>(); });
        result->clear();
        return result;
    }

    turn_clock& turns_;
    instance::shared_pool<instance::batch> batches_;
    std::shared_ptr<instance::batch> batch_ = empty_batch();  // Of this turn.
    std::uint32_t turn_number_ = 0;
    std::size_t first_ = 0;  // The first instance that gets the batch.
    bool instances_want_to_send_ = false;
};

}  // namespace colock::runtime

#endif
