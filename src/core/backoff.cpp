#include "core/backoff.hpp"

#include <algorithm>

namespace colock::core {

duration backoff::delay(std::size_t tries, std::uint64_t random) const noexcept {
    duration ceiling = std::min(initial, maximum);
    if (ceiling <= duration::zero()) {
        return duration::zero();
    }
    for (; tries != 0 && ceiling < maximum; --tries) {
        ceiling = ceiling > maximum / 2 ? maximum : ceiling * 2;
    }
    const auto half = static_cast<std::uint64_t>(ceiling.count()) / 2;
    return duration(static_cast<duration::rep>(half + random % (half + 1)));
}

std::uint64_t next_random(std::uint64_t& state) noexcept {
    state += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

}  // namespace colock::core
