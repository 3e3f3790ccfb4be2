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
    /// Until when the lease is, or was, valid. `time_point::min()` if it never was.
    time_point valid_until = time_point::min();
    /// The time from which no server can have the key any more, so that nothing is left to release. It does
    /// not apply to instances that are still open.
    time_point gone_at = never;
    /// The maximum time for which a server keeps a key, with the drift.
    duration longest_life{};
};

/// Releases a token. It sends `step::release` to every instance that may hold the token, and reports the
/// outcome as soon as it is known. It continues until each of them has replied, or the keys have expired. It
/// serves a lease that was held as well as an attempt that failed.
///
/// A server that was sent an acquire and has not replied may execute it at any time. A stopped server finds
/// it in its socket when it resumes, even if the connection was given up long before. Such an instance is
/// open. Its key is not considered expired before a new connection has answered. Only then is
/// everything that was sent before known to have been executed.
///
/// It is a part of `lease`, and is resumed in the same way. It sends `release`. It reports `resolved`, and
/// `ended` when nothing is left to do. After `ended` it gets no further events.
class release {
public:
    struct event {
        enum class kind_type : std::uint8_t {
            start,
            vote,       ///< An instance voted on its release.
            late_vote,  ///< An instance voted on the acquire or heal that is being released.
            accepting,  ///< An instance that was down takes commands again.
            timer,      ///< The time to wait for has come.
        };
        kind_type kind = kind_type::start;
        /// For `timer`: whether a quorum has not been silent for long.
        bool instances_answer = false;
        std::size_t index = 0;
        const core::vote* vote = nullptr;

        static event start() { return {}; }
        /// The event refers to the vote.
        static event voted(std::size_t index, const core::vote& v) {
            return {kind_type::vote, false, index, &v};
        }
        /// The event refers to the vote.
        static event late(std::size_t index, const core::vote& v) {
            return {kind_type::late_vote, false, index, &v};
        }
        static event accepting(std::size_t index) {
            return {kind_type::accepting, false, index, nullptr};
        }
        static event timer(bool instances_answer = false) {
            return {kind_type::timer, instances_answer, 0, nullptr};
        }
    };

    /// The instances in `holding` may hold the token, and the others are known not to. Of these, the
    /// instances in `open` may be about to execute an acquire. `seed` feeds the jitter of the retries.
    release(const release_settings& settings, instance_set holding, instance_set open,
            std::uint64_t seed);

    lease_step resume(const event& e, time_point now);

    /// Returns the latest reply of each instance, for diagnostics. Silence counts as a timeout. An instance
    /// that never had the token counts as a denial.
    [[nodiscard]] round votes() const;

    /// Returns whether an instance that was sent the command may still reply within its timeout.
    [[nodiscard]] bool awaits_answer(time_point now) const noexcept {
        return count(progress::to_send) + count(progress::sent) != 0 && now < answer_due_;
    }

    /// Returns whether the instances that may have the token could be a quorum. A late grant may make this
    /// true after the outcome was reported.
    [[nodiscard]] bool may_have_quorum() const noexcept {
        return count(progress::to_send) + count(progress::sent) + count(progress::to_retry) >=
               quorum_of(settings_.instances);
    }

private:
    enum class status : std::uint8_t {
        asking,    // The outcome is open.
        retrying,  // The outcome was reported, and some instances have not replied yet.
        ended,
    };
    enum class progress : std::uint8_t {
        unconcerned,  // It never held the token.
        to_send,
        sent,
        to_retry,
        deleted,
        nobody,  // It had no such key.
        another,
        not_ours,  // One of these two.
    };
    static constexpr std::size_t progress_values = 8;

    /// Returns whether instance `index` is believed not to have the token.
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

    // Members that every vote needs come first.
    per_instance<progress> instances_;
    // The number of instances at each progress.
    std::array<std::uint8_t, progress_values> counts_{};
    status status_ = status::asking;
    std::uint32_t tries_ = 0;
    time_point started_at_{};
    time_point answer_due_{};  // The replies are silence then.
    time_point retry_at_ = never;
    release_settings settings_;
    std::uint64_t random_;
    instance_set overtaking_;     // Their releases were sent before their grants arrived.
    instance_set open_;           // They may be about to execute an acquire.
    std::vector<vote> failures_;  // The latest of each instance. Empty until there is one.
};

}  // namespace colock::core

#endif
