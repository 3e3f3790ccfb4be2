// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "status.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

namespace like_counter {

quorum_state quorum_of(const std::vector<colock::instance_info>& instances) {
    const auto is_ready = [](const colock::instance_info& instance) {
        return instance.state == colock::instance_state::ready;
    };
    const auto ready = std::count_if(instances.begin(), instances.end(), is_ready);
    return {static_cast<std::size_t>(ready), instances.size()};
}

namespace {

double quarantine_left(const colock::instance_info& instance) {
    if (instance.state != colock::instance_state::quarantined) {
        return 0;
    }
    const auto left = instance.quarantined_until - std::chrono::steady_clock::now();
    return std::max(0.0, std::chrono::duration<double>(left).count());
}

struct lock_counter {
    const char* name;
    std::uint64_t colock::counters::*value;
};

constexpr lock_counter lock_counters[] = {
    {"attempts", &colock::counters::attempts},
    {"acquired", &colock::counters::acquired},
    {"contended", &colock::counters::contended},
    {"unavailable", &colock::counters::unavailable},
    {"undone", &colock::counters::undone},
    {"cancelled", &colock::counters::cancelled},
    {"renewed", &colock::counters::renewed},
    {"renewals_failed", &colock::counters::renewals_failed},
    {"healed", &colock::counters::healed},
    {"released", &colock::counters::released},
    {"handed_off", &colock::counters::handed_off},
    {"abandoned", &colock::counters::abandoned},
    {"detached", &colock::counters::detached},
    {"adopted", &colock::counters::adopted},
    {"lost", &colock::counters::lost},
    {"overstays", &colock::counters::overstays},
    {"keys_without_ttl", &colock::counters::keys_without_ttl},
    {"records_read", &colock::counters::records_read},
    {"writes_applied", &colock::counters::writes_applied},
    {"writes_refused", &colock::counters::writes_refused},
    {"writes_unknown", &colock::counters::writes_unknown},
    {"once_ran", &colock::counters::once_ran},
    {"once_found", &colock::counters::once_found},
    {"held", &colock::counters::held},
    {"acquiring", &colock::counters::acquiring},
    {"queued", &colock::counters::queued},
    {"waiting_to_send", &colock::counters::waiting_to_send},
    {"releasing", &colock::counters::releasing},
};
static_assert(std::size(lock_counters) * sizeof(std::uint64_t) == sizeof(colock::counters),
              "a counter of the client is missing in this list");

}  // namespace

nlohmann::json to_json(const std::vector<colock::instance_info>& instances) {
    auto list = nlohmann::json::array();
    for (const colock::instance_info& instance : instances) {
        auto nodes = nlohmann::json::array();
        for (const colock::node_info& node : instance.nodes) {
            nodes.push_back({{"address", node.address},
                             {"role", node.role},
                             {"state", colock::to_string(node.state)},
                             {"reason", node.reason}});
        }
        list.push_back({{"address", instance.address},
                        {"state", colock::to_string(instance.state)},
                        {"reason", instance.reason},
                        {"version", instance.version},
                        {"run_id", instance.run_id},
                        {"uptime_seconds", instance.uptime.count()},
                        {"quarantine_seconds_left", quarantine_left(instance)},
                        {"in_flight", instance.in_flight},
                        {"nodes", std::move(nodes)}});
    }
    return list;
}

nlohmann::json to_json(const colock::counters& locks) {
    nlohmann::json all;
    for (const lock_counter& one : lock_counters) {
        all[one.name] = locks.*one.value;
    }
    return all;
}

nlohmann::json to_json(const counters& service) {
    return {{"requests", service.requests},
            {"accepted", service.accepted},
            {"changed", service.changed},
            {"rejected", service.rejected},
            {"errors", service.errors},
            {"lock_violations", service.lock_violations},
            {"stale_writes_refused", service.stale_writes_refused},
            {"in_flight", service.in_flight}};
}

}  // namespace like_counter
