// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_BACKOFF_HPP
#define COLOCK_CORE_BACKOFF_HPP

#include "core/time.hpp"

#include <cstddef>
#include <cstdint>

namespace colock::core {

/// The bounds of an exponential backoff.
struct backoff {
    duration initial = milliseconds(4);
    duration maximum = milliseconds(250);

    /// Returns the wait before try number `tries` + 1. `random` selects it from the upper half of
    /// `min(maximum, initial * 2^tries)`, so that clients that have collided do not stay in step.
    [[nodiscard]] duration delay(std::size_t tries, std::uint64_t random) const noexcept;

    /// Returns the maximum sum of the waits between `tries` tries.
    [[nodiscard]] duration longest_total(std::size_t tries) const noexcept;

    friend bool operator==(const backoff& a, const backoff& b) = default;
};

/// Returns the next random number of a sequence: splitmix64, S. Vigna, https://prng.di.unimi.it/. It is good
/// enough for jitter, but not for tokens. The caller owns the state, so a run can be repeated.
std::uint64_t next_random(std::uint64_t& state) noexcept;

}  // namespace colock::core

#endif
