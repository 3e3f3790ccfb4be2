// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_CAMPAIGN_HPP
#define COLOCK_TEST_SIMULATION_CAMPAIGN_HPP

#include "simulation/options.hpp"
#include "simulation/world.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

struct seed_range {
    std::uint64_t first = 1;
    std::uint64_t last = 1;
};

/// A seed that failed once, with its profile.
struct known_seed {
    std::uint64_t seed = 0;
    const simulation::profile* profile = nullptr;
};

/// The schedules to run.
struct campaign {
    seed_range seeds;
    const simulation::profile* profile = nullptr;  ///< If null, each seed has its own profile.
    std::optional<std::chrono::nanoseconds> time;  ///< The campaign stops after this time.
    std::vector<known_seed> known_seeds;           ///< Run before the others.
    std::size_t most_failures = SIZE_MAX;          ///< The campaign stops after this number.
};

struct campaign_result {
    struct failure {
        std::uint64_t seed;
        std::string profile;
        std::string what;
    };

    std::string profile;
    seed_range seeds;  ///< The seeds that were run.
    std::size_t known_seeds = 0;
    std::uint64_t schedules = 0;
    double seconds = 0;
    tally sum;
    std::vector<failure> failures;
    /// Faults that were never injected, although the number of schedules makes this practically impossible.
    /// The world then does not behave as its options require.
    std::vector<std::string> missing;

    [[nodiscard]] double rate() const {
        return seconds > 0 ? 60 * static_cast<double>(schedules) / seconds : 0;
    }
};

campaign_result run_campaign(const campaign& c);

}  // namespace colock::simulation

#endif
