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

/// Returns the smallest size for which any two sets of instances overlap. This is the majority of the
/// *configured* instances, whether they are up or not.
constexpr std::size_t quorum_of(std::size_t instances) noexcept {
    // mutant: half_is_a_quorum
    return instances / 2 + 1;
}

/// Returns how many instances may fail or deny while a quorum is still possible.
constexpr std::size_t spare_of(std::size_t instances) noexcept {
    return instances - quorum_of(instances);
}

/// A record that instances have reported: see `key_state::completed`.
struct common_record {
    std::shared_ptr<const std::string> text;     ///< Null if no instance has a record.
    std::size_t count = 0;                       ///< How many instances have this record.
    milliseconds remaining = unknown_remaining;  ///< How long the last of its copies will live.
};

/// The votes on one round: a command that is sent to all instances at once. Each instance counts once.
class round {
public:
    explicit round(std::size_t instances) : ballots_(instances) {}

    /// Removes all votes.
    void clear();

    /// Counts the first vote of an instance. Returns false and ignores the vote if the instance has already
    /// voted.
    bool record(std::size_t index, const vote& v);

    /// Records a failed vote with `reason` for each instance that has not voted.
    void fail_silent(failure reason);

    [[nodiscard]] std::size_t instances() const noexcept { return ballots_.size(); }
    [[nodiscard]] std::size_t granted() const noexcept { return granted_; }
    [[nodiscard]] std::size_t denied() const noexcept { return denied_; }
    [[nodiscard]] std::size_t failed() const noexcept { return failed_; }
    [[nodiscard]] std::size_t silent() const noexcept {
        return instances() - granted_ - denied_ - failed_;
    }

    /// Returns whether a quorum has granted.
    [[nodiscard]] bool won() const noexcept { return granted_ >= quorum_of(instances()); }

    /// Returns whether a quorum of grants is impossible, whatever the silent instances vote.
    [[nodiscard]] bool impossible() const noexcept {
        return denied_ + failed_ > spare_of(instances());
    }

    /// Returns whether too many instances have failed for a quorum, even if all others grant.
    [[nodiscard]] bool unreachable() const noexcept { return failed_ > spare_of(instances()); }

    /// For an unreachable round, returns when enough quarantines have ended for a quorum to grant. Returns
    /// `never` if that is unknown, or if too many instances failed for other reasons. An instance that has
    /// not failed counts as able to grant.
    [[nodiscard]] time_point reachable_from() const;

    /// Returns whether a failed instance may grant at any time. A quarantined instance grants only when its
    /// quarantine ends. An instance that is down wakes the waiters when it is back.
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

    /// Returns the value of an instance's grant, or 0 if it has none.
    [[nodiscard]] std::uint64_t value_of(std::size_t index) const noexcept {
        return values_.empty() ? 0 : values_[index];
    }

    /// Returns the detail of an instance's grant, or null if it has none: see `vote::detail`.
    [[nodiscard]] const std::string* text_of(std::size_t index) const noexcept {
        return remarks_.empty() ? nullptr : remarks_[index].detail.get();
    }

    /// Returns the record that most of the denying instances have reported.
    [[nodiscard]] common_record record() const;

    /// Returns whether the denials with this key state alone make a quorum impossible.
    [[nodiscard]] bool impossible_by(key_state why) const;

    /// Returns the vote of an instance without its times. Returns nothing while the instance is silent.
    [[nodiscard]] std::optional<vote> vote_of(std::size_t index) const;

private:
    struct ballot {
        bool cast = false;
        vote_kind kind = vote_kind::failed;
        failure reason = failure::none;
        core::key_state key = key_state::absent;
    };

    /// The parts that few votes have.
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
    std::vector<std::uint64_t> values_;  // Empty until a vote has a value.
    std::vector<remark> remarks_;        // Empty until a vote has a remark.
};

}  // namespace colock::core

#endif
