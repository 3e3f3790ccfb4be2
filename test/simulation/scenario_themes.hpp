// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SCENARIO_THEMES_HPP
#define COLOCK_TEST_SIMULATION_SCENARIO_THEMES_HPP

#include "simulation/scenario.hpp"

#include <cstddef>
#include <optional>
#include <vector>

// The scenarios of each theme are in a source file of their own, scenario_THEME.cpp. This header has the
// shared declarations.

namespace colock::simulation {

extern const std::vector<scenario> cancellation_scenarios;
extern const std::vector<scenario> renewal_scenarios;
extern const std::vector<scenario> clock_scenarios;
extern const std::vector<scenario> outage_scenarios;
extern const std::vector<scenario> fence_scenarios;
extern const std::vector<scenario> reader_scenarios;
extern const std::vector<scenario> writer_scenarios;
extern const std::vector<scenario> downgrade_scenarios;
extern const std::vector<scenario> queue_scenarios;
extern const std::vector<scenario> failover_scenarios;
extern const std::vector<scenario> overload_scenarios;
extern const std::vector<scenario> permit_scenarios;
extern const std::vector<scenario> refusal_scenarios;
extern const std::vector<scenario> record_scenarios;
extern const std::vector<scenario> several_scenarios;
extern const std::vector<scenario> order_scenarios;
extern const std::vector<scenario> result_scenarios;

constexpr cast with_clients(std::size_t clients, std::size_t instances = 3) {
    return {.instances = instances, .clients = clients};
}

/// The servers support client tracking.
constexpr cast telling(std::size_t clients, std::size_t instances = 3) {
    return {.instances = instances, .clients = clients, .deployment{.tells_changes = true}};
}

/// The servers are quarantined after a restart.
constexpr cast quarantined(std::size_t clients, std::size_t instances = 3, duration how_long = 1s) {
    return {.instances = instances, .clients = clients, .quarantine = how_long};
}

/// Client 0 reads. Client 1 waits to write, and dies at the time `died`. Its writer mark remains. Returns the reader.
taking& leave_writer_mark(stage& s, const shared_lock& lock, duration died);

// The times of a lease that is acquired at 0. It is requested at 0.01 ms, granted at 1.01 ms, and the reply
// arrives at 2.01 ms. It is renewed at 100 ms. Without renewals, it is lost at 280 ms, and valid until 295
// ms. Its keys live until 301.01 ms.

/// Returns whether the event has happened at the expected time, or at most 100 us later.
inline bool about(const std::optional<duration>& when, duration expected) {
    return when && *when >= expected && *when <= expected + 100us;
}

}  // namespace colock::simulation

#endif
