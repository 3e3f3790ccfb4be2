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

/// What a lease has beside its token, when it comes from another process.
struct adopted_values {
    std::uint64_t value = 0;
    std::string values;  ///< as `command::values`; empty if it has none

    friend bool operator==(const adopted_values&, const adopted_values&) = default;
};

/// What an acquire tells the lease that makes an attempt for it.
struct attempt {
    /// An earlier attempt was denied, or the key is known to be contended: see `command::contended`.
    bool contended = false;
    /// The end of the wait for votes, unless it has passed before the attempt.
    time_point deadline = never;
    /// The acquire waits if the attempt fails: see `command::announces`.
    bool announces = true;
    /// Another process has had the lease, and its keys have the token. The attempt extends them, and takes none. If it fails, the
    /// keys stay as they are.
    const adopted_values* adopted = nullptr;
};

struct lease_settings {
    std::size_t instances = 1;
    duration ttl{};
    /// From one renewal to the next; 0 = never renew.
    duration renew_interval{};
    /// Whether the first renewal comes at a random moment of the second half of its interval: so that leases
    /// which were taken together are not renewed together for ever after. But each comes at one of 256 moments
    /// of an interval: so that of many leases, many are renewed by one batch. (Each by its own costs six times as
    /// much.)
    bool spread_renewals = false;
    /// From the grant on; 0 = unlimited.
    duration max_hold{};
    /// See `loss_notice`.
    std::optional<duration> loss_margin{};
    drift_bound drift;
    duration instance_timeout{};
    /// What the values of its grants have to be.
    core::agreement agreement = agreement::none;
    /// Whether each holder has a value of its own, as a fence. Otherwise the value stays when the lease is handed off.
    bool value_per_holder = false;
    /// Between tries to give back what could not be.
    backoff release_retry{milliseconds(20), milliseconds(2000)};

    friend bool operator==(const lease_settings& a, const lease_settings& b) = default;
};

