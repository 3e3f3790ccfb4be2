// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_VERDICT_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_VERDICT_HPP

#include "integration/chaos/client_settings.hpp"
#include "support/sections.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace colock::chaos {

/// The observations of a run.
struct observations {
    double seconds = 0;  ///< As requested.
    std::uint64_t seed = 0;
    std::size_t tasks = 0;  ///< In all processes.
    std::chrono::nanoseconds began{};
    std::chrono::nanoseconds ended{};
    std::map<std::string, std::size_t> faults;  ///< Number of faults of each kind, for all kinds.
    client_report clients;
    std::vector<test::section> sections;
    std::vector<test::section> probes;
    std::size_t keys_at_close = 0;  ///< Right after the clients were closed.
    std::size_t leftover_keys = 0;  ///< After the ttl of those keys has passed.
};

/// A period in which no probe of any process succeeds counts as an outage if it is longer than this.
constexpr std::chrono::milliseconds longest_probe{100};

/// The share of the time that outages may take.
constexpr double most_unavailable = 0.01;

/// Returns all figures. The list `failures` is empty if all checks passed and the run was able to find
/// errors. For that, it needs enough critical sections and faults. A run of a minute or more needs faults of
/// all kinds.
nlohmann::json judge(const observations& seen);

}  // namespace colock::chaos

#endif
