// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_LIFE_HPP
#define COLOCK_TEST_SIMULATION_LIFE_HPP

#include "simulation/permit.hpp"
#include "simulation/time.hpp"

#include "kinds/shared/shared.hpp"
#include "runtime/lock_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {

class client;

}  // namespace colock::simulation

namespace colock::runtime {
class lease_driver;
}

namespace colock::simulation {

/// What the checkers derive about a token from its commands, their votes, and the results that the client's
/// users see. Sets of instances are bit masks.
struct token_life {
    token_life(client& o, std::vector<std::string> all, std::string t)
        : owner(o),
          key(all.front()),
          names(std::move(all)),
          token(std::move(t)),
          wish(wish_of(token)) {}

    [[nodiscard]] bool is_permit() const { return wish.limit != 0; }

    /// Returns whether the token is a reader's, or a writer's whose downgrade was requested.
    [[nodiscard]] bool is_shared() const { return kinds::is_reader(token); }

    client& owner;
    std::string key;                 // The first of its names.
    std::vector<std::string> names;  // Several for a lock with several names.
    std::string token;               // With the prefix of readers once that was requested.
    permit_wish wish;                // For a semaphore's lease.
    /// The lock's policy. Set when the lease is handed out.
    std::shared_ptr<const runtime::lock_policy> policy{};

    std::size_t unanswered = 0;    // Number of pending votes.
    bool denied = false;           // An instance has denied the lock.
    bool outcome_unknown = false;  // The outcome of one of its commands is unknown.
    std::uint64_t may_have = 0;    // Instances that may have its key, given the replies so far.
    std::uint64_t deleted_at = 0;  // Instances that report that a release has deleted it.
    std::uint64_t release_answered_at = 0;  // Instances that have granted or denied a release.
    std::uint64_t granted_after = 0;        // Instances whose grant arrived after the release.
    std::uint64_t granted_in_time = 0;      // Instances that granted before the attempt was over.
    std::uint64_t extended_by = 0;          // Instances that granted the latest round.
    std::uint64_t denied_by = 0;            // Instances that denied the latest round.
    std::uint32_t latest_round = 0;
    // No quorum has extended the lease since its attempt, or since an instance has come back.
    bool may_restore = true;
    // The round in which a key is restored on an instance that came back in the round before.
    std::uint32_t restores_in_round = 0;
    bool reads_by_latest_round = false;  // The latest round uses a reader's token.
    std::uint64_t destroyed_at = 0;
    /// Instances that may still execute an acquire or a `heal`. No later connection has ruled this out.
    std::uint64_t open_at = 0;
    /// By instance, the time at which this was ruled out.
    std::map<std::size_t, core::time_point> closed_at{};
    std::uint64_t late_at = 0;       // Instances that granted a key or a ttl after the release.
    std::uint64_t forgotten_at = 0;  // Instances that lost the key in a restart.
    core::duration longest_ttl{};

    core::time_point asked{};  // When its acquire was sent.
    bool counts = false;       // Counts as a lease that may be valid.
    core::time_point valid_since{};
    core::time_point valid_until{};    // Valid while `counts` is set.
    bool was_writers = false;          // A writer's lease whose downgrade was requested or is done.
    bool downgraded = false;           // A quorum has replied to a round with the reader's token.
    bool admits_readers = false;       // The client has reported the downgrade.
    core::time_point granted{};        // Time of the grant, or when it began to admit readers.
    core::time_point handoff_since{};  // When the previous holder released.
    bool handing_off = false;          // The hand-off takes a round of its own.
    bool lost = false;                 // Possibly not yet released.
    // Keys may be lost, so closing need not wait for its release.
    bool lost_its_keys = false;
    bool release_asked_for = false;  // The release has not been sent yet.
    bool let_go = false;             // Released or abandoned.
    bool abandoned = false;
    core::time_point let_go_at{};
    bool may_end = false;     // The client has no work left for it.
    bool could_end = false;   // `may_end` was true once.
    bool could_know = false;  // At that time, the client was certain where its keys were.
    /// By instance, an increasing number of the first grant. Recorded until the lease is handed out.
    std::map<std::size_t, std::uint64_t> granted_at{};

    // For a semaphore's lease:

    slot_set slots = 0;               // Set once it was granted.
    std::uint32_t attempt_round = 0;  // The latest round.
    // The slots that it has brought, by instance.
    std::map<std::size_t, slot_set> slots_by_round{};
    std::vector<slot_numbers> heard_by_round{};  // The same as numbers, in the order of arrival.
    std::uint64_t denied_by_attempt = 0;         // Instances that denied the latest round.
    // Instances that may have its key only by the latest round.
    std::uint64_t only_by_retake = 0;
    bool is_first_look = false;          // The attempt only checks whether there is a key.
    bool could_win = false;              // At its beginning, if no other client interferes.
    std::size_t uneven_slots = 0;        // At its beginning: slots free on some instances only.
    std::uint64_t grants_of_others = 0;  // At its beginning: grants of others for its key.
    std::uint64_t own_grants = 0;
    bool vote_failed = false;  // A vote on a round of the attempt has failed.

    // For a name that is run once: the instances on which a record has replaced the token.
    std::uint64_t completed_at = 0;
    bool completes = false;  // Such a record was sent. No body runs under the lease any longer.

    // The attempt is being rolled back, or has queried the remaining ttl. If the client was paused, the
    // attempt's time may have been over when it was sent.
    bool attempt_is_over = false;
    // Instances that denied it in time because the key belongs to another lock, or to a semaphore of another
    // limit.
    std::uint64_t of_another_kind_at = 0;
    std::uint64_t of_another_limit_at = 0;
    core::time_point mismatch_told{};  // Time of the latest of these votes.

    // For a lease that was detached, by this client or another:

    bool was_detached = false;                      // By its previous client.
    bool is_adopting = false;                       // Not granted yet.
    const runtime::lease_driver* driver = nullptr;  // Set once it is granted.
    std::unique_ptr<token_life> adopted_as{};       // The state in the next client.

    std::uint64_t fence = 0;        // Of the latest holder.
    std::size_t fences_before = 0;  // Number of fences issued before its acquire.
};

}  // namespace colock::simulation

#endif
