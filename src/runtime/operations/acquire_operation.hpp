// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_ACQUIRE_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_ACQUIRE_OPERATION_HPP

#include "core/acquire.hpp"
#include "core/instance_set.hpp"
#include "core/queue_ticket.hpp"
#include "core/round.hpp"
#include "core/time.hpp"
#include "core/vote.hpp"
#include "runtime/handover.hpp"
#include "runtime/in_client.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/key/local_queue.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/send_gate.hpp"
#include "runtime/loop/timer_queue.hpp"
#include "runtime/ownership.hpp"
#include "runtime/recycling_allocator.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::instance {
struct status;
}

namespace colock::runtime {

class instance_group;
class key_queue;
struct loop;

/// Waits in the local queue if others of the client are at its key, and then drives `core::acquire`. Sends
/// its attempts, each with its own `lease_driver`, and passes it the votes. Alternatively it receives a lease
/// by hand-off, or shares one.
class acquire_operation : public operation,
                          public in_client,
                          public member_at_key,
                          private gated,
                          private timed {
public:
    /// `deadline` as in `core::acquire_settings`.
    /// `owner` as in `ownership`.
    acquire_operation(std::shared_ptr<const lock_spec> spec, core::time_point deadline,
                      std::uint64_t owner = 0);
    /// Adopts a lease of another process. It extends that lease instead of an attempt, and does not wait for
    /// others.
    acquire_operation(std::shared_ptr<const lock_spec> spec,
                      std::shared_ptr<const handover> adopted);
    ~acquire_operation() override;

    void cancel() final;

    [[nodiscard]] const std::shared_ptr<const lock_spec>& spec() const noexcept { return spec_; }
    [[nodiscard]] ownership acts_for() const noexcept {
        return {owner_, owner_ != 0 && spec_->is_reentrant};
    }
    [[nodiscard]] core::time_point arrived() const noexcept { return arrived_; }
    [[nodiscard]] core::time_point deadline() const noexcept { return deadline_; }
    /// Null until it attempts.
    [[nodiscard]] const core::acquire* machine() const noexcept { return machine_.get(); }
    [[nodiscard]] key_queue& queue() noexcept { return *queue_; }
    /// Returns whether it adopts a lease of another process.
    [[nodiscard]] bool adopts() const noexcept { return adopted_ != nullptr; }
    /// Returns the token of that lease.
    [[nodiscard]] std::string_view adopted_token() const noexcept { return adopted_->token; }
    /// Returns its number among the waiters of its client, if it waits for a lock whose order binds.
    /// Otherwise 0.
    [[nodiscard]] std::uint64_t place() const noexcept { return place_; }
    /// Returns whether votes on its latest attempt are pending.
    [[nodiscard]] bool has_attempt_under_way() const noexcept {
        return lease_ != nullptr && lease_->attempting();
    }
    /// Returns whether its attempts may have entered it into the queue of such a lock. A granted attempt has
    /// left the queue again.
    [[nodiscard]] bool may_have_entered() const noexcept {
        return machine_ != nullptr && outcome_ != core::acquire_outcome::granted;
    }
    /// Returns whether this is the lease of its latest attempt.
    [[nodiscard]] bool has_attempted(const lease_driver& lease) const noexcept {
        return lease_.get() == &lease;
    }

    // From its queue. Calls that may end the operation are the queue's last action.

    /// Sets the queue that it has come to.
    void come_to(key_queue& queue) noexcept { queue_ = &queue; }
    /// Waits behind others of the client.
    void wait_in_local_queue();
    /// Another operation has come behind it.
    void on_waiter_behind();
    /// Waits behind all others, after it has let them pass.
    void wait_behind_others();
    /// It is the first and will begin.
    void become_next() noexcept { stage_ = stage::next; }
    void begin();
    /// Returns whether it waits for room at the key without an attempt in progress. It may then receive an
    /// existing lease by hand-off.
    [[nodiscard]] bool may_receive() const noexcept;
    /// Receives the lease, or a share in it.
    void receive(std::shared_ptr<lease_driver> lease);
    /// Fails with the result and details of the operation at the key, or because of its owner. It is in no
    /// queue.
    void fail_as(core::acquire_outcome outcome, const std::string& details);
    /// Completes without a lease, because the name has this record. It is in no queue.
    void find(std::shared_ptr<const std::string> record);
    /// Its attempt was granted. Its lease is at the key.
    void on_granted();
    /// Its attempt has failed and is being rolled back.
    void on_failed(core::acquire_outcome why, core::time_point now);
    /// Handles the advice of the remote queue.
    void on_advice(core::queue_ticket::advice advice);
    /// An instance has replied how long it will deny.
    void on_remaining(std::size_t index, const core::vote& vote);
    /// Records such a reply to a request of another object.
    void note_remaining(std::size_t index, const core::vote& vote);

    /// Returns the result so far. `contended` if an instance has denied, or another client precedes it in the
    /// remote queue. None if no attempt has ended and no instance has denied.
    [[nodiscard]] std::optional<core::acquire_outcome> finding() const noexcept;
    /// Returns whether others of its client come first.
    [[nodiscard]] bool is_in_local_queue() const noexcept {
        return stage_ == stage::in_local_queue;
    }
    /// Returns the text that an error would have now.
    [[nodiscard]] std::string story() const;
    /// The same, with the states of the instances, which are expensive to collect.
    [[nodiscard]] std::string story(const std::vector<instance::status>& instances) const;
    [[nodiscard]] const std::string& details() const noexcept { return details_; }
    /// Returns the record that a quorum has. Null unless it has ended with one.
    [[nodiscard]] const std::shared_ptr<const std::string>& record() const noexcept {
        return record_;
    }
    /// Returns whether an instance has reported that the key has no ttl.
    [[nodiscard]] bool met_key_without_ttl() const noexcept { return !without_ttl_.empty(); }
    /// Returns whether it asks which client holds the key. This costs the instances more.
    [[nodiscard]] bool wants_explanation() const noexcept {
        return met_key_without_ttl() || has_waited_for_long();
    }

    // From its queue and from the engine:

    /// Starts if it was waiting for the instances. Retries if a quorum is back.
    void on_instances_changed(bool quorum_is_back);
    /// Its key on instance number `index` may have changed.
    void on_key_changed(std::size_t index);
    /// The client is being closed.
    void on_close();
    /// Drops the operation, because the execution context is being destroyed.
    void on_abandon() noexcept;

protected:
    [[nodiscard]] core::acquire_outcome result() const noexcept { return outcome_; }
    /// Returns the lease of the current attempt or of the granted one, or null.
    [[nodiscard]] const std::shared_ptr<lease_driver>& current_lease() const noexcept {
        return lease_;
    }
    [[nodiscard]] std::shared_ptr<lease_driver> take_lease() noexcept { return std::move(lease_); }
    /// Returns whether an instance has denied an attempt with a record.
    [[nodiscard]] bool has_met_record() const noexcept { return has_met_record_; }
    /// Returns its number among the holders of the lease.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holder_; }
    [[nodiscard]] std::uint64_t fence() const noexcept { return fence_; }
    [[nodiscard]] std::string take_details() noexcept { return std::move(details_); }

private:
    using event = core::acquire::event;

    enum class stage : std::uint8_t {
        in_local_queue,
        next,               ///< At the key. Begins at the end of the turn.
        stepping_aside,     ///< It is too early for an attempt.
        waiting_for_turn,   ///< Other clients precede it: see `core::queue_ticket`.
        waiting_for_start,  ///< The instances are still connecting for the first time.
        attempting,
    };

    void on_start() final;
    void on_not_started() final;
    void leave(core::acquire_outcome outcome);
    void on_time(core::time_point now) override;
    void on_admitted(core::time_point now) override;
    [[nodiscard]] bool may_enter_with_first() const;
    [[nodiscard]] core::acquire_outcome outcome_in_local_queue() const;
    [[nodiscard]] bool may_join_remote_queue() const noexcept;
    [[nodiscard]] bool can_join_remote_queue() const;
    [[nodiscard]] bool has_waited_for_long() const noexcept;
    [[nodiscard]] bool announces() const noexcept { return spec_->policy->kind().announces(); }
    [[nodiscard]] bool may_pass() const noexcept;
    [[nodiscard]] bool has_queued_for_long(core::time_point now) const noexcept;
    [[nodiscard]] core::time_point end_of_turn_wait() const noexcept;
    [[nodiscard]] bool others_hold_it_up() const;
    [[nodiscard]] bool is_in_turn() const noexcept;
    [[nodiscard]] bool is_announcement_due() const;
    [[nodiscard]] bool join_remote_queue();
    void wait_for_start();
    void wait_for_turn();
    void start_attempts();
    void resume(const event& e);
    void end_without_memory();
    void carry_out(const core::acquire::step& step, core::time_point now);
    void begin_attempt(core::time_point now);
    void wait_to_be_sent(core::time_point now);
    [[nodiscard]] core::time_point end_of_outage_wait(core::time_point now) const noexcept;
    [[nodiscard]] bool waits_for_quorum(core::time_point now) const noexcept;
    void wait_for_quorum(core::time_point now);
    [[nodiscard]] core::round votes_in_outage() const;
    void give_up_sending(core::time_point now);
    void wait_for_others();
    [[nodiscard]] core::time_point lets_others_pass_at() const noexcept;
    void ask_remaining();
    void ask_remaining(std::size_t index);
    void wait(core::time_point until);
    void explain(core::acquire_outcome outcome);
    [[nodiscard]] bool client_holds_it() const noexcept;
    [[nodiscard]] std::string words_for_own_lease() const;
    [[nodiscard]] std::string why_without_attempt(
        const std::vector<instance::status>& instances) const;
    void finish(core::acquire_outcome outcome);
    void give_up_attempt();
    void note_denied(bool is_contended) noexcept;
    void note_records();

    std::shared_ptr<const lock_spec> spec_;
    std::shared_ptr<const handover> adopted_;  // Null except for adoptions.
    loop& loop_;
    const instance_group& instances_;
    core::time_point deadline_;
    std::uint64_t owner_;
    std::uint64_t place_ = 0;
    recycled<core::acquire> machine_;      // From the first attempt on.
    std::shared_ptr<lease_driver> lease_;  // Of the current attempt or the granted one.
    key_queue* queue_ = nullptr;           // While running.
    core::time_point arrived_{};
    core::time_point send_until_{};                // While it waits to be sent.
    core::time_point queued_since_ = core::never;  // In the remote queue.
    std::uint32_t holder_ = 0;
    std::uint64_t fence_ = 0;
    stage stage_ = stage::in_local_queue;
    // Its last attempt was not sent, because its client is overloaded.
    bool is_overloaded_ = false;
    bool is_in_outage_ = false;  // It waits for a quorum, and has made no attempt since.
    bool closing_ = false;
    bool has_met_record_ = false;
    bool has_let_others_pass_ = false;
    core::acquire_outcome outcome_ = core::acquire_outcome::cancelled;
    std::string details_;
    std::shared_ptr<const std::string> record_;
    core::instance_set without_ttl_;  // Instances that reported a key without ttl.
    /// Queried for room, because the key has changed there.
    core::instance_set looking_;
    std::vector<core::vote> denials_;                // See `key_findings`.
    std::shared_ptr<const core::round> last_votes_;  // Of the last failed attempt.
    std::shared_ptr<const core::round>
        last_denial_;  // Of the last attempt that an instance denied.
};

}  // namespace colock::runtime

#endif
