// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_LEASE_DRIVER_HPP
#define COLOCK_RUNTIME_KEY_LEASE_DRIVER_HPP

#include "core/client_hold.hpp"
#include "core/lease.hpp"
#include "core/outcome.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "instance/batch.hpp"
#include "runtime/in_client.hpp"
#include "runtime/key/holders.hpp"
#include "runtime/key/local_queue.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/operations/lease_operation.hpp"
#include "runtime/ownership.hpp"
#include "runtime/token.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::runtime {

class key_queue;
struct loop;

/// Drives a `core::lease`: carries out its steps and receives the votes; tells those that wait for it, and answers
/// what other threads ask. What a step means for others at the key, it leaves to the `key_queue`, which it tells last.
///
/// A lease may be handed off inside the client. Its holders are numbered, from 0; a lease object knows
/// which it is, and all but the latest have released it. But of a reader's lease, and of one that its owner has entered again,
/// several may be holders at once: see `holders`. It is released with the last of them.
///
/// Kept alive by its owners (the acquire operation, then the lease), and by itself until all is over:
/// it is released, and no vote is pending.
class lease_driver final : public instance::vote_receiver,
                           public in_client,
                           public member_at_key,
                           private timed {
public:
    /// For an attempt of the operation that is at the key. If that adopts a lease, `token` is the one of that lease.
    lease_driver(std::shared_ptr<const lock_spec> spec, key_queue& queue,
                 std::string_view token = {});
    ~lease_driver();

    // From any thread:

    [[nodiscard]] const std::shared_ptr<client_context>& owner() const noexcept {
        return spec_->owner;
    }
    [[nodiscard]] std::string_view resource() const noexcept { return spec_->resource(); }
    [[nodiscard]] const lock_policy& policy() const noexcept { return *spec_->policy; }
    [[nodiscard]] std::string_view token() const noexcept { return token_.view(); }
    [[nodiscard]] core::time_point valid_until(std::uint32_t holder) const noexcept {
        const core::duration until(valid_until_.load(std::memory_order_acquire));
        return holders_.contains(holder) ? core::time_point(until) : core::time_point::min();
    }
    [[nodiscard]] core::loss loss(std::uint32_t holder) const noexcept {
        return holders_.remembers(holder) ? loss_.load(std::memory_order_acquire)
                                          : core::loss::none;
    }
    /// Returns whether that holder is a reader, or has begun a downgrade. The answer outlives the lease.
    [[nodiscard]] bool is_shared(std::uint32_t holder) const noexcept {
        return holder >= first_reader_.load(std::memory_order_acquire);
    }
    /// The number of the latest holder.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holders_.latest(); }
    /// What was known when the lease was lost; only after `loss()` is not `none`.
    [[nodiscard]] const std::string& loss_details() const noexcept { return rare_->loss_details; }
    /// Who answered what, when the latest operation with `lease_result::no_quorum` ended; only after
    /// one has, and on the engine's executor.
    [[nodiscard]] const std::string& no_quorum_details() const noexcept {
        return rare_->no_quorum_details;
    }

    // From the acquire operation, on the engine's executor:

    /// That of the latest holder; 0 without fencing.
    [[nodiscard]] std::uint64_t fence() const noexcept {
        return policy().lease.agreement == core::agreement::largest ? machine_.value() : 0;
    }

    /// Before the attempt: the place of its operation, if the order of the lock's waiters binds. See `core::command::place`.
    void take_place(std::uint64_t place) noexcept { place_ = place; }
    /// Sends the attempt to all instances.
    void begin(std::shared_ptr<lease_driver> self, const core::attempt& attempt,
               core::time_point now);

    /// The attempt is not wanted any more: takes back what it got or may get.
    void give_up(core::time_point now);

    /// Whether the attempt is under way.
    [[nodiscard]] bool attempting() const noexcept { return machine_.acquiring(); }
    /// The votes on the attempt; until there is a lease.
    [[nodiscard]] const core::round& votes() const noexcept { return machine_.votes(); }

    /// Asks an instance that denied how long it will say no. `explains`: see `kinds::command`.
    void ask_remaining(std::shared_ptr<lease_driver> self, std::size_t index, bool explains);

    /// The instances that are not known to have the key.
    [[nodiscard]] core::instance_set without_key() const { return machine_.without_key(); }

    /// Nobody wants to hear of this attempt any more.
    void detach() noexcept;

    // From the queue of the key, on the engine's executor:

    /// Whether it is at its key: while held, or lost and not released.
    [[nodiscard]] bool is_at_key() const noexcept { return at_key::is_linked(); }
    /// It is from now on, by a round that was sent at `sent`.
    void hold_since(core::time_point sent, core::time_point now) noexcept;
    /// A downgrade has succeeded, and so its client has the key as a reader from now on.
    void share_since(core::time_point now) noexcept { hold_ = core::client_hold(now, now); }
    /// From now on it is held for this owner.
    void hold_for(const ownership& who) noexcept { held_for_ = who; }
    /// For whom it is held, or was lost, until all holders have let go.
    [[nodiscard]] const ownership& held_for() const noexcept { return held_for_; }
    /// Whether that owner holds it.
    [[nodiscard]] bool is_held_for(const ownership& who) const noexcept {
        return held_for_.is_same_owner(who) && machine_.held();
    }
    /// Whether its validity has ended, though nobody may have been told yet.
    [[nodiscard]] bool is_over(core::time_point now) const noexcept {
        return now >= machine_.valid_until();
    }
    /// Whether an operation of that owner on that lock may enter it.
    [[nodiscard]] bool may_be_entered(const ownership& who, const lock_spec& by) const noexcept;
    /// It is there no more.
    void leave_key() noexcept { queue_ = nullptr; }
    /// For how long its client has the key by it.
    [[nodiscard]] const core::client_hold& held_by_client() const noexcept { return hold_; }

    /// Of the lock that it is a lease of now: the readers' side, after a downgrade.
    [[nodiscard]] const lock_spec& spec() const noexcept {
        return is_downgraded() ? *rare_->reader_spec : *spec_;
    }
    /// Of the lock that it was attempted for.
    [[nodiscard]] const std::shared_ptr<const lock_spec>& shared_spec() const noexcept {
        return spec_;
    }
    /// Whether its holder has asked for it to become a reader's.
    [[nodiscard]] bool is_downgraded() const noexcept { return rare_ && rare_->reader_spec; }
    /// Whether that has succeeded.
    [[nodiscard]] bool is_readers() const noexcept { return rare_ && rare_->is_readers; }
    /// When the holder asked for it first.
    [[nodiscard]] core::time_point downgrade_began() const noexcept {
        return rare_->downgrade_began;
    }
    /// Whether an operation with that lock may have a share in it.
    [[nodiscard]] bool may_be_shared(const lock_spec& wanted, core::time_point now) const;
    /// Whether it is what an operation with that lock wants, once its holder has let go.
    [[nodiscard]] bool serves(const lock_spec& wanted) const noexcept;
    /// Adds a holder. Its number is `holder()` then.
    std::shared_ptr<lease_driver> add_holder();
    /// The same in place of the last one, for this owner.
    std::shared_ptr<lease_driver> hand_off(const ownership& next);
    /// It is handed off, and nobody wants it any more.
    void give_back(core::time_point now);

    // From the lease and its operations, on the engine's executor:

    [[nodiscard]] runtime::loop& loop() const noexcept;
    [[nodiscard]] bool is_held_by(const lease_operation& asker) const noexcept;
    /// `done` if the asker holds it, and started an operation of `shared_mutex` on a lock that can use it; else why not.
    [[nodiscard]] lease_result check(const lease_operation& asker,
                                     const lock_spec& lock) const noexcept;
    /// Of an operation whose lease is not held.
    [[nodiscard]] lease_result result_without(const lease_operation& asker) const noexcept;
    void extend(extend_operation& asker);
    /// With fencing it takes a round, which counts the fence of the new holder.
    void share(share_operation& asker);
    void downgrade(downgrade_operation& asker);
    void release(release_operation& asker);
    void wait_lost(loss_operation& asker);
    void hand_over(handover_operation& asker);

    /// That holder does not refer to the lease any more. No effect unless it still has it, or has lost it
    /// and not released it since. A release that waits for room goes on waiting.
    void let_go(std::uint32_t holder);
    /// The same, but the keys are not released: their ttl ends them.
    void abandon(std::uint32_t holder);
    /// A quorum has this record in place of the token. So that holder has let go, and waiters that look for a record have found one.
    void complete(std::uint32_t holder, const std::shared_ptr<const std::string>& record);
    /// Sends the release that waits for room now. No other holder gets the lease.
    void send_release();

    // From the engine:

    /// Instance number `index` takes commands again.
    void on_accepting(std::size_t index);
    /// The client is being closed: the lease is lost.
    void on_close();
    /// Whether the closing client need not wait for it any longer: see `core::lease::settled`.
    [[nodiscard]] bool settled(core::time_point now) const { return machine_.settled(now); }
    /// Whether it was released, and too few instances have answered.
    [[nodiscard]] bool unanswered() const {
        return (machine_.held() && release_waits()) ||
               (machine_.releasing() && !machine_.answered());
    }
    /// The connections are gone: nothing more can be released.
    void on_closed();
    void on_abandon() noexcept;

private:
    template <typename Operation>
    using waiters =
        boost::intrusive::list<Operation, boost::intrusive::base_hook<waiting_for_lease>,
                               boost::intrusive::constant_time_size<false>>;

    /// What most leases never need.
    struct rarely_used {
        std::vector<std::shared_ptr<extend_operation>> extends;  // the first is being served
        std::vector<std::shared_ptr<share_operation>> shares;    // whose fence is being counted
        std::vector<std::shared_ptr<share_operation>>
            next_shares;  // that have come since that began
        waiters<loss_operation> loss_waiters;
        std::string loss_details;
        std::string no_quorum_details;
        std::shared_ptr<const lock_spec> reader_spec;  // once a downgrade has begun
        core::time_point downgrade_began{};            // the first one
        bool is_readers = false;                       // once one has succeeded
    };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    /// And perhaps released since, as its validity was over.
    [[nodiscard]] bool was_lost() const noexcept {
        return loss_.load(std::memory_order_relaxed) != core::loss::none;
    }
    [[nodiscard]] std::string_view held_as() noexcept;
    void release_share(std::uint32_t holder);

    /// Whether its holder has asked for its release, which the instances have no room for yet.
    [[nodiscard]] bool release_waits() const noexcept {
        return is_at_key() && std::any_of(release_waiters_.begin(), release_waiters_.end(),
                                          std::mem_fn(&release_operation::waits_to_be_sent));
    }

    void end_ownership() noexcept;
    [[nodiscard]] bool leave(std::uint32_t holder);
    [[nodiscard]] bool may_end_hold() const noexcept;
    [[nodiscard]] bool needs_room() const noexcept;
    void end_hold(bool is_handed_off, core::time_point now);
    /// Whether somebody waits for the end of the attempt.
    [[nodiscard]] bool is_attempt() const noexcept { return queue_ != nullptr && !is_at_key(); }
    void drive(const core::lease::event& e, core::time_point now);
    void resume(const core::lease::event& e, core::time_point now);
    void carry_out(const core::lease_step& step, core::time_point now);
    void act(const core::lease_step& step, core::time_point now);
    void tell_queue(const core::lease_step& step, core::time_point now);
    kinds::command& submit(core::lease_tag tag, core::instance_set targets, core::time_point now);
    void publish() noexcept;

    void end_extend(bool success);
    void begin_shares(core::time_point now);
    void end_shares(bool success);
    void on_lost(core::loss why, core::duration late);
    [[nodiscard]] bool may_hand_off(core::time_point now) const;
    void end_operations();
    void on_releasing();
    void on_resolved();
    void resolve(core::release_outcome outcome);
    void end();

    void explain_no_quorum(const core::round& votes);
    void end_loss_waiters(lease_result result);
    void end_loss_waiters_of(std::uint32_t holder, lease_result result);
    [[nodiscard]] core::duration ttl_for(const extend_operation& asker) const noexcept;
    [[nodiscard]] rarely_used& rare();
    void forget_if_over();

    // What every vote needs comes first, so that it is together in few cache lines, and with it what tells
    // where the rest is that most of them need.
    std::uint32_t pending_votes_ = 0;
    std::uint64_t place_ = 0;
    std::uint32_t last_turn_ = 0;  // in which something was submitted
    // The number of the first holder that reads, for other threads. Writers may have held the lease before it.
    // Here it takes no space, because it fills a gap.
    std::atomic<std::uint32_t> first_reader_;
    key_queue* queue_;  // while attempted or at the key
    waiters<release_operation> release_waiters_;
    std::shared_ptr<const lock_spec> spec_;  // of the attempt, and the token's
    std::unique_ptr<rarely_used> rare_;      // null until it is
    core::lease machine_;
    client_context& client_;
    std::shared_ptr<lease_driver> self_;  // until all is over

    [[no_unique_address]] runtime::token token_;  // the next two fill the gap at its end
    std::atomic<core::loss> loss_{core::loss::none};
    holders holders_;
    std::atomic<core::duration::rep> valid_until_{
        core::time_point::min().time_since_epoch().count()};
    core::client_hold hold_;
    ownership held_for_;

    std::uint32_t renewals_counted_ = 0;
    std::uint32_t failed_renewals_counted_ = 0;
};

}  // namespace colock::runtime

#endif
