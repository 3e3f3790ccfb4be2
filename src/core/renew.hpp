#ifndef COLOCK_CORE_RENEW_HPP
#define COLOCK_CORE_RENEW_HPP

#include "core/per_instance.hpp"
#include "core/quorum.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace colock::core {

/// Why a lease ended by itself.
enum class loss : std::uint8_t {
    none,         ///< it has not
    keys_gone,    ///< so many instances no longer hold our token that there is no quorum of it left
    unrenewable,  ///< no renewal won before the validity was over
    expired,      ///< it was not to be renewed, and the validity is over
    max_hold,     ///< held for as long as is allowed
    closed,       ///< its client is closed
};

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
};

/// The watchdog: keeps a granted lease until it is stopped or must say that it is lost.
///
/// A renewal is a round of `step::extend`. When it wins, the validity counts from when it was sent;
/// instances that by then had no key get one again (`heal`), but never otherwise is a key made. When
/// it fails, it is tried again, soon and for as long as the validity lasts. A renewal begins so early that
/// two of them, each as slow as the last round was, end before the loss would be announced. Validity never lasts longer
/// than `max_hold` allows. The loss is announced a `loss_notice` before the validity ends; validity that
/// is over never comes back, whatever a round then wins. After `lost` or `stop` an `extend` that is under
/// way gets no answer.
///
/// To be resumed as `acquire` is: with `done` at once after every action but `wait` and `lost`.
class renew {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            done,    ///< the action was carried out
            vote,    ///< an instance voted on round number `round`
            timer,   ///< the time to wait for has come
            extend,  ///< the holder wants another `ttl`; not while an earlier one is unanswered
            stop,    ///< the lease is about to be released: never act again
        };
        kind_type kind = kind_type::done;
        std::size_t index = 0;
        std::uint32_t round = 0;
        duration ttl{};
        core::vote vote;

        static event start() { return {kind_type::start, 0, 0, {}, {}}; }
        static event done() { return {kind_type::done, 0, 0, {}, {}}; }
        static event voted(std::size_t index, std::uint32_t round, const core::vote& v) {
            return {kind_type::vote, index, round, {}, v};
        }
        static event timer() { return {kind_type::timer, 0, 0, {}, {}}; }
        static event extend(duration ttl) { return {kind_type::extend, 0, 0, ttl, {}}; }
        static event stop() { return {kind_type::stop, 0, 0, {}, {}}; }
    };

    struct action {
        enum class kind_type : std::uint8_t {
            wait,      ///< until an event, or `time`
            send,      ///< send `extend` with `ttl()` to all, as round `round_number()`
            heal,      ///< send `acquire` with our token and `ttl()` to instance `index`
            extended,  ///< what the holder asked for with `extend` is done, or failed: see `success`
            lost,      ///< the lease has ended: see `why`
        };
        kind_type kind = kind_type::wait;
        time_point time = never;
        std::size_t index = 0;
        bool success = false;
        loss why = loss::keys_gone;

        static action wait(time_point until) { return {kind_type::wait, until, 0, false, {}}; }
        static action send() { return {kind_type::send, never, 0, false, {}}; }
        static action heal(std::size_t index) { return {kind_type::heal, never, index, false, {}}; }
        static action extended(bool success) {
            return {kind_type::extended, never, 0, success, {}};
        }
        static action lost(loss why) { return {kind_type::lost, never, 0, false, why}; }
    };

    /// A lease granted at `granted_at` and valid until `valid_until`.
    renew(const renew_settings& settings, time_point granted_at, time_point valid_until);

    action resume(const event& e, time_point now);

    /// It has another holder, whose time to hold it begins.
    void hand_off(time_point now) noexcept { granted_at_ = now; }

    /// Nobody has asked for another ttl and waits for the answer.
    [[nodiscard]] bool undisturbed() const noexcept {
        return !wanted_ && !answer_ && !(state_ == state::voting && asked_for_);
    }

    /// The end of the validity as it stands.
    [[nodiscard]] time_point valid_until() const noexcept {
        return std::min(valid_until_, max_hold_end());
    }

    /// When the loss is announced, if nothing is renewed until then.
    [[nodiscard]] time_point loss_time() const noexcept;

    /// The ttl to send, in force or about to be.
    [[nodiscard]] duration ttl() const noexcept { return round_ttl_; }

    /// The number of the current or last round, less than `round_numbers`; the first is 1.
    [[nodiscard]] std::uint32_t round_number() const noexcept { return round_number_; }
    /// Then they begin anew with 0: a vote is not as late as that.
    static constexpr std::uint32_t round_numbers = std::uint32_t{1} << 29;

    /// The votes of the current or last round; null before the first, and once all have granted.
    [[nodiscard]] const round* votes() const noexcept { return round_ ? &round_->votes : nullptr; }

    /// How many rounds won, and how many found no quorum.
    [[nodiscard]] std::uint32_t won() const noexcept { return won_; }
    [[nodiscard]] std::uint32_t failed() const noexcept { return failed_; }

private:
    enum class state : std::uint8_t { holding, sending, voting, ended };

    /// Most leases end before there is one, and most of them are granted by all.
    struct renewal_round {
        explicit renewal_round(std::size_t instances)
            : votes(instances), healed(instances, false) {}
        round votes;
        per_instance<bool> healed;
        bool won = false;
    };

    action next(time_point now);
    action begin_round(time_point now, duration ttl, bool asked_for);
    action on_vote(const event& e, time_point now);
    action consider(time_point now);
    action end_round(bool success, time_point now);
    action lose(loss why);
    void plan(duration after_sent, time_point sent, time_point granted);
    [[nodiscard]] loss reason_for_loss() const;
    [[nodiscard]] time_point max_hold_loss_time() const noexcept;
    [[nodiscard]] time_point max_hold_end() const noexcept {
        return settings_.max_hold > duration::zero() ? granted_at_ + settings_.max_hold : never;
    }
    [[nodiscard]] std::optional<std::size_t> take_healable();

    renew_settings settings_;
    time_point granted_at_;
    time_point valid_until_;  // by what the instances granted, whatever max_hold is
    duration notice_;         // how long before that to announce the loss
    time_point next_renewal_ = never;
    state state_ = state::holding;

    std::unique_ptr<renewal_round> round_;
    std::uint32_t round_number_ = 0;
    duration round_ttl_;
    time_point sent_{};
    bool asked_for_ = false;          // the round in flight is the holder's own `extend`
    std::optional<duration> wanted_;  // an `extend` that waits for the round in flight to end
    std::optional<bool> answer_;      // to an `extend`, not yet told
    std::uint32_t won_ = 0;
    std::uint32_t failed_ = 0;
    std::uint32_t failed_in_a_row_ = 0;
};

}  // namespace colock::core

#endif
