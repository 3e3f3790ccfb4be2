// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_LEASE_HPP
#define COLOCK_CORE_LEASE_HPP

#include "core/agreement.hpp"
#include "core/backoff.hpp"
#include "core/command.hpp"
#include "core/instance_set.hpp"
#include "core/lease_step.hpp"
#include "core/per_instance.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace colock::core {

/// The values of a lease that comes from another process, in addition to its token.
struct adopted_values {
    std::uint64_t value = 0;
    std::string values{};  ///< As `command::values`. Empty if it has none.
    duration ttl{};        ///< The longest ttl that its keys may have.

    friend bool operator==(const adopted_values&, const adopted_values&) = default;
};

/// The parameters of an attempt, which an acquire passes to the lease.
struct attempt {
    /// An earlier attempt was denied, or the key is known to be contended: see `command::contended`.
    bool contended = false;
    /// The end of the wait for votes, unless it had passed before the attempt.
    time_point deadline = never;
    /// The acquire waits if the attempt fails: see `command::announces`.
    bool announces = true;
    /// Another process had the lease, and its keys have the token. The attempt extends these keys and
    /// acquires none. If it fails, the keys stay as they are.
    const adopted_values* adopted = nullptr;
};

struct lease_settings {
    std::size_t instances = 1;
    duration ttl{};
    /// The interval between renewals. 0 = never renew.
    duration renew_interval{};
    /// Whether the first renewal comes at a random moment in the second half of its interval. Otherwise
    /// leases that were acquired together would always be renewed together. Each renewal also begins at one
    /// of 256 moments of an interval, so that one batch renews many leases. Renewing each lease on its own
    /// costs six times as much.
    bool spread_renewals = false;
    /// The maximum time from the grant on. 0 = unlimited.
    duration max_hold{};
    /// See `loss_notice`.
    std::optional<duration> loss_margin{};
    drift_bound drift;
    duration instance_timeout{};
    /// The condition for the values of its grants.
    core::agreement agreement = agreement::none;
    /// Whether each holder has a value of its own, as a fence. Otherwise the value stays the same at a
    /// hand-off.
    bool value_per_holder = false;
    /// The pauses between tries to release a key.
    backoff release_retry{milliseconds(20), milliseconds(2000)};

    friend bool operator==(const lease_settings& a, const lease_settings& b) = default;
};

