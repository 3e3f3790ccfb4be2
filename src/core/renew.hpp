// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_RENEW_HPP
#define COLOCK_CORE_RENEW_HPP

#include "core/lease_step.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace colock::core {

struct renew_settings {
    std::size_t instances = 1;
    duration ttl{};
    /// The interval between renewals. 0 = never renew.
    duration interval{};
    /// The time from sending the acquire to the first renewal. 0 = `interval`.
    duration first{};
    /// A renewal that is not urgent begins at a multiple of this, so that one batch renews many leases. 0 =
    /// at any time.
    duration grid{};
    drift_bound drift;
    duration instance_timeout{};
    /// The maximum time from the grant on. 0 = unlimited.
    duration max_hold{};
    /// See `loss_notice`.
    std::optional<duration> loss_margin{};
};

/// The watchdog: keeps a granted lease until it must report that the lease is lost.
///
/// A renewal is a round of `step::extend`. If it succeeds, the validity counts from when it was sent.
/// Instances that had no key by then get it again by a `heal`, and a key is never created otherwise. If a
/// renewal fails, it is repeated, soon and as long as the validity lasts.
///
/// A renewal begins so early that two of them end before the loss would be reported, if each is as slow as
/// the last round. The validity never lasts longer than `max_hold` allows. The loss is reported a
/// `loss_notice` before the validity ends. Validity that is over never returns, whatever a round then
/// achieves. An `extend` in progress gets no answer after `lost`.
///
/// It is a part of `lease`, and is resumed in the same way. It sends `extend` to all instances, and `heal`s.
/// It reports `extended` and `lost`.
class renew {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            timer,  ///< The time to wait for has come. Also the first event.
            vote,   ///< An instance voted on round number `round`.
            /// The holder asks for another `ttl`. Not while an earlier request is unanswered.
            extend,
        };
        kind_type kind = kind_type::timer;
        std::size_t index = 0;
        std::uint32_t round = 0;
        duration ttl{};
        const core::vote* vote = nullptr;

        static event timer() { return {}; }
        /// The event refers to the vote.
        static event voted(std::size_t index, std::uint32_t round, const core::vote& v) {
            return {kind_type::vote, index, round, {}, &v};
        }
        static event extend(duration ttl) { return {kind_type::extend, 0, 0, ttl, nullptr}; }
    };

    /// Begins with a lease that was granted at `granted_at` and is valid until `valid_until`.
    renew(const renew_settings& settings, time_point granted_at, time_point valid_until);

    lease_step resume(const event& e, time_point now);

    /// Begins the time of another holder.
    // mutant: max_hold_of_the_former
    void hand_off(time_point now) noexcept { granted_at_ = now; }

    /// Returns whether no request for another ttl waits for its answer.
    [[nodiscard]] bool undisturbed() const noexcept {
        return !extend_waits_ && !(status_ == status::voting && asked_for_);
    }

    /// Returns the current end of the validity.
    [[nodiscard]] time_point valid_until() const noexcept {
        // mutant: max_hold_promises_too_much
        return std::min(valid_until_, max_hold_end());
    }

    /// Returns when the loss is reported, if no renewal succeeds until then.
    [[nodiscard]] time_point loss_time() const noexcept;

    /// Returns when it acts next, if no event comes before.
    [[nodiscard]] time_point due() const noexcept {
        return std::min(
            status_ == status::voting ? sent_ + settings_.instance_timeout : next_renewal_,
            loss_time());
    }

    /// Returns the ttl of the round in progress, or else the one in force.
    [[nodiscard]] duration ttl() const noexcept { return round_ttl_; }
    [[nodiscard]] duration ttl_in_force() const noexcept { return settings_.ttl; }

    /// Returns the number of the current or last round, less than `lease_tag::round_numbers`. The first is 1.
    [[nodiscard]] std::uint32_t round_number() const noexcept { return round_number_; }

    /// Returns the votes of the current or last round. Returns null before the first, and once all instances
    /// have granted.
    [[nodiscard]] const round* votes() const noexcept { return round_ ? &round_->votes : nullptr; }

    /// Returns how many rounds succeeded, and how many found no quorum.
    [[nodiscard]] std::uint32_t won() const noexcept { return won_; }
    [[nodiscard]] std::uint32_t failed() const noexcept { return failed_; }

private:
    enum class status : std::uint8_t { holding, voting, ended };

    /// A renewal that is in progress. Most leases end before the first one, and most renewals are granted by
    /// all instances.
    struct renewal_round {
        explicit renewal_round(std::size_t instances) : votes(instances) {}
        round votes;
        instance_set healed;
        bool won = false;
    };

    lease_step go_on(const event& e, time_point now);
    lease_step act(time_point now);
    lease_step consider(time_point now);
    lease_step begin_round(duration ttl, bool asked_for, time_point now);
    lease_step end_round(bool success, time_point now);
    lease_step lose(loss why);
    void plan(duration after_sent, time_point sent, time_point granted);
    [[nodiscard]] loss reason_for_loss() const;
    [[nodiscard]] time_point max_hold_loss_time() const noexcept;
    [[nodiscard]] time_point max_hold_end() const noexcept {
        // mutant: max_hold_ignored
        return settings_.max_hold > duration::zero() ? granted_at_ + settings_.max_hold : never;
    }
    [[nodiscard]] instance_set take_healable();

    renew_settings settings_;
    time_point granted_at_;
    time_point valid_until_;  // As granted by the instances, whatever `max_hold` is.
    duration notice_;         // How long before that the loss is reported.
    time_point next_renewal_ = never;
    duration round_ttl_;
    time_point sent_{};
    duration wanted_{};  // By an `extend` that waits for the end of the round in flight.
    std::unique_ptr<renewal_round> round_;
    status status_ = status::holding;
    bool extend_waits_ = false;
    bool asked_for_ = false;  // The round in flight is the holder's own `extend`.
    std::uint32_t round_number_ = 0;
    std::uint32_t won_ = 0;
    std::uint32_t failed_ = 0;
    std::uint32_t failed_in_a_row_ = 0;
};

}  // namespace colock::core

#endif
