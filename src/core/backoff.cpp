// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "core/backoff.hpp"

#include <algorithm>

namespace colock::core {
namespace {

duration twice(duration d, duration most) noexcept {
    return d > most / 2 ? most : d * 2;
}

}  // namespace

duration backoff::delay(std::size_t tries, std::uint64_t random) const noexcept {
    duration ceiling = std::min(initial, maximum);
    if (ceiling <= duration::zero()) {
        return duration::zero();
    }
    for (; tries != 0 && ceiling < maximum; --tries) {
        ceiling = twice(ceiling, maximum);
    }
    const auto half = static_cast<std::uint64_t>(ceiling.count()) / 2;
    return duration(static_cast<duration::rep>(half + random % (half + 1)));
}

duration backoff::longest_total(std::size_t tries) const noexcept {
    duration total = duration::zero();
    duration ceiling = std::min(initial, maximum);
    for (; tries > 1 && ceiling < maximum; --tries) {
        total += ceiling;
        ceiling = twice(ceiling, maximum);
    }
    if (tries <= 1 || ceiling <= duration::zero()) {
        return total;
    }
    const auto room = static_cast<std::size_t>((duration::max() - total) / ceiling);
    return tries - 1 > room ? duration::max()
                            : total + static_cast<duration::rep>(tries - 1) * ceiling;
}

std::uint64_t next_random(std::uint64_t& state) noexcept {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace colock::core
