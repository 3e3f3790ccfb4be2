// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_CORE_BACKOFF_HPP
#define COLOCK_CORE_BACKOFF_HPP

#include "core/time.hpp"

#include <cstddef>
#include <cstdint>

namespace colock::core {

/// Bounds of an exponential backoff.
struct backoff {
    duration initial = milliseconds(4);
    duration maximum = milliseconds(250);

    /// The wait before try number `tries` + 1: drawn by `random` from the upper half of
    /// `min(maximum, initial * 2^tries)`, so that those who collided once do not stay in step.
    [[nodiscard]] duration delay(std::size_t tries, std::uint64_t random) const noexcept;

    /// The longest that all waits between `tries` tries can be together.
    [[nodiscard]] duration longest_total(std::size_t tries) const noexcept;

    friend bool operator==(const backoff& a, const backoff& b) = default;
};

/// The next random number of a sequence (splitmix64, S. Vigna, https://prng.di.unimi.it/): enough for
/// jitter, not for tokens. The state is the caller's, so that a run can be repeated.
std::uint64_t next_random(std::uint64_t& state) noexcept;

}  // namespace colock::core

#endif
