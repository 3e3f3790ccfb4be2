// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_RECORD_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_RECORD_OPERATION_HPP

#include "core/time.hpp"
#include "core/vote.hpp"
#include "core/write.hpp"
#include "runtime/operations/request_operation.hpp"
#include "runtime/record_spec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock::runtime {

/// An operation on a record.
struct record_request {
    bool writes = false;
    std::uint64_t expected = 0;          ///< For a write: the version on which it is based.
    std::optional<std::string> value{};  ///< For a write. None erases the record.
    /// How often a write of the caller was refused before. Each refusal lengthens the delay, to give others
    /// more time.
    std::size_t tries = 0;
};

/// A read or a write of a record at the only instance.
class record_operation : public request_operation {
public:
    record_operation(std::shared_ptr<const record_spec> spec, record_request request);

    void on_instance_changed() final;

protected:
    [[nodiscard]] const record_request& request() const noexcept { return request_; }
    [[nodiscard]] core::write_outcome result() const noexcept { return outcome_; }
    /// Returns the version that was read, that this write has created, or that has refused it.
    [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
    [[nodiscard]] std::optional<std::string> take_value();

private:
    using event = core::write::event;

    void begin() final;
    void on_time(core::time_point now) final;
    void on_admitted(core::time_point now) final;
    void on_answer(std::size_t index, instance::command_tag tag, const core::vote& vote,
                   core::time_point now) final;
    void on_stop(stop why) final;

    void resume(const event& e, core::time_point now);
    void send();
    void finish(core::write_outcome outcome);
    [[nodiscard]] bool in_doubt() const { return machine_.in_doubt(has_left()); }

    std::shared_ptr<const record_spec> spec_;
    record_request request_;
    core::write machine_;
    std::array<char, 16> id_{};  // Of a write, the same for all its copies.
    bool waits_for_start_ = false;
    core::write_outcome outcome_ = core::write_outcome::cancelled;
    std::uint64_t version_ = 0;
    std::shared_ptr<const std::string> value_;
    core::vote last_vote_;  // The last failed vote, or vote about another kind.
    bool has_vote_ = false;
};

}  // namespace colock::runtime

#endif
