// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_RUNTIME_KEY_LOCAL_QUEUE_HPP
#define COLOCK_RUNTIME_KEY_LOCAL_QUEUE_HPP

#include "kinds/admission.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>

namespace colock::runtime {

using at_key =
    boost::intrusive::list_base_hook<boost::intrusive::tag<class local_queue>,
                                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A member of the local queue: an operation or a lease, with the holders that it admits next to it.
class member_at_key : public at_key {
public:
    explicit member_at_key(kinds::admission admission) noexcept : admission_(admission) {}

    [[nodiscard]] kinds::admission admission() const noexcept { return admission_; }

protected:
    void set_admission(kinds::admission admission) noexcept { admission_ = admission; }

private:
    kinds::admission admission_;
};

/// The operations and leases of one client on one key. At the key are the leases that hold it, and at most
/// one operation that attempts. There are several leases only if all of them admit each other. Other
/// operations wait in FIFO order and send no commands. A waiting writer therefore stops the readers behind
/// it.
class local_queue {
public:
    /// Returns the operation at the key, or null.
    [[nodiscard]] member_at_key* attempting() const noexcept { return attempting_; }

    /// Returns whether no operation waits.
    [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }

    /// Returns whether there is no operation or lease at the key, and no waiter.
    [[nodiscard]] bool unused() const noexcept {
        return attempting_ == nullptr && leases_.empty() && waiters_.empty();
    }

    /// Returns whether a new operation may go to the key immediately.
    [[nodiscard]] bool admits(kinds::admission newcomer) const noexcept {
        // mutant: reader_overtakes
        return waiters_.empty() && may_begin(newcomer);
    }
    /// Returns whether the first waiter may go to the key.
    [[nodiscard]] bool admits_next() const noexcept {
        return !waiters_.empty() && may_begin(waiters_.front().admission());
    }

    /// Returns whether this client holds the key.
    [[nodiscard]] bool is_held() const noexcept { return !leases_.empty(); }
    /// Returns the current, or else the last, admission of this client's leases.
    [[nodiscard]] kinds::admission held_as() const noexcept { return held_as_; }
    /// Returns the latest lease while it is at the key, or null.
    [[nodiscard]] member_at_key* latest() const noexcept { return latest_; }

    /// Returns whether a lease of this client keeps such an operation from the key.
    [[nodiscard]] bool is_held_against(kinds::admission wanted) const noexcept {
        return is_held() && !held_as_.admits(wanted);
    }
    /// Returns whether an operation of this client precedes that waiter and cannot hold the key together with
    /// it.
    [[nodiscard]] bool has_rival_before(const member_at_key& waiter) const noexcept;

    /// Returns whether the client needs its ticket in the remote queue. An attempting operation needs it, and
    /// so does an exclusive lease until its release. A waiter behind other leases of this client does not,
    /// because it is notified of their release.
    [[nodiscard]] bool needs_remote_queue() const noexcept {
        return attempting_ != nullptr || (is_held() && !held_as_.leaves_room());
    }

    [[nodiscard]] member_at_key& front() noexcept { return waiters_.front(); }
    /// Calls the function with each waiter, in order. The function may remove that waiter.
    template <typename Function>
    void for_each_waiter(const Function& tell) {
        for (auto next = waiters_.begin(); next != waiters_.end();) {
            tell(*next++);
        }
    }
    /// Returns whether the predicate is true for any waiter.
    template <typename Function>
    [[nodiscard]] bool any_waiter(const Function& holds) {
        return std::any_of(waiters_.begin(), waiters_.end(), holds);
    }
    /// Returns whether the predicate is true for any lease at the key.
    template <typename Function>
    [[nodiscard]] bool any_lease(const Function& holds) {
        return std::any_of(leases_.begin(), leases_.end(), holds);
    }
    // mutant: served_out_of_order
    void push(member_at_key& last) noexcept { waiters_.push_back(last); }
    void remove(member_at_key& waiter) noexcept { waiters_.erase(waiters_.iterator_to(waiter)); }

    /// Puts an operation at the key to attempt.
    void enter(member_at_key& newcomer) noexcept { attempting_ = &newcomer; }
    /// Removes the attempting operation from the key.
    void leave() noexcept { attempting_ = nullptr; }

    /// Replaces the attempting operation by its lease.
    void hold(member_at_key& lease) noexcept;
    /// Puts a lease of another process at the key, next to any others. No operation here has attempted it.
    void hold_beside(member_at_key& lease) noexcept;
    /// Applies a change of the lease's kind.
    void hold_as(const member_at_key& lease) noexcept { held_as_ = lease.admission(); }
    /// Removes a lease from the key.
    void let_go(member_at_key& lease) noexcept;

private:
    using list = boost::intrusive::list<member_at_key, boost::intrusive::base_hook<at_key>,
                                        boost::intrusive::constant_time_size<false>>;

    /// Returns whether an operation may attempt. The leases at the key must admit it.
    [[nodiscard]] bool may_begin(kinds::admission wanted) const noexcept {
        return attempting_ == nullptr && !is_held_against(wanted);
    }

    member_at_key* attempting_ = nullptr;
    member_at_key* latest_ = nullptr;
    list leases_;  // The newest is last.
    list waiters_;
    kinds::admission held_as_ = kinds::admission::exclusive();
};

}  // namespace colock::runtime

#endif
