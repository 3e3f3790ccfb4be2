#ifndef COLOCK_CORE_RELEASE_HPP
#define COLOCK_CORE_RELEASE_HPP

#include "core/backoff.hpp"
#include "core/instance_set.hpp"
#include "core/per_instance.hpp"
#include "core/quorum.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace colock::core {

enum class release_outcome : std::uint8_t {
    released,   ///< it was ours to the end
    expired,    ///< its time was over, and the keys were gone, or not known to be somebody else's
    lost,       ///< keys were gone or somebody else's before the time was over
    no_quorum,  ///< too few answered to tell
};

struct release_settings {
    std::size_t instances = 1;
    duration instance_timeout{};
    core::backoff retry;
    /// Until when the lease is, or was, valid; `time_point::min()` for one that never was.
    time_point valid_until = time_point::min();
    /// From when on no server can have the key any more, so that there is nothing left to release: but for
    /// those that are still `open`.
    time_point gone_at = never;
    /// For how long a server keeps a key at most, with the drift.
    duration longest_life{};
};

/// Gives a token back: sends `step::release` to every instance that may hold it, says how that went
/// as soon as it is known, and goes on until each of them has answered or the keys have run out.
/// Serves a lease that is let go as well as an attempt that failed.
///
/// A server that was sent an acquire and has not answered it may execute it at any time: a server that was
/// stopped finds it in its socket when it goes on, however long the connection has been given up. Such an
/// instance is open. Its key cannot be said to have run out before a new connection has answered, since only
/// then what was sent before is known to have been executed.
///
/// To be resumed as `acquire` is: with `done` at once after `send` and `resolved`.
class release {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            done,        ///< the action was carried out
            vote,        ///< an instance voted on its release
            late_grant,  ///< an instance granted the acquire that is being given back
            accepting,   ///< an instance that was down takes commands again
            timer,       ///< the time to wait for has come
        };
        kind_type kind = kind_type::done;
        std::size_t index = 0;
        core::vote vote;

        static event start() { return {kind_type::start, 0, {}}; }
        static event done() { return {kind_type::done, 0, {}}; }
        static event voted(std::size_t index, const core::vote& v) {
            return {kind_type::vote, index, v};
        }
        static event late_grant(std::size_t index) { return {kind_type::late_grant, index, {}}; }
        static event accepting(std::size_t index) { return {kind_type::accepting, index, {}}; }
        static event timer() { return {kind_type::timer, 0, {}}; }
    };

    struct action {
        enum class kind_type : std::uint8_t {
            send,      ///< send `release` to those who are `wanted`
            wait,      ///< until an event, or `time`
            resolved,  ///< tell the caller `outcome`; comes once, and before `ended`
            /// Nothing is left to do. Said again to whatever comes later; but a late grant before
            /// `gone_at` is sent its release.
            ended,
        };
        kind_type kind = kind_type::wait;
        time_point time = never;
        release_outcome outcome = release_outcome::released;

        static action send() { return {kind_type::send, never, {}}; }
        static action wait(time_point until) { return {kind_type::wait, until, {}}; }
        static action resolved(release_outcome outcome) {
            return {kind_type::resolved, never, outcome};
        }
        static action ended() { return {kind_type::ended, never, {}}; }
    };

    /// `seed` feeds the jitter of the retries.
    release(const release_settings& settings, std::uint64_t seed);

    /// Before `start`: instance `index` may hold the token. The others are known not to.
    void concern(std::size_t index);

    /// Before `start`: it may be about to execute an acquire.
    void leave_open(std::size_t index) noexcept { open_.add(index); }

    /// It has answered its acquire, and may have executed that just now. True if `timer` has to be fed, since
    /// the time to wait for has changed.
    bool close(std::size_t index) noexcept {
        if (!open_.contains(index)) {
            return false;
        }
        open_.remove(index);
        answered_late_ = true;
        return resolved_ && open_.empty();
    }

    action resume(const event& e, time_point now);

    /// Counts a vote that settles nothing, and after which there is nothing to do but to wait on. For
    /// any other it is false, and `resume` has to be fed with it.
    bool note(std::size_t index, const vote& v) {
        const bool settles_nothing =
            v.kind == vote_kind::granted && count(progress::sent) > 1 &&
            (resolved_ || count(progress::deleted) + 1 < quorum_of(settings_.instances));
        if (!settles_nothing || instances_[index] != progress::sent) {
            return false;
        }
        open_.remove(index);
        set(index, progress::deleted);
        return true;
    }

    /// Instance `index` granted the acquire that is being given back. If it is being asked, it may turn
    /// out to have been asked too early. True if it is thought not to have the token: then `late_grant`
    /// has to be fed.
    bool note_grant(std::size_t index) {
        overtaking_[index] = overtaking_[index] || instances_[index] == progress::sent;
        return thinks_without(index);
    }

    /// After `send`: who is to be sent the command. (All, mostly, and then it is fast.)
    [[nodiscard]] instance_set wanted() const noexcept;

    /// What each instance has answered last, for people. Silence is a timeout, and who never had the
    /// token has denied.
    [[nodiscard]] round votes() const;

    /// Whether an instance that was sent the command may answer it yet: within its timeout.
    [[nodiscard]] bool awaits_answer(time_point now) const noexcept {
        return count(progress::to_send) + count(progress::sent) != 0 &&
               now < started_at_ + settings_.instance_timeout;
    }

    /// Whether `start` was given.
    [[nodiscard]] bool started() const noexcept { return started_; }

private:
    enum class progress : std::uint8_t {
        unconcerned,  // never held the token
        to_send,
        sent,
        to_retry,
        deleted,
        nobody,  // had no such key
        another,
        not_ours,  // one of these two
    };
    static constexpr std::size_t progress_values = 8;

    /// Whether instance `index` is thought not to have the token.
    [[nodiscard]] bool thinks_without(std::size_t index) const {
        switch (instances_[index]) {
            case progress::unconcerned:
            case progress::nobody:
            case progress::another:
            case progress::not_ours:
                return true;
            default:
                return false;
        }
    }
    static progress denied_by(core::key_state whose) noexcept;
    void on_vote(std::size_t index, const vote& v, time_point now);
    action advance(time_point now);
    [[nodiscard]] time_point gone_at() const noexcept;
    [[nodiscard]] bool resolve(time_point now);
    void set(std::size_t index, progress p);
    void replace(progress from, progress to);
    [[nodiscard]] std::size_t count(progress p) const noexcept {
        return counts_[static_cast<std::size_t>(p)];
    }

    // What every vote needs comes first.
    per_instance<progress> instances_;
    std::array<std::uint32_t, progress_values> counts_{};  // of the instances at each progress
    bool started_ = false;
    bool sending_ = false;  // `send` was said, and `done` was not
    bool resolved_ = false;
    release_outcome outcome_ = release_outcome::released;
    time_point started_at_{};
    time_point retry_at_ = never;
    release_settings settings_;
    std::uint64_t random_;
    per_instance<bool> overtaking_;  // its release was sent before its grant was heard of
    instance_set open_;              // they may be about to execute an acquire
    bool answered_late_ = false;     // one that was has answered, and the time has not been taken
    std::size_t tries_ = 0;
    std::vector<vote> failures_;  // the latest of each instance; empty until there is one
};

}  // namespace colock::core

#endif
