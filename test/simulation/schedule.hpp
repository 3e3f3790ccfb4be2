// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SCHEDULE_HPP
#define COLOCK_TEST_SIMULATION_SCHEDULE_HPP

#include "simulation/options.hpp"
#include "simulation/world.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace colock::simulation {

struct result {
    simulation::tally tally;
    std::vector<std::string> violations;
};

/// Creates the world of the seed and runs it to its end. It runs first with faults, and then without faults
/// until all activity has ended.
result run_schedule(const profile& p, std::uint64_t seed, bool trace);

}  // namespace colock::simulation

#endif
