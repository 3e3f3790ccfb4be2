// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#ifndef LIKE_COUNTER_COUNTERS_HPP
#define LIKE_COUNTER_COUNTERS_HPP

#include <colock/client.hpp>
#include <colock/prometheus.hpp>

#include <nlohmann/json.hpp>

#include <array>
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

/// How a counter is named in JSON and for Prometheus.
struct metric {
    const char* name;
    std::uint64_t counters::*value;
    const char* help;
};

inline constexpr std::array all_metrics{
    metric{"requests", &counters::requests, "Requests that were answered."},
    metric{"accepted", &counters::accepted, "Likes and unlikes that were answered with success."},
    metric{"changed", &counters::changed, "Likes and unlikes that made a difference."},
    metric{"rejected", &counters::rejected,
           "Requests that were answered with a status of 400 to 499."},
    metric{"errors", &counters::errors,
           "Requests that were answered with a status of 500 or more."},
    metric{"lock_violations", &counters::lock_violations,
           "Visits that were not alone in their critical section."},
    metric{"stale_writes_refused", &counters::stale_writes_refused,
           "Writes that were refused because the lock had passed to another."},
    metric{"in_flight", &counters::in_flight, "Requests that are being answered now."},
};
static_assert(sizeof(counters) == all_metrics.size() * sizeof(std::uint64_t),
              "Each member of counters needs its row above");

inline nlohmann::json to_json(const counters& service) {
    nlohmann::json values;
    for (const metric& one : all_metrics) {
        values[one.name] = service.*one.value;
    }
    return values;
}

/// Returns the metrics of the service, and those of its locks, as text for Prometheus. `locks` may be null.
///
/// The service's own metrics begin with `likecounter_`. The linter of Prometheus rejects `like_counter_`, because
/// "counter" is the name of a type.
inline std::string metrics_text(const counters& service, const colock::client* locks) {
    std::string text;
    for (const metric& one : all_metrics) {
        const bool is_gauge = one.value == &counters::in_flight;
        const std::string name =
            "likecounter_" + std::string(one.name) + (is_gauge ? "" : "_total");
        text += "# HELP " + name + " " + one.help + "\n";
        text += "# TYPE " + name + (is_gauge ? " gauge\n" : " counter\n");
        text += name + " " + std::to_string(service.*one.value) + "\n";
    }
    if (locks != nullptr) {
        text += colock::prometheus_text(*locks);
    }
    return text;
}

}  // namespace like_counter

#endif
