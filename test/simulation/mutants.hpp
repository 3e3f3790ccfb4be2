// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_MUTANTS_HPP
#define COLOCK_TEST_SIMULATION_MUTANTS_HPP

#include <cstddef>

namespace colock::simulation {

/// A deliberately broken variant of the library. Mutants exist only in the simulation build that is made from
/// altered copies of the sources. See mutants.cmake.
struct mutant {
    const char* name;
    const char* what;
};

#ifdef COLOCK_SIMULATION_MUTANTS
extern const mutant* const mutants;
extern const std::size_t mutant_count;
#else
inline constexpr const mutant* mutants = nullptr;
inline constexpr std::size_t mutant_count = 0;
#endif

/// The active mutant. Negative: none.
inline int active_mutant = -1;

/// Returns whether the mutant is active. The altered copies call it. It is false during constant evaluation.
constexpr bool is_active(int mutant) noexcept {
    return !__builtin_is_constant_evaluated() && active_mutant == mutant;
}

}  // namespace colock::simulation

#endif
