// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_ROUND_HPP
#define COLOCK_CORE_ROUND_HPP

#include "core/per_instance.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::core {

/// The smallest number of instances such that any two sets of so many share one: the majority of
/// the *configured* instances, whether they are up or not.
constexpr std::size_t quorum_of(std::size_t instances) noexcept {
    return instances / 2 + 1;
}

/// How many instances may do without before a quorum is impossible.
constexpr std::size_t spare_of(std::size_t instances) noexcept {
    return instances - quorum_of(instances);
}

/// A record that instances have reported: see `key_state::completed`.
struct common_record {
    std::shared_ptr<const std::string> text;     ///< null: no instance has one
    std::size_t count = 0;                       ///< how many have this one
    milliseconds remaining = unknown_remaining;  ///< how long the last of these will live
};

/// The votes on one round: a command sent to all instances at once. Counts each instance once.
class round {
public:
    explicit round(std::size_t instances) : ballots_(instances) {}

    /// Forgets all votes.
    void clear();

    /// Counts the first vote of an instance; returns false, and ignores it, if it has voted before.
    bool record(std::size_t index, const vote& v);

    /// Votes `failed` with `reason` on behalf of each instance that has not voted.
    void fail_silent(failure reason);

    [[nodiscard]] std::size_t instances() const noexcept { return ballots_.size(); }
    [[nodiscard]] std::size_t granted() const noexcept { return granted_; }
    [[nodiscard]] std::size_t denied() const noexcept { return denied_; }
    [[nodiscard]] std::size_t failed() const noexcept { return failed_; }
    [[nodiscard]] std::size_t silent() const noexcept {
        return instances() - granted_ - denied_ - failed_;
    }

    /// A quorum has granted.
    [[nodiscard]] bool won() const noexcept { return granted_ >= quorum_of(instances()); }

    /// Whatever the silent ones say, there will be no quorum of grants.
    [[nodiscard]] bool impossible() const noexcept {
        return denied_ + failed_ > spare_of(instances());
    }

    /// There can be no quorum even if all that denied had granted: too few can be asked.
    [[nodiscard]] bool unreachable() const noexcept { return failed_ > spare_of(instances()); }

    /// If it is unreachable: when so many quarantines have ended that a quorum could grant; `never` if that is not known, or
    /// if too many have failed for other reasons. An instance that has not voted counts as if it could grant.
    [[nodiscard]] time_point reachable_from() const;

    /// Whether an instance that has failed may grant at any time. An instance in quarantine grants only when the quarantine
    /// ends. An instance that is down wakes the waiters when it is back.
    [[nodiscard]] bool may_recover_at_any_time() const;

    [[nodiscard]] bool is_silent(std::size_t index) const { return !ballots_[index].cast; }

    [[nodiscard]] bool has_granted(std::size_t index) const {
        return has_voted(index, vote_kind::granted);
    }

    [[nodiscard]] bool has_denied(std::size_t index) const {
        return has_voted(index, vote_kind::denied);
    }

    [[nodiscard]] bool has_failed(std::size_t index) const {
        return has_voted(index, vote_kind::failed);
    }

    /// The value that the grant of an instance has brought; 0 if it has brought none.
    [[nodiscard]] std::uint64_t value_of(std::size_t index) const noexcept {
        return values_.empty() ? 0 : values_[index];
    }

    /// What the grant of an instance has told beside its value: see `vote::detail`. Null if it has told nothing.
    [[nodiscard]] const std::string* text_of(std::size_t index) const noexcept {
        return remarks_.empty() ? nullptr : remarks_[index].detail.get();
    }

    /// Of the records that instances have denied with, the one that most have.
    [[nodiscard]] common_record record() const;

    /// The votes that have denied so cost the quorum.
    [[nodiscard]] bool impossible_by(key_state why) const;

    /// The vote of an instance, without its times; nothing while it is silent.
    [[nodiscard]] std::optional<vote> vote_of(std::size_t index) const;

private:
    struct ballot {
        bool cast = false;
        vote_kind kind = vote_kind::failed;
        failure reason = failure::none;
        core::key_state key = key_state::absent;
    };

    /// What few votes have.
    struct remark {
        std::shared_ptr<const std::string> detail;
        time_point quarantined_until = never;
        milliseconds remaining = unknown_remaining;
    };

    [[nodiscard]] bool has_voted(std::size_t index, vote_kind kind) const {
        return ballots_[index].cast && ballots_[index].kind == kind;
    }

    per_instance<ballot> ballots_;
    std::uint8_t granted_ = 0;
    std::uint8_t denied_ = 0;
    std::uint8_t failed_ = 0;
    std::vector<std::uint64_t> values_;  // empty until a vote has one
    std::vector<remark> remarks_;        // likewise
};

}  // namespace colock::core

#endif
