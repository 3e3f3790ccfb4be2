// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "runtime/key/local_queue.hpp"

#include <algorithm>

namespace colock::runtime {

bool local_queue::has_rival_before(const member_at_key& waiter) const noexcept {
    const auto is_rival = [wanted = waiter.admission()](const member_at_key& other) {
        return !wanted.admits(other.admission());
    };
    return (attempting_ != nullptr && is_rival(*attempting_)) ||
           std::any_of(waiters_.begin(), waiters_.iterator_to(waiter), is_rival);
}

void local_queue::hold(member_at_key& lease) noexcept {
    leave();
    hold_beside(lease);
}

void local_queue::hold_beside(member_at_key& lease) noexcept {
    leases_.push_back(lease);
    latest_ = &lease;
    hold_as(lease);
}

void local_queue::let_go(member_at_key& lease) noexcept {
    leases_.erase(leases_.iterator_to(lease));
    if (latest_ == &lease) {
        latest_ = nullptr;
    }
}

}  // namespace colock::runtime
