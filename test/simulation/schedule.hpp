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

/// Makes the world of that seed, and lets it run to its end: first with faults, then without, until
/// everything is quiet.
result run_schedule(const profile& p, std::uint64_t seed, bool trace);

}  // namespace colock::simulation

#endif
