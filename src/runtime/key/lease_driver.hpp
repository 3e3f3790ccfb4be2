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
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance {
struct status;
}

namespace colock::runtime {

class key_queue;
struct loop;

/// Drives a `core::lease`: carries out its steps, receives the votes, completes the waiting operations and
/// answers other threads. Steps that affect others at the key go to the `key_queue`, which is notified last.
///
/// A lease may be handed off inside the client. Its holders are numbered from 0. Each lease object refers to
/// its own number, and all holders except the latest have released the lease. Readers' leases and reentered
/// leases may have several holders at once: see `holders`. Such a lease is released with the last of them.
///
/// Its owners keep it alive: first the acquire operation, then the lease. It also keeps itself alive until it
/// is released and no vote is pending.
class lease_driver final : public instance::vote_receiver,
                           public in_client,
                           public member_at_key,
                           private timed {
public:
    /// Creates the driver for an attempt of the operation at the key. If the operation adopts a lease,
    /// `token` is the token of that lease.
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
    /// Returns the number of the latest holder.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holders_.latest(); }
    /// Returns the details of the loss. Valid only if `loss()` is not `none`.
    [[nodiscard]] const std::string& loss_details() const noexcept { return rare_->loss_details; }
    /// Returns the votes of the latest operation that ended with `lease_result::no_quorum`. Valid only after
    /// such an operation, on the engine's executor.
    [[nodiscard]] const std::string& no_quorum_details() const noexcept {
        return rare_->no_quorum_details;
    }

    // From its share operations, on the engine's executor:

    /// Counts a share that an operation has got. The operation began at `began`.
    void note_shared(core::time_point began) noexcept;

    // From the acquire operation, on the engine's executor:

    /// Returns the fence of the latest holder. 0 without fencing.
    [[nodiscard]] std::uint64_t fence() const noexcept {
        return policy().lease.agreement == core::agreement::largest ? machine_.value() : 0;
    }

    /// Sets the place of the operation before the attempt, if the lock's order binds. See
    /// `core::command::place`.
    void take_place(std::uint64_t place) noexcept { place_ = place; }
    /// Sends the attempt to all instances.
    void begin(std::shared_ptr<lease_driver> self, const core::attempt& attempt,
               core::time_point now);

    /// Rolls back an attempt that is not wanted any more, including grants that are still in flight.
    void give_up(core::time_point now);

    /// Returns whether the attempt is in progress.
    [[nodiscard]] bool attempting() const noexcept { return machine_.acquiring(); }
    /// Returns the votes on the attempt. Valid until there is a lease.
    [[nodiscard]] const core::round& votes() const noexcept { return machine_.votes(); }

    /// Asks an instance that denied how long the denial will last. `explains`: see `kinds::command`.
    void ask_remaining(std::shared_ptr<lease_driver> self, std::size_t index, bool explains);

    /// Returns the instances that are not known to store the key.
    [[nodiscard]] core::instance_set without_key() const { return machine_.without_key(); }

    /// Detaches the attempt from its operation.
    void detach() noexcept;

    // From the queue of the key, on the engine's executor:

    /// Returns whether it is at its key: held, or lost and not released.
    [[nodiscard]] bool is_at_key() const noexcept { return at_key::is_linked(); }
    /// Returns the number of its holders.
    [[nodiscard]] std::size_t holder_count() const noexcept { return holders_.count(); }
    /// Returns whether it was lost. It may have been released since, because its validity has ended.
    [[nodiscard]] bool was_lost() const noexcept { return why_lost() != core::loss::none; }
    /// Returns why it was lost, for whichever holders it has or had.
    [[nodiscard]] core::loss why_lost() const noexcept {
        return loss_.load(std::memory_order_relaxed);
    }
    /// Returns the end of its validity, for whichever holders it has. The smallest time if it is not valid.
    [[nodiscard]] core::time_point valid_until() const noexcept {
        return core::time_point(core::duration(valid_until_.load(std::memory_order_acquire)));
    }
    /// Returns the votes of the last renewal of a held lease, if the renewal has ended and some instance has not
    /// confirmed it. Otherwise returns an empty text.
    [[nodiscard]] std::string last_answers(const std::vector<instance::status>& instances) const;
    /// Puts the lease at its key, after a round that was sent at `sent`.
    void hold_since(core::time_point sent, core::time_point now) noexcept;
    /// Restarts the client's hold after a successful downgrade. The client holds the key as a reader from now
    /// on.
    void share_since(core::time_point now) noexcept { hold_ = core::client_hold(now, now); }
    /// Sets the owner of the lease.
    void hold_for(const ownership& who) noexcept { held_for_ = who; }
    /// Returns the owner for which it is held, or was lost, until all holders have released it.
    [[nodiscard]] const ownership& held_for() const noexcept { return held_for_; }
    /// Returns whether that owner holds it.
    [[nodiscard]] bool is_held_for(const ownership& who) const noexcept {
        // mutant: another_owner_enters
        return held_for_.is_same_owner(who) && machine_.held();
    }
    /// Returns whether its validity has ended. The loss may not be reported yet.
    [[nodiscard]] bool is_over(core::time_point now) const noexcept {
        return now >= machine_.valid_until();
    }
    /// Returns whether an operation of that owner on that lock may enter it.
    [[nodiscard]] bool may_be_entered(const ownership& who, const lock_spec& by) const noexcept;
    /// Removes the lease from its key.
    void leave_key() noexcept { queue_ = nullptr; }
    /// Returns how long its client has held the key.
    [[nodiscard]] const core::client_hold& held_by_client() const noexcept { return hold_; }

    /// Returns the current lock of the lease. After a downgrade this is the readers' side.
    [[nodiscard]] const lock_spec& spec() const noexcept {
        return is_downgraded() ? *rare_->reader_spec : *spec_;
    }
    /// Returns the lock of the attempt.
    [[nodiscard]] const std::shared_ptr<const lock_spec>& shared_spec() const noexcept {
        return spec_;
    }
    /// Returns whether its holder has requested a downgrade.
    [[nodiscard]] bool is_downgraded() const noexcept { return rare_ && rare_->reader_spec; }
    /// Returns whether a downgrade has succeeded.
    [[nodiscard]] bool is_readers() const noexcept { return rare_ && rare_->is_readers; }
    /// Returns when the holder first requested the downgrade.
    [[nodiscard]] core::time_point downgrade_began() const noexcept {
        return rare_->downgrade_began;
    }
    /// Returns whether an operation with that lock may share it.
    [[nodiscard]] bool may_be_shared(const lock_spec& wanted, core::time_point now) const;
    /// Returns whether an operation with that lock could receive it by hand-off.
    [[nodiscard]] bool serves(const lock_spec& wanted) const noexcept;
    /// Adds a holder, whose number is then `holder()`.
    std::shared_ptr<lease_driver> add_holder(core::time_point now);
    /// Replaces the last holder by a new one, for this owner.
    std::shared_ptr<lease_driver> hand_off(const ownership& next, core::time_point now);
    /// Releases the lease, because no operation wants the hand-off any more.
    void give_back(core::time_point now);

    // From the lease and its operations, on the engine's executor:

    [[nodiscard]] runtime::loop& loop() const noexcept;
    [[nodiscard]] bool is_held_by(const lease_operation& asker) const noexcept;
    /// Returns `done` if the asker holds it and its `shared_mutex` operation is for a lock that can use it.
    /// Otherwise returns the reason.
    [[nodiscard]] lease_result check(const lease_operation& asker,
                                     const lock_spec& lock) const noexcept;
    /// Returns the result of an operation whose lease is not held.
    [[nodiscard]] lease_result result_without(const lease_operation& asker) const noexcept;
    void extend(extend_operation& asker);
    /// With fencing, takes a round that counts the fence of the new holder.
    void share(share_operation& asker);
    void downgrade(downgrade_operation& asker);
    void release(release_operation& asker);
    void wait_lost(loss_operation& asker);
    void hand_over(handover_operation& asker);

    /// Drops that holder. No effect unless it still has the lease, or has lost it without a release. A
    /// release that waits for room continues to wait.
    void let_go(std::uint32_t holder);
    /// Drops that holder without a release of the keys, which expire with their ttl.
    void abandon(std::uint32_t holder);
    /// Reports that a quorum has this record in place of the token. The holder is dropped. Waiters that look
    /// for a record have found one.
    void complete(std::uint32_t holder, const std::shared_ptr<const std::string>& record);
    /// A record that replaces the token is about to be sent.
    void expect_record() noexcept { machine_.expect_record(); }
    /// Sends the release that waits for room now. It is not handed off.
    void send_release();

    // From the engine:

    /// Instance number `index` accepts commands again.
    void on_accepting(std::size_t index);
    /// Gives that instance its missing key, if the lease is held.
    void restore_key(std::size_t index);
    /// The client is being closed, so the lease is lost.
    void on_close();
    /// The client has removed its keys for others, who do not wait for its holder.
    void on_broken();
    /// Returns whether the closing client need not wait for it any longer: see `core::lease::settled`.
    [[nodiscard]] bool settled(core::time_point now) const { return machine_.settled(now); }
    /// Returns whether it was released without a quorum of answers.
    [[nodiscard]] bool unanswered() const {
        return (machine_.held() && release_waits()) ||
               (machine_.releasing() && !machine_.answered());
    }
    /// The connections are closed, so nothing can be released any more.
    void on_closed();
    void on_abandon() noexcept;

private:
    using purpose = core::lease_tag::purpose_type;
    using event = core::lease::event;

    template <typename Operation>
    using waiters =
        boost::intrusive::list<Operation, boost::intrusive::base_hook<waiting_for_lease>,
                               boost::intrusive::constant_time_size<false>>;

    /// Members that most leases never need.
    struct rarely_used {
        std::vector<std::shared_ptr<extend_operation>> extends;  // The first one is in progress.
        std::vector<std::shared_ptr<share_operation>> shares;    // Their fence is being counted.
        // Requested since that round began.
        std::vector<std::shared_ptr<share_operation>> next_shares;
        waiters<loss_operation> loss_waiters;
        std::string loss_details;
        std::string no_quorum_details;
        std::shared_ptr<const lock_spec> reader_spec;  // From the start of a downgrade.
        core::time_point downgrade_began{};            // Start of the first downgrade.
        bool is_readers = false;                       // A downgrade has succeeded.
        bool is_cut_off = false;  // The client was closed before the release was sent.
    };

    void on_vote(std::size_t index, instance::command_tag tag, const core::vote& vote,
                 core::time_point now) override;
    [[nodiscard]] bool wanted(std::size_t index, instance::command_tag tag) const override;
    void on_time(core::time_point now) override;

    [[nodiscard]] std::string_view held_as() noexcept;
    void release_share(std::uint32_t holder);

    /// Returns whether its holder has requested the release, and it waits for room on the instances.
    [[nodiscard]] bool release_waits() const noexcept {
        return is_at_key() && std::any_of(release_waiters_.begin(), release_waiters_.end(),
                                          std::mem_fn(&release_operation::waits_to_be_sent));
    }

    void end_ownership() noexcept;
    core::time_point note_leaving(std::uint32_t holder) noexcept;
    [[nodiscard]] bool leave(std::uint32_t holder);
    [[nodiscard]] bool may_end_hold() const noexcept;
    [[nodiscard]] bool needs_room() const noexcept;
    void end_hold(bool is_handed_off, core::time_point now);
    /// Returns whether an operation waits for the end of the attempt.
    [[nodiscard]] bool is_attempt() const noexcept { return queue_ != nullptr && !is_at_key(); }
    void drive(const core::lease::event& e, core::time_point now);
    void resume(const event& e, core::time_point now);
    void carry_out(const core::lease_step& step, core::time_point now);
    void act(const core::lease_step& step, core::time_point now);
    void tell_queue(const core::lease_step& step, core::time_point now);
    kinds::command& submit(core::lease_tag tag, core::instance_set targets, core::time_point now);
    void publish() noexcept;

    void end_extend(bool success);
    void begin_shares(core::time_point now);
    void end_shares(bool success);
    void on_lost(core::loss why, core::duration late, core::time_point now);
    [[nodiscard]] bool may_hand_off(core::time_point now) const;
    void end_operations();
    void on_releasing();
    void on_resolved();
    void resolve(core::release_outcome outcome);
    void end();

    void explain_no_quorum(const core::round& votes);
    void end_loss_waiters(lease_result result, std::optional<std::uint32_t> holder = {});
    [[nodiscard]] core::duration ttl_for(const extend_operation& asker) const noexcept;
    [[nodiscard]] rarely_used& rare();
    void forget_if_over();

    // The members that every vote needs come first, to share few cache lines. They include the pointers to
    // the other members that most votes need.
    std::uint32_t pending_votes_ = 0;
    std::uint64_t place_ = 0;
    std::uint32_t last_turn_ = 0;  // Turn of the last submission.
    // The number of the first holder that reads, for other threads. Writers may have held the lease before
    // it. This position fills a gap in the layout.
    std::atomic<std::uint32_t> first_reader_;
    key_queue* queue_;  // Null unless it is attempting or at the key.
    waiters<release_operation> release_waiters_;
    std::shared_ptr<const lock_spec> spec_;  // The lock of the attempt. It also fixes the token.
    std::unique_ptr<rarely_used> rare_;      // Null until it is needed.
    core::lease machine_;
    client_context& client_;
    std::shared_ptr<lease_driver> self_;  // Until the end of the last release and vote.

    [[no_unique_address]] runtime::token token_;  // The next two members fill the gap at its end.
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