/// One token, from the attempt that it was drawn for to the last reply to its release. The lease tracks which
/// instances may have the key, and counts the votes on the attempt. Its part `renew` renews it, and its part
/// `release` releases it. It can also continue with a token that another process has drawn: see
/// `attempt::adopted`.
///
/// Algorithm: Redlock, https://redis.io/docs/latest/develop/use/patterns/distributed-locks/. The attempt
/// sends `step::acquire` to all instances at once. It ends as soon as the outstanding votes cannot change its
/// outcome.
///
/// A grant may have a value, on which a quorum must agree.
///
/// **The largest** (`agreement::largest`): a fence. It is larger than the fence of every lease granted
/// before, for two reasons:
///
/// - It is the largest value of a quorum of grants.
/// - Before the lease is handed out, the counters of a majority are no less than it, each while the key there
///   has the token.
///
/// Any quorum of later grants shares an instance with that majority, which then grants a larger value. If all
/// grants of the quorum have one value, that is the fence, after one round trip. Otherwise the largest is,
/// and a second round writes it back: `raise`. The validity counts from before the first round.
///
/// A grant that comes later may have a still larger value. That changes nothing: the majority that stores the
/// fence exists without it. A counter that is ahead only makes a later fence larger.
///
/// **The same** (`agreement::same`): the number of a permit. An instance gives a number to one token at a
/// time. Two quorums share an instance, so two leases that each have a quorum of one number have different
/// numbers. If a quorum has granted and its numbers differ, another round asks for a larger one: `retake`.
/// Votes of an earlier round do not count, because a later round may have changed the number there. A `heal`
/// corrects an instance whose number differs from the lease's.
///
/// While the lease is held, an instance that takes commands again gets its missing key by a `heal` at once.
/// Otherwise the next failure of another instance could end the lease.
///
/// The caller passes an event to `resume`, carries out the returned step, and then passes the next event. An
/// event that does not apply in the current status has no effect. A vote always counts, however late it
/// comes. Only a `timer` event turns silence into a timeout.
class lease {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,      ///< Begin the attempt.
            give_up,    ///< The attempt is no longer wanted.
            vote,       ///< An instance voted on a command that was sent with `tag`.
            accepting,  ///< An instance takes commands, and did not at some time before.
            timer,      ///< The time to wait for has come.
            /// The holder asks for another `ttl`. Not while an earlier request is unanswered.
            extend,
            /// Another holder in the same process shall get the lease: see `may_hand_off`.
            next_holder,
            /// Another holder in the same process shall get a share of it, with a new value. Only if each
            /// holder has its own, and not while an earlier request is unanswered.
            share,
            release,  ///< The holder releases a held or a lost lease.
            abandon,  ///< As `release`, but the keys stay until their ttl ends.
            close,    ///< The client closes. A held lease is lost.
            broken,   ///< The client has removed its keys for others. A held lease is lost.
        };
        kind_type kind = kind_type::start;
        /// For `timer`: whether a quorum of instances has not been silent for long.
        bool instances_answer = false;
        std::size_t index = 0;
        lease_tag tag{lease_tag::purpose_type::acquire};
        const core::vote* vote = nullptr;
        duration ttl{};
        const core::attempt* attempt = nullptr;

        /// The event refers to the attempt.
        static event start(const core::attempt& attempt) { return {.attempt = &attempt}; }
        /// The event refers to the vote.
        static event voted(std::size_t index, lease_tag tag, const core::vote& v) {
            return {.kind = kind_type::vote, .index = index, .tag = tag, .vote = &v};
        }
        static event accepting(std::size_t index) {
            return {.kind = kind_type::accepting, .index = index};
        }
        static event extend(duration ttl) { return {.kind = kind_type::extend, .ttl = ttl}; }
        static event timer(bool instances_answer) {
            return {.kind = kind_type::timer, .instances_answer = instances_answer};
        }
        static event just(kind_type kind) { return {.kind = kind}; }
    };

    /// Refers to the settings as long as it lives. `seed` feeds the jitter of the first renewal and of the
    /// release.
    lease(const lease_settings& settings, std::uint64_t seed)
        : keys_(settings.instances, belief::maybe),
          votes_(settings.instances),
          settings_(&settings),
          ttl_(settings.ttl),
          seed_(seed) {}

    lease_step resume(const event& e, time_point now);

    /// Returns the step of a command that is sent with this tag.
    [[nodiscard]] static core::step step_of(lease_tag tag) noexcept;

    /// Fills in a command that is sent with this tag.
    void fill(command& c, lease_tag tag) const noexcept;

    /// Ends the lease without a step, because there are no connections any more.
    void disconnect() noexcept;

    /// Returns whether another holder in the same process may get it, in place of a release and an acquire.
    /// It must be renewed, have the ttl that it was acquired with, and have at least half of that left.
    ///
    /// The next holder may need a value of its own. Then one round checks that the keys still have the token,
    /// and brings new values. If these differ, a second round writes the largest back, as in an attempt.
    /// After that the lease is handed off, or released if there is no quorum. During the rounds the lease has
    /// no holder, and is still renewed.
    [[nodiscard]] bool may_hand_off(time_point now) const noexcept;

    /// Returns whether a command must still be sent. The caller asks before it sends. False withdraws the
    /// command, whose vote is then failed, `withdrawn`. The result may become false when the attempt or the
    /// hold ends, or by a vote on an acquire that is not a grant.
    [[nodiscard]] bool wanted(std::size_t index, lease_tag tag) const noexcept;

    /// Call this before a record is sent that replaces the token. From then on, an instance that denies a
    /// renewal and has a key may have the record. This does not count as a loss, and extends nothing.
    void expect_record() noexcept { expects_record_ = true; }

    // The state of the lease.

    [[nodiscard]] bool acquiring() const noexcept {
        return status_ == status::attempting || status_ == status::raising;
    }
    [[nodiscard]] bool held() const noexcept {
        return status_ == status::held || status_ == status::sharing ||
               status_ == status::resharing;
    }
    /// Returns whether it is lost and its holder has not released it yet.
    [[nodiscard]] bool lost() const noexcept { return status_ == status::lost; }
    [[nodiscard]] bool releasing() const noexcept { return status_ == status::releasing; }
    /// Returns whether its release has begun. It may also have ended.
    [[nodiscard]] bool let_go() const noexcept { return releasing() || ended(); }
    [[nodiscard]] bool ended() const noexcept { return status_ == status::ended; }
    /// Returns whether its holder has given it up without a release.
    [[nodiscard]] bool abandoned() const noexcept { return ended() && !outcome_; }
    [[nodiscard]] bool was_held() const noexcept { return was_held_; }

    /// Returns the current end of the validity, or `time_point::min()` unless it is held.
    [[nodiscard]] time_point valid_until() const noexcept {
        return held() ? watchdog().valid_until() : time_point::min();
    }

    /// Returns the votes on the latest round of the attempt. After a `share`, returns those on its latest
    /// round.
    [[nodiscard]] const round& votes() const noexcept { return votes_; }

    /// Returns the value of its latest holder, or 0 until it is known. Also returns 0 if grants have no
    /// value.
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

    /// Returns all its values if it has several: see `command::values`. Otherwise returns null.
    [[nodiscard]] const std::string* values() const noexcept { return values_; }
    /// Returns the longest ttl that its keys may have.
    [[nodiscard]] duration longest_ttl() const noexcept { return ttl_; }

    /// Returns whether an instance has reported that an announced waiter keeps others out.
    [[nodiscard]] bool is_announced() const noexcept { return is_announced_; }

    /// Returns the instances that are not known to have the key.
    [[nodiscard]] instance_set without_key() const;

    /// Returns whether any instance may have the key.
    [[nodiscard]] bool may_have_keys() const noexcept;

    /// Returns how the release ended, or nothing before that.
    [[nodiscard]] const std::optional<release_outcome>& outcome() const noexcept {
        return outcome_;
    }

    /// Returns whether a quorum has replied to its release. Returns false before the release has begun.
    /// Returns false again if a late grant shows that a reply came too early, so that a quorum may have the
    /// key. A lost lease has already ended, so this does not apply to it.
    [[nodiscard]] bool answered() const noexcept {
        const bool may_be_locked =
            releasing() && lost_ == loss::none && giving_back().may_have_quorum();
        return outcome_ && *outcome_ != release_outcome::no_quorum && !may_be_locked;
    }

    /// Returns whether a client that closes need not wait for it any longer. It must be released, a quorum
    /// must have replied, and so must each instance that can be reached.
    [[nodiscard]] bool settled(time_point now) const {
        return ended() || (releasing() && answered() && !giving_back().awaits_answer(now));
    }

    /// Returns the replies of the instances to its release. Call it only after that has begun.
    [[nodiscard]] round release_votes() const { return giving_back().votes(); }

    /// Returns the watchdog. Call it only while the lease is held, handed off or lost.
    [[nodiscard]] const renew& watchdog() const noexcept { return *std::get_if<renew>(&part_); }

