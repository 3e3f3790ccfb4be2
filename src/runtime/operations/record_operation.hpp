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

/// What is done with a record.
struct record_request {
    bool writes = false;
    std::uint64_t expected = 0;          ///< of a write: the version from which it is made
    std::optional<std::string> value{};  ///< of a write; none: it erases the record
    /// How often a write of the caller was refused before: that gives others more time.
    std::size_t tries = 0;
};

/// A read or a write of a record. There is no lease, and no queue: the operation itself gets the vote of the one instance.
///
/// Kept alive by itself until it has finished, and no vote is pending.
class record_operation : public operation,
                         public instance::vote_receiver,
                         public in_client,
                         public gated,
                         private timed {
public:
    record_operation(std::shared_ptr<const record_spec> spec, record_request request);
    ~record_operation() override;

    /// A copy that was sent may still be carried out.
    void cancel() final;

    // From the engine:

    /// The instance may take commands again.
    void on_instance_changed();
    /// The client is being closed.
    void on_close();
    /// There is no world any more.
    void on_abandon() noexcept;

protected:
    [[nodiscard]] const record_request& request() const noexcept { return request_; }
    [[nodiscard]] core::write_outcome result() const noexcept { return outcome_; }
    /// Of the record: what it was read as, what this write has made, or what has refused this write.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] std::optional<std::string> take_value();
    [[nodiscard]] std::string take_details() noexcept { return std::move(details_); }

private:
    void on_start() final;
    void on_time(core::time_point now) final;
    void on_admitted(core::time_point now) final;
    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) final;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const final;

    void resume(const core::write::event& e, core::time_point now);
    void carry_out(const core::write::step& step, core::time_point now);
    void send();
    void finish(core::write_outcome outcome);
    void explain(core::write_outcome outcome);
    [[nodiscard]] bool in_doubt() const;

    std::shared_ptr<const record_spec> spec_;
    loop& loop_;
    record_request request_;
    core::write machine_;
    std::array<char, 16> id_{};         // of a write, for all its copies
    std::shared_ptr<operation> alive_;  // while a vote is pending
    std::uint32_t last_turn_ = 0;       // in which a copy was submitted
    bool waits_for_start_ = false;
    core::write_outcome outcome_ = core::write_outcome::cancelled;
    std::uint64_t version_ = 0;
    std::shared_ptr<const std::string> value_;
    core::vote last_vote_;  // that has failed, or told of another kind
    bool has_vote_ = false;
    std::string details_;
};

}  // namespace colock::runtime

#endif
