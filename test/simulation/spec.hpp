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
    /// The owner that acquires it. See `runtime::ownership`.
    runtime::ownership who{};
    std::vector<std::string> more_names{};  ///< The other names of a lock with several names.
};

/// A name that users lock. `limit` is that of its semaphore, which most users use. 0: no semaphore.
struct resource {
    std::string key;
    std::uint32_t limit = 0;
    bool is_ordered = false;  ///< Usually locked by mutexes with a binding order.
};

/// Returns the readers' side of a lock that is a writers' side.
spec readers_side_of(const spec& lock);

/// A lease from the view of its holder.
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
