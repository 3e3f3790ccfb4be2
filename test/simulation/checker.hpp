// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CHECKER_HPP
#define COLOCK_TEST_SIMULATION_CHECKER_HPP

#include "simulation/life.hpp"
#include "simulation/once_checker.hpp"
#include "simulation/record_checker.hpp"
#include "simulation/voter.hpp"
#include "simulation/world.hpp"

#include "core/lease.hpp"
#include "core/vote.hpp"
#include "kinds/command.hpp"

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

/// Knows everything, in true time, and says when a promise was broken. What the clients do it sees at their edges, where
/// commands go out and votes come in, and in what their users can see. The rules:
///
/// - *mutual exclusion*: no two leases of one resource are valid at one moment, each by its own
///   client's clock, unless both are readers', or both a semaphore's (see `claims` for the excuse).
/// - *permits*: the leases of a semaphore that are valid at one moment have different slots. So no more permits are out than it has.
/// - *limit*: no two leases of semaphores of different limits are valid at one moment under one name. An acquire fails because of
///   another kind or limit only if so many instances say so that it can have no quorum, and then at once.
/// - *backed number*: as *backed validity*, and the keys have exactly the slots of the lease. A quorum has granted these in one round.
///   The lease never asks for other slots.
/// - *lone acquirer*: if slots that are enough are free at a quorum, and no other acquire comes in between, an attempt for permits is
///   granted, and within three rounds. It may need another round for each slot that some instances have free and others do not. For
///   several permits the same slots must be free everywhere.
/// - *no reader before a waiting writer*: an instance lets no reader in while a writer's mark lives, nor a client one that
///   came after a writer of its own (*order in a client*); and a writer that waits for an instance tries every half
///   second.
/// - *bounded wait*: a reader that has nobody of its client in front tries every five seconds, whoever is before its client in the
///   remote queue.
/// - *sharing bounds*: a lease is shared with a reader that comes only while it is held, recent and valid for long enough,
///   and by a holder that asks for it only while that holds it; no share outlives the lease, and the lease is released
///   with the last of them.
/// - *downgrade*: a writer's lease becomes a reader's when a quorum has answered a round with the reader's token. No
///   reader of its client is inside before that; nor one of another client while so many instances have the writer's
///   token that a reader can have no quorum of others. From then on it excludes writers, as ever, and readers no more.
/// - *kept until let go*: a lease is not given back before its holder lets go, or it is lost; and a lost one excludes all
///   others until its holder has let go, or until the validity has ended that the holder was promised last.
/// - *backed validity*: a lease has its key on a quorum of the instances, those where it was destroyed
///   included, and there the key lasts to the end of the lease's validity; or the instance has
///   forgotten the key in a restart, and its quarantine lasts as long. This is what mutual exclusion
///   rests on, and it can be broken long before somebody else happens to come by.
/// - *all or none*: for a lock with several names an instance backs a lease only with the keys of all of them. No command takes or
///   prolongs some of its names, and none of its names is left when a token is done with (*undone*).
/// - *fresh token*: no two attempts have the same one.
/// - *nothing after the end*: no acquire, extend or heal is sent for a token that was let go or lost.
/// - *abandoned*: no release is sent for a token that was abandoned. Its client has done with it at once.
/// - *adopted*: a detached lease is adopted only if a quorum has extended its keys for that, and no instance gives it a key that it has
///   not. It is lost only if so many instances do not have its key that there can be no quorum. If nobody adopts it, it ends by its ttl
///   (*gone after the ttl*).
/// - *healed by a quorum*: a key is made anew only by a lease that a quorum has just extended, or has granted other slots than this
///   instance has.
/// - *over is over*: no lease begins after the end of its validity, or is valid again after it.
/// - *max_hold*: no lease is valid, or promised to be, for longer than it may be held.
/// - *loss in time*: the loss of a lease is announced before its validity ends.
/// - *needless loss*: no lease is lost because of its keys while a quorum has them. Not counted are
///   instances that restarted without their last writes, and those that denied the renewal: both may
///   have got the key again, the latter from an acquire on an old connection. A
///   loss because no renewal won may be needless only for who sees all; that there is none at all is
///   claimed where messages are quick and nothing breaks (see `claims`).
/// - *undone*: a token's life ends only when each instance that may have its key, for all that its
///   client was told, has answered a release, or when the longest ttl and the drift are over: counted, for
///   an instance that has not answered an acquire or a heal, from when a new connection to it was there. (How many lives
///   have ended, the client's counters tell.) If all its commands were answered for certain, no instance has the key then. Not counted are instances
///   that restarted without their last writes, which may have a deleted key again; and of lives that
///   end because the time is over, those whose clock was set back, and those that executed a command
///   after the token was let go, whose key lives for a ttl from then on.
/// - *gone after the ttl*: some time after everything is quiet, no instance has any key.
/// - *fence order*: a holder's fence is larger than each that was handed out for its resource before its
///   acquire began, or before the lease was handed off to it; and than those handed out while both were on
///   their way, unless their grants crossed (see `claims`). A reader's is no smaller than those, but for
///   readers that were on their way with it. That of a share is no smaller than each that was handed out before the share was asked
///   for. A fence stays what it was while its holder has the lease, downgraded or not.
/// - *deadline*, *liveness*: an acquire ends when its caller wanted it to, but for an attempt that could not begin before
///   and takes its time; with a healthy majority every acquire and every release ends. A downgrade ends with its rounds,
///   or with its lease.
/// - *contended*: an acquire ends as contended only if an instance has denied one of its attempts, or if another client is
///   in front of its client in the remote queue, or if this client has somebody in front: a holder or an earlier waiter. A
///   reader does not stand in the way of a reader, unless it was denied itself. The leases of a semaphore do not stand in the way as
///   long as enough permits are left.
/// - *order in a client*: of the waiters of one client for one key, the one that came first is served first.
/// - *hand-off*, *hand-off bounds*: a lease is handed off only while it is held, valid for long enough, to a waiter that
///   wants the same, no more often than was allowed, and for no longer.
/// - *one owner*: an owner enters its lease again at once, and nobody else does. It does not enter one that it has lost, or that
///   is a mutex's, and is told so at once. Each entry holds the lease until it lets go, and it is released with the last.
/// - *lost wake-up*: nobody waits whose owner has the lock, and might enter it. And once nothing goes wrong any more, nobody waits
///   for half a second for a lock that a quorum could grant; not behind a waiter that has died either. And no reader waits behind
///   readers of its client alone. Who waits for several permits may keep those behind it waiting.
///   Where an order binds, it is granted within half a second and the time of a ticket, however many of the waiters are dead.
/// - *operation*: an operation on a lease is refused if the lease is not held, or not of the kind that it needs, and only
///   then.
/// - *counted*: a client counts as many holders as there are.
/// - *closed*: a client that closes before it has to leaves no lease that may have a quorum of keys.
/// - *all or nothing*: a command that a server answers with an error has changed nothing there. No set that was made for a key is left
///   beside it.
/// - *order*, *place*, *leave*: see `order_checker`.
/// - *compare and set*, *keep*, *result*, *once*, *outcome*: see `once_checker`. A record that has taken the place of a token backs its
///   lease, which is about to end.
/// - *ttl*: each key that the library has written has a ttl, except records. Their rules are those of `record_checker`.
/// - *foreign key*: no command changes what a stranger has under a name of ours.
/// - *no memory needed*: a server that has no memory, and nothing else against it, renews and releases.
/// - *token check*: no command changes the key of another token, nor when another reader's share ends, nor what permits another token
///   has.
/// - *instance*: an instance gives no key away that is held, and denies none that it could give: so readers enter
///   together, and one that has expired is in nobody's way. It has no key expire sooner than it said before. A token has all permits
///   that it asks for or none, the nearest that are free, none of which another token has, for its ttl at least. It tells when as many
///   are free as a waiter wants.
class checker {
public:
    checker(world& w, std::vector<std::unique_ptr<voter>>& voters)
        : world_(w), voters_(voters), records_(w, voters), once_(w, voters) {}

