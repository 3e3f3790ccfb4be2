// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "metrics.hpp"

#include <colock/prometheus.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace like_counter {
namespace {

struct metric {
    std::string_view name;
    std::string_view type;
    std::uint64_t counters::*value;
    std::string_view help;
};

constexpr std::array all{
    metric{"requests_total", "counter", &counters::requests, "Requests that were answered."},
    metric{"accepted_total", "counter", &counters::accepted,
           "Likes and unlikes that were answered with success."},
    metric{"changed_total", "counter", &counters::changed,
           "Likes and unlikes that made a difference."},
    metric{"rejected_total", "counter", &counters::rejected,
           "Requests that were answered with a status of 400 to 499."},
    metric{"errors_total", "counter", &counters::errors,
           "Requests that were answered with a status of 500 or more."},
    metric{"lock_violations_total", "counter", &counters::lock_violations,
           "Visits that were not alone in their critical section."},
    metric{"stale_writes_refused_total", "counter", &counters::stale_writes_refused,
           "Writes that were refused because the lock had passed to another."},
    metric{"in_flight", "gauge", &counters::in_flight, "Requests that are being answered now."},
};
static_assert(sizeof(counters) == all.size() * sizeof(std::uint64_t),
              "Each member of counters needs its row above");

}  // namespace

std::string metrics_text(const counters& service, const colock::client* locks) {
    std::string text;
    for (const metric& one : all) {
        const std::string name = "likecounter_" + std::string(one.name);
        text += "# HELP " + name + " " + std::string(one.help) + "\n";
        text += "# TYPE " + name + " " + std::string(one.type) + "\n";
        text += name + " " + std::to_string(service.*one.value) + "\n";
    }
    if (locks != nullptr) {
        text += colock::prometheus_text(*locks);
    }
    return text;
}

}  // namespace like_counter
