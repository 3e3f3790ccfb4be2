// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_SETTLEMENT_HPP
#define COLOCK_CORE_SETTLEMENT_HPP

#include "core/backoff.hpp"
#include "core/instance_set.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace colock::core {

/// How a settlement ended.
enum class settlement_outcome : std::uint8_t {
    settled,    ///< A quorum has the record.
    unsettled,  ///< No quorum has a record, as far as is known.
    refused,    ///< A quorum refuses the record: the token does not hold the key there.
    // The client, not the state machine, sets the values below.
    lost,  ///< The lease was lost first. It is unknown which instances have the record.
    /// No quorum stored the record in the time of a ttl. It is unknown which instances have it.
    overdue,
    cancelled,
    closed,
};

struct settlement_settings {
    std::size_t instances = 1;
    duration instance_timeout{};
    /// The pauses between copies of a record that was not stored.
    backoff retry;
};

/// Finds the record of a name, or makes a quorum of instances store it. A record contains the result of the
/// name's work. The holder of the name writes the record in place of its token. A quorum therefore has either
/// the token or the record.
///
/// - `look` asks all instances. If a minority has a record, its holder may have died while it wrote the
///   record. Then `look` does the same as `settle`.
/// - `settle` asks again, and also how long the record will live. Then it stores the record where there is no
///   key, or the caller's token. If that makes a quorum, the record counts. If another holder has a quorum,
///   the record does not count, because the two quorums would share an instance. A copy lives no longer than
///   the first one. Otherwise a name in frequent use would never be free again: copies end a few milliseconds
///   apart, so each end leaves a minority.
/// - `complete` stores a new record where the token holds the key. It sends the record again until a quorum
///   has it, or cannot have it.
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event.
class settlement {
public:
    enum class task_type : std::uint8_t { look, settle, complete };

    /// The message to instances. A vote comes back with it.
    enum class message : std::uint8_t {
        look,
        inspect,  ///< A `look` that explains: see `command::explains`.
        write,    ///< A `complete` with the record and its life.
    };

    struct event {
        enum class kind_type : std::uint8_t { start, voted, timer };
        kind_type kind = kind_type::timer;
        message on = message::look;
        std::size_t index = 0;
        const core::vote* vote = nullptr;

        static event start() { return {.kind = kind_type::start}; }
        /// The event refers to the vote.
        static event voted(std::size_t index, message on, const core::vote& v) {
            return {kind_type::voted, on, index, &v};
        }
        static event timer() { return {}; }
    };

    struct step {
        instance_set targets{};  ///< Send `what` to them, unless there is none.
        message what = message::look;
        bool done = false;  ///< It has ended: see `outcome`.
        /// Resume with a timer event at this time, unless another event comes before.
        time_point until = never;
    };

    /// Prepares to find the record of a name.
    settlement(const settlement_settings& settings, task_type task)
        : settings_(settings), task_(task), votes_(settings.instances) {}

    /// Prepares to store this record.
    settlement(const settlement_settings& settings, std::shared_ptr<const std::string> record,
               milliseconds life)
        : settings_(settings),
          task_(task_type::complete),
          votes_(settings.instances),
          record_(std::move(record)),
          life_(life) {}

    /// Feeds the jitter. Call it before the start.
    void seed(std::uint64_t random) noexcept { random_ = random; }

    step resume(const event& e, time_point now);

    [[nodiscard]] task_type task() const noexcept { return task_; }
    /// Returns how it ended. Call it only then.
    [[nodiscard]] settlement_outcome outcome() const noexcept { return outcome_; }
    /// Returns the record to store, or the record that a quorum has if it is settled. Commands refer to it.
    [[nodiscard]] const std::shared_ptr<const std::string>& record() const noexcept {
        return record_;
    }
    /// Returns whether an instance has reported a record.
    [[nodiscard]] bool has_met_record() const noexcept { return has_met_record_; }
    /// Returns how long the record shall live where it is stored.
    [[nodiscard]] milliseconds life() const noexcept { return life_; }
    /// Returns the votes on the latest round.
    [[nodiscard]] const round& votes() const noexcept { return votes_; }

private:
    using kind = event::kind_type;

    enum class status : std::uint8_t { idle, asking, storing, ended };

    step ask(message what, time_point now);
    step on_answer(const event& e, time_point now);
    step decide_answer(time_point now);
    step end_round(const common_record& found, time_point now);
    step store(const common_record& found, time_point now);
    step on_stored(const event& e, time_point now);
    step on_completed(const event& e, time_point now);
    step resend();
    step finish(settlement_outcome outcome) noexcept;
    [[nodiscard]] static step wait_until(time_point when) noexcept;
    [[nodiscard]] std::size_t free() const;

    settlement_settings settings_;
    task_type task_;
    status status_ = status::idle;
    bool has_met_record_ = false;
    message asked_ = message::look;
    round votes_;
    time_point sent_{};
    std::shared_ptr<const std::string> record_;
    milliseconds life_{};
    settlement_outcome outcome_ = settlement_outcome::unsettled;
    // For a `complete`, which has no rounds: the instances that have the record, that refuse it, and that
    // will get it again at `resend_at_`.
    instance_set stored_;
    instance_set refused_;
    instance_set to_resend_;
    time_point resend_at_ = never;
    std::size_t failures_ = 0;
    std::uint64_t random_ = 0;
};

}  // namespace colock::core

#endif
