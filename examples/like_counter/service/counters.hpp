// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_COUNTERS_HPP
#define LIKE_COUNTER_COUNTERS_HPP

#include <cstdint>

namespace like_counter {

/// What the service has done since it started. Requests that only watch it (the page and its icon, /healthz,
/// /metrics, /v1/status, /v1/events) or change an experiment do not count. The last one goes up and down.
struct counters {
    std::uint64_t requests = 0;         ///< answered, with whatever status
    std::uint64_t accepted = 0;         ///< likes and unlikes answered with success
    std::uint64_t changed = 0;          ///< those of them that made a difference
    std::uint64_t rejected = 0;         ///< requests answered with 4xx
    std::uint64_t errors = 0;           ///< requests answered with 5xx
    std::uint64_t lock_violations = 0;  ///< visits that were not alone in their critical section
    std::uint64_t stale_writes_refused = 0;  ///< of visits whose lock had passed to another
    std::uint64_t in_flight = 0;             ///< requests being worked on
};

}  // namespace like_counter

#endif
