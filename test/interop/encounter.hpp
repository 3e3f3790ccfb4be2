// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_INTEROP_ENCOUNTER_HPP
#define COLOCK_INTEROP_ENCOUNTER_HPP

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace colock::interop {

/// colock and another library on the same locks, or colock alone.
struct encounter {
    std::string name;
    std::string peer;  ///< Empty for colock alone.
    std::size_t instances;
    std::size_t peer_workers;
    std::size_t colock_workers = 2;
    std::size_t most_names = 1;  ///< Maximum of names per acquisition while all contend.
};

/// Returns all encounters.
const std::vector<encounter>& encounters();

/// The commands that start the workers, without the instances.
struct programs {
    std::vector<std::string> colock;
    std::vector<std::string> peer;
};

/// Starts servers and workers, runs the scenarios, and lets all workers contend for `seconds`. If a library
/// acquired too little in a round, another round follows, up to a limit. The list `failures` in the result is
/// empty if every check passed.
nlohmann::json run(const encounter& encounter, const programs& programs, double seconds);

}  // namespace colock::interop

#endif
