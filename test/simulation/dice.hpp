// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_DICE_HPP
#define COLOCK_TEST_SIMULATION_DICE_HPP

#include "simulation/time.hpp"

#include <cstddef>
#include <cstdint>

namespace colock::simulation {

/// The source of all randomness in a world. It uses splitmix64, as core/backoff.cpp does. It is a separate
/// implementation, so mutants of the library do not change the world.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    std::size_t below(std::size_t n) { return next() % n; }
    bool chance(double probability) {
        return static_cast<double>(next() >> 11U) * 0x1p-53 < probability;
    }
    duration up_to(duration longest) {
        return duration(
            static_cast<duration::rep>(next() % (static_cast<std::uint64_t>(longest.count()) + 1)));
    }
    duration between(duration least, duration most) { return least + up_to(most - least); }
    double between(double least, double most) {
        return least + static_cast<double>(next() >> 11U) * 0x1p-53 * (most - least);
    }

private:
    std::uint64_t state_;
};

}  // namespace colock::simulation

#endif
