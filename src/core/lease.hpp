#ifndef COLOCK_CORE_LEASE_HPP
#define COLOCK_CORE_LEASE_HPP

#include "core/backoff.hpp"
#include "core/command.hpp"
#include "core/fence_tally.hpp"
#include "core/instance_set.hpp"
#include "core/per_instance.hpp"
#include "core/quorum.hpp"
#include "core/release.hpp"
#include "core/renew.hpp"
#include "core/time.hpp"
#include "core/validity.hpp"
#include "core/vote.hpp"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>

namespace colock::core {

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
    drift_bound drift;
    duration instance_timeout{};
    /// Whether it has a fence.
    bool fencing = false;
    /// Between tries to give back what could not be.
    backoff release_retry{milliseconds(20), milliseconds(2000)};

    friend bool operator==(const lease_settings& a, const lease_settings& b) = default;
};

/// Says what a command of a lease was sent for; comes back with its vote.
class lease_tag {
public:
    enum class purpose_type : std::uint8_t {
        acquire,
        extend,
        release,
        remaining,
        heal,   ///< an acquire that gives an instance its key back
        raise,  ///< the second round of an attempt with fencing
        count,  ///< a fence for the next holder, inside the same client
    };

    constexpr explicit lease_tag(purpose_type purpose, std::uint32_t round = 0) noexcept
        : value_((round << purpose_bits) | static_cast<std::uint32_t>(purpose)) {}

    /// From what `value` told.
    static constexpr lease_tag from(std::uint32_t value) noexcept {
        lease_tag result(purpose_type::acquire);
        result.value_ = value;
        return result;
    }

    [[nodiscard]] constexpr purpose_type purpose() const noexcept {
        return static_cast<purpose_type>(value_ & ((1U << purpose_bits) - 1U));
    }
    /// Of `extend`: the number of the renewal; of `count`, that of the round.
    [[nodiscard]] constexpr std::uint32_t round() const noexcept { return value_ >> purpose_bits; }
    [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }

private:
    static constexpr unsigned purpose_bits = 3;
    static_assert(renew::round_numbers <= std::uint32_t{1} << (32 - purpose_bits));
    std::uint32_t value_;
};

/// A token's life: from the first command of an attempt that carries it, over being held, until each
/// instance has answered its release. It knows which instances may have the key, and has it given
/// back by all of these; composed of `renew` while it is held, and of `release` afterwards. Nothing
/// that could make or prolong a key is sent after the lease was lost or released.
///
/// A lost lease keeps its keys until its holder has released it, or until the validity that the holder
/// was promised has ended: the holder may still be at work when it hears of the loss, and nobody else
/// is to have the lock until it has stopped.
///
/// It acts by being called: each member that takes `now` returns an action. Carry it out, then call
/// `next`, until it says `wait`; then call what comes first, at the latest `on_time` at the time that
/// it said. While its attempt is running, `acquire` waits in its place, and says `hold` or `give_back`.
class lease {
public:
    struct action {
        enum class kind_type : std::uint8_t {
            wait,      ///< until something happens, or `time`; the only one without a `next`
            send,      ///< send `step` with `ttl`, as `tag`, to the `targets`
            extended,  ///< what the holder asked for with `extend` is done, or failed: see `success`
            lost,  ///< the lease ends by itself: see `why`; its holder is to stop, and to release it
            handed_off,  ///< after `begin_handoff`: the next holder may have it, with `fence()`
            resolved,    ///< `outcome()` is known
            ended,       ///< nothing is left to do; comes once
        };

        kind_type kind = kind_type::wait;
        core::step step = step::acquire;
        bool success = false;
        bool contended = false;  ///< of the command: see `core::command`
        loss why = loss::keys_gone;
        lease_tag tag{lease_tag::purpose_type::acquire};
        instance_set targets = instance_set::all();
        duration ttl{};
        std::uint64_t fence = 0;  ///< of the command: see `core::command`
        time_point time = never;

        static action wait(time_point until) {
            action a;
            a.time = until;
            return a;
        }
        static action send(core::step step, lease_tag tag, duration ttl,
                           instance_set targets = instance_set::all(), std::uint64_t fence = 0) {
            action a;
            a.kind = kind_type::send;
            a.step = step;
            a.tag = tag;
            a.ttl = ttl;
            a.targets = targets;
            a.fence = fence;
            return a;
        }
        static action extended(bool success) {
            action a;
            a.kind = kind_type::extended;
            a.success = success;
            return a;
        }
        static action lost(loss why) {
            action a;
            a.kind = kind_type::lost;
            a.why = why;
            return a;
        }
        static action just(kind_type kind) {
            action a;
            a.kind = kind;
            return a;
        }
    };

    /// Refers to the settings for as long as it lives. `seed` feeds the jitter of the release.
    lease(const lease_settings& settings, std::uint64_t seed)
        : keys_(settings.instances, belief::maybe),
          settings_(&settings),
          ttl_(settings.ttl),
          seed_(seed) {}

    // The attempt.

    /// Sends it. `contended`: after one that was denied.
    action start(bool contended = false);

