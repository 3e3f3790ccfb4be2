// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_WRITE_HPP
#define COLOCK_CORE_WRITE_HPP

#include "core/backoff.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>

namespace colock::core {

/// How a read or a write of a record ended.
enum class write_outcome : std::uint8_t {
    applied,      ///< It was executed once.
    refused,      ///< It was not executed and never will be: the record had another version.
    wrong_kind,   ///< It was not executed and never will be: the key is not a record.
    unavailable,  ///< It was not executed and never will be: the instance did not take it in time.
    unknown,      ///< It may have been executed, or may still be.
    // The client, not the state machine, sets the values below.
    cancelled,
    closed,
};

struct write_settings {
    /// False for a read. Then the number of executed copies does not matter.
    bool changes = true;
    /// The pause between a failed vote and the next copy.
    core::backoff retry;
    /// How long to try to get a reply. 0 = one attempt.
    duration unavailable_timeout{};

    friend bool operator==(const write_settings& a, const write_settings& b) = default;
};

/// A read or a write of a record at one instance, until its outcome is known.
///
/// A copy whose reply is lost may have been executed. The same command is therefore sent again, with the same
/// token. The instance stores the tokens of the last writes, and versions never recur. It can therefore
/// report whether an earlier copy was executed.
///
/// At most one copy is in flight. An instance answers each copy at some time, at least with a failed vote.
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event.
class write {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,  ///< Begin. If `tries` is not 0, a pause for this number of tries comes first.
            admitted,  ///< The instance has room for the command.
            voted,     ///< The instance voted on the copy that was sent.
            wake,      ///< The instance takes commands again.
            timer,     ///< The time to wait for has come.
        };
        kind_type kind = kind_type::timer;
        std::size_t tries = 0;
        const core::vote* vote = nullptr;

        static event start(std::size_t tries = 0) { return {kind_type::start, tries, nullptr}; }
        /// The event refers to the vote.
        static event voted(const core::vote& v) { return {kind_type::voted, 0, &v}; }
        static event just(kind_type kind) { return {kind, 0, nullptr}; }
    };

    struct step {
        bool ask_for_room = false;  ///< Wait until the instance has room for the command.
        bool send = false;          ///< Send the command, which is the same each time.
        bool done = false;          ///< It has ended: see `outcome`.
        /// Resume with a timer event at this time, unless another event comes before.
        time_point until = never;
    };

    write(const write_settings& settings, std::uint64_t seed) noexcept
        : settings_(settings), random_(seed) {}

    step resume(const event& e, time_point now);

    /// Returns how it ended. Call it only then.
    [[nodiscard]] write_outcome outcome() const noexcept { return outcome_; }

    /// Returns whether a copy may have been executed, or may still be, as far as is known. If the last copy
    /// has not left the client, `has_left` is false.
    [[nodiscard]] bool in_doubt(bool has_left = true) const noexcept {
        return settings_.changes && (is_in_doubt_ || (status_ == status::sent && has_left));
    }

    /// Returns the time after which the command must not be sent.
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

private:
    enum class status : std::uint8_t {
        pausing,   // Until `resume_at_`.
        waiting,   // For room.
        sent,      // And not answered.
        finished,  // With `outcome_`.
    };

    step wait_for_room();
    step pause(std::size_t tries, time_point now);
    step on_vote(const vote& v, time_point now);
    step on_failure(failure reason, time_point now);
    step on_time(time_point now);
    step finish(write_outcome outcome) noexcept;
    [[nodiscard]] step wait() const noexcept;

    write_settings settings_;
    std::uint64_t random_;
    status status_ = status::pausing;
    bool is_in_doubt_ = false;  // An earlier copy may have been executed.
    std::size_t failures_ = 0;
    time_point resume_at_ = never;
    time_point deadline_ = never;
    write_outcome outcome_ = write_outcome::unavailable;
};

}  // namespace colock::core

#endif