    /// Whether that waiter for that key waits, in any client. Whoever has the clients sets it.
    std::function<bool(const std::string& key, const stored_waiter& one)> waits;

    /// The rules for records.
    [[nodiscard]] record_checker& records() { return records_; }

    /// The rules for names that are run once.
    [[nodiscard]] once_checker& once() { return once_; }

    /// Has itself told of what becomes of keys there.
    void watch(std::size_t server);

    /// A client begins an attempt with that token.
    void add(client& owner, std::vector<std::string> names, const std::string& token);
    /// Null if no attempt has had it. A token is the same with the prefix of readers and without. Of a lease that was adopted, the
    /// latest life.
    [[nodiscard]] token_life* find(const std::string& token);
    /// The latest one in that client, or the one that it has as this lease.
    [[nodiscard]] token_life* find(const std::string& token, const client& in,
                                   const runtime::lease_driver* lease = nullptr);
    /// A client tries to go on with a lease that was detached.
    [[nodiscard]] token_life& adopt(client& by, const std::string& token);
    /// It has that lease.
    void on_adopted(token_life& life, std::uint64_t fence);
    /// It does not have it. `is_lost`: since its keys are gone.
    void on_not_adopted(token_life& life, bool is_lost);
    /// The client has a new connection there.
    void on_accepting(client& c, std::size_t server);
    void on_submitted(token_life& life, const kinds::command& what, core::lease_tag tag);
    void on_sent(token_life& life, std::size_t server, core::lease_tag tag);
    /// `was_sent`: otherwise the command was taken back, or refused inside the client.
    void on_answer(token_life& life, std::size_t server, core::lease_tag tag, const core::vote& v,
                   bool was_sent);
    /// Whether slots that are enough are free at one quorum. Several permits are certain to be granted only if the same slots are free
    /// everywhere.
    /// Whether there are enough free slots for an attempt that begins now, and how many slots are free at some instances only.
    [[nodiscard]] std::pair<bool, std::size_t> room_for(const std::string& key,
                                                        const permit_wish& wish) const;
    /// The lease of a semaphore is about to be handed out.
    [[nodiscard]] bool was_decided_by_all(const token_life& life,
                                          const slot_numbers& numbers) const;
    void on_permits(token_life& life);
    /// The lease has become valid, or its validity has changed.
    void on_validity(token_life& life, core::time_point until);
    /// Its holder has let go, and the next one is to get a fence of its own.
    void on_handoff(token_life& life);
    /// The lease of that key goes to this waiter, whose lock's order binds.
    void on_handed_off_in_order(const std::string& key, const stored_waiter& next);
    /// It has been handed off for so many times, and is valid until then.
    void on_handed_off(token_life& life, std::uint64_t fence, std::size_t handoffs,
                       core::time_point until);
    /// A reader of the same client has a share in it from now on, and is told that it is valid until then.
    void on_shared(token_life& life, core::time_point until);
    /// So has one that a holder has asked for, whenever that was.
    void on_share_asked_for(token_life& life, core::time_point until);
    /// Its holder asks for it to become a reader's.
    void on_downgrading(token_life& life);
    /// Its client says that it has.
    void on_downgraded(token_life& life);
    /// Its holder wants to release it, but the instances have no room for that. It is held until its release is sent.
    void on_release_asked_for(token_life& life) { life.release_asked_for = true; }
    /// Its holder releases it: it is not valid any more.
    void on_released(token_life& life);
    /// Its holder gives it up without a release: it is not valid any more, and nothing is sent for it.
    void on_abandoned(token_life& life);
    /// A quorum has a record in the place of its token. Nothing is sent for it any more.
    void on_completed(token_life& life);
    /// The client gives it back since that time by its clock. Of a lost lease the holder may be at work still.
    void on_given_back(token_life& life, core::time_point since);
    /// The client has closed, before it had to: no lease that may be valid is held, or may have a quorum of keys.
    void on_closed(client& c);
    /// The client is no more.
    void on_dead(client& c);
    void on_lost(token_life& life, core::loss why);
    /// So many of the client's tokens have been let go, or lost, and not done with.
    void expect_undone(client& c, std::uint64_t releasing);
    /// The lease is about to be handed out, with a fence.
    void on_fence(token_life& life, std::uint64_t fence);
    /// So is a share in it. When it was asked for, so many fences had been handed out.
    void on_share_fence(token_life& life, std::uint64_t fence, std::size_t fences_before);
    /// How many fences have been handed out.
    [[nodiscard]] std::size_t fences_so_far(const std::string& key) { return fences_[key].size(); }
    /// An instance has given a token its key, or another ttl.
    void on_granted(std::size_t server, const std::string& token);
    /// An instance has lost a token's key, or may let it expire too early; or it has given it again. What
    /// counts then is a key that lasts for as long as the lease is valid by what had been promised.
    void on_destroyed(std::size_t server, const std::string& token);
    /// The same by a restart, where an instance that has restarted is in quarantine.
    void on_forgotten(std::size_t server, const std::string& token);
    void on_restored(std::size_t server, const std::string& token);

    /// After everything was quiet for long enough: no instance has any holder.
    void expect_nobody(const std::vector<std::string>& keys);
    /// And later: it has no key.
    void expect_no_keys(const std::vector<std::string>& keys);

private:
    [[nodiscard]] std::string describe(const token_life& life) const;
    void close_at(token_life& life, std::size_t server);
    void end_validity(token_life& life);
    [[nodiscard]] bool ended_by_time(const token_life& life) const;
    void expect_nothing_left(const token_life& life) const;
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
    std::map<std::string, token_life> lives_;               // by token, without prefix
    std::map<const client*, std::vector<token_life*>> of_;  // that may not be done with
    std::map<const client*, std::uint64_t> let_go_;         // or lost: how many
    std::map<const client*, std::uint64_t> ended_;  // and how many tokens are known to be done with
    std::map<std::string, std::vector<token_life*>> valid_;  // by key
    struct handed_out {
        const token_life* life;
        std::uint64_t fence;
        bool to_reader;
    };
    std::map<std::string, std::vector<handed_out>> fences_;  // by key, as they were handed out
    std::uint64_t grants_ = 0;
    std::map<std::string, std::uint64_t> permit_grants_;  // by key: by instances
};

}  // namespace colock::simulation

#endif
