// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef COLOCK_TEST_SIMULATION_SPEC_HPP
#define COLOCK_TEST_SIMULATION_SPEC_HPP

#include "core/time.hpp"
#include "kinds/exclusive/exclusive.hpp"
#include "runtime/key/lease_driver.hpp"
#include "runtime/lock_spec.hpp"
#include "runtime/ownership.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock::simulation {

/// A lock: its name and its options.
struct spec {
    std::string key;
    runtime::lock_policy policy{kinds::exclusive};
    /// Who acquires it; see `runtime::ownership`.
    runtime::ownership who{};
    std::vector<std::string> more_names{};  ///< of a lock with several names: the others
};

/// A name that users take locks on: of a semaphore of that limit mostly, or 0.
struct resource {
    std::string key;
    std::uint32_t limit = 0;
    bool is_ordered = false;  ///< mutexes whose order binds take it, mostly
};

/// The readers' side of a lock, if that is a writer's side.
spec readers_side_of(const spec& lock);

/// A lease, as its holder has it.
struct holding {
    std::shared_ptr<runtime::lease_driver> state;
    std::uint32_t holder = 0;

    [[nodiscard]] bool held() const {
        return state != nullptr && state->valid_until(holder) != core::time_point::min();
    }
    [[nodiscard]] bool lost() const {
        return state != nullptr && state->loss(holder) != core::loss::none;
    }
};

}  // namespace colock::simulation

#endif
