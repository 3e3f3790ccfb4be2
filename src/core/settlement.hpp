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
    settled,    ///< a quorum has the record
    unsettled,  ///< no quorum has one, as far as is known
    refused,    ///< a quorum will not have the record: the token does not hold the key there
    // Not by the machine, but by the client:
    lost,     ///< the lease was lost first. Nobody knows who has the record
    overdue,  ///< likewise, as no quorum has stored it in the time of a ttl
    cancelled,
    closed,
};

struct settlement_settings {
    std::size_t instances = 1;
    duration instance_timeout{};
    /// Between copies of a record that was not written.
    backoff retry;
};

/// Finds the record of a name, or has a quorum of instances store it. A record says what the name's work has come to. The holder of
/// the name writes it in place of its token. So a quorum has either the token or the record.
///
/// - `look` asks all instances. If a minority has a record, its holder may have died while it was being written. Then it does what
///   `settle` does.
/// - `settle` asks again, and also how long the record will live. Then it has the record stored where there is no key, or the caller's
///   token. If that makes a quorum, the record counts. If another holder has a quorum, it does not: the two quorums would share an
///   instance. A copy lives no longer than the first one. Otherwise a name in frequent use would never be free again: its copies
///   end a few milliseconds apart, and so there is a minority at each end.
/// - `complete` has a new record stored, where the token holds the key. It is sent again until a quorum has it, or cannot have it.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next.
class settlement {
public:
    enum class task_type : std::uint8_t { look, settle, complete };

    /// What is sent to instances. A vote comes back with it.
    enum class message : std::uint8_t {
        look,
        inspect,  ///< a `look` that explains
        write,    ///< `complete` with the record and its life
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
        instance_set targets;  ///< send `what` to them, unless there is none
        message what = message::look;
        bool done = false;         ///< see `outcome`
        time_point until = never;  ///< to be woken then, if nothing comes before
    };

    /// Has a name's record found.
    settlement(const settlement_settings& settings, task_type task)
        : settings_(settings), task_(task), votes_(settings.instances) {}

    /// Has this record stored.
    settlement(const settlement_settings& settings, std::shared_ptr<const std::string> record,
               milliseconds life)
        : settings_(settings),
          task_(task_type::complete),
          votes_(settings.instances),
          record_(std::move(record)),
          life_(life) {}

    /// Before the start: feeds the jitter.
    void seed(std::uint64_t random) noexcept { random_ = random; }

    step resume(const event& e, time_point now);

    [[nodiscard]] task_type task() const noexcept { return task_; }
    /// Of one that is done.
    [[nodiscard]] settlement_outcome outcome() const noexcept { return outcome_; }
    /// The record that is to be stored, or that a quorum has if it is settled. Commands refer to it.
    [[nodiscard]] const std::shared_ptr<const std::string>& record() const noexcept {
        return record_;
    }
    /// Whether an instance has told of a record.
    [[nodiscard]] bool has_met_record() const noexcept { return has_met_record_; }
    /// How long the record is to live where it is stored.
    [[nodiscard]] milliseconds life() const noexcept { return life_; }
    /// The votes on the latest round.
    [[nodiscard]] const round& votes() const noexcept { return votes_; }

private:
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
    // Of a `complete`, which has no rounds: who has the record, who refuses it, and who is to be sent it again at `resend_at_`.
    instance_set stored_;
    instance_set refused_;
    instance_set to_resend_;
    time_point resend_at_ = never;
    std::size_t failures_ = 0;
    std::uint64_t random_ = 0;
};

}  // namespace colock::core

#endif
