// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_LEASE_STEP_HPP
#define COLOCK_CORE_LEASE_STEP_HPP

#include "core/instance_set.hpp"
#include "core/outcome.hpp"
#include "core/time.hpp"

#include <cstdint>
#include <optional>

namespace colock::core {

/// Says what a command of a lease was sent for; comes back with its vote.
class lease_tag {
public:
    enum class purpose_type : std::uint8_t {
        acquire,
        adopt,  ///< an extend of keys that have the token already: see `attempt::adopted`
        extend,
        release,
        remaining,
        heal,   ///< an acquire that gives an instance its key back
        raise,  ///< the second round of an attempt: writes the largest value back to all instances
        retake,  ///< another round of an attempt whose values differ: an acquire of that value or more
        next_value,  ///< a value for the next holder, inside the same client
    };

    constexpr explicit lease_tag(purpose_type purpose, std::uint32_t round = 0) noexcept
        : value_((round << purpose_bits) | static_cast<std::uint32_t>(purpose)) {}

    /// From what `value` told.
    static constexpr lease_tag from(std::uint32_t value) noexcept {
        lease_tag result(purpose_type::acquire);
        result.value_ = value;
        return result;
    }

    [[nodiscard]] constexpr purpose_type purpose() const noexcept {
        return static_cast<purpose_type>(value_ & ((1U << purpose_bits) - 1U));
    }
    /// Of `extend`, the number of the renewal. Of `retake` and `next_value`, that of the round.
    [[nodiscard]] constexpr std::uint32_t round() const noexcept { return value_ >> purpose_bits; }
    [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }

    friend constexpr bool operator==(const lease_tag&, const lease_tag&) = default;

    static constexpr unsigned purpose_bits = 4;
    /// Rounds are numbered from 1 to this, and then from 0: a vote is not as late as that.
    static constexpr std::uint32_t round_numbers = std::uint32_t{1} << (32 - purpose_bits);
    static constexpr std::uint32_t round_after(std::uint32_t round) noexcept {
        return (round + 1) % round_numbers;
    }

private:
    std::uint32_t value_;
};

/// What a lease, or a part of it, has decided: the commands to send, what is to be told, and when to wake it. To be
/// carried out in the order of its members.
struct lease_step {
    std::optional<acquire_outcome> attempt;  ///< the attempt has ended so
    std::optional<bool> extended;            ///< what the holder asked for is done, or has failed
    std::optional<bool> shared;     ///< there is a value for another holder, or there is not
    std::optional<loss> lost;       ///< it has ended by itself
    duration lost_late{};           ///< how late the lease was woken for that
    bool let_go = false;            ///< its release has begun: of what was attempted, held or lost
    instance_set heals;             ///< send them an acquire, as `lease_tag::purpose_type::heal`
    std::optional<lease_tag> send;  ///< send this to `targets`
    instance_set targets = instance_set::all();
    bool handed_off = false;  ///< it has another holder
    /// The release went so; told once, and before `ended`.
    std::optional<release_outcome> resolved;
    bool ended = false;        ///< nothing is left to do; told once
    time_point until = never;  ///< to be woken then, if nothing comes before
};

}  // namespace colock::core

#endif
