// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_ADMISSION_HPP
#define COLOCK_KINDS_ADMISSION_HPP

#include <cstdint>

namespace colock::kinds {

/// The rule that decides which holders may have a key at the same time. It also determines
/// how waiters behave.
class admission {
public:
    /// Admits one holder.
    [[nodiscard]] static constexpr admission exclusive() noexcept { return {type::exclusive}; }
    /// Admits any number of holders of this kind.
    [[nodiscard]] static constexpr admission shared() noexcept { return {type::shared}; }
    /// Admits as many holders of this kind as there is room for on the instances.
    [[nodiscard]] static constexpr admission counted() noexcept { return {type::counted}; }

    /// Returns whether a holder under this rule and a holder under the other rule may have a key
    /// at the same time.
    [[nodiscard]] constexpr bool admits(admission other) const noexcept {
        // mutant: one_permit_a_client
        return leaves_room() && type_ == other.type_;
    }

    /// Returns whether others may enter while a holder has the key. If so, a waiter leaves the remote queue
    /// when it is granted the lock. An attempt can then succeed while the key is held.
    [[nodiscard]] constexpr bool leaves_room() const noexcept { return type_ != type::exclusive; }

    /// Returns whether there is always room for another holder of this kind. If so, its waiters may
    /// overtake others.
    [[nodiscard]] constexpr bool is_unlimited() const noexcept { return type_ == type::shared; }

    /// Returns whether the holders in one client share a lease.
    [[nodiscard]] constexpr bool shares_lease() const noexcept { return type_ == type::shared; }

    /// Returns whether a released lease may be handed to a waiter of the same client. A shared lease
    /// is shared instead.
    [[nodiscard]] constexpr bool hands_off() const noexcept { return type_ != type::shared; }

    /// Returns whether each holder that leaves makes room for one waiter. Most changes of the key are then
    /// renewals of other holders. A waiter therefore checks for room before it attempts.
    [[nodiscard]] constexpr bool counts_holders() const noexcept { return type_ == type::counted; }

    friend constexpr bool operator==(admission a, admission b) noexcept = default;

private:
    enum class type : std::uint8_t { exclusive, shared, counted };

    constexpr admission(type t) noexcept : type_(t) {}  // NOLINT(*-explicit-*)

    type type_;
};

}  // namespace colock::kinds

#endif
