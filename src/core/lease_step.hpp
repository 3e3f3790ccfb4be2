// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_LEASE_STEP_HPP
#define COLOCK_CORE_LEASE_STEP_HPP

#include "core/instance_set.hpp"
#include "core/outcome.hpp"
#include "core/time.hpp"

#include <cstdint>
#include <optional>

namespace colock::core {

/// Identifies what a command of a lease was sent for. The vote comes back with the same tag.
class lease_tag {
public:
    enum class purpose_type : std::uint8_t {
        acquire,
        adopt,  ///< An extend of keys that already have the token: see `attempt::adopted`.
        extend,
        release,
        remaining,
        heal,   ///< An acquire that restores the key of an instance.
        raise,  ///< The second round of an attempt. It writes the largest value to all instances.
        /// Another round of an attempt whose values differ. It acquires a given value or more.
        retake,
        next_value,  ///< A value for the next holder in the same client.
    };

    constexpr explicit lease_tag(purpose_type purpose, std::uint32_t round = 0) noexcept
        : value_((round << purpose_bits) | static_cast<std::uint32_t>(purpose)) {}

    /// Restores a tag from its `value`.
    static constexpr lease_tag from(std::uint32_t value) noexcept {
        lease_tag result(purpose_type::acquire);
        result.value_ = value;
        return result;
    }

    [[nodiscard]] constexpr purpose_type purpose() const noexcept {
        return static_cast<purpose_type>(value_ & ((1U << purpose_bits) - 1U));
    }
    /// Returns the number of the renewal for `extend`, and of the round for `retake` and `next_value`.
    [[nodiscard]] constexpr std::uint32_t round() const noexcept { return value_ >> purpose_bits; }
    [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }

    friend constexpr bool operator==(const lease_tag&, const lease_tag&) = default;

    static constexpr unsigned purpose_bits = 4;
    /// Rounds are numbered from 1. The numbers wrap to 0 at this limit. No vote can be that late.
    static constexpr std::uint32_t round_numbers = std::uint32_t{1} << (32 - purpose_bits);
    static constexpr std::uint32_t round_after(std::uint32_t round) noexcept {
        return (round + 1) % round_numbers;
    }

private:
    std::uint32_t value_;
};

/// The decision of a lease, or of a part of it: the commands to send, what to report, and when to resume it.
/// Carry out the members in their order.
struct lease_step {
    std::optional<acquire_outcome> attempt;  ///< How the attempt has ended.
    std::optional<bool> extended;            ///< Whether the holder's `extend` has succeeded.
    std::optional<bool> shared;              ///< Whether there is a value for another holder.
    std::optional<loss> lost;  ///< The lease has ended without a release, for this reason.
    duration lost_late{};      ///< How late the lease was resumed to report this.
    bool let_go = false;  ///< The release of an attempt, of a held or of a lost lease has begun.
    instance_set heals;   ///< Send them an acquire, as `lease_tag::purpose_type::heal`.
    std::optional<lease_tag> send;  ///< Send this to `targets`.
    instance_set targets = instance_set::all();
    bool handed_off = false;  ///< The lease has another holder now.
    /// How the release has ended. Reported once, at the latest with `ended`.
    std::optional<release_outcome> resolved;
    bool ended = false;  ///< Nothing is left to do. Reported once.
    /// Resume with a timer event at this time, unless another event comes before.
    time_point until = never;
};

}  // namespace colock::core

#endif
