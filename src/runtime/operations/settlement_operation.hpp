// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_SETTLEMENT_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_SETTLEMENT_OPERATION_HPP

#include "core/instance_set.hpp"
#include "core/settlement.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "runtime/in_client.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timer_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::runtime {

struct loop;

/// An operation on the record of a name.
struct settlement_request {
    core::settlement::task_type task = core::settlement::task_type::look;
    std::shared_ptr<lease_driver> lease{};  ///< Holds the name. May be null.
    std::uint32_t holder = 0;               ///< Of that lease.
    // For a `complete`:
    std::shared_ptr<const std::string> record{};
    core::milliseconds life{0};
};

/// Drives a `core::settlement`. If it has stored a record for the name of its lease, it ends the lease and
/// notifies the waiters of this client. A `complete` continues until the lease is lost. The watchdog renews
/// the lease in the meantime.
///
/// It keeps itself alive until it has finished and no vote is pending.
class settlement_operation : public operation,
                             public instance::vote_receiver,
                             public in_client,
                             public gated,
                             private timed {
public:
    settlement_operation(std::shared_ptr<const lock_spec> spec, settlement_request request);
    ~settlement_operation() override;

    /// No effect on a `complete`.
    void cancel() final;

    // From the engine:

    /// The client is being closed.
    void on_close();
    /// Drops the operation, because the execution context is being destroyed.
    void on_abandon() noexcept;

protected:
    [[nodiscard]] core::settlement_outcome result() const noexcept { return outcome_; }
    /// Returns the record, if it is settled.
    [[nodiscard]] const std::shared_ptr<const std::string>& record() const noexcept {
        return machine_.record();
    }
    [[nodiscard]] bool has_met_record() const noexcept { return machine_.has_met_record(); }
    /// Returns whether a copy of the record may have left the client. If the record is not settled then, the
    /// lease has ended.
    [[nodiscard]] bool has_sent() const noexcept { return has_sent_; }
    [[nodiscard]] std::string take_details() noexcept { return std::move(details_); }

private:
    using event = core::settlement::event;
    using message = core::settlement::message;
    using task = core::settlement::task_type;

    void on_start() final;
    void on_not_started() final;
    void on_time(core::time_point now) final;
    void on_admitted(core::time_point now) final;
    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) final;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const final;

    [[nodiscard]] bool completes() const noexcept {
        return machine_.task() == core::settlement::task_type::complete;
    }
    void begin(core::time_point now);
    [[nodiscard]] core::time_point end_of_completion() const noexcept;
    [[nodiscard]] bool has_lost_lease(core::time_point now) const noexcept;
    void resume(const event& e, core::time_point now);
    void send(const core::settlement::step& step, core::time_point now);
    void finish(core::settlement_outcome outcome);
    void explain(core::settlement_outcome outcome);

    std::shared_ptr<const lock_spec> spec_;
    loop& loop_;
    settlement_request request_;
    core::settlement machine_;
    std::shared_ptr<operation> alive_;  // While votes are pending.
    std::size_t pending_votes_ = 0;
    core::time_point send_until_{};  // While it waits at the gate.
    std::uint32_t last_turn_ = 0;    // Turn of the last submission.
    core::time_point began_{};
    bool has_sent_ = false;
    core::settlement_outcome outcome_ = core::settlement_outcome::cancelled;
    std::string details_;
};

}  // namespace colock::runtime

#endif