    /// It has won, and writes its fence back: see `acquire`.
    action raise(std::uint64_t fence);

    /// It has won: the watchdog begins. `fence` is 0 without fencing.
    action hold(time_point valid_until, time_point now, std::uint64_t fence = 0);

    /// It has failed, or is not wanted any more: takes back what it got or may get.
    action give_back(time_point now);

    /// How long will an instance that denied say no? For the operation whose attempt this was.
    [[nodiscard]] static action ask_remaining(std::size_t index) {
        return action::send(step::remaining, lease_tag(lease_tag::purpose_type::remaining), {},
                            instance_set::only(index));
    }

    /// Its operation does not want to hear of the attempt any more.
    void detach() noexcept { awaited_ = false; }

    // The holder. None of these has an effect unless it is held.

    /// Asks for another ttl. Not while an earlier one is unanswered; but after `extended`, in place
    /// of `next`, is the time for another.
    action extend(duration ttl, time_point now);

    /// Lets go of it. Has an effect on a lost lease, too.
    action release(time_point now);

    /// Lets it be lost.
    action close(time_point now);

    /// Whether another holder in the same process may have it, in place of a release and an acquire:
    /// it is renewed, has the ttl that it was taken with, and most of that is left.
    [[nodiscard]] bool may_hand_off(time_point now) const noexcept;

    /// Without fencing: it has another holder.
    void hand_off(time_point now) noexcept {
        renewing().hand_off(now);
        ++holder_;
    }

    /// With fencing: its holder has let go, and the next one needs a fence of its own. One round checks
    /// that the keys still hold our token, and moves the counters on; where these differ, a second round
    /// writes the largest back, as in `acquire`. Then `passed`; or, if there is no quorum for it, the
    /// lease is released. While the round is under way it belongs to nobody, and is renewed as ever.
    action begin_handoff(time_point now);

    // The world.

    /// Counts a vote that settles nothing, and after which there is nothing to do but to wait on. For
    /// any other it is false, and `on_vote` has to be called with it.
    bool note(std::size_t index, lease_tag tag, const vote& v) {
        switch (tag.purpose()) {
            case lease_tag::purpose_type::acquire:
                learn(index, v);
                return !learn_whether_executed(index, v) && !note_late_grant(index, v);
            case lease_tag::purpose_type::release:
                return phase_ != phase::releasing || giving_back().note(index, v);
            case lease_tag::purpose_type::extend:
                return !renewed();
            case lease_tag::purpose_type::count:
                return phase_ != phase::handing_off;
            case lease_tag::purpose_type::heal:
                if (v.kind == vote_kind::granted) {
                    keys_[index] = belief::yes;
                }
                return !learn_whether_executed(index, v) && !note_late_grant(index, v);
            case lease_tag::purpose_type::remaining:
            case lease_tag::purpose_type::raise:
                break;
        }
        return true;
    }

    /// A vote that was not to be noted.
    action on_vote(std::size_t index, lease_tag tag, const vote& v, time_point now);

    /// An instance that was down takes commands again.
    action on_accepting(std::size_t index, time_point now);

    /// The time to wait for has come.
    action on_time(time_point now);

    /// The action was carried out.
    action next(time_point now);

    /// There are no connections any more: it has ended, without an action.
    void disconnect() noexcept;

    /// Asked before a command is sent: false withdraws it, and the vote is failed, `withdrawn`. It
    /// may become false by a vote on an acquire that is no grant, and with the end of its attempt or
    /// of being held.
    [[nodiscard]] bool wanted(std::size_t index, lease_tag tag) const noexcept {
        switch (tag.purpose()) {
            case lease_tag::purpose_type::acquire:
            case lease_tag::purpose_type::raise:
                return phase_ == phase::acquiring || renewed();
            case lease_tag::purpose_type::release:
                return keys_[index] != belief::no;
            case lease_tag::purpose_type::remaining:
                return awaited_;
            case lease_tag::purpose_type::count:
                return phase_ == phase::handing_off;
            case lease_tag::purpose_type::extend:
            case lease_tag::purpose_type::heal:
                break;
        }
        return renewed();  // these stop strictly before the release
    }

    // What is known.

    [[nodiscard]] bool acquiring() const noexcept { return phase_ == phase::acquiring; }
    [[nodiscard]] bool held() const noexcept { return phase_ == phase::held; }
    /// Whether it was lost, and is still to be released by its holder.
    [[nodiscard]] bool lost() const noexcept { return phase_ == phase::lost; }
    [[nodiscard]] bool releasing() const noexcept { return phase_ == phase::releasing; }
    /// Whether its release has begun, and may have ended.
    [[nodiscard]] bool let_go() const noexcept {
        return phase_ == phase::releasing || phase_ == phase::ended;
    }
    [[nodiscard]] bool ended() const noexcept { return phase_ == phase::ended; }
    [[nodiscard]] bool was_held() const noexcept { return was_held_; }

    /// The end of the validity as it stands; `time_point::min()` unless held.
    [[nodiscard]] time_point valid_until() const noexcept {
        return held() ? watchdog().valid_until() : time_point::min();
    }

