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

/// The ways in which the clients can be made wrong, to see whether it is found out.
enum class breakage {
    none,
    hold_past_validity,  ///< they renew nothing, and stay inside when their lease has ended
    /// They trust servers that have just restarted. They renew nothing, which would restore the keys that are lost, and their ttl is
    /// long: a majority of the servers restarts within it, however slow the machine is.
    no_quarantine,
};

struct soak_options {
    double seconds = 60;  ///< less if the clients are broken, and that has been found
    std::uint64_t seed = 0;
    breakage broken = breakage::none;
    std::vector<std::string> only;  ///< kinds of faults; all if empty
    std::string client;             ///< the program
};

/// Thrown when a run was interrupted.
class interrupted : public std::runtime_error {
public:
    interrupted() : std::runtime_error("interrupted") {}
};

/// Starts servers, proxies and clients, lets the faults loose on them, and tells what came of it. All
/// that it has started is gone when it returns or throws. Tells its progress on the standard output.
/// Throws `interrupted` soon after `stop` was set.
observations run(const soak_options& options, const std::atomic<bool>& stop);

}  // namespace colock::chaos

#endif
