// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// The rules of `checker` that compare the instances with what a caller was told, at that moment.

#include "simulation/checker.hpp"
#include "simulation/client.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>

namespace colock::simulation {
namespace {

constexpr std::uint64_t bit_of(std::size_t instance) {
    return std::uint64_t{1} << instance;
}

}  // namespace

/// Returns the instances that have a key of the token. Instances that may have it again do not count, nor do
/// those that may have executed a late command.
std::uint64_t checker::certainly_held_at(const token_life& life) const {
    return held_at(life) & ~given_again() & ~set_back_at() & ~life.late_at & ~life.open_at;
}

/// Checks the result of a release. A lease that was lost may be reported as expired before its keys are gone.
void checker::on_release_told(const token_life& life, runtime::lease_result result,
                              core::release_outcome outcome) {
    using core::release_outcome;
    const bool is_answer =
        result == runtime::lease_result::done || result == runtime::lease_result::no_quorum;
    if (!is_answer || !life.let_go || life.abandoned || life.adopted_as != nullptr) {
        return;
    }
    ++world_.tally.releases_told;
    const std::uint64_t left = certainly_held_at(life);
    const bool may_be_early = life.lost || !world_.profile().claims.mutual_exclusion;
    switch (outcome) {
        case release_outcome::released:
            if (is_quorum(left)) {
                world_.violation("released",
                                 describe(life) + " is said to be released, and a quorum has it");
            }
            break;
        case release_outcome::expired:
            if (is_quorum(left) && !may_be_early) {
                world_.violation("released",
                                 describe(life) + " is said to have ended, and a quorum has it");
            }
            break;
        case release_outcome::lost:
            if (is_quorum((left | life.deleted_at) & ~life.late_at & ~given_again())) {
                world_.violation("released", describe(life) +
                                                 " is said to be lost, and a quorum had it until "
                                                 "its release");
            }
            break;
        case release_outcome::no_quorum:
            if (is_quorum(life.release_answered_at & ~life.late_at & ~life.granted_after)) {
                world_.violation("released", describe(life) +
                                                 " is said to have no quorum of answers, and a "
                                                 "quorum has answered its release");
            }
            break;
    }
}

/// Checks an acquire that has failed. `last` is its latest attempt.
void checker::on_not_acquired(const token_life& last, const runtime::lock_policy& policy,
                              core::acquire_outcome outcome) {
    const bool is_refusal =
        outcome == core::acquire_outcome::contended || outcome == core::acquire_outcome::no_quorum;
    // The others need a further round, which may fail.
    const bool has_one_round = !last.is_permit() && !policy.lease.value_per_holder;
    if (is_refusal && has_one_round && is_quorum(last.granted_in_time)) {
        world_.violation("not acquired",
                         describe(last) + " is said to have failed, and a quorum has granted it");
    }
}

/// Checks the text of a detached lease, and that its keys stay until somebody adopts it.
void checker::on_detached(const token_life& life, const runtime::handover& text) {
    const bool has_slots = !life.is_permit() || life.slots != 0;
    std::uint64_t named =
        life.destroyed_at | life.completed_at | quarantined_at(life, world_.now());
    for (std::size_t i = 0; i != voters_.size(); ++i) {
        const bool has_all = life.is_permit()
                                 ? voters_[i]->slots_of(text.keys.front(), text.token) == life.slots
                                 : std::ranges::all_of(text.keys, [&](const std::string& name) {
                                       return voters_[i]->holds(name, text.token);
                                   });
        named |= has_all ? bit_of(i) : 0;
    }
    const bool is_promised = world_.profile().claims.mutual_exclusion;
    if (text.keys != life.names || (is_promised && has_slots && !is_quorum(named))) {
        world_.violation("detached", describe(life) + " is handed over as " + text.token +
                                         ", which no quorum has");
        return;
    }
    expect_backed(life, life.valid_until);
    world_.at(life.owner.clock().when(life.valid_until) - std::chrono::microseconds(2),
              [this, &life] {
                  if (life.adopted_as == nullptr) {
                      expect_backed(life, life.owner.now());
                  }
              });
}

/// Checks an adoption that was said to be lost.
void checker::expect_lost(const token_life& life) {
    const bool has_slots = !life.is_permit() || life.slots != 0;
    const std::uint64_t left =
        backed_at(life) & ~given_again() & ~set_back_at() & ~life.late_at & ~life.open_at;
    if (has_slots && !life.outcome_unknown && is_quorum(left)) {
        world_.violation("not adopted",
                         describe(life) + " is said to be lost, and a quorum has it");
    }
}

}  // namespace colock::simulation
