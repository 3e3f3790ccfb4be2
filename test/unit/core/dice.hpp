// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_UNIT_CORE_DICE_HPP
#define COLOCK_TEST_UNIT_CORE_DICE_HPP

#include "core/backoff.hpp"

#include "unit/core/script.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>

namespace colock::core::test {

/// A random source for random events.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}

    std::size_t below(std::size_t n) { return next_random(state_) % n; }
    bool one_in(std::size_t n) { return below(n) == 0; }
    duration up_to(duration longest) {
        return duration(static_cast<duration::rep>(
            next_random(state_) % (static_cast<std::uint64_t>(longest.count()) + 1)));
    }
    vote any_vote() { return vote_from("GGGDNF"[below(6)]); }

    /// Returns a duration that is mostly short and sometimes long. A rare, very long one simulates a stopped
    /// process.
    duration step() { return one_in(100) ? up_to(5s) : one_in(4) ? up_to(100ms) : up_to(5ms); }

private:
    std::uint64_t state_;
};

inline void check(bool holds, const char* what, std::uint64_t seed) {
    if (!holds) {
        BOOST_ERROR(what << ", seed " << seed);
    }
}

}  // namespace colock::core::test

#endif
