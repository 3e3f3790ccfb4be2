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
    /// From one renewal to the next; 0 = never renew.
    duration interval{};
    /// From the sending of the acquire to the first renewal; 0 = `interval`.
    duration first{};
    /// A renewal that is not urgent begins at a multiple of it, so that many leases are renewed by one batch;
    /// 0 = at any time.
    duration grid{};
    drift_bound drift;
    duration instance_timeout{};
    /// From the grant on; 0 = unlimited.
    duration max_hold{};
    /// See `loss_notice`.
    std::optional<duration> loss_margin{};
};

/// The watchdog: keeps a granted lease until it must say that it is lost.
///
/// A renewal is a round of `step::extend`. When it wins, the validity counts from when it was sent;
/// instances that by then had no key get one again (`heal`), but never otherwise is a key made. When
/// it fails, it is tried again, soon and for as long as the validity lasts. A renewal begins so early that
/// two of them, each as slow as the last round was, end before the loss would be announced. Validity never lasts longer
/// than `max_hold` allows. The loss is announced a `loss_notice` before the validity ends; validity that
/// is over never comes back, whatever a round then wins. After `lost` an `extend` that is under
/// way gets no answer.
///
/// To be resumed as `lease` is, of which it is a part. It sends `extend` to all, and `heal`s; says `extended` and `lost`.
class renew {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            timer,   ///< the time to wait for has come; also to begin with
            vote,    ///< an instance voted on round number `round`
            extend,  ///< the holder wants another `ttl`; not while an earlier one is unanswered
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

    /// A lease granted at `granted_at` and valid until `valid_until`.
    renew(const renew_settings& settings, time_point granted_at, time_point valid_until);

    lease_step resume(const event& e, time_point now);

    /// It has another holder, whose time to hold it begins.
    void hand_off(time_point now) noexcept { granted_at_ = now; }

    /// Nobody has asked for another ttl and waits for the answer.
    [[nodiscard]] bool undisturbed() const noexcept {
        return !extend_waits_ && !(status_ == status::voting && asked_for_);
    }

    /// The end of the validity as it stands.
    [[nodiscard]] time_point valid_until() const noexcept {
        return std::min(valid_until_, max_hold_end());
    }

    /// When the loss is announced, if nothing is renewed until then.
    [[nodiscard]] time_point loss_time() const noexcept;

    /// When it acts next, if nothing comes before.
    [[nodiscard]] time_point due() const noexcept {
        return std::min(
            status_ == status::voting ? sent_ + settings_.instance_timeout : next_renewal_,
            loss_time());
    }

    /// The ttl of the round under way, or that in force.
    [[nodiscard]] duration ttl() const noexcept { return round_ttl_; }
    [[nodiscard]] duration ttl_in_force() const noexcept { return settings_.ttl; }

    /// The number of the current or last round, less than `lease_tag::round_numbers`; the first is 1.
    [[nodiscard]] std::uint32_t round_number() const noexcept { return round_number_; }

    /// The votes of the current or last round; null before the first, and once all have granted.
    [[nodiscard]] const round* votes() const noexcept { return round_ ? &round_->votes : nullptr; }

    /// How many rounds won, and how many found no quorum.
    [[nodiscard]] std::uint32_t won() const noexcept { return won_; }
    [[nodiscard]] std::uint32_t failed() const noexcept { return failed_; }

private:
    enum class status : std::uint8_t { holding, voting, ended };

    /// Most leases end before there is one, and most of them are granted by all.
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
        return settings_.max_hold > duration::zero() ? granted_at_ + settings_.max_hold : never;
    }
    [[nodiscard]] instance_set take_healable();

    renew_settings settings_;
    time_point granted_at_;
    time_point valid_until_;  // by what the instances granted, whatever max_hold is
    duration notice_;         // how long before that to announce the loss
    time_point next_renewal_ = never;
    duration round_ttl_;
    time_point sent_{};
    duration wanted_{};  // by an `extend`, if one waits for the round in flight to end
    std::unique_ptr<renewal_round> round_;
    status status_ = status::holding;
    bool extend_waits_ = false;
    bool asked_for_ = false;  // the round in flight is the holder's own `extend`
    std::uint32_t round_number_ = 0;
    std::uint32_t won_ = 0;
    std::uint32_t failed_ = 0;
    std::uint32_t failed_in_a_row_ = 0;
};

}  // namespace colock::core

#endif
