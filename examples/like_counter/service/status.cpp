// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "status.hpp"

#include <algorithm>
#include <chrono>
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
    return {{"attempts", locks.attempts},   {"acquired", locks.acquired},
            {"contended", locks.contended}, {"unavailable", locks.unavailable},
            {"undone", locks.undone},       {"cancelled", locks.cancelled},
            {"renewed", locks.renewed},     {"renewals_failed", locks.renewals_failed},
            {"healed", locks.healed},       {"released", locks.released},
            {"lost", locks.lost},           {"held", locks.held},
            {"acquiring", locks.acquiring}, {"releasing", locks.releasing}};
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
