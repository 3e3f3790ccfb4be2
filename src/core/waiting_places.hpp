// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_WAITING_PLACES_HPP
#define COLOCK_CORE_WAITING_PLACES_HPP

#include <cstdint>
#include <vector>

namespace colock::core {

/// The places of one client's waiters in the queue of a lock whose order is binding, with the known part of
/// their order.
///
/// A lease of the client may be handed off only to a waiter that has no waiter of another client ahead of it.
/// The reply to each waiter that enters therefore contains the waiter directly ahead. If that waiter is of
/// this client and has had its turn, the new one is next. If a waiter gives up, its knowledge applies to the
/// waiter behind it.
///
/// If a command of an earlier waiter was lost, a later waiter of the client may be the first. An instance
/// then grants the turn to the earlier one as well, and waiters of others may be between the two. A waiter
/// that may have entered after a later one therefore has its turn, but the waiter behind it is not known to
/// be next. The same holds for a waiter whose attempt got no answer. If that attempt was granted, its place is
/// gone, and its next attempt enters it at the end.
class waiting_places {
public:
    struct waiter {
        std::uint64_t number;
        /// The waiter of this client directly ahead, or its own number if no waiter is ahead. The value is
        /// 0 if that is not known, or if a waiter of another client is ahead.
        std::uint64_t behind = 0;
        bool has_entered = false;  ///< The instance has confirmed it.
        bool is_late = false;      ///< It may be behind a later waiter, or behind other clients.
    };

    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    /// Returns the waiters in increasing order of their numbers.
    [[nodiscard]] const std::vector<waiter>& all() const noexcept { return all_; }
    [[nodiscard]] bool contains(std::uint64_t number) const noexcept;

    /// Adds a waiter. Later waiters have larger numbers.
    void add(std::uint64_t number);
    /// Records that a waiter has entered the queue by a command of its own. `before` is as `waiter::behind`.
    void on_entered(std::uint64_t number, std::uint64_t before);
    /// Records that a waiter has entered by an attempt that was denied, or was there before.
    void on_denied(std::uint64_t number);
    /// Records that an attempt of the waiter has got no answer.
    void on_attempt_lost(std::uint64_t number) noexcept;
    /// Records that places may be missing. All waiters enter again.
    void forget() noexcept;
    /// Records that the attempt of a waiter was granted. The caller removes it after that.
    void on_granted(std::uint64_t number) noexcept;
    /// Records that a waiter gets the lease of its client. The caller removes it after that.
    void on_handed_off(std::uint64_t number) noexcept;
    void remove(std::uint64_t number) noexcept;

    /// Returns whether no waiter of another client is ahead of it, if its client holds the lock.
    [[nodiscard]] bool may_be_handed_off(std::uint64_t number) const noexcept;

private:
    [[nodiscard]] waiter* find(std::uint64_t number) noexcept;
    [[nodiscard]] const waiter* find(std::uint64_t number) const noexcept;
    void note_entered(waiter& one) noexcept;
    static void forget(waiter& one) noexcept;
    void pass_turn(std::uint64_t number, bool was_first) noexcept;

    std::vector<waiter> all_;
    std::uint64_t latest_entered_ = 0;
};

}  // namespace colock::core

#endif
