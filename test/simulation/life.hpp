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

/// What the checkers know of a token, by the commands that carry it, their votes, and what the client's users can see.
/// Instances are bits.
struct token_life {
    token_life(client& o, std::vector<std::string> all, std::string t)
        : owner(o),
          key(all.front()),
          names(std::move(all)),
          token(std::move(t)),
          wish(wish_of(token)) {}

    [[nodiscard]] bool is_permit() const { return wish.limit != 0; }

    /// A reader's, or a writer's whose holder has asked for it to become one.
    [[nodiscard]] bool is_shared() const { return kinds::is_reader(token); }

    client& owner;
    std::string key;                 // the first of its names
    std::vector<std::string> names;  // of a lock with several names more than one
    std::string token;               // with the prefix of readers once that was asked
    permit_wish wish;                // of a semaphore's lease
    /// Of the lock, once the lease was handed out.
    std::shared_ptr<const runtime::lock_policy> policy{};

    std::size_t unanswered = 0;     // votes that have not come
    bool denied = false;            // by an instance, when the lock was asked for
    bool outcome_unknown = false;   // of one of its commands
    std::uint64_t may_have = 0;     // those that may have its key, for all that the client was told
    std::uint64_t deleted_at = 0;   // those that say that a release has deleted it
    std::uint64_t extended_by = 0;  // those that granted the latest round
    std::uint64_t denied_by = 0;    // those that denied it
    std::uint32_t latest_round = 0;
    bool reads_by_latest_round = false;  // it has a reader's token
    std::uint64_t destroyed_at = 0;
    /// Those that may yet execute an acquire or a heal, which no connection since has shown to be over.
    std::uint64_t open_at = 0;
    /// When it was shown to be over, there.
    std::map<std::size_t, core::time_point> closed_at{};
    std::uint64_t late_at = 0;       // those that gave it a key, or a ttl, when it was let go
    std::uint64_t forgotten_at = 0;  // those that restarted, which had the key
    core::duration longest_ttl{};

    core::time_point asked{};  // when its acquire was sent
    bool counts = false;       // as a lease that may be valid
    core::time_point valid_since{};
    core::time_point valid_until{};    // while it counts
    bool was_writers = false;          // and is to become a reader's, or is one now
    bool downgraded = false;           // a quorum has answered a round by which it is a reader's
    bool admits_readers = false;       // and so says its client
    core::time_point granted{};        // or has begun to admit readers
    core::time_point handoff_since{};  // when its latest holder but one let go
    bool handing_off = false;          // by a round of its own
    bool lost = false;                 // and perhaps not let go yet
    bool lost_its_keys = false;        // or may have: nobody need wait for its release
    bool release_asked_for = false;    // but not yet sent
    bool let_go = false;               // released, abandoned or given back
    bool abandoned = false;
    core::time_point let_go_at{};
    bool may_end = false;     // the client has nothing left to do for it
    bool could_end = false;   // nor had it once
    bool could_know = false;  // and then it knew for certain where its keys were
    /// When each instance gave it its key, as a number that grows, until it was handed out.
    std::map<std::size_t, std::uint64_t> granted_at{};

    // Of a semaphore's lease:

    slot_set slots = 0;                                // once it was granted
    std::uint32_t attempt_round = 0;                   // the latest
    std::map<std::size_t, slot_set> slots_by_round{};  // those that it has brought, by instance
    std::vector<slot_numbers>
        heard_by_round{};                 // the same as numbers, in the order in which they came
    std::uint64_t denied_by_attempt = 0;  // those that denied the latest round
    std::uint64_t only_by_retake = 0;     // those that may have its key only by the latest round
    bool is_first_look = false;           // it only looks whether there is a key
    bool could_win = false;               // when it began, and if nobody else tries
    std::size_t uneven_slots = 0;         // then: free at some instances only
    std::uint64_t grants_of_others = 0;   // at its key, then
    std::uint64_t own_grants = 0;
    bool vote_failed = false;  // on a round of the attempt

    // Of a name that is run once: those where a record has taken the place of the token.
    std::uint64_t completed_at = 0;
    bool completes = false;  // such a record was sent: nobody works under the lease any more

    // It is being given back, or has asked how long it will be denied. The client may have stood still, so that the attempt's time was up
    // when it was sent.
    bool attempt_is_over = false;
    // Those that have denied it in time since the key is that of another lock, or of a semaphore of another limit.
    std::uint64_t of_another_kind_at = 0;
    std::uint64_t of_another_limit_at = 0;
    core::time_point mismatch_told{};  // when the latest of them has

    // Of a lease that another client, or this one, has detached:

    bool was_detached = false;                      // by the client that had it before
    bool is_adopting = false;                       // it is not granted yet
    const runtime::lease_driver* driver = nullptr;  // once it is granted
    std::unique_ptr<token_life> adopted_as{};       // what the next client knows of it

    std::uint64_t fence = 0;        // of the latest holder
    std::size_t fences_before = 0;  // how many were handed out before it was asked for
};

}  // namespace colock::simulation

#endif
