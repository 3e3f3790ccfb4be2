// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

// More work than the servers can do.

#include "simulation/scenario_themes.hpp"

#include <vector>

namespace colock::simulation {

const std::vector<scenario> overload_scenarios = {
    {"fault_113_sim_more_than_the_servers_can_do",
     "each user is served, and the servers stay busy, however many users there are",
     {nullptr, 8},
     {"attempts_pass_the_gate", "late_answers_do_not_matter", "newcomers_first_at_the_gate"},
     {},
     "busy"},
};

}  // namespace colock::simulation
