// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SCENARIO_THEMES_HPP
#define COLOCK_TEST_SIMULATION_SCENARIO_THEMES_HPP

#include "simulation/scenario.hpp"

#include <optional>
#include <vector>

// The scenarios of each theme are in a source file of their own, scenario_THEME.cpp. This header has the
// shared declarations.

namespace colock::simulation {

std::vector<scenario> cancellation_scenarios();
std::vector<scenario> renewal_scenarios();
std::vector<scenario> clock_scenarios();
std::vector<scenario> outage_scenarios();
std::vector<scenario> fence_scenarios();
std::vector<scenario> reader_scenarios();
std::vector<scenario> writer_scenarios();
std::vector<scenario> downgrade_scenarios();
std::vector<scenario> queue_scenarios();
std::vector<scenario> failover_scenarios();
std::vector<scenario> overload_scenarios();
std::vector<scenario> permit_scenarios();
std::vector<scenario> refusal_scenarios();
std::vector<scenario> record_scenarios();
std::vector<scenario> several_scenarios();
std::vector<scenario> order_scenarios();
std::vector<scenario> result_scenarios();

/// The drift bound of a scenario with no special requirement.
inline constexpr core::drift_bound ordinary{};

// The times of a lease that is acquired at 0. It is requested at 0.01 ms, granted at 1.01 ms, and the reply
// arrives at 2.01 ms. It is renewed at 100 ms. Without renewals, it is lost at 280 ms, and valid until 295
// ms. Its keys live until 301.01 ms.

/// Returns whether the event has happened at the expected time, or at most 100 us later.
inline bool about(const std::optional<duration>& when, duration expected) {
    return when && *when >= expected && *when <= expected + 100us;
}

}  // namespace colock::simulation

#endif
