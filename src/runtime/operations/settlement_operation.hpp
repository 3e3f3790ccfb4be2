// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_SETTLEMENT_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_SETTLEMENT_OPERATION_HPP

#include "core/settlement.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/request_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace colock::runtime {

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
/// the lease in the meantime. The caller cannot cancel it.
class settlement_operation : public request_operation {
public:
    settlement_operation(std::shared_ptr<const lock_spec> spec, settlement_request request);

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

private:
    using event = core::settlement::event;
    using message = core::settlement::message;
    using task = core::settlement::task_type;

    void begin() final;
    void on_time(core::time_point now) final;
    void on_admitted(core::time_point now) final;
    void on_answer(std::size_t index, instance::command_tag tag, const core::vote& vote,
                   core::time_point now) final;
    void on_stop(stop why) final;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const final;

    [[nodiscard]] bool completes() const noexcept {
        return machine_.task() == core::settlement::task_type::complete;
    }
    [[nodiscard]] core::time_point end_of_completion() const noexcept;
    [[nodiscard]] bool has_lost_lease(core::time_point now) const noexcept;
    void resume(const event& e, core::time_point now);
    void send(const core::settlement::step& step, core::time_point now);
    void finish(core::settlement_outcome outcome);
    void explain(core::settlement_outcome outcome);

    std::shared_ptr<const lock_spec> spec_;
    settlement_request request_;
    core::settlement machine_;
    core::time_point send_until_{};  // While it waits at the gate.
    core::time_point began_{};
    bool has_sent_ = false;
    core::settlement_outcome outcome_ = core::settlement_outcome::cancelled;
};

}  // namespace colock::runtime

#endif
