// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_INQUIRY_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_INQUIRY_OPERATION_HPP

#include "core/command.hpp"
#include "core/instance_set.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/instance.hpp"
#include "kinds/kind.hpp"
#include "runtime/operations/request_operation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

/// A step that every instance executes once, for a caller who wants each vote.
struct inquiry {
    std::shared_ptr<client_context> owner;
    const kinds::lock_kind* kind = nullptr;
    core::step step = core::step::inspect;
    std::string key;  ///< Prefix and resource: the name on the instances.
    std::size_t prefix_size = 0;
    std::string token{};
    std::uint64_t ticket = 0;  ///< See `core::command::ticket`.

    [[nodiscard]] std::string_view resource() const noexcept {
        return std::string_view(key).substr(prefix_size);
    }
};

enum class inquiry_outcome : std::uint8_t { answered, cancelled, closed };

/// Sends one command to every instance, and collects the votes. It has no lease and no queue. It does not
/// wait at the gate, because it must also work while the client is overloaded.
///
/// An instance that is still in its first attempt to connect gets the command after that attempt. Every
/// instance has `instance_timeout` for its answer.
class inquiry_operation : public request_operation {
public:
    explicit inquiry_operation(inquiry what);

    void on_instance_changed() final;

protected:
    /// The vote of an instance.
    struct answer {
        core::vote vote;
        core::time_point at{};  ///< When it arrived.
    };

    [[nodiscard]] const inquiry& question() const noexcept { return what_; }
    [[nodiscard]] inquiry_outcome result() const noexcept { return outcome_; }
    /// Returns the answers in the order of the instances. Complete if the outcome is `answered`.
    [[nodiscard]] const std::vector<answer>& answers() const noexcept { return answers_; }
    /// Returns how many answers are such votes. An instance that has not answered counts as failed.
    [[nodiscard]] std::size_t count(core::vote_kind kind) const {
        const auto is_such = [&](const answer& one) { return one.vote.kind == kind; };
        return static_cast<std::size_t>(std::ranges::count_if(answers_, is_such));
    }
    /// Returns the instances as they were when the last answer arrived, in the same order.
    [[nodiscard]] const std::vector<instance::status>& voters() const noexcept { return voters_; }

private:
    enum class phase : std::uint8_t { waits_for_start, asked, answered };

    void begin() final;
    void on_time(core::time_point now) final;
    void on_answer(std::size_t index, instance::command_tag tag, const core::vote& vote,
                   core::time_point now) final;
    void on_stop(stop why) final;

    void ask_those_that_have_started(core::time_point now);
    void accept(std::size_t index, const core::vote& vote, core::time_point now);
    void finish_if_complete();
    void finish(inquiry_outcome outcome);

    inquiry what_;
    std::vector<phase> phases_;  // Of each instance.
    std::vector<answer> answers_;
    std::vector<instance::status> voters_;
    core::time_point answer_until_ = core::never;
    inquiry_outcome outcome_ = inquiry_outcome::cancelled;
};

}  // namespace colock::runtime

#endif
