// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_RECORD_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_RECORD_OPERATION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "core/write.hpp"
#include "instance/batch.hpp"
#include "runtime/in_client.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/record_spec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock::runtime {

struct loop;

/// An operation on a record.
struct record_request {
    bool writes = false;
    std::uint64_t expected = 0;          ///< For a write: the version on which it is based.
    std::optional<std::string> value{};  ///< For a write. None erases the record.
    /// How often a write of the caller was refused before. Each refusal lengthens the delay, to give others
    /// more time.
    std::size_t tries = 0;
};

/// A read or a write of a record. It has no lease and no queue, and receives the vote of the only instance
/// itself.
///
/// It keeps itself alive until it has finished and no vote is pending.
class record_operation : public operation,
                         public instance::vote_receiver,
                         public in_client,
                         public gated,
                         private timed {
public:
    record_operation(std::shared_ptr<const record_spec> spec, record_request request);
    ~record_operation() override;

    /// A copy that was sent may still be executed.
    void cancel() final;

    // From the engine:

    /// The instance may accept commands again.
    void on_instance_changed();
    /// The client is being closed.
    void on_close();
    /// Drops the operation, because the execution context is being destroyed.
    void on_abandon() noexcept;

protected:
    [[nodiscard]] const record_request& request() const noexcept { return request_; }
    [[nodiscard]] core::write_outcome result() const noexcept { return outcome_; }
    /// Returns the version that was read, that this write has created, or that has refused it.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] std::optional<std::string> take_value();
    [[nodiscard]] std::string take_details() noexcept { return std::move(details_); }

private:
    using event = core::write::event;

    void on_start() final;
    void on_not_started() final;
    void on_time(core::time_point now) final;
    void on_admitted(core::time_point now) final;
    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) final;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const final;

    void resume(const event& e, core::time_point now);
    void carry_out(const core::write::step& step, core::time_point now);
    void send();
    void finish(core::write_outcome outcome);
    void explain(core::write_outcome outcome);
    [[nodiscard]] bool in_doubt() const;

    std::shared_ptr<const record_spec> spec_;
    loop& loop_;
    record_request request_;
    core::write machine_;
    std::array<char, 16> id_{};         // Of a write, the same for all its copies.
    std::shared_ptr<operation> alive_;  // While a vote is pending.
    std::uint32_t last_turn_ = 0;       // Turn of the last submitted copy.
    bool waits_for_start_ = false;
    core::write_outcome outcome_ = core::write_outcome::cancelled;
    std::uint64_t version_ = 0;
    std::shared_ptr<const std::string> value_;
    core::vote last_vote_;  // The last failed vote, or vote about another kind.
    bool has_vote_ = false;
    std::string details_;
};

}  // namespace colock::runtime

#endif