private:
    using purpose = lease_tag::purpose_type;
    using kind = event::kind_type;

    enum class status : std::uint8_t {
        attempting,
        raising,  // A later round of an attempt.
        held,
        sharing,     // Held, while a round asks for a value for another holder.
        resharing,   // The second round of that.
        counting,    // A round asks for a value for the next holder.
        recounting,  // The second round of that.
        lost,
        releasing,
        ended,
    };
    /// Whether an instance has the key of this lease.
    enum class belief : std::uint8_t {
        no,
        maybe,
        yes,
        // A `retake` sent another acquire. These apply if the instance did not get it, or refused it.
        otherwise_no,
        otherwise_yes,
    };

    // One function for each status. The rounds of an attempt have one together, and so do those of a
    // hand-off.
    lease_step on_attempt(const event& e, time_point now);
    lease_step on_held(const event& e, time_point now);
    lease_step decide_share(time_point now);
    lease_step end_share(bool success);
    lease_step on_handing_off(const event& e, time_point now);
    lease_step on_lost(const event& e, time_point now);
    lease_step on_releasing(const event& e, time_point now);

    void learn(const event& e) noexcept;
    lease_step begin_round(lease_tag::purpose_type what, time_point now);
    lease_step begin_attempt(const event& e, time_point now);
    lease_step agree_on_value(time_point now);
    lease_step raise(std::uint64_t value, time_point now);
    [[nodiscard]] lease_step correct_value(const event& e);
    [[nodiscard]] bool may_lack_key(std::size_t index) const noexcept;
    lease_step restore(std::size_t index, time_point now);
    const std::string* keep_list(std::string&& list);
    [[nodiscard]] bool has_other_value(std::uint64_t value, const std::string* list) const noexcept;
    [[nodiscard]] bool is_outdated(lease_tag tag) const noexcept;
    void expect_acquire(std::size_t index) noexcept;
    void expect_retake(std::size_t index) noexcept;
    void learn_from_retake(std::size_t index, const core::vote& v) noexcept;
    lease_step decide_attempt(time_point now);
    [[nodiscard]] bool may_meet_record() const;
    lease_step hold(time_point valid_until, time_point now);
    lease_step fail(acquire_outcome why, time_point now);
    [[nodiscard]] bool adopts() const noexcept {
        return latest_.purpose() == lease_tag::purpose_type::adopt;
    }
    lease_step ask_next_value(std::uint64_t least, time_point now);
    bool record_next_value(const event& e);
    bool take_next_value();
    lease_step decide_handoff(time_point now);
    lease_step hand_off(time_point now);
    lease_step on_extend_vote(const event& e, time_point now);
    lease_step keep(const renew::event& e, time_point now);
    lease_step lose(loss why);
    lease_step abandon();
    lease_step begin_release(time_point valid_until, time_point now);
    lease_step give_back(const core::release::event& e, time_point now);
    [[nodiscard]] time_point round_end() const noexcept;
    [[nodiscard]] time_point useful_until() const noexcept;
    [[nodiscard]] time_point promised_until() const noexcept;
    [[nodiscard]] release_outcome outcome_to_tell(release_outcome outcome) const noexcept;
    [[nodiscard]] bool renewed() const noexcept {
        return held() || status_ == status::counting || status_ == status::recounting;
    }
    [[nodiscard]] bool counts() const noexcept { return renewed() && status_ != status::held; }
    [[nodiscard]] renew& renewing() noexcept { return *std::get_if<renew>(&part_); }
    [[nodiscard]] core::release& giving_back() noexcept {
        return *std::get_if<core::release>(&part_);
    }
    [[nodiscard]] const core::release& giving_back() const noexcept {
        return *std::get_if<core::release>(&part_);
    }

    // Members that every vote needs come first.
    status status_ = status::attempting;
    bool was_held_ = false;
    bool is_announced_ = false;
    bool expects_record_ = false;
    loss lost_ = loss::none;
    std::optional<release_outcome> outcome_;
    per_instance<belief> keys_;
    instance_set open_ = instance_set::all();  // They may be about to execute an acquire or a heal.
    instance_set accepting_;    // They have begun to take commands during the attempt.
    instance_set unconnected_;  // They were not connected when the lease was granted.
    round votes_;               // On the attempt, the share or the hand-off in progress.
    lease_tag latest_{lease_tag::purpose_type::acquire};  // The round of `votes_`.
    attempt attempt_;
    time_point sent_{};   // When the attempt was sent.
    time_point asked_{};  // When the round in progress was sent.
    std::variant<std::monostate, renew, core::release> part_;  // `renew` until the release begins.

    const lease_settings* settings_;
    duration ttl_;  // The longest ttl that is in force anywhere.
    std::uint64_t seed_;
    std::uint64_t value_ = 0;
    std::uint64_t next_value_ = 0;  // The least value that the latest round asks for.
    // For a lease with several values: its values, and the values that rounds have asked for.
    const std::string* values_ = nullptr;
    std::vector<std::unique_ptr<const std::string>> lists_;
    // The end of the wait for votes that may bring agreement.
    time_point stragglers_until_ = never;
};

}  // namespace colock::core

#endif
