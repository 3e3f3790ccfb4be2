// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SCENARIO_HPP
#define COLOCK_TEST_SIMULATION_SCENARIO_HPP

#include "simulation/stage.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// One thing that goes wrong with locks, told step by step: a script, and what is to be seen at each
/// step, besides what the checkers see. Named as its ctest.
struct scenario {
    std::string_view name;
    std::string_view what;
    simulation::cast cast;
    int takes;  ///< how often it is played, each time in another way
    void (*script)(stage& s, int take);
    std::vector<std::string_view> catches;  ///< mutants with which it must fail
    std::string_view profile{};  ///< instead of a script: each take is a schedule of that profile
};

const std::vector<scenario>& scenarios();

/// Null if there is none of that name.
const scenario* find_scenario(std::string_view name);

/// Plays all takes, and gives what was violated in the first that failed; this one, or the first if
/// none failed, is told as a timeline if `trace`.
std::vector<std::string> play(const scenario& s, bool trace);

}  // namespace colock::simulation

#endif
