// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_RELEASE_HPP
#define COLOCK_CORE_RELEASE_HPP

#include "core/backoff.hpp"
#include "core/instance_set.hpp"
#include "core/lease_step.hpp"
#include "core/per_instance.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace colock::core {

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
/// To be resumed as `lease` is, of which it is a part. It sends `release`; says `resolved`, and `ended` when nothing is left
/// to do. `ended` is final for the lease, which tells it nothing more.
class release {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            vote,       ///< an instance voted on its release
            late_vote,  ///< an instance voted on the acquire, or heal, that is being given back
            accepting,  ///< an instance that was down takes commands again
            timer,      ///< the time to wait for has come
        };
        kind_type kind = kind_type::start;
        std::size_t index = 0;
        const core::vote* vote = nullptr;

        static event start() { return {}; }
        /// The event refers to the vote.
        static event voted(std::size_t index, const core::vote& v) {
            return {kind_type::vote, index, &v};
        }
        /// The event refers to the vote.
        static event late(std::size_t index, const core::vote& v) {
            return {kind_type::late_vote, index, &v};
        }
        static event accepting(std::size_t index) { return {kind_type::accepting, index, nullptr}; }
        static event timer() { return {kind_type::timer, 0, nullptr}; }
    };

    /// The instances in `holding` may hold the token, and the others are known not to. Of those, the ones in `open` may be about
    /// to execute an acquire. `seed` feeds the jitter of the retries.
    release(const release_settings& settings, instance_set holding, instance_set open,
            std::uint64_t seed);

    lease_step resume(const event& e, time_point now);

    /// What each instance has answered last, for people. Silence is a timeout, and an instance that
    /// never had the token has denied.
    [[nodiscard]] round votes() const;

    /// Whether an instance that was sent the command may answer it yet: within its timeout.
    [[nodiscard]] bool awaits_answer(time_point now) const noexcept {
        return count(progress::to_send) + count(progress::sent) != 0 &&
               now < started_at_ + settings_.instance_timeout;
    }

    /// Whether those that may have the token could be a quorum. A late grant may make it so after the outcome was told.
    [[nodiscard]] bool may_have_quorum() const noexcept {
        return count(progress::to_send) + count(progress::sent) + count(progress::to_retry) >=
               quorum_of(settings_.instances);
    }

private:
    enum class status : std::uint8_t {
        asking,    // the outcome is open
        retrying,  // it was told, and some are still to answer
        ended,
    };
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
    void on_late_vote(std::size_t index, const vote& v, time_point now);
    void close(std::size_t index, time_point now) noexcept;
    lease_step advance(time_point now);
    lease_step end(lease_step step) noexcept;
    [[nodiscard]] instance_set to_send() const noexcept;
    [[nodiscard]] time_point gone_at() const noexcept;
    [[nodiscard]] std::optional<release_outcome> outcome(time_point now) const;
    void set(std::size_t index, progress p);
    void replace(progress from, progress to);
    [[nodiscard]] std::size_t count(progress p) const noexcept {
        return counts_[static_cast<std::size_t>(p)];
    }

    // What every vote needs comes first.
    per_instance<progress> instances_;
    std::array<std::uint8_t, progress_values> counts_{};  // of the instances at each progress
    status status_ = status::asking;
    std::uint32_t tries_ = 0;
    time_point started_at_{};
    time_point retry_at_ = never;
    release_settings settings_;
    std::uint64_t random_;
    instance_set overtaking_;     // their releases were sent before their grants were heard of
    instance_set open_;           // they may be about to execute an acquire
    std::vector<vote> failures_;  // the latest of each instance; empty until there is one
};

}  // namespace colock::core

#endif
