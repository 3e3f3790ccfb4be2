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
    applied,      ///< it was carried out once
    refused,      ///< it was not carried out and never will be: the record had another version
    wrong_kind,   ///< likewise: the key is no record
    unavailable,  ///< likewise: the instance did not take it in time
    unknown,      ///< it may have been carried out, or may be yet
    // Not by the machine, but by the client:
    cancelled,
    closed,
};

struct write_settings {
    /// Otherwise it only reads. Then nobody has to know how many copies were executed.
    bool changes = true;
    /// Between a vote that failed and the next copy.
    core::backoff retry;
    /// How long it tries to get an answer. With 0 it makes one attempt.
    duration unavailable_timeout{};

    friend bool operator==(const write_settings& a, const write_settings& b) = default;
};

/// A read or a write of a record at one instance, until its outcome is known.
///
/// A copy whose answer is lost may have been executed. So the same command is sent again, with the same token. The instance knows
/// the tokens of the last writes, and versions never recur. So it tells whether an earlier copy was executed.
///
/// At most one copy is under way. An instance answers each copy at some time, if only with a failed vote.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next.
class write {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,     ///< with a pause in front of it, for the number of `tries`, if that is not 0
            admitted,  ///< the instance has room for it
            voted,     ///< on the copy that was sent
            wake,      ///< the instance takes commands again
            timer,     ///< the time to wait for has come
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
        bool ask_for_room = false;  ///< wait until the instance has room for it
        bool send = false;          ///< send the command, the same each time
        bool done = false;          ///< see `outcome`
        time_point until = never;   ///< to be woken then, if nothing comes before
    };

    write(const write_settings& settings, std::uint64_t seed) noexcept
        : settings_(settings), random_(seed) {}

    step resume(const event& e, time_point now);

    /// Of one that is done.
    [[nodiscard]] write_outcome outcome() const noexcept { return outcome_; }

    /// Whether a copy may have been carried out, or may be yet, as far as is known. If the last copy has not left the client,
    /// `has_left` is false.
    [[nodiscard]] bool in_doubt(bool has_left = true) const noexcept {
        return settings_.changes && (is_in_doubt_ || (status_ == status::sent && has_left));
    }

    /// After that the command is not to be sent.
    [[nodiscard]] time_point deadline() const noexcept { return deadline_; }

private:
    enum class status : std::uint8_t {
        pausing,   // until `resume_at_`
        waiting,   // for room
        sent,      // and not answered
        finished,  // with `outcome_`
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
    bool is_in_doubt_ = false;  // an earlier copy may have been executed
    std::size_t failures_ = 0;
    time_point resume_at_ = never;
    time_point deadline_ = never;
    write_outcome outcome_ = write_outcome::unavailable;
};

}  // namespace colock::core

#endif
