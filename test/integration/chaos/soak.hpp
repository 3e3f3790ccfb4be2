// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_INTEGRATION_CHAOS_SOAK_HPP
#define COLOCK_TEST_INTEGRATION_CHAOS_SOAK_HPP

#include "integration/chaos/verdict.hpp"

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::chaos {

/// The ways to break the clients, to test that the checker finds the errors.
enum class breakage {
    none,
    hold_past_validity,  ///< Clients renew nothing and stay inside after their lease has ended.
    /// Clients trust servers that have just restarted. They renew nothing, because renewals would restore
    /// lost keys. Their ttl is long, so a majority of the servers restarts within it, even on a slow machine.
    no_quarantine,
};

struct soak_options {
    double seconds = 60;  ///< A run with broken clients ends earlier, when the error is found.
    std::uint64_t seed = 0;
    breakage broken = breakage::none;
    std::vector<std::string> only;  ///< Kinds of faults. Empty selects all.
    std::string client;             ///< The client program.
};

/// Thrown if a run was interrupted.
class interrupted : public std::runtime_error {
public:
    interrupted() : std::runtime_error("interrupted") {}
};

/// Starts servers, proxies and clients, subjects them to faults, and returns the observations. It ends
/// everything that it has started before it returns or throws. Prints its progress to the standard output.
/// Throws `interrupted` soon after `stop` is set.
observations run(const soak_options& options, const std::atomic<bool>& stop);

}  // namespace colock::chaos

#endif