    /// The fence of its latest holder; 0 until it is known, and without fencing.
    [[nodiscard]] std::uint64_t fence() const noexcept { return fence_; }

    /// The number of its latest holder: how often it was handed off.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holder_; }

    /// Whether an instance has told that a writer waits for what this reader holds.
    [[nodiscard]] bool awaited_by_writer() const noexcept { return awaited_by_writer_; }

    /// Whether any instance may have the key.
    [[nodiscard]] bool may_have_keys() const noexcept;

    /// How the release ended; nothing until it has.
    [[nodiscard]] const std::optional<release_outcome>& outcome() const noexcept {
        return outcome_;
    }

    /// Whether a quorum has answered its release. False before that has begun.
    [[nodiscard]] bool answered() const noexcept {
        return outcome_ && *outcome_ != release_outcome::no_quorum;
    }

    /// Whether a client that is being closed need not wait for it any longer: it was released, a quorum
    /// has answered, and each instance that can be reached has, too.
    [[nodiscard]] bool settled(time_point now) const {
        return ended() || (releasing() && answered() && !giving_back().awaits_answer(now));
    }

    /// What the instances have answered to its release; once that has begun.
    [[nodiscard]] round release_votes() const { return giving_back().votes(); }

    /// While it is held, handed off or lost: what the watchdog knows.
    [[nodiscard]] const renew& watchdog() const noexcept { return present<const renew>(machine_); }

private:
    enum class phase : std::uint8_t { acquiring, held, handing_off, lost, releasing, ended };
    enum class belief : std::uint8_t { no, maybe, yes };  // whether an instance has our key

    /// The round by which a fenced lease is handed off.
    struct handoff_round {
        explicit handoff_round(std::size_t instances) : votes(instances) {}
        round votes;
        fence_tally fences;
        bool writes_back = false;  // the second round
        time_point timeout{};
    };

    [[nodiscard]] bool renewed() const noexcept {
        return phase_ == phase::held || phase_ == phase::handing_off;
    }

    /// The machine of the phase. (Which it is, the phase has told: the variant's own word, in another
    /// cache line, need not be asked.)
    template <typename Machine, typename Variant>
    [[nodiscard]] static Machine& present(Variant& machine) noexcept {
        Machine* const result = std::get_if<std::remove_const_t<Machine>>(&machine);
        assert(result != nullptr);
        if (result == nullptr) {
            __builtin_unreachable();
        }
        return *result;
    }
    [[nodiscard]] renew& renewing() noexcept { return present<renew>(machine_); }
    [[nodiscard]] core::release& giving_back() noexcept { return present<core::release>(machine_); }
    [[nodiscard]] const core::release& giving_back() const noexcept {
        return present<const core::release>(machine_);
    }

    /// From a vote on an acquire or a heal. True if its release has to hear of it.
    bool learn_whether_executed(std::size_t index, const vote& v) noexcept {
        if (v.reason == failure::connection_lost || v.reason == failure::timeout) {
            return false;  // it may be, at any time
        }
        open_.remove(index);
        return phase_ == phase::releasing && giving_back().close(index);
    }
    void learn(std::size_t index, const vote& v) noexcept {
        if (v.kind == vote_kind::granted) {
            keys_[index] = belief::yes;
        } else if (v.kind == vote_kind::denied || !outcome_unknown(v.reason)) {
            keys_[index] = belief::no;
        }
    }
    /// True if it matters now.
    bool note_late_grant(std::size_t index, const vote& v) {
        return phase_ == phase::releasing && v.kind == vote_kind::granted &&
               giving_back().note_grant(index);
    }

    action ask_for_fence(std::uint64_t at_least, time_point now);
    action decide_handoff(time_point now);
    action lose(loss why);
    action wait_for_holder(time_point now);
    [[nodiscard]] time_point promised_until() const noexcept;
    action begin_release(time_point now, time_point valid_until);
    action perform(const renew::action& a, time_point now);
    action perform(const core::release::action& a);
    [[nodiscard]] release_outcome outcome_to_tell(release_outcome outcome) const noexcept;

    // What every vote needs comes first.
    phase phase_ = phase::acquiring;
    bool was_held_ = false;
    bool awaited_by_writer_ = false;
    bool awaited_ = true;  // by the operation whose attempt this is
    loss lost_ = loss::none;
    std::optional<release_outcome> outcome_;
    per_instance<belief> keys_;
    instance_set open_ = instance_set::all();  // they may be about to execute an acquire or a heal
    std::variant<std::monostate, renew, core::release> machine_;  // renew until the release begins
    std::unique_ptr<handoff_round> handoff_;                      // while it is handed off

    const lease_settings* settings_;
    duration ttl_;  // the longest that is in force anywhere
    std::uint64_t seed_;
    std::uint64_t fence_ = 0;
    std::uint32_t holder_ = 0;
    std::uint32_t handoff_number_ = 0;  // of the latest round of that kind
};

}  // namespace colock::core

#endif
