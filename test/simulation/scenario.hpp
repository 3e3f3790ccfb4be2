// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SCENARIO_HPP
#define COLOCK_TEST_SIMULATION_SCENARIO_HPP

#include "simulation/stage.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// What a scenario plays.
struct script {
    void (*play)(stage& s, int take);
    int takes = 1;  ///< Number of times it is played, each with a variation.
};

/// A test of one fault, as a script. It checks specific facts at each step, in addition to the checkers. Its
/// name is that of its ctest.
struct scenario {
    std::string_view name;
    std::string_view what;
    simulation::script script;
    std::vector<std::string_view> catches;  ///< Mutants that must make it fail.
    simulation::cast cast{};
    std::string_view profile{};  ///< Replaces the script: each take is a schedule of this profile.
};

const std::vector<scenario>& scenarios();

/// Returns null if there is no scenario of this name.
const scenario* find_scenario(std::string_view name);

/// Plays all takes and returns the violations of the first that fails. With `trace`, prints that take as a
/// timeline, or the first one if none fails.
std::vector<std::string> play(const scenario& s, bool trace);

}  // namespace colock::simulation

#endif
