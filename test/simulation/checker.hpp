// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_CHECKER_HPP

#include "simulation/life.hpp"
#include "simulation/once_checker.hpp"
#include "simulation/record_checker.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/lease.hpp"
#include "core/outcome.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"
#include "runtime/handover.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/operations/lease_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {

class client;

/// Observes the whole world in true time and reports each violation of a promise. It observes the clients
/// where commands leave and votes arrive, and through the interface of their users. The rules:
///
/// - `mutual exclusion`: No two leases of one resource are valid at the same moment, each by its own client's
///   clock. Exceptions are two leases of readers and two of a semaphore. See `claims` for the excuse.
/// - `permits`: Leases of a semaphore that are valid at the same moment have different slots. The number of
///   permits in use therefore never exceeds the limit.
/// - `limit`: Semaphores with different limits have no leases that are valid at the same moment under one
///   name. An acquire fails because of another kind or limit only if enough instances report it to rule out a
///   quorum. It then fails immediately.
/// - `backed number`: As `backed validity`, and the keys have exactly the slots of the lease. A quorum has
///   granted these slots in one round. The lease never requests other slots.
/// - `lone acquirer`: If enough slots are free on a quorum and no other acquire interferes, an attempt for
///   permits is granted within three rounds. It may need another round for each slot that is free on some
///   instances only. For several permits, the same slots must be free everywhere.
/// - `no reader before a waiting writer`: An instance admits no reader while a writer mark lives. A client
///   admits no reader that came after a writer of its own (`order in a client`). A writer that waits for an
///   instance attempts every half second.
/// - `bounded wait`: A reader with no earlier waiter in its client attempts every five seconds, whichever
///   clients are ahead in the remote queue.
/// - `sharing bounds`: A lease is shared with a new reader only while it is held, recent and valid for long
///   enough. A holder can ask for a share only while it holds the lease. No share outlives the lease, and the
///   last share to end releases it.
/// - `downgrade`: A writer's lease becomes a reader's when a quorum has replied to a round with the reader's
///   token. Before that, no reader of the same client is inside. A reader of another client may be inside
///   only if it can have a quorum without the instances that still have the writer's token. After the
///   downgrade the lease excludes writers only.
/// - `kept until let go`: A lease is not released before its holder releases it or it is lost. A lost lease
///   excludes all others until its holder has released it, or until the end of the last promised validity.
/// - `backed validity`: A lease has its key on a quorum of the instances, and there the key lasts until the
///   end of the lease's validity. An instance whose key was destroyed counts too. So does an instance that
///   lost the key in a restart, if its quarantine lasts as long. Mutual exclusion is based on this rule. The
///   rule can be broken long before another client acquires the lock.
/// - `all or none`: For a lock with several names, an instance backs a lease only with the keys of all names.
///   No command acquires or extends only some of the names. When a token is finished, no key of any name is
///   left (`undone`).
/// - `fresh token`: No two attempts have the same token.
/// - `nothing after the end`: No acquire, extend or `heal` is sent for a token that was released or lost.
/// - `abandoned`: No release is sent for an abandoned token. Its client has finished with it immediately.
/// - `adopted`: A detached lease is adopted only if a quorum has extended its keys for the adoption. The
///   adoption creates no key on any instance. The lease is lost only if the instances without its key rule
///   out a quorum. If no client adopts it, it expires with its ttl (`gone after the ttl`).
/// - `healed by a quorum`: A lease creates a missing key again only right after a quorum has extended it, or
///   when an instance is back and no quorum has extended the lease since. A semaphore's lease also does so if
///   a quorum has granted slots that this instance does not have.
/// - `over is over`: No lease begins after the end of its validity, or becomes valid again after it.
/// - `max_hold`: No lease is valid, or promised to be valid, for longer than its maximum hold time.
/// - `loss in time`: The loss of a lease is reported before its validity ends.
/// - `needless loss`: No lease is lost because of its keys while a quorum has them. Two kinds of instances do
///   not count, because they may have regained the key. Some restarted without their last writes. Others
///   denied the renewal and may have executed an acquire of an old connection. A loss because no renewal
///   succeeded may look needless to the checker only. Profiles with quick messages and no failures claim that
///   there is no loss at all (see `claims`).
/// - `undone`: A token ends in one of two ways. Each instance that may have its key, given the replies so
///   far, has replied to a release. Or the longest ttl and the drift are over. For an instance that has not
///   replied to an acquire or a `heal`, this time begins with a new connection to it. The client's counters
///   report how many tokens have ended. If all replies to its commands were certain, no instance has the key
///   then. Instances that restarted without their last writes do not count, because they may have a deleted
///   key again. If the token ends by time, two more kinds of instances do not count. The clock of some was
///   set back. Others executed a command after the token was released.
/// - `released`: The outcome of a release agrees with the instances at that moment. A lease is `released` or
///   `expired` if no quorum has its token. It is `lost` only if no quorum had it until the release. `no_quorum`
///   is told only if no quorum has answered the release. A lost lease counts as expired before its keys end.
/// - `not acquired`: An acquire fails as contended or without a quorum only if no quorum has granted its latest
///   attempt in time. Attempts that need a second round do not count.
/// - `detached`: The text of a detached lease has a token and names that a quorum has. These keys stay until the
///   end of the promised validity, or until a client tries to adopt them.
/// - `not adopted`: If an adoption says that the lease is lost, no quorum has its keys at that moment.
/// - `gone after the ttl`: Some time after all activity has ended, no instance has any key.
/// - `fence order`: A holder's fence is larger than every earlier fence of its resource. Earlier means before
///   its acquire began, or before the lease was handed off to it. It is also larger than those of overlapping
///   attempts, unless their grants crossed (see `claims`). A reader's fence is at least as large as those,
///   except that overlapping readers are not ordered. The fence of a share is at least as large as every
///   fence issued before the share was requested. A fence does not change while its holder has the lease,
///   even by a downgrade.
/// - `deadline`, `liveness`: An acquire ends when its caller's timeout expires. An attempt that could not
///   begin earlier may take its time. With a healthy majority, every acquire and every release ends. A
///   downgrade ends with its rounds or with its lease.
/// - `contended`: An acquire ends as contended only for one of three reasons. An instance has denied one of
///   its attempts, another client is ahead in the remote queue, or this client has an earlier holder or
///   waiter. A reader does not block a reader unless it was denied itself. The leases of a semaphore do not
///   block while enough permits are left.
/// - `order in a client`: The waiters of one client for one key are served in the order of their arrival.
/// - `hand-off`, `hand-off bounds`: A lease is handed off only while it is held and valid for long enough, to
///   a waiter with the same lock and options. The number of hand-offs and their total time are bounded.
/// - `one owner`: An owner enters its own lease again immediately, and no other owner does. It cannot enter a
///   lost lease or a mutex's lease, and learns this immediately. Each entry holds the lease until the entry
///   is released. The last release releases the lease.
/// - `lost wake-up`: No operation waits while its owner has the lock and could enter it. Once all faults have
///   ended, no operation waits for half a second for a lock that a quorum could grant. This holds also behind
///   a dead waiter. No reader waits behind readers of its own client only. A waiter for several permits may
///   block the waiters behind it. With a binding order, the grant comes within half a second plus the ttl of
///   a ticket, however many waiters are dead.
/// - `operation`: An operation on a lease is refused if and only if the lease is not held, or is not of the
///   required kind.
/// - `counted`: A client's counter equals the number of its holders.
/// - `closed`: A client that closes before its timeout leaves no lease that may have a quorum of keys.
/// - `all or nothing`: A command that a server answers with an error has changed nothing there. No auxiliary
///   set is left next to a key.
/// - `order`, `place`, `leave`: See `order_checker`.
/// - `compare and set`, `keep`, `result`, `once`, `outcome`, `not recorded`: See `once_checker`. A record that has replaced a
///   token backs its lease, which is about to end.
/// - `ttl`: Each key that the library writes has a ttl. Records are an exception, with the rules of
///   `record_checker`.
/// - `foreign key`: No command changes a foreign value under one of the library's names.
/// - `no memory needed`: A server whose only problem is a lack of memory renews and releases.
/// - `token check`: No command changes the key of another token, the end of another reader's share, or the
///   permits of another token.
/// - `instance`: An instance grants no key that is held, and denies no key that it could grant. So readers
///   enter together, and an expired reader blocks no other token. No key expires earlier than promised. A
///   token has all permits that it requests or none. They are the nearest free ones, belong to no other
///   token, and last for at least its ttl. The instance reports to a waiter when enough permits will be free.
class checker {
public:
    checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters), records_(w, voters), once_(w, voters) {}

    /// Returns whether a waiter for this key still waits, in any client. The owner of the clients sets this
    /// function.
    std::function<bool(const std::string& key, const stored_waiter& one)> waits;

    /// Returns the checker of the rules for records.
    [[nodiscard]] record_checker& records() { return records_; }

    /// Returns the checker of the rules for names that are run once.
    [[nodiscard]] once_checker& once() { return once_; }

    /// Subscribes to the changes of keys on this server.
    void watch(std::size_t server);

    /// Records that a client begins an attempt with this token.
    void add(client& owner, std::vector<std::string> names, const std::string& token);
    /// Returns the life of the token, or null if no attempt has used it. The prefix of readers is ignored.
    /// For an adopted lease, this is the latest life.
    [[nodiscard]] token_life* find(const std::string& token);
    /// Returns the latest life in this client, or its life as this lease.
    [[nodiscard]] token_life* find(const std::string& token, const client& in,
                                   const runtime::lease_driver* lease = nullptr);
    /// Records that a client tries to adopt a detached lease.
    [[nodiscard]] token_life& adopt(client& by, const std::string& token);
    /// Records that the client has adopted the lease.
    void on_adopted(token_life& life, std::uint64_t fence);
    /// Records that the client has not adopted the lease. `is_lost` is true if the reason is a loss of its
    /// keys.
    void on_not_adopted(token_life& life, bool is_lost);
    /// Checks the text of a lease that is being detached.
    void on_detached(const token_life& life, const runtime::handover& text);
    /// Checks the outcome of a release that its caller has waited for.
    void on_release_told(const token_life& life, runtime::lease_result result,
                         core::release_outcome outcome);
    /// Checks an acquire that has failed. `last` is its latest attempt.
    void on_not_acquired(const token_life& last, const runtime::lock_policy& policy,
                         core::acquire_outcome outcome);
    /// Records that the client has a new connection to this server.
    void on_accepting(client& c, std::size_t server);
    /// An instance has ended its quarantine, or is connected again.
    void on_ready(client& c);
    void on_submitted(token_life& life, const kinds::command& what, core::lease_tag tag);
    void on_sent(token_life& life, std::size_t server, core::lease_tag tag);
    /// `was_sent` is false if the command was withdrawn, or refused inside the client.
    void on_answer(token_life& life, std::size_t server, core::lease_tag tag, const core::vote& v,
                   bool was_sent);
    /// Returns whether enough slots are free for an attempt that begins now, and how many slots are free on
    /// some instances only. For one permit, a slot must be free on a quorum. Several permits are certain only
    /// if the same slots are free everywhere.
    [[nodiscard]] std::pair<bool, std::size_t> room_for(const std::string& key,
                                                        const permit_wish& wish) const;
    /// Returns whether all instances had replied when these numbers were chosen.
    [[nodiscard]] bool was_decided_by_all(const token_life& life,
                                          const slot_numbers& numbers) const;
    /// Checks the slots of a semaphore's lease that is about to be handed out.
    void on_permits(token_life& life);
    /// Records that the lease has become valid, or that its validity has changed.
    void on_validity(token_life& life, core::time_point until);
    /// Records that the holder has released, and that the next one gets a fence of its own.
    void on_handoff(token_life& life);
    /// Checks that this waiter may get the lease. The lock has a binding order.
    void on_handed_off_in_order(const std::string& key, const stored_waiter& next);
    /// Records the hand-off. `handoffs` is the number of hand-offs so far, and the lease is valid until
    /// `until`.
    void on_handed_off(token_life& life, std::uint64_t fence, std::size_t handoffs,
                       core::time_point until);
    /// Records that a reader of the same client has a share from now on. The reader considers it valid until
    /// `until`.
    void on_shared(token_life& life, core::time_point until);
    /// Does the same for a share that a holder has requested, at any time.
    void on_share_asked_for(token_life& life, core::time_point until);
    /// Records that the holder has requested a downgrade.
    void on_downgrading(token_life& life);
    /// Records that the client has reported the downgrade.
    void on_downgraded(token_life& life);
    /// Records that the holder wants to release the lease, but the send windows are full. The lease is held
    /// until its release is sent.
    void on_release_asked_for(token_life& life) { life.release_asked_for = true; }
    /// Records that the holder has released the lease, which is no longer valid.
    void on_released(token_life& life);
    /// Records that the holder has abandoned the lease. It is no longer valid, and no command is sent for it.
    void on_abandoned(token_life& life);
    /// Records that a quorum has a record in place of the token. No further command is sent for the lease.
    void on_completed(token_life& life);
    /// Records that the client releases the lease, as of `since` by its clock. The holder of a lost lease may
    /// still be at work.
    void on_given_back(token_life& life, core::time_point since);
    /// Checks a client that has closed before its timeout. No valid lease may be held, and none may have a
    /// quorum of keys.
    void on_closed(client& c);
    /// Records that the client is dead.
    void on_dead(client& c);
    void on_lost(token_life& life, core::loss why);
    /// Checks the number of the client's tokens that were released or lost and are not finished.
    void expect_undone(client& c, std::uint64_t releasing);
    /// Checks the fence of a lease that is about to be handed out.
    void on_fence(token_life& life, std::uint64_t fence);
    /// Checks the fence of a share. `fences_before` is the number of fences issued before the share was
    /// requested.
    void on_share_fence(token_life& life, std::uint64_t fence, std::size_t fences_before);
    /// Returns the number of fences issued so far.
    [[nodiscard]] std::size_t fences_so_far(const std::string& key) { return fences_[key].size(); }
    /// Records that an instance has granted a token its key, or another ttl.
    void on_granted(std::size_t server, const std::string& token);
    /// Records that an instance has lost a token's key, or may let it expire too early. The opposite is
    /// `on_restored`. It means that the instance has a key that lasts until the end of the promised validity.
    void on_destroyed(std::size_t server, const std::string& token);
    /// Does the same for a restart of a server that is quarantined afterwards.
    void on_forgotten(std::size_t server, const std::string& token);
    void on_restored(std::size_t server, const std::string& token);

    /// Checks that no instance has a holder. All activity must have ended long before.
    void expect_nobody(const std::vector<std::string>& keys);
    /// Checks that no instance has a key. It is called later.
    void expect_no_keys(const std::vector<std::string>& keys);

