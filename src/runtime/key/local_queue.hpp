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

/// What the local queue knows of an operation or of a lease: which holders the key may have beside it.
class member_at_key : public at_key {
public:
    explicit member_at_key(kinds::admission admission) noexcept : admission_(admission) {}

    [[nodiscard]] kinds::admission admission() const noexcept { return admission_; }

protected:
    void set_admission(kinds::admission admission) noexcept { admission_ = admission; }

private:
    kinds::admission admission_;
};

/// The operations and leases of one client on one key. At the key are the leases that hold it, of which there are several
/// only if all of them admit each other, and one operation at most, which attempts. The others wait in the order in which they
/// came, and cost the instances nothing. So a waiting writer stops the readers behind it.
class local_queue {
public:
    /// The operation that is at the key, if there is one.
    [[nodiscard]] member_at_key* attempting() const noexcept { return attempting_; }

    /// Whether no operation waits.
    [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }

    /// Whether nobody is at the key, nor waits.
    [[nodiscard]] bool unused() const noexcept {
        return attempting_ == nullptr && leases_.empty() && waiters_.empty();
    }

    /// Whether an operation may be at the key as soon as it comes.
    [[nodiscard]] bool admits(kinds::admission newcomer) const noexcept {
        return waiters_.empty() && may_begin(newcomer);
    }
    /// Whether the first waiter may be there.
    [[nodiscard]] bool admits_next() const noexcept {
        return !waiters_.empty() && may_begin(waiters_.front().admission());
    }

    /// Whether this client holds the key.
    [[nodiscard]] bool is_held() const noexcept { return !leases_.empty(); }
    /// As what it does, or did last.
    [[nodiscard]] kinds::admission held_as() const noexcept { return held_as_; }
    /// The lease that came last, while it is there; else null.
    [[nodiscard]] member_at_key* latest() const noexcept { return latest_; }

    /// Whether a lease of this client keeps such an operation from the key.
    [[nodiscard]] bool is_held_against(kinds::admission wanted) const noexcept {
        return is_held() && !held_as_.admits(wanted);
    }
    /// Whether an operation of this client comes before that waiter and cannot hold the key together with it.
    [[nodiscard]] bool has_rival_before(const member_at_key& waiter) const noexcept;

    /// Whether the client's part in the remote queue is needed: by an operation that attempts, or by an exclusive lease until its
    /// release. A waiter behind other leases of this client does not need it: it is told when they have let go.
    [[nodiscard]] bool needs_remote_queue() const noexcept {
        return attempting_ != nullptr || (is_held() && !held_as_.leaves_room());
    }

    [[nodiscard]] member_at_key& front() noexcept { return waiters_.front(); }
    /// Calls this with each waiter, in their order. It may take that one out.
    template <typename Function>
    void for_each_waiter(const Function& tell) {
        for (auto next = waiters_.begin(); next != waiters_.end();) {
            tell(*next++);
        }
    }
    /// Whether this holds for one of them.
    template <typename Function>
    [[nodiscard]] bool any_waiter(const Function& holds) {
        return std::any_of(waiters_.begin(), waiters_.end(), holds);
    }
    void push(member_at_key& last) noexcept { waiters_.push_back(last); }
    void remove(member_at_key& waiter) noexcept { waiters_.erase(waiters_.iterator_to(waiter)); }

    /// An operation is at the key, and attempts.
    void enter(member_at_key& newcomer) noexcept { attempting_ = &newcomer; }
    /// The first waiter is. Returns it.
    member_at_key& next() noexcept;
    /// The operation that attempted is there no more.
    void leave() noexcept { attempting_ = nullptr; }

    /// The operation that attempted has got this lease, which is at the key in its place.
    void hold(member_at_key& lease) noexcept;
    /// A lease is at the key that no operation here has attempted: it comes from another process. It may be there beside anybody.
    void hold_beside(member_at_key& lease) noexcept;
    /// That lease is of another kind now.
    void hold_as(const member_at_key& lease) noexcept { held_as_ = lease.admission(); }
    /// A lease has let go of the key.
    void let_go(member_at_key& lease) noexcept;

private:
    using list = boost::intrusive::list<member_at_key, boost::intrusive::base_hook<at_key>,
                                        boost::intrusive::constant_time_size<false>>;

    /// Beside others, only one that they admit.
    [[nodiscard]] bool may_begin(kinds::admission wanted) const noexcept {
        return attempting_ == nullptr && !is_held_against(wanted);
    }

    member_at_key* attempting_ = nullptr;
    member_at_key* latest_ = nullptr;
    list leases_;  // the newest last
    list waiters_;
    kinds::admission held_as_ = kinds::admission::exclusive();
};

}  // namespace colock::runtime

#endif
