// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_KINDS_ADMISSION_HPP
#define COLOCK_KINDS_ADMISSION_HPP

#include <cstdint>

namespace colock::kinds {

/// Which holders a key may have at the same time, and what follows from that for its waiters.
class admission {
public:
    /// One.
    [[nodiscard]] static constexpr admission exclusive() noexcept { return {type::exclusive}; }
    /// Any number of this kind.
    [[nodiscard]] static constexpr admission shared() noexcept { return {type::shared}; }
    /// As many of this kind as there is room for at the instances.
    [[nodiscard]] static constexpr admission counted() noexcept { return {type::counted}; }

    /// Whether a holder of this one and a holder of the other may have a key at the same time.
    [[nodiscard]] constexpr bool admits(admission other) const noexcept {
        return leaves_room() && type_ == other.type_;
    }

    /// Whether others may enter while it has the key. So it leaves the remote queue when it is granted, and an attempt makes sense
    /// while the key is held.
    [[nodiscard]] constexpr bool leaves_room() const noexcept { return type_ != type::exclusive; }

    /// Whether there is always room for another one of this kind. So its waiters may pass others that wait.
    [[nodiscard]] constexpr bool is_unlimited() const noexcept { return type_ == type::shared; }

    /// Whether the holders in one client share a lease.
    [[nodiscard]] constexpr bool shares_lease() const noexcept { return type_ == type::shared; }

    /// Whether a waiter of the same client may be handed the lease that another lets go of. A shared lease is shared instead.
    [[nodiscard]] constexpr bool hands_off() const noexcept { return type_ != type::shared; }

    /// Whether each holder that leaves makes room for one waiter. What happens to the key is then mostly a renewal of one of the
    /// others, so a waiter looks for room before it attempts.
    [[nodiscard]] constexpr bool counts_holders() const noexcept { return type_ == type::counted; }

    friend constexpr bool operator==(admission a, admission b) noexcept = default;

private:
    enum class type : std::uint8_t { exclusive, shared, counted };

    constexpr admission(type t) noexcept : type_(t) {}  // NOLINT(*-explicit-*)

    type type_;
};

}  // namespace colock::kinds

#endif
