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
    std::string peer;  ///< empty for colock alone
    std::size_t instances;
    std::size_t peer_workers;
    std::size_t colock_workers = 2;
    std::size_t most_names = 1;  ///< at once, when all contend
};

/// Those there are.
const std::vector<encounter>& encounters();

/// How to start the workers, without the instances.
struct programs {
    std::vector<std::string> colock;
    std::vector<std::string> peer;
};

/// Starts servers and workers, plays the scenarios, and lets all workers contend for `seconds`. A round in which a
/// library acquired too little is followed by another, up to a limit. `failures` in the result is empty if every check
/// passed.
nlohmann::json run(const encounter& encounter, const programs& programs, double seconds);

}  // namespace colock::interop

#endif
