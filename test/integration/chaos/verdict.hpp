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

/// What came of a run.
struct observations {
    double seconds = 0;  ///< that were wanted
    std::uint64_t seed = 0;
    std::size_t tasks = 0;  ///< in all processes
    std::chrono::nanoseconds began{};
    std::chrono::nanoseconds ended{};
    std::map<std::string, std::size_t> faults;  ///< how many of each kind there is
    client_report clients;
    std::vector<test::section> sections;
    std::vector<test::section> probes;
    std::size_t keys_at_close = 0;  ///< right after the clients were closed
    std::size_t leftover_keys = 0;  ///< when the ttl of those was over
};

/// How long all probes of all processes may wait before that counts as an outage.
constexpr std::chrono::milliseconds longest_probe{100};

/// The part of the time in which there may be outages.
constexpr double most_unavailable = 0.01;

/// All figures. `failures` in it is empty if all is well, and if it was a run that could have found
/// what is not: with sections and faults enough, and, from a minute on, faults of all kinds.
nlohmann::json judge(const observations& seen);

}  // namespace colock::chaos

#endif