/// One token, from the attempt that it was drawn for to the last answer to its release. It knows which instances may have
/// the key, counts the votes on the attempt, keeps the lease renewed (`renew`), and gives it back (`release`). Or it goes on with a
/// token that another process has drawn: see `attempt::adopted`.
///
/// Algorithm: Redlock, https://redis.io/docs/latest/develop/use/patterns/distributed-locks/. The attempt sends
/// `step::acquire` to all instances at once, and ends as soon as the votes cannot change how.
///
/// A grant may bring a value, on which a quorum has to agree.
///
/// **The largest** (`agreement::largest`): a fence. It is larger than that of every lease granted before, because of two things:
///
/// - it is the largest value of a quorum of grants, and
/// - before the lease is handed out, the counters of a majority are no less than it, each while the
///   key there was ours.
///
/// Any quorum of later grants shares an instance with that majority, and what it grants is larger. So
/// if all grants of the quorum have one value, that is the fence, in one round trip. Otherwise the
/// largest is, and a second round writes it back: `raise`. The validity counts from before the first.
///
/// A grant that comes later may have a larger value still, and that changes nothing: the majority that
/// knows our fence is there without it, and a counter that is ahead only makes a later fence larger.
///
/// **The same** (`agreement::same`): the number of a permit. An instance gives a number to one token at a time. Two leases that
/// have quorums of one number each share an instance, so their numbers differ. If a quorum has granted and its numbers differ,
/// another round asks for a larger one: `retake`. Votes of an earlier round do not count, since a later one may have changed the
/// number there. An instance with another number than the lease's is corrected by a `heal`.
///
/// It acts by being resumed: feed it an event, carry out the step, feed it what comes next. An event that means nothing
/// as things stand has no effect. A vote always counts, however late it is fed; only a `timer` takes silence for an answer.
class lease {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,      ///< begin the attempt
            give_up,    ///< the attempt is not wanted any more
            vote,       ///< an instance voted on what was sent with `tag`
            accepting,  ///< an instance that was down takes commands again
            timer,      ///< the time to wait for has come
            extend,  ///< the holder asks for another `ttl`; not while an earlier one is unanswered
            next_holder,  ///< the holder lets go, and another in the same process is to have it: see `may_hand_off`
            /// Another holder in the same process is to have a share in it, with a new value. Only if each holder has its own, and
            /// not while an earlier one is unanswered.
            share,
            release,  ///< the holder lets go of what it has, or has lost
            abandon,  ///< the same, but the keys stay where they are until their ttl ends
            close,    ///< the client does: what is held is lost
        };
        kind_type kind = kind_type::start;
        std::size_t index = 0;
        lease_tag tag{lease_tag::purpose_type::acquire};
        const core::vote* vote = nullptr;
        duration ttl{};
        const core::attempt* attempt = nullptr;

        /// The event refers to the attempt.
        static event start(const core::attempt& attempt) {
            event e;
            e.attempt = &attempt;
            return e;
        }
        /// The event refers to the vote.
        static event voted(std::size_t index, lease_tag tag, const core::vote& v) {
            event e = just(kind_type::vote);
            e.index = index;
            e.tag = tag;
            e.vote = &v;
            return e;
        }
        static event accepting(std::size_t index) {
            event e = just(kind_type::accepting);
            e.index = index;
            return e;
        }
        static event extend(duration ttl) {
            event e = just(kind_type::extend);
            e.ttl = ttl;
            return e;
        }
        static event just(kind_type kind) {
            event e;
            e.kind = kind;
            return e;
        }
    };

    /// Refers to the settings for as long as it lives. `seed` feeds the jitter of the release.
    lease(const lease_settings& settings, std::uint64_t seed)
        : keys_(settings.instances, belief::maybe),
          votes_(settings.instances),
          settings_(&settings),
          ttl_(settings.ttl),
          seed_(seed) {}

    lease_step resume(const event& e, time_point now);

    /// What the command is that a step has said to send with that tag.
    [[nodiscard]] static core::step step_of(lease_tag tag) noexcept;

    /// Writes what it is to have.
    void fill(command& c, lease_tag tag) const noexcept;

    /// There are no connections any more: it has ended, without a step.
    void disconnect() noexcept;

    /// Whether another holder in the same process may have it, in place of a release and an acquire:
    /// it is renewed, has the ttl that it was taken with, and most of that is left.
    ///
    /// The next holder may need a value of its own. One round checks that the keys still hold our token, and
    /// brings new values; where these differ, a second round writes the largest back, as in an attempt. Then it is
    /// handed off; or, if there is no quorum for it, released. Meanwhile it belongs to nobody, and is renewed as ever.
    [[nodiscard]] bool may_hand_off(time_point now) const noexcept;

    /// Asked before a command is sent: false withdraws it, and the vote is failed, `withdrawn`. It
    /// may become false by a vote on an acquire that is no grant, and with the end of its attempt or
    /// of being held.
    [[nodiscard]] bool wanted(std::size_t index, lease_tag tag) const noexcept;

    // What is known.

    [[nodiscard]] bool acquiring() const noexcept {
        return status_ == status::attempting || status_ == status::raising;
    }
    [[nodiscard]] bool held() const noexcept {
        return status_ == status::held || status_ == status::sharing ||
               status_ == status::resharing;
    }
    /// Whether it was lost, and is still to be released by its holder.
    [[nodiscard]] bool lost() const noexcept { return status_ == status::lost; }
    [[nodiscard]] bool releasing() const noexcept { return status_ == status::releasing; }
    /// Whether its release has begun, and may have ended.
    [[nodiscard]] bool let_go() const noexcept { return releasing() || ended(); }
    [[nodiscard]] bool ended() const noexcept { return status_ == status::ended; }
    /// Whether its holder has let go of it without a release.
    [[nodiscard]] bool abandoned() const noexcept { return ended() && !outcome_; }
    [[nodiscard]] bool was_held() const noexcept { return was_held_; }

    /// The end of the validity as it stands; `time_point::min()` unless held.
    [[nodiscard]] time_point valid_until() const noexcept {
        return held() ? watchdog().valid_until() : time_point::min();
    }

    /// The votes on the latest round of the attempt. After a `share`, those on its latest round.
    [[nodiscard]] const round& votes() const noexcept { return votes_; }

    /// The value of its latest holder; 0 until it is known, and if grants bring none.
    [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

    /// All its values, if it has several: see `command::values`. Else null.
    [[nodiscard]] const std::string* values() const noexcept { return values_; }

    /// Whether an instance has reported that a waiter has announced itself at the key, which keeps others out.
    [[nodiscard]] bool is_announced() const noexcept { return is_announced_; }

    /// The instances that are not known to have the key.
    [[nodiscard]] instance_set without_key() const;

    /// Whether any instance may have the key.
    [[nodiscard]] bool may_have_keys() const noexcept;

    /// How the release ended; nothing until it has.
    [[nodiscard]] const std::optional<release_outcome>& outcome() const noexcept {
        return outcome_;
    }

    /// Whether a quorum has answered its release. False before that has begun; and again when an answer was too early, as a
    /// late grant shows, so that a quorum may have the key. (A lease that was lost has ended, however many have answered.)
    [[nodiscard]] bool answered() const noexcept {
        const bool may_be_locked =
            releasing() && lost_ == loss::none && giving_back().may_have_quorum();
        return outcome_ && *outcome_ != release_outcome::no_quorum && !may_be_locked;
    }

    /// Whether a client that is being closed need not wait for it any longer: it was released, a quorum
    /// has answered, and each instance that can be reached has, too.
    [[nodiscard]] bool settled(time_point now) const {
        return ended() || (releasing() && answered() && !giving_back().awaits_answer(now));
    }

    /// What the instances have answered to its release; once that has begun.
    [[nodiscard]] round release_votes() const { return giving_back().votes(); }

    /// While it is held, handed off or lost: what the watchdog knows.
    [[nodiscard]] const renew& watchdog() const noexcept { return *std::get_if<renew>(&part_); }

private:
    enum class status : std::uint8_t {
        attempting,
        raising,  // a later round of an attempt
        held,
        sharing,     // held, and a value for another holder is being asked for
        resharing,   // its second round
        counting,    // a value for the next holder
        recounting,  // its second round
        lost,
        releasing,
        ended,
    };
    /// Whether an instance has our key.
    enum class belief : std::uint8_t {
        no,
        maybe,
        yes,
        // It was sent another acquire, by a `retake`. If that turns out not to have been sent, or to have been refused:
        otherwise_no,
        otherwise_yes,
    };

    // One for each status; the rounds of an attempt, and of a hand-off, have one together.
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

    // What every vote needs comes first.
    status status_ = status::attempting;
    bool was_held_ = false;
    bool is_announced_ = false;
    loss lost_ = loss::none;
    std::optional<release_outcome> outcome_;
    per_instance<belief> keys_;
    instance_set open_ = instance_set::all();  // they may be about to execute an acquire or a heal
    round votes_;  // on the attempt, or on the hand-off that is under way
    lease_tag latest_{lease_tag::purpose_type::acquire};  // the round that these are on
    attempt attempt_;
    time_point sent_{};   // the attempt
    time_point asked_{};  // the round of the attempt, or of the hand-off, that is under way
    std::variant<std::monostate, renew, core::release> part_;  // renew until the release begins

    const lease_settings* settings_;
    duration ttl_;  // the longest that is in force anywhere
    std::uint64_t seed_;
    std::uint64_t value_ = 0;
    std::uint64_t next_value_ = 0;  // what the latest round asks for, at least
    // Of a lease with several values: those that it has, and what rounds have asked for.
    const std::string* values_ = nullptr;
    std::vector<std::unique_ptr<const std::string>> lists_;
    time_point stragglers_until_ = never;  // how long votes are awaited that may bring agreement
};

}  // namespace colock::core

#endif
