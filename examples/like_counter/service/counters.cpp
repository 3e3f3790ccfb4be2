// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "counters.hpp"

#include <colock/prometheus.hpp>

#include <array>

namespace like_counter {
namespace {

struct metric {
    const char* name;
    std::uint64_t counters::*value;
    const char* help;
};

constexpr std::array all{
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
static_assert(sizeof(counters) == all.size() * sizeof(std::uint64_t),
              "Each member of counters needs its row above");

}  // namespace

nlohmann::json to_json(const counters& service) {
    nlohmann::json values;
    for (const metric& one : all) {
        values[one.name] = service.*one.value;
    }
    return values;
}

std::string metrics_text(const counters& service, const colock::client* locks) {
    std::string text;
    for (const metric& one : all) {
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
