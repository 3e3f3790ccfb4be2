// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_REQUEST_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_REQUEST_OPERATION_HPP

#include "core/instance_set.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "runtime/in_client.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timer_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock::runtime {

struct client_context;

/// An operation that sends commands to instances and receives their votes itself. It has no lease of its own
/// and no queue.
///
/// It keeps itself alive until it has finished and no vote is pending.
class request_operation : public operation,
                          public instance::vote_receiver,
                          public in_client,
                          public gated,
                          protected timed {
public:
    ~request_operation() override;

    /// A command that was sent may still be executed.
    void cancel() final;

    // From the engine:

    /// An instance may accept commands again, or has ended its first attempt to connect.
    virtual void on_instance_changed() {}
    /// The client is being closed.
    void on_close();
    /// Drops the operation, because the execution context is being destroyed.
    void on_abandon() noexcept;

protected:
    enum class stop : std::uint8_t { cancelled, closed };

    /// The owner of the client outlives the operation.
    explicit request_operation(client_context& context) noexcept : context_(context) {}

    /// The client is open, and the operation has joined it.
    virtual void begin() = 0;
    /// An instance has voted while the operation is running.
    virtual void on_answer(std::size_t index, instance::command_tag tag, const core::vote& vote,
                           core::time_point now) = 0;
    /// The caller or the client no longer waits. Ends the operation if that is possible.
    virtual void on_stop(stop why) = 0;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;

    /// Submits a command. It is not sent after `send_until`.
    kinds::command& submit(instance::command_tag tag, core::instance_set targets,
                           core::time_point send_until);
    /// Returns whether the last submission may have left the client, or has been answered.
    [[nodiscard]] bool has_left() const;
    /// Sets the timer, or stops it for `never`.
    void wait_until(core::time_point when);
    /// Leaves the gate, the timers and the client, and schedules the call of the caller's handler.
    void end();

    [[nodiscard]] client_context& context() const noexcept { return context_; }
    [[nodiscard]] std::string take_details() noexcept { return std::move(details_); }

    std::string details_;  ///< For the error of the caller.

private:
    void on_start() final;
    void on_not_started() final;
    void on_admitted(core::time_point /*now*/) override {}
    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) final;

    client_context& context_;
    std::shared_ptr<operation> alive_;  // While votes are pending.
    std::size_t pending_votes_ = 0;
    std::uint32_t last_turn_ = 0;  // Turn of the last submission.
};

}  // namespace colock::runtime

#endif
