// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_COUNTERS_HPP
#define LIKE_COUNTER_COUNTERS_HPP

#include <colock/client.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

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

nlohmann::json to_json(const counters& service);

/// Returns the metrics of the service, and those of its locks, as text for Prometheus. `locks` may be null.
///
/// The service's own metrics begin with `likecounter_`. The linter of Prometheus rejects `like_counter_`, because
/// "counter" is the name of a type.
std::string metrics_text(const counters& service, const colock::client* locks);

}  // namespace like_counter

#endif
