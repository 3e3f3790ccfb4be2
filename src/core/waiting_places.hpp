// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_WAITING_PLACES_HPP
#define COLOCK_CORE_WAITING_PLACES_HPP

#include <cstdint>
#include <vector>

namespace colock::core {

/// The places that the waiters of one client have in the queue of a lock whose order binds, and what the client knows of their order.
///
/// A lease of the client may be handed off only to a waiter that has no waiter of another client before it. So each waiter that
/// enters is told which waiter is directly before it. It is the next one if that waiter is of this client, and has had its turn.
/// If a waiter gives up, what is known of it holds for the waiter behind it.
///
/// An instance also grants a turn if a later waiter of the client is the first one, since a command of the earlier one was lost. Then
/// others may be between the two. So a waiter that may have entered after a later one has its turn, but the one behind it is not
/// known to be the next.
class waiting_places {
public:
    struct waiter {
        std::uint64_t number;
        /// The waiter of this client that is directly before it, its own number if nobody is, or 0: not known, or another client.
        std::uint64_t behind = 0;
        bool has_entered = false;  ///< the instance has said so
        bool is_late = false;      ///< it may have entered after a later one
    };

    [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
    /// In increasing order of their numbers.
    [[nodiscard]] const std::vector<waiter>& all() const noexcept { return all_; }
    [[nodiscard]] bool contains(std::uint64_t number) const noexcept;

    /// A waiter. Later waiters have larger numbers.
    void add(std::uint64_t number);
    /// It has entered the queue by a command of its own. `before`: as `waiter::behind`.
    void on_entered(std::uint64_t number, std::uint64_t before);
    /// It has entered by an attempt that was denied, or was there before.
    void on_denied(std::uint64_t number);
    /// Some places may be missing. All waiters enter again.
    void forget() noexcept;
    /// The attempt of that waiter was granted. It is removed after that.
    void on_granted(std::uint64_t number) noexcept;
    /// It is handed the lease of its client, and is removed after that.
    void on_handed_off(std::uint64_t number) noexcept;
    void remove(std::uint64_t number) noexcept;

    /// Whether no waiter of another client is before it, if its client holds the lock.
    [[nodiscard]] bool may_be_handed_off(std::uint64_t number) const noexcept;

private:
    [[nodiscard]] waiter* find(std::uint64_t number) noexcept;
    [[nodiscard]] const waiter* find(std::uint64_t number) const noexcept;
    void note_entered(waiter& one) noexcept;
    void pass_turn(std::uint64_t number, bool was_first) noexcept;

    std::vector<waiter> all_;
    std::uint64_t latest_entered_ = 0;
};

}  // namespace colock::core

#endif
