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

/// Identifies the command that a vote answers. The receiver chooses the value.
using command_tag = std::uint32_t;

/// Submits commands and receives the votes. It stays alive until all votes have arrived or the instance is
/// destroyed.
class vote_receiver {
public:
    /// Receives the vote of instance `index` on the command that was submitted with `tag`. Called exactly
    /// once per command and instance, and never during the submission. May submit commands.
    ///
    /// `now` is the time at which the vote arrived. All votes of one socket read have the same time.
    virtual void on_vote(std::size_t index, command_tag tag, const core::vote& vote,
                         core::time_point now) = 0;

    /// Called before a command of a batch with `reconsider` is sent. If it returns false, the command is
    /// withdrawn.
    virtual bool wanted(std::size_t index, command_tag tag) const = 0;

protected:
    ~vote_receiver() = default;
};

/// A command, its target instances and the receiver of their votes. The members that a vote needs come first.
struct submission {
    vote_receiver* receiver = nullptr;
    command_tag tag = 0;
    core::instance_set targets = core::instance_set::all();
    kinds::command command;

    [[nodiscard]] bool is_for(std::size_t index) const noexcept { return targets.contains(index); }
};

/// The commands that a client submits in one turn, in order. All instances share the same batch, because most
/// commands go to all of them. It is written once, encoded once, and read in place while the votes arrive.
/// Copies for each instance took a third of the CPU time of a lock.
class batch {
public:
    void submit(const submission& one) {
        submit(one.receiver, one.tag, one.targets, one.command.deadline) = one.command;
    }

    /// Adds a command of which only the deadline is set, and returns it for the caller to fill in. Writing
    /// the command in place is twice as fast as copying it.
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

    /// Marks the batch: some of its commands may not be wanted any more.
    void reconsider() noexcept { reconsider_ = true; }

    /// Removes all commands, but keeps the memory.
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

    /// Returns whether every command targets that instance, is still wanted and is in time. The batch may
    /// then be sent unchanged.
    [[nodiscard]] bool unquestioned(std::size_t index, core::time_point now) const noexcept {
        return for_whom_.contains(index) && !reconsider_ && now <= earliest_deadline_;
    }

private:
    std::vector<submission> submissions_;
    core::time_point earliest_deadline_ = core::never;
    // Instances that all commands target.
    core::instance_set for_whom_ = core::instance_set::all();
    bool reconsider_ = false;
};

}  // namespace colock::instance

#endif
