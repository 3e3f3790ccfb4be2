// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INSTANCE_BATCH_HPP
#define COLOCK_INSTANCE_BATCH_HPP

#include "core/instance_set.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace colock::instance {

/// Says which command of a receiver a vote answers; the receiver's own to choose.
using command_tag = std::uint32_t;

/// Submits commands and gets the votes. It stays alive until all of them have come, or the
/// instance is destroyed.
class vote_receiver {
public:
    /// The vote of instance number `index` on the command submitted with `tag`. Called exactly once
    /// for each command and instance, never while it is being submitted. May submit.
    ///
    /// The vote has come at the time `now`. All votes of one read of a socket have the same time.
    virtual void on_vote(std::size_t index, command_tag tag, const core::vote& vote,
                         core::time_point now) = 0;

    /// Asked before a command of a batch to `reconsider` is sent: false withdraws it.
    virtual bool wanted(std::size_t index, command_tag tag) const = 0;

protected:
    ~vote_receiver() = default;
};

/// A command, which instances it is for, and who wants their votes. What its votes need comes first.
struct submission {
    vote_receiver* receiver = nullptr;
    command_tag tag = 0;
    core::instance_set targets = core::instance_set::all();
    kinds::command command;

    [[nodiscard]] bool is_for(std::size_t index) const noexcept { return targets.contains(index); }
};

/// What a client submits in one turn, in order. All instances are given the same batch, and what a
/// lock does goes to all of them, so they share it: it is written once, encoded once, and read where
/// it is while the votes come in. (Copies for each instance were a third of what a lock costs.)
class batch {
public:
    void submit(const submission& one) {
        submit(one.receiver, one.tag, one.targets, one.command.deadline) = one.command;
    }

    /// Submits a command that is still to be filled in, but for its deadline. (To write it where it
    /// stays is twice as fast as to copy what was just written.)
    kinds::command& submit(vote_receiver* receiver, command_tag tag, core::instance_set targets,
                           core::time_point deadline) {
        submission& one = submissions_.emplace_back();
        one.receiver = receiver;
        one.tag = tag;
        one.targets = targets;
        one.command.deadline = deadline;
        earliest_deadline_ = std::min(earliest_deadline_, deadline);
        for_whom_.keep(targets);
        return one.command;
    }

    /// Some of it may not be wanted any more.
    void reconsider() noexcept { reconsider_ = true; }

    /// Makes it empty, with its memory kept.
    void clear() noexcept {
        submissions_.clear();
        earliest_deadline_ = core::never;
        for_whom_ = core::instance_set::all();
        reconsider_ = false;
    }

    [[nodiscard]] const std::vector<submission>& submissions() const noexcept {
        return submissions_;
    }
    [[nodiscard]] std::size_t size() const noexcept { return submissions_.size(); }
    [[nodiscard]] bool empty() const noexcept { return submissions_.empty(); }

    /// Whether all of it is for that instance, and still wanted and in time: then it may be sent as it is.
    [[nodiscard]] bool unquestioned(std::size_t index, core::time_point now) const noexcept {
        return for_whom_.contains(index) && !reconsider_ && now <= earliest_deadline_;
    }

private:
    std::vector<submission> submissions_;
    core::time_point earliest_deadline_ = core::never;
    core::instance_set for_whom_ = core::instance_set::all();  // all of it is
    bool reconsider_ = false;
};

}  // namespace colock::instance

#endif
