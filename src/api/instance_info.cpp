// Copyright the colock authors. SPDX-License-Identifier: BSL-1.0

#include "api/instance_info.hpp"

#include "platform/clock.hpp"

#include <utility>

namespace colock {
inline namespace v1 {
namespace {

instance_state state_of(instance::state s) noexcept {
    switch (s) {
        case instance::state::connecting:
            return instance_state::connecting;
        case instance::state::probing:
            return instance_state::probing;
        case instance::state::quarantined:
            return instance_state::quarantined;
        case instance::state::ready:
            return instance_state::ready;
        case instance::state::down:
            return instance_state::down;
        case instance::state::closed:
            break;
    }
    return instance_state::closed;
}

}  // namespace

std::string_view to_string(instance_state state) noexcept {
    switch (state) {
        case instance_state::connecting:
            return "connecting";
        case instance_state::probing:
            return "probing";
        case instance_state::quarantined:
            return "quarantined";
        case instance_state::ready:
            return "ready";
        case instance_state::down:
            return "down";
        case instance_state::closed:
            return "closed";
    }
    return "unknown";
}

instance_info detail::info_of(instance::status status) {
    instance_info result;
    const bool is_quarantined = status.state == instance::state::quarantined;
    result.address = std::move(status.address);
    result.state = state_of(status.state);
    result.reason = std::move(is_quarantined ? status.why_quarantined : status.reason);
    result.version = std::move(status.version);
    result.run_id = std::move(status.run_id);
    result.uptime = status.uptime;
    result.in_flight = status.in_flight;
    result.window = status.window;
    result.delay = status.delay;
    result.quarantined_until = platform::clock::to_steady(status.quarantined_until);
    for (instance::node_status& one : status.nodes) {
        result.nodes.push_back({std::move(one.address), std::move(one.role), state_of(one.state),
                                std::move(one.reason)});
    }
    return result;
}

}  // namespace v1
}  // namespace colock
