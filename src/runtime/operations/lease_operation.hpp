// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_OPERATIONS_LEASE_OPERATION_HPP
#define COLOCK_RUNTIME_OPERATIONS_LEASE_OPERATION_HPP

#include "core/outcome.hpp"
#include "core/time.hpp"
#include "runtime/handover.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/loop/operation.hpp"
#include "runtime/loop/send_gate.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace colock::runtime {

class lease_driver;

/// The result of an operation on a lease.
enum class lease_result : std::uint8_t {
    done,
    not_held,   ///< It was released.
    ended,      ///< It was lost: see `loss`.
    no_quorum,  ///< Too few instances answered.
    closed,     ///< The client was closed before the release was sent.
    // The lock of the operation cannot use that lease:
    of_another_client,
    of_another_name,
    fenced_otherwise,  ///< Only one of the two has fencing.
    of_a_mutex,        ///< It is neither a writer's nor a reader's.
    not_a_readers,
    shared_by_others,  ///< It has several holders.
    cancelled,
};

using waiting_for_lease =
    boost::intrusive::list_base_hook<boost::intrusive::tag<class lease_operation>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// An operation on a lease: extend, downgrade, share, release, or the wait for its loss.
class lease_operation : public operation, public waiting_for_lease {
public:
    lease_operation(std::shared_ptr<lease_driver> lease, std::uint32_t holder)
        : lease_(std::move(lease)), holder_(holder) {}
    void cancel() override;

    /// Ends the operation, if it has not ended.
    void finish(lease_result result);

    /// Returns its holder: see `lease_driver`.
    [[nodiscard]] std::uint32_t holder() const noexcept { return holder_; }

protected:
    [[nodiscard]] lease_driver& lease() noexcept { return *lease_; }
    [[nodiscard]] const std::shared_ptr<lease_driver>& shared_lease() const noexcept {
        return lease_;
    }
    [[nodiscard]] lease_result result() const noexcept { return result_; }

private:
    std::shared_ptr<lease_driver> lease_;
    std::uint32_t holder_;
    lease_result result_ = lease_result::cancelled;
};

class extend_operation : public lease_operation {
public:
    extend_operation(std::shared_ptr<lease_driver> lease, std::uint32_t holder, core::duration ttl)
        : lease_operation(std::move(lease), holder), ttl_(ttl) {}
    [[nodiscard]] core::duration ttl() const noexcept { return ttl_; }
    [[nodiscard]] virtual bool is_downgrade() const noexcept { return false; }

private:
    void on_start() override;

    core::duration ttl_;
};

/// Downgrades a writer's lease to a reader's. It renews a reader's token, which each instance accepts in
/// place of the writer's. It succeeds with a quorum of instances.
class downgrade_operation : public extend_operation {
public:
    /// `shared` is the lock's readers' side.
    downgrade_operation(std::shared_ptr<lease_driver> lease, std::uint32_t holder,
                        std::shared_ptr<const lock_spec> shared)
        : extend_operation(std::move(lease), holder, core::duration::zero()),
          shared_(std::move(shared)) {}
    [[nodiscard]] const std::shared_ptr<const lock_spec>& shared() const noexcept {
        return shared_;
    }
    [[nodiscard]] bool is_downgrade() const noexcept final { return true; }

private:
    void on_start() final;

    std::shared_ptr<const lock_spec> shared_;
};

/// Adds a holder to a reader's lease, even if a writer waits. With fencing, the holder has its own fence.
class share_operation : public lease_operation {
public:
    share_operation(std::shared_ptr<lease_driver> lease, std::uint32_t holder,
                    std::shared_ptr<const lock_spec> shared)
        : lease_operation(std::move(lease), holder), shared_(std::move(shared)) {}
    [[nodiscard]] const std::shared_ptr<const lock_spec>& shared() const noexcept {
        return shared_;
    }

    /// Returns when it was started.
    [[nodiscard]] core::time_point began() const noexcept { return began_; }

    /// Receives the number of the new holder and its fence. The fence is 0 without fencing.
    void receive(std::uint32_t holder, std::uint64_t fence);

protected:
    /// Valid after `lease_result::done`.
    [[nodiscard]] std::uint32_t new_holder() const noexcept { return new_holder_; }
    [[nodiscard]] std::uint64_t fence() const noexcept { return fence_; }

private:
    void on_start() final;

    std::shared_ptr<const lock_spec> shared_;
    core::time_point began_{};
    std::uint32_t new_holder_ = 0;
    std::uint64_t fence_ = 0;
};

class release_operation : public lease_operation, public gated {
public:
    using lease_operation::lease_operation;

    /// The release continues.
    void cancel() final;

    [[nodiscard]] bool waits_to_be_sent() const noexcept { return at_gate::is_linked(); }

    /// Ends the operation with the outcome of the release.
    void resolve(core::release_outcome outcome);

protected:
    /// Valid after `lease_result::done`.
    [[nodiscard]] core::release_outcome outcome() const noexcept { return outcome_; }

private:
    void on_start() final;
    void on_admitted(core::time_point now) final;

    core::release_outcome outcome_ = core::release_outcome::released;
};

/// Hands the lease over to another process. It ends here, but its keys stay.
class handover_operation : public lease_operation {
public:
    using lease_operation::lease_operation;

    void receive(handover lease) noexcept { handed_over_ = std::move(lease); }

protected:
    /// Valid after `lease_result::done`.
    [[nodiscard]] const handover& handed_over() const noexcept { return handed_over_; }

private:
    void on_start() final;

    handover handed_over_;
};

class loss_operation : public lease_operation {
public:
    using lease_operation::lease_operation;

private:
    void on_start() final;
};

}  // namespace colock::runtime

#endif
