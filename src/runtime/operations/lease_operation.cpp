// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/operations/lease_operation.hpp"

#include "runtime/key/lease_driver.hpp"
#include "runtime/loop/loop.hpp"

namespace colock::runtime {
namespace {

lease_result result_of(core::release_outcome outcome) noexcept {
    return outcome == core::release_outcome::no_quorum ? lease_result::no_quorum
                                                       : lease_result::done;
}

}  // namespace

void lease_operation::finish(lease_result result) {
    if (running()) {
        result_ = result;
        waiting_for_lease::unlink();
        lease_->loop().finished.add(take());
    }
}

void lease_operation::cancel() {
    finish(lease_result::cancelled);
}

void extend_operation::on_start() {
    lease().extend(*this);
}

void downgrade_operation::on_start() {
    lease().downgrade(*this);
}

void share_operation::on_start() {
    began_ = lease().loop().turn.now();
    if (const lease_result usable = lease().check(*this, *shared_); usable != lease_result::done) {
        finish(usable);
        // mutant: writer_shares
    } else if (!lease().spec().admission().shares_lease()) {
        finish(lease_result::not_a_readers);
    } else {
        lease().share(*this);
    }
}

void share_operation::receive(std::uint32_t holder, std::uint64_t fence) {
    new_holder_ = holder;
    fence_ = fence;
    lease().note_shared(began_);
    finish(lease_result::done);
}

void release_operation::on_start() {
    lease().release(*this);
}

void release_operation::on_admitted(core::time_point /*now*/) {
    lease().send_release();
}

void release_operation::cancel() {
    const bool waits = waits_to_be_sent();
    lease().loop().gate.leave(*this);
    lease_operation::cancel();
    if (waits) {
        lease().send_release();
    }
}

void release_operation::resolve(core::release_outcome outcome) {
    lease().loop().gate.leave(*this);
    outcome_ = outcome;
    finish(result_of(outcome));
}

void handover_operation::on_start() {
    lease().hand_over(*this);
}

void loss_operation::on_start() {
    lease().wait_lost(*this);
}

}  // namespace colock::runtime