private:
    [[nodiscard]] std::string describe(const token_life& life) const;
    void close_at(token_life& life, std::size_t server);
    void end_validity(token_life& life);
    [[nodiscard]] bool ended_by_time(const token_life& life) const;
    void expect_nothing_left(const token_life& life) const;
    void expect_lost(const token_life& life);
    [[nodiscard]] std::uint64_t certainly_held_at(const token_life& life) const;
    [[nodiscard]] bool counts_now(const token_life& life) const;
    [[nodiscard]] bool admits(const token_life& life, const token_life& reader) const;
    [[nodiscard]] bool may_be_together(const token_life& a, const token_life& b) const;
    void expect_apart(const token_life& a, const token_life& b);
    void on_attempt(token_life& life, const kinds::command& what, core::lease_tag tag);
    void on_attempt_answer(token_life& life, std::size_t server, core::lease_tag tag,
                           const core::vote& v, bool was_sent);
    void expect_lone_success(const token_life& life, const std::string& what);
    [[nodiscard]] bool backs(const token_life& life, std::size_t server) const;
    [[nodiscard]] std::uint64_t backed_at(const token_life& life) const;
    [[nodiscard]] bool is_quorum(std::uint64_t servers) const;
    [[nodiscard]] std::uint64_t held_at(const token_life& life) const;
    [[nodiscard]] std::uint64_t given_again() const;
    [[nodiscard]] std::uint64_t set_back_at() const;
    [[nodiscard]] std::uint64_t quarantined_at(const token_life& life, true_time end) const;
    [[nodiscard]] bool excused(const token_life& life) const;
    [[nodiscard]] bool lasts(const token_life& life, std::size_t server, true_time end) const;
    void expect_backed(const token_life& life, core::time_point until);
    [[nodiscard]] bool was_awake(const token_life& life) const;

    world& world_;
    std::vector<std::unique_ptr<voter>>& voters_;
    record_checker records_;
    once_checker once_;
    std::map<std::string, token_life> lives_;                // By token, without the prefix.
    std::map<const client*, std::vector<token_life*>> of_;   // Tokens that may be unfinished.
    std::map<const client*, std::uint64_t> let_go_;          // Number released or lost.
    std::map<const client*, std::uint64_t> ended_;           // Number known to be finished.
    std::map<std::string, std::vector<token_life*>> valid_;  // By key.
    struct handed_out {
        const token_life* life;
        std::uint64_t fence;
        bool to_reader;
    };
    std::map<std::string, std::vector<handed_out>> fences_;  // By key, in the order of issue.
    std::uint64_t grants_ = 0;
    std::map<std::string, std::uint64_t> permit_grants_;  // Grants by instances, by key.
};

}  // namespace colock::simulation

#endif
